/** Administration through a node: what is acknowledged holds at once, and after a crash. */
import { describe, expect, it } from 'vitest';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { batchOf, fetchBody, KEY, produce, produceBody, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(changes: { [name: string]: string } = {}): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld(changes).start();
  return { world, client: world.connect() };
}

function wantedTopic(name: string, numPartitions = 1, configs: { name: string; value: string }[] = []) {
  return { name, numPartitions, replicationFactor: -1, assignments: [], configs };
}

function create(world: ToyWorld, client: ToyConnection, ...topics: ReturnType<typeof wantedTopic>[]) {
  return world.ask(client, 19, 7, { topics, timeoutMs: 1000, validateOnly: false }).topics;
}

function remove(world: ToyWorld, client: ToyConnection, name: string) {
  const topics = [{ name, topicId: ZERO_UUID }];
  return world.ask(client, 20, 6, { topics, timeoutMs: 1000 }).responses[0]!;
}

function topicOf(world: ToyWorld, name: string): ResponseOf<3>['topics'][number] {
  const body = { topics: [{ topicId: ZERO_UUID, name }], allowAutoTopicCreation: false };
  return world.ask(world.connect(), KEY.metadata, 12, body).topics[0]!;
}

function readAll(world: ToyWorld, topic: string, offset = 0): string[] {
  const body = fetchBody([wanted(0, offset)], { maxWaitMs: 0, topic });
  return valuesOf(world.ask(world.connect(), KEY.fetch, 11, body));
}

function foldersOf(world: ToyWorld, topic: string): string[] {
  return [...world.folders].filter((name) => name.startsWith(`/data/node/${topic}-`)).sort();
}

