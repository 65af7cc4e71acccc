/**
 * A whole quorum in one test: three to five voters and some observers, each a machine that tallies on its own test disk,
 * joined by a network that loses, delays, repeats, cuts one way and both, and resets.
 *
 * Everything is one list of tasks in simulated time; one seed is one run. Messages go through the wire formats. Disks
 * carry out one effect at a time, in any order that the contract allows, so that a crash falls between any two. A member
 * that is paused does nothing and then finds everything at once. Clocks of members are apart.
 */
import {
  checkQuorum,
  closeQuorum,
  createQuorum,
  openQuorum,
  type Quorum,
  type QuorumEvent,
  quorumDeadlineMs,
  stepQuorum,
  submitToQuorum,
  takeQuorumAnswer,
  takeQuorumRequest,
  wakeQuorum,
} from '../../core/coordination/quorum.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, nextOwner } from '../../core/lib/ids.ts';
import type { Env, Outbox } from '../../core/lib/world.ts';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import type { RequestInputOf } from '../../core/protocol/messages/index.ts';
import { bootstrapCheckpoint } from '../../core/raft/batches.ts';
import { BOOTSTRAP_ID, checkpointName } from '../../core/raft/names.ts';
import { type CallOutcome, type PeerEvent, type PeerKey, raftRecoveryPoint } from '../../core/raft/raft.ts';
import type { RaftTimes } from '../../core/raft/state.ts';
import { type Voter, voterOf } from '../../core/raft/voters.ts';
import { TALLY, type TallyShapes } from '../coordination/tally.ts';
import { carryOut, crashProcess, createTestDisk, type Dice, losePower, type TestDisk } from '../log/disk.ts';
import { CONFIG, FAKE_CODECS } from '../log/world.ts';

/** Where the metadata log of every member lies, each on its own disk. */
export const FOLDER = '/data/__cluster_metadata-0';
const CLUSTER_ID = 'KYVJKy3eQPSjRZYPl4C66w';

/** Times that members run with, ms. */
export const TIMES: RaftTimes = {
  electionTimeoutMs: 1000,
  fetchTimeoutMs: 1000,
  electionBackoffMaxMs: 1000,
  requestTimeoutMs: 2000,
};

/** What one member tells, as the test hears it. */
export type TallyEvent = QuorumEvent<TallyShapes, number>;

/** One node. */
export interface Member {
  readonly id: number;
  readonly directoryId: string;
  readonly isVoter: boolean;
  disk: TestDisk;
  /** Null while it is down. */
  quorum: Quorum<TallyShapes, number> | null;
  /** Counts its starts: what belongs to an earlier one is dropped. */
  life: number;
  readonly ids: { owner: number; ticket: number; file: number; connection: number };
  /** Its clock is ahead of the cluster's by this. */
  readonly skewMs: number;
  pausedUntilMs: number;
  isDiskBusy: boolean;
  deadlineMs: number;
  /** What its recovery-point-offset-checkpoint says, and whether it stopped cleanly. */
  recoveryPoint: number;
  isClean: boolean;
  isStopping: boolean;
  /** What is in the image that it follows, from 'view', 'active' and 'changed': in this life, and ever. */
  seen: Set<string>;
  readonly everSeen: Set<string>;
}

interface Task {
  atMs: number;
  readonly order: number;
  /** Waits while that member is paused; null for the network's own. */
  readonly member: Member | null;
  readonly run: () => void;
}

/** The network's manners. */
export interface Network {
  delayMs: number;
  lossPercent: number;
  repeatPercent: number;
  /** 'from>to': nothing gets through that way, and nobody is told. */
  readonly cuts: Set<string>;
}

/** The whole. */
export interface Cluster {
  readonly dice: Dice;
  readonly members: Member[];
  readonly network: Network;
  readonly voters: readonly Voter[];
  readonly snapshotBytes: number;
  readonly isDynamic: boolean;
  nowMs: number;
  tasks: Task[];
  order: number;
  diskMs: number;
  waiters: Map<
    number,
    { readonly member: Member; readonly life: number; readonly end: (outcome: Reply | 'closed') => void }
  >;
  nextWaiter: number;
  readonly reached: Set<string>;
  /** Hears every event of a member, and every step. */
  onEvent: (member: Member, event: TallyEvent) => void;
  onStep: (member: Member) => void;
  /** Calls that were sent, by API key, for stories. */
  readonly sent: { readonly from: number; readonly to: number; readonly apiKey: PeerKey; readonly body: unknown }[];
  /** Answers to calls, in the order in which they left, for stories. */
  readonly answered: { readonly by: number; readonly apiKey: PeerKey; readonly response: unknown }[];
}

