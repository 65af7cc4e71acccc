/**
 * A toy cluster for tests of the client: a few brokers that share one log in memory, speak real frames, keep Kafka's
 * rules for sequence numbers, and misbehave as the test says. Time is virtual; dice come from a seed.
 *
 * Connections carry whole frames with a delay. When one is reset, each frame under way is lost or still arrives, even
 * much later, as frames in a socket's buffer do; answers to it go nowhere.
 */
import { throwDice } from '../../core/channel/backoff.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import * as batch from '../../core/protocol/batch.ts';
import { decodeRequest, encodeResponse, peekRequest } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../../core/protocol/messages/index.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';

export const codecs = realCodecs();

/** What happens to one request: drawn by the test. */
export type Mishap =
  | { kind: 'none' }
  /** The request is not acted on; the connection is reset. */
  | { kind: 'resetBefore' }
  /** It is acted on, and the connection is reset instead of an answer. */
  | { kind: 'resetAfter' }
  /** Acted on or not, no answer ever comes. */
  | { kind: 'silentBefore' }
  | { kind: 'silentAfter' }
  | { kind: 'error'; error: number; acts: boolean }
  | { kind: 'garbage' }
  | { kind: 'wrongCorrelation' };

export interface Stored {
  readonly bytes: Uint8Array;
  readonly baseOffset: number;
  readonly count: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly sequence: number;
  readonly leaderEpoch: number;
}

export interface ToyPartition {
  leader: number;
  leaderEpoch: number;
  startOffset: number;
  log: Stored[];
  /** What producers are known; a test may clear it. */
  producers: Map<number, { epoch: number; last: Stored[] }>;
}

interface Connection {
  readonly id: number;
  readonly broker: number;
  readonly machine: number;
  isOpen: boolean;
  /** Answers leave in order: no earlier than this. */
  busyUntilMs: number;
  lateUntilMs: number;
}

export interface Machine {
  step: (env: Env, input: Input, out: Outbox) => void;
  deadlineMs: () => number;
  check: () => void;
}

type Event =
  | { kind: 'input'; machine: number; connection: Connection | null; input: Input }
  | { kind: 'arrive'; connection: Connection; frame: Uint8Array; isLate: boolean }
  | { kind: 'do'; act: () => void };

export interface ToyOptions {
  seed?: number;
  brokers?: number;
  topics?: Record<string, number>;
  /** Per API key, the versions to advertise. */
  versions?: Map<number, { min: number; max: number }>;
  mishap?: (toy: Toy, request: { apiKey: number; version: number; broker: number }) => Mishap;
  delayMaxMs?: number;
  /** Whether the broker takes any first number of a producer it does not know, as Kafka does. */
  createsTopics?: boolean;
}

export interface Toy {
  nowMs: number;
  readonly options: ToyOptions;
  dice: number;
  readonly up: Set<number>;
  readonly topics: Map<string, { id: string; partitions: ToyPartition[] }>;
  readonly machines: Machine[];
  readonly events: { atMs: number; order: number; event: Event }[];
  readonly connections: Map<number, Connection>;
  readonly requests: { apiKey: number; version: number; broker: number; body: unknown }[];
  readonly connects: { atMs: number; port: number }[];
  readonly reached: Map<string, number>;
  producerIds: number;
  order: number;
  sessions: number;
}

export const PORT = 9000;