describe('CreateTopics', () => {
  it('is answered when every partition can be produced to', () => {
    const { world, client } = started();
    const [topic] = create(world, client, wantedTopic('new', 3, [{ name: 'retention.ms', value: '5000' }]));
    expect(topic).toMatchObject({ errorCode: 0, name: 'new', numPartitions: 3, replicationFactor: 1 });
    for (const partition of [0, 1, 2]) {
      expect(produce(world, client, partition, ['a'], { topic: 'new' })).toMatchObject({ errorCode: 0, baseOffset: 0 });
    }
    expect(topicOf(world, 'new').topicId).toBe(topic!.topicId);
  });

  it.each(['process', 'power'] as const)('holds after a %s crash, with its id and its records', (kind) => {
    const { world, client } = started();
    const [topic] = create(world, client, wantedTopic('new'));
    produce(world, client, 0, ['a'], { topic: 'new' });
    world.crash(kind);
    expect(topicOf(world, 'new')).toMatchObject({ errorCode: 0, topicId: topic!.topicId });
    expect(readAll(world, 'new')).toEqual(['0:0=a']);
  });

  it('says which topics are late when the time is over', () => {
    const { world, client } = started();
    world.fault = { kind: 'replace', on: 'late-0', error: 'noSpace' };
    const topics = [wantedTopic('late'), wantedTopic('soon')];
    world.send(client, 19, 7, { topics, timeoutMs: 1000, validateOnly: false });
    world.pass(2_000);
    const codes = world.take(client, 19, 7).topics.map(({ name, errorCode }) => [name, errorCode]);
    expect(codes).toEqual([
      ['late', ErrorCode.REQUEST_TIMED_OUT],
      ['soon', 0],
    ]);
    world.fault = null;
    world.pass(2_000);
    expect(produce(world, client, 0, ['a'], { topic: 'late' }).errorCode).toBe(0);
  });

  it('with validate_only creates nothing', () => {
    const { world, client } = started();
    const body = { topics: [wantedTopic('new')], timeoutMs: 1000, validateOnly: true };
    expect(world.ask(client, 19, 7, body).topics[0]!.errorCode).toBe(0);
    expect(topicOf(world, 'new').errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
  });

  it('is refused, to be asked again, while the metadata log has no room', () => {
    const { world, client } = started();
    world.fault = { kind: 'append', on: '__cluster_metadata-0', error: 'noSpace' };
    expect(create(world, client, wantedTopic('new'))[0]!.errorCode).toBe(ErrorCode.NOT_CONTROLLER);
    world.fault = null;
    world.pass(5_000);
    expect(create(world, client, wantedTopic('new'))[0]!.errorCode).toBe(0);
  });
});

describe('DeleteTopics', () => {
  it('takes the topic away at once: nobody reads or writes it, and its folder goes', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    const parked = world.connect();
    const asked = world.send(parked, KEY.fetch, 11, fetchBody([wanted(0, 1)], { maxWaitMs: 30_000 }));
    expect(remove(world, client, 'orders').errorCode).toBe(0);
    expect(topicOf(world, 'orders').errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    expect(produce(world, client, 0, ['b']).errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    expect(world.pending(parked)).toEqual([asked]);
    const [partition] = world.take(parked, KEY.fetch, 11).responses[0]!.partitions;
    expect(partition!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    world.pass(60_000);
    expect(foldersOf(world, 'orders')).toEqual([]);
    expect(world.log.some((line) => /^rename \/data\/node\/orders-0$/.test(line))).toBe(true);
  });

  it('keeps the folder under another name until file.delete.delay.ms is over, with no file open', () => {
    const { world, client } = started({ 'tidemark.topics': '', 'log.segment.delete.delay.ms': '20000' });
    create(world, client, wantedTopic('gone'), wantedTopic('soon', 1, [{ name: 'file.delete.delay.ms', value: '0' }]));
    for (const topic of ['gone', 'soon']) {
      produce(world, client, 0, ['a'], { topic });
      remove(world, client, topic);
    }
    world.pass(0);
    expect(foldersOf(world, 'soon')).toEqual([]);
    const kept = [expect.stringMatching(/gone-0\.[0-9a-f]{32}-delete$/)];
    expect(foldersOf(world, 'gone')).toEqual(kept);
    expect([...world.opened.values()].filter((path) => path.includes('/gone-0'))).toEqual([]);
    create(world, client, wantedTopic('gone'));
    expect(produce(world, client, 0, ['new'], { topic: 'gone' })).toMatchObject({ errorCode: 0, baseOffset: 0 });
    expect(readAll(world, 'gone')).toEqual(['0:0=new']);
    world.pass(19_999);
    expect(foldersOf(world, 'gone')).toEqual(['/data/node/gone-0', ...kept]);
    world.pass(1);
    expect(foldersOf(world, 'gone')).toEqual(['/data/node/gone-0']);
  });

  it.each(['stop', 'process', 'power'] as const)(
    'leaves what is kept to the next start, which removes it: %s',
    (end) => {
      const { world, client } = started({ 'tidemark.topics': '' });
      create(world, client, wantedTopic('gone'));
      produce(world, client, 0, ['a'], { topic: 'gone' });
      remove(world, client, 'gone');
      if (end === 'stop') {
        world.push({ kind: 'stop' });
        expect(world.exit).toMatchObject({ code: 0 });
      }
      world.crash(end === 'stop' ? 'process' : end, false);
      expect(foldersOf(world, 'gone')).toHaveLength(1);
      world.start();
      expect(foldersOf(world, 'gone')).toEqual([]);
    },
  );

  it('tells a producer whose batch waits for the disk', () => {
    const { world, client } = started();
    world.holdsSyncs = true;
    const other = world.connect();
    world.send(other, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    world.send(client, 20, 6, { topics: [{ name: 'orders', topicId: ZERO_UUID }], timeoutMs: 1000 });
    world.releaseSyncs();
    expect(world.take(client, 20, 6).responses[0]!.errorCode).toBe(0);
    const answer = world.take(other, KEY.produce, 9).responses[0]!.partitionResponses[0]!;
    expect([0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]).toContain(answer.errorCode);
  });

  it.each(['no crash', 'process', 'power'] as const)('and a topic of the same name begins anew: %s', (kind) => {
    const { world } = started();
    const { topicId } = topicOf(world, 'orders');
    const client = world.connect();
    produce(world, client, 0, ['old']);
    remove(world, client, 'orders');
    create(world, client, wantedTopic('orders', 2));
    if (kind !== 'no crash') world.crash(kind);
    expect(topicOf(world, 'orders').topicId).not.toBe(topicId);
    expect(readAll(world, 'orders')).toEqual([]);
    expect(produce(world, world.connect(), 0, ['new'])).toMatchObject({ errorCode: 0, baseOffset: 0 });
    expect(readAll(world, 'orders')).toEqual(['0:0=new']);
  });

  it('waits with a new topic until the name of the old one is free', () => {
    const { world, client } = started();
    produce(world, client, 0, ['old']);
    world.fault = { kind: 'rename', on: 'orders-0', error: 'noSpace' };
    remove(world, client, 'orders');
    expect(create(world, client, wantedTopic('orders', 2))[0]!.errorCode).toBe(0);
    expect(readAll(world, 'orders')).toEqual([]);
  });

  it('leaves a folder that a crash kept from being renamed as a stray, and says so', () => {
    const { world, client } = started({ 'tidemark.topics': '' });
    create(world, client, wantedTopic('gone'));
    produce(world, client, 0, ['a'], { topic: 'gone' });
    world.fault = { kind: 'closeFile', on: 'gone-0', error: 'io' };
    remove(world, client, 'gone');
    world.crash('process');
    expect(world.said.join('\n')).toContain('a folder belongs to no topic and is set aside folder=gone-0');
    expect(foldersOf(world, 'gone')).toEqual([expect.stringMatching(/gone-0\.[0-9a-f]{32}-stray$/)]);
    expect(world.crash('process').isReady).toBe(true);
  });
});

describe('CreatePartitions', () => {
  it('is answered when the new ones can be produced to, and the old ones keep their records', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a']);
    const body = { topics: [{ name: 'orders', count: 4, assignments: null }], timeoutMs: 1000, validateOnly: false };
    expect(world.ask(client, 37, 3, body).results[0]!.errorCode).toBe(0);
    expect(produce(world, client, 3, ['b'])).toMatchObject({ errorCode: 0, baseOffset: 0 });
    expect(topicOf(world, 'orders').partitions).toHaveLength(4);
    world.crash('power');
    expect(topicOf(world, 'orders').partitions).toHaveLength(4);
    expect(readAll(world, 'orders')).toEqual(['0:0=a']);
  });
});

describe('DeleteRecords', () => {
  function deleteTo(world: ToyWorld, client: ToyConnection, offset: number) {
    const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, offset }] }];
    return world.ask(client, 21, 2, { topics, timeoutMs: 1000 }).topics[0]!.partitions[0]!;
  }

  it.each(['process', 'power'] as const)('moves the start of the log, and it stays there after a %s crash', (kind) => {
    const { world, client } = started();
    for (const value of ['a', 'b', 'c']) produce(world, client, 0, [value]);
    expect(deleteTo(world, client, 2)).toMatchObject({ errorCode: 0, lowWatermark: 2 });
    expect(readAll(world, 'orders', 2)).toEqual(['0:2=c']);
    world.crash(kind);
    const early = world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 1)], { maxWaitMs: 0 }));
    expect(early.responses[0]!.partitions[0]!.errorCode).toBe(ErrorCode.OFFSET_OUT_OF_RANGE);
    expect(readAll(world, 'orders', 2)).toEqual(['0:2=c']);
  });

  it('takes -1 for all that readers can see, and never moves the start back', () => {
    const { world, client } = started();
    for (const value of ['a', 'b', 'c']) produce(world, client, 0, [value]);
    expect(deleteTo(world, client, -1)).toMatchObject({ errorCode: 0, lowWatermark: 3 });
    expect(deleteTo(world, client, 1)).toMatchObject({ errorCode: 0, lowWatermark: 3 });
    expect(produce(world, client, 0, ['d'])).toMatchObject({ errorCode: 0, baseOffset: 3 });
  });

  it('refuses an offset that nobody can see, and leaves the start where it is when the disk has no room', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a', 'b']);
    expect(deleteTo(world, client, 3).errorCode).toBe(ErrorCode.OFFSET_OUT_OF_RANGE);
    world.fault = { kind: 'replace', on: 'log-start-offset-checkpoint', error: 'noSpace' };
    expect(deleteTo(world, client, 1).errorCode).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
    expect(readAll(world, 'orders')).toEqual(['0:0=a', '0:1=b']);
  });
});

