/** Groups as the leader of a classic group sees them: members with topics, racks and claims, and topics of any size. */
import fc from 'fast-check';
import type {
  Assignment,
  AssignorMember,
  AssignorTopic,
  ClientAssignor,
  TopicPartitions,
} from '../../core/assignors/client-shapes.ts';

export interface Group {
  readonly members: AssignorMember[];
  readonly topics: AssignorTopic[];
}

export const TOPICS = ['a', 'b', 'c', 'd'];
const RACKS = ['r0', 'r1', 'r2'];

export function member(memberId: string, more: Partial<AssignorMember> = {}): AssignorMember {
  const none = { instanceId: null, topics: ['a'], owned: [], generation: -1, rack: null, userData: null };
  return { memberId, ...none, ...more };
}

export const anyTopics: fc.Arbitrary<AssignorTopic[]> = fc.subarray(TOPICS).chain((names) =>
  fc.tuple(
    ...names.map((topic) =>
      fc.integer({ min: 0, max: 12 }).chain((partitionsCount) =>
        fc
          .option(
            fc.array(fc.uniqueArray(fc.constantFrom(...RACKS), { maxLength: 3 }), {
              minLength: partitionsCount,
              maxLength: partitionsCount,
            }),
          )
          .map((racks) => ({ topic, partitionsCount, ...(racks === null ? {} : { racks }) })),
      ),
    ),
  ),
);

/** Members with any topics each, or all with the same; no claims. */
export const anyMembers: fc.Arbitrary<AssignorMember[]> = fc
  .tuple(fc.boolean(), fc.subarray(TOPICS), fc.integer({ min: 1, max: 7 }))
  .chain(([isAlike, same, count]) =>
    fc.tuple(
      ...Array.from({ length: count }, (_, index) =>
        fc
          .record({
            topics: isAlike ? fc.constant(same) : fc.subarray(TOPICS),
            rack: fc.option(fc.constantFrom(...RACKS)),
            isStatic: fc.boolean(),
          })
          .map(({ topics, rack, isStatic }) =>
            member(`m${index}`, { topics, rack, instanceId: isStatic ? `i${7 - index}` : null }),
          ),
      ),
    ),
  );

export const anyGroup: fc.Arbitrary<Group> = fc.record({ members: anyMembers, topics: anyTopics });

/** `topic-partition` → who has it. */
export function ownersOf(assignment: Assignment): Map<string, string[]> {
  const owners = new Map<string, string[]>();
  for (const [memberId, given] of assignment) {
    for (const { topic, partitions } of given) {
      for (const partition of partitions) {
        const key = `${topic}-${partition}`;
        owners.set(key, [...(owners.get(key) ?? []), memberId]);
      }
    }
  }
  return owners;
}

export function loadsOf(assignment: Assignment): Map<string, number> {
  return new Map([...assignment].map(([memberId, given]) => [memberId, given.reduce(addCount, 0)]));
}

function addCount(sum: number, { partitions }: TopicPartitions): number {
  return sum + partitions.length;
}

/** What the members would say in their next subscription, having been given this. */
export function claiming(
  assignor: ClientAssignor,
  members: readonly AssignorMember[],
  assignment: Assignment,
  generation: number,
): AssignorMember[] {
  return members.map((one) => {
    const given = assignment.get(one.memberId);
    if (given === undefined) return one;
    const userData = assignor.userData(given, generation);
    return { ...one, userData, ...(assignor.isCooperative ? { owned: given, generation } : {}) };
  });
}
