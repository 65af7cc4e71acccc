/**
 * The nodes of a run: what they are configured with, and what an onlooker may know of them. The host of node N is
 * called node-N, and N - 1 is its actor.
 */
import { BOOTSTRAP_PATH, formattedFiles } from '../core/broker/boot/format.ts';
import { checkFinished, checkNode } from '../core/broker/check.ts';
import { META_PROPERTIES, randomUuid } from '../core/broker/checkpoints/files.ts';
import { ownVoter } from '../core/broker/control/roles.ts';
import { createNode, type Node, nodeDeadlineMs, stepNode } from '../core/broker/node.ts';
import { parseSettings } from '../core/config/parse.ts';
import type { NodeConfig } from '../core/config/settings.ts';
import { type MetadataImage, type PartitionImage, topicByName } from '../core/metadata/image.ts';
import { type Actor, asAnyMachine } from './actor.ts';
import { CONTROLLER_PORT, NODE_NAMES, PORT, rackOf, TOPIC } from './cast/casting.ts';
import { wallMs } from './clock.ts';
import { below, SITE } from './dice.ts';
import { putFile } from './disk/disk.ts';
import type { Plan, Target } from './scenario.ts';
import { addActor, type World } from './world.ts';

/** Sends readers to replicas in their rack. */
const RACK_AWARE = 'org.apache.kafka.common.replica.RackAwareReplicaSelector';
/** Of every simulated cluster. */
const CLUSTER_ID = 'dGlkZW1hcmstY2x1c3Rlcg';

const NODE = asAnyMachine<Node, NodeConfig>({
  create: createNode,
  step: stepNode,
  deadlineMs: nodeDeadlineMs,
  check: checkStepped,
});

/**
 * The whole of a node is checked after one in so many of its steps, for it took a fifth of a run to do so after each;
 * what is left over from a step is looked for after every one. Whatever breaks and stays so is found within these; what
 * is right again by then is missed, unless it is of a kind that others judge after every step.
 */
const STEPS_PER_CHECK = 4;

function checkStepped(node: Node): void {
  if (node.stepsCount % STEPS_PER_CHECK === 0) checkNode(node);
  else checkFinished(node);
}

/** Adds the nodes, which are not started yet. They are the first actors. */
export function addNodes(world: World, plan: Plan): Actor[] {
  const nodes: Actor[] = [];
  for (let nodeId = 1; nodeId <= plan.cluster.nodes; nodeId++) {
    nodes.push(addActor(world, nameOf(nodeId), 'node', NODE, nodeConfig(plan, nodeId)));
  }
  if (plan.cluster.namesDirectories) formatDisks(world, nodes);
  return nodes;
}

/** Does what an operator does before the first start who names the first voters: each directory says who they are. */
function formatDisks(world: World, nodes: readonly Actor[]): void {
  const directories = nodes.map(({ actor }) => {
    return randomUuid(
      Uint8Array.from({ length: 16 }, () => below(world.dice, SITE.entropy, actor, 256)),
      0,
    );
  });
  const configs = nodes.map(({ options }) => options as NodeConfig);
  const voters = configs.map((config, index) => ownVoter(config, directories[index] as string));
  nodes.forEach(({ disk, clock }, index) => {
    if (disk === null) throw new Error('a node has a disk');
    const [config, directory] = [configs[index] as NodeConfig, directories[index] as string];
    const files = formattedFiles(config, CLUSTER_ID, directory, wallMs(clock, 0), voters);
    if (files.checkpoint !== null) putFile(disk, `${FOLDER}/${BOOTSTRAP_PATH}`, files.checkpoint);
    putFile(disk, `${FOLDER}/${META_PROPERTIES}`, files.metaProperties);
  });
}

/** Where each node keeps everything. */
const FOLDER = '/data';

function nameOf(nodeId: number): string {
  const name = NODE_NAMES[nodeId - 1];
  if (name === undefined) throw new Error('a cluster has no more nodes than names');
  return name;
}

