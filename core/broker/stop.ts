/**
 * A clean stop, by named stages: leaving → draining → closing → checkpoints → quorum → marker, then exit 0.
 *
 * leaving: clients are served as before, until the controller says that other brokers lead what this one led; a broker
 * without others begins with the next stage. draining: nothing new is accepted or taken up; produces wait for their
 * syncs, fetches are answered with what there is, and each connection is closed behind its last answer. closing: every
 * log is closed, a bounded number at a time. Then the checkpoints are written, and beside them what the closed logs are
 * (`rested.ts`), the metadata log is closed (an active controller hands its lead over by this), and last of all comes
 * the marker that tells the next start that nothing needs recovery, and in which epoch this broker ended. A crash, or
 * the time limit, at any stage leaves no marker, and the next start recovers.
 */
import { CONTROLLER } from '../controller/machine.ts';
import { closeQuorum } from '../coordination/quorum.ts';
import { assert } from '../lib/assert.ts';
import { setDeadline, type Timed } from '../lib/heap.ts';
import { nextOwner, nextTicket } from '../lib/ids.ts';
import { queueAt } from '../lib/queue.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { closeLog, closeResting } from '../log/log.ts';
import { isForControllers } from './addresses.ts';
import { formatRested, RESTED } from './boot/rested.ts';
import { writeAllCheckpoints } from './checkpoints/checkpoints.ts';
import { CLEAN_SHUTDOWN, formatCleanShutdown } from './checkpoints/files.ts';
import { type HostEvent, takeEvents } from './control/controller-host.ts';
import { beginLeaving } from './control/lifecycle.ts';
import { closePeers } from './control/peers.ts';
import { isBroker } from './control/roles.ts';
import { exitNode } from './exit.ts';
import { ripen } from './partitions/fetch.ts';
import { touch } from './partitions/partitions.ts';
import { say } from './say.ts';
import type { Node, Partition } from './state.ts';

/** A stop that takes longer is given up, ms: the next start recovers instead. */
export const STOP_MS_MAX = 30_000;
/** After so long, connections with unanswered requests are closed all the same, ms. */
export const DRAIN_MS_MAX = 5_000;
/** A controller that does not let this broker go within this is not waited for, ms. */
export const LEAVE_MS_MAX = 10_000;
/** Logs that are closed at one time. */
const CLOSING_MAX = 64;

/** The state of a stop. */
export interface Stop extends Timed {
  readonly kind: 'stop';
  readonly owner: number;
  stage: 'leaving' | 'draining' | 'closing' | 'checkpoints' | 'quorum' | 'marker';
  readonly startedMs: number;
  /** When draining began. */
  drainedMs: number;
  /** Logs to close, the next at the end. */
  readonly toClose: Partition[];
  closingCount: number;
  /** Tickets that the stage waits for. */
  readonly awaited: Set<number>;
  /** Of the file of logs at rest; 0 before it is written. */
  restedTicket: number;
}

/** The operator asked the node to stop. */
export function stopNode(node: Node, env: Env, out: Outbox): void {
  if (node.stop !== null) return;
  if (node.stage !== 'serving') {
    // Nothing was served, so nothing can be lost. The marker of the last clean stop may be gone, and then the next
    // start recovers: the stop was asked for and has worked, which is no error.
    exitNode(node, 0, 'stopped before it was ready');
    return;
  }
  say(out, 'info', 'stopping');
  const stop: Stop = {
    kind: 'stop',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner: nextOwner(node.ids),
    stage: 'leaving',
    startedMs: env.nowMs,
    drainedMs: env.nowMs,
    toClose: [],
    closingCount: 0,
    awaited: new Set(),
    restedTicket: 0,
  };
  node.stop = stop;
  node.machines.set(stop.owner, stop);
  if (hasOthers(node)) {
    setDeadline(node.deadlines, stop, env.nowMs + LEAVE_MS_MAX);
    beginLeaving(node, env, out);
  } else {
    beginDraining(node, env, stop, out);
  }
}

