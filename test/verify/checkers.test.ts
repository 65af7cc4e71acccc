/** Every checker finds what it is for, and nothing in a sound history. */
import { expect, test } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import { addRead, beginSession, createHistory, type History, type Send } from '../../core/verify/history.ts';

/** A history of one partition whose log ends as `log`, all of it acknowledged under acks=all by one producer. */
function sound(log: readonly number[]): History {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  log.forEach((value, offset) => {
    history.sends.push(send({ value, offset }));
  });
  read(history, log, true);
  return history;
}

function send(changes: Partial<Send>): Send {
  return {
    producer: 1,
    partition: 0,
    value: 0,
    acks: -1,
    isIdempotent: true,
    patienceMs: Number.POSITIVE_INFINITY,
    sentUs: 0,
    doneUs: 1,
    outcome: 'acknowledged',
    offset: 0,
    error: 0,
    ...changes,
  };
}

function read(history: History, values: readonly number[], isFinal: boolean, from = 0, highWatermark = 100): number {
  const session = beginSession(history, { reader: 1, partition: 0, startedUs: 0, isFinal });
  values.forEach((value, index) => {
    addRead(history, session, { offset: from + index, value, highWatermark, atUs: 2 });
  });
  return session;
}

function found(history: History): string[] {
  return [...new Set(judge(history).violations.map(({ checker }) => checker))];
}

test('a sound history is found sound', () => {
  expect(judge(sound([5, 6, 7]))).toEqual({ violations: [], excused: [] });
});

test('an acknowledged record that is not at its offset is lost', () => {
  const history = sound([5, 6]);
  history.sends.push(send({ value: 9, offset: 2 }));
  expect(found(history)).toEqual(['lost-write']);
});

test('beyond what a final session proves nothing is lost', () => {
  const history = sound([5, 6, 7]);
  history.sends.push(send({ value: 8, offset: 3 }), send({ value: 9, offset: -1 }));
  read(history, [5, 6, 7, 8], false);
  expect(found(history)).toEqual(['lost-write', 'lost-read']);
  history.sessions[0] = { reader: 1, partition: 0, startedUs: 0, isFinal: true, provesBelow: 3 };
  expect(found(history)).toEqual([]);
  history.sends.push(send({ value: 10, offset: 2 }));
  expect(found(history)).toEqual(['lost-write', 'inconsistent-offsets']);
});

test('a value that was read where it was not sent is named in all that is found because of it', () => {
  const history = sound([5, 6, 7, 8]);
  read(history, [5, -1], false);
  addRead(history, 1, { offset: 3, value: 8, highWatermark: 100, atUs: 2 });
  const { violations } = judge(history);
  expect(violations.map(({ checker, sentTo }) => [checker, sentTo])).toEqual([
    ['inconsistent-offsets', -1],
    ['poll-skip', -1],
    ['phantom', -1],
  ]);
});

test('an acknowledged record without a known offset may be anywhere, but must be somewhere', () => {
  const history = sound([5, 6]);
  history.sends.push(send({ value: 6, offset: -1 }));
  expect(found(history)).toEqual([]);
  history.sends.push(send({ value: 9, offset: -1 }));
  expect(found(history)).toEqual(['lost-write']);
});

test('acks=1 promises nothing about a crash', () => {
  const history = sound([5, 6]);
  history.sends.push(send({ value: 9, offset: 2, acks: 1, isIdempotent: false }));
  expect(found(history)).toEqual([]);
});

test('an offset that held two values is inconsistent', () => {
  const history = sound([5, 6]);
  history.sends.push(send({ value: 8, outcome: 'unknown', offset: -1 }));
  read(history, [5, 8], false);
  expect(found(history)).toEqual(['inconsistent-offsets']);
});

test('what was read and is gone was read too early', () => {
  const history = sound([5]);
  history.sends.push(send({ value: 6, outcome: 'unknown', offset: -1 }));
  read(history, [5, 6], false);
  expect(found(history)).toEqual(['lost-read']);
});

test('a record at or above the high watermark is an early read', () => {
  const history = sound([5, 6]);
  read(history, [5, 6], false, 0, 1);
  expect(found(history)).toEqual(['early-read']);
});

test('a high watermark that goes back within a session is a regression', () => {
  const history = sound([5, 6]);
  const session = beginSession(history, { reader: 2, partition: 0, startedUs: 0, isFinal: false });
  addRead(history, session, { offset: 0, value: 5, highWatermark: 9, atUs: 1 });
  addRead(history, session, { offset: 1, value: 6, highWatermark: 8, atUs: 2 });
  expect(found(history)).toEqual(['watermark-regression']);
});

test('an idempotent record that is there twice is a duplicate, another one is not', () => {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  history.sends.push(send({ value: 5, offset: 0 }), send({ value: 6, offset: 1, isIdempotent: false, producer: 2 }));
  read(history, [5, 6, 6], true);
  expect(found(history)).toEqual([]);
  read(history, [5], true, 3);
  expect(found(history)).toEqual(['duplicate']);
});

test('idempotent records out of send order are disorder', () => {
  const history = sound([5]);
  history.sends.push(send({ value: 7, offset: 2 }), send({ value: 6, offset: 1 }));
  read(history, [6, 7], true, 1);
  expect(found(history)).toEqual(['nonmonotonic-send']);
});

test('a value that nobody sent is a phantom, one that certainly failed must not be read', () => {
  const history = sound([5]);
  read(history, [77], false, 1);
  expect(found(history)).toContain('phantom');
  const failed = sound([5]);
  failed.sends.push(send({ value: 6, outcome: 'failed', offset: -1 }));
  read(failed, [6], true, 1);
  expect(found(failed)).toEqual(['failed-but-read']);
});

test('a session that skips or repeats offsets is found', () => {
  const skipping = sound([5, 6, 7]);
  const session = read(skipping, [5], false);
  addRead(skipping, session, { offset: 2, value: 7, highWatermark: 100, atUs: 3 });
  expect(found(skipping)).toEqual(['poll-skip']);
  const repeating = sound([5, 6, 7]);
  const again = read(repeating, [5, 6], false);
  addRead(repeating, again, { offset: 1, value: 6, highWatermark: 100, atUs: 3 });
  expect(found(repeating)).toEqual(['nonmonotonic-poll']);
});

test('a send without an answer is unanswered', () => {
  const history = sound([5]);
  history.sends.push(send({ value: 6, outcome: 'open', doneUs: -1, offset: -1 }));
  expect(found(history)).toEqual(['unanswered']);
});

test('losses in a partition that was damaged are excused, phantoms never', () => {
  const history = sound([5, 6]);
  history.sends.push(send({ value: 9, offset: 2 }));
  history.damaged.add(0);
  expect(judge(history)).toMatchObject({ violations: [], excused: [{ checker: 'lost-write' }] });
  read(history, [77], false, 3);
  expect(found(history)).toEqual(['phantom']);
});
