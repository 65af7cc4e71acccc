/** The consumer's promise shell over real sockets, against a node in the same process: both protocols. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ConsumedRecord,
  type ConsumerClient,
  type ConsumerClientOptions,
  createConsumerClient,
} from '../../runtime-real/sdk/consumer-client.ts';
import { createProducerClient } from '../../runtime-real/sdk/producer-client.ts';
import { type NodeForTests, startNode } from '../../tools/testkit/testing.ts';

const decoder = new TextDecoder();
let node: NodeForTests;

beforeAll(async () => {
  node = await startNode({ topics: { a: 4, b: 4, c: 4, d: 1 }, disk: 'temporary' });
});

afterAll(async () => {
  await node.stop();
});

async function write(topic: string, count: number, first = 0, partitions = 4): Promise<void> {
  const producer = createProducerClient({ bootstrap: node.bootstrap });
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      producer.send({ topic, partition: (first + i) % partitions, value: `v${first + i}` }),
    ),
  );
  await producer.close();
}

async function read(consumer: ConsumerClient, count: number): Promise<string[]> {
  const records: ConsumedRecord[] = [];
  const untilMs = performance.now() + 20_000;
  while (records.length < count && performance.now() < untilMs) records.push(...(await consumer.poll(500)));
  return records.map(({ value }) => decoder.decode(value ?? undefined)).sort();
}

function names(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, i) => `v${first + i}`).sort();
}

function open(groupId: string, more: Partial<ConsumerClientOptions>): ConsumerClient {
  return createConsumerClient({ bootstrap: node.bootstrap, groupId, reset: 'earliest', ...more });
}

const KINDS: readonly (readonly [string, string, Partial<ConsumerClientOptions>])[] = [
  ['a', 'the classic protocol', { heartbeatIntervalMs: 200, assignors: ['cooperative-sticky'] }],
  ['b', 'the classic protocol, eagerly', { heartbeatIntervalMs: 200, assignors: ['range'] }],
  ['c', 'the consumer protocol', { groupProtocol: 'consumer' }],
];

describe.each(KINDS)('a consumer of topic %s with %s', (topic, _, kind) => {
  it('reads, commits, hands over to a second one and goes on from there', async () => {
    await write(topic, 40);
    const told: string[] = [];
    const listener = {
      onPartitionsAssigned: () => void told.push('assigned'),
      onPartitionsRevoked: () => void told.push('revoked'),
    };
    const one = open(`g-${topic}`, { ...kind, listener });
    one.subscribe({ topics: [topic] });
    expect(await read(one, 40)).toEqual(names(40));
    await one.commit();
    const marks = await one.committed([{ topic, partition: 1 }]);
    expect(marks).toMatchObject([{ topic, partition: 1, offset: 10 }]);
    expect(one.position({ topic, partition: 1 })).toBe(10);
    expect(one.lag({ topic, partition: 1 })).toBe(0);

    const two = open(`g-${topic}`, kind);
    two.subscribe({ topics: [topic] });
    const untilMs = performance.now() + 20_000;
    while ((one.assignment().length !== 2 || two.assignment().length !== 2) && performance.now() < untilMs) {
      await Promise.all([one.poll(100), two.poll(100)]);
    }
    expect([one.assignment().length, two.assignment().length]).toEqual([2, 2]);
    await write(topic, 40, 40);
    const both = await Promise.all([read(one, 20), read(two, 20)]);
    expect(both.flat().sort()).toEqual(names(40, 40));
    await one.close();
    await two.close();
    expect(told[0]).toBe('assigned');
    expect(told.at(-1)).toBe('revoked');

    await write(topic, 4, 80);
    const three = open(`g-${topic}`, kind);
    three.subscribe({ topics: [topic] });
    expect(await read(three, 4)).toEqual(names(4, 80));
    await three.close();
  }, 60_000);
});

it('a consumer without a group reads what it is assigned, from where it is moved to', async () => {
  await write('d', 10, 0, 1);
  const consumer = createConsumerClient({ bootstrap: node.bootstrap, groupId: null, reset: 'earliest' });
  const at = { topic: 'd', partition: 0 };
  consumer.assign([at]);
  expect(await read(consumer, 10)).toEqual(names(10));
  expect(consumer.seek(at, 7)).toBe(true);
  expect(await read(consumer, 3)).toEqual(names(3, 7));
  consumer.seek(at, 'earliest');
  consumer.pause(at);
  expect(await consumer.poll(300)).toEqual([]);
  consumer.resume(at);
  expect((await read(consumer, 10)).length).toBe(10);
  await expect(consumer.commit()).rejects.toThrow('INVALID_GROUP_ID');
  await consumer.close();
});

it('a consumer that is closed, however often, stores and tells nothing', async () => {
  const consumer = open('closed', { autoCommit: false });
  consumer.subscribe({ topics: ['d'] });
  await Promise.all([consumer.close(), consumer.close()]);
  await expect(consumer.commit([{ topic: 'd', partition: 0, offset: 1 }])).rejects.toThrow('closed');
  await expect(consumer.committed([{ topic: 'd', partition: 0 }])).rejects.toThrow('closed');
  expect(await consumer.poll(100)).toEqual([]);
});