interface Reply {
  readonly bytes: Uint8Array;
}

/** Options of a cluster. */
export interface ClusterOptions {
  readonly dice?: Dice;
  readonly voters?: number;
  readonly observers?: number;
  readonly snapshotBytes?: number;
  /** kraft.version 1, from a bootstrap snapshot that names the voters; else 0, from the configuration. */
  readonly isDynamic?: boolean;
  /** Clocks that differ. */
  readonly isSkewed?: boolean;
}

const VERSIONS = new Map<PeerKey, number>([
  [1, 18],
  [52, 2],
  [53, 1],
  [54, 1],
  [59, 1],
]);

/** A cluster whose members are formatted and down. */
export function createCluster(options: ClusterOptions = {}): Cluster {
  const dice = options.dice ?? (() => 0.5);
  const isDynamic = options.isDynamic ?? true;
  const count = options.voters ?? 3;
  const voters: Voter[] = [];
  for (let id = 1; id <= count; id++) {
    const endpoint = { name: 'CONTROLLER', host: `host-${id}`, port: 9093 };
    voters.push(voterOf(id, isDynamic ? directoryOf(id) : 'AAAAAAAAAAAAAAAAAAAAAA', [endpoint]));
  }
  const cluster: Cluster = {
    dice,
    members: [],
    network: { delayMs: 2, lossPercent: 0, repeatPercent: 0, cuts: new Set() },
    voters,
    snapshotBytes: options.snapshotBytes ?? Infinity,
    isDynamic,
    nowMs: 100_000,
    tasks: [],
    order: 0,
    diskMs: 1,
    waiters: new Map(),
    nextWaiter: 1,
    reached: new Set(),
    onEvent: () => {},
    onStep: () => {},
    sent: [],
    answered: [],
  };
  for (let id = 1; id <= count + (options.observers ?? 0); id++) {
    const skewMs = options.isSkewed === true ? Math.floor(dice() * 50_000) : 0;
    cluster.members.push(newMember(id, id <= count, skewMs));
  }
  if (isDynamic) for (const member of cluster.members) if (member.isVoter) format(cluster, member);
  return cluster;
}

function directoryOf(id: number): string {
  return `AAAAAAAAAAAAAAAAAAA${'BCDEFGHIJ'[id]}AA`.slice(0, 22);
}

function newMember(id: number, isVoter: boolean, skewMs: number): Member {
  const rest = { pausedUntilMs: 0, isDiskBusy: false, deadlineMs: Infinity, recoveryPoint: 0, life: 0 };
  const flags = { isClean: false, isStopping: false };
  const disk = createTestDisk();
  return {
    id,
    directoryId: directoryOf(id),
    isVoter,
    disk,
    quorum: null,
    ids: createIds(),
    skewMs,
    ...rest,
    ...flags,
    seen: new Set(),
    everSeen: new Set(),
  };
}

function format(cluster: Cluster, member: Member): void {
  const bytes = bootstrapCheckpoint(cluster.voters, [TALLY.encode({ name: 'first', amount: 1 })], 0);
  const inode = { bytes, synced: bytes };
  member.disk.folders.add(FOLDER);
  member.disk.names.set(`${FOLDER}/${checkpointName(BOOTSTRAP_ID)}`, inode);
  member.disk.durableNames.set(`${FOLDER}/${checkpointName(BOOTSTRAP_ID)}`, inode);
}

/** A task in so many ms, dropped when the member has crashed by then. */
export function later(cluster: Cluster, ms: number, member: Member | null, run: () => void): void {
  const life = member?.life ?? 0;
  const isCurrent = (): boolean => member === null || member.life === life;
  const task = {
    atMs: cluster.nowMs + Math.ceil(ms),
    order: cluster.order++,
    member,
    run: () => (isCurrent() ? run() : undefined),
  };
  cluster.tasks.push(task);
}

