/**
 * What a consumer is told at its start, and what it tells. Plain data, no state; `consumer.ts` says how it behaves.
 */
import type { ClientAssignorName } from '../assignors/client-assignors.ts';
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import type { Address } from '../channel/channel.ts';
import type { Ids } from '../lib/ids.ts';
import type { NetworkInput } from '../lib/world.ts';
import type { OffsetMark } from './offsets.ts';

/** How a consumer behaves; all of it plain data. Names in brackets are Kafka's, whose defaults these are. */
export interface ConsumerOptions {
  readonly clientId: string;
  /** Shared by all machines of one node or client process. */
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  /** An unsigned 32-bit integer: jitter. */
  readonly seed: number;
  /** [group.id] Null for a consumer without a group, which can only be assigned partitions and cannot commit. */
  readonly groupId: string | null;
  /** [group.protocol] Default 'classic'. */
  readonly groupProtocol?: 'classic' | 'consumer';
  /** A fresh uuid in its printed form: what a member of the consumer protocol is called. */
  readonly memberId: string;
  /** [group.instance.id] Default null: a dynamic member. */
  readonly instanceId?: string | null;
  /** [partition.assignment.strategy] Default range, then cooperative-sticky. */
  readonly assignors?: readonly ClientAssignorName[];
  /** [group.remote.assignor] Default null: the coordinator's choice. */
  readonly serverAssignor?: string | null;
  /** [session.timeout.ms] Default 45 s; the classic protocol's. */
  readonly sessionTimeoutMs?: number;
  /** [heartbeat.interval.ms] Default 3 s; the classic protocol's. */
  readonly heartbeatIntervalMs?: number;
  /** [max.poll.interval.ms] Default 5 min. */
  readonly maxPollIntervalMs?: number;
  /** [client.rack] Default ''. */
  readonly rack?: string;
  /** [auto.offset.reset] Default 'latest'. */
  readonly reset?: 'none' | 'earliest' | 'latest';
  /** [isolation.level] */
  readonly isolation?: 'readUncommitted' | 'readCommitted';
  /** [enable.auto.commit] Default true. */
  readonly autoCommit?: boolean;
  /** [auto.commit.interval.ms] Default 5 s. */
  readonly autoCommitIntervalMs?: number;
  /** [fetch.max.wait.ms] Default 500 ms. */
  readonly maxWaitMs?: number;
  /** [fetch.min.bytes] Default 1. */
  readonly minBytes?: number;
  /** [fetch.max.bytes] Default 50 MiB. */
  readonly fetchBytesMax?: number;
  /** [max.partition.fetch.bytes] Default 1 MiB. */
  readonly partitionBytesMax?: number;
  /** Bytes of batches that wait for the owner or may be on their way, at most; default 64 MiB. */
  readonly prefetchBytesMax?: number;
  /** [request.timeout.ms] Default 30 s. */
  readonly requestTimeoutMs?: number;
  /** [default.api.timeout.ms] Default 60 s: how long a commit or a question may take. */
  readonly apiTimeoutMs?: number;
  /** [retry.backoff.ms] Default 100 ms. */
  readonly retryBackoffMs?: number;
  /** [metadata.max.age.ms] Default 5 min. */
  readonly metadataMaxAgeMs?: number;
  /** [allow.auto.create.topics] Default true. */
  readonly createsTopics?: boolean;
}

/** What is subscribed to. */
export type Subscription =
  | { readonly kind: 'none' }
  /** Partitions that the owner has chosen itself, without the group's help. */
  | { readonly kind: 'assigned' }
  | { readonly kind: 'topics'; readonly topics: readonly string[] }
  /**
   * Topics whose whole name the pattern means. In the classic protocol the member chooses, and the pattern is of
   * JavaScript; in the consumer protocol the coordinator does, and it is of RE2.
   */
  | { readonly kind: 'pattern'; readonly pattern: string };

/** A partition. */
export interface PartitionOf {
  readonly topic: string;
  readonly partition: number;
}

/** What a consumer tells. */
export type ConsumerEvent =
  /** onPartitionsAssigned: these are ours from now on. To be called off with `ackRebalance`. */
  | {
      readonly kind: 'assigned';
      readonly rebalance: number;
      readonly partitions: readonly TopicPartitions[];
      readonly memberId: string;
      readonly generation: number;
    }
  /** onPartitionsRevoked: nothing more of these is handed out. To be called off; until then commits are still good. */
  | { readonly kind: 'revoked'; readonly rebalance: number; readonly partitions: readonly TopicPartitions[] }
  /** onPartitionsLost: others may own these already. To be called off. */
  | { readonly kind: 'lost'; readonly rebalance: number; readonly partitions: readonly TopicPartitions[] }
  /** `commitOffsets` has its outcome; ticket 0 where the consumer committed by itself. */
  | {
      readonly kind: 'committed';
      readonly ticket: number;
      readonly error: number;
      readonly marks: readonly OffsetMark[];
    }
  /** `askCommittedOffsets` has its outcome. */
  | { readonly kind: 'offsets'; readonly ticket: number; readonly error: number; readonly marks: readonly OffsetMark[] }
  /** After a fatal error of a partition it stands still until a seek; of a member, until it subscribes anew. */
  | {
      readonly kind: 'error';
      readonly error: number;
      readonly message: string;
      readonly isFatal: boolean;
      /** Null where it is about the membership. */
      readonly at: PartitionOf | null;
    }
  /** The group is left after `unsubscribe`. */
  | { readonly kind: 'left' }
  /** The last event. */
  | { readonly kind: 'closed' };

/** What a consumer is told. */
export type ConsumerInput = NetworkInput | { readonly kind: 'wake' };
