/** A fetch session by itself: what its requests name, what its answers are for, and what a failure costs. */
import { beforeEach, describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env } from '../../core/lib/world.ts';
import { createLog, type Log, truncateTo } from '../../core/log/log.ts';
import { createSegment } from '../../core/log/state.ts';
import { appendParts } from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { FetchRequest, FetchResponse } from '../../core/protocol/messages/01-fetch.ts';
import type { Call } from '../../core/replication/calls.ts';
import { takeFetcherAnswer } from '../../core/replication/fetch-answers.ts';
import {
  createFetcher,
  type Fetcher,
  type FetcherEvent,
  fetcherDeadlineMs,
  follow,
  followEpoch,
  pumpFetcher,
  takeFollowedEvent,
  unfollow,
} from '../../core/replication/fetcher.ts';
import type { Followed } from '../../core/replication/followed.ts';
import { createThrottle } from '../../core/replication/throttle.ts';
import { batchOf, CONFIG, concat, FAKE_CODECS } from '../log/world.ts';

const SETTINGS = {
  maxWaitMs: 500,
  minBytes: 1,
  maxBytes: 10_000_000,
  partitionMaxBytes: 1_000_000,
  backoffMs: 1000,
  timeoutMs: 30_000,
};
const ids = createIds();
let nowMs = 1000;
const env: Env = {
  get nowMs() {
    return nowMs;
  },
  wallMs: 0,
  crc32c,
  codecs: FAKE_CODECS,
  reached: () => {},
};

/** A log that is open and empty, without a disk. */
function openLog(index: number): Log {
  const log = createLog({
    owner: index + 1,
    ids,
    topic: 'orders',
    partition: index,
    folder: '/d/orders',
    config: CONFIG,
  });
  log.state = 'open';
  log.segments = [createSegment(0)];
  return log;
}

let fetcher: Fetcher;
let followed: Followed[];
let logEvents: FetcherEvent[];

function setUp(count: number): void {
  nowMs = 1000;
  fetcher = createFetcher(ids, 7, 3, SETTINGS, createThrottle());
  fetcher.brokerEpoch = 55;
  followed = Array.from({ length: count }, (_, index) =>
    follow(fetcher, { log: openLog(index), topicId: 'T', topic: 'orders', index, leaderEpoch: 4, highWatermark: 0 }),
  );
  logEvents = [];
}

/** The Fetch requests that are sent now. */
function pump(): (Call & { apiKey: 1; body: FetchRequest })[] {
  const events: FetcherEvent[] = [];
  pumpFetcher(fetcher, env, events);
  return events.filter((event) => event.kind === 'call' && event.apiKey === 1) as never;
}

function one(): Call & { apiKey: 1; body: FetchRequest } {
  const sent = pump();
  expect(sent).toHaveLength(1);
  return sent[0] as never;
}

type Answer = FetchResponse['responses'][number]['partitions'][number];

function answerOf(partitionIndex: number, more: Partial<Answer> = {}): Answer {
  return {
    partitionIndex,
    errorCode: 0,
    highWatermark: 0,
    lastStableOffset: -1,
    logStartOffset: 0,
    divergingEpoch: { epoch: -1, endOffset: -1 },
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
    snapshotId: { endOffset: -1, epoch: -1 },
    abortedTransactions: null,
    preferredReadReplica: -1,
    records: null,
    ...more,
  };
}

function take(call: Call, partitions: Answer[], more: Partial<FetchResponse> = {}): FetcherEvent[] {
  const responses = [{ topic: '', topicId: 'T', partitions }];
  const response = { throttleTimeMs: 0, errorCode: 0, sessionId: 99, responses, nodeEndpoints: [], ...more };
  const events: FetcherEvent[] = [];
  takeFetcherAnswer(fetcher, env, call.ticket, { response }, { out: [], events });
  return events;
}

