/**
 * What the members of both group protocols have in common: how they are told what to want, and what they tell.
 *
 * A member never takes a partition away, nor hands one out, behind its owner's back. It says 'revoke' or 'assign' and
 * waits for `memberDone`; meanwhile it goes on with its heartbeats, so that the owner may commit and call listeners in
 * between. With 'lost' the partitions may be another's already: nothing can be committed for them any more.
 *
 * One owner: a member counts itself an owner from 'assign' until 'revoke' or 'lost' is said, not until it is done; what
 * is delivered between a 'revoke' and its end is a fault of the owner.
 */
import type { TopicPartitions } from '../assignors/client-shapes.ts';
import type { Cluster } from './cluster.ts';
import type { Coordinator } from './coordinator.ts';

/** Who a member is to the coordinator: what commits carry. */
export interface Membership {
  /** Empty for none. */
  readonly memberId: string;
  /** The generation, or the epoch of a member of the consumer protocol; -1 for none. */
  readonly generation: number;
  readonly instanceId: string | null;
  /** Only members of the consumer protocol say who they are when they ask for offsets. */
  readonly protocol: 'classic' | 'consumer';
}

/** What a member tells its owner. */
export type MemberEvent =
  /** These are to be given up. The owner commits, says so to whoever listens, and calls `memberDone`. */
  | { readonly kind: 'revoke'; readonly partitions: readonly TopicPartitions[] }
  /** These were owned and are no more. Called off with `memberDone` too. */
  | { readonly kind: 'lost'; readonly partitions: readonly TopicPartitions[] }
  /** These are owned from now on, beside those that were; may be none. Called off with `memberDone` too. */
  | {
      readonly kind: 'assign';
      readonly partitions: readonly TopicPartitions[];
      readonly memberId: string;
      readonly generation: number;
    }
  /** It has left the group, or given up trying. */
  | { readonly kind: 'left' }
  /** It does not go on by itself: a Kafka error code. */
  | { readonly kind: 'failed'; readonly error: number; readonly message: string };

/** What a member stands on, lent by its owner for one step. */
export interface Ground {
  readonly cluster: Cluster;
  readonly coordinator: Coordinator;
}

/** Partitions of `a` that are not in `b`. */
export function without(a: readonly TopicPartitions[], b: readonly TopicPartitions[]): TopicPartitions[] {
  const taken = new Map<string, Set<number>>();
  for (const { topic, partitions } of b) {
    const of = taken.get(topic) ?? new Set<number>();
    taken.set(topic, of);
    for (const partition of partitions) of.add(partition);
  }
  const left: TopicPartitions[] = [];
  for (const { topic, partitions } of a) {
    const rest = partitions.filter((partition) => taken.get(topic)?.has(partition) !== true);
    if (rest.length > 0) left.push({ topic, partitions: rest });
  }
  return left;
}

/** Those partitions of `a` whose topic is among `topics`. */
export function within(a: readonly TopicPartitions[], topics: readonly string[]): TopicPartitions[] {
  const wanted = new Set(topics);
  return a.filter(({ topic }) => wanted.has(topic));
}

/** How many partitions there are. */
export function countOf(partitions: readonly TopicPartitions[]): number {
  let count = 0;
  for (const one of partitions) count += one.partitions.length;
  return count;
}
