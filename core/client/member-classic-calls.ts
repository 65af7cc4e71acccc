/**
 * The requests of a member of a classic group, and the leader's work between JoinGroup and SyncGroup. No state.
 *
 * A call answers 0 where the coordinator is not up, and -1 where it speaks no version that says what must be said.
 */
import { clientAssignor } from '../assignors/client-assignors.ts';
import type { AssignorMember, AssignorTopic, ClientAssignor } from '../assignors/client-shapes.ts';
import { assert } from '../lib/assert.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env, Outbox } from '../lib/world.ts';
import {
  CONSUMER_PROTOCOL_TYPE,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../protocol/consumer-protocol.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ApiKey } from '../protocol/messages/index.ts';
import { addTopic, type Cluster } from './cluster.ts';
import { callCoordinator, coordinatorVersion, isCoordinatorUp } from './coordinator.ts';
import type { ClassicMember, ToldMember } from './member-classic-state.ts';
import type { Ground } from './member-shapes.ts';
import { countedPartitions, racksOf } from './metadata.ts';

/** API keys. */
export const JOIN_GROUP = 11;
/** The same of Heartbeat. */
export const HEARTBEAT = 12;
/** The same of LeaveGroup. */
export const LEAVE_GROUP = 13;
/** The same of SyncGroup. */
export const SYNC_GROUP = 14;

/** The first versions that know of static members. */
const INSTANCES_SINCE: ReadonlyMap<ApiKey, number> = new Map<ApiKey, number>([
  [JOIN_GROUP, 5],
  [SYNC_GROUP, 3],
  [HEARTBEAT, 3],
  [LEAVE_GROUP, 3],
]);
/** A JoinGroup is given this much longer than the others have to join. As Kafka's clients do. */
const JOIN_LAPSE_MS = 5000;

/** The assignors of a member, the preferred one first. */
export function assignorsOf({ options }: ClassicMember): ClientAssignor[] {
  const found: ClientAssignor[] = [];
  for (const name of options.assignors) {
    const assignor = clientAssignor(name);
    assert(assignor !== null, 'a member is to use an assignor that does not exist');
    found.push(assignor as ClientAssignor);
  }
  return found;
}

/** Whether members keep what they own while they join: only if every assignor they offer knows how. */
export function isCooperative(member: ClassicMember): boolean {
  return assignorsOf(member).every((assignor) => assignor.isCooperative);
}

function versionOf({ coordinator }: Ground, member: ClassicMember, apiKey: ApiKey): number {
  const version = coordinatorVersion(coordinator, apiKey);
  const isStatic = member.options.instanceId !== null;
  return isStatic && version < (INSTANCES_SINCE.get(apiKey) ?? 0) ? -1 : version;
}

/** Sends JoinGroup. */
export function callJoin(member: ClassicMember, ground: Ground, env: Env, out: Outbox): number {
  if (!isCoordinatorUp(ground.coordinator)) return 0;
  const version = versionOf(ground, member, JOIN_GROUP);
  if (version < 0) return -1;
  const { sessionTimeoutMs, maxPollIntervalMs, instanceId, rack, requestTimeoutMs } = member.options;
  const topics = member.topics ?? [];
  const protocols = assignorsOf(member).map((assignor) => ({
    name: assignor.name,
    metadata: encodeSubscription({
      topics,
      userData: assignor.userData(member.previous, member.previousGeneration),
      ownedPartitions: member.owned,
      generationId: member.ownedGeneration,
      rackId: rack,
    }),
  }));
  const body = {
    groupId: ground.coordinator.groupId,
    sessionTimeoutMs,
    rebalanceTimeoutMs: maxPollIntervalMs,
    memberId: member.memberId,
    groupInstanceId: instanceId,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocols,
    reason: member.reason,
  };
  member.joinedTopics = topics;
  const timeoutMs = Math.max(requestTimeoutMs, maxPollIntervalMs + JOIN_LAPSE_MS);
  return callCoordinator(ground.coordinator, env, { apiKey: JOIN_GROUP, version, body, timeoutMs }, out);
}

/** Sends SyncGroup; a leader's with what it has shared out. */
export function callSync(member: ClassicMember, ground: Ground, env: Env, out: Outbox): number {
  if (!isCoordinatorUp(ground.coordinator)) return 0;
  const version = versionOf(ground, member, SYNC_GROUP);
  if (version < 0) return -1;
  const { memberId, generation, protocol } = member;
  const body = {
    groupId: ground.coordinator.groupId,
    generationId: generation,
    memberId,
    groupInstanceId: member.options.instanceId,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocolName: protocol,
    assignments: member.isLeader && !member.skipsAssignment ? shareOut(member, ground.cluster) : [],
  };
  return callCoordinator(ground.coordinator, env, { apiKey: SYNC_GROUP, version, body }, out);
}

