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
const EFFECTS = 75;

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
  const isThrough =
    create('a', 'created a') &&
    produce('a', 'old') &&
    note(
      'deleted a',
      ask(world, client, 20, 6, { topics: [{ name: 'a', topicId: ZERO_UUID }], timeoutMs: 9 })?.responses[0]?.errorCode,
    ) &&
    create('a', 'created a again') &&
    produce('a', 'new') &&
    produce('a', 'newer') &&
    note(
      'grew a',
      ask(world, client, 37, 3, {
        topics: [{ name: 'a', count: 2, assignments: null }],
        timeoutMs: 9,
        validateOnly: false,
      })?.results[0]?.errorCode,
    ) &&
    note(
      'altered a',
      ask(world, client, 44, 1, {
        resources: [
          {
            resourceType: 2,
            resourceName: 'a',
            configs: [{ name: 'max.message.bytes', configOperation: 0, value: '90' }],
          },
        ],
        validateOnly: false,
      })?.responses[0]?.errorCode,
    );
  if (isThrough) {
    const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset: 1 }] }];
    note('cut a', ask(world, client, 21, 2, { topics, timeoutMs: 9 })?.topics[0]?.partitions[0]?.errorCode);
  }
  return { done, client };
}

function check(world: ToyWorld, { done }: Acknowledged): void {
  expect(world.exit).toBe(null);
  expect(world.isReady).toBe(true);
  const client = world.connect();
  const asked = { topics: [{ topicId: ZERO_UUID, name: 'a' }], allowAutoTopicCreation: false };
  const found = world.ask(client, KEY.metadata, 12, asked).topics[0]!;
  const has = (what: string): boolean => done.includes(what);
  if (has('created a again') || (has('created a') && !has('produced old'))) expect(found.errorCode).toBe(0);
  if (has('grew a')) expect(found.partitions).toHaveLength(2);
  if (found.errorCode !== 0) return;
  const start = has('cut a') ? 1 : 0;
  const answer = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, start)], { maxWaitMs: 0, topic: 'a' }));
  const { errorCode, logStartOffset } = answer.responses[0]!.partitions[0]!;
  const values = valuesOf(answer).map((value) => value.replace(/^.*=/, ''));
  if (has('produced old') && !has('deleted a') && values.length > 0) expect(values).toEqual(['old']);
  if (has('deleted a')) expect(values).not.toContain('old');
  if (has('cut a')) expect(logStartOffset).toBe(1);
  if (errorCode === 0 && has('produced newer')) expect(values).toEqual(start === 1 ? ['newer'] : ['new', 'newer']);
  if (!has('altered a')) return;
  const long = world.ask(client, KEY.produce, 9, produceBody(0, batchOf(['x'.repeat(100)]), { topic: 'a' }));
  expect(long.responses[0]!.partitionResponses[0]!.errorCode).toBe(ErrorCode.MESSAGE_TOO_LARGE);
}

describe("a crash in an administrator's morning", () => {
  it('is not needed for all of it to be acknowledged, and within the effects that are tried', () => {
    const world = new ToyWorld({ 'tidemark.topics': '' }).start();
    world.effectsLeft = EFFECTS;
    const acknowledged = morning(world);
    expect(acknowledged.done.at(-1)).toBe('cut a');
    expect(world.effectsLeft).toBeGreaterThan(0);
  });

  it.each(['process', 'power'] as const)('leaves what was acknowledged: %s', (kind) => {
    for (let effects = 0; effects < EFFECTS; effects++) {
      const world = new ToyWorld({ 'tidemark.topics': '' }).start();
      world.effectsLeft = effects;
      const acknowledged = morning(world);
      world.crash(kind);
      check(world, acknowledged);
      // And what the next start finds is what this one left.
      world.crash(kind === 'power' ? 'process' : 'power');
      check(world, acknowledged);
    }
  });
});
