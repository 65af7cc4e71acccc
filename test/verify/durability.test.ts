/** The judges of what is called committed: what they say of disks that bear it out, and of each kind that does not. */
import { expect, test } from 'vitest';
import {
  type Claim,
  type Holder,
  judgeClaim,
  judgeQuorumClaim,
  judgeShown,
  judgeStart,
  type VoterLog,
} from '../../core/verify/durability.ts';

const CLAIM: Claim = { log: 'orders-0', by: 'node 1', offset: 10, epoch: 3 };

function holder(node: number, standing: Holder['standing'], end: number, epoch = 3): Holder {
  return { node, standing, end, epoch };
}

function checkerOf(holders: readonly Holder[], wanted = 2, claim = CLAIM): string | null {
  return judgeClaim(claim, holders, wanted)?.checker ?? null;
}

test('what all in sync have is committed, whoever else lacks it', () => {
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 10), holder(3, 'out', 0, -1)])).toBeNull();
});

test('what a replica that may lead lacks on its disk is not committed', () => {
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 9, -1)])).toBe('committed-in-memory');
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 12), holder(3, 'eligible', 9, -1)])).toBe(
    'committed-in-memory',
  );
});

test('another record at the same offset is not the one that is committed', () => {
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 12, 2)])).toBe('committed-elsewhere');
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 12, 2)], 2, { ...CLAIM, epoch: -1 })).toBeNull();
  // Where the log begins above it nobody can tell.
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'inSync', 12, -1)])).toBeNull();
});

test('fewer replicas than are wanted do not make it committed', () => {
  const few = [holder(1, 'inSync', 12), holder(2, 'out', 3, -1), holder(3, 'out', 12, 2)];
  expect(checkerOf(few)).toBe('committed-by-few');
  expect(checkerOf(few, 1)).toBeNull();
  // One that was dropped a moment ago counts, if it has it.
  expect(checkerOf([holder(1, 'inSync', 12), holder(2, 'out', 10)])).toBeNull();
});

function voter(node: number, end: number, lastEpoch: number, epoch: number): VoterLog {
  return { node, end, lastEpoch, epoch };
}

function quorumOf(...voters: VoterLog[]): string | null {
  return judgeQuorumClaim(CLAIM, 3, voters)?.checker ?? null;
}

test('what a majority of voters has of the present epoch is committed', () => {
  expect(quorumOf(voter(1, 12, 3, 3), voter(2, 10, 3, 3), voter(3, 7, 2, -1))).toBeNull();
  // The third voter was led by somebody whom nobody else has heard, and lost.
  expect(quorumOf(voter(1, 12, 3, 3), voter(2, 10, 3, 3), voter(3, 15, 2, 2))).toBeNull();
});

test('what a minority has is not', () => {
  expect(quorumOf(voter(1, 12, 3, 3), voter(2, 9, 3, -1), voter(3, 7, 2, -1))).toBe('committed-in-memory');
  expect(quorumOf(voter(1, 12, 3, 3), voter(2, 12, 2, 2), voter(3, 7, 2, -1))).toBe('committed-in-memory');
});

test('what somebody lacks who could be elected is not committed, though a majority has it (figure 8)', () => {
  const claim = { ...CLAIM, epoch: 2 };
  const voters = [voter(1, 10, 2, 2), voter(2, 10, 2, 2), voter(3, 10, 3, 3)];
  expect(judgeQuorumClaim(claim, 4, voters)?.checker).toBe('committed-electable');
});

test('an old record is not committed by being counted', () => {
  const claim = { ...CLAIM, epoch: 2 };
  const voters = [voter(1, 10, 2, 2), voter(2, 10, 2, 2), voter(3, 5, 2, -1)];
  expect(judgeQuorumClaim(claim, 4, voters)?.checker).toBe('committed-of-old-epoch');
  expect(judgeQuorumClaim(claim, 2, voters)).toBeNull();
});

test('a follower shows what a leader has called committed, and no other record', () => {
  const shown = { log: 'orders-0', node: 2, highWatermark: 8, epoch: 3 };
  expect(judgeShown(shown, 10, 3)).toBeNull();
  expect(judgeShown(shown, 7, 3)?.checker).toBe('shown-early');
  expect(judgeShown(shown, 10, 4)?.checker).toBe('shown-elsewhere');
  expect(judgeShown({ ...shown, epoch: -1 }, 10, 4)).toBeNull();
});

test('a log that begins above what is committed is told', () => {
  expect(judgeStart({ log: 'orders-0', node: 2, start: 8 }, 8)).toBeNull();
  expect(judgeStart({ log: 'orders-0', node: 2, start: 9 }, 8)?.checker).toBe('deleted-early');
});
