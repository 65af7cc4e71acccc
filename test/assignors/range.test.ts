/** The server's assignor `range`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assignRange } from '../../core/assignors/range.ts';
import { anyQuestion, asked, isWhole } from './questions.ts';

describe('range', () => {
  it('cuts each topic into runs, the first one longer where it does not come out even', () => {
    const answer = assignRange(asked({ members: { b: 'x y', a: 'x y' }, topics: { x: 5, y: 2 } }));
    expect(answer.get('a')).toEqual(
      new Map([
        ['x', [0, 1, 2]],
        ['y', [0]],
      ]),
    );
    expect(answer.get('b')).toEqual(
      new Map([
        ['x', [3, 4]],
        ['y', [1]],
      ]),
    );
  });

  it('counts only those who read a topic', () => {
    const answer = assignRange(asked({ members: { a: 'x', b: 'x y', c: 'y' }, topics: { x: 2, y: 2 } }));
    expect(answer.get('a')).toEqual(new Map([['x', [0]]]));
    expect(answer.get('b')).toEqual(
      new Map([
        ['x', [1]],
        ['y', [0]],
      ]),
    );
    expect(answer.get('c')).toEqual(new Map([['y', [1]]]));
  });

  it('puts static members first, by instance id', () => {
    const { members, topics } = asked({ members: { a: 'x', b: 'x', c: 'x' }, topics: { x: 3 } });
    const named = members.map((one) => (one.memberId === 'c' ? { ...one, instanceId: 'first' } : one));
    const answer = assignRange({ members: named, topics });
    expect(['c', 'a', 'b'].map((id) => answer.get(id)?.get('x'))).toEqual([[0], [1], [2]]);
  });

  it('for any question: whole, in runs, and equal numbers of equal topics with one member', () => {
    fc.assert(
      fc.property(anyQuestion({ even: true }), (question) => {
        const answer = assignRange(question);
        expect(isWhole(question, answer)).toBe(true);
        for (const topics of answer.values()) {
          for (const [topicId, partitions] of topics) {
            const first = partitions[0] ?? 0;
            expect(partitions).toEqual(partitions.map((_, i) => first + i));
            for (const other of question.topics.values()) {
              if (other.partitionCount !== question.topics.get(topicId)?.partitionCount) continue;
              expect(topics.get(other.topicId)).toEqual(partitions);
            }
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