/** Sends a heartbeat. */
export function callHeartbeat(member: ClassicMember, ground: Ground, env: Env, out: Outbox): number {
  if (!isCoordinatorUp(ground.coordinator)) return 0;
  const version = versionOf(ground, member, HEARTBEAT);
  if (version < 0) return -1;
  const { memberId, generation } = member;
  const { groupId } = ground.coordinator;
  const body = { groupId, generationId: generation, memberId, groupInstanceId: member.options.instanceId };
  // Without an answer for a session's length the coordinator is taken for gone.
  const timeoutMs = Math.min(member.options.requestTimeoutMs, member.options.sessionTimeoutMs);
  return callCoordinator(ground.coordinator, env, { apiKey: HEARTBEAT, version, body, timeoutMs }, out);
}

/** Sends LeaveGroup. */
export function callLeave(member: ClassicMember, ground: Ground, env: Env, reason: string, out: Outbox): number {
  if (!isCoordinatorUp(ground.coordinator)) return 0;
  const version = versionOf(ground, member, LEAVE_GROUP);
  if (version < 0) return -1;
  const { memberId } = member;
  const { groupId } = ground.coordinator;
  const one = { memberId, groupInstanceId: member.options.instanceId, reason };
  const body = version < 3 ? { groupId, memberId, members: [] } : { groupId, memberId: '', members: [one] };
  return callCoordinator(ground.coordinator, env, { apiKey: LEAVE_GROUP, version, body }, out);
}

/** The members as assignors see them. Whoever says nothing that can be read wants nothing. */
function readMembers(told: readonly ToldMember[]): AssignorMember[] {
  return told.map(({ memberId, groupInstanceId, metadata }) => {
    const known = { memberId, instanceId: groupInstanceId };
    try {
      const { topics, ownedPartitions, generationId, rackId, userData } = decodeSubscription(metadata);
      return { ...known, topics, owned: ownedPartitions, generation: generationId, rack: rackId, userData };
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      return { ...known, topics: [], owned: [], generation: -1, rack: null, userData: null };
    }
  });
}

/** Watches all topics of the group; true once something is known of each. */
export function knowsTopics(member: ClassicMember, cluster: Cluster): boolean {
  let knowsAll = true;
  for (const topic of topicsOf(readMembers(member.told))) {
    addTopic(cluster, topic);
    knowsAll &&= cluster.view.topics.get(topic)?.isAnswered === true;
  }
  return knowsAll;
}

function topicsOf(members: readonly AssignorMember[]): string[] {
  const topics = new Set<string>();
  for (const member of members) for (const topic of member.topics) topics.add(topic);
  return [...topics].sort();
}

function describeTopics(cluster: Cluster, names: readonly string[]): AssignorTopic[] {
  const { view } = cluster;
  return names.map((topic) => ({
    topic,
    partitionsCount: countedPartitions(view, topic),
    ...(view.racks.size === 0 ? {} : { racks: racksOf(view, topic) }),
  }));
}

/** Runs the assignor of the generation, and notes what it knew of the topics. */
function shareOut(member: ClassicMember, cluster: Cluster): { memberId: string; assignment: Uint8Array }[] {
  const assignor = clientAssignor(member.protocol);
  assert(assignor !== null, 'a group has chosen an assignor that its leader did not offer');
  const members = readMembers(member.told);
  const topics = describeTopics(cluster, topicsOf(members));
  const assignment = (assignor as ClientAssignor).assign(members, topics);
  return members.map(({ memberId }) => ({
    memberId,
    assignment: encodeAssignment({ assignedPartitions: assignment.get(memberId) ?? [] }),
  }));
}

/** What the leader knows of the group's topics now; when it differs, things are to be shared out anew. */
export function lookAround(member: ClassicMember, cluster: Cluster): Map<string, string> {
  const seen = new Map<string, string>();
  for (const { topic, partitionsCount, racks } of describeTopics(cluster, topicsOf(readMembers(member.told)))) {
    const places = (racks ?? []).map((of) => [...of].sort().join()).join(';');
    seen.set(topic, `${partitionsCount} ${places}`);
  }
  return seen;
}

/** Whether an error says that the member is none any more, or of another generation. */
export function isOuster(error: number): boolean {
  return error === ErrorCode.UNKNOWN_MEMBER_ID || error === ErrorCode.ILLEGAL_GENERATION;
}
