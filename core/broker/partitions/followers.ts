/**
 * The partitions that this node follows: one fetcher for each node that leads some of them, and what they bring about.
 *
 * `core/replication` decides; here its calls go out over `peers.ts`, its cuts wait for the checkpoints (`lowering.ts`),
 * and what has become visible is told to readers. Fetchers that a step has touched are asked at its end whether there
 * is something to send. Nothing here walks over partitions that were not touched.
 *
 * A crash forgets all of it; the logs say where to go on.
 */
import { setDeadline, type Timed } from '../../lib/heap.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { LogEvent } from '../../log/types.ts';
import type { PartitionImage } from '../../metadata/image.ts';
import type { FetchResponse } from '../../protocol/messages/01-fetch.ts';
import { type Call, type CallOutcome, FETCH_KEY, LIST_OFFSETS_KEY } from '../../replication/calls.ts';
import { takeFetcherAnswer } from '../../replication/fetch-answers.ts';
import {
  createFetcher,
  cutFollowed,
  type Fetcher,
  type FetcherEvent,
  type FetchSettings,
  fetcherDeadlineMs,
  follow,
  pumpFetcher,
  startCut,
  takeFollowedEvent,
  unfollow,
} from '../../replication/fetcher.ts';
import type { Followed } from '../../replication/followed.ts';
import { brokerAddress } from '../addresses.ts';
import { noteCommitted } from '../checkpoints/checkpoints.ts';
import { lowerCheckpoints } from '../checkpoints/lowering.ts';
import { callPeer, type PeerOutcome } from '../control/peers.ts';
import type { Lowered, Node, Partition } from '../state.ts';
import { type Absent, createAbsent, findNode, missNode } from './absent.ts';
import { wantStart } from './delete-records.ts';
import { markCommitted } from './fetch.ts';
import { touch } from './partitions.ts';
import { createThrottles, heldDeadlineMs, releaseDue, type Throttles } from './throttles.ts';

/** The first version of Fetch that says who follows, and in which life (KIP-903). */
const FETCH_SINCE = 15;

/** The state. */
export interface Followers extends Timed {
  readonly kind: 'followers';
  /** By leader node; one that leads nothing any more stays, and sends nothing. */
  readonly fetchers: Map<number, Fetcher>;
  /** Those that may have something to send before the step ends. */
  readonly touched: Set<Fetcher>;
  /** Leaders that have gone. */
  readonly absent: Absent;
  /** The rates of replicas, both ways. */
  readonly throttles: Throttles;
}

/** Follows nobody. */
export function createFollowers(): Followers {
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  const throttles = createThrottles();
  return { kind: 'followers', ...timed, fetchers: new Map(), touched: new Set(), absent: createAbsent(), throttles };
}

/** The fetcher may have something to send. */
export function touchFetcher({ followers }: Node, fetcher: Fetcher): void {
  followers.touched.add(fetcher);
}

/** Follows the leader of a partition from now on. The log is open. */
export function beginFollowing(node: Node, partition: Partition, { leader, leaderEpoch }: PartitionImage): void {
  const { log, topic, index } = partition;
  const fetcher = fetcherOf(node, leader);
  const { highWatermark } = partition.leader;
  partition.fetcher = fetcher;
  partition.followed = follow(fetcher, {
    log,
    topicId: topic.id,
    topic: topic.name,
    index,
    leaderEpoch,
    highWatermark,
  });
  touchFetcher(node, fetcher);
}

/** Follows nobody any more; what this node knows to be committed stays with the partition. */
export function endFollowing(node: Node, partition: Partition): void {
  const { followed, fetcher } = partition;
  if (followed === null || fetcher === null) return;
  unfollow(fetcher, followed);
  touchFetcher(node, fetcher);
  partition.leader.highWatermark = followed.highWatermark;
  partition.followed = null;
  partition.fetcher = null;
}

