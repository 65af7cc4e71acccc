/**
 * Log directories of brokers: which replica is in which (AssignReplicasToDirs, KIP-858), and what becomes of replicas
 * whose directory fails.
 *
 * A replica in a directory that has failed is out of sync and does not lead. While its data may come back with the
 * directory it stays eligible; once it turns up in another directory although the first is gone, it began anew there,
 * empty, and is neither eligible nor the last known leader any more. A replica that moved from one directory to
 * another of the same broker was copied, and keeps its standing. A broker may call a single replica lost, for its bytes
 * are damaged, unless it is the last one in sync. Pure: changes nothing.
 */
import { DirectoryId, isDirectoryOnline } from '../metadata/describe-topics.ts';
import { metadataLevel, recordsDirectories } from '../metadata/features.ts';
import { type BrokerImage, type TopicImage, topicById } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { mapValues } from '../metadata/sharded-map.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { commonRules, NOTHING_HAPPENS, rulesFor } from './elections.ts';
import { assignmentOf, type ChangeRules, changeOf } from './partition-change.ts';
import { type Context, type Controller, type Handled, isCurrentLife, RECORDS_PER_REQUEST_MAX } from './state.ts';

const REGISTRATION_DIRECTORIES_VERSION = 2;

/** What a broker says of its directories, with the rules that its partitions follow. */
interface Report {
  readonly broker: BrokerImage;
  /** For replicas in a directory that is there. */
  readonly common: ChangeRules;
  /** For those in one that is not: the broker may not lead them. */
  readonly leaving: ChangeRules;
  readonly records: MetadataRecord[];
  readonly seen: Set<string>;
}

/** AssignReplicasToDirs. */
export function assignReplicasToDirs(
  controller: Controller,
  _context: Context,
  request: RequestOf<73>,
): Handled<ResponseInputOf<73>> {
  const { image } = controller;
  const refuse = (errorCode: number): Handled<ResponseInputOf<73>> => ({
    records: [],
    response: { throttleTimeMs: 0, errorCode, directories: [] },
    isAtomic: true,
  });
  if (!recordsDirectories(metadataLevel(image))) return refuse(ErrorCode.UNSUPPORTED_VERSION);
  const broker = image.cluster.brokers.get(request.brokerId);
  if (broker === undefined || !isCurrentLife(image, broker.id, request.brokerEpoch)) {
    return refuse(ErrorCode.STALE_BROKER_EPOCH);
  }
  const report: Report = {
    broker,
    common: commonRules(controller, NOTHING_HAPPENS),
    leaving: commonRules(controller, { ...NOTHING_HAPPENS, leaving: broker.id }),
    records: [],
    seen: new Set(),
  };
  const directories = request.directories.map(({ id, topics }) => ({
    id,
    topics: topics.map(({ topicId, partitions }) => {
      const topic = topicById(image, topicId);
      const answers = partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode:
          topic === undefined ? ErrorCode.UNKNOWN_TOPIC_ID : assign(controller, report, topic, partitionIndex, id),
      }));
      return { topicId, partitions: answers };
    }),
  }));
  if (report.records.length > 2 * RECORDS_PER_REQUEST_MAX) return refuse(ErrorCode.POLICY_VIOLATION);
  const response = { throttleTimeMs: 0, errorCode: ErrorCode.NONE, directories };
  return { records: report.records, response, isAtomic: false };
}

/** Adds the records that put a replica into a directory; gives the error code. */
function assign(
  controller: Controller,
  report: Report,
  topic: TopicImage,
  partitionIndex: number,
  directory: string,
): number {
  const { broker, records, seen } = report;
  const partition = topic.partitions[partitionIndex];
  if (partition === undefined) return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  const at = partition.replicas.indexOf(broker.id);
  if (at < 0) return ErrorCode.NOT_LEADER_OR_FOLLOWER;
  const key = `${topic.id}:${partitionIndex}`;
  if (seen.has(key)) return ErrorCode.INVALID_REQUEST;
  seen.add(key);
  const before = partition.directories[at];
  const directories = partition.replicas.map((_, index) => partition.directories[index] ?? DirectoryId.UNASSIGNED);
  directories[at] = directory;
  const isLost = !isDirectoryOnline(broker, directory);
  // Who is the last in sync leads, damaged or not: nobody else has everything.
  const isLast = partition.isr.length === 1 && partition.isr[0] === broker.id;
  if (directory === DirectoryId.LOST && isLast) return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE;
  const beganAnew = before !== directory && !isLost && !isDirectoryOnline(broker, before);
  const rules = rulesFor(controller.image, topic, isLost ? report.leaving : report.common);
  const wanted = {
    isr: isLost ? partition.isr.filter((id) => id !== broker.id) : partition.isr,
    uncleanBroker: beganAnew ? broker.id : -1,
    assignment: { ...assignmentOf(partition), directories },
  };
  const isForgotten = beganAnew && partition.lastKnownElr.includes(broker.id);
  const known = isForgotten ? { ...partition, lastKnownElr: [] } : partition;
  const change = changeOf(topic.id, partitionIndex, known, rules, wanted);
  if (change === null) return ErrorCode.NONE;
  if (isForgotten) change.value.lastKnownElr ??= [];
  records.push(change);
  return ErrorCode.NONE;
}

/**
 * Adds what follows from a heartbeat that names failed directories: their replicas leave the in-sync sets, and the
 * registration loses them. Whether any of them is news.
 */
export function addOfflineDirectories(
  controller: Controller,
  broker: BrokerImage,
  offline: readonly string[],
  records: MetadataRecord[],
): boolean {
  const { image } = controller;
  const failed = broker.logDirs.filter((dir) => offline.includes(dir));
  if (failed.length === 0 || !recordsDirectories(metadataLevel(image))) return false;
  const common = commonRules(controller, { ...NOTHING_HAPPENS, leaving: broker.id });
  for (const topic of mapValues(image.topics.byId)) {
    let rules: ChangeRules | null = null;
    for (let index = 0; index < topic.partitions.length; index++) {
      const partition = topic.partitions[index];
      const at = partition?.replicas.indexOf(broker.id) ?? -1;
      if (partition === undefined || at < 0 || !failed.includes(partition.directories[at] ?? '')) continue;
      rules ??= rulesFor(image, topic, common);
      const isr = partition.isr.filter((id) => id !== broker.id);
      const change = changeOf(topic.id, index, partition, rules, { isr, uncleanBroker: -1 });
      if (change !== null) records.push(change);
    }
  }
  const logDirs = broker.logDirs.filter((dir) => !failed.includes(dir));
  // A record cannot say that none is left; a broker without any stops by itself.
  if (logDirs.length === 0) return true;
  const value = { brokerId: broker.id, brokerEpoch: broker.epoch, logDirs };
  records.push(metadataRecord('BrokerRegistrationChangeRecord', REGISTRATION_DIRECTORIES_VERSION, value));
  return true;
}
