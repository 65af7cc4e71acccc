/**
 * Proposals of in-sync sets: collected from all partitions that this node leads, sent to the active controller, one
 * call at a time (KIP-497, KIP-903).
 *
 * A proposal stands until the controller's answer or its metadata says otherwise; whichever comes first, and in
 * whatever order they come, the partition epoch tells the later word. Where an answer is lost, or says that the leader
 * is behind, the proposal stays, because it may have been accepted: the high watermark goes on reckoning with both sets
 * until the metadata comes. Where the controller has refused the set as such, it is dropped.
 *
 * A crash forgets all of it; the next leader proposes again what it sees.
 */
import { assert } from '../lib/assert.ts';
import { type Ids, nextTicket } from '../lib/ids.ts';
import type { Env } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { AlterPartitionRequest, AlterPartitionResponse } from '../protocol/messages/56-alter-partition.ts';
import { ALTER_PARTITION_KEY, type Call, type CallOutcome } from './calls.ts';
import type { InSync, PartitionState, Proposal } from './in-sync.ts';

/** A call that failed is tried again after so long, ms; doubled each time up to the maximum. */
export const RETRY_MS_MIN = 50;
/** See RETRY_MS_MIN. */
export const RETRY_MS_MAX = 1000;
/** How long a call may take, ms. */
export const CALL_TIMEOUT_MS = 30_000;
/** Partitions in one call. */
export const PARTITIONS_MAX = 10_000;
/** After a refused growth none is proposed for so long, ms. */
export const REFUSED_MS = 1000;

const RECOVERED = 0;

/** One partition's proposal. */
interface Item {
  readonly topicId: string;
  readonly index: number;
  readonly inSync: InSync;
  readonly proposal: Proposal;
}

/** The proposals of a node. */
export interface Alterer {
  readonly ids: Ids;
  readonly self: number;
  /** Of this node's registration. */
  brokerEpoch: number;
  /** The active controller; -1 while it is not known. */
  controllerId: number;
  /** The call under way; 0 for none. */
  ticket: number;
  sent: Item[];
  /** By topic and partition, in the order in which they came. */
  readonly waiting: Map<string, Item>;
  /** No call before this, `env.nowMs`. */
  retryAtMs: number;
  retryMs: number;
}

/** What the controller has answered about a partition: for `takePartitionState`. */
export interface Altered {
  readonly kind: 'partitionAltered';
  readonly topicId: string;
  readonly index: number;
  /** With the replicas as they were known: a change of them comes with the metadata. */
  readonly state: PartitionState;
}

/** What a step of it may say. */
export type AltererEvent = Call | Altered;

/** Nothing proposed yet. */
export function createAlterer(ids: Ids, self: number): Alterer {
  return {
    ids,
    self,
    brokerEpoch: -1,
    controllerId: -1,
    ticket: 0,
    sent: [],
    waiting: new Map(),
    retryAtMs: -Infinity,
    retryMs: RETRY_MS_MIN,
  };
}

/** Proposes `isr` for a partition that has no proposal. `pumpAlterer` sends it. */
export function propose(
  alterer: Alterer,
  topicId: string,
  index: number,
  inSync: InSync,
  isr: readonly number[],
): void {
  assert(inSync.pending === null, 'one proposal at a time');
  assert(isr.includes(alterer.self), 'a leader proposes sets that hold itself');
  const proposal = { isr, partitionEpoch: inSync.partitionEpoch, leaderEpoch: inSync.leaderEpoch };
  inSync.pending = proposal;
  alterer.waiting.set(`${topicId}/${index}`, { topicId, index, inSync, proposal });
}

/** Another node is the active controller, -1 for nobody, or this node has registered anew. */
export function setController(alterer: Alterer, controllerId: number, brokerEpoch: number): void {
  if (alterer.controllerId === controllerId && alterer.brokerEpoch === brokerEpoch) return;
  alterer.controllerId = controllerId;
  alterer.brokerEpoch = brokerEpoch;
  alterer.retryAtMs = -Infinity;
  alterer.retryMs = RETRY_MS_MIN;
}

/** When proposals wait to be sent again, `env.nowMs`; Infinity when none do. */
export function altererDeadlineMs(alterer: Alterer): number {
  if (alterer.ticket !== 0 || alterer.waiting.size === 0 || alterer.controllerId < 0) return Infinity;
  return alterer.retryAtMs;
}

/** Sends what waits, unless a call is under way. */
export function pumpAlterer(alterer: Alterer, env: Env, events: AltererEvent[]): void {
  if (alterer.ticket !== 0 || alterer.controllerId < 0 || env.nowMs < alterer.retryAtMs) return;
  for (const [key, item] of alterer.waiting) {
    if (alterer.sent.length >= PARTITIONS_MAX) break;
    alterer.waiting.delete(key);
    // What has been decided meanwhile, or belongs to an earlier lead, is not asked any more.
    if (item.inSync.pending === item.proposal) alterer.sent.push(item);
  }
  if (alterer.sent.length === 0) return;
  alterer.ticket = nextTicket(alterer.ids);
  events.push({
    kind: 'call',
    ticket: alterer.ticket,
    nodeId: alterer.controllerId,
    timeoutMs: CALL_TIMEOUT_MS,
    apiKey: ALTER_PARTITION_KEY,
    body: requestOf(alterer),
  });
}

