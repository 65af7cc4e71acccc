/**
 * The life of this broker in its cluster: it registers (and so does the controller of this process), shows by
 * heartbeats that it is there and how far it has applied the metadata log, serves once the controller has unfenced it,
 * and at the end asks to be let go.
 *
 * Each start is a new incarnation. The epoch of this life is the offset of its registration; the one before comes from
 * the marker of a clean stop, so that the controller knows whether anything may be lost. While logs recover the broker
 * asks to stay fenced. When it is to stop it asks for that (`beginLeaving`), and goes when the controller says so: by
 * then others lead what it led.
 *
 * A controller that does not know this life (the broker was unregistered, or its id taken) hears of it anew: the same
 * incarnation registers again and gets another epoch.
 *
 * One call is under way at a time. When another controller becomes active, what was asked of the one before is not
 * waited for: each call has a number, and an answer to an earlier one is dropped.
 */
import { setDeadline, type Timed } from '../../lib/heap.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { SUPPORTED_FEATURES } from '../../metadata/features.ts';
import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { bootControllerKnown, bootRegistered, bootUnfenced } from '../boot/boot-serve.ts';
import { exitNode } from '../exit.ts';
import { appliedOffset } from '../partitions/applied.ts';
import { lookAtContact } from '../partitions/contact.ts';
import { controllerChanged } from '../partitions/in-sync.ts';
import { say } from '../say.ts';
import type { Node } from '../state.ts';
import { mayLeave } from '../stop.ts';
import { activeController, type CallOutcome, callController } from './controller-calls.ts';
import { controllerEndpoints, isBroker, isController } from './roles.ts';

const REGISTRATION_KEY = 62;
const REGISTRATION_VERSION = 4;
const CONTROLLER_KEY = 70;
const HEARTBEAT_KEY = 63;
const HEARTBEAT_VERSION = 2;

/** Before a call that failed is repeated, ms; at most the interval of heartbeats. */
const RETRY_MS = 50;

/** The state. */
export interface Lifecycle extends Timed {
  readonly kind: 'lifecycle';
  readonly owner: number;
  /** Of this start; empty before it is drawn. */
  incarnationId: string;
  /** From the marker of a clean stop; -1 when there was none. */
  previousEpoch: number;
  /** Of this life; -1 before the registration is committed. */
  epoch: number;
  /** Whether the logs are open: the broker wants to take part. */
  isReady: boolean;
  isFenced: boolean;
  /** Whether the broker wants to shut down. */
  isLeaving: boolean;
  /** Whether the controller of this process has registered too, in this life. */
  isControllerRegistered: boolean;
  /** Whether that has been asked for and not answered. */
  isControllerCalling: boolean;
  /** Whether a call has not been answered, and its number. */
  isCalling: boolean;
  attempt: number;
  /** When that call was made, `env.nowMs`. */
  askedMs: number;
  /** Whether something is to be told that the call under way does not say. */
  hasNews: boolean;
}

/** A broker that has not registered. */
export function createLifecycle(owner: number): Lifecycle {
  return {
    kind: 'lifecycle',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner,
    incarnationId: '',
    previousEpoch: -1,
    epoch: -1,
    isReady: false,
    isFenced: true,
    isLeaving: false,
    isControllerRegistered: false,
    isControllerCalling: false,
    isCalling: false,
    attempt: 0,
    askedMs: Number.NEGATIVE_INFINITY,
    hasNews: false,
  };
}

/** Another node is the active controller; -1 when nobody is. What was asked of the last one is asked anew. */
export function controllerIsKnown(node: Node, env: Env, controllerId: number, out: Outbox): void {
  node.lifecycle.isCalling = false;
  node.lifecycle.isControllerCalling = false;
  if (controllerId < 0) return;
  if (node.boot !== null) bootControllerKnown(node, env, node.boot, out);
  wakeLifecycle(node, env, out);
}

