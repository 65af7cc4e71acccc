/** The other APIs: what they answer in the versions whose meaning differs. */
import { describe, expect, it } from 'vitest';
import { SERVED } from '../../core/broker/api/table.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { decodeResponse } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { batchOf, fetchBody, KEY, produce, produceBody, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(changes: { [name: string]: string } = {}): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld(changes).start();
  return { world, client: world.connect() };
}

describe('ApiVersions', () => {
  const software = { clientSoftwareName: 'toy', clientSoftwareVersion: '1.0' };

  it('lists what is served, and Produce from 0 as Kafka does', () => {
    const { world, client } = started();
    const answer = world.ask(client, KEY.apiVersions, 3, software);
    expect(answer.apiKeys.map((key) => [key.apiKey, key.minVersion, key.maxVersion])).toEqual([
      [0, 0, 13],
      [1, 4, 18],
      [2, 1, 11],
      [3, 0, 13],
      [8, 2, 10],
      [9, 1, 10],
      [10, 0, 6],
      [11, 0, 9],
      [12, 0, 4],
      [13, 0, 5],
      [14, 0, 5],
      [15, 0, 6],
      [16, 0, 5],
      [18, 0, 5],
      [19, 2, 7],
      [20, 1, 6],
      [21, 0, 2],
      [22, 0, 5],
      [23, 2, 4],
      [29, 1, 3],
      [32, 1, 4],
      [33, 0, 2],
      [35, 1, 5],
      [37, 0, 3],
      [42, 0, 3],
      [43, 0, 2],
      [44, 0, 1],
      [45, 0, 1],
      [46, 0, 0],
      [47, 0, 0],
      [48, 0, 1],
      [50, 0, 0],
      [55, 0, 2],
      [57, 0, 2],
      [60, 0, 2],
      [61, 0, 0],
      [64, 0, 0],
      [68, 0, 1],
      [69, 0, 1],
      [74, 0, 1],
      [75, 0, 0],
      [80, 0, 1],
      [81, 0, 0],
      [94, 0, 0],
    ]);
    expect(answer.errorCode).toBe(0);
  });

  it('lists the features that are finalized, and those of level 0 only for clients that can read them', () => {
    const { world, client } = started();
    const answer = world.ask(client, KEY.apiVersions, 4, software);
    expect(answer.finalizedFeatures.map(({ name, maxVersionLevel }) => [name, maxVersionLevel]).sort()).toEqual([
      ['eligible.leader.replicas.version', 1],
      ['group.version', 1],
      ['kraft.version', 1],
      ['metadata.version', 33],
    ]);
    expect(answer.supportedFeatures).toHaveLength(4);
    const old = world.ask(client, KEY.apiVersions, 3, software);
    expect(old.supportedFeatures.map(({ name }) => name)).toEqual(['metadata.version']);
  });

  it('of a version that is too high is answered in version 0 with the range', () => {
    const { world, client } = started();
    world.sendRaw(client, new Uint8Array([0, 18, 0, 99, 0, 0, 0, 5, 255, 255, 0]));
    const frame = client.received.subarray(4);
    const { correlationId, body } = decodeResponse(KEY.apiVersions, 0, frame);
    expect(correlationId).toBe(5);
    expect(body.errorCode).toBe(ErrorCode.UNSUPPORTED_VERSION);
    expect(body.apiKeys).toEqual([{ apiKey: 18, minVersion: 0, maxVersion: 5 }]);
    expect(client.closed).toBe(false);
  });

  it.each(['', '-a', 'a b', 'a.'])('refuses a client that calls its software %j', (clientSoftwareName) => {
    const { world, client } = started();
    const answer = world.ask(client, KEY.apiVersions, 3, { ...software, clientSoftwareName });
    expect(answer).toMatchObject({ errorCode: ErrorCode.INVALID_REQUEST, apiKeys: [] });
  });

  it('tells a client that means another node or cluster to start over', () => {
    const { world, client } = started({ 'cluster.id': 'here' });
    const codeOf = (clusterId: string | null, nodeId: number) =>
      world.ask(client, KEY.apiVersions, 5, { ...software, clusterId, nodeId }).errorCode;
    expect([codeOf(null, -1), codeOf('here', 1)]).toEqual([0, 0]);
    const half = [codeOf('here', -1), codeOf(null, 1), codeOf('', -1)];
    expect(half).toEqual(Array(3).fill(ErrorCode.INVALID_REQUEST));
    expect([codeOf('there', 1), codeOf('here', 2)]).toEqual(Array(2).fill(ErrorCode.REBOOTSTRAP_REQUIRED));
  });
});