function fetcherOf({ followers, ids, nodeId, config }: Node, leaderId: number): Fetcher {
  const known = followers.fetchers.get(leaderId);
  if (known !== undefined) return known;
  const maxWaitMs = config['replica.fetch.wait.max.ms'];
  // A leader answers within its wait. One that lost its power cannot say that it has forgotten what it was asked: where
  // nothing comes for as long as a session lasts, another connection finds it, or its next life.
  const silentMs = maxWaitMs + config['broker.session.timeout.ms'];
  const settings: FetchSettings = {
    maxWaitMs,
    minBytes: config['replica.fetch.min.bytes'],
    maxBytes: config['replica.fetch.response.max.bytes'],
    partitionMaxBytes: config['replica.fetch.max.bytes'],
    backoffMs: config['replica.fetch.backoff.ms'],
    timeoutMs: Math.min(config['replica.socket.timeout.ms'], silentMs),
  };
  const fetcher = createFetcher(ids, nodeId, leaderId, settings, followers.throttles.following);
  followers.fetchers.set(leaderId, fetcher);
  return fetcher;
}

/** Whether logs may be appended to: in a stop only until they are being closed. */
function isFetching({ stage, stop }: Node): boolean {
  return stage === 'booting' || stage === 'serving' || (stage === 'stopping' && stop?.stage === 'draining');
}

/** The deadline has come, or might have: fetchers, of which there are few, are asked before the step ends. */
export function wakeFollowers(node: Node, env: Env): void {
  const { followers } = node;
  releaseDue(node, env);
  for (const fetcher of followers.fetchers.values()) followers.touched.add(fetcher);
  if (followers.touched.size === 0) remind(node, env);
}

/** Gives the heap the next deadline. */
function remind(node: Node, env: Env): void {
  const { followers } = node;
  let deadlineMs = heldDeadlineMs(followers.throttles, env.nowMs);
  if (isFetching(node)) {
    for (const fetcher of followers.fetchers.values()) deadlineMs = Math.min(deadlineMs, fetcherDeadlineMs(fetcher));
  }
  setDeadline(node.deadlines, followers, deadlineMs);
}

/** Sends what touched fetchers have to send. Whether there were any. */
export function pumpFollowers(node: Node, env: Env, out: Outbox): boolean {
  const { followers } = node;
  if (followers.touched.size === 0) return false;
  const fetchers = [...followers.touched];
  followers.touched.clear();
  const isAllowed = isFetching(node);
  for (const fetcher of fetchers) {
    if (!isAllowed) continue;
    fetcher.brokerEpoch = node.lifecycle.epoch;
    const events: FetcherEvent[] = [];
    pumpFetcher(fetcher, env, events);
    takeFetcherEvents(node, env, events, out);
  }
  remind(node, env);
  return true;
}

/** What came of a call of a fetcher. */
export function answerFetcher(
  node: Node,
  env: Env,
  caller: { readonly leaderId: number; readonly ticket: number },
  outcome: PeerOutcome,
  out: Outbox,
): void {
  const fetcher = node.followers.fetchers.get(caller.leaderId);
  if (fetcher === undefined || !isFetching(node)) return;
  if ('response' in outcome) findNode(node, caller.leaderId);
  else if (outcome.failure !== 'timedOut') missNode(node, env, caller.leaderId);
  const isFetch = fetcher.calls.some(({ ticket }) => ticket === caller.ticket);
  if (isFetch && 'response' in outcome) noteBrought(node, outcome.response as FetchResponse);
  const events: FetcherEvent[] = [];
  takeFetcherAnswer(fetcher, env, caller.ticket, outcome as CallOutcome, { out, events });
  takeFetcherEvents(node, env, events, out);
  touchFetcher(node, fetcher);
}

