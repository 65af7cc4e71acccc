/** All cases, in the order in which they are asked, and the few where we answer otherwise than Apache Kafka does. */
import { CONSUMER_CASES } from './consumers.ts';
import { FETCH_CASES } from './fetch.ts';
import { GROUP_CASES } from './groups.ts';
import { OTHER_CASES } from './others.ts';
import { PRODUCE_CASES, type Run } from './produce.ts';

/** By name. */
export const CASES: readonly [string, Run][] = [
  ...FETCH_CASES,
  ...PRODUCE_CASES,
  ...OTHER_CASES,
  ...GROUP_CASES,
  ...CONSUMER_CASES,
];

/** A difference that is meant to be. */
export interface Allowed {
  /** Names of cases. */
  readonly cases: RegExp;
  /** Lines of `differences`. */
  readonly lines: RegExp;
  readonly reason: string;
}

/** Where we answer otherwise on purpose. */
export const ALLOWED: readonly Allowed[] = [
  {
    cases: /^ApiVersions/,
    lines: /Features\.(share|streams|transaction)\.version: \{.*\}, undefined$/,
    reason: 'transactions and other kinds of groups are not served yet; only what is served is supported or finalized',
  },
  {
    cases: /^ApiVersions/,
    lines: /finalizedFeatures\.kraft\.version: undefined, \{"maxVersionLevel":1,"minVersionLevel":1\}$/,
    reason:
      'our voters may be changed from the start; the Kafka of this test has a list of voters in its configuration',
  },
  {
    cases: /^Produce/,
    lines: /\.errorMessage: null, "TEXT"$/,
    reason: 'we say what is wrong with a batch where Kafka says nothing',
  },
  {
    cases: /^Produce/,
    lines: /\.logStartOffset: 0, -1$/,
    reason: 'an answer with an error says nothing about the log; Kafka does so for some errors',
  },
  {
    cases: /^Produce, acks=-1: null records$/,
    lines: /"silent"/,
    reason: 'Kafka fails inside and never answers; we refuse the batch as invalid',
  },
  {
    cases: /: (a batch and|two batches)/,
    lines: /./,
    reason: 'Kafka passes over a torn batch behind a whole one; we refuse what is not exactly one batch',
  },
  {
    cases: /: (count and span|plain records that say|a largest timestamp above)/,
    lines: /./,
    reason: 'a batch is judged by its header: records are not read, nor is the header corrected by them',
  },
  {
    cases: /: a codec of/,
    lines: /errorCode: -1, 87$/,
    reason: "Kafka answers UNKNOWN_SERVER_ERROR; the fault is the client's, so we say INVALID_RECORD",
  },
  {
    cases: /: a transactional batch without a producer$/,
    lines: /errorCode: 53, 48$/,
    reason: 'transactions are not served yet',
  },
  {
    cases: /^Produce(, acks=-1: a producer without an epoch$| by an idempotent producer)/,
    lines: /\.logAppendTimeMs: "TIME", -1$/,
    reason: 'Kafka gives a duplicate the time of its producer as if the log had stamped it',
  },
  {
    cases: /: a duplicate of the first of six$/,
    lines: /errorCode: 45, 46$/,
    reason: "where we know that a batch is in the log we say so; to Kafka's answer clients write it again",
  },
  {
    cases: /^Produce twice to one partition$/,
    lines: /./,
    reason: 'Kafka drops the first of two batches for one partition; we append and answer both',
  },
  {
    cases: /^Fetch (of at most 200 bytes|that waits for more than the most)/,
    lines: /\.records: /,
    reason: 'Kafka cuts the last batch at the limit; we give whole batches',
  },
  {
    cases: /^Fetch of at most -1 bytes/,
    lines: /./,
    reason: 'Kafka answers UNKNOWN_SERVER_ERROR to a limit below 0; to us it is 0',
  },
  {
    cases: /^(Fetch of an unknown isolation|Fetch of an isolation below 0|ListOffsets of an unknown isolation)$/,
    lines: /./,
    reason: 'Kafka answers UNKNOWN_SERVER_ERROR to an isolation that it does not know; to us it is read_uncommitted',
  },
  {
    cases: /^Metadata of a topic without a name$/,
    lines: /^v1[23] /,
    reason: 'Kafka answers UNKNOWN_SERVER_ERROR to a topic with neither name nor id; to us the id is unknown',
  },
  {
    cases: /^Metadata by id and by name$/,
    lines: /\.topics: /,
    reason: 'Kafka passes over the names where there is an id; we answer both',
  },
  {
    cases: /^Metadata of a topic that collides$/,
    lines: /errorCode: 3, 17$/,
    reason: 'Kafka says for ever that the topic is not there yet; we say that its name cannot be',
  },
  {
    cases: /^the end of epoch -2$/,
    lines: /./,
    reason: 'to Kafka an epoch below -1 is one before the first; to us it is unknown',
  },
];
