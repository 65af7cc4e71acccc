/** Topics that come anew and records that are deleted: each anomaly is found, and what may be is let pass. */
import { describe, expect, it } from 'vitest';
import type { CutRecords, TopicOperation } from '../../core/verify/administration.ts';
import { judge } from '../../core/verify/checkers.ts';
import {
  addRead,
  beginSession,
  createHistory,
  type History,
  incarnationOf,
  type Send,
} from '../../core/verify/history.ts';

/** The slot `t-0`, and its topic made at 100 under the id A, deleted, and made again at 200 under the id B. */
function slot(): History {
  const history = createHistory([{ topic: 't', partition: 0, isSlot: true }]);
  const operate = (action: TopicOperation['action'], startUs: number, topicId?: string): void => {
    const answer = topicId === undefined ? { error: 0 } : { error: 0, topicId };
    history.operations.push({ topic: 't', action, startUs, doneUs: startUs + 10, answer, unsureAttempts: 0 });
  };
  const create = { kind: 'create', partitions: 1, configs: [] } as const;
  operate(create, 100, 'A');
  operate({ kind: 'delete' }, 150);
  operate(create, 200, 'B');
  return history;
}

function send(history: History, value: number, sentUs: number, changes: Partial<Send> = {}): void {
  history.sends.push({
    producer: 1,
    partition: 0,
    value,
    acks: -1,
    isIdempotent: true,
    patienceMs: Number.POSITIVE_INFINITY,
    sentUs,
    doneUs: sentUs + 5,
    outcome: 'acknowledged',
    offset: 0,
    error: 0,
    ...changes,
  });
}

interface Reading {
  readonly from?: number;
  readonly isFinal?: boolean;
  readonly startedUs?: number;
  readonly isFromStart?: boolean;
}

function read(history: History, topicId: string, values: readonly number[], how: Reading = {}): void {
  const { from = 0, isFinal = false, startedUs = 900, isFromStart = false } = how;
  const partition = topicId === '' ? 0 : incarnationOf(history, 0, topicId);
  const session = beginSession(history, { reader: 1, partition, startedUs, isFinal, isFromStart });
  values.forEach((value, index) => {
    addRead(history, session, { offset: from + index, value, highWatermark: 1_000, atUs: startedUs + 1 });
  });
}

function found(history: History): string[] {
  return [...new Set(judge(history).violations.map(({ checker }) => checker))];
}

describe('a topic that came anew', () => {
  it('holds what was sent since, and nothing is asked of what was sent before', () => {
    const history = slot();
    send(history, 1, 120);
    send(history, 2, 220);
    read(history, 'A', [1]);
    read(history, 'B', [2], { isFinal: true });
    expect(found(history)).toEqual([]);
  });

  it('must not hold what was done with before it was made', () => {
    const history = slot();
    send(history, 1, 120);
    send(history, 2, 220, { offset: 1 });
    read(history, 'B', [1, 2], { isFinal: true });
    expect(found(history)).toEqual(['stale-topic']);
  });

  it('may hold what was under way while it was made', () => {
    const history = slot();
    send(history, 1, 190, { doneUs: 230 });
    read(history, 'B', [1], { isFinal: true });
    expect(found(history)).toEqual([]);
  });

  it('must hold what was sent after it was known to be there', () => {
    const history = slot();
    send(history, 2, 220);
    send(history, 3, 221, { offset: 1 });
    read(history, 'B', [2], { isFinal: true });
    expect(found(history)).toEqual(['lost-write']);
  });
});

describe('records that were deleted', () => {
  function cut(history: History, changes: Partial<CutRecords> = {}): void {
    const usual = { partition: 0, offset: 2, startUs: 300, doneUs: 310, lowWatermark: 2, isUnsure: false };
    history.cuts.push({ ...usual, ...changes });
  }

  function filled(): History {
    const history = slot();
    [10, 11, 12].forEach((value, offset) => {
      send(history, value, 220 + offset, { offset });
    });
    return history;
  }

  it('are missed by nobody, those behind them are', () => {
    const history = filled();
    cut(history);
    read(history, 'B', [12], { from: 2, isFinal: true });
    expect(found(history)).toEqual([]);
    const short = filled();
    cut(short);
    read(short, 'B', [], { isFinal: true });
    expect(found(short)).toEqual(['lost-write']);
  });

  it('are not read by a session that began after the answer', () => {
    const history = filled();
    cut(history);
    read(history, 'B', [10, 11, 12], { isFinal: true });
    expect(found(history)).toEqual(['deleted-read']);
    const before = filled();
    cut(before);
    read(before, 'B', [10, 11, 12], { startedUs: 250 });
    read(before, 'B', [12], { from: 2, isFinal: true });
    expect(found(before)).toEqual([]);
  });

  it('may be shown by one of several nodes that has heard nothing, and by none any more once all is well', () => {
    const history = filled();
    cut(history);
    read(history, 'B', [10, 11, 12], { isFinal: true, startedUs: 30_000_000 });
    // Silence lay over the deletion, and lasted until shortly before the reader came.
    const silent = { ...history, isOfSeveral: true, holds: [{ fromUs: 100, toUs: 25_000_000 }] };
    expect(found(silent)).toEqual([]);
    expect(found({ ...silent, calmUs: 29_000_000 })).toEqual(['deleted-read']);
    expect(found({ ...silent, holds: [] })).toEqual(['deleted-read']);
  });

  it('may be there or not where nobody knows, but do not come back', () => {
    const unsure = { lowWatermark: -1, isUnsure: true };
    for (const from of [0, 2]) {
      const history = filled();
      cut(history, unsure);
      read(history, 'B', [10, 11, 12].slice(from), { from, isFinal: true });
      expect(found(history)).toEqual([]);
    }
    const back = filled();
    cut(back, unsure);
    read(back, 'B', [12], { from: 2, startedUs: 400, isFromStart: true });
    read(back, 'B', [10, 11, 12], { isFinal: true });
    expect(found(back)).toEqual(['start-regression']);
    // The leader that showed the start first may have been lost before others had it.
    expect(found({ ...back, isOfSeveral: true })).toEqual([]);
  });

  it('of an earlier topic of that name excuse no loss in this one', () => {
    const history = filled();
    cut(history, { startUs: 120, doneUs: 130 });
    read(history, 'B', [12], { from: 2, isFinal: true });
    expect(found(history)).toEqual(['lost-write']);
  });
});
