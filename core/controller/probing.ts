/**
 * Finds out which brokers are dead without waiting for their sessions to end (design: Failover).
 *
 * Theory of operation. A process that died leaves a port that refuses connections, and a machine that is cut off or
 * stands still leaves silence. So the controller calls (ApiVersions, which every broker answers at once): *refused*
 * ends the broker's session on the spot, an answer proves that the process lives, silence proves nothing and leaves the
 * session to its time. It calls in two cases:
 *
 * - The connection of a broker's heartbeats has ended. A process that was killed is fenced within a round trip.
 * - This node has become the active controller. It does not know how long each broker has been silent already, and
 *   granting everyone a fresh session would add a whole one to the outage of whoever died with the old controller. So
 *   each gets a part of a session, and a call; whoever answers or sends a heartbeat within it has a full session from
 *   then on. The broker in this very process is not asked.
 *
 * Fencing is always safe, because every epoch of the partitions grows; ending a session too early costs a moment. A
 * call concerns one life of a broker: its answer is dropped once the broker has registered anew, and a life that was
 * heard of since the call began does not end by it. Ending a session is all that happens here: the duty to fence
 * follows from it (`duties.ts`).
 *
 * Invariants: at most one call for each broker; at most CALLS_MAX calls for one reason. A crash loses all of this, and
 * whoever is the next active controller asks anew.
 */
