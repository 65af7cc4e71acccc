/** The server's assignor `uniform`: rules one by one, then what holds for any members and topics. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssignmentAnswer, AssignmentQuestion } from '../../core/assignors/server-shapes.ts';
import { assignUniform } from '../../core/assignors/uniform.ts';
import { anyQuestion, asked, isWhole, sizes, withAnswer } from './questions.ts';

function moved(before: AssignmentAnswer, after: AssignmentAnswer): number {
  let count = 0;
  for (const [memberId, topics] of after) {
    for (const [topicId, partitions] of topics) {
      const had = new Set(before.get(memberId)?.get(topicId) ?? []);
      for (const p of partitions) if (!had.has(p)) count += 1;
    }
  }
  return count;
}

/** Partitions whose member is in one rack with a replica. */
function near(question: AssignmentQuestion, answer: AssignmentAnswer): number {
  let count = 0;
  for (const { memberId, rackId } of question.members) {
    for (const [topicId, partitions] of answer.get(memberId) ?? []) {
      const racks = question.topics.get(topicId)?.racks;
      for (const p of partitions) if (rackId !== null && racks?.[p]?.has(rackId)) count += 1;
    }
  }
  return count;
}

describe('uniform, all members reading the same topics', () => {
  it('gives every member the same number, and each topic to several', () => {
    const answer = assignUniform(asked({ members: { a: 'x y', b: 'x y' }, topics: { x: 4, y: 2 } }));
    expect(answer.get('a')).toEqual(
      new Map([
        ['x', [0, 2]],
        ['y', [0]],
      ]),
    );
    expect(answer.get('b')).toEqual(
      new Map([
        ['x', [1, 3]],
        ['y', [1]],
      ]),
    );
  });

  it('leaves members without any where partitions are fewer', () => {
    const answer = assignUniform(asked({ members: { a: 'x', b: 'x', c: 'x' }, topics: { x: 2 } }));
    expect(sizes(answer)).toEqual([1, 1, 0]);
  });

  it('answers nothing for no members, and nothing of topics that nobody reads', () => {
    expect(assignUniform(asked({ members: {}, topics: { x: 2 } }))).toEqual(new Map());
    expect(assignUniform(asked({ members: { a: '' }, topics: { x: 2 } }))).toEqual(new Map([['a', new Map()]]));
  });

  it('takes no more from those who have it than a new member must get', () => {
    const first = asked({ members: { a: 'x', b: 'x' }, topics: { x: 9 } });
    const before = assignUniform(first);
    const next = withAnswer(asked({ members: { a: 'x', b: 'x', c: 'x' }, topics: { x: 9 } }), before);
    const after = assignUniform(next);
    expect(sizes(after)).toEqual([3, 3, 3]);
    expect(moved(before, after)).toBe(3);
  });

  it('gives what a member leaves behind to the others, who keep what they have', () => {
    const before = assignUniform(asked({ members: { a: 'x', b: 'x', c: 'x' }, topics: { x: 6 } }));
    const after = assignUniform(withAnswer(asked({ members: { a: 'x', c: 'x' }, topics: { x: 6 } }), before));
    expect(sizes(after)).toEqual([3, 3]);
    expect(moved(before, after)).toBe(2);
  });

  it('prefers members in the rack of a replica, and balance to that', () => {
    const question = asked({
      members: { a: 'x', b: 'x' },
      topics: { x: 4 },
      racks: { a: 'left', b: 'right' },
      replicas: { x: ['right', 'right', 'left', 'left'] },
    });
    expect(assignUniform(question).get('a')).toEqual(new Map([['x', [2, 3]]]));
    const oneSided = asked({
      members: { a: 'x', b: 'x' },
      topics: { x: 4 },
      racks: { a: 'left', b: 'right' },
      replicas: { x: ['left', 'left', 'left', 'left'] },
    });
    expect(sizes(assignUniform(oneSided))).toEqual([2, 2]);
  });

  it('moves a partition to a member that comes to its rack', () => {
    const racks = { x: ['left', 'right'] };
    const alone = asked({ members: { a: 'x' }, topics: { x: 2 }, racks: { a: 'left' }, replicas: racks });
    const two = asked({
      members: { a: 'x', b: 'x' },
      topics: { x: 2 },
      racks: { a: 'left', b: 'right' },
      replicas: racks,
    });
    expect(assignUniform(withAnswer(two, assignUniform(alone))).get('b')).toEqual(new Map([['x', [1]]]));
  });

  it('for any question: whole, balanced to within one, the same again, and whatever the order', () => {
    fc.assert(
      fc.property(anyQuestion({ even: true }), (question) => {
        const answer = assignUniform(question);
        expect(isWhole(question, answer)).toBe(true);
        const counts = sizes(answer);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        expect(assignUniform(withAnswer(question, answer))).toEqual(answer);
        expect(assignUniform({ ...question, members: [...question.members].reverse() })).toEqual(answer);
      }),
      { numRuns: 300 },
    );
  });

  it('for any member that leaves, no partition of the others moves where nobody names a rack', () => {
    fc.assert(
      fc.property(anyQuestion({ even: true, racks: false }), (question) => {
        const before = assignUniform(question);
        const rest = { ...question, members: question.members.slice(1) };
        const gone = question.members[0]?.memberId ?? '';
        const free = sizes(new Map([[gone, before.get(gone) ?? new Map()]]))[0] ?? 0;
        const after = assignUniform(withAnswer(rest, before));
        if (rest.members.length > 0) expect(moved(before, after)).toBe(free);
      }),
      { numRuns: 300 },
    );
  });

  it('for any racks, asking again with the answer of others never takes nearness away', () => {
    fc.assert(
      fc.property(anyQuestion({ even: true, racks: true }), (question) => {
        const asItWas = near(question, new Map(question.members.map((one) => [one.memberId, kept(question, one)])));
        const answer = assignUniform(question);
        const counts = sizes(answer);
        // Only balance may cost nearness: where everybody had no more than the quota, none is lost.
        const quota = Math.floor(counts.reduce((a, b) => a + b, 0) / Math.max(1, counts.length));
        const isWithin = question.members.every((one) => size(kept(question, one)) <= quota);
        if (isWithin) expect(near(question, answer)).toBeGreaterThanOrEqual(asItWas);
      }),
      { numRuns: 300 },
    );
  });
});

