/**
 * A coordinator of groups learns what its log holds: from the start to where the log ended when this node began to
 * lead.
 *
 * All of that stays: a leader's log is never cut below its end. What is not committed yet is loaded too, and no answer
 * leaves before it is. Each step of a node reads, or takes in, one portion, and few hosts read at one time, so that
 * other requests never wait long: a read of files goes on with the disk's answer, one of memory with the next wake.
 * A crash forgets how far it had come.
 */
import { activate, beginLoad, type CoordinatorEvent, loadEntries } from '../../coordination/coordinator.ts';
import type { Place } from '../../coordination/machine.ts';
import { GROUP_MACHINE } from '../../group/machine.ts';
import type { GroupShapes } from '../../group/shapes.ts';
import { assert } from '../../lib/assert.ts';
import { setDeadline } from '../../lib/heap.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import { dequeue, enqueue } from '../../lib/queue.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { readLog } from '../../log/log.ts';
import type { ReadOutcome } from '../../log/types.ts';
import { errorName } from '../../protocol/errors.ts';
import type { KeyedBytes } from '../../protocol/group-records.ts';
import { partitionName } from '../checkpoints/files.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { groupConfig } from './group-config.ts';
import { remind } from './hosting.ts';
import { journalOf, recordBytesMaxOf } from './journal.ts';
import type { Awaiting, GroupHost, Load } from './state.ts';
import { type Portion, portionOf, takeIn } from './unpack.ts';

/** Records that a step takes in, the first ones fewer: a few milliseconds of work, of code not compiled yet too. */
const PACE_MIN = 250;
const PACE_MAX = 2_000;
/** Bytes of the log that are read at a time for each of them, but for a single batch that is larger. */
const RECORD_BYTES = 256;
/** Hosts that read at one time. */
const LOADS_MAX = 2;
/** A log that has too many readers is asked again after this, ms. */
const RETRY_MS = 10;
/** A deadline that has come whatever the time is. */
const AT_ONCE_MS = 0;

/** Begins to load; the host is active at once where the log holds nothing. */
export function beginLoading(node: Node, env: Env, host: GroupHost, out: Outbox): void {
  const { groups } = node;
  const { log } = host.partition;
  host.stage = 'loading';
  host.load = {
    next: log.start,
    end: log.end,
    ticket: 0,
    portion: null,
    startedMs: env.nowMs,
    recordsCount: 0,
    hasTurn: false,
    pace: PACE_MIN,
  };
  beginLoad(host.coordinator, GROUP_MACHINE);
  if (log.start >= log.end) {
    becomeActive(node, env, host, host.load, out);
    return;
  }
  enqueue(groups.loadQueue, host);
  takeTurns(node);
}

/** The host loads no more: it is gone, has failed, or is active. */
export function endLoading(node: Node, { load }: GroupHost): void {
  if (load === null) return;
  if (load.hasTurn) node.groups.loadingCount -= 1;
  load.hasTurn = false;
  takeTurns(node);
}

/** Lets as many hosts read as may. */
function takeTurns(node: Node): void {
  const { groups } = node;
  while (groups.loadingCount < LOADS_MAX) {
    const host = dequeue(groups.loadQueue);
    if (host === undefined) return;
    if (host.stage !== 'loading' || host.load === null) continue;
    host.load.hasTurn = true;
    groups.loadingCount += 1;
    setDeadline(node.deadlines, host, AT_ONCE_MS);
  }
}

/** Goes on: takes in a portion of what was read, or reads the next one. */
export function advanceLoad(node: Node, env: Env, host: GroupHost, out: Outbox): void {
  const { load, partition } = host;
  if (load === null || load.ticket !== 0) return;
  const problem = load.portion === null ? null : takeSome(env, host, load, load.portion);
  if (problem !== null) {
    fail(node, host, problem, out);
  } else if (load.portion !== null) {
    setDeadline(node.deadlines, host, env.nowMs + 1);
  } else if (load.next >= load.end) {
    becomeActive(node, env, host, load, out);
  } else {
    const { log } = partition;
    const offset = Math.max(load.next, log.start);
    const request = { offset, sizeBytesMax: load.pace * RECORD_BYTES, upTo: load.end, minOne: true };
    takeOutcome(node, env, host, load, readLog(log, env, request, out), out);
  }
}

