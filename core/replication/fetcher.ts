/**
 * Following one leader node: a fetch session over all partitions that it leads and this node follows (KIP-227).
 *
 * One long poll is always under way while there is something to read. A request names only what has changed: partitions
 * whose sync has ended come (back) into the session at the offset that is synced, those whose sync has begun leave it.
 * So a partition at rest costs nothing, a slow disk holds back nobody, and a fetch offset never promises more than the
 * disk holds. When there is news while the long poll is parked, a second request follows it, which ends it at once.
 *
 * Every request has a number, and a partition knows the one that listed it as it is now: an answer to an earlier
 * request, from before a change of leader epoch, a cut or a sync, is not for it (KAFKA-7164, KAFKA-13266). Answers come
 * in the order of requests. Any failure ends the session; the next one begins with all partitions.
 *
 * A crash loses all of it and nothing that matters: the log says where to go on.
 */
import { type Ids, nextTicket } from '../lib/ids.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { deleteBelow, latestEpoch, resetTo, truncateTo } from '../log/log.ts';
import type { LogEvent } from '../log/types.ts';
import type { FetchRequest } from '../protocol/messages/01-fetch.ts';
import { type Call, FETCH_KEY } from './calls.ts';
import {
  createFollowed,
  type Followed,
  type FollowOptions,
  firstStage,
  raiseWatermark,
  sayCut,
  startToWrite,
  WAIT_MS_MIN,
} from './followed.ts';
import { freeAtMs, portion, type Throttle } from './throttle.ts';

/** How a fetcher fetches. */
export interface FetchSettings {
  /** replica.fetch.wait.max.ms */
  readonly maxWaitMs: number;
  /** replica.fetch.min.bytes */
  readonly minBytes: number;
  /** replica.fetch.response.max.bytes */
  readonly maxBytes: number;
  /** replica.fetch.max.bytes: of one partition. */
  readonly partitionMaxBytes: number;
  /** replica.fetch.backoff.ms: the longest wait before another try. */
  readonly backoffMs: number;
  /** replica.socket.timeout.ms */
  readonly timeoutMs: number;
}

/** A Fetch that is not answered. */
export interface FetchCall {
  readonly ticket: number;
  readonly number: number;
  readonly isFull: boolean;
}

/** The state of what is followed of one leader node. */
export interface Fetcher {
  readonly ids: Ids;
  readonly self: number;
  readonly leaderId: number;
  /** Of this node's registration. */
  brokerEpoch: number;
  readonly settings: FetchSettings;
  /** follower.replication.throttled.rate, of all fetchers of a node together. */
  readonly throttle: Throttle;
  /** By topic id and index. */
  readonly followed: Map<string, Followed>;
  /** To be listed in the next request. */
  readonly changed: Set<Followed>;
  /** In the leader's session, but no longer to be. */
  readonly gone: Map<string, { readonly topicId: string; readonly index: number }>;
  readonly waiting: Set<Followed>;
  /** How many are ready. */
  readyCount: number;
  sessionId: number;
  /** Of the next request: 0 begins a session. */
  sessionEpoch: number;
  requests: number;
  /** The leader has no room for another session: every request lists all. */
  isSessionless: boolean;
  /** Under way, oldest first; at most two. */
  calls: FetchCall[];
  /** Questions about where the leader's logs begin and end, by ticket. */
  readonly lookups: Map<number, Followed>;
  retryAtMs: number;
  retryMs: number;
}

/** What a step may say. */
export type FetcherEvent =
  | Call
  /** The high watermark of a followed partition has moved. */
  | { readonly kind: 'watermark'; readonly followed: Followed }
  /** Write down, durably, that the log begins at `offset`, then call `startFollowed`; or `giveUpStart`. */
  | { readonly kind: 'start'; readonly followed: Followed; readonly offset: number }
  /**
   * Lower what the checkpoints say of this partition to `offset`, durably (see core/log/truncate.ts), then call
   * `cutFollowed`. With `isReset` the log will begin at `offset`.
   */
  | { readonly kind: 'lower'; readonly followed: Followed; readonly offset: number; readonly isReset: boolean };

