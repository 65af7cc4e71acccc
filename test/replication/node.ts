/** One node of a test's cluster: two partitions' logs on a simulated disk, led or followed. */
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, type Ids, nextOwner } from '../../core/lib/ids.ts';
import type { DiskInput, Env, Outbox } from '../../core/lib/world.ts';
import { checkLog, createLog, type Log, logDeadlineMs, openLog, stepLog, wakeLog } from '../../core/log/log.ts';
import { keepTail } from '../../core/log/truncate.ts';
import type { LogEvent, LogFound, ReadOutcome } from '../../core/log/types.ts';
import {
  type Alterer,
  type AltererEvent,
  altererDeadlineMs,
  createAlterer,
  propose,
  pumpAlterer,
  takeAlterAnswer,
} from '../../core/replication/alter-partition.ts';
import type { Call, CallOutcome } from '../../core/replication/calls.ts';
import { takeFetcherAnswer } from '../../core/replication/fetch-answers.ts';
import {
  createFetcher,
  type Fetcher,
  type FetcherEvent,
  fetcherDeadlineMs,
  follow,
  followEpoch,
  pumpFetcher,
  startFollowed,
  takeFollowedEvent,
  unfollow,
} from '../../core/replication/fetcher.ts';
import type { Followed } from '../../core/replication/followed.ts';
import type { BrokerState, PartitionState } from '../../core/replication/in-sync.ts';
import {
  advance,
  checkLeader,
  createLeader,
  cutBack,
  expire,
  type Leader,
  leaderDeadlineMs,
  loseLead,
  takeLead,
  takePartitionState,
  type Waiter,
  wantedChange,
} from '../../core/replication/leader.ts';
import { createThrottle } from '../../core/replication/throttle.ts';
import { createTestDisk, type Dice, type TestDisk } from '../log/disk.ts';
import { CONFIG, FAKE_CODECS } from '../log/world.ts';
import { createServer, lookAtParked, type Server, serverDeadlineMs } from './server.ts';

/** What the controller says of a partition, its leader included. */
export interface PartState extends PartitionState {
  readonly leader: number;
}

/** One version of the metadata. */
export interface View {
  readonly parts: readonly PartState[];
  readonly brokers: ReadonlyMap<number, BrokerState>;
}

/** Someone who waits for a batch. */
export interface Producer extends Waiter {
  readonly answered: () => void;
}

/** One partition on one node. */
export interface Part {
  readonly index: number;
  readonly topicId: string;
  readonly log: Log;
  readonly leader: Leader<Producer>;
  followed: Followed | null;
  state: PartState | null;
  /** It is to lead once a cut that has gone too far has ended. */
  wantsLead: boolean;
  isOpen: boolean;
  /** The largest high watermark that anybody has seen of it in this life. */
  seenWatermark: number;
  readonly reads: Map<number, (outcome: ReadOutcome) => void>;
}

/** A node in one of its lives. */
export interface TestNode {
  readonly id: number;
  readonly disk: TestDisk;
  readonly checkpoints: LogFound[];
  readonly dice: Dice;
  readonly env: Env;
  readonly ids: Ids;
  readonly out: Outbox;
  readonly parts: Part[];
  readonly fetchers: Map<number, Fetcher>;
  readonly alterer: Alterer;
  readonly server: Server;
  /** Followed partitions whose checkpoints are to be lowered. */
  readonly lowers: Extract<FetcherEvent, { kind: 'lower' }>[];
  view: View | null;
  isAlive: boolean;
  isSettling: boolean;
  readonly call: (call: Call) => void;
  readonly opened: () => void;
  settle(): void;
}

/** Small numbers, so that time-outs and rolls come soon. */
export const LAG_MS = 3000;
const FETCH = { maxWaitMs: 500, minBytes: 1, maxBytes: 4000, partitionMaxBytes: 600, backoffMs: 1000, timeoutMs: 4000 };
const PARTS = 2;

/** What a node gets from its cluster. */
export interface NodeOptions {
  readonly id: number;
  readonly disk: TestDisk | null;
  readonly checkpoints: LogFound[];
  readonly dice: Dice;
  readonly nowMs: () => number;
  readonly reached: (mark: string) => void;
  readonly inSyncMin: number;
  readonly sessionBase: number;
  readonly call: (node: TestNode, call: Call) => void;
  readonly opened: (node: TestNode) => void;
}

