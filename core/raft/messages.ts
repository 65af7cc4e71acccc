/**
 * The five messages of a quorum, built and taken apart: one topic, one partition. Those that change who votes are in
 * `voter-messages.ts`. Pure, no state.
 *
 * Whatever concerns who leads is the same in all of them: a response names the leader and the epoch that its sender
 * knows, and where that leader listens, whether or not it also carries an error.
 */
import { ZERO_UUID } from '../lib/uuid.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../protocol/messages/index.ts';
import { METADATA_PARTITION, METADATA_TOPIC, METADATA_TOPIC_ID, type SnapshotId } from './names.ts';
import type { Deferred, PeerKey } from './role-state.ts';
import { knownLeader, type Raft } from './state.ts';
import { type VoterKey, voterResponse } from './voter-messages.ts';
import { endpointOf, type VoterEndpoint } from './voters.ts';

/** Bytes of one Fetch between members, at most, unless a batch is larger. */
export const FETCH_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes of a snapshot that are fetched at a time. */
export const SNAPSHOT_PIECE_BYTES = 1024 * 1024;

/** The partition of a request of Vote, BeginQuorumEpoch or EndQuorumEpoch; null if it names another, or several. */
export function partitionOf<P extends { readonly partitionIndex: number }>(body: {
  readonly topics: readonly { readonly topicName: string; readonly partitions: readonly P[] }[];
}): P | null {
  const [topic] = body.topics;
  const partition = topic?.partitions[0];
  if (topic === undefined || partition === undefined) return null;
  const isOne = body.topics.length === 1 && topic.partitions.length === 1;
  const isOurs = topic.topicName === METADATA_TOPIC && partition.partitionIndex === METADATA_PARTITION;
  return isOne && isOurs ? partition : null;
}

/** The partition of a Fetch; null if it names another, or several. */
export function fetchPartitionOf(body: RequestOf<1>): RequestOf<1>['topics'][number]['partitions'][number] | null {
  const [topic] = body.topics;
  if (topic === undefined || body.topics.length !== 1 || topic.partitions.length !== 1) return null;
  if (topic.topicId !== METADATA_TOPIC_ID && topic.topic !== METADATA_TOPIC) return null;
  const [partition] = topic.partitions;
  return partition !== undefined && partition.partition === METADATA_PARTITION ? partition : null;
}

/** The partition of a FetchSnapshot; null if it names another, or several. */
export function snapshotPartitionOf(body: RequestOf<59>): RequestOf<59>['topics'][number]['partitions'][number] | null {
  const [topic] = body.topics;
  if (topic === undefined || body.topics.length !== 1 || topic.partitions.length !== 1) return null;
  const [partition] = topic.partitions;
  const isOurs = topic.name === METADATA_TOPIC && partition?.partition === METADATA_PARTITION;
  return isOurs ? partition : null;
}

/** Who is asked for a vote, and what for: the present epoch, of which nothing changes, is a pre-vote's. */
export function voteRequest(
  raft: Raft,
  voter: { readonly id: number; readonly directoryId: string },
  log: { readonly epoch: number; readonly offset: number },
  preVote: boolean,
): RequestInputOf<52> {
  const partition = {
    partitionIndex: METADATA_PARTITION,
    replicaEpoch: raft.epoch,
    replicaId: raft.nodeId,
    replicaDirectoryId: raft.directoryId,
    voterDirectoryId: voter.directoryId,
    lastOffsetEpoch: log.epoch,
    lastOffset: log.offset,
    preVote,
  };
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }];
  return { clusterId: raft.peers.clusterId, voterId: voter.id, topics };
}

/** Says that this member leads. */
export function beginRequest(
  raft: Raft,
  voter: { readonly id: number; readonly directoryId: string },
): RequestInputOf<53> {
  const { nodeId: leaderId, epoch: leaderEpoch } = raft;
  const partition = {
    partitionIndex: METADATA_PARTITION,
    voterDirectoryId: voter.directoryId,
    leaderId,
    leaderEpoch,
  };
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }];
  return { clusterId: raft.peers.clusterId, voterId: voter.id, topics, leaderEndpoints: ownEndpoints(raft) };
}

/** Says that this member leads no more, and who should stand first: those that hold most. */
export function endRequest(
  raft: Raft,
  successors: readonly { readonly id: number; readonly directoryId: string }[],
): RequestInputOf<54> {
  const { nodeId: leaderId, epoch: leaderEpoch } = raft;
  const partition = {
    partitionIndex: METADATA_PARTITION,
    leaderId,
    leaderEpoch,
    preferredSuccessors: successors.map(({ id }) => id),
    preferredCandidates: successors.map(({ id, directoryId }) => ({
      candidateId: id,
      candidateDirectoryId: directoryId,
    })),
  };
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }];
  return { clusterId: raft.peers.clusterId, topics, leaderEndpoints: ownEndpoints(raft) };
}