describe('settings', () => {
  function alter(world: ToyWorld, client: ToyConnection, type: number, resource: string, name: string, value: string) {
    const configs = [{ name, configOperation: 0, value }];
    const resources = [{ resourceType: type, resourceName: resource, configs }];
    return world.ask(client, 44, 1, { resources, validateOnly: false }).responses[0]!.errorCode;
  }

  it('of a topic take effect before the answer leaves, and after a crash', () => {
    const { world, client } = started();
    expect(alter(world, client, 2, 'orders', 'max.message.bytes', '10')).toBe(0);
    expect(produce(world, client, 0, ['too long']).errorCode).toBe(ErrorCode.MESSAGE_TOO_LARGE);
    world.crash('power');
    expect(produce(world, world.connect(), 0, ['too long']).errorCode).toBe(ErrorCode.MESSAGE_TOO_LARGE);
  });

  it('of all brokers hold for topics that set nothing of their own', () => {
    const { world, client } = started();
    create(world, client, wantedTopic('own', 1, [{ name: 'max.message.bytes', value: '1000' }]));
    expect(alter(world, client, 4, '', 'message.max.bytes', '10')).toBe(0);
    expect(produce(world, client, 0, ['too long']).errorCode).toBe(ErrorCode.MESSAGE_TOO_LARGE);
    expect(produce(world, client, 0, ['not here'], { topic: 'own' }).errorCode).toBe(0);
  });

  it('min.insync.replicas asks for no more replicas than there are, as with Kafka', () => {
    const { world, client } = started();
    expect(alter(world, client, 2, 'orders', 'min.insync.replicas', '2')).toBe(0);
    expect(produce(world, client, 0, ['a']).errorCode).toBe(0);
    expect(produce(world, client, 0, ['a'], { acks: 1 }).errorCode).toBe(0);
  });

  it('are described with where they come from', () => {
    const { world, client } = started();
    alter(world, client, 2, 'orders', 'retention.ms', '7');
    const resources = [{ resourceType: 2, resourceName: 'orders', configurationKeys: ['retention.ms'] }];
    const body = { resources, includeSynonyms: true, includeDocumentation: false };
    const [config] = world.ask(client, 32, 4, body).results[0]!.configs;
    expect(config).toMatchObject({ name: 'retention.ms', value: '7', configSource: 1 });
  });
});

