/**
 * The in-sync sets of the partitions that this node leads: what its leaders want goes to the active controller, and
 * what that has decided comes back to them.
 *
 * `core/replication` decides; here each touched partition is asked for the set that it wants, and all proposals of a
 * step go out together. Partitions that lack replicas are kept in a set of their own, because they have to be looked at
 * again whenever the brokers of the image change: a follower that stands at the end of the log fetches nothing new.
 *
 * A crash forgets all of it; the next leader proposes what it sees.
 */
import { setDeadline, type Timed } from '../../lib/heap.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { DirectoryId } from '../../metadata/describe-topics.ts';
import { topicById } from '../../metadata/image.ts';
import {
  type Alterer,
  type AltererEvent,
  altererDeadlineMs,
  createAlterer,
  propose,
  pumpAlterer,
  setController,
  takeAlterAnswer,
} from '../../replication/alter-partition.ts';
import { ALTER_PARTITION_KEY, type CallOutcome as ReplicationOutcome } from '../../replication/calls.ts';
import type { InSync } from '../../replication/in-sync.ts';
import { leaderDeadlineMs, takePartitionState, wantedChange } from '../../replication/leader.ts';
import { activeController, type CallOutcome, callController } from '../control/controller-calls.ts';
import { createDirectories, type Directories, directoriesDeadlineMs, pumpDirectories } from '../control/directories.ts';
import type { Node, Partition } from '../state.ts';
import { touch } from './partitions.ts';

/** The version of AlterPartition that this node speaks: topics by id, replicas with their epochs (KIP-903). */
const VERSION = 3;
const NONE: readonly number[] = [];

/** The state. */
export interface InSyncHost extends Timed {
  readonly kind: 'inSync';
  readonly alterer: Alterer;
  /** Led partitions whose in-sync set lacks replicas. */
  readonly lacking: Set<Partition>;
  /** In which log directories the replicas here are. */
  readonly directories: Directories;
  /** There may be something to propose before the step ends. */
  isTouched: boolean;
}

/** Nothing proposed. */
export function createInSyncHost(ids: Ids, nodeId: number): InSyncHost {
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  const alterer = createAlterer(ids, nodeId);
  const directories = createDirectories();
  return { kind: 'inSync', ...timed, alterer, lacking: new Set(), directories, isTouched: false };
}

/** Brokers have come, gone or changed: partitions that lack replicas are looked at again. */
export function brokersChanged(node: Node): void {
  for (const partition of node.inSync.lacking) touch(node, partition);
}

/** Another controller may be active, or this broker has another epoch. */
export function controllerChanged(node: Node): void {
  node.inSync.isTouched = true;
}

/** A touched partition that has other replicas. The time at which it is to be looked at again, `env.nowMs`. */
export function settleInSync(node: Node, env: Env, partition: Partition): number {
  const { leader, topic, index } = partition;
  const { inSync, image } = node;
  if (leader.inSync === null) {
    inSync.lacking.delete(partition);
    return leader.expiryMs;
  }
  leader.inSync.lost = lostReplicas(node, partition, leader.inSync);
  const isr = wantedChange(leader, image.cluster.brokers, env.nowMs);
  if (isr !== null) {
    env.reached(isr.length < leader.inSync.isr.length ? 'replication.in_sync.shrink' : 'replication.in_sync.grow');
    propose(inSync.alterer, topic.id, index, leader.inSync, isr);
    inSync.isTouched = true;
  }
  if (leader.inSync.isr.length < leader.inSync.replicas.length) inSync.lacking.add(partition);
  else inSync.lacking.delete(partition);
  return leaderDeadlineMs(leader);
}

/** Looked for only where somebody may join. */
function lostReplicas({ image }: Node, { topic, index }: Partition, { isr, replicas }: InSync): readonly number[] {
  if (isr.length === replicas.length) return NONE;
  const partition = topicById(image, topic.id)?.partitions[index];
  if (partition === undefined || !partition.directories.includes(DirectoryId.LOST)) return NONE;
  return partition.replicas.filter((_, i) => partition.directories[i] === DirectoryId.LOST);
}

/** Sends what is proposed. Whether there was something to look at. */
export function pumpInSync(node: Node, env: Env, out: Outbox): boolean {
  const { inSync, lifecycle } = node;
  if (!inSync.isTouched) return false;
  inSync.isTouched = false;
  setController(inSync.alterer, activeController(node), lifecycle.epoch);
  const events: AltererEvent[] = [];
  pumpAlterer(inSync.alterer, env, events);
  takeAltererEvents(node, env, events, out);
  pumpDirectories(node, env, out);
  const deadlineMs = Math.min(altererDeadlineMs(inSync.alterer), directoriesDeadlineMs(inSync.directories, env.nowMs));
  setDeadline(node.deadlines, inSync, deadlineMs);
  return true;
}

/** The controller has decided, or cannot be asked. */
export function answerAlterPartition(node: Node, env: Env, ticket: number, outcome: CallOutcome, out: Outbox): void {
  const { inSync } = node;
  const told: ReplicationOutcome =
    'response' in outcome
      ? { response: outcome.response as Extract<ReplicationOutcome, { response: unknown }>['response'] }
      : { failure: 'closed' };
  const events: AltererEvent[] = [];
  takeAlterAnswer(inSync.alterer, env, ticket, told, events);
  takeAltererEvents(node, env, events, out);
  inSync.isTouched = true;
}

function takeAltererEvents(node: Node, env: Env, events: readonly AltererEvent[], out: Outbox): void {
  for (const event of events) {
    if (event.kind === 'call') {
      const caller = { kind: 'alterPartition', ticket: event.ticket } as const;
      if (event.apiKey !== ALTER_PARTITION_KEY) continue;
      callController(node, env, ALTER_PARTITION_KEY, VERSION, event.body, caller, out);
      continue;
    }
    const partition = node.topics.byId.get(event.topicId)?.partitions[event.index] ?? null;
    if (partition === null) continue;
    takePartitionState(partition.leader, env, event.state, node.finished);
    touch(node, partition);
  }
}