/** A fetcher that follows nothing yet. */
export function createFetcher(
  ids: Ids,
  self: number,
  leaderId: number,
  settings: FetchSettings,
  throttle: Throttle,
): Fetcher {
  return {
    ids,
    self,
    leaderId,
    brokerEpoch: -1,
    settings,
    throttle,
    followed: new Map(),
    changed: new Set(),
    gone: new Map(),
    waiting: new Set(),
    readyCount: 0,
    sessionId: 0,
    sessionEpoch: 0,
    requests: 0,
    isSessionless: false,
    calls: [],
    lookups: new Map(),
    retryAtMs: -Infinity,
    retryMs: WAIT_MS_MIN,
  };
}

/** The key of a partition. */
export function followedKey(topicId: string, index: number): string {
  return `${topicId}/${index}`;
}

/** Follows a partition from now on. `pumpFetcher` sends what is to be sent. */
export function follow(fetcher: Fetcher, options: FollowOptions): Followed {
  const followed = createFollowed(options);
  fetcher.followed.set(followedKey(options.topicId, options.index), followed);
  if (followed.stage === 'ready') beReady(fetcher, followed);
  return followed;
}

/** The same node leads under a later epoch: whatever was asked or answered under the earlier one does not count. */
export function followEpoch(fetcher: Fetcher, followed: Followed, leaderEpoch: number): void {
  leave(fetcher, followed);
  followed.leaderEpoch = leaderEpoch;
  followed.leaderHighWatermark = -1;
  followed.leaderStart = -1;
  followed.retryMs = WAIT_MS_MIN;
  followed.stage = firstStage(followed.log);
  if (followed.stage === 'ready') beReady(fetcher, followed);
}

/** Follows a partition no longer. A cut that has not happened will not. */
export function unfollow(fetcher: Fetcher, followed: Followed): void {
  leave(fetcher, followed);
  followed.stage = firstStage(followed.log);
  fetcher.followed.delete(followedKey(followed.topicId, followed.index));
}

/** Whether the fetcher still follows it: an event may come after the end. */
function isFollowed(fetcher: Fetcher, followed: Followed): boolean {
  return fetcher.followed.get(followedKey(followed.topicId, followed.index)) === followed;
}

/** To be listed in the next request. */
export function beReady(fetcher: Fetcher, followed: Followed): void {
  followed.stage = 'ready';
  fetcher.readyCount++;
  fetcher.waiting.delete(followed);
  fetcher.changed.add(followed);
}

/** Out of the session, for the stage that follows. */
export function leave(fetcher: Fetcher, followed: Followed): void {
  if (followed.stage === 'ready') fetcher.readyCount--;
  fetcher.waiting.delete(followed);
  fetcher.changed.delete(followed);
  followed.listedIn = 0;
  if (!followed.isInSession) return;
  followed.isInSession = false;
  const { topicId, index } = followed;
  fetcher.gone.set(followedKey(topicId, index), { topicId, index });
}

/** Tries again later. */
export function delay(fetcher: Fetcher, env: Env, followed: Followed): void {
  leave(fetcher, followed);
  followed.stage = 'waiting';
  followed.retryAtMs = env.nowMs + followed.retryMs;
  followed.retryMs = Math.min(followed.retryMs * 2, fetcher.settings.backoffMs);
  fetcher.waiting.add(followed);
}

/** Those that have to keep the rate wait until there is room for more. */
function holdBack(fetcher: Fetcher, env: Env): void {
  const { throttle, changed, followed: all, sessionId, waiting } = fetcher;
  const retryAtMs = freeAtMs(throttle, env.nowMs);
  if (retryAtMs <= env.nowMs) return;
  for (const followed of sessionId === 0 ? all.values() : changed) {
    if (followed.throttled !== 'bound' || followed.stage !== 'ready') continue;
    env.reached('replication.throttled.follower');
    leave(fetcher, followed);
    followed.stage = 'waiting';
    followed.retryAtMs = retryAtMs;
    waiting.add(followed);
  }
}

/** The rate, or who has to keep it, is another: whoever waits for it looks again. */
export function throttleChanged(fetcher: Fetcher, nowMs: number): void {
  for (const followed of fetcher.waiting) followed.retryAtMs = Math.min(followed.retryAtMs, nowMs);
}

