/**
 * The coordinator of groups in a toy cluster: our own machine, behind real frames. One broker has it; the others send
 * clients away. When it moves, the next broker loads what was written, and whoever waited is told so.
 */
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { groupDeadlineMs } from '../../core/group/machine.ts';
import type { GroupConfig } from '../../core/group/shapes.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { decodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { type Asked, type Coordinator, call, createCoordinator, failOver, send } from '../group/coordinator.ts';
import { brokerRecordOf, imageOf, topicRecordsOf } from '../metadata/cluster.ts';
import { type Mishap, PORT, type Toy } from './toy-cluster.ts';
import { join } from './toy-log.ts';

type Key = 8 | 9 | 11 | 12 | 13 | 14 | 42 | 68;

type Respond = (answer: (correlationId: number) => Uint8Array) => void;

interface Waiter {
  readonly key: Key;
  readonly version: number;
  readonly asked: Asked<Key>;
  readonly respond: Respond;
  isAnswered: boolean;
}

export interface ToyGroups {
  readonly coordinator: Coordinator;
  broker: number;
  /** Until then it is loading. */
  loadingUntilMs: number;
  waiters: Waiter[];
  /** Topics that the coordinator knows, by name. */
  topics: Map<string, string>;
  /** Errors that calls get in the place of being acted on, by API key, once each. */
  readonly refusals: Map<number, number[]>;
}

export const GROUP_RANGES = new Map([
  [8, { min: 2, max: 10 }],
  [9, { min: 1, max: 10 }],
  [10, { min: 0, max: 6 }],
  [11, { min: 0, max: 9 }],
  [12, { min: 0, max: 4 }],
  [13, { min: 0, max: 5 }],
  [14, { min: 0, max: 5 }],
  [42, { min: 0, max: 3 }],
  [68, { min: 0, max: 1 }],
]);

/** The first version of OffsetFetch that asks about many groups. */
const GROUPS_SINCE = 8;
const KEYS: readonly number[] = [8, 9, 11, 12, 13, 14, 42, 68];

/** Puts a coordinator into a toy cluster, at broker 0, and a machine that wakes it. */
export function addGroups(toy: Toy, config: Partial<GroupConfig> = {}): ToyGroups {
  const settings = { initialRebalanceDelayMs: 50, sessionTimeoutMinMs: 100, ...config };
  const coordinator = createCoordinator({ ...GROUP_DEFAULTS, ...settings });
  coordinator.checksReplay = false;
  coordinator.nowMs = toy.nowMs;
  const groups: ToyGroups = {
    coordinator,
    broker: 0,
    loadingUntilMs: 0,
    waiters: [],
    topics: new Map(),
    refusals: new Map(),
  };
  toy.groups = groups;
  topicsChanged(toy);
  toy.machines.push({
    step: () => {
      moveTime(toy, groups);
      if (groupDeadlineMs(coordinator.state) <= toy.nowMs) call(coordinator, -1, { kind: 'tick' });
      handOut(groups);
    },
    deadlineMs: () => groupDeadlineMs(coordinator.state),
    check: () => {},
  });
  return groups;
}

function moveTime(toy: Toy, { coordinator }: ToyGroups): void {
  coordinator.wallMs += toy.nowMs - coordinator.nowMs;
  coordinator.nowMs = toy.nowMs;
}

/** The coordinator hears of the topics that there are. */
export function topicsChanged(toy: Toy): void {
  const { groups } = toy;
  if (groups === null) return;
  const records = [...toy.up].map((id) => brokerRecordOf(id + 1, 1));
  for (const [name, { id, partitions }] of toy.topics)
    records.push(...topicRecordsOf(name, id, partitions.length, [1]));
  const gone = [...groups.topics]
    .filter(([name, id]) => toy.topics.get(name)?.id !== id)
    .map(([name, id]) => ({ name, id }));
  groups.topics = new Map([...toy.topics].map(([name, { id }]) => [name, id]));
  groups.coordinator.image = imageOf(records);
  moveTime(toy, groups);
  if (gone.length > 0) call(groups.coordinator, -1, { kind: 'topicsDeleted', topics: gone });
  handOut(groups);
}

/** Another broker is the coordinator from now on, after it has loaded for `loadMs`. */
export function moveCoordinator(toy: Toy, broker: number, loadMs = 0): void {
  const { groups } = toy;
  if (groups === null) return;
  groups.broker = broker;
  groups.loadingUntilMs = toy.nowMs + loadMs;
  const { waiters } = groups;
  groups.waiters = [];
  failOver(groups.coordinator);
  groups.coordinator.nowMs = toy.nowMs;
  for (const { key, version, respond } of waiters) refuse(key, version, ErrorCode.NOT_COORDINATOR, null, respond);
}

function handOut(groups: ToyGroups): void {
  for (const waiter of groups.waiters) {
    const { asked, key, version, respond } = waiter;
    if (asked.response === null) continue;
    waiter.isAnswered = true;
    respond(framed(key, version, forVersion(key, version, asked.response) as never));
  }
  groups.waiters = groups.waiters.filter(({ isAnswered }) => !isAnswered);
}

