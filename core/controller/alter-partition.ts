/**
 * AlterPartition: the leader of a partition says who is in sync with it (KIP-497), and that it has recovered.
 *
 * A request counts only if the leader knows the partition as it is now: the same leader epoch and partition epoch. So
 * of two requests, or of a request that is repeated because its answer was lost, one is carried out. A leader that
 * knows higher epochs than this controller speaks to one that is no longer active. Who is fenced, about to shut down,
 * or in another life than the leader saw may not join (KIP-841, KIP-903): each would be in the set that everything
 * waits for without being there. Pure: changes nothing.
 */
import { isDirectoryOnline } from '../metadata/describe-topics.ts';
import { changedPartition } from '../metadata/draft-topics.ts';
import { type MetadataImage, type PartitionImage, type TopicImage, topicById } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { commonRules, NOTHING_HAPPENS, rulesFor } from './elections.ts';
import { type ChangeRules, changeOf } from './partition-change.ts';
import { type Context, type Controller, type Handled, isCurrentLife } from './state.ts';

type Asked = RequestOf<56>['topics'][number]['partitions'][number];
type Answer = ResponseInputOf<56>['topics'][number]['partitions'][number];

/** A member of the in-sync set as the leader saw it. An epoch of -1 is not looked at. */
interface Member {
  readonly brokerId: number;
  readonly brokerEpoch: number;
}

const EPOCHS_VERSION = 3;
const RECOVERED = 0;
const RECOVERING = 1;

/** AlterPartition. Each partition is answered for itself; their records need not be in one batch. */
export function alterPartition(
  controller: Controller,
  _context: Context,
  request: RequestOf<56>,
  version: number,
): Handled<ResponseInputOf<56>> {
  const { image } = controller;
  const { brokerId, brokerEpoch } = request;
  if (!isCurrentLife(image, brokerId, brokerEpoch)) {
    const response = { throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, topics: [] };
    return { records: [], response, isAtomic: true };
  }
  const common = commonRules(controller, NOTHING_HAPPENS);
  const records: MetadataRecord[] = [];
  const seen = new Set<string>();
  const topics = request.topics.map(({ topicId, partitions }) => {
    const topic = topicById(image, topicId);
    const rules = topic === undefined ? common : rulesFor(image, topic, common);
    const answers = partitions.map((asked): Answer => {
      const { partitionIndex } = asked;
      if (topic === undefined) return refused(partitionIndex, ErrorCode.UNKNOWN_TOPIC_ID);
      const key = `${topicId}:${partitionIndex}`;
      // What is asked twice at once has another partition epoch the second time.
      if (seen.has(key)) return refused(partitionIndex, ErrorCode.INVALID_UPDATE_VERSION);
      seen.add(key);
      return alterOne(image, topic, rules, brokerId, asked, version, records);
    });
    return { topicId, partitions: answers };
  });
  return { records, response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, topics }, isAtomic: false };
}

function refused(partitionIndex: number, errorCode: number): Answer {
  return { partitionIndex, errorCode, leaderId: 0, leaderEpoch: 0, isr: [], partitionEpoch: 0 };
}

function alterOne(
  image: MetadataImage,
  topic: TopicImage,
  rules: ChangeRules,
  brokerId: number,
  asked: Asked,
  version: number,
  records: MetadataRecord[],
): Answer {
  const { partitionIndex, leaderRecoveryState } = asked;
  const before = topic.partitions[partitionIndex];
  if (before === undefined) return refused(partitionIndex, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  const members: readonly Member[] =
    version >= EPOCHS_VERSION
      ? asked.newIsrWithEpochs
      : asked.newIsr.map((id): Member => ({ brokerId: id, brokerEpoch: -1 }));
  const errorCode = epochProblem(before, brokerId, asked) || isrProblem(image, before, members, leaderRecoveryState);
  if (errorCode !== ErrorCode.NONE) return refused(partitionIndex, errorCode);
  const isr = members.map((member) => member.brokerId);
  const wanted = { isr, uncleanBroker: -1, leaderRecoveryState };
  const change = changeOf(topic.id, partitionIndex, before, rules, wanted);
  if (change !== null) records.push(change);
  const after = change === null ? before : changedPartition(before, change.value);
  // The change completed a move, and the leader is not to stay: it must learn that from the metadata.
  if (after.leader !== brokerId) return refused(partitionIndex, ErrorCode.NEW_LEADER_ELECTED);
  return {
    partitionIndex,
    errorCode: ErrorCode.NONE,
    leaderId: after.leader,
    leaderEpoch: after.leaderEpoch,
    isr: after.isr,
    leaderRecoveryState: after.leaderRecoveryState,
    partitionEpoch: after.partitionEpoch,
  };
}

/** Whether the leader speaks of the partition as it is. */
function epochProblem(before: PartitionImage, brokerId: number, asked: Asked): number {
  const { leaderEpoch, partitionEpoch } = asked;
  if (leaderEpoch > before.leaderEpoch || partitionEpoch > before.partitionEpoch) return ErrorCode.NOT_CONTROLLER;
  if (leaderEpoch < before.leaderEpoch) return ErrorCode.FENCED_LEADER_EPOCH;
  if (brokerId !== before.leader) return ErrorCode.INVALID_REQUEST;
  return partitionEpoch < before.partitionEpoch ? ErrorCode.INVALID_UPDATE_VERSION : ErrorCode.NONE;
}

/** Whether the partition may have this in-sync set. */
function isrProblem(
  image: MetadataImage,
  before: PartitionImage,
  members: readonly Member[],
  recoveryState: number,
): number {
  const ids = new Set(members.map(({ brokerId }) => brokerId));
  const isSet = ids.size === members.length && members.every(({ brokerId }) => before.replicas.includes(brokerId));
  if (!isSet || !ids.has(before.leader)) return ErrorCode.INVALID_REQUEST;
  if (recoveryState !== RECOVERED && recoveryState !== RECOVERING) return ErrorCode.INVALID_REQUEST;
  const isRecovering = recoveryState === RECOVERING;
  // Nobody can be in sync with a leader that does not know yet what it has.
  if (isRecovering && (members.length > 1 || before.leaderRecoveryState === RECOVERED)) {
    return ErrorCode.INVALID_REQUEST;
  }
  const areEligible = members.every((member) => isEligible(image, before, member));
  return areEligible ? ErrorCode.NONE : ErrorCode.INELIGIBLE_REPLICA;
}

function isEligible(image: MetadataImage, partition: PartitionImage, { brokerId, brokerEpoch }: Member): boolean {
  const broker = image.cluster.brokers.get(brokerId);
  if (broker === undefined || broker.fenced || broker.inControlledShutdown) return false;
  // Who has lost the replica, or not said yet that it has another, is not believed to have what it had before.
  if (!isDirectoryOnline(broker, partition.directories[partition.replicas.indexOf(brokerId)])) return false;
  return brokerEpoch === -1 || brokerEpoch === broker.epoch;
}