function requestOf(alterer: Alterer): AlterPartitionRequest {
  const topics = new Map<string, AlterPartitionRequest['topics'][number]>();
  for (const item of alterer.sent) {
    const topic = topics.get(item.topicId) ?? { topicId: item.topicId, partitions: [] };
    topics.set(item.topicId, topic);
    topic.partitions.push({
      partitionIndex: item.index,
      leaderEpoch: item.proposal.leaderEpoch,
      // The place of versions that know no epochs of brokers.
      newIsr: [],
      newIsrWithEpochs: item.proposal.isr.map((brokerId) => ({
        brokerId,
        brokerEpoch: brokerId === alterer.self ? alterer.brokerEpoch : epochOf(item.inSync, brokerId),
      })),
      // A leader that reckons with followers has recovered, whatever it was elected from.
      leaderRecoveryState: RECOVERED,
      partitionEpoch: item.proposal.partitionEpoch,
    });
  }
  return { brokerId: alterer.self, brokerEpoch: alterer.brokerEpoch, topics: [...topics.values()] };
}

/** The life of a follower that the leader has heard of; -1, which nobody checks, before it has fetched. */
function epochOf(inSync: InSync, brokerId: number): number {
  return inSync.followers.get(brokerId)?.brokerEpoch ?? -1;
}

/** The answer to the call under way; one to an earlier call is dropped. */
export function takeAlterAnswer(
  alterer: Alterer,
  env: Env,
  ticket: number,
  outcome: CallOutcome,
  events: AltererEvent[],
): void {
  if (ticket !== alterer.ticket) return;
  const { sent } = alterer;
  alterer.ticket = 0;
  alterer.sent = [];
  const response = 'response' in outcome ? (outcome.response as AlterPartitionResponse) : null;
  if (response === null || response.errorCode !== ErrorCode.NONE) {
    env.reached('replication.alter.retried');
    retry(alterer, env, sent);
    return;
  }
  alterer.retryMs = RETRY_MS_MIN;
  const again = sent.filter((item) => !takeDecision(item, env, answerOf(response, item), events));
  if (again.length > 0) retry(alterer, env, again);
  pumpAlterer(alterer, env, events);
}

type Decision = AlterPartitionResponse['topics'][number]['partitions'][number];

function answerOf(response: AlterPartitionResponse, item: Item): Decision | undefined {
  const topic = response.topics.find(({ topicId }) => topicId === item.topicId);
  return topic?.partitions.find(({ partitionIndex }) => partitionIndex === item.index);
}

function retry(alterer: Alterer, env: Env, items: readonly Item[]): void {
  for (const item of items) {
    const key = `${item.topicId}/${item.index}`;
    if (item.inSync.pending === item.proposal && !alterer.waiting.has(key)) alterer.waiting.set(key, item);
  }
  alterer.retryAtMs = env.nowMs + alterer.retryMs;
  alterer.retryMs = Math.min(alterer.retryMs * 2, RETRY_MS_MAX);
}

/** True when the proposal needs no further call. */
function takeDecision(item: Item, env: Env, decision: Decision | undefined, events: AltererEvent[]): boolean {
  const { inSync, proposal } = item;
  if (inSync.pending !== proposal) return true;
  switch (decision?.errorCode) {
    case ErrorCode.NONE:
      events.push(alteredOf(item, decision));
      return true;
    case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
    case ErrorCode.UNKNOWN_TOPIC_ID:
    case ErrorCode.FENCED_LEADER_EPOCH:
    case ErrorCode.NEW_LEADER_ELECTED:
    case ErrorCode.INVALID_UPDATE_VERSION:
      // The controller is ahead of this leader: the metadata will tell.
      env.reached('replication.alter.behind');
      return true;
    case ErrorCode.INELIGIBLE_REPLICA:
    case ErrorCode.OPERATION_NOT_ATTEMPTED:
    case ErrorCode.INVALID_REQUEST:
      env.reached('replication.alter.refused');
      inSync.pending = null;
      inSync.growMs = env.nowMs + REFUSED_MS;
      return true;
    default:
      return false;
  }
}

function alteredOf({ topicId, index, inSync }: Item, decision: Decision): Altered {
  const { leaderEpoch, partitionEpoch, isr } = decision;
  const state = { leaderEpoch, partitionEpoch, isr, replicas: inSync.replicas };
  return { kind: 'partitionAltered', topicId, index, state };
}
