/** The producer under every fault at once: promise 4, and one event a ticket. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { allSettled, badTickets, give, type Producing, startProducing } from './producing.ts';
import { at, createToy, type Mishap, partitionOf, roll, run, type Toy } from './toy-cluster.ts';
import { valuesOf } from './toy-log.ts';

const NONE: Mishap = { kind: 'none' };

/** Faults of every kind until `untilMs`, with rates of this seed. */
function storm(untilMs: number, rates: number[]): (toy: Toy, request: { apiKey: number }) => Mishap {
  const passing = [
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
  ];
  return (toy, { apiKey }) => {
    if (toy.nowMs >= untilMs) return NONE;
    const kind = rates[roll(toy, rates.length)] ?? 0;
    if (kind === 1) return { kind: 'resetBefore' };
    if (kind === 2) return { kind: 'resetAfter' };
    if (kind === 3) return { kind: 'silentBefore' };
    if (kind === 4) return { kind: 'silentAfter' };
    if (kind === 5) return { kind: 'garbage' };
    if (kind === 6) return { kind: 'wrongCorrelation' };
    if (kind !== 7 || apiKey !== 0) return NONE;
    const error = passing[roll(toy, passing.length)] ?? ErrorCode.REQUEST_TIMED_OUT;
    const acts = error === ErrorCode.REQUEST_TIMED_OUT || error === ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND;
    return { kind: 'error', error, acts };
  };
}

/** A run under faults: two partitions, leaders that move, resets, late copies. */
function stormRun(seed: number, options: Parameters<typeof startProducing>[1] = {}): Producing {
  const toy: Toy = createToy({ seed, brokers: 2, topics: { t: 2 }, delayMaxMs: 30 });
  const rates = Array.from({ length: 12 }, () => (roll(toy, 3) === 0 ? 1 + roll(toy, 7) : 0));
  Object.assign(toy.options, { mishap: storm(20_000, rates) });
  const bootstrap = [0, 1].map((n) => ({ host: 'toy', port: 9000 + n }));
  const producing = startProducing(toy, { bootstrap, batchBytesMax: 300, requestTimeoutMs: 700, seed, ...options });
  for (let i = 0; i < 60; i++) {
    at(toy, 1000 + i * 300 + roll(toy, 300), () => {
      for (let j = 0; j < 5; j++) give(producing, `${i * 5 + j}`, 't', j % 2);
    });
  }
  for (let i = 0; i < 4; i++) {
    at(toy, 1000 + roll(toy, 19_000), () => {
      const partition = partitionOf(toy, 't', roll(toy, 2));
      partition.leader = 1 - partition.leader;
      partition.leaderEpoch += 1;
    });
  }
  run(toy, 400_000, () => toy.nowMs > 21_000 && allSettled(producing));
  return producing;
}

describe('an idempotent producer under resets, lost answers, late copies, errors and moving leaders', () => {
  const seeds = Array.from({ length: 60 }, (_, seed) => seed + 1);

  it('delivers all of it exactly once and in send order, and says so exactly once', () => {
    const reached = new Set<string>();
    for (const seed of seeds) {
      const producing = stormRun(seed, { deliveryTimeoutMs: 300_000 });
      for (const mark of producing.toy.reached.keys()) reached.add(mark);
      expect(badTickets(producing), `seed ${seed}`).toEqual([]);
      for (const index of [0, 1]) {
        const values = valuesOf(partitionOf(producing.toy, 't', index)).map(Number);
        const given = [...producing.sent.values()]
          .map(Number)
          .filter((value) => ((value % 5) % 2 === 0 ? 0 : 1) === index);
        expect(values, `seed ${seed}, partition ${index}`).toEqual(given);
      }
      expect(
        producing.events.every(({ kind }) => kind === 'acknowledged'),
        `seed ${seed}`,
      ).toBe(true);
    }
    expect([...reached]).toEqual(expect.arrayContaining(['channel.silent', 'channel.mismatch', 'channel.malformed']));
  });

  it('with a short delivery time-out: what it acknowledged once and in order, the rest at most once', () => {
    let failures = 0;
    let broken = 0;
    for (const seed of seeds) {
      const producing = stormRun(seed, { deliveryTimeoutMs: 1200 });
      broken += producing.toy.reached.get('producer.newEpoch') ?? 0;
      expect(badTickets(producing), `seed ${seed}`).toEqual([]);
      const doubtful = new Set<string>();
      const failed = new Set<string>();
      for (const event of producing.events) {
        if (event.kind !== 'failed') continue;
        failures += 1;
        const value = producing.sent.get(event.ticket) ?? '?';
        failed.add(value);
        if (event.maybeWritten) doubtful.add(value);
      }
      for (const index of [0, 1]) {
        const values = valuesOf(partitionOf(producing.toy, 't', index));
        expect(new Set(values).size, `seed ${seed}: a record is there twice`).toBe(values.length);
        const sorted = [...values].sort((a, b) => Number(a) - Number(b));
        expect(values, `seed ${seed}: records are out of order`).toEqual(sorted);
        for (const value of values) {
          expect(failed.has(value) && !doubtful.has(value), `seed ${seed}: ${value} is there after a firm no`).toBe(
            false,
          );
        }
        const there = new Set(values);
        for (const [ticket, value] of producing.sent) {
          if (failed.has(value) || (Number(value) % 5) % 2 !== index) continue;
          expect(there.has(value), `seed ${seed}: ${value} (ticket ${ticket}) was acknowledged and is not there`).toBe(
            true,
          );
        }
      }
    }
    expect(failures).toBeGreaterThan(100);
    expect(broken).toBeGreaterThan(100);
  });
});

describe('a producer without idempotence under the same faults', () => {
  it('loses nothing that it acknowledged, and may repeat but not reorder first copies', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const producing = stormRun(seed, { idempotent: false, acks: 1, deliveryTimeoutMs: 300_000 });
      expect(badTickets(producing), `seed ${seed}`).toEqual([]);
      for (const index of [0, 1]) {
        const values = valuesOf(partitionOf(producing.toy, 't', index)).map(Number);
        const first = values.filter((value, at) => values.indexOf(value) === at);
        expect(first, `seed ${seed}`).toEqual([...first].sort((a, b) => a - b));
        const there = new Set(values);
        const lost = [...producing.sent.values()].map(Number).filter((v) => (v % 5) % 2 === index && !there.has(v));
        expect(lost, `seed ${seed}`).toEqual([]);
      }
    }
  });
});