describe('Metadata', () => {
  it('names this node as broker, controller, leader and only replica, at the address that the client reached', () => {
    const { world, client } = started({ 'cluster.id': 'here' });
    const answer = world.ask(client, KEY.metadata, 9, { topics: [{ name: 'orders' }] });
    expect(answer.brokers).toEqual([{ nodeId: 1, host: '10.0.0.1', port: 9092, rack: null }]);
    expect(answer).toMatchObject({ clusterId: 'here', controllerId: 1 });
    expect(answer.topics[0]!.partitions).toHaveLength(2);
    expect(answer.topics[0]!.partitions[1]).toEqual({
      errorCode: 0,
      partitionIndex: 1,
      leaderId: 1,
      leaderEpoch: 0,
      replicaNodes: [1],
      isrNodes: [1],
      offlineReplicas: [],
    });
  });

  it('names the advertised listener, with the bound port where it says 0', () => {
    const { world, client } = started({
      listeners: 'PLAINTEXT://:0',
      'advertised.listeners': 'PLAINTEXT://broker.example:0',
    });
    const answer = world.ask(client, KEY.metadata, 9, { topics: [] });
    expect(answer.brokers[0]).toMatchObject({ host: 'broker.example', port: 4242 });
  });

  it('lists all topics for null, none for an empty list, but all for an empty list in version 0', () => {
    const { world, client } = started();
    const namesOf = (version: number, topics: null | []) =>
      world.ask(client, KEY.metadata, version, { topics }).topics.map(({ name }) => name);
    expect([namesOf(1, null), namesOf(1, []), namesOf(0, [])]).toEqual([['orders'], [], ['orders']]);
  });

  it('creates a missing topic and answers when it can be used', () => {
    const { world, client } = started({ 'num.partitions': '3' });
    const answer = world.ask(client, KEY.metadata, 4, { topics: [{ name: 'new' }], allowAutoTopicCreation: true });
    expect(answer.topics[0]).toMatchObject({ errorCode: 0, name: 'new' });
    expect(answer.topics[0]!.partitions).toHaveLength(3);
    expect(produce(world, client, 2, ['a'], { topic: 'new' }).errorCode).toBe(0);
  });

  it('creates nothing when the client or the node does not want it', () => {
    const { world, client } = started();
    const asked = { topics: [{ name: 'new' }], allowAutoTopicCreation: false };
    expect(world.ask(client, KEY.metadata, 4, asked).topics[0]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    const off = started({ 'auto.create.topics.enable': 'false' });
    const wanted = { topics: [{ name: 'new' }], allowAutoTopicCreation: true };
    const answer = off.world.ask(off.client, KEY.metadata, 4, wanted);
    expect(answer.topics[0]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  });

  it('answers two clients that create one topic at the same time alike', () => {
    const { world, client } = started();
    const body = { topics: [{ name: 'new' }], allowAutoTopicCreation: true };
    const other = world.connect();
    world.send(client, KEY.metadata, 4, body);
    world.send(other, KEY.metadata, 4, body);
    world.run();
    const codes = [client, other].map((one) =>
      world.take(one, KEY.metadata, 4).topics.map(({ errorCode }) => errorCode),
    );
    expect(codes).toEqual([[0], [0]]);
    expect(world.said.filter((line) => line.includes('topic created topic=new'))).toHaveLength(1);
  });

  it('describes each topic once, however often it is asked for', () => {
    const { world, client } = started();
    const names = ['orders', 'no', 'orders', 'no', 'a b', 'a b'];
    const body = { topics: names.map((name) => ({ name })), allowAutoTopicCreation: false };
    const found = world.ask(client, KEY.metadata, 4, body).topics.map(({ name, errorCode }) => [name, errorCode]);
    const unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
    expect(found).toEqual([
      ['orders', 0],
      ['no', unknown],
      ['a b', ErrorCode.INVALID_TOPIC_EXCEPTION],
    ]);
  });

  it('says what is allowed of an unknown topic too', () => {
    const { world, client } = started();
    const asked = { allowAutoTopicCreation: false, includeTopicAuthorizedOperations: true };
    const [topic] = world.ask(client, KEY.metadata, 9, { topics: [{ name: 'no' }], ...asked }).topics;
    expect(topic!.topicAuthorizedOperations).toBe(3576);
  });

  it.each(['', '.', '..', 'a/b', 'ä', 'x'.repeat(250)])('refuses the name %j', (name) => {
    const { world, client } = started();
    const answer = world.ask(client, KEY.metadata, 4, { topics: [{ name }], allowAutoTopicCreation: true });
    expect(answer.topics[0]!.errorCode).toBe(ErrorCode.INVALID_TOPIC_EXCEPTION);
  });

  it('refuses a name that differs from an existing one by a dot only', () => {
    const { world, client } = started({ 'tidemark.topics': 'a.b:1' });
    const answer = world.ask(client, KEY.metadata, 4, { topics: [{ name: 'a_b' }], allowAutoTopicCreation: true });
    expect(answer.topics[0]!.errorCode).toBe(ErrorCode.INVALID_TOPIC_EXCEPTION);
  });

  it('does not create the topics that brokers make for themselves', () => {
    const { world, client } = started();
    const body = { topics: [{ name: '__transaction_state' }], allowAutoTopicCreation: true };
    expect(world.ask(client, KEY.metadata, 4, body).topics[0]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  });

  it('finds a topic by id since version 12', () => {
    const { world, client } = started();
    const { topicId } = world.ask(client, KEY.metadata, 12, { topics: null }).topics[0]!;
    const byId = (id: string) =>
      world.ask(client, KEY.metadata, 12, { topics: [{ topicId: id, name: null }] }).topics[0]!;
    expect(byId(topicId)).toMatchObject({ errorCode: 0, name: 'orders', topicId });
    const other = 'Rb7sP1xVQ2uQWm0jvW5b4A';
    expect(byId(other)).toMatchObject({ errorCode: ErrorCode.UNKNOWN_TOPIC_ID, name: null, topicId: other });
  });

  it('tries again to make a topic that did not fit the disk, and has no leader for it until then', () => {
    const { world, client } = started();
    world.fault = { kind: 'replace', on: 'new-0', error: 'noSpace' };
    const body = { topics: [{ name: 'new' }], allowAutoTopicCreation: true };
    const asked = world.send(client, KEY.metadata, 4, body);
    expect(world.pending(client)).toEqual([]);
    const other = world.ask(world.connect(), KEY.metadata, 4, { ...body, allowAutoTopicCreation: false });
    expect(other.topics[0]!.partitions[0]!.errorCode).toBe(ErrorCode.LEADER_NOT_AVAILABLE);
    world.fault = null;
    world.pass(2_000);
    expect(world.pending(client)).toEqual([asked]);
    expect(world.take(client, KEY.metadata, 4).topics[0]!.partitions[0]!.errorCode).toBe(0);
  });
});

describe('ListOffsets', () => {
  function listOf(world: ToyWorld, client: ToyConnection, version: number, timestamp: number, epoch = -1) {
    const partitions = [{ partitionIndex: 0, currentLeaderEpoch: epoch, timestamp }];
    const body = { replicaId: -1, isolationLevel: 0, topics: [{ name: 'orders', partitions }] };
    return world.ask(client, KEY.listOffsets, version, body).topics[0]!.partitions[0]!;
  }

  function filled(): { world: ToyWorld; client: ToyConnection } {
    const both = started();
    for (const timestampMs of [1000, 3000, 2000]) {
      const records = batchOf(['a', 'b'], { timestampMs });
      both.world.ask(both.client, KEY.produce, 9, produceBody(0, records));
    }
    return both;
  }

  it.each([
    ['the end', 1, -1, { offset: 6, timestamp: -1 }],
    ['the start', 1, -2, { offset: 0, timestamp: -1 }],
    ['the largest timestamp', 7, -3, { offset: 2, timestamp: 3000 }],
    ['the start of what is local', 8, -4, { offset: 0, timestamp: -1 }],
    ['the end of what is tiered', 9, -5, { offset: -1, timestamp: -1 }],
    ['what waits to be tiered', 11, -6, { offset: -1, timestamp: -1 }],
    ['a time before all records', 4, 5, { offset: 0, timestamp: 1000 }],
    ['a time between', 4, 1001, { offset: 2, timestamp: 3000 }],
    ['a time after all records', 4, 9999, { offset: -1, timestamp: -1 }],
  ])('finds %s', (_title, version, timestamp, expected) => {
    const { world, client } = filled();
    expect(listOf(world, client, version, timestamp)).toMatchObject({ errorCode: 0, ...expected });
  });

  it('counts only what readers see as the end', () => {
    const { world, client } = filled();
    world.holdsSyncs = true;
    world.send(client, KEY.produce, 9, produceBody(0, batchOf(['late'])));
    expect(listOf(world, world.connect(), 1, -1).offset).toBe(6);
  });

  it.each([
    [6, -3],
    [7, -4],
    [8, -5],
    [10, -6],
    [11, -7],
  ])('refuses in version %i the special timestamp %i', (version, timestamp) => {
    const { world, client } = filled();
    expect(listOf(world, client, version, timestamp).errorCode).toBe(ErrorCode.UNSUPPORTED_VERSION);
  });

  it('refuses a leader epoch that is not the present one, and a partition named twice', () => {
    const { world, client } = filled();
    expect(listOf(world, client, 4, -1, 9).errorCode).toBe(ErrorCode.UNKNOWN_LEADER_EPOCH);
    const one = { partitionIndex: 0, timestamp: -1 };
    const topics = [{ name: 'orders', partitions: [one, one, { partitionIndex: 9, timestamp: -1 }] }];
    const answer = world.ask(client, KEY.listOffsets, 4, { replicaId: -1, isolationLevel: 0, topics });
    const codes = answer.topics[0]!.partitions.map(({ errorCode }) => errorCode);
    expect(codes).toEqual([ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]);
    const twice = world.ask(client, KEY.listOffsets, 4, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [0, 0].map(() => ({ name: 'orders', partitions: [one] })),
    });
    expect(twice.topics).toHaveLength(1);
    expect(twice.topics[0]!.partitions).toMatchObject([{ errorCode: ErrorCode.INVALID_REQUEST }]);
  });

  it('searches files when the records are no longer in memory', () => {
    const { world } = filled();
    world.crash('process');
    expect(listOf(world, world.connect(), 4, 1001)).toMatchObject({ errorCode: 0, offset: 2, timestamp: 3000 });
  });
});

describe('OffsetForLeaderEpoch', () => {
  it('says where each epoch ends', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a', 'b']);
    world.crash('process');
    const again = world.connect();
    produce(world, again, 0, ['c']);
    const endOf = (leaderEpoch: number, currentLeaderEpoch = -1, partition = 0) => {
      const topics = [{ topic: 'orders', partitions: [{ partition, currentLeaderEpoch, leaderEpoch }] }];
      return world.ask(again, 23, 4, { replicaId: -2, topics }).topics[0]!.partitions[0];
    };
    expect(endOf(0)).toMatchObject({ errorCode: 0, leaderEpoch: 0, endOffset: 2 });
    expect(endOf(2)).toMatchObject({ errorCode: 0, leaderEpoch: 2, endOffset: 3 });
    expect(endOf(7)).toMatchObject({ errorCode: 0, leaderEpoch: -1, endOffset: -1 });
    expect(endOf(0, 0)).toMatchObject({ errorCode: ErrorCode.FENCED_LEADER_EPOCH, endOffset: -1 });
    expect(endOf(0, -1, 9)).toMatchObject({ errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION });
  });
});

describe('DescribeCluster', () => {
  it('describes the brokers, and refuses endpoints of another kind', () => {
    const { world, client } = started({ 'cluster.id': 'here' });
    const ask = (endpointType: number): ResponseOf<60> =>
      world.ask(client, 60, 1, { includeClusterAuthorizedOperations: true, endpointType });
    expect(ask(1)).toMatchObject({ errorCode: 0, clusterId: 'here', controllerId: 1 });
    expect(ask(1).brokers).toEqual([{ brokerId: 1, host: '10.0.0.1', port: 9092, rack: null, isFenced: false }]);
    expect(ask(2).errorCode).toBe(ErrorCode.MISMATCHED_ENDPOINT_TYPE);
    expect(ask(3)).toMatchObject({ errorCode: ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, endpointType: 1 });
  });
});

describe('every version of every API that is advertised', () => {
  const bodies: { [key: number]: (version: number) => unknown } = {
    0: (version) => ({ ...produceBody(0, batchOf(['a'])), ...(version >= 13 ? { topicData: [] } : {}) }),
    1: (version) => (version >= 13 ? fetchBody([]) : fetchBody([wanted(0, 0), wanted(0, 9), wanted(7, 0)])),
    2: () => {
      const partitions = [-1, -2, 0].map((timestamp, partitionIndex) => ({ partitionIndex, timestamp }));
      return { replicaId: -1, isolationLevel: 0, topics: [{ name: 'orders', partitions }] };
    },
    3: (version) => ({
      topics: ['orders', 'x y'].map((name) => ({ topicId: ZERO_UUID, name })),
      includeTopicAuthorizedOperations: version >= 8,
    }),
    10: (version) => (version >= 4 ? { key: '', coordinatorKeys: ['g'] } : { key: 'g', coordinatorKeys: [] }),
    18: (version) => (version >= 3 ? { clientSoftwareName: 'toy', clientSoftwareVersion: '1' } : {}),
    22: () => ({ transactionalId: null, transactionTimeoutMs: 0 }),
    23: () => {
      const partitions = [{ partition: 0, leaderEpoch: 0 }];
      return { replicaId: -2, topics: [{ topic: 'orders', partitions }] };
    },
    60: () => ({ includeClusterAuthorizedOperations: true }),
  };
  const cases = SERVED.flatMap(({ api }) => {
    const first = Math.max(api.advertised.since, api.request.versions.since);
    const count = api.advertised.until - first + 1;
    return Array.from({ length: count }, (_, i) => [api.name, api.key, first + i] as const);
  });

  it.each(cases)('%s (%i) version %i is answered in that version', (_name, key, version) => {
    const { world, client } = started();
    world.ask(client, key as 60, version, (bodies[key]?.(version) ?? {}) as never);
    expect(client.closed).toBe(false);
    expect(client.received).toHaveLength(0);
  });

  it.each([9, 10, 11, 12])('a fenced fetch in version %i is answered in that version', (version) => {
    const { world, client } = started();
    const body = fetchBody([wanted(0, 0, { currentLeaderEpoch: 5 })]);
    const [partition] = world.ask(client, KEY.fetch, version, body).responses[0]!.partitions;
    expect(partition!.errorCode).toBe(ErrorCode.UNKNOWN_LEADER_EPOCH);
    expect(partition!.currentLeader.leaderId).toBe(-1);
  });
});

it('a zero uuid stands for no topic id', () => {
  const { world, client } = started();
  const answer = world.ask(client, KEY.metadata, 12, { topics: [{ topicId: ZERO_UUID, name: 'orders' }] });
  expect(answer.topics[0]!.errorCode).toBe(0);
});
