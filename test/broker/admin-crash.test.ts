/**
 * A crash after any effect of an administrator's morning: what was acknowledged holds, what was not holds or does not,
 * and nothing old ever shows under a name that came again.
 */
import { describe, expect, it } from 'vitest';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import type { Loose } from './frames.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

/** More effects than the whole morning has: a crash is tried behind every one of them. */
const EFFECTS = 115;

/** What was acknowledged before the crash, in order. */
interface Acknowledged {
  readonly done: string[];
  readonly client: ToyConnection;
}

/** Asks, and takes the answer if one came before the crash. */
function ask<K extends ApiKey>(
  world: ToyWorld,
  client: ToyConnection,
  key: K,
  version: number,
  body: Loose<RequestInputOf<K>>,
): ResponseOf<K> | null {
  world.send(client, key, version, body);
  return world.pending(client).length > 0 ? world.take(client, key, version) : null;
}

function morning(world: ToyWorld): Acknowledged {
  const client = world.connect();
  const done: string[] = [];
  const note = (what: string, code: number | undefined): boolean => {
    if (code === ErrorCode.NONE) done.push(what);
    return code === ErrorCode.NONE;
  };
  const topic = (name: string) => ({ name, numPartitions: 1, replicationFactor: -1, assignments: [], configs: [] });
  const create = (name: string, what: string): boolean => {
    const body = { topics: [topic(name)], timeoutMs: 1000, validateOnly: false };
    return note(what, ask(world, client, 19, 7, body)?.topics[0]?.errorCode);
  };
  const produce = (name: string, value: string): boolean => {
    const answer = ask(world, client, KEY.produce, 9, produceBody(0, batchOf([value]), { topic: name }));
    return note(`produced ${value}`, answer?.responses[0]?.partitionResponses[0]?.errorCode);
  };
  const remove = (name: string, what: string): boolean => {
    const body = { topics: [{ name, topicId: ZERO_UUID }], timeoutMs: 9 };
    return note(what, ask(world, client, 20, 6, body)?.responses[0]?.errorCode);
  };
  const grow = (name: string, what: string): boolean => {
    const body = { topics: [{ name, count: 2, assignments: null }], timeoutMs: 9, validateOnly: false };
    return note(what, ask(world, client, 37, 3, body)?.results[0]?.errorCode);
  };
  const alter = (name: string, what: string): boolean => {
    const configs = [{ name: 'max.message.bytes', configOperation: 0, value: '90' }];
    const body = { resources: [{ resourceType: 2, resourceName: name, configs }], validateOnly: false };
    return note(what, ask(world, client, 44, 1, body)?.responses[0]?.errorCode);
  };
  const cut = (name: string, what: string): boolean => {
    const topics = [{ name, partitions: [{ partitionIndex: 0, offset: 1 }] }];
    return note(what, ask(world, client, 21, 2, { topics, timeoutMs: 9 })?.topics[0]?.partitions[0]?.errorCode);
  };
  /** High watermarks and recovery points are written down when their intervals are over. */
  const wait = (ms: number): boolean => {
    if (world.effectsLeft > 0) world.pass(ms);
    return world.effectsLeft > 0;
  };
  const isThrough =
    create('a', 'created a') &&
    produce('a', 'old') &&
    remove('a', 'deleted a') &&
    create('a', 'created a again') &&
    wait(61_000) &&
    produce('a', 'new') &&
    produce('a', 'newer') &&
    grow('a', 'grew a') &&
    alter('a', 'altered a') &&
    cut('a', 'cut a') &&
    wait(6_000) &&
    remove('a', 'deleted a again') &&
    create('a', 'created a anew') &&
    produce('a', 'fresh') &&
    produce('a', 'fresher');
  expect(isThrough).toBe(done.length === STATES.length - 1);
  return { done, client };
}

/** What clients can see of the topic. */
interface Seen {
  readonly partitions: number;
  readonly start: number;
  readonly values: readonly string[];
  readonly isAltered: boolean;
}

