/** Small ways of Apache Kafka's that were found by asking it and this node the same. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { batchOf, fetchBody, KEY, produce, produceBody, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld({ 'tidemark.topics': 'orders:2' }).start();
  return { world, client: world.connect() };
}

describe('as with Apache Kafka', () => {
  it('a Produce with zstd is refused before version 7, whose readers would not know it', () => {
    const { world, client } = started();
    const records = batchOf(['a']);
    records[22] = 4; // The codec; the checksum no longer holds, and nobody comes to look.
    const codeOf = (version: number) =>
      world.ask(client, KEY.produce, version, produceBody(0, records)).responses[0]!.partitionResponses[0]!.errorCode;
    expect([codeOf(3), codeOf(6)]).toEqual(Array(2).fill(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE));
    expect(codeOf(7)).toBe(ErrorCode.CORRUPT_MESSAGE);
  });

  it('a fetch session ends when nothing is left to read', () => {
    const { world, client } = started();
    const both = [wanted(0, 0), wanted(1, 0)];
    const begun = world.ask(client, KEY.fetch, 11, fetchBody(both, { sessionEpoch: 0, maxWaitMs: 0 }));
    const incremental = (sessionEpoch: number) =>
      fetchBody([], { sessionId: begun.sessionId, sessionEpoch, maxWaitMs: 0 });
    const topicId = 'AAAAAAAAAAAAAAAAAAAAAA';
    const forgottenTopicsData = [{ topic: 'orders', topicId, partitions: [0, 1] }];
    const last = world.ask(client, KEY.fetch, 11, { ...incremental(1), forgottenTopicsData });
    expect(last).toMatchObject({ errorCode: 0, sessionId: 0, responses: [] });
    const gone = world.ask(client, KEY.fetch, 11, incremental(2));
    expect(gone.errorCode).toBe(ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
    expect(world.node.sessions.byId.size).toBe(0);
  });

  it('a fetch names a partition once that is forgotten and wanted again', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    produce(world, client, 1, ['b']);
    const both = [wanted(0, 0), wanted(1, 0)];
    const { sessionId } = world.ask(client, KEY.fetch, 11, fetchBody(both, { sessionEpoch: 0, maxWaitMs: 0 }));
    const topicId = 'AAAAAAAAAAAAAAAAAAAAAA';
    const forgottenTopicsData = [{ topic: 'orders', topicId, partitions: [0, 1] }];
    const again = { ...fetchBody(both, { sessionId, sessionEpoch: 1, maxWaitMs: 0 }), forgottenTopicsData };
    expect(valuesOf(world.ask(client, KEY.fetch, 11, again))).toEqual(['0:0=a', '1:0=b']);
  });
});
