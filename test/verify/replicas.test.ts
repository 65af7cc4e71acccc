/** The judge of replicas: what it says of sights and bytes that are sound, and of each kind that is not. */
import { expect, test } from 'vitest';
import { encodeBatch } from '../../core/protocol/records.ts';
import type { Loss } from '../../core/verify/losses.ts';
import { compareReplicas, createReplicaJudge, type ReplicaSight, seeReplica } from '../../core/verify/replicas.ts';

const LEADER: ReplicaSight = {
  log: 'orders-0',
  node: 1,
  life: 0,
  stay: 7,
  isLeader: true,
  epoch: 3,
  isEpochKept: false,
  start: 0,
  end: 20,
  endEpoch: 3,
  highWatermark: 10,
  atUs: 0,
  lossy: -1,
};
const FOLLOWER: ReplicaSight = { ...LEADER, node: 2, isLeader: false, end: 15, highWatermark: 8 };

function judge(...sights: readonly ReplicaSight[]): string[] {
  const memory = createReplicaJudge([]);
  return sights.flatMap((sight) => seeReplica(memory, sight)?.checker ?? []);
}

test('a leader, its follower, and the follower as the next leader are sound', () => {
  const next = { ...FOLLOWER, isLeader: true, epoch: 4, highWatermark: 10 };
  expect(judge(LEADER, FOLLOWER, { ...LEADER, highWatermark: 12 }, next, { ...next, end: 30 })).toEqual([]);
  expect(judge(LEADER, FOLLOWER, next, { ...LEADER, isLeader: false, epoch: 4 })).toEqual([]);
});

test('two leaders of one epoch, but not two epochs, are told', () => {
  const other = { ...FOLLOWER, isLeader: true, end: 20 };
  expect(judge(LEADER, other)).toEqual(['two-leaders']);
  expect(judge(LEADER, { ...other, epoch: 4 })).toEqual([]);
  expect(judge(LEADER, { ...other, log: 'orders-1' })).toEqual([]);
});

test('two lives of one node that lead one epoch are told', () => {
  expect(judge(LEADER, { ...LEADER, life: 1 })).toEqual(['two-leaders']);
});

test('an epoch that goes back is told; in another life only where it is kept on the disk', () => {
  const back = { ...FOLLOWER, epoch: 2 };
  expect(judge(FOLLOWER, back)).toEqual(['epoch-regression']);
  expect(judge(FOLLOWER, { ...back, life: 1 })).toEqual([]);
  expect(judge({ ...FOLLOWER, isEpochKept: true }, { ...back, life: 1, isEpochKept: true })).toEqual([
    'epoch-regression',
  ]);
});

test('a high watermark that goes back within a life, or is above the end, is told', () => {
  expect(judge(LEADER, { ...LEADER, highWatermark: 9 })).toEqual(['watermark-regression']);
  expect(judge(LEADER, { ...LEADER, highWatermark: 9, life: 1, epoch: 4 })).toEqual([]);
  // A replica that had left comes again and begins anew.
  expect(judge(FOLLOWER, { ...FOLLOWER, stay: 8, end: 0, highWatermark: 0 })).toEqual([]);
  expect(judge({ ...FOLLOWER, highWatermark: 16 })).toEqual(['watermark-ahead']);
});

test('a leader that comes late need not have what was committed in later epochs', () => {
  const late = { ...FOLLOWER, isLeader: true, epoch: 2, end: 9 };
  expect(judge(LEADER, late)).toEqual([]);
  expect(judge({ ...LEADER, node: 3, epoch: 1 }, LEADER, late)).toEqual(['incomplete-leader']);
});

test('a leader that lacks what anybody has shown as committed is told', () => {
  expect(judge(LEADER, { ...FOLLOWER, isLeader: true, epoch: 4, end: 9 })).toEqual(['incomplete-leader']);
  expect(judge(LEADER, { ...FOLLOWER, isLeader: true, epoch: 4, end: 10 })).toEqual([]);
});

/** Comes to lead by an unclean election, although it lacks what lies from 6 on. */
const BEHIND: ReplicaSight = { ...LEADER, node: 3, epoch: 4, end: 6, endEpoch: 3, highWatermark: 5, lossy: 0 };

test('a leader by an unclean election may lack what was committed; one that came otherwise may not', () => {
  expect(judge(LEADER, BEHIND)).toEqual([]);
  expect(judge(LEADER, { ...BEHIND, lossy: -1 })).toEqual(['incomplete-leader']);
});

test('what an unclean election left, and what was committed after it, is promised to later leaders', () => {
  const next = { ...FOLLOWER, isLeader: true, epoch: 5, end: 6, highWatermark: 5 };
  expect(judge(LEADER, BEHIND, next)).toEqual([]);
  expect(judge(LEADER, BEHIND, { ...next, end: 5 })).toEqual(['incomplete-leader']);
  expect(judge(LEADER, BEHIND, { ...BEHIND, end: 9, highWatermark: 8 }, next)).toEqual(['incomplete-leader']);
});

