/**
 * What the active controller does beside answering: it fences brokers that are silent, asks after those whose
 * connection has ended (`core/controller/probing.ts`), gives leads back (`duties.ts`), and holds the answer to whoever
 * made partitions until every broker serves them (`served-topics.ts`).
 *
 * All of it is of one term of the active controller, and ends with it; a crash loses it, and the next active controller
 * asks anew.
 */
import { dutiesDeadlineMs, nextDuty } from '../../controller/duties.ts';
import {
  createProbing,
  type ProbeCall,
  type ProbeOutcome,
  type Probing,
  probeAll,
  probingDeadlineMs,
  stopProbing,
  takeCut,
  takeProbeAnswer,
  wakeProbing,
} from '../../controller/probing.ts';
import {
  awaitServed,
  createServedWaits,
  dropServed,
  latePartitions,
  lateTopics,
  releaseServed,
  type ServedWaits,
  servedDeadlineMs,
} from '../../controller/served-topics.ts';
import type { Controller } from '../../controller/state.ts';
import type { ConnectionId, Env, Outbox } from '../../lib/world.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { brokerAddress } from '../addresses.ts';
import type { Node } from '../state.ts';
import { answerCaller } from './controller-calls.ts';
import {
  type ControllerHost,
  type HostEvent,
  remind,
  type Submitted,
  submitRequest,
  takeEvents,
} from './controller-host.ts';
import { callPeer, type PeerOutcome } from './peers.ts';

type Answered = Extract<HostEvent, { kind: 'answered' }>;

/** The state. */
export interface ControllerWork {
  readonly probing: Probing;
  readonly served: ServedWaits<Answered>;
  /** On which connection each broker was heard last; not of the broker in this process. */
  readonly heartbeats: Map<number, ConnectionId>;
  /** After a refused duty none is tried before, `env.nowMs`. */
  dutyAtMs: number;
}

/** A refused duty is tried again after so long, ms. */
const DUTY_RETRY_MS = 100;
/** Duties of one step; more are done at once in the next. */
const DUTIES_MAX = 100;
const DUTY: Submitted = { caller: { kind: 'duty' }, apiKey: null, untilMs: 0 };

/** Of no term yet. */
export function createControllerWork(): ControllerWork {
  return {
    probing: createProbing(),
    served: createServedWaits(),
    heartbeats: new Map(),
    dutyAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** The controller of this process has become the active one: who of the brokers lives? */
export function beginWork(node: Node, env: Env, host: ControllerHost, out: Outbox): void {
  const { state } = host.quorum.coordinator;
  if (state === null) return;
  const calls: ProbeCall[] = [];
  probeAll(host.work.probing, state, env.nowMs, calls);
  send(node, env, calls, out);
}

/** It is the active one no more. Whether what was held was done is not known here. */
export function endWork(node: Node, env: Env, host: ControllerHost, out: Outbox): void {
  const { work } = host;
  stopProbing(work.probing);
  work.heartbeats.clear();
  for (const { waiter } of dropServed(work.served)) {
    answerCaller(node, env, waiter.caller, { failure: 'lost' }, out);
  }
}

/** Does what is due, if this is the active controller. Called when anything may have changed, and at the deadline. */
export function tend(node: Node, env: Env, host: ControllerHost, out: Outbox): void {
  const { quorum, work } = host;
  const calls: ProbeCall[] = [];
  for (let i = 0; i < DUTIES_MAX; i++) {
    const { state } = quorum.coordinator;
    if (state === null || env.nowMs < work.dutyAtMs) break;
    const duty = nextDuty(state, env.nowMs);
    if (duty === null) break;
    if (!submitRequest(node, env, host, duty, DUTY, out)) work.dutyAtMs = env.nowMs + DUTY_RETRY_MS;
  }
  const { state } = quorum.coordinator;
  if (state === null) return;
  wakeProbing(work.probing, state, env.nowMs, calls);
  send(node, env, calls, out);
  release(node, env, work, state, out);
}

function release(node: Node, env: Env, work: ControllerWork, state: Controller, out: Outbox): void {
  for (const { waiter, isLate } of releaseServed(work.served, state, env.nowMs)) {
    const response = isLate ? late(waiter) : waiter.response;
    if (response !== null) answerCaller(node, env, waiter.waiter.caller, { response }, out);
  }
}

function late({ waiter, response }: Answered): Answered['response'] {
  return waiter.apiKey === 19
    ? lateTopics(response as ResponseInputOf<19>)
    : latePartitions(response as ResponseInputOf<37>);
}

/**
 * A response is committed: whether it is held until every broker that takes part serves what it made. Where the only
 * broker is that of this process, its own logs are waited for by whoever made them.
 */
export function holdsAnswer({ quorum, work }: ControllerHost, answered: Answered): boolean {
  const { state } = quorum.coordinator;
  const { apiKey, untilMs } = answered.waiter;
  if (state === null || (apiKey !== 19 && apiKey !== 37)) return false;
  const { brokers } = state.image.cluster;
  if (brokers.size === 1 && brokers.has(state.config.nodeId)) return false;
  return !awaitServed(work.served, state, { offset: answered.nextOffset - 1, untilMs, waiter: answered });
}

/** When something is due, `env.nowMs`; Infinity for never. */
export function workDeadlineMs({ quorum, work }: ControllerHost): number {
  const { state } = quorum.coordinator;
  if (state === null) return Number.POSITIVE_INFINITY;
  const dutyMs = Math.max(dutiesDeadlineMs(state), work.dutyAtMs);
  return Math.min(dutyMs, probingDeadlineMs(work.probing), servedDeadlineMs(work.served));
}

function send(node: Node, env: Env, calls: readonly ProbeCall[], out: Outbox): void {
  for (const { ticket, nodeId, apiKey, body, timeoutMs } of calls) {
    const to = brokerAddress(node, nodeId);
    callPeer(node, env, { to, purpose: 'probe', apiKey, body, timeoutMs }, { kind: 'probe', ticket }, out);
  }
}

/** What came of asking after a broker. */
export function takeProbed(node: Node, env: Env, ticket: number, outcome: PeerOutcome, out: Outbox): void {
  const { controller } = node;
  const state = controller?.quorum.coordinator.state ?? null;
  if (controller === null || state === null) return;
  takeProbeAnswer(controller.work.probing, state, env.nowMs, ticket, outcome as ProbeOutcome);
  takeEvents(node, env, controller, [], out);
}

/** A connection to this node has ended: if a broker was heard on it, it is asked whether it lives. */
export function heartbeatCut(node: Node, env: Env, connection: ConnectionId, out: Outbox): void {
  const { controller } = node;
  const state = controller?.quorum.coordinator.state ?? null;
  if (controller === null || state === null) return;
  const { heartbeats, probing } = controller.work;
  for (const [brokerId, id] of heartbeats) {
    if (id !== connection) continue;
    heartbeats.delete(brokerId);
    const calls: ProbeCall[] = [];
    takeCut(probing, state, env.nowMs, brokerId, calls);
    send(node, env, calls, out);
    remind(node, controller);
  }
}
