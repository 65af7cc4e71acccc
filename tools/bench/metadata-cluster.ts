/**
 * A cluster of metadata alone, in this process: the active controller and all who follow it, as the pure machines that
 * nodes host (`core/coordination`, `core/controller`, `core/metadata`), without logs, disks or connections. What the
 * controller decides becomes bytes and is committed at once; each follower reads them and makes an image of its own, as
 * it would in a process of its own. Requests go through bytes too. Time passes only when it is told to.
 *
 * A step is one call of one machine: a request submitted, what it committed told, what was committed loaded elsewhere.
 */
import { nextDuty } from '../../core/controller/duties.ts';
import { type ControllerKey, idsNeeded } from '../../core/controller/handle.ts';
import { CONTROLLER, type ControllerShapes, controllerRequest } from '../../core/controller/machine.ts';
import type { ControllerConfig } from '../../core/controller/state.ts';
import * as coordination from '../../core/coordination/coordinator.ts';
import type { Place } from '../../core/coordination/machine.ts';
import { Reader } from '../../core/lib/cursor.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import type { Env } from '../../core/lib/world.ts';
import { SUPPORTED_FEATURES } from '../../core/metadata/features.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { bodyBytes, readBody } from '../../core/protocol/compile.ts';
import {
  apiOf,
  type RequestInputOf,
  type RequestOf,
  type ResponseInputOf,
} from '../../core/protocol/messages/index.ts';
import { realCrc32c } from '../../runtime-real/checksum.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import { ownProcessorMs } from '../peers/process.ts';

type Member = coordination.Coordinator<ControllerShapes, 'asker'>;
type Event = coordination.CoordinatorEvent<ControllerShapes, 'asker'>;

/** The cluster. */
export interface MetadataCluster {
  readonly active: Member;
  /** Controllers that stand by, then brokers. */
  readonly followers: readonly Member[];
  readonly brokers: readonly number[];
  nowMs: number;
  /** Where the log ends, and what went into it. */
  end: number;
  batches: number;
  bytes: number;
  steps: number;
  /** Fresh uuids so far. */
  ids: number;
}

/** What one request or duty came to. Processor time, ms. */
export interface Work {
  readonly records: number;
  readonly bytes: number;
  readonly batches: number;
  readonly steps: number;
  /** Deciding, encoding, and the controller's own image. */
  readonly controllerMs: number;
  /** Reading and the image, of each follower. */
  readonly followerMs: readonly number[];
  readonly response: unknown;
}

/** broker.session.timeout.ms */
const SESSION_MS = 3_000;
const EPOCH = 1;
const VERSIONS: ReadonlyMap<ControllerKey, number> = new Map([
  [19, 7],
  [62, 4],
  [63, 1],
]);
const CLUSTER_ID = 'bench';
const CODECS = realCodecs();

/** An active controller and so many others, with so many brokers, which have registered and take part. */
export function startMetadataCluster(standby: number, brokers: number, racks: number): MetadataCluster {
  const ids = Array.from({ length: brokers }, (_, index) => index + 1);
  const cluster: MetadataCluster = {
    active: coordination.createCoordinator(),
    followers: Array.from({ length: standby + brokers }, () => coordination.createCoordinator()),
    brokers: ids,
    ...{ nowMs: 0, end: 0, batches: 0, bytes: 0, steps: 0, ids: 0 },
  };
  for (const member of [cluster.active, ...cluster.followers]) coordination.beginLoad(member, CONTROLLER);
  const config: ControllerConfig = {
    nodeId: 1000,
    clusterId: CLUSTER_ID,
    given: new Map([['min.insync.replicas', '2']]),
    numPartitions: 1,
    replicationFactor: 3,
    sessionTimeoutMs: SESSION_MS,
  };
  work(cluster, (journal) => {
    const given = { config, nowMs: cluster.nowMs, seed: 1 };
    const problem = coordination.activate(cluster.active, CONTROLLER, given, journal, []);
    if (problem !== null) throw new Error(problem);
  });
  for (const id of ids) register(cluster, id, `rack-${id % racks}`);
  beat(cluster, ids);
  return cluster;
}

/** The active controller's image. */
export function liveImage({ active }: MetadataCluster): MetadataImage {
  if (active.state === null) throw new Error('the controller is not active');
  return CONTROLLER.view(active.state);
}

/** The image of each follower. */
export function followedImages({ followers }: MetadataCluster): MetadataImage[] {
  return followers.map(({ committed }) => {
    if (committed === null) throw new Error('a follower has no image');
    return committed.view;
  });
}

/** Creates topics of three replicas, in one request. */
export function createTopics(cluster: MetadataCluster, names: readonly string[], partitions: number): Work {
  const topics = names.map((name) => ({
    name,
    numPartitions: partitions,
    replicationFactor: 3,
    assignments: [],
    configs: [],
  }));
  const done = ask(cluster, 19, { topics, timeoutMs: 1000, validateOnly: false });
  const refused = (done.response as ResponseInputOf<19>).topics.find(({ errorCode }) => errorCode !== 0);
  if (refused !== undefined) throw new Error(`${refused.name}: ${refused.errorMessage}`);
  return done;
}

/** One broker is heard of no more, until its session is over: what the controller does about it. */
export function failBroker(cluster: MetadataCluster, broker: number): Work {
  const others = cluster.brokers.filter((id) => id !== broker && !isFenced(cluster, id));
  beat(cluster, [broker, ...others]);
  cluster.nowMs += SESSION_MS - 1;
  beat(cluster, others);
  cluster.nowMs += 1;
  const duty = cluster.active.state === null ? null : nextDuty(cluster.active.state, cluster.nowMs);
  if (duty?.kind !== 'fence' || duty.broker !== broker) throw new Error(`broker ${broker} is not to be fenced`);
  const fenced = work(cluster, (journal) => submit(cluster, journal, duty));
  doDuties(cluster);
  return fenced;
}

