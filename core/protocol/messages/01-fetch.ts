/**
 * Fetch, API key 1.
 *
 * Reads batches from partitions, for consumers, followers and voters of the metadata quorum alike. From version
 * 7 requests build on a session (KIP-227), from 13 topics go by id. Names, types and versions of the fields are
 * those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import {
  array,
  arrayOf,
  type BodyOf,
  int8,
  int16,
  int32,
  int64,
  message,
  records,
  string,
  struct,
  uuid,
} from '../schema.ts';

/** What to read, or what has changed since the last request of the session. */
export const FetchRequest = message(
  { name: 'FetchRequest', versions: '4-18', flexible: '12+' },
  {
    /** Checked by voters of a quorum; clients leave it out. */
    clusterId: string('12+', { nullable: '12+', tag: 0, default: null, ignorable: true }),
    /** -1 for a consumer. */
    replicaId: int32('0-14', { default: -1 }),
    /** The same from version 15, with the broker's epoch (KIP-903). */
    replicaState: struct(
      { replicaId: int32('15+', { default: -1 }), replicaEpoch: int64('15+', { default: -1 }) },
      '15+',
      { tag: 1 },
    ),
    /** How long to wait until there are `minBytes`. */
    maxWaitMs: int32(),
    minBytes: int32(),
    /** Of the whole response; the first batch comes even if it is larger. */
    maxBytes: int32('3+', { default: 0x7fffffff, ignorable: true }),
    /** 0: all up to the high watermark. 1: no open or aborted transactions (read_committed). */
    isolationLevel: int8('4+', { default: 0, ignorable: true }),
    /** 0 for no session, or to begin one. */
    sessionId: int32('7+', { default: 0, ignorable: true }),
    /** -1 for no session, 0 to begin one, then counting from 1. */
    sessionEpoch: int32('7+', { default: -1, ignorable: true }),
    topics: array({
      topic: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitions: array({
        partition: int32(),
        /** What the client takes for the leader's epoch; -1 if it does not know. */
        currentLeaderEpoch: int32('9+', { default: -1, ignorable: true }),
        fetchOffset: int64(),
        /** Epoch of the last record that a follower holds; -1 for consumers. */
        lastFetchedEpoch: int32('12+', { default: -1 }),
        /** The follower's own log start; -1 for consumers. */
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        partitionMaxBytes: int32(),
        /** The follower's log directory; zero for consumers. */
        replicaDirectoryId: uuid('17+', { tag: 0, ignorable: true }),
        /** What a follower takes for the high watermark (KIP-1166); the largest number if it cannot say. */
        highWatermark: int64('18+', { tag: 1, default: Number.MAX_SAFE_INTEGER, ignorable: true }),
      }),
    }),
    /** Partitions that leave the session. */
    forgottenTopicsData: array(
      {
        topic: string('7-12', { ignorable: true }),
        topicId: uuid('13+', { ignorable: true }),
        partitions: arrayOf(int32(), '7+'),
      },
      '7+',
    ),
    /** Where the consumer is, to be sent to a near replica (KIP-392). */
    rackId: string('11+', { default: '', ignorable: true }),
  },
);
/** The request as it is read. */
export type FetchRequest = BodyOf<typeof FetchRequest>;

/** Batches: a list of views when written, one view when read. */
export const FetchResponse = message(
  { name: 'FetchResponse', versions: '4-18', flexible: '12+' },
  {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('7+', { ignorable: true }),
    sessionId: int32('7+', { default: 0 }),
    responses: array({
      topic: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        highWatermark: int64(),
        /** End of what read_committed may see. */
        lastStableOffset: int64('4+', { default: -1, ignorable: true }),
        logStartOffset: int64('5+', { default: -1, ignorable: true }),
        /** Where the follower's log parts from the leader's: it truncates to there. */
        divergingEpoch: struct(
          { epoch: int32('12+', { default: -1 }), endOffset: int64('12+', { default: -1 }) },
          '12+',
          { tag: 0 },
        ),
        /** Where to go instead. */
        currentLeader: struct(
          { leaderId: int32('12+', { default: -1 }), leaderEpoch: int32('12+', { default: -1 }) },
          '12+',
          { tag: 1 },
        ),
        /** The snapshot to fetch first, where the log no longer reaches back. */
        snapshotId: struct({ endOffset: int64('0+', { default: -1 }), epoch: int32('0+', { default: -1 }) }, '12+', {
          tag: 2,
        }),
        /** Which transactions in the records to pass over, read_committed only. */
        abortedTransactions: array({ producerId: int64('4+'), firstOffset: int64('4+') }, '4+', {
          nullable: '4+',
          ignorable: true,
        }),
        /** A nearer replica to read from; -1 for none. */
        preferredReadReplica: int32('11+', { default: -1 }),
        records: records('0+', { nullable: '0+' }),
      }),
    }),
    /** Addresses of all leaders named above. */
    nodeEndpoints: array(
      {
        nodeId: int32('16+'),
        host: string('16+'),
        port: int32('16+'),
        rack: string('16+', { nullable: '16+', default: null }),
      },
      '16+',
      { tag: 0 },
    ),
  },
);
/** The response as it is read. */
export type FetchResponse = BodyOf<typeof FetchResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const Fetch = api(
  { key: 1, name: 'Fetch', advertised: '4-18', listeners: ['broker', 'controller'] },
  FetchRequest,
  FetchResponse,
);
