/**
 * Whether this node may have been replaced as a leader without knowing it: one place for all that a leader answers.
 *
 * Theory of operation. A leader that no other node hears goes on believing that it leads. No promise is broken by that:
 * what it takes with acks=all it never acknowledges, for its followers have gone elsewhere, and what it shows was
 * committed. But clients that reach it would wait for it as long as it lasts, and what it takes with acks=1 is as good
 * as lost. So a leader stops answering as one when both hold:
 *
 * - no heartbeat that it has sent in the last broker.session.timeout.ms was answered, after which a controller gives a
 *   broker up: the controller counts from when it heard the question, so that a late answer is worth no more, and
 * - it cannot commit: a replica in sync has not fetched for as long, or fewer are in sync than min.insync.replicas
 *   wants, so that an eligible one may have been elected.
 *
 * What is refused then, with NOT_LEADER_OR_FOLLOWER: every produce, those that wait for their commit included; and the
 * fetch of a client that has read all that is committed. What is committed is still read, it is the same everywhere.
 * Metadata names no leader, so that clients look for one at other brokers. The first answer of a controller ends this,
 * or tells who leads instead.
 *
 * While every replica in sync fetches from this leader none of them leads in its place. So a cluster that has lost all
 * of its controllers goes on producing and fetching, as Kafka's does, as long as its brokers reach each other; and a
 * partition of one replica is never refused. A process that stood still for a session finds its own word too old, and
 * says nothing as a leader before a controller has answered.
 *
 * A crash forgets all of it: a node that starts leads nothing before it was heard.
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { wantedInSync } from '../../replication/in-sync.ts';
import { failWaiting, type Leader } from '../../replication/leader.ts';
import type { ProduceWait } from '../api/00-produce.ts';
import { refuseWaiting } from '../groups/hosting.ts';
import type { Node } from '../state.ts';
import { markMoved } from './fetch.ts';

/** The state. */
export interface Contact {
  /** When the last heartbeat that a controller has answered was sent, `env.nowMs`. */
  answeredMs: number;
  /** When each other broker last fetched as a replica, `env.nowMs`. */
  readonly fetchedMs: Map<number, number>;
  /** When this was looked at last without being asked, `env.nowMs`. */
  lookedMs: number;
}

/** Nobody was heard yet. */
export function createContact(): Contact {
  return { answeredMs: Number.NEGATIVE_INFINITY, fetchedMs: new Map(), lookedMs: 0 };
}

/** Whether another node may lead in place of this one at `nowMs`, as far as it knows. */
export function mayBeReplaced(node: Node, nowMs: number, leader: Leader<ProduceWait>): boolean {
  return mayBeReplacedSince(node, nowMs, leader, node.config['broker.session.timeout.ms']);
}

/**
 * The same for a coordinator of groups, which tells what it knows: an older word of it contradicts what another has
 * acknowledged since. So once a controller may have given this node up, a replica that has not fetched for longer than
 * a fetch may wait may be that other one.
 */
export function mayBeContradicted(node: Node, nowMs: number, leader: Leader<ProduceWait>): boolean {
  const { config } = node;
  const withinMs = Math.min(2 * config['replica.fetch.wait.max.ms'], config['broker.session.timeout.ms'] / 2);
  return mayBeReplacedSince(node, nowMs, leader, withinMs);
}

/** `withinMs`: a replica that fetched so short a time ago does not lead. */
function mayBeReplacedSince(node: Node, nowMs: number, leader: Leader<ProduceWait>, withinMs: number): boolean {
  const { inSync, inSyncMin } = leader;
  if (inSync === null) return false;
  const { answeredMs, fetchedMs } = node.contact;
  if (answeredMs > nowMs - node.config['broker.session.timeout.ms']) return false;
  if (inSync.isr.length < wantedInSync(inSync, inSyncMin)) return true;
  for (const id of inSync.isr) {
    if (id !== inSync.self && (fetchedMs.get(id) ?? Number.NEGATIVE_INFINITY) <= nowMs - withinMs) return true;
  }
  return false;
}

/** Looked at as often as heartbeats are due: whoever waits for a leader that may have been replaced waits no more. */
export function lookAtContact(node: Node, env: Env): void {
  const { contact, topics, finished } = node;
  contact.lookedMs = env.nowMs;
  if (env.nowMs - contact.answeredMs < node.config['broker.session.timeout.ms']) return;
  for (const { partitions } of topics.byName.values()) {
    for (const partition of partitions) {
      if (partition === null || !mayBeReplaced(node, env.nowMs, partition.leader)) continue;
      env.reached('broker.may_be_replaced');
      const text = 'this node hears no controller: another may lead';
      failWaiting(partition.leader, ErrorCode.NOT_LEADER_OR_FOLLOWER, text, finished);
      if (partition.host !== null) refuseWaiting(node, partition.host, ErrorCode.NOT_COORDINATOR);
      markMoved(node, partition);
    }
  }
}