function kept(question: AssignmentQuestion, member: AssignmentQuestion['members'][number]): Map<string, number[]> {
  const had = new Map<string, number[]>();
  for (const [topicId, partitions] of member.assigned) {
    const count = question.topics.get(topicId)?.partitionCount ?? 0;
    if (member.topicIds.has(topicId))
      had.set(
        topicId,
        [...partitions].filter((p) => p < count),
      );
  }
  return had;
}

function size(topics: ReadonlyMap<string, readonly number[]>): number {
  let count = 0;
  for (const partitions of topics.values()) count += partitions.length;
  return count;
}

describe('uniform, members reading different topics', () => {
  it('gives a member its only topic, and the others the rest', () => {
    const answer = assignUniform(asked({ members: { a: 'x', b: 'x y' }, topics: { x: 3, y: 3 } }));
    expect(answer.get('a')).toEqual(new Map([['x', [0, 1, 2]]]));
    expect(answer.get('b')).toEqual(new Map([['y', [0, 1, 2]]]));
  });

  it('moves what another can read from one who has too much', () => {
    const before = new Map([
      [
        'a',
        new Map([
          ['x', [0, 1, 2, 3]],
          ['y', [0, 1]],
        ]),
      ],
    ]);
    const question = asked({ members: { a: 'x y', b: 'x' }, topics: { x: 4, y: 2 } });
    const after = assignUniform(withAnswer(question, before));
    expect(sizes(after)).toEqual([3, 3]);
    expect(moved(before, after)).toBe(3);
  });

  it('deals out many partitions to many members in far less work than one times the other, whoever had them', () => {
    const names = (from: number, count: number) => Array.from({ length: count }, (_, i) => `t${from + i}`).join(' ');
    const partitionsOf = (count: number, each: number) =>
      Array.from({ length: count }, (_, i) => [`t${i}`, each] as const);
    const cases = [
      { topics: [['t0', 40_000] as const], subscriptions: ['t0', 't0 t1'] },
      { topics: partitionsOf(10_000, 1), subscriptions: [names(0, 10_000), names(0, 9_999)] },
      { topics: partitionsOf(100, 100), subscriptions: [names(0, 100), names(0, 50), names(50, 50)] },
    ];
    for (const { topics, subscriptions } of cases) {
      const members = Array.from({ length: 200 }, (_, m) => [`m${m}`, subscriptions[m % subscriptions.length]]);
      const given = asked({
        members: Object.fromEntries(members),
        topics: Object.fromEntries([...topics, ['t1', 1]]),
      });
      const all = new Map([...given.topics].map(([id, one]) => [id, [...new Array(one.partitionCount).keys()]]));
      const question = withAnswer(given, new Map([['m0', all]]));
      const before = process.cpuUsage();
      const answer = assignUniform(question);
      const { user } = process.cpuUsage(before);
      // Ample for any machine; with each move a walk over all partitions it takes ten times that.
      expect(user).toBeLessThan(1_000_000);
      expect(Math.max(...sizes(answer)) - Math.min(...sizes(answer))).toBeLessThanOrEqual(1);
    }
  });

  it('for any question: whole, no single move would level it, and the same again', () => {
    fc.assert(
      fc.property(anyQuestion({ even: false }), (question) => {
        const answer = assignUniform(question);
        expect(isWhole(question, answer)).toBe(true);
        for (const member of question.members) {
          const mine = size(answer.get(member.memberId) ?? new Map());
          for (const topicId of answer.get(member.memberId)?.keys() ?? []) {
            for (const other of question.members.filter((one) => one.topicIds.has(topicId))) {
              expect(mine - size(answer.get(other.memberId) ?? new Map())).toBeLessThanOrEqual(1);
            }
          }
        }
        expect(assignUniform(withAnswer(question, answer))).toEqual(answer);
      }),
      { numRuns: 300 },
    );
  });
});
