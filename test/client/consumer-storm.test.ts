/**
 * Consumers in a storm: connections break, answers are lost or make no sense, the coordinator moves, members come, go,
 * die and stay away. Nothing is skipped, and within a bound after the storm all is shared out and read.
 */
import { describe, expect, it } from 'vitest';
import { closeConsumer } from '../../core/client/consumer.ts';
import type { ConsumerOptions } from '../../core/client/consumer-options.ts';
import { subscribe } from '../../core/client/consumer-topics.ts';
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { act, areSettled, type Board, type Consuming, crash, fill, newBoard, startConsuming } from './consuming.ts';
import { at, createToy, type Mishap, partitionOf, roll, run, type Toy } from './toy-cluster.ts';
import { addGroups, moveCoordinator } from './toy-groups.ts';

const PARTITIONS = 5;
const STORM_MS = 25_000;
/** After the storm: the longest session and the longest time away, and what it takes to make a generation. */
const CALM_MS = 60_000;
const ERRORS = [
  ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
  ErrorCode.COORDINATOR_NOT_AVAILABLE,
  ErrorCode.NOT_COORDINATOR,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
  ErrorCode.REBALANCE_IN_PROGRESS,
];

const KINDS: readonly (readonly [string, Partial<ConsumerOptions>, number])[] = [
  ['range', { assignors: ['range'] }, 8],
  ['sticky and round-robin, of which the group chooses', { assignors: ['sticky', 'roundrobin'] }, 6],
  ['cooperative-sticky', { assignors: ['cooperative-sticky'] }, 10],
  ['the consumer protocol', { groupProtocol: 'consumer' }, 10],
];

function mishap(toy: Toy, apiKey: number): Mishap {
  if (toy.nowMs > STORM_MS) return { kind: 'none' };
  const kind = roll(toy, 40);
  if (kind === 0) return { kind: 'resetBefore' };
  if (kind === 1) return { kind: 'resetAfter' };
  if (kind === 2) return { kind: 'silentAfter' };
  if (kind === 3) return { kind: 'garbage' };
  if (kind === 4) return { kind: 'silentBefore' };
  if (kind > 7 || apiKey === 18 || apiKey === 10) return { kind: 'none' };
  const isOfGroups = apiKey >= 8 && apiKey <= 14;
  const error = ERRORS[roll(toy, isOfGroups || apiKey === 68 ? 3 : 4)] ?? ErrorCode.NOT_COORDINATOR;
  return { kind: 'error', error: isOfGroups || apiKey === 68 ? error : ErrorCode.NOT_LEADER_OR_FOLLOWER, acts: false };
}

function storm(seed: number, kind: Partial<ConsumerOptions>): void {
  const toy = createToy({
    seed,
    topics: { t: PARTITIONS },
    brokers: 2,
    delayMaxMs: 20,
    mishap: (t, { apiKey }) => mishap(t, apiKey),
  });
  const consumer = { ...GROUP_DEFAULTS.consumer, sessionTimeoutMs: 6000, heartbeatIntervalMs: 500 };
  addGroups(toy, { consumer });
  const board = newBoard(false);
  const living: Consuming[] = [];
  const all: Consuming[] = [];
  const join = (): void => {
    const one = startConsuming(toy, board, kind);
    one.workMs = roll(toy, 3) === 0 ? roll(toy, 300) : 0;
    one.ackMs = roll(toy, 3) === 0 ? roll(toy, 200) : 0;
    act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
    living.push(one);
    all.push(one);
  };
  join();
  join();
  for (let i = 0; i < 40; i++) {
    at(toy, 1000 + roll(toy, STORM_MS), () => fill(partitionOf(toy, 't', roll(toy, PARTITIONS)), 1 + roll(toy, 3)));
  }
  for (let i = 0; i < 8; i++) at(toy, 2000 + roll(toy, STORM_MS - 3000), () => happen(toy, board, living, join));
  run(toy, STORM_MS + 500);
  const [away] = living.filter(({ polls }) => !polls);
  if (away !== undefined) Object.assign(away, { polls: true, hasPolled: false });
  for (const one of living) one.polls = true;
  if (living.length === 0) join();
  const written = Array.from({ length: PARTITIONS }, (_, p) => partitionOf(toy, 't', p));
  const isRead = (): boolean => {
    const read = new Map<string, number>();
    for (const { where } of unique(all)) read.set(where, (read.get(where) ?? 0) + 1);
    return written.every(({ log }, p) => (read.get(`t-${p}`) ?? 0) === log.reduce((sum, { count }) => sum + count, 0));
  };
  run(toy, STORM_MS + CALM_MS, () => areSettled(living, PARTITIONS) && isRead());
  const shares = living.map(({ name, owned }) => `${name}: ${[...owned].join()}`).join(' | ');
  expect(areSettled(living, PARTITIONS), `seed ${seed}: ${shares}`).toBe(true);
  expect(isRead(), `seed ${seed}: every record is handed out`).toBe(true);
}

function unique(all: readonly Consuming[]): { where: string }[] {
  const found = new Map<string, { where: string }>();
  for (const { records } of all) for (const one of records) found.set(`${one.where} ${one.value}`, one);
  return [...found.values()];
}

function happen(toy: Toy, board: Board, living: Consuming[], join: () => void): void {
  const kind = roll(toy, 6);
  const index = roll(toy, Math.max(1, living.length));
  const one = living[index];
  if (kind === 0 || kind === 1 || one === undefined) {
    if (living.length < 4) join();
  } else if (kind === 2) {
    living.splice(index, 1);
    act(toy, one, (c, e) => closeConsumer(c, e, 3000));
  } else if (kind === 3) {
    living.splice(index, 1);
    crash(toy, board, one);
  } else if (kind === 4) {
    moveCoordinator(toy, roll(toy, 2), roll(toy, 500));
  } else {
    one.polls = false;
    one.consumer.isBusy = one.consumer.isBusy || roll(toy, 2) === 0;
  }
}

describe('a group in a storm', () => {
  it.each(KINDS)('of %s', (_, kind, seeds) => {
    for (let seed = 1; seed <= seeds; seed++) storm(seed, kind);
  });
});