/** A new life of a node; its logs are being opened. */
export function createNode(options: NodeOptions): TestNode {
  const { dice, reached } = options;
  const ids = createIds();
  const env = {
    get nowMs() {
      return options.nowMs();
    },
    get wallMs() {
      return 1_700_000_000_000 + options.nowMs();
    },
    crc32c,
    codecs: FAKE_CODECS,
    reached,
  };
  const parts = Array.from({ length: PARTS }, (_, index): Part => {
    const folder = `/data/orders-${index}`;
    const config = { ...CONFIG, segmentBytes: 1200, ringBytesMax: 500 };
    const log = createLog({ owner: nextOwner(ids), ids, topic: 'orders', partition: index, folder, config });
    const leader = createLeader<Producer>(log, options.inSyncMin);
    const rest = { followed: null, state: null, wantsLead: false, isOpen: false, seenWatermark: 0, reads: new Map() };
    return { index, topicId: 'T', log, leader, ...rest };
  });
  const node: TestNode = {
    id: options.id,
    disk: options.disk ?? createTestDisk(),
    checkpoints: options.checkpoints,
    dice,
    env,
    ids,
    out: [],
    parts,
    fetchers: new Map(),
    alterer: createAlterer(ids, options.id),
    server: createServer(options.sessionBase),
    lowers: [],
    view: null,
    isAlive: true,
    isSettling: false,
    call: (call) => options.call(node, call),
    opened: () => options.opened(node),
    settle: () => settle(node),
  };
  for (const part of parts) openLog(part.log, env, options.checkpoints[part.index] as LogFound, node.out);
  settle(node);
  return node;
}

/** An answer of the disk. */
export function takeDisk(node: TestNode, input: DiskInput): void {
  const part = node.parts.find(({ log }) => log.owner === input.owner);
  if (part === undefined) return;
  const events: LogEvent[] = [];
  stepLog(part.log, node.env, input, node.out, events);
  takeLogEvents(node, part, events);
  settle(node);
}

function takeLogEvents(node: TestNode, part: Part, events: readonly LogEvent[]): void {
  const said: FetcherEvent[] = [];
  for (const event of events) {
    if (event.kind === 'failed') throw new Error(`node ${node.id}: ${event.detail}`);
    if (event.kind === 'opened') partOpened(node, part);
    if (event.kind === 'readDone') {
      const done = part.reads.get(event.ticket);
      part.reads.delete(event.ticket);
      done?.(event.outcome);
    }
    if (event.kind === 'cutBack') cutBack(part.leader, event.offset, []);
    const fetcher = part.followed === null ? undefined : node.fetchers.get(part.state?.leader ?? -1);
    if (part.followed !== null && fetcher !== undefined) {
      takeFollowedEvent(fetcher, node.env, part.followed, event, said);
    }
    if (event.kind === 'truncated' && part.wantsLead) applyState(node, part, null);
  }
  takeFetcherEvents(node, said);
}

function partOpened(node: TestNode, part: Part): void {
  const found = node.checkpoints[part.index] as LogFound;
  // A start that a crash has overtaken is corrected before anything is appended.
  node.checkpoints[part.index] = { ...found, logStartOffset: part.log.start };
  part.isOpen = true;
  part.seenWatermark = Math.min(found.highWatermark, part.log.durable);
  part.leader.highWatermark = part.seenWatermark;
  if (node.parts.every(({ isOpen }) => isOpen)) node.opened();
}

/** A later version of the metadata. */
export function takeView(node: TestNode, view: View): void {
  const before = node.view;
  node.view = view;
  for (const part of node.parts) {
    const state = view.parts[part.index] as PartState;
    if (before?.parts[part.index] !== state && part.isOpen) applyState(node, part, state);
  }
  settle(node);
}

/** The high watermark that this node shows of a partition. */
export function watermarkOf(part: Part): number {
  return part.followed === null ? part.leader.highWatermark : part.followed.highWatermark;
}

function applyState(node: TestNode, part: Part, later: PartState | null): void {
  const before = part.state;
  const state = later ?? (part.state as PartState);
  part.state = state;
  const { leader, log } = part;
  const isNew = before === null || state.leaderEpoch > before.leaderEpoch || later === null;
  const finished: Producer[] = [];
  if (!isNew) {
    // A change of the partition epoch alone touches neither fetchers nor where the epoch began (KAFKA-13790).
    takePartitionState(leader, node.env, state, finished);
    for (const producer of finished) producer.answered();
    return;
  }
  const old = part.followed;
  const oldFetcher = old === null ? undefined : node.fetchers.get(before?.leader ?? -1);
  if (state.leader === node.id) {
    if (old !== null) {
      part.leader.highWatermark = old.highWatermark;
      if (oldFetcher !== undefined) unfollow(oldFetcher, old);
      part.followed = null;
    }
    part.wantsLead = !keepTail(log);
    if (part.wantsLead) return;
    takeLead(leader, { self: node.id, state, lagMaxMs: LAG_MS, nowMs: node.env.nowMs });
    return;
  }
  part.wantsLead = false;
  if (leader.epoch >= 0) loseLead(leader, finished);
  for (const producer of finished) producer.answered();
  if (old !== null && oldFetcher !== undefined && before?.leader === state.leader) {
    followEpoch(oldFetcher, old, state.leaderEpoch);
    return;
  }
  const highWatermark = watermarkOf(part);
  if (old !== null && oldFetcher !== undefined) unfollow(oldFetcher, old);
  leader.highWatermark = highWatermark;
  part.followed = null;
  if (state.leader < 0) return;
  let fetcher = node.fetchers.get(state.leader);
  if (fetcher === undefined) {
    fetcher = createFetcher(node.ids, node.id, state.leader, FETCH, createThrottle());
    node.fetchers.set(state.leader, fetcher);
  }
  const { index, topicId } = part;
  part.followed = follow(fetcher, {
    log,
    topicId,
    topic: 'orders',
    index,
    leaderEpoch: state.leaderEpoch,
    highWatermark,
  });
}