/** Whether other brokers may lead in place of this one, and are to. */
function hasOthers({ image, nodeId, config }: Node): boolean {
  if (!isBroker(config) || !config['controlled.shutdown.enable']) return false;
  for (const { id, fenced } of image.cluster.brokers.values()) if (id !== nodeId && !fenced) return true;
  return false;
}

/** The controller lets this broker go. */
export function mayLeave(node: Node, env: Env, out: Outbox): void {
  if (node.stop?.stage === 'leaving') beginDraining(node, env, node.stop, out);
}

function beginDraining(node: Node, env: Env, stop: Stop, out: Outbox): void {
  node.stage = 'stopping';
  stop.stage = 'draining';
  stop.drainedMs = env.nowMs;
  setDeadline(node.deadlines, stop, env.nowMs + DRAIN_MS_MAX);
  unlisten(node, false, out);
  for (const connection of node.connections.values()) {
    for (let i = 0; i < connection.requests.size; i++) {
      const { fetch } = queueAt(connection.requests, i);
      if (fetch !== null) ripen(node, fetch);
    }
  }
}

/**
 * Called at the end of each step while the node stops: goes on when a stage has nothing left to wait for. Whether
 * that has set off something more in this step.
 */
export function proceedStop(node: Node, env: Env, stop: Stop, out: Outbox): boolean {
  if (stop.stage === 'draining') {
    closeIdle(node, false, out);
    if (isDrained(node)) beginClosing(node, stop);
  }
  if (stop.stage !== 'closing') return false;
  closeNext(node, env, stop, out);
  if (stop.closingCount > 0 || node.touched.length > 0) return node.touched.length > 0;
  // A name that is being freed would be taken for a stray's.
  if (node.topics.leaving.size > 0) return false;
  stop.stage = 'checkpoints';
  for (const ticket of writeAllCheckpoints(node, stop.owner, out)) stop.awaited.add(ticket);
  writeRested(node, env, stop, out);
  return false;
}

/** What the next start need not look into. It does without where there is no room. */
function writeRested(node: Node, env: Env, stop: Stop, out: Outbox): void {
  const { directoryId, lifecycle } = node;
  const bytes = formatRested(node.topics.byName.values(), env, { brokerEpoch: lifecycle.epoch, directoryId });
  stop.restedTicket = nextTicket(node.ids);
  stop.awaited.add(stop.restedTicket);
  out.push({ kind: 'replace', path: `${node.folder}/${RESTED}`, bytes, owner: stop.owner, ticket: stop.restedTicket });
}

/** Takes no new connections of clients, or of other nodes. */
function unlisten(node: Node, isForControllers: boolean, out: Outbox): void {
  for (const [listener, state] of node.listeners.entries()) {
    if (state.isForControllers === isForControllers) out.push({ kind: 'unlisten', listener });
  }
}

/** Whether no client is connected any more. The quorum goes on until its log is closed. */
function isDrained(node: Node): boolean {
  for (const connection of node.connections.values()) if (!isForControllers(node, connection)) return false;
  return true;
}

/** A log is closed: all of it is durable. */
export function stopPartitionClosed(node: Node, partition: Partition): void {
  const { stop } = node;
  assert(stop !== null, 'a log closes only when the node stops');
  assert(partition.log.state === 'closed', 'a log says that it is closed when it is not');
  stop.closingCount -= 1;
}

