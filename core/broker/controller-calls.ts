/**
 * The active controller, wherever it is: who that is at the moment, and how this node asks it.
 *
 * `callController` hands in a request as an RPC would. Where the controller of this process is active it takes the
 * request at once (`controller-host.ts`). Else it goes to the node that leads the quorum, over its controller listener:
 * this node's own requests as they are, a client's in an Envelope, so that the version stays the client's. Each caller
 * is answered once, by `answerCaller`.
 *
 * While nobody is known to lead, or whoever was asked says that it does not, nothing was done: a client's request waits
 * and goes to the next controller, within the client's time; this node's own requests fail, and whoever made them comes
 * again when the controller is known (`controllerIsKnown`). Where an answer is lost nobody knows what was done, and the
 * caller is told so. A crash loses whoever waits.
 */
import type { ControllerKey } from '../controller/handle.ts';
import { setDeadline, type Timed } from '../lib/heap.ts';
import { nextTicket } from '../lib/ids.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../protocol/messages/index.ts';
import { knownLeader } from '../raft/raft.ts';
import { controllerAddress } from './addresses.ts';
import type { MetadataWait } from './api/03-metadata.ts';
import { answerAutoCreate } from './auto-create.ts';
import { answerStartTopics } from './boot-serve.ts';
import { isActiveHere, submitHere } from './controller-host.ts';
import { answerAsked } from './controller-requests.ts';
import { answerDirectories } from './directories.ts';
import { answerEnvelope, ENVELOPE_KEY, openEnvelope, sealEnvelope } from './envelope.ts';
import { answerForwarded } from './forward.ts';
import { answerAlterPartition, controllerChanged } from './in-sync.ts';
import { answerControllerRegistration, answerHeartbeat, answerRegistration, controllerIsKnown } from './lifecycle.ts';
import { callPeer, type PeerOutcome } from './peers.ts';
import { answerProducerIds } from './producer-ids.ts';
import type { Node, Request } from './state.ts';

/** Who called, and what the answer is for. */
export type Caller =
  /** A client, through the API of this broker. */
  | {
      readonly kind: 'client';
      readonly request: Request;
      readonly apiKey: ControllerKey;
      readonly body: RequestOf<ControllerKey>;
      /** How long the client waits, `env.nowMs`. */
      readonly untilMs: number;
    }
  /** Another node, or a client, through the listener of this controller. */
  | {
      readonly kind: 'asked';
      readonly request: Request;
      readonly apiKey: ControllerKey;
      readonly body: RequestOf<ControllerKey>;
    }
  /** A client of another node, which has put the request in an envelope. */
  | {
      readonly kind: 'envelope';
      readonly request: Request;
      readonly apiKey: ControllerKey;
      readonly version: number;
      readonly correlationId: number;
      readonly body: RequestOf<ControllerKey>;
    }
  | { readonly kind: 'autoCreate'; readonly wait: MetadataWait; readonly names: readonly string[] }
  | { readonly kind: 'startTopics' }
  | { readonly kind: 'registration'; readonly attempt: number }
  | { readonly kind: 'controllerRegistration' }
  | { readonly kind: 'heartbeat'; readonly attempt: number }
  | { readonly kind: 'producerIds' }
  /** The in-sync sets of partitions that this node leads. */
  | { readonly kind: 'alterPartition'; readonly ticket: number }
  /** The log directory of replicas that are here. */
  | { readonly kind: 'directories' }
  /** The active controller itself, for what it does without being asked. */
  | { readonly kind: 'duty' };

/** Why there is no answer. inactive: nothing was done. lost: nobody knows. busy, tooLarge: nothing was done. */
export type CallFailure = 'inactive' | 'busy' | 'tooLarge' | 'lost';

/** An answer, or why there is none. */
export type CallOutcome = { readonly response: ResponseInputOf<ControllerKey> } | { readonly failure: CallFailure };

/** A request that is not answered. */
export interface ControllerCall {
  readonly apiKey: ControllerKey;
  readonly version: number;
  readonly body: RequestOf<ControllerKey>;
  readonly caller: Caller;
}

/** A client's request that waits for a controller. */
interface Waiting {
  readonly call: ControllerCall;
  /** It goes to the next controller that becomes known, or again to the same after this, `env.nowMs`. */
  readonly retryAtMs: number;
}