/** Does the next thing that is due; false when nothing will happen by itself any more. */
export function step(cluster: Cluster): boolean {
  let next: Task | null = null;
  let at = -1;
  for (const [i, task] of cluster.tasks.entries()) {
    const { member } = task;
    if (member !== null && member.pausedUntilMs > task.atMs) task.atMs = member.pausedUntilMs;
    if (next === null || task.atMs < next.atMs || (task.atMs === next.atMs && task.order < next.order)) {
      next = task;
      at = i;
    }
  }
  let waking: Member | null = null;
  let wakeMs = next?.atMs ?? Infinity;
  for (const member of cluster.members) {
    if (member.quorum === null) continue;
    const dueMs = Math.max(member.deadlineMs - member.skewMs, member.pausedUntilMs);
    if (dueMs < wakeMs) {
      wakeMs = dueMs;
      waking = member;
    }
  }
  if (waking !== null) {
    cluster.nowMs = Math.max(cluster.nowMs, wakeMs);
    act(cluster, waking, (quorum, env, out, events) => wakeQuorum(quorum, TALLY, env, out, events));
    return true;
  }
  if (next === null) return false;
  cluster.tasks.splice(at, 1);
  cluster.nowMs = Math.max(cluster.nowMs, next.atMs);
  next.run();
  return true;
}

/** Runs until a condition holds; false if it does not within so many ms. */
export function runUntil(cluster: Cluster, ms: number, isDone: () => boolean): boolean {
  const untilMs = cluster.nowMs + ms;
  for (let i = 0; i < 200_000; i++) {
    if (isDone()) return true;
    if (cluster.nowMs > untilMs || !step(cluster)) return false;
  }
  throw new Error('the cluster is too busy: something spins');
}

/** Lets time pass. */
export function run(cluster: Cluster, ms: number): void {
  runUntil(cluster, ms, () => false);
}

type Act = (quorum: Quorum<TallyShapes, number>, env: Env, out: Outbox, events: TallyEvent[]) => void;

function act(cluster: Cluster, member: Member, what: Act): void {
  const { quorum } = member;
  if (quorum === null) return;
  const out: Outbox = [];
  const events: TallyEvent[] = [];
  const reached = (mark: string): void => void cluster.reached.add(mark);
  const nowMs = cluster.nowMs + member.skewMs;
  const env = { nowMs, wallMs: 1_700_000_000_000 + nowMs, crc32c, codecs: FAKE_CODECS, reached };
  what(quorum, env, out, events);
  checkQuorum(quorum, TALLY);
  for (const effect of out) if (effect.kind !== 'say') member.disk.queue.push(effect as never);
  startDisk(cluster, member);
  for (const event of events) take(cluster, member, event);
  if (member.quorum === null) return;
  member.deadlineMs = quorumDeadlineMs(quorum);
  cluster.onStep(member);
}

function startDisk(cluster: Cluster, member: Member): void {
  if (member.isDiskBusy || member.disk.queue.length === 0) return;
  member.isDiskBusy = true;
  later(cluster, Math.floor(cluster.dice() * cluster.diskMs), member, () => {
    member.isDiskBusy = false;
    const input = carryOut(member.disk, cluster.dice);
    if (input === null) return;
    act(cluster, member, (quorum, env, out, events) => stepQuorum(quorum, TALLY, env, input, out, events));
  });
}

function take(cluster: Cluster, member: Member, event: TallyEvent): void {
  cluster.onEvent(member, event);
  switch (event.kind) {
    case 'call':
      call(cluster, member, event);
      break;
    case 'reply': {
      const { waiter, apiKey, response } = event;
      cluster.answered.push({ by: member.id, apiKey, response });
      const waiting = cluster.waiters.get(waiter);
      if (waiting === undefined) throw new Error('an answer that nobody waits for');
      cluster.waiters.delete(waiter);
      waiting.end({ bytes: joined(encodeResponse(apiKey, VERSIONS.get(apiKey) as number, 1, response as never)) });
      break;
    }
    case 'view':
    case 'active':
      for (const name of member.seen) {
        if (!event.view.has(name)) throw new Error(`member ${member.id} has seen ${name}, and sees it no more`);
      }
      member.seen = new Set(event.view.keys());
      for (const name of member.seen) member.everSeen.add(name);
      break;
    case 'changed':
      for (const name of event.change) {
        member.seen.add(name);
        member.everSeen.add(name);
      }
      break;
    case 'closed':
      member.recoveryPoint = member.quorum === null ? 0 : raftRecoveryPoint(member.quorum.raft);
      member.isClean = true;
      kill(cluster, member, 'process');
      break;
    case 'failed':
      throw new Error(`member ${member.id} failed: ${event.detail}`);
    default:
      break;
  }
}

