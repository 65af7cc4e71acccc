/** What an unclean election excuses in a history, and what it does not. */
import { expect, test } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import { addRead, beginSession, createHistory, type History, type Send } from '../../core/verify/history.ts';
import { mayBeBeyond } from '../../core/verify/losses.ts';

const SECOND_US = 1_000_000;
/** Leader epochs before and after the election. */
const [BEFORE, AFTER] = [3, 4];

/** What the final session finds, and an election that has taken the offsets 2 to 4 of partition 0. */
function historyOf(log: readonly number[]): History {
  const history = createHistory([
    { topic: 't', partition: 0 },
    { topic: 't', partition: 1 },
  ]);
  history.losses.push({
    partition: 0,
    epoch: AFTER,
    fromOffset: 2,
    endOffset: 2,
    endEpoch: 0,
    toOffset: 5,
    committedUs: 10 * SECOND_US,
  });
  for (const [value, offset] of log.map((one, index) => [one, index] as const)) send(history, { value, offset });
  read(history, log, AFTER, 0, true);
  return history;
}

/** Acknowledged after the election, unless it is said otherwise. */
function send(history: History, changes: Partial<Send>): void {
  const times = { sentUs: 20 * SECOND_US, doneUs: 21 * SECOND_US };
  const told = { outcome: 'acknowledged', offset: 0, error: 0 } as const;
  history.sends.push({
    producer: 1,
    partition: 0,
    value: 0,
    acks: -1,
    isIdempotent: false,
    patienceMs: Number.POSITIVE_INFINITY,
    ...times,
    ...told,
    ...changes,
  });
}

/** Acknowledged by the leader that was lost. */
const EARLIER = { sentUs: 9 * SECOND_US, doneUs: 10 * SECOND_US };

function read(history: History, values: readonly number[], epoch: number, from = 0, isFinal = false): void {
  const session = beginSession(history, { reader: 1, partition: 0, startedUs: 0, isFinal });
  values.forEach((value, index) => {
    addRead(history, session, { offset: from + index, value, highWatermark: 100, atUs: 2, askedEpoch: epoch });
  });
}

function found(history: History): string[] {
  return [...new Set(judge(history).violations.map(({ checker }) => checker))];
}

test('what an earlier leader acknowledged in the lost range may be gone, or be something else', () => {
  const history = historyOf([1, 2, 3]);
  send(history, { value: 8, offset: 2, ...EARLIER });
  send(history, { value: 9, offset: 4, ...EARLIER });
  send(history, { value: 7, offset: -1, ...EARLIER });
  expect(found(history)).toEqual([]);
});

test('what it acknowledged below that range, above it, or of another partition may not', () => {
  const below = historyOf([1, 2, 3]);
  send(below, { value: 9, offset: 1, ...EARLIER });
  expect(found(below)).toEqual(['lost-write', 'inconsistent-offsets']);
  const above = historyOf([1, 2, 3]);
  send(above, { value: 9, offset: 5, ...EARLIER });
  expect(found(above)).toEqual(['lost-write']);
  const other = historyOf([1, 2, 3]);
  other.sessions.push({ reader: 1, partition: 1, startedUs: 0, isFinal: true });
  send(other, { partition: 1, value: 9, offset: 2, ...EARLIER });
  expect(found(other)).toEqual(['lost-write']);
});

test('what was acknowledged after the election stays, in the lost range too', () => {
  const late = historyOf([1, 2, 3]);
  send(late, { value: 9, offset: 3 });
  expect(found(late)).toEqual(['lost-write']);
  const overlapping = historyOf([1, 2, 3]);
  // Sent to the leader that was lost, and acknowledged when no answer of it can have been under way any more.
  send(overlapping, { value: 9, offset: 3, sentUs: 9 * SECOND_US, doneUs: 12 * SECOND_US });
  expect(found(overlapping)).toEqual(['lost-write']);
});

test('what was read under an earlier leader in the lost range may be gone, or be something else', () => {
  const history = historyOf([1, 2, 3]);
  for (const value of [8, 9]) send(history, { value, offset: -1, outcome: 'unknown' });
  read(history, [1, 2, 8, 9], BEFORE);
  expect(found(history)).toEqual([]);
});

test('what was read below that range, or under the new leader, stays', () => {
  const below = historyOf([1, 2, 3]);
  send(below, { value: 9, offset: -1, outcome: 'unknown' });
  read(below, [1, 9], BEFORE);
  expect(found(below)).toEqual(['inconsistent-offsets']);
  const after = historyOf([1, 2, 3]);
  send(after, { value: 9, offset: -1, outcome: 'unknown' });
  read(after, [9], AFTER, 3);
  expect(found(after)).toEqual(['lost-read']);
});

test('under one leader an offset holds one value, also where an election takes it later', () => {
  const history = historyOf([1, 2, 3]);
  for (const value of [8, 9]) send(history, { value, offset: -1, outcome: 'unknown' });
  read(history, [8], BEFORE, 2);
  read(history, [9], BEFORE, 2);
  expect(found(history)).toEqual(['inconsistent-offsets']);
  const acknowledged = historyOf([1, 2, 3]);
  send(acknowledged, { value: 8, offset: 2, ...EARLIER });
  send(acknowledged, { value: 9, offset: -1, outcome: 'unknown' });
  read(acknowledged, [9], BEFORE, 2);
  expect(found(acknowledged)).toEqual(['inconsistent-offsets']);
});

test('of two elections each takes what it took', () => {
  const history = historyOf([1, 2, 3]);
  const [first, second] = [AFTER, AFTER + 1];
  history.losses.push({
    partition: 0,
    epoch: second,
    fromOffset: 3,
    endOffset: 3,
    endEpoch: 0,
    toOffset: 6,
    committedUs: 30 * SECOND_US,
  });
  for (const value of [7, 8, 9]) send(history, { value, offset: -1, outcome: 'unknown' });
  read(history, [7, 8], BEFORE, 2);
  read(history, [9], first, 3);
  expect(found(history)).toEqual([]);
  // The second one took nothing from offset 2.
  read(history, [8], first, 2);
  expect(found(history)).toEqual(['inconsistent-offsets']);
});

test('a reader may find itself beyond the end only where it had read what was lost', () => {
  const history = historyOf([1, 2, 3]);
  expect(mayBeBeyond(history, 0, 3)).toBe(true);
  expect(mayBeBeyond(history, 0, 2)).toBe(false);
  expect(mayBeBeyond(history, 1, 3)).toBe(false);
});
