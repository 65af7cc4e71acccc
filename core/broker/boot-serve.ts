/**
 * The last stages of a start: the topics that the configuration wants are made, the listeners go up, clients are
 * served. Everything before is in `boot.ts`.
 */
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import type { Boot } from './boot.ts';
import { beginCheckpoints } from './checkpoints.ts';
import { exitNode } from './exit.ts';
import { restoreProducerIds } from './producer-ids.ts';
import { say } from './say.ts';
import type { Node } from './state.ts';
import { createTopic } from './topics.ts';

/** What a user of Kafka would assume and would not find. */
const NOT_YET =
  'not there yet: retention and compaction (nothing is deleted), more than one node, consumer groups, transactions, ' +
  'topic administration, security';

type ListenAnswer = Extract<NetworkInput, { kind: 'listening' | 'listenFailed' }>;

/** All logs are open: the topics of the configuration are next. */
export function bootLogsDone(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'topics';
  wantTopics(node, boot, out);
}

/** A topic has been made. */
export function bootTopicsDone(node: Node, out: Outbox): void {
  if (node.boot !== null && node.boot.stage === 'topics') wantTopics(node, node.boot, out);
}

/** Makes the missing topics of the configuration; goes on when all are there. */
function wantTopics(node: Node, boot: Boot, out: Outbox): void {
  for (const { name, partitions } of node.config['tidemark.topics']) {
    const topic = node.topics.byName.get(name);
    if (topic === undefined) {
      if (!createTopic(node, name, partitions, null, out)) return;
    } else if (topic.partitions.length !== partitions && node.topics.creations.size === 0) {
      const fields = new Map<string, string | number>([
        ['topic', name],
        ['has', topic.partitions.length],
        ['configured', partitions],
      ]);
      say(out, 'warn', 'a topic keeps the number of partitions that it has', fields);
    }
  }
  if (node.topics.creations.size > 0) return;
  boot.stage = 'listening';
  restoreProducerIds(node.producerIds, firstProducerId(node, boot, out));
  boot.listenersLeft = node.listeners.length;
  listen(node, out);
}

/** After the file, or else after every id that a log still knows. */
function firstProducerId(node: Node, boot: Boot, out: Outbox): number {
  if (boot.producerIdsNext >= 0) return boot.producerIdsNext;
  let next = 0;
  for (const topic of node.topics.byName.values()) {
    for (const { log } of topic.partitions) {
      for (const producerId of log.producers?.keys() ?? []) if (producerId >= next) next = producerId + 1;
    }
  }
  if (next > 0) say(out, 'warn', 'producer ids go on after the largest that was found', new Map([['next', next]]));
  return next;
}

function listen(node: Node, out: Outbox): void {
  const frameBytesMax = node.config['socket.request.max.bytes'];
  const idleMs = node.config['connections.max.idle.ms'];
  for (let listener = 0; listener < node.listeners.length; listener++) {
    const { host, port } = node.listeners[listener]!;
    out.push({ kind: 'listen', listener, host, port, frameBytesMax, idleMs });
  }
}

/** A listener is up, or cannot be. */
export function bootListening(node: Node, env: Env, input: ListenAnswer, out: Outbox): void {
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
  node.machines.delete(boot.owner);
  node.boot = null;
  node.stage = 'serving';
  beginCheckpoints(node, env);
  const partitions = [...node.topics.byName.values()].reduce((sum, topic) => sum + topic.partitions.length, 0);
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
