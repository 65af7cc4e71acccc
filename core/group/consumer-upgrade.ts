/**
 * A classic group becomes a consumer group when the first member of the consumer protocol joins it.
 *
 * An empty one just goes. One with members is translated: each member keeps what the last generation gave it, in the
 * epoch of that generation, and is told to join again by its next heartbeat; so nobody stops reading. What it owned
 * before and has yet to give up, it has to give back first, as any member: until then nobody else is given it. The
 * operator may forbid it, and groups that are not of consumers, or whose own assignor told members more than
 * partitions, stay as they are. Whoever waits in the classic group is told to join again when the call succeeds, not
 * before.
 */
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import { type ClassicGroup, type ClassicMember, metadataOf } from './classic-group.ts';
import type { ConsumerRecord } from './consumer.ts';
import { ownedOfAssignment, subscriptionOf } from './consumer-bytes.ts';
import { createDraft, type Draft, type Refusal, refuse, timersOf, write } from './consumer-draft.ts';
import { namesSaid, partitionsOf } from './consumer-heartbeat.ts';
import { assignmentRecord, epochRecord, memberRecord, targetEpochRecord, targetRecord } from './consumer-records.ts';
import { applyConsumerRecord } from './consumer-replay.ts';
import {
  type ConsumerMember,
  createConsumerGroup,
  createConsumerMember,
  MemberState,
  type OwnedPartitions,
} from './consumer-state.ts';
import { tombstone } from './records.ts';
import type { GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

/** The draft of the consumer group that a classic group becomes; a refusal if it may not. */
export function upgrade(state: GroupState, work: GroupWork, classic: ClassicGroup): Draft | Refusal {
  const { groupId } = classic;
  const group = createConsumerGroup(groupId);
  const records: GroupRecord[] = [];
  if (classic.written !== null) records.push(tombstone('GroupMetadata', { group: groupId }));
  if (classic.members.size > 0) {
    const refusal = checkUpgrade(state, classic);
    if (refusal !== null) return refusal;
    const members = translate(work, classic);
    if (members === null) {
      return refuse(
        ErrorCode.GROUP_ID_NOT_FOUND,
        `Cannot upgrade classic group ${groupId} to consumer group because the embedded consumer protocol is ` +
          'malformed or an unsupported custom assignor is in use.',
      );
    }
    records.push(...recordsOf(groupId, classic.generation, members));
    // The draft begins from what replay of these records gives; the same replay fills the group itself later.
    for (const record of records) if (isConsumerRecord(record)) applyConsumerRecord(group, record);
    for (const { memberId, classic: part } of members) {
      timersOf(group, memberId).sessionMs = work.nowMs + (part?.sessionTimeoutMs ?? 0);
    }
  }
  const draft = createDraft(state, work, group);
  write(draft, ...records);
  return draft;
}

function isConsumerRecord(record: GroupRecord): record is ConsumerRecord {
  return record.kind.startsWith('ConsumerGroup');
}

function checkUpgrade(state: GroupState, { groupId, protocolType, members }: ClassicGroup): Refusal | null {
  const { migrationPolicy, sizeMax } = state.config.consumer;
  const because = (why: string): Refusal =>
    refuse(ErrorCode.GROUP_ID_NOT_FOUND, `Cannot upgrade classic group ${groupId} to consumer group because ${why}.`);
  if (migrationPolicy !== 'upgrade' && migrationPolicy !== 'bidirectional')
    return because('online upgrade is disabled');
  if (protocolType !== CONSUMER_PROTOCOL_TYPE) {
    return because('the group does not use the consumer embedded protocol');
  }
  return members.size > sizeMax ? because('the group size exceeds the consumer group maximum size') : null;
}

/** The members as members of a consumer group; null if one cannot be understood. */
function translate(work: GroupWork, classic: ClassicGroup): ConsumerMember[] | null {
  const members: ConsumerMember[] = [];
  for (const member of classic.members.values()) {
    const one = translateMember(work, classic, member);
    if (one === null) return null;
    members.push(one);
  }
  const given = new Set(members.flatMap(({ assigned }) => keysOf(assigned)));
  return members.map((member) => withOwed(work, member, given));
}

/** The partitions as texts. */
function keysOf(owned: OwnedPartitions): string[] {
  return [...owned].flatMap(([topicId, partitions]) => [...partitions.keys()].map((one) => `${topicId} ${one}`));
}

/** With what the member said that it owns and nobody was given: it is on its way to give that up and join again. */
function withOwed(work: GroupWork, member: ConsumerMember, given: ReadonlySet<string>): ConsumerMember {
  const said = subscriptionOf(member.classic?.supportedProtocols[0]?.metadata ?? null)?.owned(work.image) ?? [];
  const revoking = new Map<string, ReadonlyMap<number, number>>();
  for (const { topicId, partitions } of said) {
    const owed = partitions.filter((partition) => !given.has(`${topicId} ${partition}`));
    if (owed.length > 0) revoking.set(topicId, new Map(owed.map((partition) => [partition, member.memberEpoch])));
  }
  return revoking.size === 0 ? member : { ...member, state: MemberState.UNREVOKED_PARTITIONS, revoking };
}

function translateMember(work: GroupWork, classic: ClassicGroup, member: ClassicMember): ConsumerMember | null {
  const { protocolName, generation } = classic;
  // A group that never had a generation has chosen no protocol: the member's first will do.
  const metadata = protocolName === null ? member.protocols[0]?.metadata : metadataOf(member, protocolName);
  const subscription = subscriptionOf(metadata ?? null);
  const assigned = ownedOfAssignment(work.image, member.assignment, generation);
  if (subscription === null || assigned === null) return null;
  return {
    ...createConsumerMember(member.memberId),
    instanceId: member.groupInstanceId,
    rackId: subscription.rackId,
    clientId: member.clientId,
    clientHost: member.clientHost,
    subscribedTopicNames: namesSaid([], subscription.topics),
    rebalanceTimeoutMs: member.rebalanceTimeoutMs,
    classic: { sessionTimeoutMs: member.sessionTimeoutMs, supportedProtocols: [...member.protocols] },
    memberEpoch: generation,
    previousMemberEpoch: generation,
    assigned,
  };
}

function recordsOf(groupId: string, generation: number, members: readonly ConsumerMember[]): GroupRecord[] {
  const targetOf = ({ assigned }: ConsumerMember): Map<string, number[]> =>
    new Map(partitionsOf(assigned).map(({ topicId, partitions }) => [topicId, partitions]));
  return [
    ...members.map((member) => memberRecord(groupId, member)),
    epochRecord(groupId, generation, 0),
    ...members.map((member) => targetRecord(groupId, member.memberId, targetOf(member))),
    targetEpochRecord(groupId, generation, 0),
    ...members.map((member) => assignmentRecord(groupId, member)),
  ];
}