export function createToy(options: ToyOptions = {}): Toy {
  const toy: Toy = {
    nowMs: 1000,
    options,
    dice: options.seed ?? 1,
    up: new Set(),
    topics: new Map(),
    machines: [],
    events: [],
    connections: new Map(),
    requests: [],
    connects: [],
    reached: new Map(),
    producerIds: 100,
    order: 0,
    sessions: 0,
  };
  for (let broker = 0; broker < (options.brokers ?? 1); broker++) toy.up.add(broker);
  for (const [name, count] of Object.entries(options.topics ?? { t: 1 })) addTopic(toy, name, count);
  return toy;
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

export function partitionOf(toy: Toy, topic = 't', index = 0): ToyPartition {
  const found = toy.topics.get(topic)?.partitions[index];
  if (found === undefined) throw new Error('no such partition');
  return found;
}

export function endOf(partition: ToyPartition): number {
  const last = partition.log.at(-1);
  return last === undefined ? partition.startOffset : last.baseOffset + last.count;
}

export function roll(toy: Toy, sides: number): number {
  return throwDice(toy, sides);
}

export function env(toy: Toy): Env {
  const reached = (mark: string): void => {
    toy.reached.set(mark, (toy.reached.get(mark) ?? 0) + 1);
  };
  return { nowMs: toy.nowMs, wallMs: 1_700_000_000_000 + toy.nowMs, crc32c, codecs, reached };
}

export function later(toy: Toy, delayMs: number, event: Event): void {
  toy.order += 1;
  toy.events.push({ atMs: toy.nowMs + delayMs, order: toy.order, event });
}

export function at(toy: Toy, atMs: number, act: () => void): void {
  later(toy, Math.max(0, atMs - toy.nowMs), { kind: 'do', act });
}

function delay(toy: Toy): number {
  return 1 + roll(toy, toy.options.delayMaxMs ?? 5);
}

/** Runs until `untilMs`, or until `isDone` holds between two events. */
export function run(toy: Toy, untilMs: number, isDone: () => boolean = () => false): void {
  for (let steps = 0; steps < 2_000_000; steps++) {
    if (isDone()) return;
    let next = -1;
    for (let i = 0; i < toy.events.length; i++) {
      const a = toy.events[i] as (typeof toy.events)[number];
      const b = toy.events[next];
      if (b === undefined || a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)) next = i;
    }
    let wakeMs = Number.POSITIVE_INFINITY;
    let sleeper = -1;
    for (const [index, machine] of toy.machines.entries()) {
      const deadlineMs = machine.deadlineMs();
      if (deadlineMs < wakeMs) {
        wakeMs = deadlineMs;
        sleeper = index;
      }
    }
    const eventMs = toy.events[next]?.atMs ?? Number.POSITIVE_INFINITY;
    const whenMs = Math.min(eventMs, wakeMs);
    if (whenMs > untilMs) {
      toy.nowMs = Math.max(toy.nowMs, untilMs);
      return;
    }
    toy.nowMs = Math.max(toy.nowMs, whenMs);
    if (wakeMs < eventMs) {
      stepMachine(toy, sleeper, { kind: 'wake' });
    } else {
      const [item] = toy.events.splice(next, 1);
      if (item !== undefined) happen(toy, item.event);
    }
  }
  throw new Error('the toy did not come to rest');
}

export function stepMachine(toy: Toy, index: number, input: Input): void {
  const machine = toy.machines[index];
  if (machine === undefined) return;
  const out: Outbox = [];
  machine.step(env(toy), input, out);
  machine.check();
  carryOut(toy, index, out);
}

