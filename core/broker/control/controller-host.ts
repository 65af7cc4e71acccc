/**
 * The member of the quorum that this process hosts, with the controller on it. Every node has one: where the process is
 * a controller it votes, and is the active controller while it leads; else it only follows, and so learns what is
 * committed. Who the active controller is, and how this node asks it, is in `controller-calls.ts`.
 *
 * What is committed is applied to the node (`apply-image.ts`) before any answer that depends on it leaves. What the
 * active controller does without being asked is in `controller-work.ts`, what members say to each other goes through
 * `quorum-calls.ts`. Where the machine takes no requests callers are told so and come again. A crash loses whoever
 * waits, not what is committed.
 */
import { topicConfig } from '../../config/log-config.ts';
import { controllerNames } from '../../config/quorum-rules.ts';
import type { NodeConfig } from '../../config/settings.ts';
import { idsNeeded } from '../../controller/handle.ts';
import { CONTROLLER, type ControllerShapes } from '../../controller/machine.ts';
import {
  createQuorum,
  openQuorum,
  type Quorum,
  type QuorumEvent,
  quorumDeadlineMs,
  stepQuorum,
  submitToQuorum,
  wakeQuorum,
} from '../../coordination/quorum.ts';
import { setDeadline, type Timed } from '../../lib/heap.ts';
import { nextOwner, nextTicket } from '../../lib/ids.ts';
import { UUID_BYTES } from '../../lib/uuid.ts';
import type { DiskInput, Env, HostInput, Outbox } from '../../lib/world.ts';
import type { LogConfig } from '../../log/types.ts';
import type { RequestOf } from '../../protocol/messages/index.ts';
import type { PeerOptions } from '../../raft/raft.ts';
import { bootCaughtUp } from '../boot/boot-serve.ts';
import { randomUuid } from '../checkpoints/files.ts';
import { exitNode } from '../exit.ts';
import { noteApplied } from '../partitions/applied.ts';
import { applyChange, applyView } from '../partitions/apply-image.ts';
import type { Node, Request } from '../state.ts';
import { stopQuorumClosed } from '../stop.ts';
import {
  answerCaller,
  type Caller,
  type CallOutcome,
  type ControllerCall,
  noteController,
} from './controller-calls.ts';
import {
  beginWork,
  type ControllerWork,
  createControllerWork,
  endWork,
  holdsAnswer,
  tend,
  workDeadlineMs,
} from './controller-work.ts';
import { replyToMember, sendToMember } from './quorum-calls.ts';
import { isAlone, isController, staticVoters, votingEndpoints } from './roles.ts';

/** Bytes of recent metadata that are kept in memory: what the next snapshot and reload read. */
const RING_BYTES = 1024 * 1024;

/** Who waits for a response of the controller of this process. */
export interface Submitted {
  readonly caller: Caller;
  /** Of the request; null for a duty. */
  readonly apiKey: ControllerCall['apiKey'] | null;
  /** How long its caller waits for brokers to serve what it made, `env.nowMs`. */
  readonly untilMs: number;
}

/** What the quorum of this process says. */
export type HostEvent = QuorumEvent<ControllerShapes, Submitted>;

/** The state. */
export interface ControllerHost extends Timed {
  readonly kind: 'controller';
  readonly owner: number;
  readonly quorum: Quorum<ControllerShapes, Submitted>;
  /** Calls that wait for entropy, by ticket. */
  readonly drawing: Map<number, ControllerCall>;
  readonly work: ControllerWork;
  /** Requests of other members that wait for an answer, by the number that the quorum knows them by. */
  readonly members: Map<number, Request>;
  /** What the quorum has said and was not acted on: acting on one event may bring others. */
  readonly events: HostEvent[];
  isActing: boolean;
}

/** Opens the quorum of this directory: what is committed follows, or the node ends. */
export function openController(node: Node, seed: number, isClean: boolean, recoveryPoint: number, out: Outbox): void {
  const { config, ids, nodeId, folder, directoryId, clusterId } = node;
  const owner = nextOwner(ids);
  const snapshotMs = config['metadata.log.max.snapshot.interval.ms'];
  const raftConfig = {
    log: metadataLogConfig(config),
    snapshotBytes: config['metadata.log.max.record.bytes.between.snapshots'],
    snapshotIntervalMs: snapshotMs === 0 ? Number.POSITIVE_INFINITY : snapshotMs,
  };
  const place = { owner, ids, folder, nodeId, directoryId };
  const options = { ...place, staticVoters: staticVoters(config), config: raftConfig };
  const balanceMs = config['leader.imbalance.check.interval.seconds'] * 1000;
  const controllerConfig = {
    nodeId,
    given: node.configured.given,
    clusterId,
    numPartitions: config['num.partitions'],
    replicationFactor: config['default.replication.factor'],
    sessionTimeoutMs: config['broker.session.timeout.ms'],
    balanceIntervalMs: config['auto.leader.rebalance.enable'] ? balanceMs : Number.POSITIVE_INFINITY,
  };
  const peers = isAlone(config) ? {} : { peers: peerOptions(config, clusterId, seed) };
  const quorum = createQuorum<ControllerShapes, Submitted>({ ...options, ...peers }, controllerConfig, seed);
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  const work = createControllerWork();
  const none = { drawing: new Map(), members: new Map(), events: [], isActing: false };
  node.controller = { kind: 'controller', ...timed, owner, quorum, work, ...none };
  node.machines.set(owner, node.controller);
  openQuorum(quorum, { clean: isClean, recoveryPoint }, out);
}

