/** Settings of topics act: a batch without the mark of what was in force is found, and doubt is no proof. */
import { describe, expect, it } from 'vitest';
import type { ConfigText, TopicAction, TopicOperation } from '../../core/verify/administration.ts';
import { judge } from '../../core/verify/checkers.ts';
import { addRead, beginSession, createHistory, type History, incarnationOf } from '../../core/verify/history.ts';

const STAMPED = 8;
const GZIP = 1;

/** The slot `t-0`, its topic made at 100 with these settings, and value 1 sent to it from 300 to 305. */
function slot(configs: readonly ConfigText[]): History {
  const history = createHistory([{ topic: 't', partition: 0, isSlot: true }]);
  operate(history, { kind: 'create', partitions: 1, configs }, 100, { answer: { error: 0, topicId: 'A' } });
  history.sends.push({
    producer: 1,
    partition: 0,
    value: 1,
    acks: -1,
    isIdempotent: true,
    patienceMs: Number.POSITIVE_INFINITY,
    sentUs: 300,
    doneUs: 305,
    outcome: 'acknowledged',
    offset: 0,
    error: 0,
  });
  return history;
}

function operate(history: History, action: TopicAction, startUs: number, changes: Partial<TopicOperation> = {}): void {
  const usual = { doneUs: startUs + 10, answer: { error: 0 }, unsureAttempts: 0 };
  history.operations.push({ topic: 't', action, startUs, ...usual, ...changes });
}

function alter(history: History, name: string, value: string | null, startUs: number, changes = {}): void {
  operate(history, { kind: 'alter', changes: [[name, value]] }, startUs, changes);
}

/** What is found when value 1 is read in a batch with these attributes. */
function foundWith(history: History, attributes: number): string[] {
  const partition = incarnationOf(history, 0, 'A');
  const session = beginSession(history, { reader: 1, partition, startedUs: 900, isFinal: true });
  addRead(history, session, { offset: 0, value: 1, highWatermark: 1, atUs: 901, attributes });
  return judge(history).violations.map(({ checker }) => checker);
}

describe('a setting that was acknowledged', () => {
  it('acts from the creation of its topic on', () => {
    const configs = [['message.timestamp.type', 'LogAppendTime']] as const;
    expect(foundWith(slot(configs), STAMPED)).toEqual([]);
    expect(foundWith(slot(configs), 0)).toEqual(['idle-setting']);
  });

  it('acts when it was changed, and when it was taken away', () => {
    const altered = (): History => {
      const history = slot([]);
      alter(history, 'compression.type', 'gzip', 200);
      return history;
    };
    expect(foundWith(altered(), GZIP)).toEqual([]);
    expect(foundWith(altered(), 0)).toEqual(['idle-setting']);
    const reset = slot([['message.timestamp.type', 'LogAppendTime']]);
    alter(reset, 'message.timestamp.type', null, 200);
    expect(foundWith(reset, STAMPED)).toEqual(['idle-setting']);
  });

  it('is not held against a batch while it is not certain', () => {
    const cases: ((history: History) => void)[] = [
      // Changed while the record was under way, or from then on.
      (history) => alter(history, 'compression.type', 'gzip', 295, { doneUs: 301 }),
      (history) => alter(history, 'compression.type', 'uncompressed', 301),
      // Nobody knows whether it was changed.
      (history) => alter(history, 'compression.type', 'uncompressed', 250, { answer: null, unsureAttempts: 1 }),
      // The topic may be another one.
      (history) => operate(history, { kind: 'delete' }, 290, { doneUs: -1, answer: null }),
    ];
    for (const change of cases) {
      const history = slot([['compression.type', 'gzip']]);
      change(history);
      expect(foundWith(history, 0)).toEqual([]);
    }
  });

  it('is not doubted for what others were refused', () => {
    const history = slot([['compression.type', 'gzip']]);
    alter(history, 'compression.type', 'uncompressed', 200, { answer: null });
    expect(foundWith(history, 0)).toEqual(['idle-setting']);
  });
});
