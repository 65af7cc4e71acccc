/**
 * A coordinator on the log of a quorum: what a node hosts as its controller.
 *
 * The member of the quorum (`core/raft`) says when it leads, what is committed and when a snapshot is due; the
 * coordinator is loaded, told, unloaded and asked for records accordingly. Nothing else is kept here but where a
 * snapshot being written stands: its view is immutable, so that the machine may go on meanwhile.
 */
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { valuesSizeBytes } from '../raft/batches.ts';
import * as raft from '../raft/raft.ts';
import {
  activate,
  beginLoad,
  type Committed,
  type Coordinator,
  type CoordinatorEvent,
  checkCoordinator,
  commitTo,
  createCoordinator,
  type Journal,
  loadValues,
  type Submission,
  submit,
  unload,
} from './coordinator.ts';
import type { Machine, Place, Shapes } from './machine.ts';

/** Records of a snapshot that are made at a time. */
export const SNAPSHOT_RECORDS_MAX = 500;

/** A snapshot being written: of what, and which record is next. */
interface SnapshotJob<T extends Shapes> {
  readonly view: T['view'];
  from: number;
}

/** The state; `W` is whoever waits for a response. */
export interface Quorum<T extends Shapes, W> {
  readonly raft: raft.Raft;
  readonly coordinator: Coordinator<T, W>;
  /** Of the machine. */
  readonly config: T['config'];
  /** For the dice of the machine. */
  readonly seed: number;
  snapshot: SnapshotJob<T> | null;
}

/** What a quorum tells its node, in order. */
export type QuorumEvent<T extends Shapes, W> =
  | CoordinatorEvent<T, W>
  /** A clean stop is done. */
  | { readonly kind: 'closed' }
  /** The node cannot go on. `detail` is a sentence for the operator. */
  | { readonly kind: 'failed'; readonly detail: string };

/** A quorum that has not been opened. `seed`: an unsigned 32-bit integer, fresh at each start. */
export function createQuorum<T extends Shapes, W>(
  options: raft.RaftOptions,
  config: T['config'],
  seed: number,
): Quorum<T, W> {
  return { raft: raft.createRaft(options), coordinator: createCoordinator(), config, seed, snapshot: null };
}

/** Opens it: 'active' or 'failed' follows. */
export function openQuorum<T extends Shapes, W>(quorum: Quorum<T, W>, found: raft.RaftFound, out: Outbox): void {
  raft.openRaft(quorum.raft, found, out);
}

/** Takes an answer of the disk whose owner is `quorum.raft.owner`. */
export function stepQuorum<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  input: DiskInput,
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const raftEvents: raft.RaftEvent[] = [];
  raft.stepRaft(quorum.raft, env, input, out, raftEvents);
  settle(quorum, machine, env, raftEvents, out, events);
}

/** When it next has something to do by itself, in `env.nowMs`; Infinity when nothing waits. */
export function quorumDeadlineMs<T extends Shapes, W>(quorum: Quorum<T, W>): number {
  const snapshotMs = snapshotSource(quorum) === null ? Infinity : raft.snapshotDeadlineMs(quorum.raft);
  return Math.min(raft.raftDeadlineMs(quorum.raft), snapshotMs);
}

/** The deadline has come, or might have. */
export function wakeQuorum<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const raftEvents: raft.RaftEvent[] = [];
  raft.wakeRaft(quorum.raft, env, out, raftEvents);
  settle(quorum, machine, env, raftEvents, out, events);
}

/** Hands a request to the machine: see `Submission`. */
export function submitToQuorum<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  request: T['request'],
  waiter: W,
  out: Outbox,
): Submission<T> {
  return submit(quorum.coordinator, machine, env, journalOf(quorum.raft, env, out), request, waiter);
}

/** Stops cleanly: whoever waits is told 'lost', then 'closed' follows. */
export function closeQuorum<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  unload(quorum.coordinator, events);
  const raftEvents: raft.RaftEvent[] = [];
  raft.closeRaft(quorum.raft, env, out, raftEvents);
  settle(quorum, machine, env, raftEvents, out, events);
}

/** Throws AssertionError if an invariant is broken; true between any two steps. */
export function checkQuorum<T extends Shapes, W>(quorum: Quorum<T, W>, machine: Machine<T>): void {
  raft.checkRaft(quorum.raft);
  checkCoordinator(quorum.coordinator, machine);
}

function journalOf(member: raft.Raft, env: Env, out: Outbox): Journal {
  return {
    end: member.log.end,
    highWatermark: member.highWatermark,
    room: raft.roomOf(member),
    batchBytesMax: raft.BATCH_BYTES_MAX,
    sizeBytes: valuesSizeBytes,
    append: (values): Place => {
      const { baseOffset, nextOffset } = raft.appendRecords(member, env, values, out);
      return { baseOffset, nextOffset, leaderEpoch: member.epoch, timestampMs: env.wallMs };
    },
  };
}

