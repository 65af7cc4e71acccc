/**
 * What members of a consumer group read: names and expressions, and whether anything of the topics has changed.
 *
 * The metadata that every node has is immutable, so whether a topic changed is seen by comparing references, and a
 * heartbeat while nothing changes costs two comparisons. Where something changed, the topics that members read are
 * hashed: id, name, number of partitions, and the racks of their replicas. Another hash than the one that the last
 * epoch was made with means a new epoch. A topic whose leaders or in-sync sets move has the same hash. Brokers that
 * come, go or restart are of interest only for their racks: few as they are, these are compared one by one.
 *
 * An expression means the topics whose whole name it matches; internal ones are matched too, as in Kafka. It is looked
 * up when it is new, and again when topics came or went, for the names that did; and once in a long while for all
 * names. What it means is a record, so that a coordinator that was just loaded deals out as the one before it.
 */
import type { BrokerImage, MetadataImage, TopicImage, TopicsImage } from '../metadata/image.ts';
import { topicByName } from '../metadata/image.ts';
import { keysSince, mapEntries } from '../metadata/sharded-map.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { type Draft, draftMembers, draftRegex, type Refusal, refuse, write } from './consumer-draft.ts';
import { regexRecord, regexTombstone } from './consumer-records.ts';
import type { ConsumerMember, ResolvedRegex } from './consumer-state.ts';

/** Characters of an expression, at most. */
const REGEX_LENGTH_MAX = 1_000;

/** Whether topics or racks are other than when the group was last looked at, or its expressions are due again. */
export function mayHaveNewTopics({ group, work }: Draft): boolean {
  const { seen } = group;
  if (seen === null || seen.topics !== work.image.topics || group.regexesDueMs <= work.nowMs) return true;
  const { brokers } = work.image.cluster;
  if (seen.brokers === brokers) return false;
  if (!hasSameRacks(seen.brokers, brokers)) return true;
  group.seen = { topics: seen.topics, brokers };
  return false;
}

type Brokers = ReadonlyMap<number, BrokerImage>;

function hasSameRacks(a: Brokers, b: Brokers): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const { id, rack } of b.values()) {
    const other = a.get(id);
    if (other === undefined || other.rack !== rack) return false;
  }
  return true;
}

/** The names that a member reads. */
export function namesOf(draft: Draft, member: ConsumerMember): readonly string[] {
  const { subscribedTopicNames, subscribedTopicRegex } = member;
  if (subscribedTopicRegex === '') return subscribedTopicNames;
  const resolved = draftRegex(draft, subscribedTopicRegex)?.topics ?? [];
  if (subscribedTopicNames.length === 0) return resolved;
  return [...new Set([...subscribedTopicNames, ...resolved])];
}

/** All names that members read, sorted. */
function namesOfAll(draft: Draft): string[] {
  const names = new Set<string>();
  // Most members of a group read the same: of equal expressions one is enough.
  const regexes = new Set<string>();
  for (const member of draftMembers(draft)) {
    for (const name of member.subscribedTopicNames) names.add(name);
    if (member.subscribedTopicRegex !== '') regexes.add(member.subscribedTopicRegex);
  }
  for (const regex of regexes) for (const name of draftRegex(draft, regex)?.topics ?? []) names.add(name);
  return [...names].sort();
}

/** The hash of what members read, by which a change is noticed: an integer of 53 bits, 0 for no topics at all. */
export function hashTopics(draft: Draft): number {
  const { group, work } = draft;
  const { brokers } = work.image.cluster;
  const known =
    group.hashed.brokers !== null && hasSameRacks(group.hashed.brokers, brokers) ? group.hashed.byName : null;
  const read = new Map<string, { readonly topic: TopicImage; readonly hash: number }>();
  let [high, low] = SEED;
  for (const name of namesOfAll(draft)) {
    const topic = topicByName(work.image, name);
    if (topic === undefined) continue;
    const before = known?.get(name);
    const hash = before?.topic === topic ? before.hash : hashOf(work.image, topic);
    read.set(name, { topic, hash });
    [high, low] = mix(high, low, String(hash));
  }
  group.hashed = { brokers, byName: read };
  return read.size === 0 ? 0 : joined(high, low);
}

const SEED: readonly [number, number] = [0x811c9dc5, 0x01234567];

function hashOf(image: MetadataImage, topic: TopicImage): number {
  let [high, low] = SEED;
  [high, low] = mix(high, low, `${topic.id} ${topic.name} ${topic.partitions.length}`);
  for (const { replicas } of topic.partitions) {
    const racks = replicas.map((id) => image.cluster.brokers.get(id)?.rack ?? '').sort();
    [high, low] = mix(high, low, racks.join(' '));
  }
  return joined(high, low);
}