/** The log is to be cut, or reset: the owner's checkpoints come first. */
export function startCut(
  fetcher: Fetcher,
  followed: Followed,
  offset: number,
  isReset: boolean,
  events: FetcherEvent[],
  isMending = false,
): void {
  leave(fetcher, followed);
  followed.stage = 'lowering';
  followed.cutTo = offset;
  followed.isReset = isReset;
  followed.isMending = isMending;
  events.push({ kind: 'lower', followed, offset, isReset });
}

/** The owner's checkpoints are lowered: cuts. */
export function cutFollowed(fetcher: Fetcher, env: Env, followed: Followed, offset: number, out: Outbox): void {
  if (!isFollowed(fetcher, followed) || followed.stage !== 'lowering' || followed.cutTo !== offset) return;
  if (offset < followed.highWatermark && !followed.isMending) {
    env.reached('replication.cut_committed');
    sayCut(followed, fetcher.leaderId, offset, out);
  }
  followed.highWatermark = Math.min(followed.highWatermark, offset);
  followed.leaderHighWatermark = -1;
  followed.leaderStart = -1;
  followed.stage = 'cutting';
  if (followed.isReset) resetTo(followed.log, env, offset, out);
  else if (truncateTo(followed.log, env, offset, out)) beReady(fetcher, followed);
}

/** What the log of a followed partition has said. */
export function takeFollowedEvent(
  fetcher: Fetcher,
  env: Env,
  followed: Followed,
  event: LogEvent,
  events: FetcherEvent[],
): void {
  if (!isFollowed(fetcher, followed)) return;
  switch (event.kind) {
    case 'durable':
      if (raiseWatermark(followed)) events.push({ kind: 'watermark', followed });
      followStart(followed, events);
      if (followed.stage === 'syncing' && followed.log.durable >= followed.log.end) beReady(fetcher, followed);
      break;
    case 'cutBack':
      // The disk is full: what was fetched is fetched again.
      if (followed.stage === 'syncing') delay(fetcher, env, followed);
      break;
    case 'truncated':
      if (followed.stage !== 'cutting') break;
      if (followed.isReset) followed.highWatermark = event.offset;
      beReady(fetcher, followed);
      break;
    case 'cutRefused':
      if (followed.stage !== 'cutting') break;
      // What is damaged may be committed, and this replica is counted on: it stands down before it is cut.
      if (event.isNewlyDamaged && !followed.isMending) delay(fetcher, env, followed);
      else startCut(fetcher, followed, event.offset, false, events, followed.isMending);
      break;
    default:
      break;
  }
}

/** What is committed below the start of the leader's log is not kept here either. */
export function followStart(followed: Followed, events: FetcherEvent[]): void {
  const offset = startToWrite(followed);
  if (offset >= 0) events.push({ kind: 'start', followed, offset });
}

/** That the log begins at `offset` is written down: it does, and the leader is told, which may be waiting for it. */
export function startFollowed(
  fetcher: Fetcher,
  followed: Followed,
  offset: number,
  out: Outbox,
  events: LogEvent[],
): void {
  giveUpStart(followed);
  const { log, highWatermark } = followed;
  if (!isFollowed(fetcher, followed) || log.state !== 'open' || log.truncation !== null) return;
  if (offset > highWatermark) return;
  deleteBelow(log, offset, out, events);
  if (followed.stage === 'ready') fetcher.changed.add(followed);
}

/** The start could not be written down, or is not wanted any more. */
export function giveUpStart(followed: Followed): void {
  followed.wantedStart = -1;
}

/** When the fetcher has something to do by itself, `env.nowMs`. */
export function fetcherDeadlineMs(fetcher: Fetcher): number {
  let deadlineMs = fetcher.calls.length === 0 && fetcher.readyCount > 0 ? fetcher.retryAtMs : Infinity;
  for (const { retryAtMs } of fetcher.waiting) deadlineMs = Math.min(deadlineMs, retryAtMs);
  return deadlineMs;
}

