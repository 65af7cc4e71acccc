/** What a broker of the toy cluster answers: the few APIs that clients need, in real encodings. */
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { decodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../../core/protocol/messages/index.ts';
import { type Mishap, PORT, type Toy } from './toy-cluster.ts';
import { GROUP_RANGES } from './toy-groups.ts';
import { append, endOf, join, type ToyPartition } from './toy-log.ts';

/** An answer but for its correlation id, and how long it is held back. */
export type Answer = ((correlationId: number) => Uint8Array) & { waitMs?: number };

const RANGES = new Map<number, { min: number; max: number }>([
  [0, { min: 0, max: 13 }],
  [1, { min: 4, max: 18 }],
  [2, { min: 1, max: 11 }],
  [3, { min: 0, max: 13 }],
  [18, { min: 0, max: 5 }],
  [22, { min: 0, max: 5 }],
  [23, { min: 2, max: 4 }],
]);

function rangesOf(toy: Toy): Map<number, { min: number; max: number }> {
  const groups = toy.groups === null ? [] : GROUP_RANGES;
  return new Map([...RANGES, ...groups, ...(toy.options.versions ?? [])]);
}

function answerOf<K extends 0 | 1 | 2 | 3 | 18 | 22 | 23>(key: K, version: number, body: ResponseInputOf<K>): Answer {
  return (correlationId) => join(encodeResponse(key, version, correlationId, body)).subarray(4);
}

export function addTopic(toy: Toy, name: string, count: number): void {
  const id = `AAAAAAAAAAAAAAAAAAAA${String.fromCharCode(66 + toy.topics.size)}A`;
  const partitions = Array.from({ length: count }, (_, index) => ({
    leader: index % toy.up.size,
    leaderEpoch: 1,
    startOffset: 0,
    log: [],
    producers: new Map(),
  }));
  toy.topics.set(name, { id, partitions });
}

/** Acts on a request, as far as the mishap lets it; null for no answer. */
export function serve(
  toy: Toy,
  { apiKey, version, broker }: { apiKey: number; version: number; broker: number },
  frame: Uint8Array,
  mishap: Mishap,
): Answer | null {
  const range = rangesOf(toy).get(apiKey);
  const outside = range === undefined || version < range.min || version > range.max;
  if (outside && apiKey !== 18) throw new Error(`the client used ${apiKey} v${version}`);
  const error = mishap.kind === 'error' ? mishap : null;
  const note = <T>(body: T): T => {
    toy.requests.push({ apiKey, version, broker, body });
    return body;
  };
  switch (apiKey) {
    case 18:
      toy.requests.push({ apiKey, version, broker, body: null });
      return versions(toy, version, outside, error?.error ?? 0);
    case 3:
      return metadata(toy, version, note(decodeRequest(3, version, frame).body), error?.error ?? 0);
    case 22:
      note(decodeRequest(22, version, frame).body);
      toy.producerIds += 1;
      return answerOf(22, version, {
        throttleTimeMs: 0,
        errorCode: error?.error ?? 0,
        producerId: error === null ? toy.producerIds : -1,
        producerEpoch: 0,
      });
    case 0:
      return produce(toy, broker, version, note(decodeRequest(0, version, frame).body), error);
    case 1:
      return fetch(toy, broker, version, note(decodeRequest(1, version, frame).body), error?.error ?? 0);
    case 2:
      return listOffsets(toy, broker, version, note(decodeRequest(2, version, frame).body), error?.error ?? 0);
    case 23:
      return epochEnd(toy, version, note(decodeRequest(23, version, frame).body));
    default:
      throw new Error(`the toy does not know API ${apiKey}`);
  }
}

function versions(toy: Toy, version: number, outside: boolean, error: number): Answer {
  const apiKeys = [...rangesOf(toy)].map(([apiKey, { min, max }]) => ({ apiKey, minVersion: min, maxVersion: max }));
  const body = { errorCode: outside ? ErrorCode.UNSUPPORTED_VERSION : error, apiKeys, throttleTimeMs: 0 };
  return answerOf(18, outside ? 0 : version, body);
}

function metadata(toy: Toy, version: number, body: RequestOf<3>, error: number): Answer {
  const names = body.topics === null ? [...toy.topics.keys()] : body.topics.map(({ name }) => name ?? '');
  const topics = names.map((name) => {
    if (!toy.topics.has(name) && toy.options.createsTopics === true) addTopic(toy, name, 1);
    const topic = toy.topics.get(name);
    const errorCode = error !== 0 ? error : topic === undefined ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : 0;
    const partitions = (errorCode === 0 ? (topic?.partitions ?? []) : []).map((partition, partitionIndex) => ({
      errorCode: 0,
      partitionIndex,
      leaderId: partition.leader,
      leaderEpoch: partition.leaderEpoch,
      replicaNodes: [partition.leader],
      isrNodes: [],
      offlineReplicas: [],
    }));
    return { errorCode, name, topicId: topic?.id ?? ZERO_UUID, isInternal: false, partitions };
  });
  const brokers = [...toy.up].map((nodeId) => ({ nodeId, host: 'toy', port: PORT + nodeId, rack: null }));
  return answerOf(3, version, { throttleTimeMs: 0, brokers, clusterId: 'toy', controllerId: 0, topics, errorCode: 0 });
}

function find(toy: Toy, topic: string, id: string, index: number): ToyPartition | undefined {
  for (const [name, entry] of toy.topics) if (name === topic || entry.id === id) return entry.partitions[index];
  return undefined;
}

function produce(
  toy: Toy,
  broker: number,
  version: number,
  body: RequestOf<0>,
  fault: { error: number; acts: boolean } | null,
): Answer | null {
  const nodeEndpoints: { nodeId: number; host: string; port: number; rack: null }[] = [];
  const responses = body.topicData.map(({ name, topicId, partitionData }) => ({
    name,
    topicId,
    partitionResponses: partitionData.map(({ index, records }) => {
      const partition = find(toy, name, version >= 13 ? topicId : '', index);
      let found = { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION as number, baseOffset: -1 };
      let currentLeader = { leaderId: -1, leaderEpoch: -1 };
      if (partition !== undefined && partition.leader !== broker) {
        found = { errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, baseOffset: -1 };
        currentLeader = { leaderId: partition.leader, leaderEpoch: partition.leaderEpoch };
        nodeEndpoints.push({ nodeId: partition.leader, host: 'toy', port: PORT + partition.leader, rack: null });
      } else if (partition !== undefined && records !== null) {
        if (fault === null || fault.acts) found = append(partition, records);
        if (fault !== null) found = { errorCode: fault.error, baseOffset: -1 };
      }
      return { index, ...found, currentLeader, recordErrors: [] };
    }),
  }));
  return body.acks === 0 ? null : answerOf(0, version, { responses, nodeEndpoints });
}

function fetch(toy: Toy, broker: number, version: number, body: RequestOf<1>, error: number): Answer {
  const isSession = version >= 7;
  let errorCode = 0;
  let sessionId = body.sessionId;
  if (isSession && body.sessionEpoch === 0) {
    toy.sessions += 1;
    sessionId = toy.sessions;
    sessionOf.set(sessionId, { epoch: 1, topics: body.topics, broker });
  } else if (isSession && body.sessionEpoch > 0) {
    const session = sessionOf.get(body.sessionId);
    if (session === undefined || session.broker !== broker) errorCode = ErrorCode.FETCH_SESSION_ID_NOT_FOUND;
    else if (session.epoch !== body.sessionEpoch) errorCode = ErrorCode.INVALID_FETCH_SESSION_EPOCH;
    else session.epoch += 1;
    if (session !== undefined && errorCode === 0) session.topics = merged(session.topics, body);
  } else {
    sessionId = 0;
  }
  const topics = sessionOf.get(sessionId)?.topics ?? body.topics;
  if (errorCode !== 0) return answerOf(1, version, { throttleTimeMs: 0, errorCode, sessionId: 0, responses: [] });
  let found = 0;
  const responses = topics.map(({ topic, topicId, partitions }) => ({
    topic,
    topicId,
    partitions: partitions.map(({ partition: partitionIndex, fetchOffset, currentLeaderEpoch }) => {
      const partition = find(toy, topic, version >= 13 ? topicId : '', partitionIndex);
      const none = { partitionIndex, highWatermark: -1, abortedTransactions: null, records: new Uint8Array(0) };
      if (partition === undefined) return { ...none, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION };
      if (error !== 0) return { ...none, errorCode: error };
      const currentLeader = { leaderId: partition.leader, leaderEpoch: partition.leaderEpoch };
      const { nearby } = toy.options;
      const isNearby = partition.leader !== broker && nearby?.broker === broker;
      if (partition.leader !== broker && !isNearby) {
        return { ...none, errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, currentLeader };
      }
      if (currentLeaderEpoch >= 0 && currentLeaderEpoch < partition.leaderEpoch) {
        return { ...none, errorCode: ErrorCode.FENCED_LEADER_EPOCH };
      }
      const end = Math.min(endOf(partition), isNearby ? (nearby?.end ?? 0) : Number.POSITIVE_INFINITY);
      if (!isNearby && nearby !== undefined && toy.up.has(nearby.broker) && body.rackId === nearby.rack) {
        return { ...none, errorCode: 0, highWatermark: end, preferredReadReplica: nearby.broker };
      }
      if (fetchOffset < partition.startOffset || fetchOffset > end) {
        return { ...none, errorCode: ErrorCode.OFFSET_OUT_OF_RANGE };
      }
      const parts: Uint8Array[] = [];
      for (const stored of partition.log) {
        if (stored.baseOffset + stored.count <= fetchOffset) continue;
        if (parts.length >= 3 || stored.baseOffset >= end) break;
        parts.push(stored.bytes);
      }
      found += parts.length;
      return { ...none, errorCode: 0, highWatermark: end, records: parts };
    }),
  }));
  const hasError = responses.some(({ partitions }) => partitions.some((one) => one.errorCode !== 0));
  const answer = answerOf(1, version, { throttleTimeMs: 0, errorCode, sessionId, responses });
  answer.waitMs = found === 0 && !hasError ? body.maxWaitMs : 0;
  return answer;
}

type Wanted = RequestOf<1>['topics'];

/** What a session is about after a request that names what has changed and what is wanted no more. */
function merged(known: Wanted, { topics, forgottenTopicsData }: RequestOf<1>): Wanted {
  const after = new Map<string, Wanted[number]>();
  const entryOf = (topic: string, topicId: string): Wanted[number] => {
    const entry = after.get(`${topic} ${topicId}`) ?? { topic, topicId, partitions: [] };
    after.set(`${topic} ${topicId}`, entry);
    return entry;
  };
  for (const { topic, topicId, partitions } of known) entryOf(topic, topicId).partitions = [...partitions];
  for (const { topic, topicId, partitions } of forgottenTopicsData) {
    const entry = entryOf(topic, topicId);
    entry.partitions = entry.partitions.filter(({ partition }) => !partitions.includes(partition));
  }
  for (const { topic, topicId, partitions } of topics) {
    const entry = entryOf(topic, topicId);
    const isNamed = new Set(partitions.map(({ partition }) => partition));
    entry.partitions = [...entry.partitions.filter(({ partition }) => !isNamed.has(partition)), ...partitions];
  }
  return [...after.values()];
}

const sessionOf = new Map<number, { epoch: number; topics: RequestOf<1>['topics']; broker: number }>();

/** Forgets all sessions, as a restart does. */
export function forgetSessions(): void {
  sessionOf.clear();
}

function listOffsets(toy: Toy, broker: number, version: number, body: RequestOf<2>, error: number): Answer {
  const topics = body.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, timestamp }) => {
      const partition = find(toy, name, '', partitionIndex);
      const none = { partitionIndex, timestamp: -1, offset: -1 };
      if (partition === undefined) return { ...none, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION };
      if (error !== 0) return { ...none, errorCode: error };
      if (partition.leader !== broker) return { ...none, errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER };
      return { ...none, errorCode: 0, offset: timestamp === -2 ? partition.startOffset : endOf(partition) };
    }),
  }));
  return answerOf(2, version, { throttleTimeMs: 0, topics });
}

function epochEnd(toy: Toy, version: number, body: RequestOf<23>): Answer {
  const topics = body.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(({ partition: index, leaderEpoch: asked }) => {
      const partition = find(toy, topic, '', index);
      if (partition === undefined) return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partition: index };
      let leaderEpoch = -1;
      let endOffset = -1;
      for (const stored of partition.log) {
        if (stored.leaderEpoch > asked) break;
        leaderEpoch = stored.leaderEpoch;
        endOffset = stored.baseOffset + stored.count;
      }
      return { errorCode: 0, partition: index, leaderEpoch, endOffset };
    }),
  }));
  return answerOf(23, version, { throttleTimeMs: 0, topics });
}