/** Requests that wait for a controller at one time; one more is refused. */
export const WAITING_MAX = 1_000;
/** Whoever said that it is not the controller is asked again after this, ms: it may be about to become it. */
const RETRY_MS = 50;
/** What a client gets at least, however little it asked for, ms. */
const CLIENT_MS_MIN = 1_000;
/** A call to the controller of another node that takes longer is lost, ms; it may wait for brokers and their disks. */
const CALL_MS_MAX = 30_000;
/** The same for what each broker repeats. */
const HEARTBEAT_MS_MAX = 2_000;

/** The state. */
export interface ControllerCalls extends Timed {
  readonly kind: 'controllerCalls';
  /** Calls to the controller of another node, by ticket. */
  readonly calls: Map<number, ControllerCall>;
  waiting: Waiting[];
  /** Who was known to be the active controller last; -1 for nobody. */
  knownId: number;
}

/** Nothing asked yet. */
export function createControllerCalls(): ControllerCalls {
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  return { kind: 'controllerCalls', ...timed, calls: new Map(), waiting: [], knownId: -1 };
}

/** The node whose controller takes requests, as far as this node knows; -1 for nobody. */
export function activeController(node: Node): number {
  const { controller, nodeId } = node;
  if (controller === null) return -1;
  if (isActiveHere(controller)) return nodeId;
  const leaderId = knownLeader(controller.quorum.raft);
  // It leads, and has not loaded what is committed.
  return leaderId === nodeId ? -1 : leaderId;
}

/** Calls the controller. The caller is answered within this step or later, always once. */
export function callController<K extends ControllerKey>(
  node: Node,
  env: Env,
  apiKey: K,
  version: number,
  body: RequestOf<K>,
  caller: Caller,
  out: Outbox,
): void {
  ask(node, env, { apiKey, version, body: body as RequestOf<ControllerKey>, caller }, out);
}

function ask(node: Node, env: Env, call: ControllerCall, out: Outbox): void {
  const { controller } = node;
  const id = activeController(node);
  if (controller === null || (id < 0 && !waitsFor(node, env, call.caller))) {
    answerCaller(node, env, call.caller, { failure: 'inactive' }, out);
  } else if (id < 0) {
    wait(node, env, call, Number.POSITIVE_INFINITY, out);
  } else if (id === node.nodeId) {
    submitHere(node, env, controller, call, out);
  } else {
    askRemote(node, env, id, call, out);
  }
}

/** Whether a caller's request waits for a controller: where others vote too, one is known soon. */
function waitsFor(node: Node, env: Env, caller: Caller): boolean {
  const isAlone = node.controller?.quorum.raft.quorum.voters.every(({ id }) => id === node.nodeId) ?? true;
  return !isAlone && caller.kind === 'client' && patienceMs(caller) > env.nowMs;
}

function patienceMs(caller: Caller): number {
  return caller.kind === 'client' ? caller.untilMs + CLIENT_MS_MIN : Number.NEGATIVE_INFINITY;
}

function wait(node: Node, env: Env, call: ControllerCall, retryAtMs: number, out: Outbox): void {
  const { controllerCalls } = node;
  if (controllerCalls.waiting.length >= WAITING_MAX) {
    answerCaller(node, env, call.caller, { failure: 'inactive' }, out);
    return;
  }
  controllerCalls.waiting.push({ call, retryAtMs });
  remind(node);
}

function askRemote(node: Node, env: Env, id: number, call: ControllerCall, out: Outbox): void {
  const ticket = nextTicket(node.ids);
  const { apiKey, body, caller } = call;
  node.controllerCalls.calls.set(ticket, call);
  const to = controllerAddress(node, id);
  const by = { kind: 'controller', ticket } as const;
  if (caller.kind === 'client') {
    const envelope = { to, purpose: 'envelope', apiKey: ENVELOPE_KEY, timeoutMs: CALL_MS_MAX } as const;
    callPeer(node, env, { ...envelope, body: sealEnvelope(call, caller.request) }, by, out);
    return;
  }
  const isUrgent = caller.kind === 'heartbeat' || caller.kind === 'registration';
  const purpose = isUrgent ? 'heartbeat' : 'controller';
  const timeoutMs = isUrgent ? HEARTBEAT_MS_MAX : CALL_MS_MAX;
  callPeer(node, env, { to, purpose, apiKey, body: body as RequestInputOf<ControllerKey>, timeoutMs }, by, out);
}

