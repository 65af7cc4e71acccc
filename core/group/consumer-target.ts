/**
 * Deals out partitions anew: what each member of a consumer group is to have.
 *
 * It is done when the group has a newer epoch than the target, but no sooner after the last time than the group's
 * assignment interval says: members that come one by one within it cost one dealing. Until then members go on with the
 * target that they have; the next heartbeat after it deals. Where the wall clock went back nobody waits for it. Only
 * targets that changed are written. Pure but for the draft.
 */
import { assignRange } from '../assignors/range.ts';
import type {
  AssignableMember,
  AssignableTopic,
  PartitionsByTopic,
  ServerAssignor,
} from '../assignors/server-shapes.ts';
import { assignUniform } from '../assignors/uniform.ts';
import { type MetadataImage, type TopicImage, topicByName } from '../metadata/image.ts';
import { type Draft, draftMembers, draftTarget, write } from './consumer-draft.ts';
import { targetEpochRecord, targetRecord } from './consumer-records.ts';
import { assignmentIntervalMs } from './consumer-settings.ts';
import type { ConsumerMember } from './consumer-state.ts';
import { isSameList, namesOf } from './consumer-topics.ts';
import type { GroupConfig } from './shapes.ts';

/** Different lists of topics that members are compared with. */
const LISTS_MAX = 16;

const ASSIGNORS: ReadonlyMap<string, ServerAssignor> = new Map([
  ['uniform', assignUniform],
  ['range', assignRange],
]);

/** The assignor that most members ask for, of equals the first that is configured; the default if nobody asks. */
export function electedAssignor({ consumer }: GroupConfig, members: Iterable<ConsumerMember>): string {
  const votes = new Map<string, number>();
  for (const { serverAssignor } of members) {
    if (serverAssignor !== null) votes.set(serverAssignor, (votes.get(serverAssignor) ?? 0) + 1);
  }
  let best = consumer.assignors[0] ?? 'uniform';
  for (const name of consumer.assignors) if ((votes.get(name) ?? 0) > (votes.get(best) ?? 0)) best = name;
  return best;
}

/** Deals out anew if it is due. */
export function updateTarget(draft: Draft): void {
  if (draft.epoch <= draft.targetEpoch || !isDue(draft)) return;
  const { group, work, config } = draft;
  const assign = ASSIGNORS.get(electedAssignor(config, draftMembers(draft))) ?? assignUniform;
  const { members, topics } = question(draft);
  const answer = assign({ members, topics });
  for (const { memberId } of members) {
    const target = answer.get(memberId) ?? new Map();
    if (isSameTarget(target, draftTarget(draft, memberId)) && group.targets.has(memberId)) continue;
    draft.targets.set(memberId, target);
    write(draft, targetRecord(group.groupId, memberId, target));
  }
  draft.targetEpoch = draft.epoch;
  write(draft, targetEpochRecord(group.groupId, draft.epoch, work.wallMs));
}

function isDue({ group, config, work }: Draft): boolean {
  const intervalMs = assignmentIntervalMs(config, work.image, group.groupId);
  const { targetTimestampMs } = group;
  if (targetTimestampMs === 0 || intervalMs === 0) return true;
  return work.wallMs >= targetTimestampMs + intervalMs || work.wallMs < targetTimestampMs;
}

interface Question {
  readonly members: AssignableMember[];
  readonly topics: Map<string, AssignableTopic>;
}

function question(draft: Draft): Question {
  const { image } = draft.work;
  const topics = new Map<string, AssignableTopic>();
  const members: AssignableMember[] = [];
  const all = [...draftMembers(draft)];
  const withRacks = all.some(({ rackId }) => rackId !== null);
  const idsOf = (names: readonly string[]): ReadonlySet<string> => {
    const topicIds = new Set<string>();
    for (const name of names) {
      const topic = topicByName(image, name);
      if (topic === undefined) continue;
      topicIds.add(topic.id);
      if (!topics.has(topic.id)) topics.set(topic.id, assignable(image, topic, withRacks));
    }
    return topicIds;
  };
  const lists: { readonly names: readonly string[]; readonly topicIds: ReadonlySet<string> }[] = [];
  for (const member of all) {
    const names = namesOf(draft, member);
    // Most members read the same: they share one set, which is made once.
    const known = lists.find((one) => isSameList(one.names, names));
    const topicIds = known?.topicIds ?? idsOf(names);
    if (known === undefined && lists.length < LISTS_MAX) lists.push({ names, topicIds });
    const { memberId, instanceId, rackId } = member;
    members.push({ memberId, instanceId, rackId, topicIds, assigned: draftTarget(draft, memberId) });
  }
  return { members, topics };
}

function assignable(image: MetadataImage, topic: TopicImage, withRacks: boolean): AssignableTopic {
  const named: ReadonlySet<string>[] = [];
  let hasAny = false;
  for (const { replicas } of withRacks ? topic.partitions : []) {
    const racks = new Set<string>();
    for (const id of replicas) {
      const rack = image.cluster.brokers.get(id)?.rack ?? null;
      if (rack !== null) racks.add(rack);
    }
    if (racks.size > 0) hasAny = true;
    named.push(racks);
  }
  return { topicId: topic.id, partitionCount: topic.partitions.length, racks: hasAny ? named : null };
}

/** Whether two members are to have the same. */
export function isSameTarget(a: PartitionsByTopic, b: PartitionsByTopic): boolean {
  if (a.size !== b.size) return false;
  for (const [topicId, partitions] of a) {
    const others = b.get(topicId);
    if (others === undefined || others.length !== partitions.length) return false;
    for (let i = 0; i < partitions.length; i++) if (partitions[i] !== others[i]) return false;
  }
  return true;
}