/** One frame without its length. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes.subarray(4);
}

function isCut(cluster: Cluster, from: Member, to: Member): boolean {
  return cluster.network.cuts.has(`${from.id}>${to.id}`);
}

function delayMs(cluster: Cluster): number {
  const most = cluster.network.delayMs;
  // A long tail: one in thirty takes twenty times as long.
  const factor = cluster.dice() < 0.03 ? 20 : 1;
  return Math.ceil(cluster.dice() * most * factor);
}

function isLost(cluster: Cluster): boolean {
  return cluster.dice() * 100 < cluster.network.lossPercent;
}

function call(cluster: Cluster, from: Member, event: Extract<PeerEvent, { readonly kind: 'call' }>): void {
  const { ticket, nodeId, apiKey, timeoutMs } = event;
  const to = cluster.members[nodeId < 0 ? -1 - nodeId : nodeId - 1] as Member;
  cluster.sent.push({ from: from.id, to: to.id, apiKey, body: event.body });
  const version = VERSIONS.get(apiKey) as number;
  const frame = joined(encodeRequest(apiKey, version, 1, null, event.body as RequestInputOf<PeerKey>));
  let isOver = false;
  const { life } = from;
  const finish = (outcome: CallOutcome): void => {
    if (isOver || from.life !== life) return;
    isOver = true;
    act(cluster, from, (quorum, env, out, events) =>
      takeQuorumAnswer(quorum, TALLY, env, ticket, outcome, out, events),
    );
  };
  later(cluster, timeoutMs, from, () => finish({ failure: 'timedOut' }));
  if (isLost(cluster)) {
    if (cluster.dice() < 0.5) later(cluster, delayMs(cluster), from, () => finish({ failure: 'closed' }));
    return;
  }
  if (isCut(cluster, from, to)) return;
  const end = (outcome: Reply | 'closed'): void => {
    if (isCut(cluster, to, from) || isLost(cluster)) return;
    later(cluster, delayMs(cluster), from, () => {
      if (outcome === 'closed') finish({ failure: 'closed' });
      else finish({ response: decodeResponse(apiKey, version, outcome.bytes).body as never });
    });
  };
  const arrive = (isFirst: boolean): void => {
    if (isCut(cluster, from, to)) return;
    if (to.quorum === null) {
      if (isFirst && !isCut(cluster, to, from)) {
        later(cluster, delayMs(cluster), from, () => finish({ failure: 'refused' }));
      }
      return;
    }
    const waiter = cluster.nextWaiter++;
    cluster.waiters.set(waiter, { member: to, life: to.life, end: isFirst ? end : () => {} });
    const { body } = decodeRequest(apiKey, version, frame);
    const request = { apiKey, version, body: body as never, waiter };
    act(cluster, to, (quorum, env, out, events) => takeQuorumRequest(quorum, TALLY, env, request, out, events));
  };
  deliver(cluster, to, delayMs(cluster), () => arrive(true));
  if (cluster.dice() * 100 < cluster.network.repeatPercent) {
    deliver(cluster, to, Math.floor(cluster.dice() * 3000), () => arrive(false));
  }
}

/** What is on its way to a member reaches whatever life it has by then, and waits while it is paused. */
function deliver(cluster: Cluster, to: Member, ms: number, run: () => void): void {
  later(cluster, ms, null, () => {
    if (to.pausedUntilMs > cluster.nowMs) deliver(cluster, to, to.pausedUntilMs - cluster.nowMs, run);
    else run();
  });
}