/** The deadline has come, or might have: says that this node is there. */
export function wakeLifecycle(node: Node, env: Env, out: Outbox): void {
  const { lifecycle, config } = node;
  if (node.stage !== 'booting' && node.stage !== 'serving') return;
  setDeadline(node.deadlines, lifecycle, env.nowMs + config['broker.heartbeat.interval.ms']);
  const isMissing = isController(config) && !lifecycle.isControllerRegistered;
  if (isMissing && !lifecycle.isControllerCalling) registerController(node, env, out);
  if (!isBroker(config)) {
    if (lifecycle.isControllerRegistered) setDeadline(node.deadlines, lifecycle, Number.POSITIVE_INFINITY);
    return;
  }
  lookAtContact(node, env);
  if (lifecycle.isCalling) {
    lifecycle.hasNews = true;
    return;
  }
  lifecycle.isCalling = true;
  lifecycle.attempt += 1;
  lifecycle.askedMs = env.nowMs;
  lifecycle.hasNews = false;
  if (lifecycle.epoch < 0) register(node, env, out);
  else sendHeartbeat(node, env, out);
}

/** Something has changed that the controller waits for: the next heartbeat is sent at once. */
export function hurryHeartbeat(node: Node): void {
  const { lifecycle } = node;
  if (lifecycle.epoch < 0 || !lifecycle.isReady) return;
  if (lifecycle.isCalling) lifecycle.hasNews = true;
  else setDeadline(node.deadlines, lifecycle, 0);
}

function sendHeartbeat(node: Node, env: Env, out: Outbox): void {
  const { lifecycle } = node;
  const body = {
    brokerId: node.nodeId,
    brokerEpoch: lifecycle.epoch,
    currentMetadataOffset: appliedOffset(node),
    wantFence: !lifecycle.isReady,
    wantShutDown: lifecycle.isLeaving,
    offlineLogDirs: [],
    cordonedLogDirs: null,
  };
  const caller = { kind: 'heartbeat', attempt: lifecycle.attempt } as const;
  callController(node, env, HEARTBEAT_KEY, HEARTBEAT_VERSION, body, caller, out);
}

function registerController(node: Node, env: Env, out: Outbox): void {
  const { config, lifecycle, nodeId } = node;
  lifecycle.isControllerCalling = true;
  const body = {
    controllerId: nodeId,
    incarnationId: lifecycle.incarnationId,
    zkMigrationReady: false,
    listeners: controllerEndpoints(config).map((one) => ({ ...one, securityProtocol: 0 })),
    features: [...SUPPORTED_FEATURES],
  };
  callController(node, env, CONTROLLER_KEY, 0, body, { kind: 'controllerRegistration' }, out);
}

/** The registration of the controller is committed; else it is tried again at the next deadline. */
export function answerControllerRegistration(node: Node, outcome: CallOutcome): void {
  node.lifecycle.isControllerCalling = false;
  if ('failure' in outcome) return;
  const { errorCode } = outcome.response as ResponseInputOf<70>;
  node.lifecycle.isControllerRegistered = errorCode === ErrorCode.NONE;
}

function register(node: Node, env: Env, out: Outbox): void {
  const { lifecycle } = node;
  const listeners = node.listeners.filter(({ isForControllers }) => !isForControllers);
  const body = {
    brokerId: node.nodeId,
    clusterId: node.clusterId,
    incarnationId: lifecycle.incarnationId,
    listeners: listeners.map(({ name, host, port, advertised, boundPort }) => ({
      name,
      host: advertised?.host || host || 'localhost',
      port: advertised?.port || boundPort || port,
      securityProtocol: 0,
    })),
    features: [...SUPPORTED_FEATURES],
    rack: node.config['broker.rack'],
    isMigratingZkBroker: false,
    logDirs: [node.directoryId],
    previousBrokerEpoch: lifecycle.previousEpoch,
  };
  const caller = { kind: 'registration', attempt: lifecycle.attempt } as const;
  callController(node, env, REGISTRATION_KEY, REGISTRATION_VERSION, body, caller, out);
}