function nodeConfig(plan: Plan, nodeId: number): NodeConfig {
  const name = nameOf(nodeId);
  const texts = new Map([
    ['node.id', String(nodeId)],
    ['listeners', `PLAINTEXT://${name}:${PORT}`],
    ['log.dirs', FOLDER],
  ]);
  if (plan.cluster.nodes === 1) texts.set('tidemark.topics', `${TOPIC}:${plan.partitions}`);
  else for (const [key, text] of clusterTexts(plan, name)) texts.set(key, text);
  if (plan.cluster.hasRacks) {
    texts.set('broker.rack', rackOf(plan, nodeId));
    texts.set('replica.selector.class', RACK_AWARE);
  }
  // Not through the parser: a run wants segments far smaller than an operator may.
  return { ...parseSettings(texts).config, ...Object.fromEntries(plan.settings) };
}

function clusterTexts({ cluster }: Plan, name: string): [string, string][] {
  const names = NODE_NAMES.slice(0, cluster.nodes);
  const servers = names.map((one) => `${one}:${CONTROLLER_PORT}`);
  const quorum: [string, string][] = cluster.namesDirectories
    ? [
        ['controller.quorum.bootstrap.servers', servers.join(',')],
        ['controller.quorum.auto.join.enable', 'true'],
      ]
    : [['controller.quorum.voters', servers.map((server, index) => `${index + 1}@${server}`).join(',')]];
  return [
    ['process.roles', 'broker,controller'],
    ['cluster.id', CLUSTER_ID],
    ['listeners', `PLAINTEXT://${name}:${PORT},CONTROLLER://${name}:${CONTROLLER_PORT}`],
    ['controller.listener.names', 'CONTROLLER'],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
    ...quorum,
    ['default.replication.factor', String(cluster.replicas)],
    ['min.insync.replicas', String(cluster.inSyncMin)],
  ];
}

/** The state of a node that is up. */
export function nodeOf(actor: Actor): Node | null {
  return actor.role === 'node' && actor.state !== undefined ? (actor.state as Node) : null;
}

/** The node that leads the quorum in the newest epoch, if any does and is up. */
export function activeController(nodes: readonly Actor[]): Actor | null {
  let active: Actor | null = null;
  let newest = -1;
  for (const actor of nodes) {
    const raft = nodeOf(actor)?.controller?.quorum.raft;
    if (raft === undefined || raft.lead === null || raft.epoch <= newest) continue;
    newest = raft.epoch;
    active = actor;
  }
  return active;
}

/** The newest image that any node has. */
export function newestImage(nodes: readonly Actor[]): MetadataImage | null {
  let newest: MetadataImage | null = null;
  for (const actor of nodes) {
    const image = nodeOf(actor)?.image;
    if (image !== undefined && image.provenance.offset > (newest?.provenance.offset ?? -1)) newest = image;
  }
  return newest;
}

/** The partitions of the topic that is always there, as the newest image has them. */
export function constantPartitions(nodes: readonly Actor[]): readonly PartitionImage[] {
  const image = newestImage(nodes);
  return image === null ? [] : (topicByName(image, TOPIC)?.partitions ?? []);
}

/** Which actor is what a target says; -1 for none. */
export function findTarget(nodes: readonly Actor[], target: Target): number {
  if (target === 'controller') return activeController(nodes)?.actor ?? -1;
  if (target === 'coordinator') return nodes.find(coordinatesGroups)?.actor ?? -1;
  const leader = target === 'leader' ? (constantPartitions(nodes)[0]?.leader ?? -1) : -1;
  return leader < 0 ? -1 : leader - 1;
}

/** Whether a node is the coordinator of some group. */
function coordinatesGroups(actor: Actor): boolean {
  const hosts = nodeOf(actor)?.groups.hosts ?? [];
  return [...hosts].some(({ stage, coordinator }) => stage === 'active' && (coordinator.state?.groups.size ?? 0) > 0);
}
