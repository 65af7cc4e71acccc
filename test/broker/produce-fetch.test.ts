/** Produce and Fetch: when answers come, what they say, and what a reader sees. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { batchOf, fetchBody, KEY, produce, produceBody, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(changes: { [name: string]: string } = {}): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld(changes).start();
  return { world, client: world.connect() };
}

describe('produce', () => {
  it.each([-1, 1])('with acks=%i is answered only when the batch is durable', (acks) => {
    const { world, client } = started();
    world.holdsSyncs = true;
    const asked = world.send(client, KEY.produce, 9, produceBody(0, batchOf(['a']), { acks }));
    expect(world.pending(client)).toEqual([]);
    world.releaseSyncs();
    expect(world.pending(client)).toEqual([asked]);
    const [partition] = world.take(client, KEY.produce, 9).responses[0]!.partitionResponses;
    expect(partition).toMatchObject({ index: 0, errorCode: 0, baseOffset: 0, logAppendTimeMs: -1, logStartOffset: 0 });
  });

  it('with acks=0 has no answer, and the batch is there', () => {
    const { world, client } = started();
    world.send(client, KEY.produce, 9, produceBody(0, batchOf(['a']), { acks: 0 }));
    expect(world.pending(client)).toEqual([]);
    expect(valuesOf(world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)])))).toEqual(['0:0=a']);
  });

  it('with acks=0 that fails ends the connection, for there is no other way to tell', () => {
    const { world, client } = started();
    world.send(client, KEY.produce, 9, produceBody(7, batchOf(['a']), { acks: 0 }));
    expect(client.closed).toBe(true);
    expect(world.said.at(-1)).toContain('a batch with acks=0 failed: UNKNOWN_TOPIC_OR_PARTITION');
  });

  it.each([
    ['an unknown topic', { topic: 'nobody' }, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    ['an unknown partition', {}, 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    ['acks=2', { acks: 2 }, 0, ErrorCode.INVALID_REQUIRED_ACKS],
  ])('to %s is refused', (_title, options, partition, errorCode) => {
    const { world, client } = started();
    expect(produce(world, client, partition, ['a'], options)).toMatchObject({ errorCode, baseOffset: -1 });
  });

  it('of bytes that are no batch, of none, and of two batches at once is refused, each partition by itself', () => {
    const { world, client } = started();
    const two = new Uint8Array([...batchOf(['a']), ...batchOf(['b'])]);
    const bad = batchOf(['a']);
    bad[65] = bad[65]! ^ 1;
    for (const [records, code] of [
      [bad, ErrorCode.CORRUPT_MESSAGE],
      [two, ErrorCode.INVALID_RECORD],
      [null, ErrorCode.INVALID_RECORD],
    ] as const) {
      const body = produceBody(0, records);
      const [topic] = body.topicData;
      const partitionData = [...topic!.partitionData, { index: 1, records: batchOf(['fine']) }];
      const both = { ...body, topicData: [{ ...topic, partitionData }] };
      const answers = world.ask(client, KEY.produce, 9, both).responses[0]!.partitionResponses;
      expect(answers.map(({ errorCode }) => errorCode)).toEqual([code, 0]);
    }
  });

  it('by topic id finds the topic, and says UNKNOWN_TOPIC_ID for another', () => {
    const { world, client } = started();
    const topicId = world.ask(client, KEY.metadata, 12, { topics: null }).topics[0]!.topicId;
    const codeOf = (id: string) => {
      const body = produceBody(0, batchOf(['a']), { topic: '', topicId: id });
      return world.ask(client, KEY.produce, 13, body).responses[0]!.partitionResponses[0]!.errorCode;
    };
    expect(codeOf(topicId)).toBe(0);
    expect(codeOf('Rb7sP1xVQ2uQWm0jvW5b4A')).toBe(ErrorCode.UNKNOWN_TOPIC_ID);
  });

  it('that is not confirmed in time is answered by REQUEST_TIMED_OUT, and the batch may still be committed', () => {
    const { world, client } = started();
    world.holdsSyncs = true;
    world.send(client, KEY.produce, 9, produceBody(0, batchOf(['a']), { timeoutMs: 300 }));
    world.pass(299);
    expect(world.pending(client)).toEqual([]);
    world.pass(1);
    const answer = world.take(client, KEY.produce, 9).responses[0]!.partitionResponses[0];
    expect(answer).toMatchObject({ errorCode: ErrorCode.REQUEST_TIMED_OUT, baseOffset: -1 });
    world.releaseSyncs();
    expect(valuesOf(world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)])))).toEqual(['0:0=a']);
  });

  it('on a full disk is told KAFKA_STORAGE_ERROR and the node goes on', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    world.fault = { kind: 'append', on: '.log', error: 'noSpace' };
    expect(produce(world, client, 0, ['b']).errorCode).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
    expect(world.said.at(-1)).toBe(
      'warn: the disk is full: what it did not take is refused with an error folder=/data/node/orders-0 offset=1',
    );
    world.fault = null;
    expect(produce(world, client, 0, ['c'])).toMatchObject({ errorCode: 0, baseOffset: 1 });
    expect(world.exit).toBe(null);
  });

  it('on a disk that fails is told KAFKA_STORAGE_ERROR before the node ends', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    world.fault = { kind: 'sync', on: '.log', error: 'io' };
    expect(produce(world, client, 0, ['b']).errorCode).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
    expect(world.exit?.code).toBe(1);
    expect(world.exit?.reason).toContain('the log directory /data/node failed (orders-0');
  });

  it('of an idempotent producer is answered by the first offset when it is sent twice', () => {
    const { world, client } = started();
    const init = { transactionalId: null, transactionTimeoutMs: 0 };
    const { producerId } = world.ask(client, KEY.initProducerId, 4, init);
    const options = { producerId, producerEpoch: 0, baseSequence: 0 };
    expect(produce(world, client, 0, ['a', 'b'], options)).toMatchObject({ errorCode: 0, baseOffset: 0 });
    expect(produce(world, client, 0, ['a', 'b'], options)).toMatchObject({ errorCode: 0, baseOffset: 0 });
    const gap = produce(world, client, 0, ['x'], { ...options, baseSequence: 5 });
    expect(gap.errorCode).toBe(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER);
  });

  it('sent twice while the first copy waits for its sync answers both when it is durable', () => {
    const { world, client } = started();
    world.holdsSyncs = true;
    const records = batchOf(['a'], { producerId: 9, producerEpoch: 0, baseSequence: 0 });
    const first = world.send(client, KEY.produce, 9, produceBody(0, records));
    const second = world.send(client, KEY.produce, 9, produceBody(0, records));
    expect(world.pending(client)).toEqual([]);
    world.releaseSyncs();
    expect(world.pending(client)).toEqual([first, second]);
  });
});

describe('fetch', () => {
  it('gives what is durable and nothing else', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    world.holdsSyncs = true;
    world.send(client, KEY.produce, 9, produceBody(0, batchOf(['b'])));
    const answer = world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 0)]));
    expect(valuesOf(answer)).toEqual(['0:0=a']);
    expect(answer.responses[0]!.partitions[0]).toMatchObject({
      highWatermark: 1,
      lastStableOffset: 1,
      logStartOffset: 0,
      abortedTransactions: null,
      preferredReadReplica: -1,
    });
  });

  it('waits for the first byte and comes as soon as it is committed', () => {
    const { world, client } = started();
    const reader = world.connect();
    const asked = world.send(reader, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxWaitMs: 10_000 }));
    world.pass(5000);
    expect(world.pending(reader)).toEqual([]);
    produce(world, client, 0, ['a']);
    expect(world.pending(reader)).toEqual([asked]);
    expect(valuesOf(world.take(reader, KEY.fetch, 11))).toEqual(['0:0=a']);
  });

  it('waits for its minimum of bytes, counting every partition, and no longer', () => {
    const { world, client } = started();
    const reader = world.connect();
    const size = batchOf(['a']).length;
    const both = [wanted(0, 0), wanted(1, 0)];
    world.send(reader, KEY.fetch, 11, fetchBody(both, { maxWaitMs: 10_000, minBytes: 2 * size + 1 }));
    produce(world, client, 0, ['a']);
    produce(world, client, 1, ['b']);
    expect(world.pending(reader)).toEqual([]);
    produce(world, client, 0, ['c']);
    expect(valuesOf(world.take(reader, KEY.fetch, 11))).toEqual(['0:0=a', '0:1=c', '1:0=b']);
  });

  it('comes with what there is when its time is over', () => {
    const { world, client } = started();
    const reader = world.connect();
    world.send(reader, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxWaitMs: 700, minBytes: 100_000 }));
    produce(world, client, 0, ['a']);
    world.pass(699);
    expect(world.pending(reader)).toEqual([]);
    world.pass(1);
    expect(valuesOf(world.take(reader, KEY.fetch, 11))).toEqual(['0:0=a']);
  });

  it('gives at least one batch, whatever the limits, and the limits hold after it', () => {
    const { world, client } = started();
    for (const value of ['a', 'b', 'c']) {
      produce(world, client, 0, [value]);
      produce(world, client, 1, [value]);
    }
    const one = batchOf(['a']).length;
    const tiny = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0), wanted(1, 0)], { maxBytes: 1 }));
    expect(valuesOf(tiny)).toEqual(['0:0=a']);
    const perPartition = { partitionMaxBytes: 2 * one };
    const limited = world.ask(
      client,
      KEY.fetch,
      11,
      fetchBody([wanted(0, 0, perPartition), wanted(1, 1, perPartition)]),
    );
    expect(valuesOf(limited)).toEqual(['0:0=a', '0:1=b', '1:1=b', '1:2=c']);
    const total = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0), wanted(1, 0)], { maxBytes: 4 * one }));
    expect(valuesOf(total)).toEqual(['0:0=a', '0:1=b', '0:2=c', '1:0=a']);
  });

  it.each([
    ['an offset beyond the end', 0, { fetchOffset: 9 }, ErrorCode.OFFSET_OUT_OF_RANGE],
    ['an older leader epoch', 0, { currentLeaderEpoch: 0 }, ErrorCode.FENCED_LEADER_EPOCH],
    ['a newer leader epoch', 0, { currentLeaderEpoch: 9 }, ErrorCode.UNKNOWN_LEADER_EPOCH],
    ['an unknown partition', 5, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
  ])('of %s is refused at once', (_title, partition, changes, errorCode) => {
    const { world } = started();
    world.crash('process'); // The second life leads under epoch 1.
    const answer = world.ask(world.connect(), KEY.fetch, 12, fetchBody([wanted(partition, 0, changes)]));
    expect(answer.responses[0]!.partitions[0]).toMatchObject({ errorCode, highWatermark: -1 });
  });

  it('by a topic id that is unknown is refused, by one that is known is served', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    const topicId = world.ask(client, KEY.metadata, 12, { topics: null }).topics[0]!.topicId;
    const body = (id: string) => fetchBody([], { topics: [{ topic: '', topicId: id, partitions: [wanted(0, 0)] }] });
    expect(valuesOf(world.ask(client, KEY.fetch, 13, body(topicId)))).toEqual(['0:0=a']);
    const unknown = world.ask(client, KEY.fetch, 13, body('Rb7sP1xVQ2uQWm0jvW5b4A')).responses[0]!;
    expect(unknown.partitions[0]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_ID);
  });

  it('tells a reader whose last epoch ended earlier where its log went another way', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    world.crash('process');
    const again = world.connect();
    produce(world, again, 0, ['b']);
    const answer = world.ask(again, KEY.fetch, 12, fetchBody([wanted(0, 2, { lastFetchedEpoch: 0 })]));
    expect(answer.responses[0]!.partitions[0]).toMatchObject({
      errorCode: 0,
      divergingEpoch: { epoch: 0, endOffset: 1 },
    });
  });

  it('with read_committed says that no transaction was aborted', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    const answer = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { isolationLevel: 1 }));
    expect(answer.responses[0]!.partitions[0]!.abortedTransactions).toEqual([]);
  });

  it('as a replica is refused, and who says so is not remembered: this node is the only one', () => {
    const { world, client } = started();
    const answer = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { replicaId: 2 }));
    expect(answer.responses[0]!.partitions[0]!.errorCode).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(world.node.contact.fetchedMs.size).toBe(0);
  });

  it('keeps recent batches of all partitions within one limit, and loses none of them', () => {
    const { world, client } = started({ 'tidemark.ring.max.bytes': '20000', 'tidemark.topics': 'orders:8' });
    for (let i = 0; i < 80; i++) produce(world, client, i % 8, ['x'.repeat(1000)]);
    expect(world.node.recentBytes).toBeLessThanOrEqual(20_000);
    expect(world.node.recentBytes).toBeGreaterThan(5000);
    for (let partition = 0; partition < 8; partition++) {
      expect(valuesOf(world.ask(client, KEY.fetch, 11, fetchBody([wanted(partition, 0)])))).toHaveLength(10);
    }
  });

  it('reads from files what is no longer in memory', () => {
    const { world, client } = started();
    for (let i = 0; i < 50; i++) produce(world, client, 0, [`v${i}`]);
    world.crash('process');
    const answer = world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 10)]));
    expect(valuesOf(answer)).toEqual(Array.from({ length: 40 }, (_, i) => `0:${i + 10}=v${i + 10}`));
  });
});

describe('fetch sessions', () => {
  const incremental = (sessionId: number, sessionEpoch: number, maxWaitMs = 0) =>
    fetchBody([], { sessionId, sessionEpoch, maxWaitMs });

  function begin(world: ToyWorld, client: ToyConnection, maxWaitMs = 0): number {
    const both = [wanted(0, 0), wanted(1, 0)];
    const answer = world.ask(client, KEY.fetch, 11, fetchBody(both, { sessionEpoch: 0, maxWaitMs }));
    expect(answer.responses[0]!.partitions).toHaveLength(2);
    expect(answer.sessionId).toBeGreaterThan(0);
    return answer.sessionId;
  }

  it('say only what is new: partitions with records or a moved watermark', () => {
    const { world, client } = started();
    const id = begin(world, client);
    expect(world.ask(client, KEY.fetch, 11, incremental(id, 1)).responses).toEqual([]);
    produce(world, client, 1, ['a']);
    const news = world.ask(client, KEY.fetch, 11, incremental(id, 2));
    expect(valuesOf(news)).toEqual(['1:0=a']);
    const moved = fetchBody([wanted(1, 1)], { sessionId: id, sessionEpoch: 3, maxWaitMs: 0 });
    expect(world.ask(client, KEY.fetch, 11, moved).responses).toEqual([]);
  });

  it('give the same records again when the client has not moved on', () => {
    const { world, client } = started();
    const id = begin(world, client);
    produce(world, client, 0, ['a']);
    expect(valuesOf(world.ask(client, KEY.fetch, 11, incremental(id, 1)))).toEqual(['0:0=a']);
    expect(valuesOf(world.ask(client, KEY.fetch, 11, incremental(id, 2)))).toEqual(['0:0=a']);
  });

  it('wake a parked fetch', () => {
    const { world, client } = started();
    const id = begin(world, client);
    const reader = world.connect();
    world.send(reader, KEY.fetch, 11, incremental(id, 1, 60_000));
    expect(world.pending(reader)).toEqual([]);
    produce(world, client, 0, ['a']);
    expect(valuesOf(world.take(reader, KEY.fetch, 11))).toEqual(['0:0=a']);
  });

  it('forget what the client no longer reads', () => {
    const { world, client } = started();
    const id = begin(world, client);
    const topicId = 'AAAAAAAAAAAAAAAAAAAAAA';
    const body = incremental(id, 1);
    world.ask(client, KEY.fetch, 11, { ...body, forgottenTopicsData: [{ topic: 'orders', topicId, partitions: [0] }] });
    produce(world, client, 0, ['a']);
    produce(world, client, 1, ['b']);
    expect(valuesOf(world.ask(client, KEY.fetch, 11, incremental(id, 2)))).toEqual(['1:0=b']);
  });

  it('take turns when not all fits', () => {
    const { world, client } = started();
    const id = begin(world, client);
    produce(world, client, 0, ['a']);
    produce(world, client, 1, ['b']);
    const tight = (epoch: number) => ({ ...incremental(id, epoch), maxBytes: 1 });
    const turns = [1, 2, 3].map((epoch) => valuesOf(world.ask(client, KEY.fetch, 11, tight(epoch))));
    expect(turns).toEqual([['0:0=a'], ['1:0=b'], ['0:0=a']]);
  });

  it('refuse an unknown id and a wrong epoch', () => {
    const { world, client } = started();
    const id = begin(world, client);
    expect(world.ask(client, KEY.fetch, 11, incremental(id + 1, 1)).errorCode).toBe(
      ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    );
    expect(world.ask(client, KEY.fetch, 11, incremental(id, 5)).errorCode).toBe(ErrorCode.INVALID_FETCH_SESSION_EPOCH);
    expect(world.ask(client, KEY.fetch, 11, incremental(id, 1)).errorCode).toBe(0);
  });

  it('refuse a client that changes from names to ids', () => {
    const { world, client } = started();
    const id = begin(world, client);
    expect(world.ask(client, KEY.fetch, 13, incremental(id, 1)).errorCode).toBe(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR);
  });

  it('end with epoch -1, and the fetch that ends one is served in full', () => {
    const { world, client } = started();
    const id = begin(world, client);
    const last = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { sessionId: id, maxWaitMs: 0 }));
    expect(last.sessionId).toBe(0);
    expect(last.responses[0]!.partitions).toHaveLength(1);
    expect(world.ask(client, KEY.fetch, 11, incremental(id, 1)).errorCode).toBe(ErrorCode.FETCH_SESSION_ID_NOT_FOUND);
  });

  it('are not given out when all places are taken, until one has been idle for two minutes', () => {
    const { world, client } = started({ 'max.incremental.fetch.session.cache.slots': '1' });
    const first = begin(world, client);
    const open = () => world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { sessionEpoch: 0, maxWaitMs: 0 }));
    expect(open().sessionId).toBe(0);
    world.pass(120_000);
    expect(open().sessionId).toBeGreaterThan(0);
    expect(world.ask(client, KEY.fetch, 11, incremental(first, 1)).errorCode).toBe(
      ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    );
  });

  it('complete a parked fetch when another one of the session arrives behind it', () => {
    const { world, client } = started();
    const id = begin(world, client);
    const first = world.send(client, KEY.fetch, 11, incremental(id, 1, 60_000));
    expect(world.pending(client)).toEqual([]);
    const second = world.send(client, KEY.fetch, 11, incremental(id, 2, 0));
    expect(world.pending(client)).toEqual([first, second]);
  });

  it('serve a topic that is created after the session began', () => {
    const { world, client } = started();
    const asked = fetchBody([wanted(0, 0)], { topic: 'late', sessionEpoch: 0, maxWaitMs: 0 });
    const answer = world.ask(client, KEY.fetch, 11, asked);
    expect(answer.responses[0]!.partitions[0]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    world.ask(client, KEY.metadata, 4, { topics: [{ name: 'late' }], allowAutoTopicCreation: true });
    produce(world, client, 0, ['a'], { topic: 'late' });
    expect(valuesOf(world.ask(client, KEY.fetch, 11, incremental(answer.sessionId, 1)))).toEqual(['0:0=a']);
  });
});
