/**
 * A whole quorum in one test: three to five voters and some observers, each a machine that tallies on its own test
 * disk, joined by the network of `network.ts`.
 *
 * Everything is one list of tasks in simulated time; one seed is one run. Disks carry out one effect at a time, in any
 * order that the contract allows, so that a crash falls between any two. A member that is paused does nothing and then
 * finds everything at once. Clocks of members are apart.
 */
import {
  checkQuorum,
  closeQuorum,
  createQuorum,
  openQuorum,
  type Quorum,
  quorumDeadlineMs,
  stepQuorum,
  submitToQuorum,
  wakeQuorum,
} from '../../core/coordination/quorum.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, nextOwner } from '../../core/lib/ids.ts';
import type { Env, Outbox } from '../../core/lib/world.ts';
import { bootstrapCheckpoint } from '../../core/raft/batches.ts';
import { BOOTSTRAP_ID, checkpointName } from '../../core/raft/names.ts';
import { isBehind, raftRecoveryPoint } from '../../core/raft/raft.ts';
import type { RaftTimes } from '../../core/raft/state.ts';
import { type Voter, voterOf } from '../../core/raft/voters.ts';
import { TALLY, type TallyShapes } from '../coordination/tally.ts';
import { carryOut, crashProcess, createTestDisk, losePower } from '../log/disk.ts';
import { CONFIG, FAKE_CODECS } from '../log/world.ts';
import type { Cluster, ClusterOptions, Member, TallyEvent, Task } from './cluster-state.ts';
import { call, frameOf } from './network.ts';

/** Where the metadata log of every member lies, each on its own disk. */
export const FOLDER = '/data/__cluster_metadata-0';
/** Of every cluster. */
export const CLUSTER_ID = 'KYVJKy3eQPSjRZYPl4C66w';
/** Where members listen at first. */
const PORT = 9093;

/** Times that members run with, ms. */
export const TIMES: RaftTimes = {
  electionTimeoutMs: 1000,
  fetchTimeoutMs: 1000,
  electionBackoffMaxMs: 1000,
  requestTimeoutMs: 2000,
};

/** A cluster whose members are formatted and down. */
export function createCluster(options: ClusterOptions = {}): Cluster {
  const dice = options.dice ?? (() => 0.5);
  const isDynamic = options.isDynamic ?? true;
  const count = options.voters ?? 3;
  const voters: Voter[] = [];
  for (let id = 1; id <= count; id++) {
    const endpoint = { name: 'CONTROLLER', host: `host-${id}`, port: PORT };
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
    onReply: () => {},
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

/** The id of the `swaps`-th disk that replaced the first one of a member. */
function directoryOf(id: number, swaps = 0): string {
  return `AAAAAAAAAAAAAAAAAA${LETTERS[swaps % LETTERS.length]}${'BCDEFGHIJ'[id]}AA`;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The machine dies, and comes back with an empty disk, which has another directory id. */
export function swapDisk(cluster: Cluster, member: Member): void {
  kill(cluster, member, 'power');
  member.disk = createTestDisk();
  const swaps = LETTERS.indexOf(member.directoryId[18] as string) + 1;
  member.directoryId = directoryOf(member.id, swaps);
  member.isVoter = false;
  member.isClean = false;
  member.recoveryPoint = 0;
}

function newMember(id: number, isVoter: boolean, skewMs: number): Member {
  const rest = { pausedUntilMs: 0, isDiskBusy: false, deadlineMs: Infinity, recoveryPoint: 0, life: 0 };
  const flags = { isClean: false, isStopping: false };
  const disk = createTestDisk();
  return {
    id,
    directoryId: directoryOf(id),
    isVoter,
    port: PORT,
    autoJoins: false,
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

/** Does the next thing that is due by then; false when there is none. */
export function step(cluster: Cluster, untilMs = Infinity): boolean {
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
  if (wakeMs > untilMs) {
    cluster.nowMs = Math.max(cluster.nowMs, untilMs);
    return false;
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
    if (!step(cluster, untilMs)) return isDone();
  }
  throw new Error('the cluster is too busy: something spins');
}

/** Lets time pass. */
export function run(cluster: Cluster, ms: number): void {
  runUntil(cluster, ms, () => false);
}

type Act = (quorum: Quorum<TallyShapes, number>, env: Env, out: Outbox, events: TallyEvent[]) => void;

/** Does something to a member that is up, and carries out what comes of it. */
export function act(cluster: Cluster, member: Member, what: Act): void {
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
      cluster.onReply(member, apiKey, waiting.body, response);
      waiting.end({ bytes: frameOf(apiKey, waiting.version, response) });
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

/** Starts a member that is down. */
export function start(cluster: Cluster, member: Member): void {
  member.disk.folders.add('/data');
  member.life += 1;
  // Which records are committed is learned anew: at first it may be fewer than were known before.
  member.seen = new Set();
  Object.assign(member.ids, createIds());
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
    mayObserve: cluster.isDynamic || !member.isVoter,
    listenerName: 'CONTROLLER',
    endpoints: [{ name: 'CONTROLLER', host: `host-${nodeId}`, port: member.port }],
    autoJoins: member.autoJoins,
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
    const isReading = isBehind(quorum.raft) || quorum.raft.reading?.isAsked === true;
    const isFollowing = quorum.coordinator.stage === 'active' || (quorum.coordinator.isTold && !isReading);
    return highWatermark === lead.log.end && log.end === lead.log.end && isFollowing;
  });
}