function ownEndpoints(raft: Raft): VoterEndpoint[] {
  const known = raft.quorum.voters.find(({ id }) => id === raft.nodeId);
  return [...(known?.endpoints ?? raft.peers.endpoints)];
}

/** Asks for what stands behind the end of this log, all of which is synced. */
export function fetchRequest(raft: Raft, lastFetchedEpoch: number, maxWaitMs: number): RequestInputOf<1> {
  const { log, nodeId, directoryId, epoch, highWatermark } = raft;
  const partition = {
    partition: METADATA_PARTITION,
    currentLeaderEpoch: epoch,
    fetchOffset: log.durable,
    lastFetchedEpoch,
    logStartOffset: log.start,
    partitionMaxBytes: FETCH_BYTES_MAX,
    replicaDirectoryId: directoryId,
    highWatermark,
  };
  const topic = { topic: METADATA_TOPIC, topicId: METADATA_TOPIC_ID, partitions: [partition] };
  const replicaState = { replicaId: nodeId, replicaEpoch: -1 };
  const { clusterId } = raft.peers;
  const limits = { maxWaitMs, minBytes: 0, maxBytes: FETCH_BYTES_MAX };
  return { clusterId, replicaState, ...limits, topics: [topic], forgottenTopicsData: [] };
}

/** Asks for a piece of a snapshot. */
export function snapshotRequest(raft: Raft, id: SnapshotId, position: number): RequestInputOf<59> {
  const { epoch: currentLeaderEpoch, nodeId: replicaId, directoryId: replicaDirectoryId } = raft;
  const { endOffset, epoch } = id;
  const snapshotId = { endOffset, epoch };
  const partition = { partition: METADATA_PARTITION, currentLeaderEpoch, snapshotId, position, replicaDirectoryId };
  const topics = [{ name: METADATA_TOPIC, partitions: [partition] }];
  return { clusterId: raft.peers.clusterId, replicaId, maxBytes: SNAPSHOT_PIECE_BYTES, topics };
}

/** Who leads, as every response says it. */
function leaderOf(raft: Raft): { leaderId: number; leaderEpoch: number } {
  return { leaderId: knownLeader(raft), leaderEpoch: raft.epoch };
}

function nodeEndpoints(raft: Raft): { nodeId: number; host: string; port: number }[] {
  const nodeId = knownLeader(raft);
  const endpoint = nodeId < 0 ? null : endpointOf(raft, nodeId);
  return endpoint === null ? [] : [{ nodeId, host: endpoint.host, port: endpoint.port }];
}

/** The answer to a Vote. */
export function voteResponse(raft: Raft, errorCode: ErrorCode, voteGranted: boolean): ResponseInputOf<52> {
  const partition = { partitionIndex: METADATA_PARTITION, errorCode, ...leaderOf(raft), voteGranted };
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }];
  return { errorCode: ErrorCode.NONE, topics, nodeEndpoints: nodeEndpoints(raft) };
}

/** The answer to BeginQuorumEpoch and to EndQuorumEpoch. */
export function epochResponse(raft: Raft, errorCode: ErrorCode): ResponseInputOf<53 | 54> {
  const partition = { partitionIndex: METADATA_PARTITION, errorCode, ...leaderOf(raft) };
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }];
  return { errorCode: ErrorCode.NONE, topics, nodeEndpoints: nodeEndpoints(raft) };
}

/** What a Fetch found, beside who leads. */
export interface Fetched {
  readonly errorCode: ErrorCode;
  readonly divergingEpoch?: { readonly epoch: number; readonly endOffset: number };
  readonly snapshotId?: SnapshotId;
  readonly records?: readonly Uint8Array[];
}

