/**
 * A coordinator on the log of a quorum: what a node hosts as its controller, and how a broker learns metadata.
 *
 * The member of the quorum (`core/raft`) says when it leads, what is committed and when a snapshot is due; the
 * coordinator is loaded, told, unloaded and asked for records accordingly. On a node that follows, or observes, it goes
 * on loading for ever: each committed batch becomes a 'changed', so that the node has the image of the moment, and a
 * node that comes to lead activates from there without reading anything again. One that loses the lead goes back to
 * what was committed. Nothing else is kept here but where a snapshot being written stands: its view is immutable, so
 * that the machine may go on meanwhile.
 *
 * The host's part:
 * - `openQuorum`, then `stepQuorum` with every answer of the disk whose owner is `quorum.raft.owner`; `wakeQuorum` at
 *   `quorumDeadlineMs`, asked anew after each of these calls; `checkQuorum` in tests and simulations.
 * - Event 'call': send `body` as a request of `apiKey` to `nodeId`, whose address is `endpointOf(quorum.raft, nodeId)`
 *   or, for -1 - i, the i-th of controller.quorum.bootstrap.servers; then hand in what came of it, exactly once and
 *   within about `timeoutMs`, by `takeQuorumAnswer`. 'refused' only where the port refused the connection. A call to a
 *   node that another call waits for goes out all the same, in order; a Fetch is a long poll and must not hold up
 *   others, so it wants a connection of its own. Fetch needs version 17 or newer, Vote version 2.
 * - A Fetch that names the topic id of `__cluster_metadata`, Vote, Begin- and EndQuorumEpoch and FetchSnapshot are
 *   handed in by `takeQuorumRequest`, with any number as waiter; 'reply' with that number answers it, once, at once or
 *   later. Responses hold views of files and of the log, to be sent without being changed.
 * - 'view' and 'changed' are for the node's image; 'active' and 'inactive' say whether requests are taken here
 *   (`submitToQuorum`); 'leader' says whom else to ask, -1 for nobody.
 * - What goes into recovery-point-offset-checkpoint for this log is `raftRecoveryPoint(quorum.raft)`, never more.
 * - `closeQuorum` hands the lead over by calls; the host sends them before it ends, and need not wait for the answers.
 */
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import type { RequestOf } from '../protocol/messages/index.ts';
import { failRaft } from '../raft/asks.ts';
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
  loadEntries,
  resumeLoad,
  type Submission,
  submit,
  tellView,
  unload,
} from './coordinator.ts';
import type { Machine, Place, ValueShapes } from './machine.ts';

/** Records of a snapshot that are made at a time. */
export const SNAPSHOT_RECORDS_MAX = 500;

/** A snapshot being written: of what, and which record is next. */
interface SnapshotJob<T extends ValueShapes> {
  readonly view: T['view'];
  from: number;
}

/** The state; `W` is whoever waits for a response. */
export interface Quorum<T extends ValueShapes, W> {
  readonly raft: raft.Raft;
  readonly coordinator: Coordinator<T, W>;
  /** Of the machine. */
  readonly config: T['config'];
  /** For the dice of the machine. */
  readonly seed: number;
  snapshot: SnapshotJob<T> | null;
}

/** What a quorum tells its node, in order. */
export type QuorumEvent<T extends ValueShapes, W> =
  | CoordinatorEvent<T, W>
  | raft.PeerEvent
  /** Who leads `epoch`, as far as this node knows; -1 for nobody. May come twice with the same. */
  | { readonly kind: 'leader'; readonly nodeId: number; readonly epoch: number }
  /** A clean stop is done. */
  | { readonly kind: 'closed' }
  /** The node cannot go on. `detail` is a sentence for the operator. */
  | { readonly kind: 'failed'; readonly detail: string };

/** A quorum that has not been opened. `seed`: an unsigned 32-bit integer, fresh at each start. */
export function createQuorum<T extends ValueShapes, W>(
  options: raft.RaftOptions,
  config: T['config'],
  seed: number,
): Quorum<T, W> {
  return { raft: raft.createRaft(options), coordinator: createCoordinator(), config, seed, snapshot: null };
}

/** Opens it: 'active', 'view' or 'failed' follows once it is known what is committed. */
export function openQuorum<T extends ValueShapes, W>(quorum: Quorum<T, W>, found: raft.RaftFound, out: Outbox): void {
  raft.openRaft(quorum.raft, found, out);
}

