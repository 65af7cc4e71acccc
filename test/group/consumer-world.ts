/**
 * Consumers that join, leave, stall, lose answers and are lost themselves, topics that come, go and grow, coordinators
 * that fail over: any order of it, for properties. After every step nobody may own what another member owns.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ConsumerGroup } from '../../core/group/consumer-state.ts';
import type { GroupConfig } from '../../core/group/shapes.ts';
import { sameHardState } from '../../core/group/state.ts';
import { type MetadataImage, topicByName } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { idOf, imageOf, topicRecordsOf } from '../metadata/cluster.ts';
import { namesOf, partitionsOf, say } from './consumers.ts';
import { advance, type Coordinator, createCoordinator, failOver, loadedFrom } from './coordinator.ts';

/** A consumer as it sees itself. */
export interface Client {
  readonly name: string;
  memberId: string;
  readonly instanceId: string | null;
  lives: number;
  /** -1: it is not in the group and does not want to be. */
  epoch: number;
  topics: readonly string[];
  regex: string;
  /** What it reads. */
  owned: Set<string>;
  /** What it is to have, by the last answer that it got. */
  told: Set<string>;
  /** Gone without a word. */
  isLost: boolean;
  /** An answer was lost: the next heartbeat says everything. */
  isUnsure: boolean;
}

/** The world. */
export interface World {
  readonly coordinator: Coordinator;
  readonly clients: readonly Client[];
  /** Members of the group that a test moves itself, and what they read. */
  readonly others: { readonly name: string; readonly memberId: string; readonly owned: Set<string> }[];
  topicIds: number;
}

/** One thing that happens. */
export type Step =
  | { readonly kind: 'join'; readonly who: number; readonly topics: readonly string[]; readonly regex: string }
  | { readonly kind: 'beat'; readonly who: number; readonly isLost: boolean; readonly isFull: boolean }
  | { readonly kind: 'revoke'; readonly who: number }
  | { readonly kind: 'leave'; readonly who: number; readonly isAway: boolean }
  | { readonly kind: 'vanish'; readonly who: number }
  | { readonly kind: 'pass'; readonly timeMs: number }
  | { readonly kind: 'create'; readonly topic: string; readonly partitions: number }
  | { readonly kind: 'delete'; readonly topic: string }
  | { readonly kind: 'grow'; readonly topic: string }
  | { readonly kind: 'failOver' };

const NAMES = ['orders', 'payments', 'order-lines', 'refunds'];
const REGEXES = ['', '', 'order.*', '.*'];
const CLIENTS = 5;

const who = fc.nat({ max: CLIENTS - 1 });
const topic = fc.constantFrom(...NAMES);

/** Any step; heartbeats are the most frequent, as in life. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('join' as const),
      who,
      topics: fc.subarray(NAMES, { minLength: 1 }),
      regex: fc.constantFrom(...REGEXES),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('beat' as const),
      who,
      isLost: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
      isFull: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('revoke' as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who, isAway: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('vanish' as const), who }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), timeMs: fc.constantFrom(10, 500, 1_000, 20_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      topic,
      partitions: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), topic }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('grow' as const), topic }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'failOver' as const }) },
);

/** A world where nothing has happened. The last two clients are static members. */
export function createWorld(assignor = 'uniform', more: Partial<GroupConfig['consumer']> = {}): World {
  const defaults = createCoordinator().config;
  const consumer = { ...defaults.consumer, assignors: [assignor], ...more };
  const clients = Array.from({ length: CLIENTS }, (_, i): Client => {
    const instanceId = i >= CLIENTS - 2 ? `static-${i}` : null;
    const name = `c${i}`;
    const self = { owned: new Set<string>(), told: new Set<string>(), topics: [], regex: '' };
    return { name, memberId: `${name}.0`, instanceId, lives: 0, epoch: -1, isLost: false, isUnsure: false, ...self };
  });
  return { coordinator: createCoordinator({ consumer }), clients, others: [], topicIds: 10 };
}

/** The group 'g', if it is there. */
export function groupIn({ coordinator }: World): ConsumerGroup | null {
  const group = coordinator.state.groups.get('g');
  return group?.kind === 'consumer' ? group : null;
}

/** Takes a step, then looks that nobody owns what another owns. */
export function take(world: World, step: Step): void {
  const { coordinator } = world;
  switch (step.kind) {
    case 'pass':
      advance(coordinator, step.timeMs);
      break;
    case 'failOver':
      failOver(coordinator);
      break;
    case 'create':
    case 'delete':
    case 'grow':
      changeTopics(world, step);
      break;
    default:
      act(world, step);
  }
  checkOwners(world);
}

type ClientStep = Extract<Step, { readonly who: number }>;

function act(world: World, step: ClientStep): void {
  const client = world.clients[step.who] as Client;
  switch (step.kind) {
    case 'join':
      if (client.epoch >= 0) beat(world, client, { isFull: true, topics: step.topics, regex: step.regex });
      else join(world, client, step.topics, step.regex);
      break;
    case 'beat':
      if (client.epoch >= 0 && !client.isLost) beat(world, client, step);
      break;
    case 'revoke':
      revoke(client);
      break;
    case 'vanish':
      // It reads on, as one that hangs may, until it finds that it is fenced.
      client.isLost = true;
      break;
    default:
      if (client.epoch > 0 && !client.isLost) leave(world, client, step.isAway);
  }
}

/** A new life of a client: another member, which owns nothing yet. */
function join(world: World, client: Client, topics: readonly string[], regex: string): void {
  client.lives += 1;
  client.memberId = `${client.name}.${client.lives}`;
  client.isLost = false;
  client.topics = topics;
  client.regex = regex;
  client.epoch = 0;
  client.owned = new Set();
  client.told = new Set();
  beat(world, client, {});
}

