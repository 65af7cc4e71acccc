/**
 * The state of a consumer, and how one is made; `consumer.ts` has the theory.
 */
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import { assert } from '../lib/assert.ts';
import { type Cluster, createCluster } from './cluster.ts';
import type { ConsumerEvent, ConsumerOptions, Subscription } from './consumer-options.ts';
import { type Coordinator, createCoordinator } from './coordinator.ts';
import { createFetcher, type Fetcher } from './fetcher.ts';
import type { Member } from './member.ts';
import { createClassicMember } from './member-classic-state.ts';
import { createConsumerMember } from './member-consumer.ts';
import { createOffsets, type Offsets } from './offsets.ts';

/**
 * What the member has told and the owner has yet to call done. polling: waits until the owner comes for records, having
 * done with those it has. committing: the positions are being stored. told: the event is out.
 */
export interface Rebalance {
  readonly rebalance: number;
  kind: 'assigned' | 'revoked' | 'lost';
  readonly partitions: readonly TopicPartitions[];
  readonly memberId: string;
  readonly generation: number;
  stage: 'polling' | 'committing' | 'told';
}

/** What a group adds to a consumer. */
export interface Grouped {
  readonly coordinator: Coordinator;
  readonly member: Member;
  readonly offsets: Offsets;
}

/** The state, plain data. */
export interface Consumer {
  readonly options: ConsumerOptions;
  readonly cluster: Cluster;
  readonly fetcher: Fetcher;
  /** Null for a consumer without a group. */
  readonly grouped: Grouped | null;
  subscription: Subscription;
  /** What the pattern was last matched against. */
  matched: readonly string[] | null;
  /** Topics that are watched for the subscription, or for one before it of which something is still read. */
  watched: readonly string[];
  rebalance: Rebalance | null;
  rebalances: number;
  /** Tickets of commits that the consumer made by itself, and whether a rebalance waits for it. */
  readonly ownCommits: Map<number, 'interval' | 'rebalance'>;
  /** The question for the offsets to start from; 0 for none. */
  starting: number;
  startAtMs: number;
  startFailures: number;
  autoCommitAtMs: number;
  /** The owner holds records of its last poll. */
  isBusy: boolean;
  /** closing: gives up its partitions and leaves. */
  life: 'open' | 'closing' | 'closed';
  closeUntilMs: number;
  /** Events that the next step hands over. */
  owed: ConsumerEvent[];
  isDirty: boolean;
  drivenAtMs: number;
}

const MIB = 1024 * 1024;
const IN_FLIGHT_MAX = 5;

/** A consumer that has not connected yet; it does with its first step. */
export function createConsumer(options: ConsumerOptions): Consumer {
  const { requestTimeoutMs = 30_000, retryBackoffMs = 100, createsTopics = true, isolation } = options;
  const cluster = createCluster({
    ...options,
    requestTimeoutMs,
    retryBackoffMs,
    createsTopics,
    inFlightMax: IN_FLIGHT_MAX,
  });
  const fetcher = createFetcher({
    isolation: isolation ?? 'readUncommitted',
    maxWaitMs: options.maxWaitMs ?? 500,
    minBytes: options.minBytes ?? 1,
    fetchBytesMax: options.fetchBytesMax ?? 50 * MIB,
    partitionBytesMax: options.partitionBytesMax ?? MIB,
    prefetchBytesMax: options.prefetchBytesMax ?? 64 * MIB,
    rack: options.rack ?? '',
    requestTimeoutMs,
    retryBackoffMs,
    reset: options.reset ?? 'latest',
  });
  return {
    options,
    cluster,
    fetcher,
    grouped: options.groupId === null ? null : createGrouped(options, options.groupId, cluster, isolation),
    subscription: { kind: 'none' },
    matched: null,
    watched: [],
    rebalance: null,
    rebalances: 0,
    ownCommits: new Map(),
    starting: 0,
    startAtMs: 0,
    startFailures: 0,
    autoCommitAtMs: 0,
    isBusy: false,
    life: 'open',
    closeUntilMs: 0,
    owed: [],
    isDirty: true,
    drivenAtMs: 0,
  };
}

function createGrouped(
  options: ConsumerOptions,
  groupId: string,
  cluster: Cluster,
  isolation: ConsumerOptions['isolation'],
): Grouped {
  const { requestTimeoutMs, retryBackoffMs } = cluster.options;
  const { rack = '', instanceId = null, maxPollIntervalMs = 300_000, assignors, serverAssignor = null } = options;
  const shared = { instanceId, rack: rack === '' ? null : rack, maxPollIntervalMs, retryBackoffMs };
  assert(assignors === undefined || assignors.length > 0, 'a member of a group needs an assignor');
  const classic = (): Member => ({
    protocol: 'classic',
    classic: createClassicMember({
      ...shared,
      requestTimeoutMs,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 45_000,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 3000,
      assignors: assignors ?? ['range', 'cooperative-sticky'],
    }),
  });
  const modern = (): Member => ({
    protocol: 'consumer',
    consumer: createConsumerMember({ ...shared, memberId: options.memberId, serverAssignor }),
  });
  return {
    coordinator: createCoordinator(cluster, groupId),
    member: options.groupProtocol === 'consumer' ? modern() : classic(),
    offsets: createOffsets(options.ids, retryBackoffMs, isolation === 'readCommitted'),
  };
}