/** Takes an answer of the disk whose owner is `quorum.raft.owner`. */
export function stepQuorum<T extends ValueShapes, W>(
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
export function quorumDeadlineMs<T extends ValueShapes, W>(quorum: Quorum<T, W>): number {
  const snapshotMs = snapshotSource(quorum) === null ? Infinity : raft.snapshotDeadlineMs(quorum.raft);
  return Math.min(raft.raftDeadlineMs(quorum.raft), snapshotMs);
}

/** The deadline has come, or might have. */
export function wakeQuorum<T extends ValueShapes, W>(
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

/**
 * Hands a request to the machine: see `Submission`. With `events`, those who fetch the log have what it appended at
 * once; without, at the next wake, which is due then.
 */
export function submitToQuorum<T extends ValueShapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  request: T['request'],
  waiter: W,
  out: Outbox,
  events: QuorumEvent<T, W>[] | null = null,
): Submission<T> {
  const submission = submit(quorum.coordinator, machine, env, journalOf(quorum.raft, env, out), request, waiter);
  if (events !== null) {
    const raftEvents: raft.RaftEvent[] = [];
    raft.flushRaft(quorum.raft, env, out, raftEvents);
    settle(quorum, machine, env, raftEvents, out, events);
  }
  return submission;
}

/** Takes a request of another member, or of a client that fetches the log: a 'reply' to `waiter` follows. */
export function takeQuorumRequest<T extends ValueShapes, W, K extends raft.PeerKey>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  request: { readonly apiKey: K; readonly version: number; readonly body: RequestOf<K>; readonly waiter: number },
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const raftEvents: raft.RaftEvent[] = [];
  const { apiKey, version, body, waiter } = request;
  raft.takeRequest(quorum.raft, env, apiKey, version, body, waiter, out, raftEvents);
  settle(quorum, machine, env, raftEvents, out, events);
}

/** Takes the answer to an event 'call', or that there is none. */
export function takeQuorumAnswer<T extends ValueShapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  ticket: number,
  outcome: raft.CallOutcome,
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const raftEvents: raft.RaftEvent[] = [];
  raft.takeCallAnswer(quorum.raft, env, ticket, outcome, out, raftEvents);
  settle(quorum, machine, env, raftEvents, out, events);
}

