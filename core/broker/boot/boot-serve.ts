/**
 * The last stages of a start: the listeners go up, the broker registers and is let in, the topics that the
 * configuration wants are made, clients are served. Everything before is in `boot.ts`.
 *
 * Listeners are up before clients are served, because a registration says where: until then connections are closed.
 */
import type { Env, NetworkInput, Outbox } from '../../lib/world.ts';
import { ErrorCode, errorName } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { beginCheckpoints } from '../checkpoints/checkpoints.ts';
import { METADATA_FOLDER, RECOVERY_POINTS } from '../checkpoints/files.ts';
import { CREATE_KEY, CREATE_MS_MAX, CREATE_VERSION, wantedTopic } from '../control/auto-create.ts';
import { type CallOutcome, callController } from '../control/controller-calls.ts';
import { openController } from '../control/controller-host.ts';
import { becomeReady } from '../control/lifecycle.ts';
import { isAlone, isBroker } from '../control/roles.ts';
import { exitNode } from '../exit.ts';
import { waitForTopics } from '../partitions/topic-waits.ts';
import { say } from '../say.ts';
import type { Node } from '../state.ts';
import type { Boot } from './boot.ts';
import { settleFolders } from './boot-folders.ts';

/** What a user of Kafka would assume and would not find. */
const NOT_YET =
  'not there yet: retention and compaction (records go only when somebody deletes them), ' +
  'consumer groups, transactions, security';

/** Partitions that one request of ours creates, unless a single topic has more. */
const PARTITIONS_PER_REQUEST = 5_000;

/** Errors of a creation that pass where there are other nodes. */
const PASSING: ReadonlySet<number> = new Set([
  ErrorCode.TOPIC_ALREADY_EXISTS,
  ErrorCode.INVALID_REPLICATION_FACTOR,
  ErrorCode.REQUEST_TIMED_OUT,
]);

type ListenAnswer = Extract<NetworkInput, { kind: 'listening' | 'listenFailed' }>;

/** Asks for the listeners. */
export function beginListening(node: Node, boot: Boot, out: Outbox): void {
  boot.listenersLeft = node.listeners.length;
  const frameBytesMax = node.config['socket.request.max.bytes'];
  const idleMs = node.config['connections.max.idle.ms'];
  for (const [listener, { host, port }] of node.listeners.entries()) {
    out.push({ kind: 'listen', listener, host, port, frameBytesMax, idleMs });
  }
}

/** A listener is up, or cannot be. When all are, the metadata log is next. */
export function bootListening(node: Node, input: ListenAnswer, out: Outbox): void {
  const { boot } = node;
  const listener = node.listeners[input.listener];
  if (boot === null || listener === undefined) return;
  if (input.kind === 'listenFailed') {
    const why = input.reason === 'inUse' ? 'the port is in use' : `${input.reason}: ${input.detail}`;
    exitNode(node, 1, `cannot listen on ${listener.name}://${listener.host}:${listener.port}: ${why}`);
    return;
  }
  listener.boundPort = input.port;
  boot.listenersLeft -= 1;
  if (boot.listenersLeft > 0) return;
  boot.stage = 'quorum';
  const recoveryPoint = boot.checkpoints.get(RECOVERY_POINTS)?.get(METADATA_FOLDER) ?? 0;
  openController(node, boot.seed, boot.isClean, recoveryPoint, out);
}

/** A controller is known: a node that keeps no partitions needs nothing more. */
export function bootControllerKnown(node: Node, env: Env, boot: Boot, out: Outbox): void {
  if (boot.stage === 'quorum' && !isBroker(node.config)) serve(node, env, boot, out);
}

/** This broker is registered. */
export function bootRegistered(node: Node, env: Env, out: Outbox): void {
  if (node.boot !== null) bootCaughtUp(node, env, node.boot, out);
}

/**
 * The image has come further, or the registration is known. Once the image holds the registration it holds all that
 * this broker can have known in an earlier life, and its topics are next: an older one would lack topics whose logs are
 * here.
 */
export function bootCaughtUp(node: Node, env: Env, boot: Boot, out: Outbox): void {
  const { epoch } = node.lifecycle;
  if (boot.stage !== 'quorum' || epoch < 0 || node.image.provenance.offset < epoch) return;
  settleFolders(node, env, boot, out);
}

/** All logs are open. */
export function bootLogsDone(node: Node, env: Env, boot: Boot, out: Outbox): void {
  boot.stage = 'unfencing';
  becomeReady(node, env, out);
}

