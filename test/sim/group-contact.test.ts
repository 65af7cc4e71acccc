/** Who watches coordinators knows which one has been replaced, and which one cannot know of it yet. */
import { expect, test } from 'vitest';
import { OFFSETS_TOPIC } from '../../core/broker/groups/names.ts';
import type { Node } from '../../core/broker/node.ts';
import { draftMap, draftSet, emptyMap, publishMap, type ShardedMap } from '../../core/metadata/sharded-map.ts';
import { createGroupHistory } from '../../core/verify/group-history.ts';
import { createHistory } from '../../core/verify/history.ts';
import type { Actor } from '../../runtime-sim/actor.ts';
import { createClock } from '../../runtime-sim/clock.ts';
import { createContactNotes, watchContact } from '../../runtime-sim/watch/group-contact.ts';

const CONFIG = { 'broker.session.timeout.ms': 3_000, 'replica.fetch.wait.max.ms': 500 };

/** A node that coordinates the only partition of groups, under a leader epoch. */
function nodeOf(nodeId: number, epoch: number): Node {
  const partition = { index: 0, leader: { epoch }, topic: { partitions: [{}] } };
  const contact = { answeredMs: 0, fetchedMs: new Map<number, number>() };
  const groups = { lastWaiter: 0, hosts: new Set([{ stage: 'active', partition, waiters: new Map() }]) };
  return { nodeId, config: CONFIG, contact, groups, image: imageOf(nodeId, epoch) } as unknown as Node;
}

function imageOf(leader: number, leaderEpoch: number): object {
  const topic = { partitions: [{ leader, leaderEpoch }] };
  return { topics: { idByName: mapOf(OFFSETS_TOPIC, 'id'), byId: mapOf('id', topic) } };
}

function mapOf<V>(key: string, value: V): ShardedMap<V> {
  const draft = draftMap(emptyMap<V>());
  draftSet(draft, key, value);
  return publishMap(draft);
}

/** Two of them, of which the later has taken the place of the earlier; and what comes of a step at a time. */
function scene(): { old: Node; unaware: unknown; step: (node: Node, atMs: number) => string | undefined } {
  const notes = createContactNotes();
  const history = createHistory([]);
  const group = createGroupHistory('g', 'classic');
  history.groups.push(group);
  const old = nodeOf(1, 4);
  const step = (node: Node, atMs: number): string | undefined => {
    return watchContact(notes, history, { clock: createClock() } as Actor, node, atMs * 1000)?.checker;
  };
  step(old, 0);
  step(nodeOf(2, 5), 100);
  return { old, unaware: group.unaware, step };
}

/** A call has come. */
function call({ groups }: Node, isAnswered = true): void {
  groups.lastWaiter += 1;
  if (!isAnswered) for (const { waiters } of groups.hosts) waiters.set(groups.lastWaiter, {} as never);
}

test('a coordinator that has been replaced answers nothing once its session is over', () => {
  const { old, unaware, step } = scene();
  call(old);
  expect(step(old, 2_000)).toBeUndefined();
  expect(unaware).toEqual([{ fromUs: 100_000, toUs: 2_000_000 }]);
  expect(step(old, 4_000)).toBeUndefined();
  call(old);
  expect(step(old, 4_100)).toBe('answered-alone');
  expect(unaware).toEqual([{ fromUs: 100_000, toUs: 2_000_000 }]);
});

test('nor once it has been told', () => {
  const { old, step } = scene();
  Object.assign(old, { image: imageOf(2, 5) });
  call(old);
  expect(step(old, 200)).toBe('answered-alone');
});

test('it may take a call that waits, and answer while it hears who was to come after it', () => {
  const { old, step } = scene();
  call(old, false);
  expect(step(old, 4_000)).toBeUndefined();
  old.contact.fetchedMs.set(2, 3_500);
  call(old);
  expect(step(old, 4_000)).toBeUndefined();
  call(old);
  expect(step(old, 4_600)).toBe('answered-alone');
});

test('while nobody has taken its place it may answer', () => {
  const { step } = scene();
  const newest = nodeOf(3, 6);
  call(newest);
  expect(step(newest, 9_000)).toBeUndefined();
});
