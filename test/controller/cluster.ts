/**
 * A controller with the log that it would have: what a handler returns goes through bytes into the log, is replayed by
 * the controller and, apart from it, by a loader, as a broker would do it. Both images must be equal at all times.
 */
import { expect } from 'vitest';
import { fenceBroker } from '../../core/controller/brokers.ts';
import { type ControllerKey, handle, idsNeeded } from '../../core/controller/handle.ts';
import {
  type Controller,
  type ControllerConfig,
  createController,
  replayRecords,
} from '../../core/controller/state.ts';
import type { MetadataDelta } from '../../core/metadata/draft.ts';
import { bootstrapRecords } from '../../core/metadata/features.ts';
import { EMPTY_IMAGE, type PartitionImage, topicByName } from '../../core/metadata/image.ts';
import { createLoader, type Loader, loadBatch } from '../../core/metadata/loader.ts';
import { decodeMetadataRecord, encodeMetadataRecord, type MetadataRecord } from '../../core/metadata/records.ts';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { concat } from '../log/world.ts';
import { idOf } from '../metadata/cluster.ts';

/** A controller and what surrounds it. */
export interface Cluster {
  readonly controller: Controller;
  readonly loader: Loader;
  readonly log: MetadataRecord[];
  nowMs: number;
  ids: number;
  lastDelta: MetadataDelta | null;
}

/** What the operator decided, in tests. */
export const CONFIG: ControllerConfig = {
  nodeId: 1,
  clusterId: 'c',
  given: new Map(),
  numPartitions: 2,
  replicationFactor: 1,
  sessionTimeoutMs: 1000,
};

/** A new cluster, its features finalized, without brokers. */
export function createCluster(config: Partial<ControllerConfig> = {}, seed = 1): Cluster {
  const controller = createController({ ...CONFIG, ...config }, EMPTY_IMAGE, seed, 0);
  const cluster: Cluster = { controller, loader: createLoader(), log: [], nowMs: 0, ids: 0, lastDelta: null };
  append(cluster, bootstrapRecords(1));
  return cluster;
}

/** Appends records and replays them, on the controller and, through bytes, on the other side. */
export function append(cluster: Cluster, records: readonly MetadataRecord[]): void {
  if (records.length === 0) return;
  const read = records.map((record) => {
    const decoded = decodeMetadataRecord(encodeMetadataRecord(record));
    return 'record' in decoded ? decoded.record : expect.fail(decoded.problem.sentence);
  });
  cluster.log.push(...read);
  const provenance = { offset: cluster.log.length - 1, epoch: 1, timestampMs: cluster.nowMs };
  cluster.lastDelta = replayRecords(cluster.controller, records, provenance);
  const loaded = loadBatch(cluster.loader, read, provenance);
  if ('problem' in loaded) expect.fail(loaded.problem);
}

/** Sends one request, through bytes in this version, and gives the response, through bytes. */
export function ask<K extends ControllerKey>(
  cluster: Cluster,
  apiKey: K,
  version: number,
  body: RequestInputOf<K>,
): ResponseOf<K> {
  const sent = concat(encodeRequest(apiKey, version, 1, 'test', body)).subarray(4);
  const request = decodeRequest(apiKey, version, sent).body;
  const ids = Array.from({ length: idsNeeded(apiKey, request) }, () => idOf(++cluster.ids));
  const context = { nowMs: cluster.nowMs, nextOffset: cluster.log.length, ids };
  const { records, response } = handle(cluster.controller, context, apiKey, version, request);
  append(cluster, records);
  const answer = concat(encodeResponse(apiKey, version, 1, response)).subarray(4);
  return decodeResponse(apiKey, version, answer).body;
}

/** Registers a broker; gives its epoch, or minus the error code. */
export function register(
  cluster: Cluster,
  id: number,
  more: {
    life?: number;
    rack?: string | null;
    previousEpoch?: number;
    dirs?: readonly number[];
    maxLevel?: number;
  } = {},
): number {
  const features = [
    { name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: more.maxLevel ?? 33 },
    { name: 'eligible.leader.replicas.version', minSupportedVersion: 0, maxSupportedVersion: 1 },
    { name: 'group.version', minSupportedVersion: 0, maxSupportedVersion: 1 },
  ];
  const response = ask(cluster, 62, 4, {
    brokerId: id,
    clusterId: 'c',
    incarnationId: idOf(7000 + id * 10 + (more.life ?? 0)),
    listeners: [{ name: 'PLAINTEXT', host: 'h', port: 1000 + id, securityProtocol: 0 }],
    features,
    rack: more.rack ?? null,
    logDirs: (more.dirs ?? [id]).map((dir) => idOf(6000 + dir)),
    previousBrokerEpoch: more.previousEpoch ?? -1,
  });
  return response.errorCode === 0 ? response.brokerEpoch : -response.errorCode;
}

/** A heartbeat of a broker that has applied the whole log. */
export function beat(
  cluster: Cluster,
  id: number,
  wants: { fence?: boolean; shutDown?: boolean; offset?: number; epoch?: number } = {},
): ResponseOf<63> {
  return ask(cluster, 63, 1, {
    brokerId: id,
    brokerEpoch: wants.epoch ?? cluster.controller.image.cluster.brokers.get(id)?.epoch ?? -1,
    currentMetadataOffset: wants.offset ?? cluster.log.length - 1,
    wantFence: wants.fence ?? false,
    wantShutDown: wants.shutDown ?? false,
  });
}