test('a watermark goes back with the epoch of an unclean election, as far as that has taken, and once', () => {
  const before = { ...FOLLOWER, highWatermark: 10, epoch: 3 };
  const cut = { ...before, epoch: 4, end: 6, highWatermark: 6 };
  expect(judge(LEADER, before, BEHIND, cut)).toEqual([]);
  expect(judge(LEADER, before, BEHIND, { ...cut, highWatermark: 5 })).toEqual(['watermark-regression']);
  expect(judge(LEADER, before, BEHIND, { ...cut, epoch: 3 })).toEqual(['watermark-regression']);
  expect(judge(LEADER, before, BEHIND, cut, { ...cut, highWatermark: 5 })).toEqual(['watermark-regression']);
});

test('a loss reaches from the end of the new leader to what earlier ones have committed, and no further', () => {
  const losses: Loss[] = [];
  const memory = createReplicaJudge(losses);
  const see = (sight: ReplicaSight, atUs: number) => expect(seeReplica(memory, { ...sight, atUs })).toBeNull();
  see(LEADER, 10);
  see({ ...LEADER, highWatermark: 12 }, 20);
  see({ ...LEADER, end: 25, highWatermark: 12 }, 30);
  see(BEHIND, 40);
  see({ ...BEHIND, end: 30, highWatermark: 30 }, 50);
  expect(losses).toEqual([
    { partition: 0, epoch: 4, fromOffset: 6, endOffset: 6, endEpoch: 3, toOffset: 12, committedUs: 20 },
  ]);
  // A leader that does not know that it has been replaced.
  see({ ...LEADER, end: 25, highWatermark: 14 }, 60);
  expect(losses).toEqual([
    { partition: 0, epoch: 4, fromOffset: 6, endOffset: 6, endEpoch: 3, toOffset: 14, committedUs: 60 },
  ]);
});

test('a loss reaches further back where others wrote in place of what the new leader holds', () => {
  const losses: Loss[] = [];
  const memory = createReplicaJudge(losses);
  const see = (sight: ReplicaSight) => expect(seeReplica(memory, sight)).toBeNull();
  see({ ...LEADER, end: 8, highWatermark: 8 });
  see({ ...LEADER, end: 12, highWatermark: 8 });
  // Led from 8 on, without what the first one had not committed.
  see({ ...FOLLOWER, isLeader: true, epoch: 4, end: 8, highWatermark: 8 });
  see({ ...FOLLOWER, isLeader: true, epoch: 4, end: 11, endEpoch: 4, highWatermark: 10 });
  see({ ...LEADER, epoch: 5, end: 12, highWatermark: 8, lossy: 0 });
  expect(losses).toMatchObject([{ epoch: 5, fromOffset: 8, endOffset: 12, endEpoch: 3, toOffset: 12 }]);
  // It keeps what is there now.
  see({ ...LEADER, epoch: 5, end: 12, highWatermark: 12, lossy: 0 });
  expect(judge(LEADER, { ...BEHIND, end: 9, endEpoch: 3 })).toEqual([]);
});

function batch(baseOffset: number, count: number, text: string): Uint8Array {
  const value = new TextEncoder().encode(text);
  const records = Array.from({ length: count }, () => ({ timestampMs: 1, key: null, value }));
  return encodeBatch(records, { baseOffset, leaderEpoch: 1 });
}

function replica(node: number, highWatermark: number, ...batches: Uint8Array[]) {
  return { node, start: 0, highWatermark, batches };
}

test('replicas are compared below the smaller watermark, and above the larger start', () => {
  const [a, b, c] = [batch(0, 2, 'a'), batch(2, 3, 'b'), batch(5, 1, 'c')];
  const other = batch(5, 1, 'other');
  expect(compareReplicas('log', replica(1, 6, a, b, c), replica(2, 5, a, b, other))).toBeNull();
  expect(compareReplicas('log', replica(1, 6, a, b, c), { ...replica(2, 6, b, c), start: 2 })).toBeNull();
  expect(compareReplicas('log', replica(1, 6, a, b, c), replica(2, 6, a, b, other))?.sentence).toContain('log@5');
});

test('where one begins behind the watermark of the other, no batch is compared, nor one across that offset', () => {
  const [a, b] = [batch(0, 2, 'a'), batch(2, 3, 'b')];
  // Its leader's start lies within a batch, and it has fetched nothing yet.
  expect(compareReplicas('log', { ...replica(1, 3), start: 3 }, { ...replica(2, 5, a, b), start: 3 })).toBeNull();
  expect(compareReplicas('log', { ...replica(1, 4), start: 3 }, { ...replica(2, 5, a, b), start: 3 })).not.toBeNull();
});

test('a batch that is missing on one of two replicas is told', () => {
  const [a, b] = [batch(0, 2, 'a'), batch(2, 3, 'b')];
  const found = compareReplicas('log', replica(1, 5, a, b), replica(2, 5, a));
  expect(found?.sentence).toBe('log@2 is missing on node 2, though below 5');
});

test('a batch of other bytes is told, though offsets and lengths agree', () => {
  const found = compareReplicas('log', replica(1, 2, batch(0, 2, 'a')), replica(2, 2, batch(0, 2, 'b')));
  expect(found?.checker).toBe('unequal-replicas');
});
