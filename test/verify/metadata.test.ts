/** What administrators were told of topics: sound stories pass, each kind of lie is found, doubt is granted once. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { TopicAction, TopicAnswer, TopicOperation } from '../../core/verify/administration.ts';
import { judge } from '../../core/verify/checkers.ts';
import { createHistory, type History } from '../../core/verify/history.ts';

const CREATE: TopicAction = { kind: 'create', partitions: 1, configs: [] };
const DELETE: TopicAction = { kind: 'delete' };
const DESCRIBE: TopicAction = { kind: 'describe' };
const CONFIGS: TopicAction = { kind: 'describeConfigs' };
const GONE: TopicAnswer = { error: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION };
const DONE: TopicAnswer = { error: ErrorCode.NONE };

function made(topicId: string): TopicAnswer {
  return { error: ErrorCode.NONE, topicId };
}

function seen(topicId: string, partitions = 1): TopicAnswer {
  return { error: ErrorCode.NONE, topicId, partitions };
}

/** One after the other, ten microseconds each, unless `at` says when. A null answer is one attempt in doubt. */
function story(
  steps: readonly (readonly [TopicAction, TopicAnswer | null, at?: readonly [number, number]])[],
  changes: Partial<History> = {},
): History {
  const operations = steps.map(([action, answer, at], index): TopicOperation => {
    const [startUs, doneUs] = at ?? [index * 10_000_000, index * 10_000_000 + 10];
    return { topic: 't', action, startUs, doneUs, answer, unsureAttempts: answer === null ? 1 : 0 };
  });
  return { ...createHistory([]), operations, ...changes };
}

function found(history: History): string[] {
  return judge(history).violations.map(({ checker }) => checker);
}

describe('what was acknowledged', () => {
  it('is seen by whoever asks later', () => {
    const alter: TopicAction = { kind: 'alter', changes: [['segment.ms', '9']] };
    const history = story([
      [DESCRIBE, GONE],
      [CREATE, made('A')],
      [CREATE, { error: ErrorCode.TOPIC_ALREADY_EXISTS }],
      [{ kind: 'grow', count: 3 }, DONE],
      [{ kind: 'grow', count: 2 }, { error: ErrorCode.INVALID_PARTITIONS }],
      [alter, DONE],
      [CONFIGS, { error: ErrorCode.NONE, configs: [['segment.ms', '9']] }],
      [DESCRIBE, seen('A', 3)],
      [DELETE, DONE],
      [DESCRIBE, GONE],
      [CREATE, made('B')],
      [DESCRIBE, seen('B')],
      [CONFIGS, { error: ErrorCode.NONE, configs: [] }],
    ]);
    expect(found(history)).toEqual([]);
  });

  it.each<[string, TopicAction, TopicAnswer, TopicAction, TopicAnswer]>([
    ['a creation', CREATE, made('A'), DESCRIBE, GONE],
    ['the id of a topic', CREATE, made('A'), DESCRIBE, seen('B')],
    ['the size of a topic', CREATE, made('A'), DESCRIBE, seen('A', 2)],
    ['a setting', CREATE, made('A'), CONFIGS, { error: ErrorCode.NONE, configs: [['segment.ms', '9']] }],
  ])('cannot be lost: %s', (_, first, firstAnswer, second, secondAnswer) => {
    // A crash in between is no excuse.
    const history = story(
      [
        [first, firstAnswer],
        [second, secondAnswer],
      ],
      { downsUs: [5_000_000] },
    );
    expect(found(history)).toEqual(['metadata']);
  });

  it('cannot come back: a deleted topic', () => {
    const history = story([
      [CREATE, made('A')],
      [DELETE, DONE],
      [DESCRIBE, seen('A')],
    ]);
    expect(found(history)).toEqual(['metadata']);
  });

  it('may have come in any order at the same time', () => {
    const steps = (last: TopicAnswer): History =>
      story([
        [CREATE, made('A'), [0, 10]],
        [DELETE, DONE, [20, 50]],
        [DESCRIBE, last, [25, 45]],
      ]);
    expect(found(steps(GONE))).toEqual([]);
    expect(found(steps(seen('A')))).toEqual([]);
  });
});

