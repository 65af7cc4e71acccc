/**
 * Runs one machine on one log: loads it, hands it requests, appends what it decides, and lets nobody hear of anything
 * that is not committed.
 *
 * Theory of operation. On a node that does not lead, the machine only loads what is committed, batch after batch, and
 * whoever follows is told. On the node that leads it becomes active from there. A request is handled on the live state;
 * its records are appended and replayed at once, in log order, so that the next request sees them. The response is
 * parked until the high watermark covers them; a response without records waits for all that was appended before it,
 * because it may have seen it. When the lead is lost or an append fails, the live state has run ahead of the truth: it
 * is dropped with all that waits, and loading goes on from what is committed. Refusals come before the append, never
 * after.
 *
 * Invariants: `pending` and `parked` ascend by offset; everything in them is above the high watermark that was last
 * told; `appendedTo` is the offset behind all that the live state has seen. A crash loses all of this.
 */
import { assert } from '../lib/assert.ts';
import { createQueue, dequeue, enqueue, peek, type Queue, sift } from '../lib/queue.ts';
import type { Env } from '../lib/world.ts';
import type { ActivateContext, Decision, Machine, Place, Shapes } from './machine.ts';

/** Responses that wait to be committed, at most; one more request is refused. */
export const PARKED_MAX = 10_000;
/** Records of one batch, at most, where a decision may be split. */
export const BATCH_RECORDS_MAX = 2_000;
/** A decision that may be split goes on in another batch behind so many bytes of entries. */
const BATCH_BYTES_SOFT = 1024 * 1024;

/** The log under a coordinator, lent with every call; `E` is a record as it stands in the log. */
export interface Journal<E> {
  /** The offset that the next record gets. */
  readonly end: number;
  /** Records below it are committed. */
  readonly highWatermark: number;
  /** How many more batches it takes before the disk must answer. */
  readonly room: number;
  /** The most bytes that one batch may have, as `sizeBytes` counts them. */
  readonly batchBytesMax: number;
  readonly sizeBytes: (entries: readonly E[]) => number;
  /** Bytes of one entry, without what a batch puts around it. */
  readonly entryBytes: (entry: E) => number;
  /** Appends one batch; only with room left, and while this node leads. */
  readonly append: (entries: readonly E[]) => Place;
}

interface Pending<T extends Shapes> {
  readonly place: Place;
  readonly change: T['change'];
  readonly view: T['view'];
}

interface Parked<T extends Shapes, W> {
  readonly nextOffset: number;
  readonly waiter: W;
  readonly response: T['response'];
}

/** What is committed, as far as records go. */
export interface Committed<T extends Shapes> {
  readonly view: T['view'];
  /** Of the last record that it holds. */
  readonly place: Place;
}

/** The state; `W` is whoever waits for a response. */
export interface Coordinator<T extends Shapes, W> {
  stage: 'idle' | 'loading' | 'active';
  /** While loading: what is built, and whether any record was seen. */
  loading: T['loading'] | null;
  isNew: boolean;
  bootstrap: T['record'][];
  loadedPlace: Place;
  /** While loading: all that was committed was loaded once, and `committed` was told; each change is told since. */
  isTold: boolean;
  /** While active. */
  state: T['state'] | null;
  /** What is committed; null before the first load. */
  committed: Committed<T> | null;
  appendedTo: number;
  readonly pending: Queue<Pending<T>>;
  readonly parked: Queue<Parked<T, W>>;
}

/** What a coordinator tells its owner, in order. */
export type CoordinatorEvent<T extends Shapes, W> =
  /** The machine is loaded and takes requests; what is committed is `view`. */
  | { readonly kind: 'active'; readonly view: T['view'] }
  /** The machine only follows here, and this is what is committed; 'changed' tells what becomes of it. */
  | { readonly kind: 'view'; readonly view: T['view']; readonly place: Place }
  /** A batch is committed, or a few at once. Comes before the answers that depend on it. */
  | { readonly kind: 'changed'; readonly change: T['change']; readonly place: Place }
  /** `nextOffset`: behind the last record that the response may have seen or made. */
  | { readonly kind: 'answered'; readonly waiter: W; readonly response: T['response']; readonly nextOffset: number }
  /** The machine takes no requests for the time being. */
  | { readonly kind: 'inactive' }
  /** The request may have been carried out or not: nobody knows yet. */
  | { readonly kind: 'lost'; readonly waiter: W };

