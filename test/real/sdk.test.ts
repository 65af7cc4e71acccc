/** The promise shell over real sockets, against a node in the same process. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { createProducerClient, DeliveryError } from '../../runtime-real/sdk/producer-client.ts';
import { createReaderClient, ReadError } from '../../runtime-real/sdk/reader-client.ts';
import { type NodeForTests, startNode } from '../../tools/testkit/testing.ts';

const decoder = new TextDecoder();
let node: NodeForTests;

beforeAll(async () => {
  node = await startNode({ topics: { t: 3, idle: 1 }, disk: 'temporary' });
});

afterAll(async () => {
  await node.stop();
});

describe('the client over real sockets', () => {
  it.each([0, 1, 2, 3, 4] as const)(
    'sends with codec %i and reads the same records back, once and in order',
    async (codec) => {
      const topic = `codec-${codec}`;
      const producer = createProducerClient({ bootstrap: node.bootstrap, compression: codec, lingerMs: 1 });
      const count = 20_000;
      const sends = Array.from({ length: count }, (_, i) =>
        producer.send({ topic, key: `k${i}`, value: `value ${i}` }),
      );
      const offsets = (await Promise.all(sends)).map(({ offset }) => offset);
      expect(offsets).toEqual(Array.from({ length: count }, (_, i) => i));
      await producer.close();
      const reader = createReaderClient({ bootstrap: node.bootstrap, topic });
      let next = 0;
      for await (const { offset, key, value } of reader) {
        expect(offset).toBe(next);
        expect(decoder.decode(key ?? undefined)).toBe(`k${next}`);
        expect(decoder.decode(value ?? undefined)).toBe(`value ${next}`);
        next += 1;
        if (next === count) break;
      }
      await reader.close();
      expect(next).toBe(count);
    },
  );

  it('flushes what lingers', async () => {
    const producer = createProducerClient({ bootstrap: node.bootstrap, lingerMs: 60_000 });
    const sent = producer.send({ topic: 't', partition: 2, value: 'now' });
    await producer.flush();
    expect((await sent).partition).toBe(2);
    await producer.close();
  });

  it('rejects a record that no broker would take, and every record after it is closed', async () => {
    const producer = createProducerClient({ bootstrap: node.bootstrap });
    await expect(producer.send({ topic: 'not a name' })).rejects.toBeInstanceOf(DeliveryError);
    await producer.close();
    await expect(producer.send({ topic: 't' })).rejects.toThrow('closed');
  });

  it('a reader behind a slow caller stops fetching and loses nothing', async () => {
    const producer = createProducerClient({ bootstrap: node.bootstrap, batchBytesMax: 500_000 });
    const value = 'x'.repeat(100_000);
    await Promise.all(Array.from({ length: 400 }, () => producer.send({ topic: 't', partition: 1, value })));
    await producer.close();
    const reader = createReaderClient({ bootstrap: node.bootstrap, topic: 't', partition: 1 });
    let count = 0;
    for await (const record of reader) {
      if (count === 0) await new Promise((resolve) => setTimeout(resolve, 500));
      expect(record.offset).toBe(count);
      count += 1;
      if (count === 400) break;
    }
    await reader.close();
  });

  it('a reader outside of the log fails by name', async () => {
    const reader = createReaderClient({ bootstrap: node.bootstrap, topic: 'idle', from: 77 });
    const reading = reader[Symbol.asyncIterator]().next();
    await expect(reading).rejects.toMatchObject({ name: 'ReadError', code: ErrorCode.OFFSET_OUT_OF_RANGE });
    expect(new ReadError(1, 'a').code).toBe(1);
    await reader.close();
  });
});