/** A checkpoint or the marker is in place, or could not be written. */
export function stepStop(node: Node, env: Env, stop: Stop, input: DiskInput, out: Outbox): void {
  if (!stop.awaited.delete(input.ticket)) return;
  const isSpare = input.ticket === stop.restedTicket && input.kind === 'diskFailed' && input.error === 'noSpace';
  if (input.kind === 'diskFailed' && !isSpare) {
    exitNode(node, 1, `the stop was not clean: ${input.error} (${input.detail}); the next start will recover`);
    return;
  }
  if (stop.awaited.size > 0) return;
  if (stop.stage === 'checkpoints') {
    stop.stage = 'quorum';
    const { controller } = node;
    assert(controller !== null, 'a node that serves hosts its controller');
    const events: HostEvent[] = [];
    closeQuorum(controller.quorum, CONTROLLER, env, out, events);
    takeEvents(node, env, controller, events, out);
  } else {
    exitNode(node, 0, 'stopped cleanly');
  }
}

/** The metadata log is closed: the marker is next. */
export function stopQuorumClosed(node: Node, out: Outbox): void {
  const { stop } = node;
  if (stop === null || stop.stage !== 'quorum') return;
  stop.stage = 'marker';
  // What is on its way to other members leaves first.
  closePeers(node, out);
  unlisten(node, true, out);
  for (const connection of node.connections.values()) {
    if (!connection.isClosing) out.push({ kind: 'close', connection: connection.id, abort: false });
    connection.isClosing = true;
  }
  const ticket = nextTicket(node.ids);
  stop.awaited.add(ticket);
  const bytes = encodeUtf8(formatCleanShutdown(node.lifecycle.epoch));
  out.push({ kind: 'replace', path: `${node.folder}/${CLEAN_SHUTDOWN}`, bytes, owner: stop.owner, ticket });
}

/** A limit of time has come. */
export function wakeStop(node: Node, env: Env, stop: Stop, out: Outbox): void {
  if (env.nowMs >= stop.startedMs + STOP_MS_MAX) {
    exitNode(node, 1, `could not stop cleanly within ${STOP_MS_MAX / 1000} s; the next start will recover`);
    return;
  }
  if (stop.stage === 'leaving' && env.nowMs >= stop.startedMs + LEAVE_MS_MAX) {
    say(out, 'warn', 'the controller does not let this broker go: it stops all the same');
    beginDraining(node, env, stop, out);
  }
  if (stop.stage === 'draining' && env.nowMs >= stop.drainedMs + DRAIN_MS_MAX) {
    closeIdle(node, true, out);
    beginClosing(node, stop);
  }
  const untilMs = stop.startedMs + (stop.stage === 'leaving' ? LEAVE_MS_MAX : STOP_MS_MAX);
  setDeadline(node.deadlines, stop, stop.stage === 'draining' ? stop.drainedMs + DRAIN_MS_MAX : untilMs);
}

/** Closes the connections on which nothing is under way, or all of them. */
function closeIdle(node: Node, isForced: boolean, out: Outbox): void {
  for (const connection of node.connections.values()) {
    if (isForControllers(node, connection)) continue;
    if (!isForced && (connection.isClosing || connection.taken > 0)) continue;
    connection.isClosing = true;
    out.push({ kind: 'close', connection: connection.id, abort: isForced });
  }
}

function beginClosing(node: Node, stop: Stop): void {
  stop.stage = 'closing';
  setDeadline(node.deadlines, stop, stop.startedMs + STOP_MS_MAX);
  // From here on the image is not followed any more: what was deleted meanwhile is a stray to the next start.
  node.topics.isLoaded = false;
  // One that is still being made holds nothing.
  for (const { partitions } of node.topics.byName.values()) {
    for (const partition of partitions) if (partition?.log.state === 'open') stop.toClose.push(partition);
  }
  stop.toClose.reverse();
}

function closeNext(node: Node, env: Env, stop: Stop, out: Outbox): void {
  while (stop.closingCount < CLOSING_MAX) {
    const partition = stop.toClose.pop();
    if (partition === undefined) break;
    if (partition.phase === 'gone' || closeResting(partition.log)) continue;
    stop.closingCount += 1;
    closeLog(partition.log, env, out);
    touch(node, partition);
  }
}
