/** A quorum of one that runs the tally on a test disk: what the tests of coordination and of the quorum drive. */

import type { Submission } from '../../core/coordination/coordinator.ts';
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
  wakeQuorum,
} from '../../core/coordination/quorum.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, nextOwner } from '../../core/lib/ids.ts';
import type { Effect, Env, Outbox } from '../../core/lib/world.ts';
import { bootstrapCheckpoint } from '../../core/raft/batches.ts';
import { BOOTSTRAP_ID, checkpointName } from '../../core/raft/names.ts';
import { raftRecoveryPoint } from '../../core/raft/raft.ts';
import { type Voter, voterOf } from '../../core/raft/voters.ts';
import { carryOut, crashProcess, createTestDisk, type Dice, losePower, type TestDisk } from '../log/disk.ts';
import { CONFIG, FAKE_CODECS } from '../log/world.ts';
import { type AddRequest, TALLY, type TallyShapes } from './tally.ts';

/** The folder of the metadata log. */
export const FOLDER = '/data/__cluster_metadata-0';
/** The directory of the node. */
export const DIRECTORY = 'KYVJKy3eQPSjRZYPl4C66w';
/** The node as a voter. */
export const SELF: Voter = voterOf(1, DIRECTORY, [{ name: 'CONTROLLER', host: '127.0.0.1', port: 9093 }]);

/** Everything that one quorum's test holds. */
export interface QuorumWorld {
  disk: TestDisk;
  quorum: Quorum<TallyShapes, number>;
  staticVoters: readonly Voter[];
  snapshotBytes: number;
  out: Outbox;
  events: QuorumEvent<TallyShapes, number>[];
  said: Effect[];
  reached: Set<string>;
  nowMs: number;
  env: Env;
  dice: Dice;
}

/** Options of a world. */
export interface WorldOptions {
  readonly dice?: Dice;
  readonly snapshotBytes?: number;
  readonly staticVoters?: readonly Voter[];
}

/** A world whose quorum has not been opened, in an empty directory; see `format`. */
export function createQuorumWorld(options: WorldOptions = {}): QuorumWorld {
  const reached = new Set<string>();
  const env = {
    nowMs: 1000,
    wallMs: 1_700_000_000_000,
    crc32c,
    codecs: FAKE_CODECS,
    reached: (m: string) => reached.add(m),
  };
  const world: QuorumWorld = {
    disk: createTestDisk(),
    quorum: undefined as unknown as QuorumWorld['quorum'],
    staticVoters: options.staticVoters ?? [],
    snapshotBytes: options.snapshotBytes ?? Infinity,
    out: [],
    events: [],
    said: [],
    reached,
    nowMs: 1000,
    env: env as Env,
    dice: options.dice ?? (() => 0),
  };
  Object.defineProperty(env, 'nowMs', { get: () => world.nowMs });
  world.quorum = newQuorum(world);
  return world;
}

function newQuorum(world: QuorumWorld): QuorumWorld['quorum'] {
  const ids = createIds();
  const { staticVoters, snapshotBytes } = world;
  const config = { log: { ...CONFIG, segmentBytes: 100_000 }, snapshotBytes, snapshotIntervalMs: 3_600_000 };
  const place = { owner: nextOwner(ids), ids, folder: '/data', nodeId: 1, directoryId: DIRECTORY };
  return createQuorum({ ...place, staticVoters, config }, null, 7);
}

/** Puts a file in place, durably. */
export function putFile(world: QuorumWorld, name: string, bytes: Uint8Array): void {
  world.disk.folders.add(FOLDER);
  const inode = { bytes: bytes.slice(), synced: bytes.slice() };
  world.disk.names.set(`${FOLDER}/${name}`, inode);
  world.disk.durableNames.set(`${FOLDER}/${name}`, inode);
}

/** The names in the folder, sorted. */
export function namesIn(world: QuorumWorld): string[] {
  return [...world.disk.names.keys()].map((path) => path.slice(FOLDER.length + 1)).sort();
}

/** The bytes of a file, as a process that comes next would read them. */
export function fileOf(world: QuorumWorld, name: string): Uint8Array {
  const inode = world.disk.names.get(`${FOLDER}/${name}`);
  if (inode === undefined) throw new Error(`no file ${name}`);
  return inode.bytes;
}

