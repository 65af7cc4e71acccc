/**
 * The controller that this process hosts, and the one way in which the node speaks to it.
 *
 * `callController` hands in a request as an RPC would; the answer comes back to its caller in `takeAnswer` once
 * everything that it saw is committed. What is committed is applied to the node (`apply-image.ts`) before any answer
 * that depends on it leaves. Where the machine takes no requests (its disk is full and it stands for election again)
 * callers are told so and come again. A crash loses whoever waits, not what is committed.
 */
import { topicConfig } from '../config/log-config.ts';
import { clientListeners } from '../config/parse.ts';
import { controllerNames } from '../config/quorum-rules.ts';
import type { NodeConfig } from '../config/settings.ts';
import { type ControllerKey, idsNeeded } from '../controller/handle.ts';
import { CONTROLLER, type ControllerShapes } from '../controller/machine.ts';
import {
  createQuorum,
  openQuorum,
  type Quorum,
  type QuorumEvent,
  quorumDeadlineMs,
  stepQuorum,
  submitToQuorum,
  wakeQuorum,
} from '../coordination/quorum.ts';
import { setDeadline, type Timed } from '../lib/heap.ts';
import { nextOwner, nextTicket } from '../lib/ids.ts';
import { UUID_BYTES } from '../lib/uuid.ts';
import type { DiskInput, Env, HostInput, Outbox } from '../lib/world.ts';
import type { LogConfig } from '../log/types.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { type Voter, voterOf } from '../raft/voters.ts';
import type { MetadataWait } from './api/03-metadata.ts';
import { applyChange, applyView } from './apply-image.ts';
import { answerAutoCreate } from './auto-create.ts';
import { answerStartTopics } from './boot-serve.ts';
import { exitNode } from './exit.ts';
import { randomUuid } from './files.ts';
import { answerForwarded } from './forward.ts';
import { answerControllerRegistration, answerHeartbeat, answerRegistration, controllerIsActive } from './lifecycle.ts';
import { answerProducerIds } from './producer-ids.ts';
import type { Node, Request } from './state.ts';
import { stopQuorumClosed } from './stop.ts';

/** Bytes of recent metadata that are kept in memory: what the next snapshot and reload read. */
const RING_BYTES = 1024 * 1024;

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
  | { readonly kind: 'autoCreate'; readonly wait: MetadataWait; readonly names: readonly string[] }
  | { readonly kind: 'startTopics' }
  | { readonly kind: 'registration' }
  | { readonly kind: 'controllerRegistration' }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'producerIds' };

/** Why there is no answer. inactive: nothing was done. lost: nobody knows. busy, tooLarge: nothing was done. */
export type CallFailure = 'inactive' | 'busy' | 'tooLarge' | 'lost';

/** An answer, or why there is none. */
export type CallOutcome = { readonly response: ResponseInputOf<ControllerKey> } | { readonly failure: CallFailure };

/** A call that waits for uuids. */
interface Call {
  readonly apiKey: ControllerKey;
  readonly version: number;
  readonly body: RequestOf<ControllerKey>;
  readonly caller: Caller;
}

/** The state. */
export interface ControllerHost extends Timed {
  readonly kind: 'controller';
  readonly owner: number;
  readonly quorum: Quorum<ControllerShapes, Caller>;
  /** Calls that wait for entropy, by ticket. */
  readonly drawing: Map<number, Call>;
}

/** The voter that a directory of this node is. */
export function ownVoter(config: NodeConfig, directoryId: string): Voter {
  const controllers = controllerNames(config);
  const listener = config.listeners.find(({ name }) => controllers.includes(name)) ?? clientListeners(config)[0];
  const endpoints =
    listener === undefined ? [] : [{ name: listener.name, host: listener.host || 'localhost', port: listener.port }];
  return voterOf(config['node.id'], directoryId, endpoints);
}

/** Opens the quorum of this directory: 'active' follows, or the node ends. */
export function openController(node: Node, seed: number, isClean: boolean, recoveryPoint: number, out: Outbox): void {
  const { config } = node;
  const owner = nextOwner(node.ids);
  const snapshotMs = config['metadata.log.max.snapshot.interval.ms'];
  const raftConfig = {
    log: metadataLogConfig(config),
    snapshotBytes: config['metadata.log.max.record.bytes.between.snapshots'],
    snapshotIntervalMs: snapshotMs === 0 ? Number.POSITIVE_INFINITY : snapshotMs,
  };
  const { ids, nodeId, folder, directoryId, clusterId } = node;
  const options = { owner, ids, folder, nodeId, directoryId, staticVoters: [], config: raftConfig };
  const controllerConfig = {
    nodeId,
    given: node.configured.given,
    clusterId,
    numPartitions: config['num.partitions'],
    replicationFactor: config['default.replication.factor'],
    sessionTimeoutMs: config['broker.session.timeout.ms'],
  };
  const quorum = createQuorum<ControllerShapes, Caller>(options, controllerConfig, seed);
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  node.controller = { kind: 'controller', ...timed, owner, quorum, drawing: new Map() };
  node.machines.set(owner, node.controller);
  openQuorum(quorum, { clean: isClean, recoveryPoint }, out);
}