describe('an attempt that nobody answered', () => {
  it('may have been carried out or not, but does not change its mind', () => {
    const history = (...answers: TopicAnswer[]): History =>
      story([[CREATE, null], ...answers.map((answer) => [DESCRIBE, answer] as const)]);
    expect(found(history(GONE, GONE))).toEqual([]);
    expect(found(history(seen('A'), seen('A')))).toEqual([]);
    expect(found(history(seen('A'), GONE))).toEqual(['metadata']);
    expect(found(history(seen('A'), seen('B')))).toEqual(['metadata']);
  });

  it('may be late, until its node ends or the network has nothing left of it', () => {
    const steps = [
      [CREATE, null, [0, 10]],
      [DESCRIBE, GONE, [20, 30]],
      [DESCRIBE, seen('A'), [1_000, 1_010]],
    ] as const;
    expect(found(story(steps))).toEqual([]);
    expect(found(story(steps, { downsUs: [15] }))).toEqual(['metadata']);
    expect(found(story(steps, { calmUs: 15 }))).toEqual(['metadata']);
    const late = [
      steps[0],
      [DESCRIBE, GONE, [3_000_000, 3_000_010]],
      [DESCRIBE, seen('A'), [9_000_000, 9_000_010]],
    ] as const;
    expect(found(story(late))).toEqual(['metadata']);
    expect(found(story(late, { holds: [{ fromUs: 5, toUs: 8_000_000 }] }))).toEqual([]);
  });

  it('may stand in the log of a controller whose disk is full, which leads again only when there is space', () => {
    const late = (goneUs: number, seenUs: number, fulls: History['fulls']): string[] =>
      found(
        story(
          [
            [CREATE, null, [1_000, 1_010]],
            [DESCRIBE, GONE, [goneUs, goneUs + 10]],
            [DESCRIBE, seen('A'), [seenUs, seenUs + 10]],
          ],
          { fulls },
        ),
      );
    const full = { fromUs: 5, toUs: 6_500_000 };
    expect(late(6_000_000, 8_000_000, [])).toEqual(['metadata']);
    expect(late(6_000_000, 8_000_000, [full])).toEqual([]);
    // Where it was full at another time, or has had space for long, that explains nothing.
    expect(late(6_000_000, 8_000_000, [{ ...full, fromUs: 2_500_000 }])).toEqual(['metadata']);
    expect(late(9_000_000, 19_000_000, [full])).toEqual(['metadata']);
    expect(late(9_000_000, 19_000_000, [full, { fromUs: 8_000_000, toUs: 20_000_000 }])).toEqual([]);
  });

  it('makes no topic whose id was known before', () => {
    const history = story([
      [CREATE, made('A')],
      [DELETE, DONE],
      [CREATE, null],
      [DESCRIBE, seen('A')],
    ]);
    expect(found(history)).toEqual(['metadata']);
  });
});

describe('of several nodes', () => {
  /** A topic that was deleted, and what was told of it so many microseconds after that was acknowledged. */
  const afterwards = (afterUs: number, action: TopicAction, answer: TopicAnswer): History => {
    const deletedUs = 40_000_000;
    return story(
      [
        [CREATE, made('A')],
        [DELETE, DONE, [deletedUs - 10, deletedUs]],
        [action, answer, [deletedUs + afterUs, deletedUs + afterUs + 10]],
      ],
      { isOfSeveral: true },
    );
  };
  const EXISTS: TopicAnswer = { error: ErrorCode.TOPIC_ALREADY_EXISTS };

  it('one may describe for a while what it has heard last, and no longer', () => {
    expect(found(afterwards(8_000_000, DESCRIBE, seen('A')))).toEqual([]);
    expect(found(afterwards(11_000_000, DESCRIBE, seen('A')))).toEqual(['metadata']);
  });

  it('an error is what the controller believes, which knows soon that it was replaced', () => {
    expect(found(afterwards(2_000_000, CREATE, EXISTS))).toEqual([]);
    expect(found(afterwards(4_000_000, CREATE, EXISTS))).toEqual(['metadata']);
    const held = afterwards(8_000_000, CREATE, EXISTS);
    expect(found({ ...held, holds: [{ fromUs: 39_000_000, toUs: 47_000_000 }] })).toEqual([]);
  });

  it('what is done is done when it is acknowledged', () => {
    expect(found(afterwards(10, DELETE, DONE))).toEqual(['metadata']);
    expect(found(afterwards(10, CREATE, made('B')))).toEqual([]);
  });
});