/** The partitions that get records are settled before the step ends. */
function noteBrought(node: Node, { responses }: FetchResponse): void {
  for (const { topicId, partitions } of responses) {
    const topic = node.topics.byId.get(topicId);
    for (const { partitionIndex, records } of partitions) {
      const partition = topic?.partitions[partitionIndex] ?? null;
      if (partition === null || partition.followed === null) continue;
      if (partition.mend !== null) touch(node, partition);
      if (records === null) continue;
      partition.appendedBytes += records.length;
      touch(node, partition);
    }
  }
}

/** What the log of a followed partition has said. */
export function takeFollowerEvent(node: Node, env: Env, partition: Partition, event: LogEvent, out: Outbox): void {
  const { followed, fetcher } = partition;
  if (followed === null || fetcher === null) return;
  const events: FetcherEvent[] = [];
  takeFollowedEvent(fetcher, env, followed, event, events);
  takeFetcherEvents(node, env, events, out);
  touchFetcher(node, fetcher);
}

function takeFetcherEvents(node: Node, env: Env, events: readonly FetcherEvent[], out: Outbox): void {
  for (const event of events) {
    if (event.kind === 'call') {
      call(node, env, event, out);
      continue;
    }
    const partition = partitionOf(node, event.followed);
    if (partition === null) continue;
    if (event.kind === 'watermark') {
      noteCommitted(node, partition, partition.appendedBytes);
      markCommitted(node, partition, partition.appendedBytes);
      partition.appendedBytes = 0;
    } else if (event.kind === 'lower') {
      const { offset, isReset } = event;
      const lowered: Lowered = isReset ? { kind: 'reset', offset, isStartDue: false } : { kind: 'cut', offset };
      lowerCheckpoints(node, env, partition, lowered, out);
    } else {
      wantStart(node, env, { wait: null, reply: null, partition, offset: event.offset }, out);
    }
    touch(node, partition);
  }
}

function partitionOf(node: Node, followed: Followed): Partition | null {
  const partition = node.topics.byId.get(followed.topicId)?.partitions[followed.index] ?? null;
  return partition?.followed === followed ? partition : null;
}

function call(node: Node, env: Env, event: Call, out: Outbox): void {
  const { nodeId, timeoutMs, ticket } = event;
  const to = brokerAddress(node, nodeId);
  const caller = { kind: 'fetcher', leaderId: nodeId, ticket } as const;
  // Written out twice: a spread with what differs behind it is the slowest thing of a round.
  if (event.apiKey === FETCH_KEY) {
    const { body } = event;
    const asked = { to, purpose: 'replica', apiKey: FETCH_KEY, versionMin: FETCH_SINCE, body, timeoutMs } as const;
    callPeer(node, env, asked, caller, out);
  } else if (event.apiKey === LIST_OFFSETS_KEY) {
    const asked = { to, purpose: 'replica', apiKey: LIST_OFFSETS_KEY, body: event.body, timeoutMs } as const;
    callPeer(node, env, asked, caller, out);
  }
}

/** The log of a followed partition is cut where its damage begins; with `isReset` nothing is kept. */
export function cutDamaged(
  node: Node,
  env: Env,
  partition: Partition,
  offset: number,
  isReset: boolean,
  out: Outbox,
): void {
  const { followed, fetcher } = partition;
  if (followed === null || fetcher === null) return;
  const events: FetcherEvent[] = [];
  startCut(fetcher, followed, offset, isReset, events, true);
  takeFetcherEvents(node, env, events, out);
  touchFetcher(node, fetcher);
}

/** The checkpoints say no more of a partition than is left by a cut at `offset`, durably: its log is cut. */
export function cutLowered(node: Node, env: Env, partition: Partition, offset: number, out: Outbox): void {
  const { followed, fetcher, log } = partition;
  if (followed === null || fetcher === null || log.state !== 'open') return;
  if (followed.isMending) partition.mends++;
  cutFollowed(fetcher, env, followed, offset, out);
  if (followed.stage !== 'cutting') partition.lowered = null;
  touchFetcher(node, fetcher);
  touch(node, partition);
}