/** A heartbeat says that this broker takes part. */
export function bootUnfenced(node: Node, env: Env, out: Outbox): void {
  const { boot } = node;
  if (boot === null) return;
  if (boot.stage === 'unfencing') boot.stage = 'topics';
  if (boot.stage === 'topics') wantTopics(node, env, boot, out);
}

/** Makes the missing topics of the configuration; goes on when all are there. */
function wantTopics(node: Node, env: Env, boot: Boot, out: Outbox): void {
  if (boot.isCreating) return;
  const topics: ReturnType<typeof wantedTopic>[] = [];
  let count = 0;
  for (const { name, partitions } of node.config['tidemark.topics']) {
    const topic = node.topics.byName.get(name);
    if (topic !== undefined || (count > 0 && count + partitions > PARTITIONS_PER_REQUEST)) continue;
    count += partitions;
    topics.push(wantedTopic(name, partitions));
  }
  if (topics.length === 0) {
    serve(node, env, boot, out);
    return;
  }
  boot.isCreating = true;
  const body = { topics, timeoutMs: CREATE_MS_MAX, validateOnly: false };
  callController(node, env, CREATE_KEY, CREATE_VERSION, body, { kind: 'startTopics' }, out);
}

/** The controller has created topics, or not: then the next heartbeat tries again. */
export function answerStartTopics(node: Node, outcome: CallOutcome, out: Outbox): void {
  const { boot } = node;
  if (boot === null) return;
  boot.isCreating = false;
  if ('failure' in outcome) return;
  const { topics } = outcome.response as ResponseInputOf<19>;
  const failed = topics.find(({ errorCode }) => errorCode !== ErrorCode.NONE);
  // Another node has just made it, or brokers are missing that are about to come: the next heartbeat tries again.
  if (failed !== undefined && !isAlone(node.config) && PASSING.has(failed.errorCode)) {
    if (!boot.hasSaidWait) sayWait(failed, out);
    boot.hasSaidWait = true;
    return;
  }
  if (failed !== undefined) {
    const why = failed.errorMessage ?? errorName(failed.errorCode);
    exitNode(node, 1, `tidemark.topics wants ${failed.name}, which cannot be created: ${why}`);
    return;
  }
  boot.isCreating = true;
  const made = topics.flatMap(({ name }) => node.topics.byName.get(name) ?? []);
  waitForTopics(node, made, Number.POSITIVE_INFINITY, { kind: 'start' });
}

function sayWait({ name, errorCode }: ResponseInputOf<19>['topics'][number], out: Outbox): void {
  const fields = new Map([
    ['topic', name],
    ['reason', errorName(errorCode)],
  ]);
  say(out, 'info', 'a topic of tidemark.topics cannot be created yet', fields);
}

/** The topics that were asked for can be used: on to the next, or to serving, within this step. */
export function bootTopicsDone(node: Node): void {
  if (node.boot === null) return;
  node.boot.isCreating = false;
  node.boot.isDue = true;
}

/** Called at the end of a step in which topics of the configuration became usable. */
export function proceedBoot(node: Node, env: Env, boot: Boot, out: Outbox): void {
  boot.isDue = false;
  wantTopics(node, env, boot, out);
}

function serve(node: Node, env: Env, boot: Boot, out: Outbox): void {
  warnOfCounts(node, out);
  node.machines.delete(boot.owner);
  node.boot = null;
  node.stage = 'serving';
  beginCheckpoints(node, env);
  let partitions = 0;
  for (const topic of node.topics.byName.values()) {
    for (const partition of topic.partitions) if (partition !== null) partitions += 1;
  }
  const fields = new Map<string, string | number>([
    ['clusterId', node.clusterId],
    ['topics', node.topics.byName.size],
    ['partitions', partitions],
    ['tookMs', env.nowMs - boot.startedMs],
  ]);
  say(out, 'info', 'serving', fields);
  say(out, 'info', NOT_YET);
  out.push({ kind: 'ready' });
}

function warnOfCounts(node: Node, out: Outbox): void {
  for (const { name, partitions } of node.config['tidemark.topics']) {
    const has = node.topics.byName.get(name)?.partitions.length ?? partitions;
    if (has === partitions) continue;
    const fields = new Map<string, string | number>([
      ['topic', name],
      ['has', has],
      ['configured', partitions],
    ]);
    say(out, 'warn', 'a topic keeps the number of partitions that it has', fields);
  }
}