/** The coordinator is asked for one group; older versions know no others. */
function forVersion(key: Key, version: number, response: unknown): unknown {
  if (key !== 9 || version >= GROUPS_SINCE) return response;
  const [group] = (response as ResponseOf<9>).groups;
  return { throttleTimeMs: 0, topics: group?.topics ?? [], errorCode: group?.errorCode ?? 0, groups: [] };
}

function framed<K extends Key | 10>(key: K, version: number, body: ResponseInputOf<K>): (id: number) => Uint8Array {
  return (correlationId) => join(encodeResponse(key, version, correlationId, body)).subarray(4);
}

/** Serves a request about groups; false if it is about something else. */
export function serveGroups(
  toy: Toy,
  groups: ToyGroups,
  { apiKey, version, broker }: { apiKey: number; version: number; broker: number },
  frame: Uint8Array,
  mishap: Mishap,
  respond: Respond,
): boolean {
  if (apiKey === 10) {
    findCoordinator(toy, groups, version, frame, respond);
    return true;
  }
  if (!KEYS.includes(apiKey)) return false;
  const key = apiKey as Key;
  const { body } = decodeRequest(key, version, frame);
  toy.requests.push({ apiKey, version, broker, body });
  moveTime(toy, groups);
  const planned = groups.refusals.get(apiKey)?.shift();
  const isAway = groups.broker !== broker;
  const isLoading = groups.loadingUntilMs > toy.nowMs;
  const own = isAway ? ErrorCode.NOT_COORDINATOR : isLoading ? ErrorCode.COORDINATOR_LOAD_IN_PROGRESS : 0;
  const error = own !== 0 ? own : (planned ?? (mishap.kind === 'error' && !mishap.acts ? mishap.error : 0));
  if (error !== 0) {
    refuse(key, version, error, body, respond);
    return true;
  }
  const [askedVersion, askedBody] = isOldFetch(key, version) ? [GROUPS_SINCE, grouped(body)] : [version, body];
  const sent = send(groups.coordinator, key, askedVersion, askedBody as RequestInputOf<Key>, 'toy');
  const asked = sent as unknown as Asked<Key>;
  groups.waiters.push({ key, version, asked, respond, isAnswered: false });
  handOut(groups);
  return true;
}

function isOldFetch(key: Key, version: number): boolean {
  return key === 9 && version < GROUPS_SINCE;
}

function grouped(body: unknown): RequestInputOf<9> {
  const { groupId, topics } = body as RequestOf<9>;
  const named = topics?.map((topic) => ({ ...topic, topicId: ZERO_UUID })) ?? null;
  return { groupId: '', topics: [], groups: [{ groupId, topics: named }] };
}

function findCoordinator(toy: Toy, { broker }: ToyGroups, version: number, frame: Uint8Array, respond: Respond): void {
  const { body } = decodeRequest(10, version, frame);
  toy.requests.push({ apiKey: 10, version, broker, body });
  const found = { nodeId: broker, host: 'toy', port: PORT + broker, errorCode: 0, errorMessage: null };
  const none = { nodeId: -1, host: '', port: -1, errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE, errorMessage: null };
  const one = toy.up.has(broker) ? found : none;
  const coordinators = version >= 4 ? body.coordinatorKeys.map((key) => ({ key, ...one })) : [];
  const whole = version >= 4 ? { errorCode: 0, errorMessage: null, nodeId: 0, host: '', port: 0 } : one;
  respond(framed(10, version, { throttleTimeMs: 0, ...whole, coordinators }));
}

function refuse(key: Key, version: number, errorCode: number, body: unknown, respond: Respond): void {
  const plain = { throttleTimeMs: 0, errorCode };
  if (key === 11) {
    const protocolName = version >= 7 ? null : '';
    const none = { generationId: -1, protocolName, leader: '', memberId: '', members: [] };
    respond(framed(11, version, { ...plain, ...none }));
  } else if (key === 14) respond(framed(14, version, { ...plain, assignment: new Uint8Array(0) }));
  else if (key === 12) respond(framed(12, version, plain));
  else if (key === 13) respond(framed(13, version, { ...plain, members: [] }));
  else if (key === 68) respond(framed(68, version, { ...plain, memberEpoch: 0, heartbeatIntervalMs: 0 }));
  else if (key === 42) {
    const results = (body as RequestOf<42>).groupsNames.map((groupId) => ({ groupId, errorCode }));
    respond(framed(42, version, { throttleTimeMs: 0, results }));
  } else if (key === 8) respond(framed(8, version, commitRefused(body as RequestInputOf<8>, errorCode)));
  else respond(framed(9, version, fetchRefused(body as RequestInputOf<9>, version, errorCode)));
}

function commitRefused({ topics }: RequestInputOf<8>, errorCode: number): ResponseInputOf<8> {
  const told = topics.map(({ name, topicId, partitions }) => ({
    name,
    topicId,
    partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
  }));
  return { throttleTimeMs: 0, topics: told };
}

function fetchRefused(body: RequestInputOf<9>, version: number, errorCode: number): ResponseInputOf<9> {
  const groups = version >= 8 ? body.groups.map(({ groupId }) => ({ groupId, topics: [], errorCode })) : [];
  return { throttleTimeMs: 0, topics: [], errorCode: version >= 8 ? 0 : errorCode, groups };
}