/** Takes events; an array that may hold others besides will do. */
export interface EventSink<T extends Shapes, W> {
  push(event: CoordinatorEvent<T, W>): number;
}

/** What becomes of a request. */
export type Submission<T extends Shapes> =
  /** Nothing that it saw or did is uncommitted. */
  | { readonly kind: 'answered'; readonly response: T['response'] }
  /** An event 'answered', with this response, or 'lost' follows. */
  | { readonly kind: 'parked'; readonly response: T['response'] }
  /** Nothing was done. inactive: not leading or still loading. busy: too much waits. tooLarge: an atomic decision. */
  | { readonly kind: 'refused'; readonly reason: 'inactive' | 'busy' | 'tooLarge' };

/** Before the first record. */
export const NOWHERE: Place = { baseOffset: -1, nextOffset: 0, leaderEpoch: -1, timestampMs: -1 };

/** A coordinator that has not been loaded. */
export function createCoordinator<T extends Shapes, W>(): Coordinator<T, W> {
  return {
    stage: 'idle',
    loading: null,
    isNew: true,
    bootstrap: [],
    loadedPlace: NOWHERE,
    isTold: false,
    state: null,
    committed: null,
    appendedTo: 0,
    pending: createQueue(),
    parked: createQueue(),
  };
}

/** Begins to load: `loadEntries` follows for all that is committed, then `activate`. */
export function beginLoad<T extends Shapes, W>(coordinator: Coordinator<T, W>, machine: Machine<T>): void {
  assert(coordinator.stage === 'idle', 'a coordinator is loaded from nothing');
  coordinator.stage = 'loading';
  coordinator.loading = machine.beginLoad();
  coordinator.isNew = true;
  coordinator.bootstrap = [];
  coordinator.loadedPlace = NOWHERE;
  coordinator.isTold = false;
  coordinator.committed = null;
}

/**
 * Begins to load behind what is known to be committed, which was told already. False if nothing is known that can be
 * gone on from: `beginLoad` then.
 */
export function resumeLoad<T extends Shapes, W>(coordinator: Coordinator<T, W>, machine: Machine<T>): boolean {
  assert(coordinator.stage === 'idle', 'a coordinator is loaded from nothing');
  const { committed } = coordinator;
  if (committed === null || committed.place.nextOffset === 0) return false;
  coordinator.stage = 'loading';
  coordinator.loading = machine.resume(committed.view);
  coordinator.isNew = false;
  coordinator.bootstrap = [];
  coordinator.loadedPlace = committed.place;
  coordinator.isTold = true;
  return true;
}

/**
 * Takes the entries of committed batches, of which the last stands at `place`, or of a piece of a snapshot, which
 * `isPartial` says is not its last. A snapshot at offset 0 is what a new log is to begin with. A sentence if they
 * cannot be read or do not fit.
 */
export function loadEntries<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  entries: readonly T['entry'][],
  place: Place,
  isPartial: boolean,
  events: EventSink<T, W>,
): string | null {
  assert(coordinator.stage === 'loading', 'entries are loaded while loading');
  if (place.nextOffset === 0) {
    const records = decodeAll(machine, entries);
    if (typeof records === 'string') return records;
    coordinator.bootstrap.push(...records);
    return null;
  }
  coordinator.isNew = false;
  coordinator.loadedPlace = place;
  const fault: Fault = { sentence: null };
  const changes = machine.load(coordinator.loading, decodeEach(machine, entries, fault), place, isPartial);
  if (fault.sentence !== null) return fault.sentence;
  if (typeof changes === 'string') return changes;
  const view = isPartial ? null : machine.loaded(coordinator.loading);
  if (view !== null) coordinator.committed = { view, place };
  if (coordinator.isTold) for (const change of changes) events.push({ kind: 'changed', change, place });
  return null;
}