function peerOptions(config: NodeConfig, clusterId: string, seed: number): PeerOptions {
  return {
    clusterId,
    seed,
    times: {
      electionTimeoutMs: config['controller.quorum.election.timeout.ms'],
      fetchTimeoutMs: config['controller.quorum.fetch.timeout.ms'],
      electionBackoffMaxMs: config['controller.quorum.election.backoff.max.ms'],
      requestTimeoutMs: config['controller.quorum.request.timeout.ms'],
    },
    bootstrapCount: config['controller.quorum.bootstrap.servers'].length,
    mayObserve: !isController(config) || config['controller.quorum.voters'].length === 0,
    listenerName: controllerNames(config)[0] ?? '',
    endpoints: votingEndpoints(config),
    autoJoins: config['controller.quorum.auto.join.enable'],
  };
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

/** Whether the controller of this process takes requests. */
export function isActiveHere({ quorum }: ControllerHost): boolean {
  return quorum.coordinator.stage === 'active';
}

/** Hands a request to the controller of this process. The caller is answered within this step or later, once. */
export function submitHere(node: Node, env: Env, host: ControllerHost, call: ControllerCall, out: Outbox): void {
  const idsCount = idsNeeded(call.apiKey, call.body);
  if (idsCount === 0) {
    submit(node, env, host, call, [], out);
    return;
  }
  const ticket = nextTicket(node.ids);
  host.drawing.set(ticket, call);
  out.push({ kind: 'entropy', length: idsCount * UUID_BYTES, owner: host.owner, ticket });
}

function submit(node: Node, env: Env, host: ControllerHost, call: ControllerCall, ids: string[], out: Outbox): void {
  const { apiKey, version, body, caller } = call;
  const request = { kind: 'api', apiKey, version, body, ids } as const;
  submitRequest(node, env, host, request, { caller, apiKey, untilMs: env.nowMs + timeoutOf(call) }, out);
}

/** How long a caller waits for what it makes to be served, ms: as long as its request says. */
function timeoutOf({ apiKey, body }: ControllerCall): number {
  return apiKey === 19 || apiKey === 37 ? (body as RequestOf<19 | 37>).timeoutMs : 0;
}

/** Submits a request or a duty. False if it was refused for lack of room. */
export function submitRequest(
  node: Node,
  env: Env,
  host: ControllerHost,
  request: ControllerShapes['request'],
  waiter: Submitted,
  out: Outbox,
): boolean {
  const events: HostEvent[] = [];
  const submission = submitToQuorum(host.quorum, CONTROLLER, env, request, waiter, out, events);
  if (submission.kind === 'refused') answerCaller(node, env, waiter.caller, { failure: submission.reason }, out);
  else if (submission.kind === 'answered') answerCaller(node, env, waiter.caller, outcomeOf(submission.response), out);
  takeEvents(node, env, host, events, out);
  return submission.kind !== 'refused';
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
  const events: HostEvent[] = [];
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
  const events: HostEvent[] = [];
  wakeQuorum(host.quorum, CONTROLLER, env, out, events);
  takeEvents(node, env, host, events, out);
}

/** Takes what the quorum says, in order; then does what is due. */
export function takeEvents(
  node: Node,
  env: Env,
  host: ControllerHost,
  events: readonly HostEvent[],
  out: Outbox,
): void {
  host.events.push(...events);
  if (host.isActing) return;
  host.isActing = true;
  do {
    for (let event = host.events.shift(); event !== undefined; event = host.events.shift()) {
      takeEvent(node, env, host, event, out);
    }
    tend(node, env, host, out);
  } while (host.events.length > 0);
  host.isActing = false;
  remind(node, host);
}

function takeEvent(node: Node, env: Env, host: ControllerHost, event: HostEvent, out: Outbox): void {
  switch (event.kind) {
    case 'active':
      applyView(node, env, event.view, out);
      caughtUp(node, env, out);
      beginWork(node, env, host, out);
      noteController(node, env, out);
      break;
    case 'inactive':
      endWork(node, env, host, out);
      noteController(node, env, out);
      break;
    case 'leader':
      noteController(node, env, out);
      break;
    case 'view':
      applyView(node, env, event.view, out);
      caughtUp(node, env, out);
      break;
    case 'changed':
      applyChange(node, env, event.change, out);
      noteApplied(node, event.change);
      caughtUp(node, env, out);
      break;
    case 'answered':
      if (!holdsAnswer(host, event)) answerCaller(node, env, event.waiter.caller, outcomeOf(event.response), out);
      break;
    case 'lost':
      answerCaller(node, env, event.waiter.caller, { failure: 'lost' }, out);
      break;
    case 'call':
      sendToMember(node, env, event, out);
      break;
    case 'reply':
      replyToMember(node, host, event);
      break;
    case 'closed':
      stopQuorumClosed(node, out);
      break;
    case 'failed':
      exitNode(node, 1, event.detail);
      break;
  }
}

/** The image has come further. */
function caughtUp(node: Node, env: Env, out: Outbox): void {
  if (node.boot !== null) bootCaughtUp(node, env, node.boot, out);
}

/** Gives the heap the next deadline. */
export function remind(node: Node, host: ControllerHost): void {
  setDeadline(node.deadlines, host, Math.min(quorumDeadlineMs(host.quorum), workDeadlineMs(host)));
}