const NONE: Seen = { partitions: 0, start: 0, values: [], isAltered: false };
const EMPTY: Seen = { ...NONE, partitions: 1 };

/** What there is after each of the morning's deeds, from before the first on. */
const STATES: readonly Seen[] = [
  NONE,
  EMPTY,
  { ...EMPTY, values: ['0:0=old'] },
  NONE,
  EMPTY,
  { ...EMPTY, values: ['0:0=new'] },
  { ...EMPTY, values: ['0:0=new', '0:1=newer'] },
  { ...EMPTY, values: ['0:0=new', '0:1=newer'], partitions: 2 },
  { ...EMPTY, values: ['0:0=new', '0:1=newer'], partitions: 2, isAltered: true },
  { start: 1, values: ['0:1=newer'], partitions: 2, isAltered: true },
  NONE,
  EMPTY,
  { ...EMPTY, values: ['0:0=fresh'] },
  { ...EMPTY, values: ['0:0=fresh', '0:1=fresher'] },
];

function look(world: ToyWorld): Seen {
  expect(world.exit).toBe(null);
  expect(world.isReady).toBe(true);
  const client = world.connect();
  const asked = { topics: [{ topicId: ZERO_UUID, name: 'a' }], allowAutoTopicCreation: false };
  const found = world.ask(client, KEY.metadata, 12, asked).topics[0]!;
  if (found.errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) return NONE;
  expect(found.errorCode).toBe(0);
  const fetch = (offset: number): ResponseOf<1> =>
    world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, offset)], { maxWaitMs: 0, topic: 'a' }));
  const earliest = { partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -2 };
  const topics = [{ name: 'a', partitions: [earliest] }];
  const listed = world.ask(client, KEY.listOffsets, 7, { replicaId: -1, isolationLevel: 0, topics });
  const start = listed.topics[0]!.partitions[0]!.offset;
  const answer = fetch(start);
  expect(answer.responses[0]!.partitions[0]!.errorCode).toBe(0);
  const resources = [{ resourceType: 2, resourceName: 'a', configurationKeys: ['max.message.bytes'] }];
  const described = world.ask(client, 32, 4, { resources, includeSynonyms: false, includeDocumentation: false });
  const isAltered = described.results[0]!.configs[0]!.value === '90';
  if (isAltered) {
    const long = world.ask(client, KEY.produce, 9, produceBody(0, batchOf(['x'.repeat(100)]), { topic: 'a' }));
    expect(long.responses[0]!.partitionResponses[0]!.errorCode).toBe(ErrorCode.MESSAGE_TOO_LARGE);
  }
  return { partitions: found.partitions.length, start, values: valuesOf(answer), isAltered };
}

/** All that was acknowledged is there, and of what was asked next all or nothing. */
function check(world: ToyWorld, { done }: Acknowledged): Seen {
  const seen = look(world);
  expect(STATES.slice(done.length, done.length + 2), done.at(-1)).toContainEqual(seen);
  return seen;
}

describe("a crash in an administrator's morning", () => {
  it('is not needed for all of it to be acknowledged, and within the effects that are tried', () => {
    const world = new ToyWorld({ 'tidemark.topics': '' }).start();
    world.effectsLeft = EFFECTS;
    const acknowledged = morning(world);
    expect(acknowledged.done.at(-1)).toBe('produced fresher');
    expect(world.effectsLeft).toBeGreaterThan(0);
  });

  it.each(['process', 'power'] as const)('leaves what was acknowledged: %s', (kind) => {
    for (let effects = 0; effects < EFFECTS; effects++) {
      const world = new ToyWorld({ 'tidemark.topics': '' }).start();
      world.effectsLeft = effects;
      const acknowledged = morning(world);
      world.crash(kind);
      const seen = check(world, acknowledged);
      // And what the next start finds is what this one left.
      world.crash(kind === 'power' ? 'process' : 'power');
      expect(look(world)).toEqual(seen);
    }
  });
});
