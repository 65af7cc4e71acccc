/**
 * What the nodes of a run have on their disks, of partitions and of the quorum: of those that are up as they have it,
 * of others as they had it when their last lives ended, for what was synced then is there still.
 *
 * It looks at states and changes nothing. Logs are named as in `core/verify/excuses.ts`.
 */
import type { Node } from '../../core/broker/node.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { epochAt } from '../../core/log/epochs.ts';
import type { Log } from '../../core/log/log.ts';
import { type MetadataImage, type TopicImage, topicByName } from '../../core/metadata/image.ts';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { logName, QUORUM } from '../../core/verify/excuses.ts';
import type { Actor } from '../actor.ts';
import { newestImage, nodeOf } from '../nodes.ts';

/** What a replica has on its disk. */
export interface Held {
  readonly durable: number;
  readonly epochs: Log['epochs'];
}

/** What a voter has on its disk. */
export interface Member extends Held {
  readonly epoch: number;
  /** It may still ask for votes in that epoch. */
  readonly isCandidate: boolean;
  readonly directoryId: string;
}

/** What is known of all of them. */
export interface Holdings {
  readonly nodes: readonly Actor[];
  /** By node: what it had as a voter when its last life ended. */
  readonly members: Map<number, Member>;
  /** The same of partitions, by node and by log. */
  readonly held: Map<number, ReadonlyMap<string, Held>>;
  /** By node whose last life ended in good order: the broker epoch of that life. */
  readonly clean: Map<number, number>;
  /** The newest that any node has had. */
  image: MetadataImage | null;
  voters: readonly NamedVoter[];
}

/** A voter as the quorum names it; of a directory that it does not name the id is all zeros. */
export interface NamedVoter {
  readonly id: number;
  readonly directoryId: string;
}

/** Nothing was seen. */
export function createHoldings(nodes: readonly Actor[]): Holdings {
  const voters = nodes.map((actor) => ({ id: nodeIdOf(actor), directoryId: ZERO_UUID }));
  return { nodes, members: new Map(), held: new Map(), clean: new Map(), image: null, voters };
}

/** The number of a node. */
export function nodeIdOf({ actor }: Actor): number {
  return actor + 1;
}

/** A node's life has ended, in this state. */
export function noteEnd(holdings: Holdings, actor: Actor, state: unknown): void {
  if (state === undefined || actor.role !== 'node') return;
  const node = state as Node;
  if (actor.down === 'exited' && node.exit?.code === 0) holdings.clean.set(nodeIdOf(actor), node.lifecycle.epoch);
  else holdings.clean.delete(nodeIdOf(actor));
  const member = memberOf(node);
  if (member !== null) holdings.members.set(nodeIdOf(actor), member);
  const held = new Map<string, Held>();
  for (const { name, partitions } of node.topics.byName.values()) {
    partitions.forEach((partition, index) => {
      if (partition !== null) held.set(logName(name, index), heldIn(partition.log));
    });
  }
  holdings.held.set(nodeIdOf(actor), held);
  keepImage(holdings, node.image);
}

function heldIn({ durable, epochs }: Log): Held {
  return { durable, epochs };
}

/** What a node has of a log: as it is, or as it was when its last life ended. */
function heldBy(holdings: Holdings, id: number, log: string): Held | undefined {
  if (log === QUORUM) return memberFor(holdings, id);
  const actor = holdings.nodes[id - 1];
  const node = actor === undefined ? null : nodeOf(actor);
  if (node === null) return holdings.held.get(id)?.get(log);
  const { topic, partition: index } = partOf(log);
  const partition = node.topics.byName.get(topic)?.partitions[index];
  return partition == null || partition.log.state !== 'open' ? holdings.held.get(id)?.get(log) : heldIn(partition.log);
}

/** Under which epoch a node has a record; null where it does not have it. */
export function epochOf(holdings: Holdings, id: number, log: string, offset: number): number | null {
  const held = heldBy(holdings, id, log);
  return held === undefined || held.durable <= offset ? null : epochAt(held.epochs, offset);
}

