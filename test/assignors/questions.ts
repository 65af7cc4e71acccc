/** Questions for the server's assignors: by hand, and any. */
import fc from 'fast-check';
import type { AssignmentAnswer, AssignmentQuestion } from '../../core/assignors/server-shapes.ts';

interface Given {
  /** Topics that each member reads, with spaces between. */
  readonly members: object;
  /** Partitions of each topic. */
  readonly topics: object;
  readonly racks?: object;
  /** The rack of the only replica of each partition. */
  readonly replicas?: object;
}

/** A question by hand; ids are names. */
export function asked({ members, topics, racks = {}, replicas = {} }: Given): AssignmentQuestion {
  const rackOf = new Map<string, string>(Object.entries(racks));
  const replicasOf = new Map<string, string[]>(Object.entries(replicas));
  return {
    members: Object.entries(members as { [name: string]: string }).map(([memberId, read]) => ({
      memberId,
      instanceId: null,
      rackId: rackOf.get(memberId) ?? null,
      topicIds: new Set(read.split(' ').filter((name) => name !== '')),
      assigned: new Map(),
    })),
    topics: new Map(
      Object.entries(topics as { [name: string]: number }).map(([topicId, partitionCount]) => {
        const racksOf = replicasOf.get(topicId)?.map((rack) => new Set([rack])) ?? null;
        return [topicId, { topicId, partitionCount, racks: racksOf }];
      }),
    ),
  };
}

/** The question once more, after an answer. */
export function withAnswer(question: AssignmentQuestion, answer: AssignmentAnswer): AssignmentQuestion {
  const members = question.members.map((one) => ({ ...one, assigned: answer.get(one.memberId) ?? new Map() }));
  return { ...question, members };
}

/** How many partitions each member has. */
export function sizes(answer: AssignmentAnswer): number[] {
  return [...answer.values()].map((topics) => [...topics.values()].reduce((sum, one) => sum + one.length, 0));
}

/** Whether each partition that anybody reads has exactly one member, who reads it, and every member is there. */
export function isWhole(question: AssignmentQuestion, answer: AssignmentAnswer): boolean {
  if (answer.size !== question.members.length) return false;
  for (const { topicId, partitionCount } of question.topics.values()) {
    const readers = question.members.filter((one) => one.topicIds.has(topicId));
    const given: number[] = [];
    for (const { memberId } of readers) given.push(...(answer.get(memberId)?.get(topicId) ?? []));
    const all = question.members.flatMap((one) => answer.get(one.memberId)?.get(topicId) ?? []);
    if (given.length !== all.length) return false;
    if (readers.length === 0) continue;
    given.sort((a, b) => a - b);
    if (given.length !== partitionCount || given.some((partition, i) => partition !== i)) return false;
  }
  return true;
}

const TOPICS = ['t0', 't1', 't2', 't3'];
const RACKS = ['r0', 'r1', 'r2'];

/** Any members, topics and former assignments. `even`: all read the same; `racks`: whether any are named. */
export function anyQuestion(options: { even: boolean; racks?: boolean }): fc.Arbitrary<AssignmentQuestion> {
  const withRacks = options.racks ?? true;
  const rack = withRacks ? fc.option(fc.constantFrom(...RACKS), { nil: null }) : fc.constant(null);
  const topicSet = fc.subarray(TOPICS, { minLength: 0 });
  const member = fc.record({
    rack,
    topics: topicSet,
    isStatic: fc.boolean(),
    claims: fc.array(fc.tuple(fc.constantFrom(...TOPICS), fc.integer({ min: 0, max: 12 })), { maxLength: 10 }),
  });
  const topic = fc.record({
    count: fc.integer({ min: 0, max: 12 }),
    racks: fc.array(fc.subarray(RACKS), { minLength: 12, maxLength: 12 }),
    hasRacks: fc.constant(withRacks),
  });
  const all = fc.record({
    members: fc.array(member, { minLength: 1, maxLength: 7 }),
    topics: fc.array(topic, { minLength: 4, maxLength: 4 }),
    shared: topicSet,
  });
  return all.map(({ members, topics, shared }) => {
    const taken = new Set<string>();
    const made = members.map((one, i) => {
      const assigned = new Map<string, number[]>();
      for (const [topicId, partition] of one.claims) {
        const key = `${topicId}-${partition}`;
        if (taken.has(key)) continue;
        taken.add(key);
        assigned.set(
          topicId,
          [...(assigned.get(topicId) ?? []), partition].sort((a, b) => a - b),
        );
      }
      const topicIds = new Set(options.even ? shared : one.topics);
      return { memberId: `m${i}`, instanceId: one.isStatic ? `s${i}` : null, rackId: one.rack, topicIds, assigned };
    });
    const read = new Set(made.flatMap(({ topicIds }) => [...topicIds]));
    return {
      members: made,
      topics: new Map(
        topics.flatMap(({ count, racks, hasRacks }, i) => {
          const topicId = `t${i}`;
          if (!read.has(topicId)) return [];
          const sets = hasRacks ? racks.slice(0, count).map((names) => new Set(names)) : null;
          return [[topicId, { topicId, partitionCount: count, racks: sets }] as const];
        }),
      ),
    };
  });
}
