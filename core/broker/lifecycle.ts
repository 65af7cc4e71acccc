/**
 * The life of this broker in its cluster: it registers (and so does the controller of this process), shows by
 * heartbeats that it is there and how far it has applied the metadata log, and serves once the controller has unfenced
 * it.
 *
 * Each start is a new incarnation. The epoch of this life is the offset of its registration; the one before comes from
 * the marker of a clean stop, so that the controller knows whether anything may be lost. While logs recover the broker
 * asks to stay fenced. The calls are those that will go over the network to another node's controller.
 */
import { setDeadline, type Timed } from '../lib/heap.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { SUPPORTED_FEATURES } from '../metadata/features.ts';
import { ErrorCode, errorName } from '../protocol/errors.ts';
import type { ResponseInputOf } from '../protocol/messages/index.ts';
import { bootRegistered, bootUnfenced } from './boot-serve.ts';
import { type CallOutcome, callController, ownVoter } from './controller-host.ts';
import { exitNode } from './exit.ts';
import { say } from './say.ts';
import type { Node } from './state.ts';

const REGISTRATION_KEY = 62;
const REGISTRATION_VERSION = 4;
const CONTROLLER_KEY = 70;
const HEARTBEAT_KEY = 63;
const HEARTBEAT_VERSION = 2;

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
  /** Whether the controller of this process has registered too, in this life. */
  isControllerRegistered: boolean;
  /** Whether a call has not been answered. */
  isCalling: boolean;
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
    isControllerRegistered: false,
    isCalling: false,
  };
}

/** The controller takes requests. */
export function controllerIsActive(node: Node, env: Env, out: Outbox): void {
  if (!node.lifecycle.isControllerRegistered) registerController(node, env, out);
  if (node.lifecycle.epoch < 0) register(node, env, out);
  else wakeLifecycle(node, env, out);
}

/** The deadline has come, or might have: says that this broker is there. */
export function wakeLifecycle(node: Node, env: Env, out: Outbox): void {
  const { lifecycle } = node;
  if (node.stage !== 'booting' && node.stage !== 'serving') return;
  setDeadline(node.deadlines, lifecycle, env.nowMs + node.config['broker.heartbeat.interval.ms']);
  if (lifecycle.isCalling) return;
  if (lifecycle.epoch < 0) {
    register(node, env, out);
    return;
  }
  lifecycle.isCalling = true;
  const body = {
    brokerId: node.nodeId,
    brokerEpoch: lifecycle.epoch,
    currentMetadataOffset: node.image.provenance.offset,
    wantFence: !lifecycle.isReady,
    wantShutDown: false,
    offlineLogDirs: [],
    cordonedLogDirs: null,
  };
  callController(node, env, HEARTBEAT_KEY, HEARTBEAT_VERSION, body, { kind: 'heartbeat' }, out);
}

function registerController(node: Node, env: Env, out: Outbox): void {
  const body = {
    controllerId: node.nodeId,
    incarnationId: node.lifecycle.incarnationId,
    zkMigrationReady: false,
    listeners: ownVoter(node.config, node.directoryId).endpoints.map((one) => ({ ...one, securityProtocol: 0 })),
    features: [...SUPPORTED_FEATURES],
  };
  callController(node, env, CONTROLLER_KEY, 0, body, { kind: 'controllerRegistration' }, out);
}

/** The registration of the controller is committed; else it is tried again when it is active again. */
export function answerControllerRegistration(node: Node, outcome: CallOutcome): void {
  if ('failure' in outcome) return;
  const { errorCode } = outcome.response as ResponseInputOf<70>;
  node.lifecycle.isControllerRegistered = errorCode === ErrorCode.NONE;
}

function register(node: Node, env: Env, out: Outbox): void {
  const { lifecycle } = node;
  lifecycle.isCalling = true;
  const body = {
    brokerId: node.nodeId,
    clusterId: node.clusterId,
    incarnationId: lifecycle.incarnationId,
    listeners: node.listeners.map(({ name, host, port, advertised, boundPort }) => ({
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
  callController(node, env, REGISTRATION_KEY, REGISTRATION_VERSION, body, { kind: 'registration' }, out);
}

/** The registration is committed, or not. */
export function answerRegistration(node: Node, env: Env, outcome: CallOutcome, out: Outbox): void {
  const { lifecycle } = node;
  lifecycle.isCalling = false;
  if ('failure' in outcome) {
    // Tried again when the controller is active, or at the next heartbeat.
    setDeadline(node.deadlines, lifecycle, env.nowMs + node.config['broker.heartbeat.interval.ms']);
    return;
  }
  const { errorCode, brokerEpoch } = outcome.response as ResponseInputOf<62>;
  if (errorCode !== ErrorCode.NONE) {
    exitNode(node, 1, `the controller refuses to register this broker: ${errorName(errorCode)}`);
    return;
  }
  lifecycle.epoch = brokerEpoch ?? -1;
  bootRegistered(node, env, out);
}

/** The logs are open: asks to be unfenced, at once. */
export function becomeReady(node: Node, env: Env, out: Outbox): void {
  node.lifecycle.isReady = true;
  wakeLifecycle(node, env, out);
}

/** The controller has heard of this broker, or not. */
export function answerHeartbeat(node: Node, env: Env, outcome: CallOutcome, out: Outbox): void {
  const { lifecycle } = node;
  lifecycle.isCalling = false;
  if ('failure' in outcome) return;
  const { errorCode, isFenced } = outcome.response as ResponseInputOf<63>;
  if (errorCode !== ErrorCode.NONE) {
    say(out, 'warn', 'the controller refuses a heartbeat', new Map([['reason', errorName(errorCode)]]));
    return;
  }
  lifecycle.isFenced = isFenced ?? true;
  if (!lifecycle.isFenced) bootUnfenced(node, env, out);
  // Asked before the logs were open, and answered after: asks again without delay.
  else if (lifecycle.isReady) setDeadline(node.deadlines, lifecycle, env.nowMs + 1);
}
