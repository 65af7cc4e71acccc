/** The judges of elections: votes that are sound and votes that are not, and leaders that go on for too long. */
import { expect, test } from 'vitest';
import {
  type Candidacy,
  createReignJudge,
  createVoteJudge,
  judgeCandidacy,
  judgeStranger,
  type KeptVote,
  seeGiven,
  seeReign,
  seeVote,
} from '../../core/verify/votes.ts';

function kept(leaderEpoch: number, votedId: number, leaderId = -1): KeptVote {
  return { leaderId, leaderEpoch, votedId };
}

test('a vote that is on the disk, or is over, is sound', () => {
  const judge = createVoteJudge();
  expect(seeVote(judge, { epoch: 3, voter: 2, candidate: 1, kept: kept(3, 1), isDamaged: false })).toBeNull();
  expect(seeVote(judge, { epoch: 3, voter: 3, candidate: 1, kept: kept(4, -1), isDamaged: false })).toBeNull();
  expect(seeVote(judge, { epoch: 3, voter: 1, candidate: 1, kept: kept(3, -1, 1), isDamaged: false })).toBeNull();
  expect(seeVote(judge, { epoch: 4, voter: 2, candidate: 3, kept: kept(4, 3), isDamaged: false })).toBeNull();
});

test('a vote that the disk does not know is told', () => {
  const judge = createVoteJudge();
  expect(seeVote(judge, { epoch: 3, voter: 2, candidate: 1, kept: kept(3, -1), isDamaged: false })?.checker).toBe(
    'vote-in-memory',
  );
  expect(seeVote(judge, { epoch: 4, voter: 2, candidate: 1, kept: kept(3, 1), isDamaged: false })?.checker).toBe(
    'vote-in-memory',
  );
  expect(seeVote(judge, { epoch: 5, voter: 2, candidate: 1, kept: null, isDamaged: false })?.checker).toBe(
    'vote-in-memory',
  );
});

test('a disk that has broken its word need not know a vote, which stays one vote', () => {
  const judge = createVoteJudge();
  const vote = { epoch: 3, voter: 2, candidate: 1, kept: kept(2, -1) };
  expect(seeVote(judge, { ...vote, isDamaged: true })).toBeNull();
  expect(seeVote(judge, { ...vote, candidate: 3, isDamaged: true })?.checker).toBe('two-votes');
});

test('two votes in one epoch are told, though nobody was elected', () => {
  const judge = createVoteJudge();
  seeVote(judge, { epoch: 3, voter: 2, candidate: 1, kept: kept(3, 1), isDamaged: false });
  expect(seeVote(judge, { epoch: 3, voter: 2, candidate: 3, kept: kept(3, 3), isDamaged: false })?.checker).toBe(
    'two-votes',
  );
});

const PATIENCE = { node: 1, epoch: 3, patienceUs: 1_000_000 };

function stepsOf(fromUs: number, toUs: number, everyUs: number): (string | null)[] {
  const judge = createReignJudge();
  seeReign(judge, { ...PATIENCE, nowUs: 0 });
  seeReign(judge, { ...PATIENCE, node: 2, epoch: 4, nowUs: 500_000 });
  const found: (string | null)[] = [];
  for (let nowUs = fromUs; nowUs < toUs; nowUs += everyUs) {
    const complaint = seeReign(judge, { ...PATIENCE, nowUs });
    if (complaint !== null) found.push(complaint.checker);
  }
  return found;
}

test('a leader that runs on long after a later one has come is told once', () => {
  expect(stepsOf(500_000, 1_700_000, 10_000)).toEqual([]);
  expect(stepsOf(500_000, 2_500_000, 10_000)).toEqual(['overstays']);
});

test('one that stood still has time to see it', () => {
  expect(stepsOf(9_000_000, 9_200_000, 10_000)).toEqual([]);
  // Twice: a process may stand still again before it has.
  expect(stepsOf(9_000_000, 29_000_000, 10_000_000)).toEqual([]);
});

const HEARD = [
  { node: 1, leader: 1, epoch: 3, sinceUs: 0 },
  { node: 2, leader: 1, epoch: 3, sinceUs: 0 },
];

function standing(change: Partial<Candidacy>): string | null {
  const candidacy = { candidate: 3, epoch: 4, nowUs: 5_000, voters: [1, 2, 3], followings: HEARD, answerUsMax: 3_000 };
  return judgeCandidacy({ ...candidacy, ...change })?.checker ?? null;
}

test('who stands for election although a majority has long heard a leader is told', () => {
  expect(standing({})).toBe('unseats');
  expect(standing({ nowUs: 2_000 })).toBeNull();
  expect(standing({ voters: [1, 2, 3, 4, 5] })).toBeNull();
  // One of those who hear it has no vote.
  expect(standing({ voters: [1, 3, 4] })).toBeNull();
  // It has not heard that there is a leader of that epoch, and harms nobody.
  expect(standing({ epoch: 3 })).toBeNull();
  expect(standing({ followings: HEARD.slice(1) })).toBeNull();
});

test('a voter that remembers another vote of one epoch is told, whoever counts it', () => {
  const judge = createVoteJudge();
  const given = (voter: number, directory: string, candidate: number, epoch = 4): string | undefined =>
    seeGiven(judge, { epoch, voter, directory, candidate })?.checker;
  expect([given(1, 'a', 1), given(1, 'a', 1), given(2, 'b', 1)]).toEqual([undefined, undefined, undefined]);
  // Another disk is another voter, and another epoch another vote.
  expect([given(2, 'c', 3), given(2, 'b', 3, 5)]).toEqual([undefined, undefined]);
  expect(given(2, 'b', 3)).toBe('two-votes');
});

test('a vote of another disk than the one that is named is told', () => {
  expect(judgeStranger(1, 4, 2)).toMatchObject({ checker: 'vote-of-another', promise: 2 });
});