function metadataLogConfig(config: NodeConfig): LogConfig {
  return {
    ...topicConfig(config),
    segmentBytes: config['metadata.log.segment.bytes'],
    segmentMs: Number.POSITIVE_INFINITY,
    compressionType: 'producer',
    timestampType: 'CreateTime',
    flushMessages: 1,
    ringBytesMax: RING_BYTES,
  };
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
  const host = node.controller;
  if (host === null) {
    takeAnswer(node, env, caller, { failure: 'inactive' }, out);
    return;
  }
  const idsCount = idsNeeded(apiKey, body);
  const call: Call = { apiKey, version, body: body as RequestOf<ControllerKey>, caller };
  if (idsCount === 0) {
    submit(node, env, host, call, [], out);
    return;
  }
  const ticket = nextTicket(node.ids);
  host.drawing.set(ticket, call);
  out.push({ kind: 'entropy', length: idsCount * UUID_BYTES, owner: host.owner, ticket });
}

function submit(node: Node, env: Env, host: ControllerHost, call: Call, ids: string[], out: Outbox): void {
  const { apiKey, version, body, caller } = call;
  const request = { kind: 'api', apiKey, version, body, ids } as const;
  const submission = submitToQuorum(host.quorum, CONTROLLER, env, request, caller, out);
  if (submission.kind === 'refused') takeAnswer(node, env, caller, { failure: submission.reason }, out);
  else if (submission.kind === 'answered') takeAnswer(node, env, caller, outcomeOf(submission.response), out);
  setDeadline(node.deadlines, host, quorumDeadlineMs(host.quorum));
}

function outcomeOf(response: ControllerShapes['response']): CallOutcome {
  return response === null ? { failure: 'lost' } : { response };
}

/** An answer of the world whose owner is the quorum's. */
export function stepController(
  node: Node,
  env: Env,
  host: ControllerHost,
  input: DiskInput | Extract<HostInput, { kind: 'entropy' }>,
  out: Outbox,
): void {
  if (input.kind === 'entropy') {
    const call = host.drawing.get(input.ticket);
    host.drawing.delete(input.ticket);
    if (call !== undefined) submit(node, env, host, call, uuidsOf(input.bytes), out);
    return;
  }
  const events: QuorumEvent<ControllerShapes, Caller>[] = [];
  stepQuorum(host.quorum, CONTROLLER, env, input, out, events);
  takeEvents(node, env, host, events, out);
}

function uuidsOf(bytes: Uint8Array): string[] {
  const ids: string[] = [];
  for (let at = 0; at < bytes.length; at += UUID_BYTES) ids.push(randomUuid(bytes, at));
  return ids;
}

/** The deadline has come, or might have. */
export function wakeController(node: Node, env: Env, host: ControllerHost, out: Outbox): void {
  const events: QuorumEvent<ControllerShapes, Caller>[] = [];
  wakeQuorum(host.quorum, CONTROLLER, env, out, events);
  takeEvents(node, env, host, events, out);
}

/** Takes what the quorum says, in order. */
export function takeEvents(
  node: Node,
  env: Env,
  host: ControllerHost,
  events: readonly QuorumEvent<ControllerShapes, Caller>[],
  out: Outbox,
): void {
  for (const event of events) {
    switch (event.kind) {
      case 'active':
        applyView(node, env, event.view, out);
        controllerIsActive(node, env, out);
        break;
      case 'changed':
        applyChange(node, env, event.change, out);
        break;
      case 'answered':
        takeAnswer(node, env, event.waiter, outcomeOf(event.response), out);
        break;
      case 'lost':
        takeAnswer(node, env, event.waiter, { failure: 'lost' }, out);
        break;
      case 'inactive':
        break; // Callers are refused, one by one.
      case 'view':
        applyView(node, env, event.view, out);
        break;
      case 'leader':
      case 'call':
      case 'reply':
        break; // A quorum of one has nobody to call, and nobody calls it.
      case 'closed':
        stopQuorumClosed(node, out);
        break;
      default:
        exitNode(node, 1, event.detail);
    }
  }
  setDeadline(node.deadlines, host, quorumDeadlineMs(host.quorum));
}

function takeAnswer(node: Node, env: Env, caller: Caller, outcome: CallOutcome, out: Outbox): void {
  switch (caller.kind) {
    case 'client':
      answerForwarded(node, caller, outcome);
      break;
    case 'autoCreate':
      answerAutoCreate(node, caller, outcome);
      break;
    case 'startTopics':
      answerStartTopics(node, outcome);
      break;
    case 'registration':
      answerRegistration(node, env, outcome, out);
      break;
    case 'controllerRegistration':
      answerControllerRegistration(node, outcome);
      break;
    case 'heartbeat':
      answerHeartbeat(node, env, outcome, out);
      break;
    case 'producerIds':
      answerProducerIds(node, env, outcome, out);
      break;
  }
}