/** Two FNV-1a hashes of 32 bits side by side, over code units and an end. */
function mix(high: number, low: number, text: string): [number, number] {
  let h = high;
  let l = low;
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : 0xffff;
    h = Math.imul(h ^ code, 0x01000193);
    l = Math.imul(l ^ (code + i), 0x01000193);
  }
  return [h, l];
}

function joined(high: number, low: number): number {
  return (high & 0x1fffff) * 0x100000000 + (low >>> 0);
}

/**
 * A member's expression changed from `before` to `after`, either of them possibly empty: the new one is looked up, the
 * old one forgotten if nobody else uses it. A refusal if it is no expression.
 */
export function changeRegex(draft: Draft, memberId: string, before: string, after: string): Refusal | null {
  const others = new Set<string>();
  for (const member of draftMembers(draft)) {
    if (member.memberId !== memberId) others.add(member.subscribedTopicRegex);
  }
  if (after !== '' && draftRegex(draft, after) === undefined) {
    const resolved = lookUp(draft, after, null);
    if (resolved === null) {
      return refuse(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        `SubscribedTopicRegex \`${after}\` is not a valid regular expression.`,
      );
    }
    putRegex(draft, after, resolved);
  }
  if (before !== '' && !others.has(before)) dropRegex(draft, before);
  return null;
}

/** Forgets the expressions that no member uses any more. */
export function dropUnusedRegexes(draft: Draft): void {
  if (draft.group.regexes.size === 0) return;
  const used = new Set<string>();
  for (const member of draftMembers(draft)) used.add(member.subscribedTopicRegex);
  for (const regex of draft.group.regexes.keys()) {
    if (!used.has(regex) && draftRegex(draft, regex) !== undefined) dropRegex(draft, regex);
  }
}

/** Topics came or went, or it is time: looks up every expression anew. */
export function refreshRegexes(draft: Draft): void {
  const { group, work, config } = draft;
  const isDue = group.regexesDueMs <= work.nowMs;
  const hasSameNames = group.seen?.topics.idByName === work.image.topics.idByName;
  const isWhole = isDue || group.seen === null;
  if (isWhole) {
    const isAny = group.regexes.size > 0 || draft.regexes.size > 0;
    group.regexesDueMs = isAny ? work.nowMs + config.consumer.regexRefreshIntervalMs : Number.POSITIVE_INFINITY;
  }
  if (hasSameNames && !isDue) return;
  for (const [regex, before] of group.regexes) {
    if (draft.regexes.has(regex)) continue;
    const resolved = lookUp(draft, regex, isWhole ? null : before);
    if (resolved === null || isSameList(resolved.topics, before.topics)) continue;
    putRegex(draft, regex, resolved);
  }
}

function putRegex(draft: Draft, regex: string, resolved: ResolvedRegex): void {
  const { group, work, config } = draft;
  group.regexesDueMs = Math.min(group.regexesDueMs, work.nowMs + config.consumer.regexRefreshIntervalMs);
  draft.regexes.set(regex, resolved);
  write(draft, regexRecord(group.groupId, regex, resolved));
}

function dropRegex(draft: Draft, regex: string): void {
  draft.regexes.set(regex, null);
  write(draft, regexTombstone(draft.group.groupId, regex));
}

/** The topics that an expression means now, given those that it meant when the group was last looked at. */
function lookUp({ group, work }: Draft, regex: string, before: ResolvedRegex | null): ResolvedRegex | null {
  if (regex.length > REGEX_LENGTH_MAX) return null;
  const matches = work.compilePattern(regex);
  if (matches === null) return null;
  const { topics, provenance } = work.image;
  const seen = before === null ? null : (group.seen?.topics ?? null);
  const found =
    seen === null || before === null
      ? [...mapEntries(topics.idByName)].map(([name]) => name).filter(matches)
      : changedNames(before.topics, seen, topics, matches);
  return { topics: found.sort(), version: Math.max(0, provenance.offset), timestampMs: work.wallMs };
}

/** What was meant and is still there, and what is new and matches. */
function changedNames(
  before: readonly string[],
  seen: TopicsImage,
  now: TopicsImage,
  matches: (name: string) => boolean,
): string[] {
  const { gone, come } = keysSince(seen.idByName, now.idByName);
  return [...before.filter((name) => !gone.has(name)), ...come.filter(matches)];
}

/** Whether two lists hold the same in the same order. */
export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((item, i) => item === b[i]));
}