import { assert } from '../lib/assert.ts';
import type { BrokerImage } from '../metadata/image.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { ApiVersions } from '../protocol/messages/18-api-versions.ts';
import type { RequestInputOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { type Controller, freshSession } from './state.ts';

/** Calls for one reason, when connections break without an answer. */
export const CALLS_MAX = 5;
/** Between such calls, ms. */
export const CALL_AGAIN_MS = 100;
/** A new controller gives each broker one such part of a session to be heard of. */
export const TAKEOVER_PARTS = 2;

/** What the host is asked to do: carry a request to a node. Answered by `takeProbeAnswer`. */
export interface ProbeCall {
  readonly kind: 'call';
  readonly ticket: number;
  readonly nodeId: number;
  readonly apiKey: 18;
  readonly body: RequestInputOf<18>;
  readonly timeoutMs: number;
}

/** What became of a call. refused: nothing listens at the broker's port. */
export type ProbeOutcome =
  | { readonly response: Pick<ResponseInputOf<18>, 'errorCode'> }
  | { readonly failure: 'refused' | 'timedOut' | 'closed' };

/** What is known of one broker that is being asked. */
interface Probe {
  /** The life that is asked after. */
  readonly epoch: number;
  /** Of the call under way; -1 between calls. */
  ticket: number;
  /** When that call began; or when the next one is due. */
  atMs: number;
  calls: number;
  /** Whether there is reason to call again once this call is answered. */
  isAgain: boolean;
}

/** The state. Lives as long as the node: tickets are never used again. */
export interface Probing {
  readonly probes: Map<number, Probe>;
  nextTicket: number;
}

/** Asks nobody. */
export function createProbing(): Probing {
  return { probes: new Map(), nextTicket: 0 };
}

/** This node has become the active controller: cuts all sessions short, and calls whom they belong to. */
export function probeAll(probing: Probing, controller: Controller, nowMs: number, calls: ProbeCall[]): void {
  probing.probes.clear();
  const { nodeId, sessionTimeoutMs } = controller.config;
  const graceMs = Math.floor(sessionTimeoutMs / TAKEOVER_PARTS);
  for (const broker of controller.image.cluster.brokers.values()) {
    if (broker.fenced || broker.id === nodeId) continue;
    const session = controller.sessions.get(broker.id) ?? freshSession(nowMs);
    controller.sessions.set(broker.id, session);
    session.heardMs = nowMs - sessionTimeoutMs + graceMs;
    session.isCut = true; // No connection of it is known here.
    begin(probing, controller, broker, nowMs, calls);
  }
}

/** This node is no longer the active controller. */
export function stopProbing(probing: Probing): void {
  probing.probes.clear();
}

/** The connection on which a broker sent its heartbeats has ended. */
export function takeCut(
  probing: Probing,
  controller: Controller,
  nowMs: number,
  brokerId: number,
  calls: ProbeCall[],
): void {
  const broker = controller.image.cluster.brokers.get(brokerId);
  const session = controller.sessions.get(brokerId);
  if (broker === undefined || session === undefined) return;
  session.isCut = true;
  if (broker.fenced || brokerId === controller.config.nodeId) return;
  const known = probing.probes.get(brokerId);
  if (known === undefined || known.epoch !== broker.epoch) begin(probing, controller, broker, nowMs, calls);
  // The call under way may have been answered before the process died.
  else known.isAgain = true;
}

/** What became of a call; one that nobody waits for is dropped. */
export function takeProbeAnswer(
  probing: Probing,
  controller: Controller,
  nowMs: number,
  ticket: number,
  outcome: ProbeOutcome,
): void {
  for (const [brokerId, probe] of probing.probes) {
    if (probe.ticket !== ticket) continue;
    settle(probing, controller, nowMs, brokerId, probe, outcome);
    return;
  }
}

/** The deadline has come, or might have. */
export function wakeProbing(probing: Probing, controller: Controller, nowMs: number, calls: ProbeCall[]): void {
  for (const [brokerId, probe] of probing.probes) {
    if (probe.ticket >= 0 || probe.atMs > nowMs) continue;
    if (isMoot(controller, brokerId, probe)) probing.probes.delete(brokerId);
    else call(probing, controller, brokerId, probe, nowMs, calls);
  }
}

/** When the next call is due, monotonic ms; Infinity if none is. */
export function probingDeadlineMs(probing: Probing): number {
  let deadlineMs = Infinity;
  for (const { ticket, atMs } of probing.probes.values()) if (ticket < 0) deadlineMs = Math.min(deadlineMs, atMs);
  return deadlineMs;
}

/** True between any two steps. */
export function checkProbing(probing: Probing): void {
  const tickets = new Set<number>();
  for (const { ticket, calls } of probing.probes.values()) {
    assert(calls >= 1, 'a broker is asked after without a call');
    assert(calls <= CALLS_MAX, 'a broker is called too often');
    assert(ticket < probing.nextTicket, 'a call has a ticket that was not given yet');
    assert(!tickets.has(ticket), 'two calls share a ticket');
    if (ticket >= 0) tickets.add(ticket);
  }
}

function begin(probing: Probing, controller: Controller, broker: BrokerImage, nowMs: number, calls: ProbeCall[]): void {
  const probe: Probe = { epoch: broker.epoch, ticket: -1, atMs: nowMs, calls: 0, isAgain: false };
  probing.probes.set(broker.id, probe);
  call(probing, controller, broker.id, probe, nowMs, calls);
}

function call(
  probing: Probing,
  { config }: Controller,
  nodeId: number,
  probe: Probe,
  nowMs: number,
  calls: ProbeCall[],
): void {
  const ticket = probing.nextTicket++;
  probe.ticket = ticket;
  probe.atMs = nowMs;
  probe.calls += 1;
  probe.isAgain = false;
  const { clusterId, sessionTimeoutMs: timeoutMs } = config;
  // Another node that has the port now answers that it is not meant.
  const body = { clientSoftwareName: 'tidemark', clientSoftwareVersion: '1', clusterId, nodeId };
  calls.push({ kind: 'call', ticket, nodeId, apiKey: ApiVersions.key, body, timeoutMs });
}

/** Whether nothing hangs on the answer any more. */
function isMoot(controller: Controller, brokerId: number, probe: Probe): boolean {
  const broker = controller.image.cluster.brokers.get(brokerId);
  return broker === undefined || broker.fenced || broker.epoch !== probe.epoch;
}

function settle(
  probing: Probing,
  controller: Controller,
  nowMs: number,
  brokerId: number,
  probe: Probe,
  outcome: ProbeOutcome,
): void {
  probing.probes.delete(brokerId);
  const session = controller.sessions.get(brokerId);
  if (session === undefined || isMoot(controller, brokerId, probe)) return;
  // It is known to have lived when the call began.
  const isAlive = 'response' in outcome && outcome.response.errorCode === ErrorCode.NONE;
  if (isAlive) session.heardMs = Math.max(session.heardMs, probe.atMs);
  const isHeard = session.heardMs > probe.atMs;
  if ('failure' in outcome && outcome.failure === 'refused' && !isHeard) {
    session.heardMs = nowMs - controller.config.sessionTimeoutMs;
    session.isCut = true;
    return;
  }
  const isBroken = 'failure' in outcome && outcome.failure === 'closed' && !isHeard;
  if ((isBroken || probe.isAgain) && probe.calls < CALLS_MAX) {
    probe.ticket = -1;
    probe.atMs = isBroken ? nowMs + CALL_AGAIN_MS : nowMs;
    probing.probes.set(brokerId, probe);
  }
}
