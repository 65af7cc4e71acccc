/** The judge of what replicas take each other for, with what is right and what is not. */
import { expect, test } from 'vitest';
import {
  judgeClaimed,
  judgeCounted,
  judgeDecision,
  judgeFollower,
  judgeHeard,
  judgeJoiner,
  judgeKnowledge,
  type Lineage,
} from '../../core/verify/standing.ts';

const leader: Lineage = {
  node: 1,
  start: 0,
  end: 10,
  epochs: [
    { epoch: 1, startOffset: 0 },
    { epoch: 3, startOffset: 6 },
  ],
};

test('a follower is a prefix of its leader', () => {
  const judged = (follower: Lineage, most = 10): string | undefined =>
    judgeFollower('orders-0', 3, follower, leader, most)?.checker;
  expect(judged({ ...leader, node: 2, end: 8 })).toBeUndefined();
  expect(judged({ node: 2, start: 0, end: 5, epochs: [{ epoch: 1, startOffset: 0 }] })).toBeUndefined();
  // It kept a tail of epoch 2 and went on behind it.
  const kept = { epoch: 2, startOffset: 4 };
  expect(judged({ ...leader, node: 2, end: 8, epochs: [...leader.epochs.slice(0, 1), kept] })).toBe('parted');
  expect(judged({ ...leader, node: 2, end: 11 })).toBe('parted');
  // What nobody knows the epoch of is not held against anybody.
  expect(judged({ node: 2, start: 0, end: 8, epochs: [] })).toBeUndefined();
  expect(judgeFollower('orders-0', 3, { ...leader, node: 2, end: 11 }, null, 12)).toBeNull();
});

test('what is counted is held, and who joins holds what its leader began with', () => {
  const counted = { log: 'orders-0', leader: 1, epoch: 3, follower: 2, fetchOffset: 8 };
  expect(judgeCounted({ ...counted, heldEnd: 8 })).toBeNull();
  expect(judgeCounted({ ...counted, heldEnd: 7 })?.checker).toBe('counted-in-memory');
  expect(judgeJoiner('orders-0', 2, 3, 6, 6)).toBeNull();
  expect(judgeJoiner('orders-0', 2, 3, 5, 6)?.checker).toBe('joined-behind');
});

test('what the controller decides is legal', () => {
  const decision = { log: 'orders-0', leader: 1, replicas: [1, 2, 3], isr: [1, 2], elr: [3], isFenced: false };
  expect(judgeDecision(decision)).toBeNull();
  expect(judgeDecision({ ...decision, leader: -1, isr: [] })).toBeNull();
  expect(judgeDecision({ ...decision, isFenced: true })?.checker).toBe('led-by-fenced');
  expect(judgeDecision({ ...decision, leader: 3 })?.checker).toBe('illegal-set');
  expect(judgeDecision({ ...decision, isr: [1, 4] })?.checker).toBe('illegal-set');
  expect(judgeDecision({ ...decision, elr: [2] })?.checker).toBe('illegal-set');
});

test('what a leader knows does not go back', () => {
  const knowing = (partitionEpoch: number, fetchOffset: number, brokerEpoch = 5) => {
    return { epoch: 3, partitionEpoch, followers: new Map([[2, { fetchOffset, brokerEpoch }]]) };
  };
  const judged = (before: ReturnType<typeof knowing>, now: ReturnType<typeof knowing>): string | undefined =>
    judgeKnowledge('orders-0', 1, before, now)?.checker;
  expect(judged(knowing(4, 8), knowing(5, 9))).toBeUndefined();
  expect(judged(knowing(4, 8), knowing(3, 9))).toBe('set-regression');
  expect(judged(knowing(4, 8), knowing(5, -1, -1))).toBe('forgotten-follower');
  // Another life of the follower, or one that has left and come again.
  expect(judged(knowing(4, 8), knowing(5, 2, 6))).toBeUndefined();
  expect(judged(knowing(4, 8), knowing(6, -1, -1))).toBeUndefined();
});

test('a leader counts on nobody who has not followed its epoch', () => {
  expect(judgeHeard('orders-0', 1, 3, 2)).toMatchObject({ checker: 'counted-unheard', promise: 1 });
});

test('a follower names the epoch under which its log ends', () => {
  const judged = (lastFetchedEpoch: number, ownEpoch = 3, latestEpoch = 3): string | undefined =>
    judgeClaimed({
      log: 'orders-0',
      follower: 2,
      currentLeaderEpoch: 4,
      fetchOffset: 10,
      lastFetchedEpoch,
      ownEpoch,
      latestEpoch,
    })?.checker;
  expect([judged(3), judged(5, 3, 5), judged(-1, -1, 3)]).toEqual([undefined, undefined, undefined]);
  expect([judged(-1), judged(1), judged(4)]).toEqual(['claims', 'claims', 'claims']);
});