/** Sends what is to be sent; called once all that a step has changed is known, and at the deadline. */
export function pumpFetcher(fetcher: Fetcher, env: Env, events: FetcherEvent[]): void {
  for (const followed of fetcher.waiting) if (followed.retryAtMs <= env.nowMs) beReady(fetcher, followed);
  if (env.nowMs < fetcher.retryAtMs) return;
  holdBack(fetcher, env);
  if (fetcher.readyCount === 0) return;
  const parked = fetcher.calls[0];
  if (parked !== undefined && (fetcher.calls.length > 1 || parked.isFull || fetcher.changed.size === 0)) return;
  const number = ++fetcher.requests;
  const isFull = fetcher.sessionId === 0;
  const ticket = nextTicket(fetcher.ids);
  const body = requestOf(fetcher, number, isFull);
  fetcher.calls.push({ ticket, number, isFull });
  const { leaderId: nodeId, settings } = fetcher;
  events.push({ kind: 'call', ticket, nodeId, timeoutMs: settings.timeoutMs, apiKey: FETCH_KEY, body });
}

function requestOf(fetcher: Fetcher, number: number, isFull: boolean): FetchRequest {
  const { settings, self, brokerEpoch, sessionId, sessionEpoch } = fetcher;
  const topics: FetchRequest['topics'] = [];
  const listed = isFull ? fetcher.followed.values() : fetcher.changed;
  for (const followed of listed) if (followed.stage === 'ready') list(fetcher, topics, followed, number);
  fetcher.changed.clear();
  const forgottenTopicsData: FetchRequest['forgottenTopicsData'] = [];
  for (const [key, { topicId, index }] of fetcher.gone) {
    // One that has come back in the meantime is listed anew.
    if (fetcher.followed.get(key)?.isInSession === true) continue;
    const last = forgottenTopicsData[forgottenTopicsData.length - 1];
    if (last?.topicId === topicId) last.partitions.push(index);
    else forgottenTopicsData.push({ topic: '', topicId, partitions: [index] });
  }
  fetcher.gone.clear();
  if (!isFull) fetcher.sessionEpoch = sessionEpoch === 0x7fffffff ? 1 : sessionEpoch + 1;
  return {
    clusterId: null,
    replicaId: -1,
    replicaState: { replicaId: self, replicaEpoch: brokerEpoch },
    // The first answer of a session is wanted at once: before it there is no session to add to.
    maxWaitMs: isFull && !fetcher.isSessionless ? 0 : settings.maxWaitMs,
    minBytes: settings.minBytes,
    maxBytes: settings.maxBytes,
    isolationLevel: 0,
    sessionId,
    sessionEpoch: isFull ? 0 : sessionEpoch,
    topics,
    forgottenTopicsData: isFull ? [] : forgottenTopicsData,
    rackId: '',
  };
}

function list(fetcher: Fetcher, topics: FetchRequest['topics'], followed: Followed, number: number): void {
  const { log, topicId, index, leaderEpoch, throttled } = followed;
  const bytesMax = fetcher.settings.partitionMaxBytes;
  followed.listedIn = number;
  followed.isInSession = true;
  const partition: FetchRequest['topics'][number]['partitions'][number] = {
    partition: index,
    currentLeaderEpoch: leaderEpoch,
    fetchOffset: log.end,
    lastFetchedEpoch: latestEpoch(log),
    logStartOffset: log.start,
    partitionMaxBytes: throttled === 'bound' ? portion(fetcher.throttle, bytesMax) : bytesMax,
    replicaDirectoryId: ZERO_UUID,
    highWatermark: followed.highWatermark,
  };
  const last = topics[topics.length - 1];
  if (last?.topicId === topicId) last.partitions.push(partition);
  else topics.push({ topic: '', topicId, partitions: [partition] });
}

/** The session is over, or was never begun: the next request lists everything. */
export function endSession(fetcher: Fetcher): void {
  fetcher.calls = [];
  fetcher.sessionId = 0;
  fetcher.sessionEpoch = 0;
  fetcher.gone.clear();
  for (const followed of fetcher.followed.values()) {
    followed.listedIn = 0;
    followed.isInSession = false;
  }
}
