/**
 * What the answers of a leader mean to those who follow it.
 *
 * For each partition, in this order: an error, a diverging epoch, records, the high watermark, the log's start. An
 * error of one partition never touches another. One that the leader does not know yet, or does not lead any more, is
 * tried again soon and ever less often; the metadata will say where to go.
 */
import { nextTicket } from '../lib/ids.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { appendAsFollower } from '../log/log.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { FetchResponse } from '../protocol/messages/01-fetch.ts';
import type { ListOffsetsResponse } from '../protocol/messages/02-list-offsets.ts';
import { type CallOutcome, LIST_OFFSETS_KEY } from './calls.ts';
import {
  beReady,
  delay,
  endSession,
  type FetchCall,
  type Fetcher,
  type FetcherEvent,
  followedKey,
  followStart,
  leave,
  startCut,
} from './fetcher.ts';
import { divergingCut, type Followed, isBelowLog, isUnvouched, raiseWatermark, WAIT_MS_MIN } from './followed.ts';
import { draw } from './throttle.ts';

const LATEST = -1;
const EARLIEST = -2;

type Answer = FetchResponse['responses'][number]['partitions'][number];

/** Where what a step brings about goes. */
export interface Sinks {
  readonly out: Outbox;
  readonly events: FetcherEvent[];
}

/** Takes the answer to a call; one to a call of an earlier session is dropped. */
export function takeFetcherAnswer(
  fetcher: Fetcher,
  env: Env,
  ticket: number,
  outcome: CallOutcome,
  sinks: Sinks,
): void {
  const asking = fetcher.lookups.get(ticket);
  if (asking !== undefined) {
    fetcher.lookups.delete(ticket);
    takeLookup(fetcher, env, asking, outcome, sinks);
    return;
  }
  const place = fetcher.calls.findIndex((call) => call.ticket === ticket);
  const call = fetcher.calls[place];
  if (call === undefined) return;
  const response = 'response' in outcome ? (outcome.response as FetchResponse) : null;
  // An answer that overtakes another one is not of the session that we believe in.
  if (response === null || place > 0 || !continues(fetcher, env, call, response)) {
    env.reached('replication.session.ended');
    endSession(fetcher);
    const isForgotten = response !== null && isSessionError(response.errorCode);
    if (!isForgotten) backOff(fetcher, env);
    return;
  }
  fetcher.calls.shift();
  fetcher.retryMs = WAIT_MS_MIN;
  for (const { topicId, partitions } of response.responses) {
    for (const answer of partitions) {
      const followed = fetcher.followed.get(followedKey(topicId, answer.partitionIndex));
      const isFor = followed !== undefined && followed.listedIn !== 0 && followed.listedIn <= call.number;
      if (isFor) takePartition(fetcher, env, followed, answer, sinks);
      else env.reached('replication.answer.late');
    }
  }
}

/** Whether the session goes on. */
function continues(fetcher: Fetcher, env: Env, call: FetchCall, response: FetchResponse): boolean {
  if (response.errorCode !== ErrorCode.NONE) return false;
  if (!call.isFull) return response.sessionId === fetcher.sessionId;
  fetcher.isSessionless = response.sessionId === 0;
  fetcher.sessionId = response.sessionId;
  fetcher.sessionEpoch = 1;
  if (fetcher.isSessionless) env.reached('replication.session.none');
  return true;
}

function isSessionError(error: number): boolean {
  return error === ErrorCode.FETCH_SESSION_ID_NOT_FOUND || error === ErrorCode.INVALID_FETCH_SESSION_EPOCH;
}

function backOff(fetcher: Fetcher, env: Env): void {
  fetcher.retryAtMs = env.nowMs + fetcher.retryMs;
  fetcher.retryMs = Math.min(fetcher.retryMs * 2, fetcher.settings.backoffMs);
}