/** Stops cleanly: whoever waits is told 'lost', then 'closed' follows. */
export function closeQuorum<T extends ValueShapes, W>(
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
export function checkQuorum<T extends ValueShapes, W>(quorum: Quorum<T, W>, machine: Machine<T>): void {
  raft.checkRaft(quorum.raft);
  checkCoordinator(quorum.coordinator, machine);
}

function journalOf(member: raft.Raft, env: Env, out: Outbox): Journal<Uint8Array> {
  return {
    end: member.log.end,
    highWatermark: member.highWatermark,
    room: raft.roomOf(member),
    batchBytesMax: raft.BATCH_BYTES_MAX,
    sizeBytes: valuesSizeBytes,
    entryBytes: lengthOf,
    append: (values): Place => {
      const { baseOffset, nextOffset } = raft.appendRecords(member, env, values, out);
      return { baseOffset, nextOffset, leaderEpoch: member.epoch, timestampMs: env.wallMs };
    },
  };
}

function lengthOf({ length }: Uint8Array): number {
  return length;
}

/** Acts on what the member says until it has nothing more to say. */
function settle<T extends ValueShapes, W>(
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

function takeEvent<T extends ValueShapes, W>(
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
      goOn(quorum, machine, env, raftEvents, out, events);
      break;
    case 'slice': {
      if (!raft.acceptSlice(quorum.raft, event)) break;
      const problem = takeSlice(quorum, machine, event, events);
      if (problem !== null) fail(quorum, problem, events);
      else goOn(quorum, machine, env, raftEvents, out, events);
      break;
    }
    case 'committed':
      if (coordinator.stage === 'active') commitTo(coordinator, quorum.raft.highWatermark, events);
      else goOn(quorum, machine, env, raftEvents, out, events);
      break;
    case 'resigned':
      // What is only being loaded is committed, whoever leads.
      if (coordinator.stage === 'active') unload(coordinator, events);
      goOn(quorum, machine, env, raftEvents, out, events);
      break;
    case 'snapshotLoaded':
      unload(coordinator, events);
      coordinator.committed = null;
      break;
    case 'leaderChanged':
      events.push({ kind: 'leader', nodeId: raft.knownLeader(quorum.raft), epoch: quorum.raft.epoch });
      break;
    case 'call':
    case 'reply':
      events.push(event);
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

function fail<T extends ValueShapes, W>(quorum: Quorum<T, W>, detail: string, events: QuorumEvent<T, W>[]): void {
  unload(quorum.coordinator, events);
  quorum.snapshot = null;
  failRaft(quorum.raft, detail, []);
  events.push({ kind: 'failed', detail });
}

/** Loads on, until all that is committed is loaded: then the machine is active where this node leads. */
function goOn<T extends ValueShapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  env: Env,
  raftEvents: raft.RaftEvent[],
  out: Outbox,
  events: QuorumEvent<T, W>[],
): void {
  const { coordinator } = quorum;
  const member = quorum.raft;
  if (member.stage !== 'open' || member.highWatermark < 0 || coordinator.stage === 'active') return;
  // While a snapshot takes the place of the log there is nothing to read.
  if (member.installing !== null) return;
  if (coordinator.stage === 'idle') {
    if (resumeLoad(coordinator, machine)) {
      raft.beginReadingAt(member, coordinator.loadedPlace.nextOffset, out);
    } else {
      beginLoad(coordinator, machine);
      raft.beginReading(member, out);
    }
  }
  if (member.reading?.isAsked === true) return;
  if (raft.isBehind(member)) {
    raft.readMore(member, env, out, raftEvents);
    return;
  }
  if (member.lead?.isConfirmed !== true) {
    const wasTold = coordinator.isTold;
    tellView(coordinator, machine, events);
    if (!wasTold && coordinator.isTold) raft.tidySnapshots(member, out);
    return;
  }
  const given = { config: quorum.config, nowMs: env.nowMs, seed: quorum.seed };
  const problem = activate(coordinator, machine, given, journalOf(member, env, out), events);
  if (problem !== null) {
    fail(quorum, problem, events);
    return;
  }
  raft.dropReading(member, out);
  raft.tidySnapshots(member, out);
}

/** A piece of what is committed. The sentence of a problem, or null. */
function takeSlice<T extends ValueShapes, W>(
  quorum: Quorum<T, W>,
  machine: Machine<T>,
  slice: raft.Slice,
  events: QuorumEvent<T, W>[],
): string | null {
  const { coordinator } = quorum;
  if (coordinator.stage !== 'loading') return null;
  const place = placeOf(slice);
  if (place === null) return null;
  // A slice is loaded as one: an image for each batch would cost much more where there are many.
  const values = slice.batches.flatMap((one) => one.values);
  return loadEntries(coordinator, machine, values, place, !slice.isWhole, events);
}

/** Where the last record of a slice stands: at the end of its snapshot, or in the log. Null if it holds none. */
function placeOf({ snapshot, batches }: raft.Slice): Place | null {
  if (snapshot === null) return batches[batches.length - 1] ?? null;
  const { endOffset, epoch, lastTimestampMs } = snapshot;
  return { baseOffset: endOffset - 1, nextOffset: endOffset, leaderEpoch: epoch, timestampMs: lastTimestampMs };
}

/**
 * What a snapshot may be begun of. Nothing before all was loaded once: two new snapshots would cut the log under the
 * very reader.
 */
function snapshotSource<T extends ValueShapes, W>({ coordinator }: Quorum<T, W>): Committed<T> | null {
  return coordinator.stage === 'active' || coordinator.isTold ? coordinator.committed : null;
}

function beginSnapshot<T extends ValueShapes, W>(
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

function handRecords<T extends ValueShapes, W>(quorum: Quorum<T, W>, machine: Machine<T>, out: Outbox): void {
  const { snapshot } = quorum;
  if (snapshot === null) return;
  const { records, next } = machine.snapshot(snapshot.view, snapshot.from, SNAPSHOT_RECORDS_MAX);
  snapshot.from = next;
  const values = records.map((record) => machine.encode(record));
  raft.writeSnapshot(quorum.raft, values, next < 0, out);
}