/** The answer to a call of this node. */
export function takeCallAnswer(node: TestNode, call: Call, outcome: CallOutcome): void {
  if (call.apiKey === 56) {
    const events: AltererEvent[] = [];
    takeAlterAnswer(node.alterer, node.env, call.ticket, outcome, events);
    takeAltererEvents(node, events);
  } else {
    const fetcher = node.fetchers.get(call.nodeId) as Fetcher;
    const sinks = { out: node.out, events: [] };
    takeFetcherAnswer(fetcher, node.env, call.ticket, outcome, sinks);
    takeFetcherEvents(node, sinks.events);
  }
  settle(node);
}

function takeFetcherEvents(node: TestNode, events: readonly FetcherEvent[]): void {
  for (const event of events) {
    if (event.kind === 'call') node.call(event);
    if (event.kind === 'lower') node.lowers.push(event);
    if (event.kind === 'start') {
      const fetcher = node.fetchers.get(node.parts[event.followed.index]?.state?.leader ?? -1);
      if (fetcher !== undefined) startFollowed(fetcher, event.followed, event.offset, node.out, []);
    }
  }
}

function takeAltererEvents(node: TestNode, events: readonly AltererEvent[]): void {
  for (const event of events) {
    if (event.kind === 'call') node.call(event);
    else {
      const part = node.parts[event.index] as Part;
      const finished: Producer[] = [];
      takePartitionState(part.leader, node.env, event.state, finished);
      for (const producer of finished) producer.answered();
    }
  }
}

/** What a step owes to others. */
function settle(node: TestNode): void {
  if (node.isSettling) return;
  node.isSettling = true;
  const { env } = node;
  const brokers = node.view?.brokers ?? new Map<number, BrokerState>();
  node.alterer.brokerEpoch = brokers.get(node.id)?.epoch ?? -1;
  for (const fetcher of node.fetchers.values()) fetcher.brokerEpoch = node.alterer.brokerEpoch;
  for (const part of node.parts) {
    if (part.leader.epoch < 0) continue;
    const finished: Producer[] = [];
    advance(part.leader, finished, brokers, env.nowMs);
    for (const producer of finished) producer.answered();
    const isr = wantedChange(part.leader, brokers, env.nowMs);
    if (isr !== null && part.leader.inSync !== null) {
      propose(node.alterer, part.topicId, part.index, part.leader.inSync, isr);
    }
    checkLeader(part.leader);
  }
  const altered: AltererEvent[] = [];
  pumpAlterer(node.alterer, env, altered);
  takeAltererEvents(node, altered);
  lookAtParked(node);
  const said: FetcherEvent[] = [];
  for (const fetcher of node.fetchers.values()) pumpFetcher(fetcher, env, said);
  takeFetcherEvents(node, said);
  for (const effect of node.out.splice(0)) if (effect.kind !== 'say') node.disk.queue.push(effect as never);
  for (const { log } of node.parts) checkLog(log);
  node.isSettling = false;
}

/** Time has moved on. */
export function wakeNode(node: TestNode): void {
  const { env } = node;
  for (const part of node.parts) {
    const events: LogEvent[] = [];
    wakeLog(part.log, env, node.out, events);
    takeLogEvents(node, part, events);
    const { leader } = part;
    const finished: Producer[] = [];
    expire(leader, env.nowMs, finished);
    for (const producer of finished) producer.answered();
  }
  settle(node);
}

/** When the node has something to do by itself. */
export function nodeDeadlineMs(node: TestNode): number {
  let deadlineMs = Math.min(altererDeadlineMs(node.alterer), serverDeadlineMs(node.server));
  for (const fetcher of node.fetchers.values()) deadlineMs = Math.min(deadlineMs, fetcherDeadlineMs(fetcher));
  for (const { log, leader } of node.parts) {
    deadlineMs = Math.min(deadlineMs, logDeadlineMs(log), leaderDeadlineMs(leader));
  }
  return deadlineMs;
}