/** The registration is committed, or not. */
export function answerRegistration(node: Node, env: Env, attempt: number, outcome: CallOutcome, out: Outbox): void {
  const { lifecycle } = node;
  if (attempt !== lifecycle.attempt || !lifecycle.isCalling) return;
  lifecycle.isCalling = false;
  if ('failure' in outcome) {
    repeat(node, env);
    return;
  }
  const { errorCode, brokerEpoch } = outcome.response as ResponseInputOf<62>;
  if (errorCode === ErrorCode.DUPLICATE_BROKER_REGISTRATION) {
    // The life before has a session left. If it is another process that lives, this goes on for ever, and says so.
    const fields = new Map([['node', node.nodeId]]);
    say(out, 'warn', 'the controller still takes an earlier life of this node for alive; it is asked again', fields);
    return;
  }
  if (errorCode !== ErrorCode.NONE) {
    exitNode(node, 1, `the controller refuses to register this broker: ${errorName(errorCode)}`);
    return;
  }
  lifecycle.epoch = brokerEpoch ?? -1;
  controllerChanged(node);
  bootRegistered(node, env, out);
  // Where logs are open already this was not the first registration of this life.
  if (lifecycle.isReady) hastenHeartbeat(node, env, 0);
}

/** The logs are open: asks to be unfenced, at once. */
export function becomeReady(node: Node, env: Env, out: Outbox): void {
  node.lifecycle.isReady = true;
  wakeLifecycle(node, env, out);
}

/** The broker wants to shut down: `mayLeave` follows when the controller lets it go. */
export function beginLeaving(node: Node, env: Env, out: Outbox): void {
  node.lifecycle.isLeaving = true;
  wakeLifecycle(node, env, out);
}

/** The controller has heard of this broker, or not. */
export function answerHeartbeat(node: Node, env: Env, attempt: number, outcome: CallOutcome, out: Outbox): void {
  const { lifecycle } = node;
  if (attempt !== lifecycle.attempt || !lifecycle.isCalling) return;
  lifecycle.isCalling = false;
  if ('failure' in outcome) {
    repeat(node, env);
    return;
  }
  node.contact.answeredMs = lifecycle.askedMs;
  const { errorCode, isCaughtUp, isFenced, shouldShutDown } = outcome.response as ResponseInputOf<63>;
  if (errorCode === ErrorCode.STALE_BROKER_EPOCH) {
    say(out, 'warn', 'the controller does not know this life of the broker: it registers anew');
    env.reached('broker.registered_anew');
    lifecycle.epoch = -1;
    lifecycle.isFenced = true;
    hastenHeartbeat(node, env, RETRY_MS);
    return;
  }
  if (errorCode !== ErrorCode.NONE) {
    say(out, 'warn', 'the controller refuses a heartbeat', new Map([['reason', errorName(errorCode)]]));
    return;
  }
  lifecycle.isFenced = isFenced ?? true;
  if (lifecycle.isLeaving) {
    if (shouldShutDown) mayLeave(node, env, out);
    // Others take the leads over: that may be done the next moment.
    else hastenHeartbeat(node, env, RETRY_MS);
    return;
  }
  if (!lifecycle.isFenced) bootUnfenced(node, env, out);
  // Asked before the logs were open, and answered after: asks again without delay.
  else if (lifecycle.isReady) hastenHeartbeat(node, env, isCaughtUp === true ? 1 : RETRY_MS);
  if (lifecycle.hasNews) hastenHeartbeat(node, env, 0);
}

/** A call has failed: while nobody is known to be the controller it is repeated when that changes. */
function repeat(node: Node, env: Env): void {
  if (activeController(node) >= 0) hastenHeartbeat(node, env, RETRY_MS);
}

/** The next heartbeat is sent after `ms`, unless it is due before. */
function hastenHeartbeat(node: Node, env: Env, ms: number): void {
  const { lifecycle, deadlines } = node;
  setDeadline(deadlines, lifecycle, Math.min(lifecycle.deadlineMs, env.nowMs + ms));
}
