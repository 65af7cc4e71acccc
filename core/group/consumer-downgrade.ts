/**
 * A consumer group becomes a classic one when the last member of the consumer protocol goes and others are left.
 *
 * They keep what they have as the assignment of a generation that is the group's epoch, so that nobody stops reading,
 * and a rebalance begins at once, in which one of them leads: what the others had has no owner until then. A crash
 * forgets the rebalance, and the record, which names no leader, tells that it is due. The operator may forbid it: then
 * the coordinator goes on dealing out to classic members.
 */
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import type { ClassicGroup } from './classic-group.ts';
import { addMember, createClassicGroup, createMember, NO_BYTES, selectProtocol } from './classic-group.ts';
import { prepareRebalance, touch } from './classic-rebalance.ts';
import { distinctProtocols, generationRecord, subscribedTopicsOf } from './classic-written.ts';
import { assignmentBytes } from './consumer-bytes.ts';
import { consumerTombstones } from './consumer-records.ts';
import type { ConsumerGroup, ConsumerMember } from './consumer-state.ts';
import { fitBatch } from './records.ts';
import type { GroupConfig, GroupWork } from './shapes.ts';
import type { GroupState } from './state.ts';

function isAllowed({ consumer }: GroupConfig): boolean {
  return consumer.migrationPolicy === 'downgrade' || consumer.migrationPolicy === 'bidirectional';
}

/** Whether the group becomes a classic one if these members go: members are left, and all are classic. */
export function mayDowngrade(group: ConsumerGroup, config: GroupConfig, leaving: ReadonlySet<string>): boolean {
  const left = group.members.size - leaving.size;
  // Most members of most groups speak the consumer protocol, which the count says at once.
  if (left <= 0 || group.classicCount < left || left > config.sizeMax || !isAllowed(config)) return false;
  let consumersLeaving = 0;
  for (const memberId of leaving) if (group.members.get(memberId)?.classic === null) consumersLeaving += 1;
  return consumersLeaving > 0 && consumersLeaving === group.members.size - group.classicCount;
}

/** Whether a static member that a classic one is about to replace is the last one of the consumer protocol. */
export function isLastOfConsumers(group: ConsumerGroup, config: GroupConfig, member: ConsumerMember): boolean {
  if (member.classic !== null || group.classicCount !== group.members.size - 1) return false;
  return group.members.size <= config.sizeMax && isAllowed(config);
}

/**
 * Makes the group a classic one without these members; no group at all if nobody is left. False where the records of it
 * are more than a batch of the log takes: then nothing is done, and the group goes on as where it is forbidden.
 */
export function downgradeWithout(
  state: GroupState,
  work: GroupWork,
  group: ConsumerGroup,
  leaving: ReadonlySet<string>,
): boolean {
  const recordsBefore = work.records.length;
  work.records.push(...consumerTombstones(group));
  const left = [...group.members.values()].filter(({ memberId }) => !leaving.has(memberId));
  if (left.length === 0) return true;
  const classic = createClassicGroup(group.groupId, work.wallMs);
  classic.state = 'Stable';
  classic.generation = group.epoch;
  for (const member of left) addClassic(work, classic, member);
  classic.protocolName = selectProtocol(classic);
  classic.subscribedTopics = subscribedTopicsOf(classic);
  const bytes = new Map([...classic.members.values()].map(({ memberId, assignment }) => [memberId, assignment]));
  // Nobody has led it: a coordinator that loads it begins the rebalance anew.
  const unled = { ...classic, leaderId: null };
  work.records.push(generationRecord(unled, (memberId) => bytes.get(memberId) ?? NO_BYTES));
  if (!fitBatch(work.records, state.config.recordSizeMax)) {
    work.records.length = recordsBefore;
    return false;
  }
  state.downgraded.set(group.groupId, classic);
  for (const member of classic.members.values()) touch(state, work, classic, member);
  prepareRebalance(state, work, classic);
  return true;
}

function addClassic(work: GroupWork, classic: ClassicGroup, member: ConsumerMember): void {
  const { memberId, instanceId, clientId, clientHost, rebalanceTimeoutMs } = member;
  const sessionTimeoutMs = member.classic?.sessionTimeoutMs ?? 0;
  const made = createMember(
    { memberId, groupInstanceId: instanceId, clientId, clientHost },
    { rebalanceTimeoutMs, sessionTimeoutMs },
    // Kafka writes a name twice if the client says it twice.
    distinctProtocols(member.classic?.supportedProtocols ?? []),
    assignmentBytes(work.image, member),
  );
  addMember(classic, made, CONSUMER_PROTOCOL_TYPE);
}