/** The answer to a Fetch, whose version decides how the topic is named. */
export function fetchResponse(raft: Raft, version: number, fetched: Fetched): ResponseInputOf<1> {
  const { log, highWatermark } = raft;
  const { errorCode, divergingEpoch, snapshotId, records } = fetched;
  const isSound = errorCode === ErrorCode.NONE;
  // Older versions have no words for it, nor members that would need them.
  const tells = version >= 12;
  const none = { leaderId: -1, leaderEpoch: -1 };
  const partition = {
    partitionIndex: METADATA_PARTITION,
    errorCode,
    highWatermark: isSound ? highWatermark : -1,
    lastStableOffset: isSound ? highWatermark : -1,
    logStartOffset: isSound ? log.start : -1,
    currentLeader: tells ? leaderOf(raft) : none,
    divergingEpoch: divergingEpoch ?? { epoch: -1, endOffset: -1 },
    snapshotId: snapshotId === undefined ? { endOffset: -1, epoch: -1 } : { ...snapshotId },
    abortedTransactions: null,
    records: [...(records ?? [])],
  };
  const topic = { topic: METADATA_TOPIC, topicId: METADATA_TOPIC_ID, partitions: [partition] };
  const endpoints = version >= 16 ? nodeEndpoints(raft).map((one) => ({ ...one, rack: null })) : [];
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, sessionId: 0, responses: [topic], nodeEndpoints: endpoints };
}

/** A piece of a snapshot. */
export interface SnapshotPiece {
  readonly id: SnapshotId;
  readonly sizeBytes: number;
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** The answer to a FetchSnapshot; without a piece where there is an error. */
export function snapshotResponse(raft: Raft, errorCode: ErrorCode, piece: SnapshotPiece | null): ResponseInputOf<59> {
  const partition = {
    index: METADATA_PARTITION,
    errorCode,
    snapshotId: { endOffset: piece?.id.endOffset ?? -1, epoch: piece?.id.epoch ?? -1 },
    currentLeader: leaderOf(raft),
    size: piece?.sizeBytes ?? 0,
    position: piece?.position ?? 0,
    unalignedRecords: piece === null ? [] : [piece.bytes],
  };
  const topics = [{ name: METADATA_TOPIC, partitions: [partition] }];
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, topics, nodeEndpoints: nodeEndpoints(raft) };
}

/** Refuses a request for a reason that concerns the whole of it, or the only partition. */
export function refusal(raft: Raft, request: Deferred, errorCode: ErrorCode): ResponseInputOf<PeerKey> {
  switch (request.apiKey) {
    case 1:
      return fetchResponse(raft, request.version, { errorCode });
    case 52:
      return voteResponse(raft, errorCode, false);
    case 59:
      return snapshotResponse(raft, errorCode, null);
    case 80:
    case 81:
    case 82:
      return voterResponse(raft, request.apiKey, { errorCode, message: null });
    default:
      return epochResponse(raft, errorCode);
  }
}

/** Refuses a request that is for the cluster `named`, before anything else is looked at. */
export function refusalOfCluster(raft: Raft, request: Deferred, named: string): ResponseInputOf<PeerKey> {
  const errorCode = ErrorCode.INCONSISTENT_CLUSTER_ID;
  const { apiKey } = request;
  if (apiKey >= 80) {
    const message = `The given id "${named}" doesn't match the cluster id "${raft.peers.clusterId}"`;
    return voterResponse(raft, apiKey as VoterKey, { errorCode, message });
  }
  if (apiKey === 1) return { throttleTimeMs: 0, errorCode, sessionId: 0, responses: [], nodeEndpoints: [] };
  return { throttleTimeMs: 0, errorCode, topics: [], nodeEndpoints: [] };
}

/** What a response says of who leads, and of its error. */
export interface LeaderNews {
  readonly errorCode: number;
  readonly leaderId: number;
  readonly leaderEpoch: number;
  readonly endpoints: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[];
}

/** The APIs whose responses say who leads. */
export type EpochKey = Exclude<PeerKey, VoterKey>;

/** Reads who leads out of any of these responses; null if it holds no partition. */
export function newsOf(apiKey: EpochKey, response: ResponseOf<EpochKey>): LeaderNews | null {
  const endpoints = response.nodeEndpoints;
  if (apiKey === 1) {
    const partition = (response as ResponseOf<1>).responses[0]?.partitions[0];
    return partition === undefined ? null : { errorCode: partition.errorCode, ...partition.currentLeader, endpoints };
  }
  if (apiKey === 59) {
    const partition = (response as ResponseOf<59>).topics[0]?.partitions[0];
    return partition === undefined ? null : { errorCode: partition.errorCode, ...partition.currentLeader, endpoints };
  }
  const partition = (response as ResponseOf<52 | 53 | 54>).topics[0]?.partitions[0];
  if (partition === undefined) return null;
  const { errorCode, leaderId, leaderEpoch } = partition;
  return { errorCode, leaderId, leaderEpoch, endpoints };
}

/** The same directory, or one of them is not known. */
export function isSameDirectory(a: string, b: string): boolean {
  return a === b || a === ZERO_UUID || b === ZERO_UUID;
}
