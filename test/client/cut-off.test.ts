/**
 * A broker that is cut off from its cluster answers, and knows of no leader; one that stands still does not answer:
 * clients must stay with neither.
 */
import { expect, it } from 'vitest';
import { silenceMs } from '../../core/client/cluster.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { allSettled, give, startProducing } from './producing.ts';
import { createToy, type Mishap, PORT, partitionOf, run, type Toy } from './toy-cluster.ts';

/** What such a broker answers to Produce, Metadata and InitProducerId. */
const CUT_OFF = new Map<number, number>([
  [0, ErrorCode.NOT_LEADER_OR_FOLLOWER],
  [3, ErrorCode.LEADER_NOT_AVAILABLE],
  [22, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
]);

/** What the toy's brokers that are well need for a connection, metadata and a send. */
const SERVICE_MS = 100;

function alone(broker: number, keys: readonly number[]) {
  return (_: unknown, request: { apiKey: number; broker: number }): Mishap => {
    const error = CUT_OFF.get(request.apiKey);
    if (request.broker !== broker || error === undefined || !keys.includes(request.apiKey)) return { kind: 'none' };
    return { kind: 'error', error, acts: false };
  };
}

it.each([
  { what: 'leaders', keys: [0, 3] },
  { what: 'producer ids', keys: [22] },
])('a producer asks others for $what when the only broker that it has tried gives none', ({ keys }) => {
  const toy = createToy({ brokers: 3, mishap: alone(0, keys) });
  partitionOf(toy).leader = keys.includes(22) ? 0 : 1;
  const producing = startProducing(toy);
  give(producing, 'a');
  run(toy, 15_000, () => allSettled(producing));
  expect(producing.events.map(({ kind }) => kind)).toEqual(['acknowledged']);
});

it('a producer asks others when those that it has tried go on naming one that says it does not lead', () => {
  // Broker 0 led, and 2 has not heard either that 1 leads now: both are cut off together.
  const mishap = (toy: Toy, { apiKey, broker }: { apiKey: number; broker: number }): Mishap => {
    const partition = partitionOf(toy);
    // The toy answers from one state: what each broker believes is put there before it answers.
    [partition.leader, partition.leaderEpoch] = broker === 1 ? [1, 2] : [0, 1];
    if (apiKey !== 0 || broker === 1) return { kind: 'none' };
    return { kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER, acts: false };
  };
  const toy = createToy({ brokers: 3, mishap });
  const bootstrap = [0, 2].map((broker) => ({ host: 'toy', port: PORT + broker }));
  const producing = startProducing(toy, { bootstrap });
  give(producing, 'a');
  run(toy, 20_000, () => allSettled(producing));
  expect(producing.events.map(({ kind }) => kind)).toEqual(['acknowledged']);
});

it('a broker that stands still for good costs a producer one request and no more, whichever it would try next', () => {
  for (let seed = 1; seed <= 20; seed++) {
    let isStill = false;
    let isReset = false;
    const mishap = (_: unknown, { apiKey, broker }: { apiKey: number; broker: number }): Mishap => {
      if (!isStill) return { kind: 'none' };
      if (broker === 0) return { kind: 'silentBefore' };
      const isFirst = apiKey === 0 && !isReset;
      isReset ||= isFirst;
      return { kind: isFirst ? 'resetBefore' : 'none' };
    };
    const toy = createToy({ seed, brokers: 3, mishap });
    partitionOf(toy).leader = 1;
    // It knows the first broker alone, asks that for the leader, and so has a connection to both.
    const producing = startProducing(toy, { seed });
    give(producing, 'a');
    run(toy, 2_000, () => allSettled(producing));
    isStill = true;
    const sinceMs = toy.nowMs;
    give(producing, 'b');
    run(toy, 20_000, () => allSettled(producing));
    expect(producing.events.map(({ kind }) => kind)).toEqual(['acknowledged', 'acknowledged']);
    expect(toy.nowMs - sinceMs).toBeLessThan(silenceMs(producing.producer.options) + SERVICE_MS);
  }
});