/** Registers and unfences brokers 1 to `count`; `racks` in turn. */
export function startBrokers(cluster: Cluster, count: number, racks: readonly (string | null)[] = [null]): void {
  for (let id = 1; id <= count; id++) {
    register(cluster, id, { rack: racks[(id - 1) % racks.length] ?? null });
    beat(cluster, id);
  }
}

/** Fences a broker, as the host does that knows that it is dead. */
export function fence(cluster: Cluster, id: number): void {
  append(cluster, fenceBroker(cluster.controller, id));
}

/** The partition of a topic, its first if not said. */
export function partitionOf(cluster: Cluster, topic = 't', index = 0): PartitionImage {
  const found = topicByName(cluster.controller.image, topic)?.partitions[index];
  return found ?? expect.fail(`no partition ${index} of ${topic}`);
}

/** A partition in short: leader, in sync, eligible, last known, recovering. */
export function briefOf(cluster: Cluster, topic = 't', index = 0): unknown[] {
  const { leader, isr, elr, lastKnownElr, leaderRecoveryState } = partitionOf(cluster, topic, index);
  return [leader, isr, elr, lastKnownElr, leaderRecoveryState];
}

/** The epoch of a broker's present life. */
export function epochOf(cluster: Cluster, id: number): number {
  return cluster.controller.image.cluster.brokers.get(id)?.epoch ?? -1;
}

/** The leader of a partition says who is in sync; what is left out is as the controller has it. */
export function alter(
  cluster: Cluster,
  isr: readonly number[],
  more: {
    topic?: string;
    index?: number;
    version?: number;
    leader?: number;
    leaderEpoch?: number;
    partitionEpoch?: number;
    recovery?: number;
    memberEpochs?: readonly number[];
  } = {},
): ResponseOf<56>['topics'][number]['partitions'][number] {
  const topic = topicByName(cluster.controller.image, more.topic ?? 't');
  const partition = topic?.partitions[more.index ?? 0];
  const version = more.version ?? 3;
  const leader = more.leader ?? partition?.leader ?? -1;
  const asked = {
    partitionIndex: more.index ?? 0,
    leaderEpoch: more.leaderEpoch ?? partition?.leaderEpoch ?? 0,
    newIsr: version < 3 ? isr : [],
    newIsrWithEpochs:
      version < 3
        ? []
        : isr.map((id, i) => ({ brokerId: id, brokerEpoch: more.memberEpochs?.[i] ?? epochOf(cluster, id) })),
    leaderRecoveryState: more.recovery ?? 0,
    partitionEpoch: more.partitionEpoch ?? partition?.partitionEpoch ?? 0,
  };
  const answer = ask(cluster, 56, version, {
    brokerId: leader,
    brokerEpoch: epochOf(cluster, leader),
    topics: [{ topicId: topic?.id ?? idOf(5000), partitions: [asked] }],
  });
  return answer.topics[0]?.partitions[0] ?? expect.fail(`refused as a whole: ${answer.errorCode}`);
}

/** Moves a partition to replicas, or for null takes its move back; gives the code and what is said. */
export function move(
  cluster: Cluster,
  replicas: readonly number[] | null,
  more: { topic?: string; index?: number; keepsFactor?: boolean } = {},
): { errorCode: number; errorMessage: string | null } {
  const partitions = [{ partitionIndex: more.index ?? 0, replicas }];
  const topics = [{ name: more.topic ?? 't', partitions }];
  const answer = ask(cluster, 45, 1, { timeoutMs: 1, allowReplicationFactorChange: more.keepsFactor !== true, topics });
  const { errorCode, errorMessage } = answer.responses[0]?.partitions[0] ?? expect.fail('no answer');
  return { errorCode, errorMessage };
}

/** Where a partition is and goes: its replicas, those that come, those that go, those in sync. */
export function placeOf(cluster: Cluster, topic = 't', index = 0): (readonly number[])[] {
  const { replicas, addingReplicas, removingReplicas, isr } = partitionOf(cluster, topic, index);
  return [replicas, addingReplicas, removingReplicas, isr];
}

/** Asks for elections in a topic, `t` if not said; gives the codes. */
export function elect(
  cluster: Cluster,
  electionType: number,
  partitions: readonly number[] = [0],
  topic = 't',
): number[] {
  const body = { electionType, topicPartitions: [{ topic, partitions }] };
  const [result] = ask(cluster, 43, 2, body).replicaElectionResults;
  return (result?.partitionResult ?? []).map(({ errorCode }) => errorCode);
}

/** A cluster with topic `t`, of one partition on three brokers: its replicas, the preferred first. */
export function threeReplicas(
  more: { config?: Partial<ControllerConfig>; minInsync?: number; brokers?: number } = {},
): [Cluster, number, number, number] {
  const cluster = createCluster(more.config);
  startBrokers(cluster, more.brokers ?? 3);
  createTopic(cluster, 't', 1, 3, [['min.insync.replicas', String(more.minInsync ?? 2)]]);
  return [cluster, ...(partitionOf(cluster).replicas as [number, number, number])];
}

/** Creates a topic, and throws if it is refused. */
export function createTopic(
  cluster: Cluster,
  name: string,
  partitions: number,
  replicationFactor: number,
  configs: readonly (readonly [string, string])[] = [],
): void {
  const topic = {
    name,
    numPartitions: partitions,
    replicationFactor,
    assignments: [],
    configs: configs.map(([key, value]) => ({ name: key, value })),
  };
  const result = ask(cluster, 19, 7, { topics: [topic] }).topics[0];
  if (result?.errorCode !== 0) expect.fail(`${name}: ${result?.errorMessage}`);
}