/** All that is committed by now is loaded, and another node leads: whoever follows here is told, once. */
export function tellView<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  events: EventSink<T, W>,
): void {
  assert(coordinator.stage === 'loading', 'what is loaded is told while loading');
  if (coordinator.isTold) return;
  const view = machine.loaded(coordinator.loading);
  if (view === null) return;
  coordinator.isTold = true;
  coordinator.committed = { view, place: coordinator.loadedPlace };
  events.push({ kind: 'view', view, place: coordinator.loadedPlace });
}

/** Why entries were not read to their end. */
interface Fault {
  sentence: string | null;
}

/** The records in entries, each read when it is asked for: thousands at once would all have to be kept meanwhile. */
function* decodeEach<T extends Shapes>(
  machine: Machine<T>,
  entries: readonly T['entry'][],
  fault: Fault,
): IterableIterator<T['record']> {
  for (const entry of entries) {
    const decoded = machine.decode(entry);
    if ('problem' in decoded) {
      fault.sentence = decoded.problem;
      return;
    }
    yield decoded.record;
  }
}

/** The records in entries; a sentence if one cannot be read. */
export function decodeAll<T extends Shapes>(
  machine: Machine<T>,
  entries: readonly T['entry'][],
): T['record'][] | string {
  const fault: Fault = { sentence: null };
  const records = [...decodeEach(machine, entries, fault)];
  return fault.sentence ?? records;
}

/** All that is committed is loaded: the machine takes requests. A sentence if this node cannot serve it. */
export function activate<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  given: { readonly config: T['config']; readonly nowMs: number; readonly seed: number },
  journal: Journal<T['entry']>,
  events: EventSink<T, W>,
): string | null {
  assert(coordinator.stage === 'loading', 'a coordinator is loaded before it is active');
  const { isNew, bootstrap, loading } = coordinator;
  const isWhole = machine.loaded(loading) !== null;
  const context: ActivateContext<T> = { ...given, isNew, bootstrap };
  const activation = machine.activate(loading, context);
  if (typeof activation === 'string') return activation;
  coordinator.loading = null;
  coordinator.bootstrap = [];
  coordinator.stage = 'active';
  coordinator.state = activation.state;
  coordinator.appendedTo = journal.highWatermark;
  const view = machine.view(activation.state);
  // In the middle of what makes sense only together there is nothing to go on from: what was whole before is kept.
  if (isWhole) coordinator.committed = { view, place: coordinator.loadedPlace };
  events.push({ kind: 'active', view });
  if (activation.records.length > 0) append(coordinator, machine, activation.records, journal);
  return null;
}

/** Hands a request to the machine and appends what it decides. */
export function submit<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  env: Env,
  journal: Journal<T['entry']>,
  request: T['request'],
  waiter: W,
): Submission<T> {
  if (coordinator.stage !== 'active') return { kind: 'refused', reason: 'inactive' };
  if (coordinator.parked.size >= PARKED_MAX) return { kind: 'refused', reason: 'busy' };
  const context = { nowMs: env.nowMs, nextOffset: journal.end };
  const decision: Decision<T> = machine.handle(coordinator.state, context, request);
  const { records, response } = decision;
  const batches = split(machine, decision, journal);
  if (batches === null) return { kind: 'refused', reason: 'tooLarge' };
  if (batches.length > journal.room) return { kind: 'refused', reason: 'busy' };
  let from = 0;
  for (const entries of batches) {
    appendEntries(coordinator, machine, records.slice(from, from + entries.length), entries, journal);
    from += entries.length;
  }
  if (coordinator.appendedTo <= journal.highWatermark) return { kind: 'answered', response };
  enqueue(coordinator.parked, { nextOffset: coordinator.appendedTo, waiter, response });
  return { kind: 'parked', response };
}