/**
 * Under which epoch a committed record was appended, -1 where nobody has it. Whoever else has one at its offset has it
 * from before, and will lose it: of all that there are the highest is the right one.
 */
export function trueEpoch(holdings: Holdings, log: string, offset: number): number {
  if (offset < 0) return -1;
  return Math.max(-1, ...holdings.nodes.map((actor) => epochOf(holdings, nodeIdOf(actor), log, offset) ?? -1));
}

/** Keeps the newest image: none is left where all nodes are down. */
export function refreshImage(holdings: Holdings): void {
  keepImage(holdings, newestImage(holdings.nodes));
}

function keepImage(holdings: Holdings, image: MetadataImage | null): void {
  if (image === null) return;
  if (holdings.image === null || image.provenance.offset >= holdings.image.provenance.offset) holdings.image = image;
}

function memberOf({ controller, nodeId }: Node): Member | null {
  const raft = controller?.quorum.raft;
  if (raft === undefined || raft.stage !== 'open') return null;
  const { log, epoch, leaderId, votedId, directoryId } = raft;
  const isCandidate = leaderId < 0 && votedId === nodeId;
  return { durable: log.durable, epochs: log.epochs, epoch, isCandidate, directoryId };
}

/** What a voter has: of one that is up as it is, of others as it was. */
export function memberFor({ nodes, members }: Holdings, id: number): Member | undefined {
  const actor = nodes[id - 1];
  const node = actor === undefined ? null : nodeOf(actor);
  return (node === null ? null : memberOf(node)) ?? members.get(id);
}

/** The topic that a log is of, as the newest image has it; undefined where it has none of that name. */
export function topicOf({ image }: Holdings, log: string): TopicImage | undefined {
  return image === null ? undefined : topicByName(image, partOf(log).topic);
}

/** The topic's name and the partition's number in the name of a log. */
export function partOf(log: string): { readonly topic: string; readonly partition: number } {
  const at = log.lastIndexOf('-');
  return { topic: log.slice(0, at), partition: Number(log.slice(at + 1)) };
}

/** The logs of partitions that a node is to have. */
export function partitionsOn({ image }: Holdings, id: number): string[] {
  const logs: string[] = [];
  for (const { name, partitions } of image === null ? [] : mapValues(image.topics.byId)) {
    partitions.forEach(({ replicas }, index) => {
      if (replicas.includes(id)) logs.push(logName(name, index));
    });
  }
  return logs;
}

/** The voters, by the newest that any node knows, or has known where all are down. */
export function votersOf(holdings: Holdings): readonly NamedVoter[] {
  let newest: { readonly epoch: number; readonly end: number; readonly voters: readonly NamedVoter[] } | null = null;
  for (const actor of holdings.nodes) {
    const raft = nodeOf(actor)?.controller?.quorum.raft;
    if (raft === undefined || raft.stage !== 'open') continue;
    const [epoch, end] = [raft.epoch, raft.log.end];
    if (newest !== null && (epoch < newest.epoch || (epoch === newest.epoch && end <= newest.end))) continue;
    const { voters } = raft.quorum;
    newest = { epoch, end, voters: voters.length > 0 ? voters : raft.staticVoters };
  }
  if (newest !== null && newest.voters.length > 0) holdings.voters = newest.voters;
  return holdings.voters;
}

/** Under which epoch all who replicate a log have a record; null where one lacks it, or has another. */
export function commonEpoch(holdings: Holdings, log: string, offset: number): number | null {
  const ids = log === QUORUM ? votersOf(holdings).map(({ id }) => id) : replicasOf(holdings, log);
  const epochs = new Set(ids.map((id) => epochOf(holdings, id, log, offset)));
  const [epoch] = epochs;
  return epochs.size === 1 ? (epoch ?? null) : null;
}

function replicasOf(holdings: Holdings, log: string): readonly number[] {
  const { nodes } = holdings;
  return topicOf(holdings, log)?.partitions[partOf(log).partition]?.replicas ?? nodes.map(nodeIdOf);
}