function takePartition(fetcher: Fetcher, env: Env, followed: Followed, answer: Answer, sinks: Sinks): void {
  if (answer.errorCode === ErrorCode.OFFSET_OUT_OF_RANGE) {
    env.reached('replication.out_of_range');
    leave(fetcher, followed);
    followed.stage = 'asking';
    askOffset(fetcher, followed, 'latest', sinks.events);
    return;
  }
  if (answer.errorCode !== ErrorCode.NONE) {
    env.reached('replication.partition_error');
    delay(fetcher, env, followed);
    return;
  }
  const { epoch, endOffset } = answer.divergingEpoch;
  if (endOffset >= 0) {
    env.reached('replication.diverging');
    if (followed.standsDown) {
      env.reached('replication.diverging.damaged');
      delay(fetcher, env, followed);
      return;
    }
    const offset = divergingCut(followed.log, epoch, endOffset);
    startCut(fetcher, followed, offset, isBelowLog(followed.log, offset), sinks.events);
    return;
  }
  followed.retryMs = WAIT_MS_MIN;
  if (!followed.standsDown && isUnvouched(followed, answer.logStartOffset)) {
    env.reached('replication.unvouched');
    startCut(fetcher, followed, answer.logStartOffset, true, sinks.events);
    return;
  }
  if (answer.records !== null && answer.records.length > 0) {
    if (followed.throttled !== 'no') draw(fetcher.throttle, answer.records.length, env.nowMs);
    if (!append(fetcher, env, followed, answer.records, sinks.out)) return;
  }
  if (answer.highWatermark > followed.leaderHighWatermark) followed.leaderHighWatermark = answer.highWatermark;
  if (raiseWatermark(followed)) sinks.events.push({ kind: 'watermark', followed });
  followed.leaderStart = answer.logStartOffset;
  followStart(followed, sinks.events);
}

/** False when nothing of it was taken. */
function append(fetcher: Fetcher, env: Env, followed: Followed, records: Uint8Array, out: Outbox): boolean {
  const { log, leaderEpoch } = followed;
  const outcome = appendAsFollower(log, env, records, leaderEpoch, out);
  if (outcome.error === ErrorCode.CORRUPT_MESSAGE) {
    env.reached('replication.bad_records');
    const fields = new Map<string, string | number>([
      ['topic', log.topic],
      ['partition', log.partition],
      ['leader', fetcher.leaderId],
      ['reason', outcome.message ?? ''],
    ]);
    out.push({ kind: 'say', level: 'error', text: 'a leader has sent what cannot be appended', fields });
  }
  if (outcome.usedBytes === 0) {
    delay(fetcher, env, followed);
    return false;
  }
  leave(fetcher, followed);
  followed.stage = 'syncing';
  return true;
}

function askOffset(fetcher: Fetcher, followed: Followed, asked: 'latest' | 'earliest', events: FetcherEvent[]): void {
  followed.asked = asked;
  const ticket = nextTicket(fetcher.ids);
  fetcher.lookups.set(ticket, followed);
  const { index: partitionIndex, leaderEpoch: currentLeaderEpoch, topic: name } = followed;
  const partition = { partitionIndex, currentLeaderEpoch, timestamp: asked === 'latest' ? LATEST : EARLIEST };
  events.push({
    kind: 'call',
    ticket,
    nodeId: fetcher.leaderId,
    timeoutMs: fetcher.settings.timeoutMs,
    apiKey: LIST_OFFSETS_KEY,
    body: {
      replicaId: fetcher.self,
      isolationLevel: 0,
      topics: [{ name, partitions: [partition] }],
      timeoutMs: fetcher.settings.timeoutMs,
    },
  });
}

/** Where the leader's log ends, or begins. */
function takeLookup(fetcher: Fetcher, env: Env, followed: Followed, outcome: CallOutcome, sinks: Sinks): void {
  const isHere = fetcher.followed.get(followedKey(followed.topicId, followed.index)) === followed;
  if (!isHere || followed.stage !== 'asking') return;
  const response = 'response' in outcome ? (outcome.response as ListOffsetsResponse) : null;
  const answer = response?.topics[0]?.partitions[0];
  if (answer === undefined || answer.errorCode !== ErrorCode.NONE || answer.offset < 0) {
    delay(fetcher, env, followed);
    return;
  }
  const { log } = followed;
  // It still counts as one that has all: the leader's log may be the shorter one for what this one hides.
  if (followed.standsDown) {
    env.reached('replication.out_of_range.damaged');
    delay(fetcher, env, followed);
    return;
  }
  if (followed.asked === 'latest' && answer.offset < log.end) {
    startCut(fetcher, followed, answer.offset, isBelowLog(log, answer.offset), sinks.events);
  } else if (followed.asked === 'latest') {
    askOffset(fetcher, followed, 'earliest', sinks.events);
  } else if (answer.offset > log.end) {
    startCut(fetcher, followed, answer.offset, true, sinks.events);
  } else {
    beReady(fetcher, followed);
  }
}