function leave({ coordinator }: World, client: Client, isAway: boolean): void {
  const memberEpoch = isAway && client.instanceId !== null ? -2 : -1;
  client.owned = new Set();
  client.told = new Set();
  client.epoch = -1;
  say(coordinator, { memberId: client.memberId, instanceId: client.instanceId, memberEpoch });
}

/** Lets go of what it is not to have any more. */
export function revoke(client: Client): void {
  for (const partition of client.owned) if (!client.told.has(partition)) client.owned.delete(partition);
}

interface Said {
  readonly isLost?: boolean;
  readonly isFull?: boolean;
  readonly topics?: readonly string[];
  readonly regex?: string;
}

/** A heartbeat as a client sends it, and what it makes of the answer, unless that is lost. */
export function beat(world: World, client: Client, said: Said): void {
  const { coordinator } = world;
  client.isLost = false;
  client.topics = said.topics ?? client.topics;
  client.regex = said.regex ?? client.regex;
  const isJoin = client.epoch === 0;
  const isFull = isJoin || client.isUnsure || said.isFull === true;
  if (isJoin) client.owned = new Set();
  const response = say(coordinator, {
    memberId: client.memberId,
    instanceId: client.instanceId,
    memberEpoch: client.epoch,
    topicPartitions: partitionsOf(coordinator, [...client.owned]),
    rebalanceTimeoutMs: isFull ? 60_000 : -1,
    subscribedTopicNames: isFull || said.topics !== undefined ? [...client.topics] : null,
    subscribedTopicRegex: isFull || said.regex !== undefined ? client.regex : null,
  });
  client.isUnsure = said.isLost === true;
  if (client.isUnsure) return;
  hear(world, client, response);
}

function hear({ coordinator }: World, client: Client, response: ReturnType<typeof say>): void {
  const { errorCode, assignment, memberEpoch } = response;
  if (errorCode === ErrorCode.UNRELEASED_INSTANCE_ID) return;
  if (errorCode !== ErrorCode.NONE) {
    const mayBe = [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID];
    expect([...mayBe, ErrorCode.GROUP_ID_NOT_FOUND]).toContain(errorCode);
    client.owned = new Set();
    client.told = new Set();
    client.epoch = 0;
    return;
  }
  client.epoch = memberEpoch;
  if (assignment === null) return;
  client.told = new Set(namesOf(coordinator, assignment.topicPartitions));
  for (const partition of client.told) client.owned.add(partition);
}

/** No partition is with two members, by what the group knows and by what members of the group do. */
export function checkOwners(world: World): void {
  const group = groupIn(world);
  if (group === null) return;
  const known = new Set<string>();
  for (const member of group.members.values()) {
    for (const owned of [member.assigned, member.revoking]) {
      for (const [topicId, partitions] of owned) {
        for (const partition of partitions.keys()) {
          expect(known.has(`${topicId}-${partition}`), 'the group knows one owner').toBe(false);
          known.add(`${topicId}-${partition}`);
        }
      }
    }
  }
  const read = new Map<string, string>();
  for (const { name, memberId, owned } of [...world.clients, ...world.others]) {
    if (!group.members.has(memberId)) continue;
    for (const partition of owned) {
      expect(read.get(partition) ?? name, `${partition} is read by one member`).toBe(name);
      read.set(partition, name);
    }
  }
}

/** What a loader makes of the log is what is live. */
export function checkReplay({ coordinator }: World): void {
  expect(sameHardState(loadedFrom(coordinator.log), coordinator.state), 'replay equals live').toBe(true);
}

function changeTopics(world: World, step: Extract<Step, { readonly topic: string }>): void {
  const { coordinator } = world;
  const { image } = coordinator;
  const known = topicByName(image, step.topic);
  if (step.kind === 'create' && known === undefined) {
    const id = idOf(++world.topicIds);
    coordinator.image = imageOf(topicRecordsOf(step.topic, id, step.partitions, [1]), image);
  } else if (step.kind === 'delete' && known !== undefined) {
    coordinator.image = imageOf([metadataRecord('RemoveTopicRecord', 0, { topicId: known.id })], image);
  } else if (step.kind === 'grow' && known !== undefined && known.partitions.length < 8) {
    coordinator.image = grown(image, step.topic, known.id, known.partitions.length);
  }
  // What was deleted nobody can read.
  const there = new Set(NAMES.filter((name) => topicByName(coordinator.image, name) !== undefined));
  for (const client of [...world.clients, ...world.others]) {
    for (const partition of client.owned) {
      if (!there.has(partition.slice(0, partition.lastIndexOf('-')))) client.owned.delete(partition);
    }
  }
}

function grown(image: MetadataImage, name: string, id: string, from: number): MetadataImage {
  const last = topicRecordsOf(name, id, from + 1, [1])[from + 1];
  return last === undefined ? image : imageOf([last], image);
}

/** Partitions that clients who live want, by name. */
export function wantedIn({ coordinator, clients }: World): string[] {
  const names = new Set<string>();
  for (const { epoch, isLost, topics, regex } of clients) {
    if (epoch < 0 || isLost) continue;
    for (const name of NAMES) {
      if (topics.includes(name) || (regex !== '' && new RegExp(`^(?:${regex})$`).test(name))) names.add(name);
    }
  }
  return [...names]
    .flatMap((name) => (topicByName(coordinator.image, name)?.partitions ?? []).map((_, i) => `${name}-${i}`))
    .sort();
}
