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
 * again when the controller is known (`controllerIsKnown`).
 *
 * A controller that is lost may keep silent for as long as anybody waits. So a call is not waited for once another
 * controller is known, and a late answer finds nobody. What this node asks for itself the new controller is asked
 * instead: epochs see to it that nothing is done twice. A client is told at once that its answer is lost. Apache Kafka
 * would send its request again; but if the old controller had carried it out, the client would hear that its topic was
 * there already, or another administrator's work would be undone: only the client may ask twice, for it knows that it
 * did. A crash loses whoever waits.
 */
import type { ControllerKey } from '../../controller/handle.ts';
import { setDeadline, type Timed } from '../../lib/heap.ts';
import { nextTicket } from '../../lib/ids.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../../protocol/messages/index.ts';
import { knownLeader } from '../../raft/raft.ts';
import { controllerAddress } from '../addresses.ts';
import type { MetadataWait } from '../api/03-metadata.ts';
import { answerStartTopics } from '../boot/boot-serve.ts';
import { answerOffsetsTopic } from '../groups/offsets-topic.ts';
import { answerAlterPartition, controllerChanged } from '../partitions/in-sync.ts';
import type { Node, Request } from '../state.ts';
import { answerAutoCreate } from './auto-create.ts';
import { isActiveHere, submitHere } from './controller-host.ts';
import { answerAsked } from './controller-requests.ts';
import { answerDirectories } from './directories.ts';
import { answerEnvelope, ENVELOPE_KEY, openEnvelope, sealEnvelope } from './envelope.ts';
import { answerForwarded } from './forward.ts';
import { answerControllerRegistration, answerHeartbeat, answerRegistration, controllerIsKnown } from './lifecycle.ts';
import { callPeer, type PeerOutcome } from './peers.ts';
import { answerProducerIds } from './producer-ids.ts';

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
  | { readonly kind: 'offsetsTopic' }
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

/** Why there is no answer. lost, timedOut: nobody knows what was done. inactive, busy, tooLarge: nothing was. */
export type CallFailure = 'inactive' | 'busy' | 'tooLarge' | 'lost' | 'timedOut';

/** An answer, or why there is none. */
export type CallOutcome = { readonly response: ResponseInputOf<ControllerKey> } | { readonly failure: CallFailure };

/** A request that is not answered. */
export interface ControllerCall {
  readonly apiKey: ControllerKey;
  readonly version: number;
  readonly body: RequestOf<ControllerKey>;
  readonly caller: Caller;
}

/** A request that the controller of another node has. */
interface Flight {
  readonly call: ControllerCall;
  /** The node that was asked. */
  readonly to: number;
  /** How long it may take, `env.nowMs`. */
  readonly untilMs: number;
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
/** A client's request at the controller of another node is lost after this, ms, or when the client's time is over. */
const CLIENT_MS_MAX = 30_000;
/**
 * What each broker repeats is lost after this, ms, and a heartbeat after this part of the session, which a lost answer
 * may not cost. All else that a broker asks for itself is lost after its session.
 */
const REPEATED_MS_MAX = 2_000;
const HEARTBEATS_IN_SESSION = 3;

/** The state. */
export interface ControllerCalls extends Timed {
  readonly kind: 'controllerCalls';
  /** Calls to the controller of another node, by ticket. */
  readonly calls: Map<number, Flight>;
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
  const timeoutMs = timeOf(node, env, caller);
  node.controllerCalls.calls.set(ticket, { call, to: id, untilMs: env.nowMs + timeoutMs });
  const to = controllerAddress(node, id);
  const by = { kind: 'controller', ticket } as const;
  if (caller.kind === 'client') {
    const envelope = { to, purpose: 'envelope', apiKey: ENVELOPE_KEY, timeoutMs } as const;
    callPeer(node, env, { ...envelope, body: sealEnvelope(call, caller.request) }, by, out);
    return;
  }
  const purpose = isUrgent(caller) ? 'heartbeat' : 'controller';
  callPeer(node, env, { to, purpose, apiKey, body: body as RequestInputOf<ControllerKey>, timeoutMs }, by, out);
}

function isUrgent({ kind }: Caller): boolean {
  return kind === 'heartbeat' || kind === 'registration';
}

/** How long the controller of another node has for an answer, ms. */
function timeOf({ config }: Node, env: Env, caller: Caller): number {
  if (caller.kind === 'client') return Math.min(Math.max(patienceMs(caller) - env.nowMs, 1), CLIENT_MS_MAX);
  const sessionMs = config['broker.session.timeout.ms'];
  if (caller.kind === 'registration') return REPEATED_MS_MAX;
  if (caller.kind !== 'heartbeat') return sessionMs;
  return Math.min(REPEATED_MS_MAX, Math.ceil(sessionMs / HEARTBEATS_IN_SESSION));
}

/** The controller of another node has answered, or not. */
export function takeRemoteAnswer(node: Node, env: Env, ticket: number, outcome: PeerOutcome, out: Outbox): void {
  const { calls } = node.controllerCalls;
  const flight = calls.get(ticket);
  if (flight === undefined) return;
  calls.delete(ticket);
  const { call } = flight;
  const ended = outcomeOf(env, flight, outcome);
  const isUndone = 'failure' in ended && ended.failure === 'inactive';
  if (isUndone && waitsFor(node, env, call.caller)) wait(node, env, call, env.nowMs + RETRY_MS, out);
  else answerCaller(node, env, call.caller, ended, out);
}

function outcomeOf(env: Env, { call, untilMs }: Flight, outcome: PeerOutcome): CallOutcome {
  if ('failure' in outcome) return { failure: lossOf(outcome.failure, env.nowMs < untilMs) };
  if (call.caller.kind === 'client') return openEnvelope(call, outcome.response as ResponseOf<typeof ENVELOPE_KEY>);
  const response = outcome.response as ResponseInputOf<ControllerKey>;
  const isElsewhere = 'errorCode' in response && response.errorCode === ErrorCode.NOT_CONTROLLER;
  return isElsewhere ? { failure: 'inactive' } : { response };
}

function lossOf(failure: 'refused' | 'timedOut' | 'closed', isEarly: boolean): CallFailure {
  if (failure === 'closed') return 'lost';
  // Where there was no connection the request has not left this node.
  return failure === 'refused' || isEarly ? 'inactive' : 'timedOut';
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
  const { waiting } = controllerCalls;
  controllerCalls.waiting = [];
  for (const call of takeBack(controllerCalls, id)) {
    env.reached('broker.call_taken_back');
    if (call.caller.kind === 'client') answerCaller(node, env, call.caller, { failure: 'lost' }, out);
    else ask(node, env, call, out);
  }
  for (const { call } of waiting) ask(node, env, call, out);
  remind(node);
}

/** The calls that other controllers have not answered; `id` is the one to ask now. They are not waited for any more. */
function takeBack({ calls }: ControllerCalls, id: number): ControllerCall[] {
  const back: ControllerCall[] = [];
  for (const [ticket, { call, to }] of calls) {
    if (to === id) continue;
    calls.delete(ticket);
    // What a broker repeats has just been sent anew.
    if (!REPEATED.has(call.caller.kind)) back.push(call);
  }
  return back;
}

const REPEATED: ReadonlySet<Caller['kind']> = new Set(['heartbeat', 'registration', 'controllerRegistration']);

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
    case 'offsetsTopic':
      answerOffsetsTopic(node, env, outcome, out);
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