/** Acts on what the member says until it has nothing more to say. */
function settle<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  raftEvents: raft.RaftEvent[],
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  // Taking an event may bring others, which are put behind it.
  for (let i = 0; i < raftEvents.length; i++) {
    takeEvent(quorum, machine, env, raftEvents[i] as raft.RaftEvent, raftEvents, out, events);
  }
  const committed = snapshotSource(quorum);
  if (committed !== null && raft.isSnapshotDue(quorum.raft, env)) beginSnapshot(quorum, env, committed, out);
}

function takeEvent<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  event: raft.RaftEvent,
  raftEvents: raft.RaftEvent[],
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const { coordinator } = quorum;
  switch (event.kind) {
    case 'leading':
      beginLoad(coordinator, machine);
      raft.beginReading(quorum.raft, out);
      raft.readMore(quorum.raft, env, out, raftEvents);
      break;
    case 'slice': {
      const problem = takeSlice(quorum, machine, env, event, raftEvents, out, events);
      if (problem !== null) fail(quorum, problem, events);
      break;
    }
    case 'committed':
      if (coordinator.stage === 'active') commitTo(coordinator, quorum.raft.highWatermark, events);
      break;
    case 'resigned':
      unload(coordinator, events);
      break;
    case 'snapshotWants':
      handRecords(quorum, machine, out);
      break;
    case 'snapshotEnded':
      quorum.snapshot = null;
      break;
    case 'closed':
      events.push(event);
      break;
    default:
      fail(quorum, event.detail, events);
  }
}

function fail<T extends Shapes, W>(quorum: Quorum<T, W>, detail: string, events: QuorumEvent<T, W>[]): void {
  unload(quorum.coordinator, events);
  quorum.snapshot = null;
  events.push({ kind: 'failed', detail });
}

/** A piece of what is committed. The sentence of a problem, or null. */
function takeSlice<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  slice: raft.Slice,
  raftEvents: raft.RaftEvent[],
  out: Outbox,
  events: QuorumEvent<T, W>[],
): string | null {
  const { coordinator, config, seed } = quorum;
  if (coordinator.stage !== 'loading') return null;
  const place = placeOf(slice);
  if (place !== null) {
    // Nobody looks in between, so a slice is loaded as one: an image for each batch would cost much more.
    const values = slice.batches.flatMap((one) => one.values);
    const problem = loadValues(coordinator, machine, values, place, !slice.isWhole);
    if (problem !== null) return problem;
  }
  if (slice.isEnd) {
    const given = { config, nowMs: env.nowMs, seed };
    const problem = activate(coordinator, machine, given, journalOf(quorum.raft, env, out), events);
    if (problem === null) raft.tidySnapshots(quorum.raft, out);
    return problem;
  }
  raft.readMore(quorum.raft, env, out, raftEvents);
  return null;
}

/** Where the last record of a slice stands: at the end of its snapshot, or in the log. Null if it holds none. */
function placeOf({ snapshot, batches }: raft.Slice): Place | null {
  if (snapshot === null) return batches[batches.length - 1] ?? null;
  const { endOffset, epoch, lastTimestampMs } = snapshot;
  return { baseOffset: endOffset - 1, nextOffset: endOffset, leaderEpoch: epoch, timestampMs: lastTimestampMs };
}

/**
 * What a snapshot may be begun of. Nothing while loading: two new snapshots would cut the log under the very reader.
 */
function snapshotSource<T extends Shapes, W>({ coordinator }: Quorum<T, W>): Committed<T> | null {
  return coordinator.stage === 'active' ? coordinator.committed : null;
}

function beginSnapshot<T extends Shapes, W>(
  quorum: Quorum<T, W>,
  env: Env,
  committed: Committed<T>,
  out: Outbox,
): void {
  const { nextOffset, leaderEpoch, timestampMs } = committed.place;
  const id = { endOffset: nextOffset, epoch: leaderEpoch };
  if (!raft.beginSnapshot(quorum.raft, env, id, timestampMs, out)) return;
  quorum.snapshot = { view: committed.view, from: 0 };
}

function handRecords<T extends Shapes, W>(quorum: Quorum<T, W>, machine: Machine<T>, out: Outbox): void {
  const { snapshot } = quorum;
  if (snapshot === null) return;
  const { records, next } = machine.snapshot(snapshot.view, snapshot.from, SNAPSHOT_RECORDS_MAX);
  snapshot.from = next;
  const values = records.map((record) => machine.encode(record));
  raft.writeSnapshot(quorum.raft, values, next < 0, out);
}