/** The entries of a decision, batch by batch; null if it does not fit. */
function split<T extends Shapes>(
  machine: Machine<T>,
  { records, isAtomic }: Decision<T>,
  journal: Journal<T['entry']>,
): T['entry'][][] | null {
  const batches: T['entry'][][] = [];
  let last: T['entry'][] = [];
  let lastBytes = 0;
  for (const record of records) {
    const isFull = !isAtomic && (last.length >= BATCH_RECORDS_MAX || lastBytes >= BATCH_BYTES_SOFT);
    if (last.length === 0 || isFull) {
      last = [];
      lastBytes = 0;
      batches.push(last);
    }
    const entry = machine.encode(record);
    last.push(entry);
    lastBytes += journal.entryBytes(entry);
  }
  return batches.every((entries) => journal.sizeBytes(entries) <= journal.batchBytesMax) ? batches : null;
}

function append<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  records: readonly T['record'][],
  journal: Journal<T['entry']>,
): void {
  const entries = records.map((record) => machine.encode(record));
  appendEntries(coordinator, machine, records, entries, journal);
}

/** Appends one batch and replays it: the live state has seen it from now on. */
function appendEntries<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  machine: Machine<T>,
  records: readonly T['record'][],
  entries: readonly T['entry'][],
  journal: Journal<T['entry']>,
): void {
  const place = journal.append(entries);
  const change = machine.replay(coordinator.state, records, place);
  coordinator.appendedTo = place.nextOffset;
  enqueue(coordinator.pending, { place, change, view: machine.view(coordinator.state) });
}

/** The high watermark has moved up to `highWatermark`: changes are told, then responses leave. */
export function commitTo<T extends Shapes, W>(
  coordinator: Coordinator<T, W>,
  highWatermark: number,
  events: EventSink<T, W>,
): void {
  const { pending, parked } = coordinator;
  for (let first = peek(pending); first !== undefined; first = peek(pending)) {
    if (first.place.nextOffset > highWatermark) break;
    dequeue(pending);
    coordinator.committed = { view: first.view, place: first.place };
    events.push({ kind: 'changed', change: first.change, place: first.place });
  }
  for (let first = peek(parked); first !== undefined; first = peek(parked)) {
    if (first.nextOffset > highWatermark) break;
    dequeue(parked);
    const { waiter, response, nextOffset } = first;
    events.push({ kind: 'answered', waiter, response, nextOffset });
  }
}

/** The lead is lost, or an append failed: forgets all that is not committed, and the live state with it. */
export function unload<T extends Shapes, W>(coordinator: Coordinator<T, W>, events: EventSink<T, W>): void {
  const wasActive = coordinator.stage === 'active';
  coordinator.stage = 'idle';
  coordinator.loading = null;
  coordinator.bootstrap = [];
  coordinator.isTold = false;
  coordinator.state = null;
  sift(coordinator.pending, () => false);
  const lost = sift(coordinator.parked, () => false);
  if (wasActive) events.push({ kind: 'inactive' });
  for (const { waiter } of lost) events.push({ kind: 'lost', waiter });
}

/** Throws AssertionError if an invariant is broken; true between any two steps. */
export function checkCoordinator<T extends Shapes, W>(coordinator: Coordinator<T, W>, machine: Machine<T>): void {
  const { stage, state, loading, pending, parked, committed } = coordinator;
  assert((state !== null) === (stage === 'active'), 'there is a live state while active');
  assert((loading !== null) === (stage === 'loading'), 'something is built while loading');
  if (stage !== 'active') {
    assert(pending.size === 0, 'nothing is pending without a live state');
    assert(parked.size === 0, 'nobody waits without a live state');
    return;
  }
  if (pending.size > 0 || committed === null) return;
  // With nothing pending, what is committed is what is live.
  assert(machine.isEqual(committed.view, machine.view(state)), 'the live state is the replay of what is committed');
}