const batch = (base: number, epoch = 4): Uint8Array => concat(appendParts(batchOf(['x']), base, epoch));
const listed = ({ body }: { body: FetchRequest }): number[] =>
  body.topics.flatMap(({ partitions }) => partitions.map(({ partition }) => partition));
const forgotten = ({ body }: { body: FetchRequest }): number[] =>
  body.forgottenTopicsData.flatMap(({ partitions }) => partitions);

function synced(one: Followed): void {
  one.log.durable = one.log.end;
  takeFollowedEvent(fetcher, env, one, { kind: 'durable' }, logEvents);
}

describe('a session', () => {
  beforeEach(() => setUp(1000));

  it('names everything once, with epochs and offsets, and then only what has moved', () => {
    const first = one();
    expect(listed(first)).toHaveLength(1000);
    expect(first.body).toMatchObject({ sessionId: 0, sessionEpoch: 0, maxWaitMs: 0 });
    expect(first.body.replicaState).toEqual({ replicaId: 7, replicaEpoch: 55 });
    expect(first.body.topics[0]?.partitions[0]).toMatchObject({ currentLeaderEpoch: 4, fetchOffset: 0 });
    take(first, []);
    const second = one();
    expect(second.body).toMatchObject({ sessionId: 99, sessionEpoch: 1, maxWaitMs: 500, topics: [] });
    take(
      second,
      [5, 50, 500].map((index) => answerOf(index, { records: batch(0), highWatermark: 1 })),
    );
    // While their bytes are on their way to the disk they are out of the session, and hold back nobody.
    const third = one();
    expect(listed(third)).toEqual([]);
    expect(forgotten(third)).toEqual([5, 50, 500]);
    for (const index of [5, 50, 500]) synced(followed[index] as Followed);
    const fourth = one();
    expect(listed(fourth)).toEqual([5, 50, 500]);
    expect(forgotten(fourth)).toEqual([]);
    expect(fourth.body.topics[0]?.partitions[0]).toMatchObject({ fetchOffset: 1, lastFetchedEpoch: 4 });
    expect(followed[5]?.highWatermark).toBe(1);
  });

  it('sends a second request behind a parked one when there is news, and never a third', () => {
    take(one(), [answerOf(1, { records: batch(0) }), answerOf(2, { records: batch(0) })]);
    one();
    expect(pump()).toEqual([]);
    synced(followed[1] as Followed);
    expect(listed(one())).toEqual([1]);
    synced(followed[2] as Followed);
    expect(pump()).toEqual([]);
    expect(fetcherDeadlineMs(fetcher)).toBe(Infinity);
  });

  it('begins again with everything after a failure, later and later; and at once if it was forgotten', () => {
    const first = one();
    takeFetcherAnswer(fetcher, env, first.ticket, { failure: 'closed' }, { out: [], events: [] });
    expect(pump()).toEqual([]);
    nowMs = fetcherDeadlineMs(fetcher);
    expect(nowMs).toBe(1020);
    const second = one();
    expect(listed(second)).toHaveLength(1000);
    takeFetcherAnswer(fetcher, env, second.ticket, { failure: 'refused' }, { out: [], events: [] });
    expect(fetcherDeadlineMs(fetcher)).toBe(1060);
    nowMs = 1060;
    take(one(), []);
    take(one(), [], { errorCode: ErrorCode.FETCH_SESSION_ID_NOT_FOUND, sessionId: 0 });
    expect(one().body).toMatchObject({ sessionId: 0, sessionEpoch: 0 });
  });

  it('long-polls without a session where the leader has no room for one', () => {
    take(one(), [], { sessionId: 0 });
    const second = one();
    expect(listed(second)).toHaveLength(1000);
    expect(second.body).toMatchObject({ sessionId: 0, sessionEpoch: 0, maxWaitMs: 500 });
  });

  it('forgets a partition that is followed no longer', () => {
    take(one(), []);
    one();
    unfollow(fetcher, followed[3] as Followed);
    follow(fetcher, { log: openLog(3), topicId: 'U', topic: 'others', index: 0, leaderEpoch: 1, highWatermark: 0 });
    const next = one();
    expect(forgotten(next)).toEqual([3]);
    expect(next.body.topics.map(({ topicId }) => topicId)).toEqual(['U']);
  });
});