describe('what describes the cluster', () => {
  it('names the voter, the producers, the sizes and the settings that there are', () => {
    const { world, client } = started();
    produce(world, client, 0, ['a'], { producerId: 7, producerEpoch: 0, baseSequence: 0 });
    const quorum = world.ask(client, 55, 2, {
      topics: [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }],
    });
    expect(quorum.topics[0]!.partitions[0]).toMatchObject({
      errorCode: 0,
      leaderId: 1,
      currentVoters: [{ replicaId: 1 }],
    });
    const producers = world.ask(client, 61, 0, { topics: [{ name: 'orders', partitionIndexes: [0, 9] }] });
    expect(producers.topics[0]!.partitions[0]!.activeProducers).toMatchObject([{ producerId: 7, lastSequence: 0 }]);
    expect(producers.topics[0]!.partitions[1]!.errorCode).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    const [dir] = world.ask(client, 35, 4, { topics: null }).results;
    expect(dir).toMatchObject({ errorCode: 0, logDir: '/data/node', topics: [{ name: 'orders' }] });
    expect(dir!.topics[0]!.partitions[0]!.partitionSize).toBeGreaterThan(0);
    const found = world.ask(client, 74, 1, { resourceTypes: [2, 4] }).configResources;
    expect(found.map(({ resourceName }) => resourceName).sort()).toEqual(['1', 'orders']);
    const page = world.ask(client, 75, 0, { topics: [], responsePartitionLimit: 1, cursor: null });
    expect(page.nextCursor).toEqual({ topicName: 'orders', partitionIndex: 1 });
    expect(world.ask(client, 29, 3, {}).errorCode).toBe(ErrorCode.SECURITY_DISABLED);
  });
});

describe('the metadata log', () => {
  it.each(['process', 'power'] as const)('is cut under snapshots, and a %s crash finds all that it meant', (kind) => {
    const { world } = started({ 'metadata.log.max.record.bytes.between.snapshots': '3000' });
    const client = world.connect();
    for (let i = 0; i < 60; i++) {
      create(world, client, wantedTopic(`t${i}`, 2, [{ name: 'retention.ms', value: String(i) }]));
      if (i % 3 === 0) remove(world, client, `t${i}`);
    }
    const before = world.ask(client, KEY.metadata, 12, { topics: null }).topics;
    const snapshots = [...world.files.keys()].filter((name) => name.endsWith('.checkpoint'));
    expect(snapshots).toHaveLength(2);
    const first = [...world.files.keys()].filter((name) => /__cluster_metadata-0\/[0-9]*\.log$/.test(name)).sort()[0];
    expect(first).not.toContain('00000000000000000000.log');
    world.crash(kind);
    const after = world.ask(world.connect(), KEY.metadata, 12, { topics: null }).topics;
    const namesOf = (topics: typeof before) => topics.map(({ name, topicId }) => `${name} ${topicId}`).sort();
    expect(namesOf(after)).toEqual(namesOf(before));
    expect(after).toHaveLength(41);
    const resources = [{ resourceType: 2, resourceName: 't58', configurationKeys: ['retention.ms'] }];
    expect(world.ask(world.connect(), 32, 4, { resources }).results[0]!.configs[0]!.value).toBe('58');
  });

  it('goes on after its disk was full in the middle of everything', () => {
    const { world, client } = started();
    for (let round = 0; round < 5; round++) {
      world.fault = { kind: round % 2 === 0 ? 'append' : 'replace', on: '__cluster_metadata-0', error: 'noSpace' };
      create(world, client, wantedTopic(`lost${round}`));
      world.pass(3_000);
      world.fault = null;
      world.pass(5_000);
      expect(create(world, client, wantedTopic(`kept${round}`))[0]!.errorCode).toBe(0);
      expect(produce(world, client, 0, ['a'], { topic: `kept${round}` }).errorCode).toBe(0);
    }
    world.crash('power');
    for (let round = 0; round < 5; round++) expect(topicOf(world, `kept${round}`).errorCode).toBe(0);
  });
});