export function carryOut(toy: Toy, machine: number, out: Outbox): void {
  for (const effect of out) {
    if (effect.kind === 'connect') {
      const broker = effect.port - PORT;
      toy.connects.push({ atMs: toy.nowMs, port: effect.port });
      const id = effect.connection;
      const connection = { id, broker, machine, isOpen: true, busyUntilMs: 0, lateUntilMs: 0 };
      toy.connections.set(id, connection);
      if (toy.up.has(broker)) {
        later(toy, delay(toy), { kind: 'input', machine, connection, input: { kind: 'connected', connection: id } });
      } else {
        const input = { kind: 'connectFailed', connection: id, reason: 'refused' } as const;
        later(toy, 1, { kind: 'input', machine, connection: null, input });
        connection.isOpen = false;
      }
    } else if (effect.kind === 'send') {
      const connection = toy.connections.get(effect.connection);
      if (connection === undefined) continue;
      const whole = join(effect.parts);
      const delayMs = Math.max(delay(toy), connection.lateUntilMs - toy.nowMs);
      connection.lateUntilMs = toy.nowMs + delayMs;
      later(toy, delayMs, { kind: 'arrive', connection, frame: whole.subarray(4), isLate: false });
      const input = { kind: 'sent', connection: effect.connection, sizeBytes: whole.length } as const;
      later(toy, delayMs, { kind: 'input', machine, connection, input });
    } else if (effect.kind === 'close') {
      const connection = toy.connections.get(effect.connection);
      if (connection?.isOpen) cut(toy, connection);
      const input = { kind: 'closed', connection: effect.connection, reason: 'asked', detail: '' } as const;
      later(toy, 1, { kind: 'input', machine, connection: null, input });
    }
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Ends a connection without telling; what is under way is lost or comes late, in order. */
function cut(toy: Toy, connection: Connection): void {
  connection.isOpen = false;
  const comesLate = roll(toy, 2) === 0;
  const lateMs = roll(toy, 3000);
  for (const item of toy.events) {
    if (item.event.kind !== 'arrive' || item.event.connection !== connection) continue;
    if (comesLate) item.atMs += lateMs;
    item.event.isLate = true;
  }
  if (comesLate) return;
  const kept = toy.events.filter(({ event }) => event.kind !== 'arrive' || event.connection !== connection);
  toy.events.splice(0, toy.events.length, ...kept);
}

/** Resets a connection: the client is told. */
export function reset(toy: Toy, connection: Connection): void {
  if (!connection.isOpen) return;
  cut(toy, connection);
  const input = { kind: 'closed', connection: connection.id, reason: 'reset', detail: '' } as const;
  later(toy, 1, { kind: 'input', machine: connection.machine, connection: null, input });
}

/** Takes a broker away: its connections are reset, new ones refused. */
export function takeDown(toy: Toy, broker: number): void {
  toy.up.delete(broker);
  for (const connection of toy.connections.values()) if (connection.broker === broker) reset(toy, connection);
}

function happen(toy: Toy, event: Event): void {
  if (event.kind === 'do') {
    event.act();
  } else if (event.kind === 'input') {
    if (event.connection === null || event.connection.isOpen) stepMachine(toy, event.machine, event.input);
  } else if (event.connection.isOpen || event.isLate) {
    arrive(toy, event.connection, event.frame, event.isLate);
  }
}

function arrive(toy: Toy, connection: Connection, frame: Uint8Array, isLate: boolean): void {
  const head = peekRequest(frame);
  if (head === null || !toy.up.has(connection.broker)) return;
  const request = { apiKey: head.apiKey, version: head.apiVersion, broker: connection.broker };
  const mishap: Mishap = isLate ? { kind: 'none' } : (toy.options.mishap?.(toy, request) ?? { kind: 'none' });
  if (mishap.kind === 'resetBefore') reset(toy, connection);
  if (mishap.kind === 'resetBefore') return;
  if (mishap.kind === 'silentBefore') return;
  const answer = serve(toy, request, frame, mishap);
  if (mishap.kind === 'resetAfter') reset(toy, connection);
  if (mishap.kind === 'resetAfter') return;
  if (mishap.kind === 'silentAfter' || answer === null || isLate) return;
  let bytes = answer(mishap.kind === 'wrongCorrelation' ? head.correlationId + 1 : head.correlationId);
  if (mishap.kind === 'garbage') bytes = bytes.subarray(0, 4 + roll(toy, Math.max(1, bytes.length - 4)));
  const waitMs = (answer as { waitMs?: number }).waitMs ?? 0;
  const delayMs = Math.max(delay(toy) + waitMs, connection.busyUntilMs - toy.nowMs);
  connection.busyUntilMs = toy.nowMs + delayMs;
  const input = { kind: 'frame', connection: connection.id, bytes } as const;
  later(toy, delayMs, { kind: 'input', machine: connection.machine, connection, input });
}

type Answer = ((correlationId: number) => Uint8Array) & { waitMs?: number };

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
  return new Map([...RANGES, ...(toy.options.versions ?? [])]);
}

function answerOf<K extends 0 | 1 | 2 | 3 | 18 | 22 | 23>(key: K, version: number, body: ResponseInputOf<K>): Answer {
  return (correlationId) => join(encodeResponse(key, version, correlationId, body)).subarray(4);
}

function serve(
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
  const names = (body.topics ?? []).map(({ name }) => name ?? '');
  const topics = names.map((name) => {
    if (!toy.topics.has(name) && toy.options.createsTopics === true) addTopic(toy, name, 1);
    const topic = toy.topics.get(name);
    const errorCode = error !== 0 ? error : topic === undefined ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : 0;
    const partitions = (errorCode === 0 ? (topic?.partitions ?? []) : []).map((partition, partitionIndex) => ({
      errorCode: 0,
      partitionIndex,
      leaderId: partition.leader,
      leaderEpoch: partition.leaderEpoch,
      replicaNodes: [],
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

/** Kafka's rules: the last five batches of a producer are known, a gap is refused, any first number is taken. */
export function append(partition: ToyPartition, bytes: Uint8Array): { errorCode: number; baseOffset: number } {
  const error = batch.validateBatch(bytes, 'client', crc32c);
  if (error !== null) return { errorCode: error, baseOffset: -1 };
  const view = batch.dataViewOf(bytes);
  const stored: Stored = {
    bytes: join(batch.appendParts(bytes, endOf(partition), partition.leaderEpoch)),
    baseOffset: endOf(partition),
    count: batch.recordsCount(view, 0),
    producerId: batch.producerId(view, 0),
    producerEpoch: batch.producerEpoch(view, 0),
    sequence: batch.baseSequence(view, 0),
    leaderEpoch: partition.leaderEpoch,
  };
  if (stored.producerId >= 0) {
    const known = partition.producers.get(stored.producerId);
    if (known !== undefined && stored.producerEpoch < known.epoch) {
      return { errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, baseOffset: -1 };
    }
    if (known !== undefined && stored.producerEpoch === known.epoch) {
      const twin = known.last.find((item) => item.sequence === stored.sequence && item.count === stored.count);
      if (twin !== undefined) return { errorCode: 0, baseOffset: twin.baseOffset };
      const last = known.last.at(-1);
      if (last !== undefined && stored.sequence !== last.sequence + last.count) {
        return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 };
      }
      known.last = [...known.last, stored].slice(-5);
    } else {
      if (known !== undefined && stored.sequence !== 0) {
        return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 };
      }
      partition.producers.set(stored.producerId, { epoch: stored.producerEpoch, last: [stored] });
    }
  }
  partition.log.push(stored);
  return { errorCode: 0, baseOffset: stored.baseOffset };
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
    if (session !== undefined && body.topics.length > 0) session.topics = body.topics;
  } else {
    sessionId = 0;
  }
  const topics = sessionOf.get(sessionId)?.topics ?? body.topics;
  if (errorCode !== 0) return answerOf(1, version, { throttleTimeMs: 0, errorCode, sessionId: 0, responses: [] });
  let waitMs = 0;
  const responses = topics.map(({ topic, topicId, partitions }) => ({
    topic,
    topicId,
    partitions: partitions.map(({ partition: partitionIndex, fetchOffset, currentLeaderEpoch }) => {
      const partition = find(toy, topic, version >= 13 ? topicId : '', partitionIndex);
      const none = { partitionIndex, highWatermark: -1, abortedTransactions: null, records: new Uint8Array(0) };
      if (partition === undefined) return { ...none, errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION };
      if (error !== 0) return { ...none, errorCode: error };
      const currentLeader = { leaderId: partition.leader, leaderEpoch: partition.leaderEpoch };
      if (partition.leader !== broker) return { ...none, errorCode: ErrorCode.NOT_LEADER_OR_FOLLOWER, currentLeader };
      if (currentLeaderEpoch >= 0 && currentLeaderEpoch < partition.leaderEpoch) {
        return { ...none, errorCode: ErrorCode.FENCED_LEADER_EPOCH };
      }
      const end = endOf(partition);
      if (fetchOffset < partition.startOffset || fetchOffset > end) {
        return { ...none, errorCode: ErrorCode.OFFSET_OUT_OF_RANGE };
      }
      const parts: Uint8Array[] = [];
      for (const stored of partition.log) {
        if (stored.baseOffset + stored.count <= fetchOffset) continue;
        if (parts.length >= 3) break;
        parts.push(stored.bytes);
      }
      if (parts.length === 0) waitMs = body.maxWaitMs;
      return { ...none, errorCode: 0, highWatermark: end, records: parts };
    }),
  }));
  const answer = answerOf(1, version, { throttleTimeMs: 0, errorCode, sessionId, responses });
  answer.waitMs = waitMs;
  return answer;
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

/** The values in a partition's log, as text, in order. */
export function valuesOf(partition: ToyPartition): string[] {
  const decoder = new TextDecoder();
  return partition.log.flatMap(({ bytes }) =>
    readRecords(bytes, codecs).map(({ value }) => (value === null ? '' : decoder.decode(value))),
  );
}
