/**
 * A coordinator of groups with the log that it would have, for tests. Requests and responses go through bytes of their
 * version, records through bytes of the log; after every call the state is checked, and what a loader makes of the log
 * must be what is live.
 */
import { expect } from 'vitest';
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { GROUP_MACHINE, groupDeadlineMs } from '../../core/group/machine.ts';
import { fitBatch } from '../../core/group/records.ts';
import type { GroupAnswer, GroupBeginning, GroupCall, GroupConfig } from '../../core/group/shapes.ts';
import { checkGroups, type GroupState, sameHardState } from '../../core/group/state.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import type { GroupRecord, KeyedBytes } from '../../core/protocol/group-records.ts';
import type { RequestInputOf, RequestOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { concat } from '../log/world.ts';
import { idOf, imageOf, topicRecordsOf } from '../metadata/cluster.ts';

/** The APIs of groups that a coordinator serves, by key. */
export type GroupKey = 8 | 9 | 11 | 12 | 13 | 14 | 15 | 16 | 42 | 47 | 68 | 69;

/** Somebody who waits: the response, once it is there. */
export interface Asked<K extends GroupKey> {
  readonly key: K;
  readonly version: number;
  response: ResponseOf<K> | null;
}

/** A coordinator and what surrounds it. */
export interface Coordinator {
  readonly config: GroupConfig;
  state: GroupState;
  /** What a loader makes of the log, record by record as it grows. */
  shadow: GroupState;
  readonly log: KeyedBytes[];
  image: MetadataImage;
  nowMs: number;
  wallMs: number;
  uuids: number;
  readonly asked: Map<number, Asked<GroupKey>>;
  waiters: number;
  /** Whether every step is held against a loader: costs a walk over the state. */
  checksReplay: boolean;
}

/** Two topics that are there from the start, with three and two partitions. */
export const TOPICS = { orders: idOf(1), payments: idOf(2) };

const BODIES: ReadonlyMap<number, GroupCall['kind']> = new Map([
  [8, 'offsetCommit'],
  [9, 'offsetFetch'],
  [11, 'joinGroup'],
  [12, 'heartbeat'],
  [13, 'leaveGroup'],
  [14, 'syncGroup'],
  [15, 'describeGroup'],
  [16, 'listGroups'],
  [42, 'deleteGroup'],
  [47, 'offsetDelete'],
  [68, 'consumerGroupHeartbeat'],
  [69, 'consumerGroupDescribe'],
]);

/** A new coordinator; what `config` leaves out is at Kafka's defaults. */
export function createCoordinator(config: Partial<GroupConfig> = {}): Coordinator {
  const whole = { ...GROUP_DEFAULTS, ...config };
  const nowMs = 1000;
  const image = imageOf([
    ...topicRecordsOf('orders', TOPICS.orders, 3, [1]),
    ...topicRecordsOf('payments', TOPICS.payments, 2, [1]),
  ]);
  return {
    config: whole,
    state: activated([], { config: whole, image }, nowMs),
    shadow: loadedFrom([]),
    log: [],
    image,
    nowMs,
    wallMs: 1_700_000_000_000,
    uuids: 0,
    asked: new Map(),
    waiters: 0,
    checksReplay: true,
  };
}

/** What a loader makes of a log, without sessions. */
export function loadedFrom(log: readonly KeyedBytes[]): GroupState {
  const loading = GROUP_MACHINE.beginLoad();
  loadMore(loading, log);
  return loading;
}

function loadMore(loading: GroupState, log: readonly KeyedBytes[]): void {
  const place = { baseOffset: 0, nextOffset: log.length, leaderEpoch: 1, timestampMs: 0 };
  const records = log.map((entry) => {
    const decoded = GROUP_MACHINE.decode(entry);
    return 'record' in decoded ? decoded.record : expect.fail(decoded.problem);
  });
  GROUP_MACHINE.load(loading, records, place, false);
}

function activated(log: readonly KeyedBytes[], config: GroupBeginning, nowMs: number): GroupState {
  const context = { config, nowMs, seed: 1, isNew: log.length === 0, bootstrap: [] };
  const activation = GROUP_MACHINE.activate(loadedFrom(log), context);
  if (typeof activation === 'string') return expect.fail(activation);
  expect(activation.records).toEqual([]);
  return activation.state;
}

/** The last record of each key, in the order of the log: what compaction leaves. */
export function compacted(log: readonly KeyedBytes[]): KeyedBytes[] {
  const last = new Map<string, number>();
  log.forEach(({ key }, at) => {
    last.set(key.join(), at);
  });
  return log.filter(({ key }, at) => last.get(key.join()) === at);
}

/** The coordinator died, and another takes over what it wrote. Whoever waited is told nothing here. */
export function failOver(coordinator: Coordinator, log: readonly KeyedBytes[] = coordinator.log): void {
  coordinator.asked.clear();
  coordinator.nowMs += 7;
  if (log !== coordinator.log) coordinator.log.splice(0, coordinator.log.length, ...log);
  const { config, image } = coordinator;
  coordinator.state = activated(log, { config, image }, coordinator.nowMs);
  coordinator.shadow = loadedFrom(log);
}

/** One call, from the host: records are appended and replayed, answers handed out. */
export function call(coordinator: Coordinator, waiter: number, what: GroupCall): readonly GroupAnswer[] {
  const { state, log, nowMs, wallMs, image } = coordinator;
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(12, ++coordinator.uuids);
  const request = { waiter, wallMs, uuid: uuidFromBytes(bytes, 0), image, compilePattern, call: what };
  const decision = GROUP_MACHINE.handle(state, { nowMs, nextOffset: log.length }, request);
  if (decision.isAtomic) {
    expect(
      fitBatch(decision.records as readonly GroupRecord[], coordinator.config.recordSizeMax),
      'a decision fits one batch',
    ).toBe(true);
  }
  const entries = decision.records.map((record) => GROUP_MACHINE.encode(record));
  const place = {
    baseOffset: log.length,
    nextOffset: log.length + entries.length,
    leaderEpoch: 1,
    timestampMs: wallMs,
  };
  log.push(...entries);
  GROUP_MACHINE.replay(state, decision.records, place);
  checkGroups(state);
  if (coordinator.checksReplay) {
    loadMore(coordinator.shadow, entries);
    expect(sameHardState(coordinator.shadow, state), 'the replay of the log is the live state').toBe(true);
  }
  for (const answer of decision.response) handOut(coordinator, answer);
  return decision.response;
}

/** Regular expressions as the engine has them will do for tests. */
function compilePattern(pattern: string): ((topic: string) => boolean) | null {
  try {
    const expression = new RegExp(`^(?:${pattern})$`, 'u');
    return (topic) => expression.test(topic);
  } catch {
    return null;
  }
}

function handOut(coordinator: Coordinator, { waiter, body }: GroupAnswer): void {
  const asked = coordinator.asked.get(waiter);
  // One that waited with the former coordinator.
  if (asked === undefined) return;
  expect(asked.response, 'nobody is answered twice').toBeNull();
  const whole = asked.key === 9 || asked.key === 15 || asked.key === 69 ? { groups: [body] } : body;
  const answered = asked.key === 42 ? { throttleTimeMs: 0, results: [body] } : whole;
  const fitted = completed(asked, answered);
  const frame = concat(encodeResponse(asked.key, asked.version, 1, fitted as never));
  asked.response = decodeResponse(asked.key, asked.version, frame.subarray(4)).body as never;
}

/** What the host adds for its version: older JoinGroup has no null, describing no time. */
function completed({ key, version }: Asked<GroupKey>, body: object): object {
  if (key === 11 && version < 7) return { ...body, protocolName: (body as ResponseOf<11>).protocolName ?? '' };
  return { throttleTimeMs: 0, ...body };
}

/** A client sends a request; its response comes at once or later. */
export function send<K extends GroupKey>(
  coordinator: Coordinator,
  key: K,
  version: number,
  body: RequestInputOf<K>,
  clientId = 'client',
): Asked<K> {
  const frame = concat(encodeRequest(key, version, 1, clientId, body)).subarray(4);
  const decoded = decodeRequest(key, version, frame);
  const client = { apiVersion: version, clientId: decoded.header.clientId ?? '', clientHost: '/127.0.0.1' };
  const waiter = ++coordinator.waiters;
  const asked: Asked<K> = { key, version, response: null };
  coordinator.asked.set(waiter, asked as unknown as Asked<GroupKey>);
  const kind = BODIES.get(key);
  call(coordinator, waiter, { kind, body: innerBody(key, decoded.body), ...client } as GroupCall);
  return asked;
}

/** Of requests for many groups the host hands over one at a time. */
function innerBody(key: GroupKey, body: unknown): unknown {
  if (key === 9) {
    const { groups, requireStable } = body as RequestOf<9>;
    return { ...groups[0], requireStable };
  }
  if (key === 15) return { groupId: (body as RequestOf<15>).groups[0] };
  if (key === 42) return { groupId: (body as RequestOf<42>).groupsNames[0] };
  if (key === 69) return { groupId: (body as RequestOf<69>).groupIds[0] };
  return body;
}

/** A request that is answered at once. */
export function ask<K extends GroupKey>(
  coordinator: Coordinator,
  key: K,
  version: number,
  body: RequestInputOf<K>,
  clientId?: string,
): ResponseOf<K> {
  return answered(send(coordinator, key, version, body, clientId));
}

/** The response, which must be there. */
export function answered<K extends GroupKey>(asked: Asked<K>): ResponseOf<K> {
  return asked.response ?? expect.fail('there is no response yet');
}

/** Time passes; the coordinator is woken whenever it asked for it. */
export function advance(coordinator: Coordinator, timeMs: number): void {
  const untilMs = coordinator.nowMs + timeMs;
  for (let wakes = 0; ; wakes++) {
    expect(wakes, 'the coordinator comes to rest').toBeLessThan(10_000);
    const dueMs = groupDeadlineMs(coordinator.state);
    if (dueMs > untilMs) break;
    const toMs = Math.max(dueMs, coordinator.nowMs);
    coordinator.wallMs += toMs - coordinator.nowMs;
    coordinator.nowMs = toMs;
    call(coordinator, -1, { kind: 'tick' });
  }
  coordinator.wallMs += untilMs - coordinator.nowMs;
  coordinator.nowMs = untilMs;
}

/** Time passes until this one is answered. */
export function awaited<K extends GroupKey>(coordinator: Coordinator, asked: Asked<K>): ResponseOf<K> {
  for (let wakes = 0; asked.response === null; wakes++) {
    expect(wakes, 'whoever waits is answered').toBeLessThan(10_000);
    const dueMs = groupDeadlineMs(coordinator.state);
    expect(dueMs, 'the coordinator waits for something').toBeLessThan(Number.POSITIVE_INFINITY);
    advance(coordinator, Math.max(dueMs - coordinator.nowMs, 0));
  }
  return asked.response;
}