/** What is due besides, until nothing is. */
function doDuties(cluster: MetadataCluster): void {
  for (;;) {
    const duty = cluster.active.state === null ? null : nextDuty(cluster.active.state, cluster.nowMs);
    if (duty === null) return;
    work(cluster, (journal) => submit(cluster, journal, duty));
  }
}

function isFenced(cluster: MetadataCluster, id: number): boolean {
  return liveImage(cluster).cluster.brokers.get(id)?.fenced !== false;
}

function register(cluster: MetadataCluster, brokerId: number, rack: string): void {
  const { response } = ask(cluster, 62, {
    brokerId,
    clusterId: CLUSTER_ID,
    incarnationId: freshId(cluster),
    listeners: [{ name: 'PLAINTEXT', host: `broker-${brokerId}`, port: 9092, securityProtocol: 0 }],
    features: [...SUPPORTED_FEATURES],
    rack,
    logDirs: [freshId(cluster)],
  });
  const { errorCode } = response as ResponseInputOf<62>;
  if (errorCode !== 0) throw new Error(`broker ${brokerId} was refused with ${errorCode}`);
}

/** A heartbeat of each of them, which have applied the whole log. */
function beat(cluster: MetadataCluster, ids: readonly number[]): void {
  for (const brokerId of ids) {
    const brokerEpoch = liveImage(cluster).cluster.brokers.get(brokerId)?.epoch ?? -1;
    const rest = { currentMetadataOffset: cluster.end - 1, wantFence: false, wantShutDown: false };
    ask(cluster, 63, { brokerId, brokerEpoch, ...rest });
  }
  doDuties(cluster);
}

function ask<K extends ControllerKey>(cluster: MetadataCluster, apiKey: K, body: RequestInputOf<K>): Work {
  const api = apiOf(apiKey);
  const version = VERSIONS.get(apiKey);
  if (api === undefined || version === undefined) throw new Error(`nobody asks a controller for ${apiKey} here`);
  const bytes = bodyBytes(api.request, version, body as never);
  const request = readBody(api.request, version, new Reader(bytes)) as RequestOf<K>;
  const ids = Array.from({ length: idsNeeded(apiKey, request) }, () => freshId(cluster));
  return work(cluster, (journal) => submit(cluster, journal, controllerRequest(apiKey, version, request, ids)));
}

function submit(
  cluster: MetadataCluster,
  journal: coordination.Journal<Uint8Array>,
  request: ControllerShapes['request'],
): unknown {
  const submission = coordination.submit(cluster.active, CONTROLLER, envOf(cluster), journal, request, 'asker');
  if (submission.kind === 'refused') throw new Error(`a request was refused: ${submission.reason}`);
  return submission.kind === 'answered' ? submission.response : null;
}

/** Lets the active controller work on a log of its own, commits what it has appended, and hands it to all others. */
function work(cluster: MetadataCluster, decide: (journal: coordination.Journal<Uint8Array>) => unknown): Work {
  const before = { end: cluster.end, batches: cluster.batches, bytes: cluster.bytes, steps: cluster.steps };
  const values: Uint8Array[] = [];
  let place: Place | null = null;
  const journal: coordination.Journal<Uint8Array> = {
    end: cluster.end,
    highWatermark: cluster.end,
    room: Number.MAX_SAFE_INTEGER,
    batchBytesMax: Number.MAX_SAFE_INTEGER,
    sizeBytes: (appended) => appended.reduce((sum, value) => sum + value.length, 0),
    entryBytes: ({ length }) => length,
    append: (appended) => {
      const baseOffset = cluster.end;
      cluster.end += appended.length;
      cluster.batches += 1;
      cluster.bytes += appended.reduce((sum, value) => sum + value.length, 0);
      values.push(...appended);
      place = { baseOffset, nextOffset: cluster.end, leaderEpoch: EPOCH, timestampMs: cluster.nowMs };
      return place;
    },
  };
  let response: unknown = null;
  const controllerMs = ownProcessorMs(() => {
    response = decide(journal);
  });
  cluster.steps += 1;
  const followerMs: number[] = [];
  if (place !== null) {
    const events: Event[] = [];
    coordination.commitTo(cluster.active, cluster.end, events);
    cluster.steps += 1;
    for (const event of events) if (event.kind === 'answered') response = event.response;
    for (const follower of cluster.followers) followerMs.push(follow(cluster, follower, values, place));
  }
  return {
    records: cluster.end - before.end,
    bytes: cluster.bytes - before.bytes,
    batches: cluster.batches - before.batches,
    steps: cluster.steps - before.steps,
    controllerMs,
    followerMs,
    response,
  };
}

/** A follower loads what was committed together as one slice, as it comes in one answer to its fetch. */
function follow(cluster: MetadataCluster, follower: Member, values: readonly Uint8Array[], place: Place): number {
  cluster.steps += 1;
  return ownProcessorMs(() => {
    const problem = coordination.loadEntries(follower, CONTROLLER, values, place, false, []);
    if (problem !== null) throw new Error(problem);
    coordination.tellView(follower, CONTROLLER, []);
  });
}

function envOf({ nowMs }: MetadataCluster): Env {
  return { nowMs, wallMs: nowMs, crc32c: realCrc32c, codecs: CODECS, reached: () => {} };
}

function freshId(cluster: MetadataCluster): string {
  const bytes = new Uint8Array(16);
  bytes[0] = 1;
  new DataView(bytes.buffer).setUint32(12, ++cluster.ids);
  return uuidFromBytes(bytes, 0);
}
