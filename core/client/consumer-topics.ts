/**
 * What a consumer subscribes to, and which topics it watches for that. No state of its own.
 *
 * A pattern of the classic protocol is matched here, whenever all names have been told anew; topics that are watched no
 * more are forgotten, so that a consumer does not ask for them for ever.
 */
import { assert } from '../lib/assert.ts';
import type { Env } from '../lib/world.ts';
import { addTopic, wantNames } from './cluster.ts';
import type { PartitionOf, Subscription } from './consumer-options.ts';
import type { Consumer } from './consumer-state.ts';
import { addTrack, dropTrack } from './fetcher.ts';
import { want, wantAnother, wantOut } from './member.ts';
import { forgetTopic } from './metadata.ts';
import { allTracks } from './tracks.ts';

/**
 * Subscribes to topics by name, or to all that a pattern means, in the place of what was subscribed to before. False
 * for a pattern that is none (the classic protocol's; of others the coordinator is the judge).
 */
export function subscribe(
  consumer: Consumer,
  env: Env,
  to: { readonly topics: readonly string[] } | { readonly pattern: string },
): boolean {
  const { grouped, subscription } = consumer;
  assert(grouped !== null, 'a consumer without a group cannot subscribe');
  assert(subscription.kind !== 'assigned', 'a consumer that was assigned partitions must unsubscribe first');
  if (grouped === null) return false;
  const isClassic = grouped.member.protocol === 'classic';
  if ('pattern' in to && isClassic && compile(to.pattern) === null) return false;
  consumer.isDirty = true;
  consumer.matched = null;
  if ('topics' in to) {
    const topics = [...new Set(to.topics)].sort();
    consumer.subscription = { kind: 'topics', topics };
    wantNames(consumer.cluster, false);
    watch(consumer, topics);
    want(grouped.member, env, { topics, pattern: null });
    return true;
  }
  consumer.subscription = { kind: 'pattern', pattern: to.pattern };
  wantNames(consumer.cluster, true);
  if (!isClassic) {
    watch(consumer, []);
    want(grouped.member, env, { topics: [], pattern: to.pattern });
  }
  return true;
}

/** Reads these partitions, and no others, without the group's help; each starts where its committed offset is. */
export function assignPartitions(consumer: Consumer, env: Env, partitions: readonly PartitionOf[]): void {
  const { kind } = consumer.subscription;
  assert(kind === 'none' || kind === 'assigned', 'a consumer that subscribes must unsubscribe first');
  const wanted = new Set(partitions.map(({ topic, partition }) => `${topic} ${partition}`));
  for (const { topic, partition } of [...allTracks(consumer.fetcher.tracks)]) {
    if (!wanted.has(`${topic} ${partition}`)) dropTrack(consumer.fetcher, topic, partition);
  }
  watch(
    consumer,
    partitions.map(({ topic }) => topic),
  );
  for (const { topic, partition } of partitions) addTrack(consumer.fetcher, topic, partition);
  consumer.subscription = { kind: 'assigned' };
  consumer.startAtMs = env.nowMs;
  consumer.isDirty = true;
}

/** Wants nothing any more. A member gives up its partitions and leaves: 'left' says so. */
export function unsubscribe(consumer: Consumer, env: Env): void {
  const { subscription, grouped, options } = consumer;
  consumer.isDirty = true;
  if (subscription.kind === 'assigned') {
    for (const { topic, partition } of [...allTracks(consumer.fetcher.tracks)]) {
      dropTrack(consumer.fetcher, topic, partition);
    }
  } else if (grouped !== null && subscription.kind !== 'none') {
    wantOut(grouped.member, env, options.apiTimeoutMs ?? 60_000, false);
  }
  consumer.subscription = { kind: 'none' };
  wantNames(consumer.cluster, false);
  watch(consumer, []);
}

/** Makes the group rebalance although nothing has changed; the classic protocol's. */
export function enforceRebalance(consumer: Consumer, reason: string): void {
  if (consumer.grouped !== null) wantAnother(consumer.grouped.member, reason);
  consumer.isDirty = true;
}

function watch(consumer: Consumer, topics: readonly string[]): void {
  const kept = new Set(topics);
  for (const track of allTracks(consumer.fetcher.tracks)) kept.add(track.topic);
  for (const topic of consumer.watched) if (!kept.has(topic)) forgetTopic(consumer.cluster.view, topic);
  for (const topic of topics) addTopic(consumer.cluster, topic);
  // What is only read still is forgotten when it is read no more.
  consumer.watched = [...new Set([...topics, ...consumer.watched.filter((topic) => kept.has(topic))])];
}

/** Matches a pattern of the classic protocol with the names of all topics, when those have been told anew. */
export function matchTopics(consumer: Consumer, env: Env): void {
  const { subscription, cluster, grouped } = consumer;
  const { names } = cluster.view;
  if (subscription.kind !== 'pattern' || grouped?.member.protocol !== 'classic') return;
  if (names === null || names === consumer.matched) return;
  consumer.matched = names;
  const topics = chosen(subscription, names);
  watch(consumer, topics);
  want(grouped.member, env, { topics, pattern: null });
}

function chosen({ pattern }: Extract<Subscription, { kind: 'pattern' }>, names: readonly string[]): string[] {
  const compiled = compile(pattern);
  return names.filter((name) => compiled?.test(name) === true);
}

/** A pattern means a name if it means the whole of it, as in Java. */
function compile(pattern: string): RegExp | null {
  try {
    return new RegExp(`^(?:${pattern})$`);
  } catch {
    return null;
  }
}