/** A read of files has ended. True if it was this host's. */
export function takeLoadRead(
  node: Node,
  env: Env,
  host: GroupHost,
  ticket: number,
  outcome: ReadOutcome,
  out: Outbox,
): boolean {
  const { load } = host;
  if (load === null || load.ticket !== ticket) return false;
  load.ticket = 0;
  takeOutcome(node, env, host, load, outcome, out);
  if (host.stage === 'loading' && load.portion !== null) advanceLoad(node, env, host, out);
  return true;
}

function takeOutcome(node: Node, env: Env, host: GroupHost, load: Load, outcome: ReadOutcome, out: Outbox): void {
  if (outcome.kind === 'pending') {
    load.ticket = outcome.ticket;
  } else if (outcome.kind === 'error') {
    fail(node, host, errorName(outcome.error), out);
  } else if (outcome.sizeBytes === 0) {
    setDeadline(node.deadlines, host, env.nowMs + RETRY_MS);
  } else {
    load.portion = portionOf(outcome.parts);
    setDeadline(node.deadlines, host, env.nowMs + 1);
  }
}

/** Takes in as many of the records that were read as one step may; a sentence if they make no sense. */
function takeSome(env: Env, host: GroupHost, load: Load, portion: Portion): string | null {
  const { coordinator } = host;
  const { loading: state } = coordinator;
  assert(state !== null, 'a host that loads has a state to load into');
  let problem: string | null = null;
  const other = (entry: KeyedBytes, place: Place): void => {
    problem ??= loadEntries(coordinator, GROUP_MACHINE, [entry], place, false, []);
  };
  try {
    const { count, place } = takeIn(portion, env.codecs, load.pace, { state, other });
    load.pace = Math.min(Math.ceil(load.pace * 1.25), PACE_MAX);
    load.recordsCount += count;
    if (portion.at === portion.bytes.length) load.portion = null;
    if (place === null || problem !== null) return problem;
    load.next = place.nextOffset;
    return loadEntries(coordinator, GROUP_MACHINE, [], place, false, []);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return error.message;
  }
}

function becomeActive(node: Node, env: Env, host: GroupHost, load: Load, out: Outbox): void {
  const { partition, coordinator } = host;
  const config = groupConfig(node.config, recordBytesMaxOf(partition));
  const given = { config: { config, image: node.image }, nowMs: env.nowMs, seed: 0 };
  // The live state has seen all of the log: no answer leaves before that is committed.
  const journal = { ...journalOf(node, env, partition, out), highWatermark: load.end };
  const events: CoordinatorEvent<GroupShapes, Awaiting>[] = [];
  const problem = activate(coordinator, GROUP_MACHINE, given, journal, events);
  if (problem !== null) {
    fail(node, host, problem, out);
    return;
  }
  endLoading(node, host);
  host.load = null;
  host.stage = 'active';
  sayLoaded(env, partition, load, out);
  remind(node, env, host);
}

function sayLoaded(env: Env, { topic, index }: Partition, load: Load, out: Outbox): void {
  if (load.recordsCount === 0) return;
  const fields = new Map<string, string | number>([
    ['partition', partitionName(topic.name, index)],
    ['records', load.recordsCount],
    ['tookMs', env.nowMs - load.startedMs],
  ]);
  say(out, 'info', 'groups are loaded', fields);
}

/** The log cannot be read: its groups are not served before another node leads, or this one anew. */
function fail(node: Node, host: GroupHost, problem: string, out: Outbox): void {
  const { topic, index } = host.partition;
  const fields = new Map([
    ['partition', partitionName(topic.name, index)],
    ['problem', problem],
  ]);
  say(out, 'error', 'groups cannot be loaded, and are not served', fields);
  endLoading(node, host);
  host.load = null;
  host.stage = 'failed';
  setDeadline(node.deadlines, host, Number.POSITIVE_INFINITY);
}