/** The controller of another node has answered, or not. */
export function takeRemoteAnswer(node: Node, env: Env, ticket: number, outcome: PeerOutcome, out: Outbox): void {
  const { calls } = node.controllerCalls;
  const call = calls.get(ticket);
  if (call === undefined) return;
  calls.delete(ticket);
  const ended = outcomeOf(call, outcome);
  const isUndone = 'failure' in ended && ended.failure === 'inactive';
  if (isUndone && waitsFor(node, env, call.caller)) wait(node, env, call, env.nowMs + RETRY_MS, out);
  else answerCaller(node, env, call.caller, ended, out);
}

function outcomeOf(call: ControllerCall, outcome: PeerOutcome): CallOutcome {
  // Nothing listens where it was asked.
  if ('failure' in outcome) return { failure: outcome.failure === 'refused' ? 'inactive' : 'lost' };
  if (call.caller.kind === 'client') return openEnvelope(call, outcome.response as ResponseOf<typeof ENVELOPE_KEY>);
  const response = outcome.response as ResponseInputOf<ControllerKey>;
  const isElsewhere = 'errorCode' in response && response.errorCode === ErrorCode.NOT_CONTROLLER;
  return isElsewhere ? { failure: 'inactive' } : { response };
}

/** Another node has become the active controller, or nobody is: called whenever that may have changed. */
export function noteController(node: Node, env: Env, out: Outbox): void {
  const { controllerCalls } = node;
  const id = activeController(node);
  if (id === controllerCalls.knownId) return;
  controllerCalls.knownId = id;
  controllerIsKnown(node, env, id, out);
  controllerChanged(node);
  if (id < 0) return;
  const waiting = controllerCalls.waiting;
  controllerCalls.waiting = [];
  for (const { call } of waiting) ask(node, env, call, out);
  remind(node);
}

/** The deadline has come, or might have. */
export function wakeControllerCalls(node: Node, env: Env, out: Outbox): void {
  const { controllerCalls } = node;
  const waiting = controllerCalls.waiting;
  controllerCalls.waiting = [];
  for (const item of waiting) {
    if (patienceMs(item.call.caller) <= env.nowMs) {
      answerCaller(node, env, item.call.caller, { failure: 'inactive' }, out);
    } else if (item.retryAtMs <= env.nowMs) {
      ask(node, env, item.call, out);
    } else {
      controllerCalls.waiting.push(item);
    }
  }
  remind(node);
}

function remind(node: Node): void {
  const { controllerCalls } = node;
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const { call, retryAtMs } of controllerCalls.waiting) {
    deadlineMs = Math.min(deadlineMs, retryAtMs, patienceMs(call.caller));
  }
  setDeadline(node.deadlines, controllerCalls, deadlineMs);
}

/** Tells a caller what became of its request. */
export function answerCaller(node: Node, env: Env, caller: Caller, outcome: CallOutcome, out: Outbox): void {
  switch (caller.kind) {
    case 'client':
      answerForwarded(node, caller, outcome);
      break;
    case 'asked':
      answerAsked(node, caller, outcome);
      break;
    case 'envelope':
      answerEnvelope(node, caller, outcome);
      break;
    case 'autoCreate':
      answerAutoCreate(node, caller, outcome);
      break;
    case 'startTopics':
      answerStartTopics(node, outcome, out);
      break;
    case 'registration':
      answerRegistration(node, env, caller.attempt, outcome, out);
      break;
    case 'controllerRegistration':
      answerControllerRegistration(node, outcome);
      break;
    case 'heartbeat':
      answerHeartbeat(node, env, caller.attempt, outcome, out);
      break;
    case 'producerIds':
      answerProducerIds(node, env, outcome, out);
      break;
    case 'alterPartition':
      answerAlterPartition(node, env, caller.ticket, outcome, out);
      break;
    case 'directories':
      answerDirectories(node, outcome);
      break;
    case 'duty':
      break; // What it has done shows in the image.
  }
}