/** Makes the directory that of a voter, as the formatter does. */
export function format(world: QuorumWorld, voters: readonly Voter[] = [SELF]): QuorumWorld {
  const values = [TALLY.encode({ name: 'first', amount: 1 })];
  putFile(world, checkpointName(BOOTSTRAP_ID), bootstrapCheckpoint(voters, values, world.env.wallMs));
  return world;
}

/** Hands what was asked for to the disk. A quorum of one knows who leads: that is not told to tests. */
export function post(world: QuorumWorld): void {
  world.events = world.events.filter(({ kind }) => kind !== 'leader');
  for (const effect of world.out) {
    if (effect.kind === 'say') world.said.push(effect);
    else world.disk.queue.push(effect as never);
  }
  world.out.length = 0;
}

/** Carries out one effect and gives the answer to the quorum; false when nothing waits. */
export function stepOnce(world: QuorumWorld): boolean {
  post(world);
  const input = carryOut(world.disk, world.dice);
  if (input === null) return false;
  stepQuorum(world.quorum, TALLY, world.env, input, world.out, world.events);
  checkQuorum(world.quorum, TALLY);
  post(world);
  return true;
}

/** Carries out everything that waits. */
export function settleAll(world: QuorumWorld): void {
  for (let i = 0; i < 100_000; i++) if (!stepOnce(world)) return;
  throw new Error('the quorum does not come to rest');
}

/** Lets time pass to the next deadline, within reason. */
export function wake(world: QuorumWorld): void {
  const deadlineMs = quorumDeadlineMs(world.quorum);
  if (deadlineMs > world.nowMs + 100_000) return;
  world.nowMs = Math.max(world.nowMs, deadlineMs);
  wakeNow(world);
}

/** Wakes the quorum without letting time pass. */
export function wakeNow(world: QuorumWorld): void {
  wakeQuorum(world.quorum, TALLY, world.env, world.out, world.events);
  checkQuorum(world.quorum, TALLY);
  post(world);
}

/** Opens the quorum and does not wait. */
export function beginOpen(world: QuorumWorld, clean = false, recoveryPoint = 0): void {
  openQuorum(world.quorum, { clean, recoveryPoint }, world.out);
  post(world);
}

/** Opens the quorum and waits: the kinds of the events. */
export function open(world: QuorumWorld, clean = false, recoveryPoint = 0): string[] {
  beginOpen(world, clean, recoveryPoint);
  settleAll(world);
  return world.events.splice(0).map((event) => (event.kind === 'failed' ? event.detail : event.kind));
}

/** Hands in a request and does not wait. */
export function submit(world: QuorumWorld, request: Partial<AddRequest>, waiter = 0): Submission<TallyShapes> {
  const whole = { name: 'a', amounts: [1], isAtomic: true, ...request };
  const submission = submitToQuorum(world.quorum, TALLY, world.env, whole, waiter, world.out);
  checkQuorum(world.quorum, TALLY);
  post(world);
  return submission;
}

/** Hands in a request and waits for its response. */
export function ask(world: QuorumWorld, request: Partial<AddRequest>): number {
  const submission = submit(world, request, -1);
  if (submission.kind === 'answered') return submission.response;
  if (submission.kind === 'refused') throw new Error(submission.reason);
  settleAll(world);
  for (const event of world.events.splice(0)) {
    if (event.kind === 'answered' && event.waiter === -1) return event.response;
  }
  throw new Error('no answer');
}

/** A new life after the process or the machine died. */
export function restart(world: QuorumWorld, how: 'process' | 'power'): void {
  if (how === 'power') losePower(world.disk, world.dice);
  else crashProcess(world.disk);
  world.out.length = 0;
  world.events.length = 0;
  world.quorum = newQuorum(world);
}

/** Stops cleanly and begins a new life. The recovery point that a node would have written down. */
export function stopCleanly(world: QuorumWorld): number {
  closeQuorum(world.quorum, TALLY, world.env, world.out, world.events);
  post(world);
  settleAll(world);
  if (world.events.at(-1)?.kind !== 'closed') throw new Error('not closed');
  const recoveryPoint = raftRecoveryPoint(world.quorum.raft);
  restart(world, 'power');
  return recoveryPoint;
}

/** The counters as they are live. */
export function countersOf(world: QuorumWorld): ReadonlyMap<string, number> {
  const { state } = world.quorum.coordinator;
  if (state === null) throw new Error('not active');
  return state.counters;
}