describe('an answer', () => {
  beforeEach(() => setUp(2));

  it('to a request from before a change of epoch is not believed, although the leader is the same', () => {
    const first = one();
    followEpoch(fetcher, followed[0] as Followed, 6);
    take(first, [answerOf(0, { records: batch(0) }), answerOf(1, { records: batch(0) })]);
    expect(followed[0]?.log.end).toBe(0);
    expect(followed[1]?.log.end).toBe(1);
    expect(one().body.topics[0]?.partitions[0]).toMatchObject({ partition: 0, currentLeaderEpoch: 6 });
  });

  it('that asked for a cut means nothing any more once the epoch has changed', () => {
    const [mine] = followed as [Followed];
    take(one(), [answerOf(0, { records: batch(0) })]);
    synced(mine);
    truncateTo(mine.log, env, 0, []);
    expect(mine.log.truncation).not.toBe(null);
    followEpoch(fetcher, mine, 6);
    expect(mine.log.truncation).toBe(null);
    expect(mine.stage).toBe('ready');
  });

  it('that a log diverges asks for lower checkpoints first, and does not touch the watermark (KAFKA-14704)', () => {
    const [mine] = followed as [Followed];
    take(one(), [answerOf(0, { records: batch(0) })]);
    synced(mine);
    const next = one();
    const diverging = answerOf(0, { divergingEpoch: { epoch: 3, endOffset: 0 }, highWatermark: 1 });
    expect(take(next, [diverging])).toEqual([{ kind: 'lower', followed: mine, offset: 0, isReset: false }]);
    expect(mine.stage).toBe('lowering');
    expect(mine.highWatermark).toBe(0);
  });

  it('that a log diverges is not believed where damage hides its epochs, as long as it counts as in sync', () => {
    const [mine] = followed as [Followed];
    take(one(), [answerOf(0, { records: batch(0) })]);
    synced(mine);
    mine.standsDown = true;
    const diverging = answerOf(0, { divergingEpoch: { epoch: 3, endOffset: 0 } });
    expect(take(one(), [diverging])).toEqual([]);
    expect([mine.stage, mine.log.end]).toEqual(['waiting', 1]);
    mine.standsDown = false;
    nowMs = 1020;
    expect(take(one(), [diverging])).toEqual([{ kind: 'lower', followed: mine, offset: 0, isReset: false }]);
  });

  it('is asked again where a cut has come to damage that nobody knew of: the replica stands down first', () => {
    const [mine] = followed as [Followed];
    const refuse = (isNewlyDamaged: boolean): FetcherEvent[] => {
      const events: FetcherEvent[] = [];
      mine.stage = 'cutting';
      takeFollowedEvent(fetcher, env, mine, { kind: 'cutRefused', offset: 0, isNewlyDamaged }, events);
      return events;
    };
    expect(refuse(true)).toEqual([]);
    expect(mine.stage).toBe('waiting');
    expect(refuse(false)).toEqual([{ kind: 'lower', followed: mine, offset: 0, isReset: false }]);
    mine.isMending = true;
    expect(refuse(true)).toEqual([{ kind: 'lower', followed: mine, offset: 0, isReset: false }]);
  });

  it('that its log is out of range cuts nothing either, as long as it counts as in sync', () => {
    const [mine] = followed as [Followed];
    take(one(), [answerOf(0, { records: batch(0) })]);
    synced(mine);
    const lookUp = (): FetcherEvent[] => {
      const [ask] = take(one(), [answerOf(0, { errorCode: ErrorCode.OFFSET_OUT_OF_RANGE })]);
      const partition = { partitionIndex: 0, errorCode: 0, timestamp: -1, offset: 0, leaderEpoch: 4 };
      const response = { throttleTimeMs: 0, topics: [{ name: 'orders', partitions: [partition] }] };
      const events: FetcherEvent[] = [];
      takeFetcherAnswer(fetcher, env, (ask as Call).ticket, { response }, { out: [], events });
      return events;
    };
    mine.standsDown = true;
    expect(lookUp()).toEqual([]);
    expect([mine.stage, mine.log.end]).toEqual(['waiting', 1]);
    mine.standsDown = false;
    nowMs = 1020;
    expect(lookUp()).toMatchObject([{ kind: 'lower', followed: mine, offset: 0 }]);
  });

  it('of a leader that begins where a log ends, and cannot vouch for it, has that log begin anew', () => {
    const [mine, other] = followed as [Followed, Followed];
    take(one(), [answerOf(0, { records: batch(0) }), answerOf(1, { records: batch(0) })]);
    synced(mine);
    synced(other);
    const deleted = { highWatermark: 10, logStartOffset: 1 };
    const vouched = take(one(), [answerOf(1, deleted)]);
    expect(vouched).toMatchObject([{ kind: 'watermark' }, { kind: 'start', followed: other, offset: 1 }]);
    followEpoch(fetcher, mine, 5);
    const answer = answerOf(0, { ...deleted, records: batch(1, 5) });
    expect(take(one(), [answer])).toEqual([{ kind: 'lower', followed: mine, offset: 1, isReset: true }]);
    expect([mine.stage, mine.log.end, mine.highWatermark]).toEqual(['lowering', 1, 0]);
  });

  it('that is an error concerns its partition only, which is tried again soon', () => {
    take(one(), [answerOf(0, { errorCode: ErrorCode.UNKNOWN_LEADER_EPOCH }), answerOf(1, { records: batch(0) })]);
    expect(followed.map(({ stage }) => stage)).toEqual(['waiting', 'syncing']);
    expect(fetcherDeadlineMs(fetcher)).toBe(1020);
    nowMs = 1020;
    const again = one();
    expect(listed(again)).toEqual([0]);
    take(again, [answerOf(0, { errorCode: ErrorCode.UNKNOWN_LEADER_EPOCH })]);
    expect(fetcherDeadlineMs(fetcher)).toBe(1060);
  });

  it('with bytes that cannot be appended is said, and asked for again', () => {
    const out: never[] = [];
    const response = {
      throttleTimeMs: 0,
      errorCode: 0,
      sessionId: 99,
      responses: [{ topic: '', topicId: 'T', partitions: [answerOf(0, { records: batch(7) })] }],
      nodeEndpoints: [],
    };
    takeFetcherAnswer(fetcher, env, one().ticket, { response }, { out, events: [] });
    expect(out).toMatchObject([{ kind: 'say', level: 'error' }]);
    expect(followed[0]?.stage).toBe('waiting');
  });

  it('out of range leads to the leader’s end, then to its start', () => {
    const events = take(one(), [answerOf(0, { errorCode: ErrorCode.OFFSET_OUT_OF_RANGE })]);
    const told = (offset: number) => ({
      response: {
        throttleTimeMs: 0,
        topics: [
          { name: 'orders', partitions: [{ partitionIndex: 0, errorCode: 0, timestamp: -1, offset, leaderEpoch: 4 }] },
        ],
      },
    });
    const ask = events[0] as Call;
    expect(ask).toMatchObject({ kind: 'call', apiKey: 2, nodeId: 3 });
    const next: FetcherEvent[] = [];
    takeFetcherAnswer(fetcher, env, ask.ticket, told(90), { out: [], events: next });
    const last: FetcherEvent[] = [];
    takeFetcherAnswer(fetcher, env, (next[0] as Call).ticket, told(40), { out: [], events: last });
    expect(last).toEqual([{ kind: 'lower', followed: followed[0], offset: 40, isReset: true }]);
  });
});