/** Starts a member that is down. */
export function start(cluster: Cluster, member: Member): void {
  const { folders } = member.disk;
  folders.add('/data');
  member.life += 1;
  // Which records are committed is learned anew: at first it may be fewer than were known before.
  member.seen = new Set();
  const ids = createIds();
  Object.assign(member.ids, ids);
  const config = {
    log: { ...CONFIG, segmentBytes: 8192 },
    snapshotBytes: cluster.snapshotBytes,
    snapshotIntervalMs: 3_600_000,
  };
  const { id: nodeId, directoryId } = member;
  const place = { owner: nextOwner(member.ids), ids: member.ids, folder: '/data', nodeId, directoryId };
  const staticVoters = cluster.isDynamic ? [] : cluster.voters;
  const peers = {
    clusterId: CLUSTER_ID,
    seed: Math.floor(cluster.dice() * 2 ** 32),
    times: TIMES,
    bootstrapCount: member.isVoter ? 0 : cluster.voters.length,
    mayObserve: !member.isVoter,
  };
  const quorum = createQuorum<TallyShapes, number>({ ...place, staticVoters, config, peers }, null, 7);
  member.quorum = quorum;
  member.pausedUntilMs = 0;
  const found = { clean: member.isClean, recoveryPoint: member.recoveryPoint };
  member.isClean = false;
  act(cluster, member, (_quorum, _env, out) => openQuorum(quorum, found, out));
}

/** Starts everyone that is down. */
export function startAll(cluster: Cluster): void {
  for (const member of cluster.members) if (member.quorum === null) start(cluster, member);
}

/** The process, or the machine, dies: its connections end, its disk forgets what it may. */
export function kill(cluster: Cluster, member: Member, how: 'process' | 'power'): void {
  member.life += 1;
  member.quorum = null;
  member.isDiskBusy = false;
  member.isStopping = false;
  member.pausedUntilMs = 0;
  if (how === 'power') losePower(member.disk, cluster.dice);
  else crashProcess(member.disk);
  for (const [waiter, waiting] of cluster.waiters) {
    if (waiting.member !== member) continue;
    cluster.waiters.delete(waiter);
    waiting.end('closed');
  }
}

/** Stops a member cleanly; it is down once its disk has done all. */
export function stop(cluster: Cluster, member: Member): void {
  member.isStopping = true;
  act(cluster, member, (quorum, env, out, events) => closeQuorum(quorum, TALLY, env, out, events));
}

/** The node's checkpoint of recovery points is written now and then. */
export function checkpoint(member: Member): void {
  if (member.quorum !== null) member.recoveryPoint = raftRecoveryPoint(member.quorum.raft);
}

/** Hands a request to a member; the waiter's number is the name that it counts. */
export function submit(cluster: Cluster, member: Member, waiter: number, amounts: readonly number[]): string {
  let kind = 'refused';
  act(cluster, member, (quorum, env, out, events) => {
    const request = { name: String(waiter), amounts, isAtomic: true };
    const submission = submitToQuorum(quorum, TALLY, env, request, waiter, out, events);
    kind = submission.kind;
  });
  return kind;
}

/** The member that leads the newest epoch and is confirmed, if any is up. */
export function leaderOf(cluster: Cluster): Member | null {
  let best: Member | null = null;
  for (const member of cluster.members) {
    const raft = member.quorum?.raft;
    if (raft?.lead?.isConfirmed !== true) continue;
    if (best === null || raft.epoch > (best.quorum?.raft.epoch ?? -1)) best = member;
  }
  return best;
}

/** Cuts the way from one set of members to another, one way. */
export function cut(cluster: Cluster, from: readonly number[], to: readonly number[]): void {
  for (const a of from) for (const b of to) if (a !== b) cluster.network.cuts.add(`${a}>${b}`);
}

/** All ways are open, nothing is lost, everyone is up and awake. */
export function heal(cluster: Cluster): void {
  cluster.network.cuts.clear();
  cluster.network.lossPercent = 0;
  cluster.network.repeatPercent = 0;
  cluster.network.delayMs = 3;
  cluster.diskMs = 2;
  for (const member of cluster.members) {
    member.pausedUntilMs = 0;
    member.disk.capacityBytes = Infinity;
  }
  startAll(cluster);
}

/** Every member holds and follows all that its leader has. */
export function isConverged(cluster: Cluster): boolean {
  const leader = leaderOf(cluster);
  const lead = leader?.quorum?.raft;
  if (lead === undefined || leader?.quorum?.coordinator.stage !== 'active') return false;
  return cluster.members.every(({ quorum }) => {
    if (quorum === null || quorum.raft.epoch !== lead.epoch) return false;
    const { highWatermark, log } = quorum.raft;
    const isFollowing = quorum.coordinator.stage === 'active' || quorum.coordinator.isTold;
    return highWatermark === lead.log.end && log.end === lead.log.end && isFollowing;
  });
}
