/** Topics are created, grown and deleted as Apache Kafka 4.4 does it; its answers are the facts in the tables. */
import { describe, expect, it } from 'vitest';
import { configOf, topicByName } from '../../core/metadata/image.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { append, ask, beat, type Cluster, createCluster, createTopic, register, startBrokers } from './cluster.ts';

type Wanted = RequestInputOf<19>['topics'][number];

function one(count = 1): Cluster {
  const cluster = createCluster();
  startBrokers(cluster, count);
  return cluster;
}

function wanted(name: string, more: Partial<Wanted> = {}): Wanted {
  return { name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [], ...more };
}

function assigned(...brokers: readonly (readonly [number, ...number[]])[]): Partial<Wanted> {
  const assignments = brokers.map(([partitionIndex, ...brokerIds]) => ({ partitionIndex, brokerIds }));
  return { numPartitions: -1, replicationFactor: -1, assignments };
}

function settings(...pairs: readonly (readonly [string, string | null])[]): Partial<Wanted> {
  return { configs: pairs.map(([name, value]) => ({ name, value })) };
}

function create(cluster: Cluster, ...topics: Wanted[]): ResponseOf<19>['topics'] {
  return ask(cluster, 19, 7, { topics }).topics;
}

const NO_BROKER = (id: number): string =>
  `The manual partition assignment includes broker ${id}, but no such broker is registered.`;
const CHARS = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
const UNREACHED = (factor: number): string =>
  `Unable to replicate the partition ${factor} time(s): The target replication factor of ${factor} cannot be reached ` +
  'because only 1 broker(s) are registered or some brokers have all their log directories cordoned.';

const REFUSED: readonly (readonly [string, Wanted, number, string])[] = [
  ['no name', wanted(''), 17, 'Topic name is invalid: the empty string is not allowed'],
  ['a dot', wanted('.'), 17, "Topic name is invalid: '.' is not allowed"],
  ['two dots', wanted('..'), 17, "Topic name is invalid: '..' is not allowed"],
  ['a blank', wanted('a b'), 17, `Topic name is invalid: 'a b' ${CHARS}`],
  ['a slash', wanted('a/b'), 17, `Topic name is invalid: 'a/b' ${CHARS}`],
  [
    'a long name',
    wanted('x'.repeat(250)),
    17,
    `Topic name is invalid: the length of '${'x'.repeat(250)}' is longer than the max allowed length 249`,
  ],
  ['a look-alike', wanted('ok_name'), 17, "Topic 'ok_name' collides with existing topic: ok.name"],
  ['a name twice', wanted('ok.name'), 36, "Topic 'ok.name' already exists."],
  [
    'no partitions',
    wanted('t', { numPartitions: 0 }),
    37,
    'Number of partitions was set to an invalid non-positive value.',
  ],
  ['fewer', wanted('t', { numPartitions: -2 }), 37, 'Number of partitions was set to an invalid non-positive value.'],
  ['too many', wanted('t', { numPartitions: 10001 }), 44, 'Excessively large number of partitions per request.'],
  [
    'a record too many',
    wanted('t', { numPartitions: 10000 }),
    44,
    'Unable to perform excessively large batch operation.',
  ],
  [
    'no replicas',
    wanted('t', { replicationFactor: 0 }),
    38,
    'Replication factor must be larger than 0, or -1 to use the default value.',
  ],
  ['two replicas on one broker', wanted('t', { replicationFactor: 2 }), 38, UNREACHED(2)],
  ['a great many', wanted('t', { replicationFactor: 32767 }), 38, UNREACHED(32767)],
  ['an empty place', wanted('t', assigned([0])), 39, 'The manual partition assignment includes an empty replica list.'],
  ['an unknown place', wanted('t', assigned([0, 9])), 39, NO_BROKER(9)],
  ['a negative place', wanted('t', assigned([0, -1])), 39, NO_BROKER(-1)],
  [
    'a place twice',
    wanted('t', assigned([0, 1, 1])),
    39,
    'The manual partition assignment includes the broker 1 more than once.',
  ],
  ['a gap', wanted('t', assigned([0, 1], [2, 1])), 39, 'partitions should be a consecutive 0-based integer sequence'],
  ['not from 0', wanted('t', assigned([1, 1])), 39, 'partitions should be a consecutive 0-based integer sequence'],
  [
    'a partition twice',
    wanted('t', assigned([0, 1], [0, 1])),
    39,
    'Found multiple manual partition assignments for partition 0',
  ],
  [
    'places and a factor',
    wanted('t', { ...assigned([0, 1]), replicationFactor: 1 }),
    42,
    'A manual partition assignment was specified, but replication factor was not set to -1.',
  ],
  [
    'places and a number',
    wanted('t', { ...assigned([0, 1]), numPartitions: 1 }),
    42,
    'A manual partition assignment was specified, but numPartitions was not set to -1.',
  ],
  [
    'an unknown setting',
    wanted('t', settings(['segment.bytes', '1'], ['no.such', '1'])),
    40,
    'Unknown topic config name: no.such',
  ],
  [
    'a null',
    wanted('t', settings(['segment.bytes', null])),
    40,
    'Null value not supported for topic configs: segment.bytes',
  ],
  [
    'a bad number',
    wanted('t', settings(['segment.bytes', '1'])),
    40,
    'Invalid value 1 for configuration segment.bytes: Value must be at least 1048576',
  ],
  [
    'lags in conflict',
    wanted('t', settings(['min.compaction.lag.ms', '10'], ['max.compaction.lag.ms', '5'])),
    40,
    'conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)',
  ],
  [
    'remote storage',
    wanted('t', settings(['remote.storage.enable', 'true'])),
    40,
    'Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.',
  ],
  [
    'the metadata log',
    wanted('__cluster_metadata'),
    42,
    'Creation of internal topic __cluster_metadata is prohibited.',
  ],
];

describe('CreateTopics', () => {
  it.each(REFUSED)('refuses %s', (_title, topic, errorCode, errorMessage) => {
    const cluster = one();
    createTopic(cluster, 'ok.name', 1, 1);
    const before = cluster.log.length;
    expect(create(cluster, topic)).toMatchObject([{ name: topic.name, errorCode, errorMessage }]);
    expect(cluster.log).toHaveLength(before);
  });

  it('answers with numbers, id and settings, and the topic is there', () => {
    const cluster = one();
    const [result] = create(
      cluster,
      wanted('t', { ...settings(['cleanup.policy', 'compact,delete']), numPartitions: 3 }),
    );
    expect(result).toMatchObject({ errorCode: 0, numPartitions: 3, replicationFactor: 1, topicConfigErrorCode: 0 });
    expect(result?.configs).toHaveLength(37);
    const policy = {
      name: 'cleanup.policy',
      value: 'compact,delete',
      readOnly: false,
      configSource: 1,
      isSensitive: false,
    };
    expect(result?.configs?.[0]).toEqual(policy);
    const topic = topicByName(cluster.controller.image, 't');
    expect(topic?.id).toBe(result?.topicId);
    expect(topic?.partitions).toHaveLength(3);
    const directory = cluster.controller.image.cluster.brokers.get(1)?.logDirs[0];
    expect(topic?.partitions[2]).toEqual({
      replicas: [1],
      directories: [directory],
      isr: [1],
      removingReplicas: [],
      addingReplicas: [],
      elr: [],
      lastKnownElr: [],
      leader: 1,
      leaderRecoveryState: 0,
      leaderEpoch: 0,
      partitionEpoch: 0,
    });
    expect(cluster.log.slice(-5).map(({ kind, version }) => `${kind} ${version}`)).toEqual([
      'TopicRecord 0',
      'ConfigRecord 0',
      'PartitionRecord 2',
      'PartitionRecord 2',
      'PartitionRecord 2',
    ]);
    expect([...configOf(cluster.controller.image, 2, 't')]).toEqual([['cleanup.policy', 'compact,delete']]);
  });

  it('takes the defaults for -1, in every version', () => {
    const cluster = one();
    for (let version = 2; version <= 7; version++) {
      const topic = wanted(`t${version}`, { numPartitions: -1, replicationFactor: -1 });
      const { topics } = ask(cluster, 19, version, { topics: [topic] });
      expect(topics[0]?.errorCode).toBe(0);
      expect(topicByName(cluster.controller.image, `t${version}`)?.partitions).toHaveLength(2);
    }
  });

  it('only looks if it is only asked to look', () => {
    const cluster = one();
    const before = cluster.log.length;
    const { topics } = ask(cluster, 19, 7, { topics: [wanted('t', { numPartitions: 3 })], validateOnly: true });
    expect(topics[0]).toMatchObject({ errorCode: 0, numPartitions: 3 });
    expect(topics[0]?.topicId).not.toBe('AAAAAAAAAAAAAAAAAAAAAA');
    expect(cluster.log).toHaveLength(before);
  });

  it('refuses one topic and creates the others; look-alikes in one request are not noticed, as in Kafka', () => {
    const cluster = one();
    const topics = create(cluster, wanted('c.d'), wanted('bad name'), wanted('c_d'), wanted('e'), wanted('e'));
    expect(topics.map(({ name, errorCode }) => [name, errorCode])).toEqual([
      ['c.d', 0],
      ['bad name', 17],
      ['c_d', 0],
      ['e', 42],
    ]);
    expect(topics[3]?.errorMessage).toBe('Duplicate topic name.');
    expect(topicByName(cluster.controller.image, 'e')).toBeUndefined();
  });

  it('a look-alike may come when the other has gone', () => {
    const cluster = one();
    createTopic(cluster, 'a.b', 1, 1);
    expect(create(cluster, wanted('a_b'))[0]?.errorCode).toBe(17);
    ask(cluster, 20, 6, { topics: [{ name: 'a.b', topicId: 'AAAAAAAAAAAAAAAAAAAAAA' }], topicNames: [], timeoutMs: 1 });
    expect(create(cluster, wanted('a_b'))[0]?.errorCode).toBe(0);
  });

  it('a place must have the same number of replicas in every partition', () => {
    const cluster = one(3);
    expect(create(cluster, wanted('t', assigned([0, 1, 2], [1, 3])))[0]).toMatchObject({
      errorCode: 39,
      errorMessage:
        'The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with ' +
        'previous partitions, which have 2 replica(s).',
    });
    expect(create(cluster, wanted('t', assigned([1, 3, 1], [0, 1, 2])))[0]?.errorCode).toBe(0);
    const replicas = topicByName(cluster.controller.image, 't')?.partitions.map((partition) => partition.replicas);
    expect(replicas).toEqual([
      [1, 2],
      [3, 1],
    ]);
  });

  it('needs a broker that takes part', () => {
    const cluster = createCluster();
    expect(create(cluster, wanted('t'))[0]?.errorMessage).toBe(
      'Unable to replicate the partition 1 time(s): All brokers are currently fenced.',
    );
    register(cluster, 1);
    expect(create(cluster, wanted('t', assigned([0, 1])))[0]).toMatchObject({
      errorCode: 39,
      errorMessage:
        'All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled ' +
        'shutdown.',
    });
    beat(cluster, 1);
    expect(create(cluster, wanted('t'))[0]?.errorCode).toBe(0);
  });
});

describe('CreatePartitions', () => {
  const grow = (cluster: Cluster, name: string, count: number, places: readonly (readonly number[])[] | null = null) =>
    ask(cluster, 37, 3, {
      topics: [{ name, count, assignments: places?.map((brokerIds) => ({ brokerIds })) ?? null }],
      timeoutMs: 1,
      validateOnly: false,
    }).results[0];

  it.each<[string, number, readonly (readonly number[])[] | null, number, string | null]>([
    ['t', 2, null, 37, 'Topic already has 2 partition(s).'],
    ['t', 1, null, 37, 'The topic t currently has 2 partition(s); 1 would not be an increase.'],
    ['t', 0, null, 37, 'The topic t currently has 2 partition(s); 0 would not be an increase.'],
    ['nope', 2, null, 3, null],
    ['t', 10003, null, 44, 'Excessively large number of additional partitions per request.'],
    ['t', 5, [[1]], 39, 'Attempted to add 3 additional partition(s), but only 1 assignment(s) were specified.'],
    ['t', 3, [[7]], 39, NO_BROKER(7)],
    ['t', 3, [[]], 39, 'The manual partition assignment includes an empty replica list.'],
  ])('of %s to %i on %j is refused with %i', (name, count, places, errorCode, errorMessage) => {
    const cluster = one();
    createTopic(cluster, 't', 2, 1);
    const before = cluster.log.length;
    expect(grow(cluster, name, count, places)).toMatchObject({ name, errorCode, errorMessage });
    expect(cluster.log).toHaveLength(before);
  });

  it('adds partitions and leaves the others alone', () => {
    const cluster = one();
    createTopic(cluster, 't', 2, 1);
    const before = topicByName(cluster.controller.image, 't');
    expect(grow(cluster, 't', 4, [[1], [1]])?.errorCode).toBe(0);
    const after = topicByName(cluster.controller.image, 't');
    expect(after?.partitions).toHaveLength(4);
    expect(after?.partitions[1]).toBe(before?.partitions[1]);
    expect(cluster.lastDelta?.topics[0]?.partitions).toEqual([2, 3]);
  });
});

describe('DeleteTopics', () => {
  const ZERO = 'AAAAAAAAAAAAAAAAAAAAAA';
  const remove = (cluster: Cluster, ...topics: { name: string | null; topicId: string }[]) =>
    ask(cluster, 20, 6, { topics, topicNames: [], timeoutMs: 1 }).responses.map(({ name, errorCode, errorMessage }) => [
      name,
      errorCode,
      errorMessage,
    ]);

  it('by name and by id', () => {
    const cluster = one();
    createTopic(cluster, 'a', 1, 1);
    createTopic(cluster, 'b', 1, 1);
    const id = topicByName(cluster.controller.image, 'b')?.id ?? '';
    expect(remove(cluster, { name: 'a', topicId: ZERO }, { name: null, topicId: id })).toEqual([
      ['b', 0, null],
      ['a', 0, null],
    ]);
    expect(cluster.controller.image.topics.byId.size).toBe(0);
    expect(ask(cluster, 20, 5, { topicNames: ['a'], topics: [], timeoutMs: 1 }).responses[0]?.errorCode).toBe(3);
  });

  it('refuses what is unknown, doubtful or said twice', () => {
    const cluster = one();
    createTopic(cluster, 'a', 1, 1);
    const id = topicByName(cluster.controller.image, 'a')?.id ?? '';
    expect(remove(cluster, { name: 'x', topicId: ZERO })).toEqual([['x', 3, null]]);
    expect(remove(cluster, { name: null, topicId: 'Zm9vYmFyYmF6cXV4MDAwMA' })).toEqual([[null, 100, null]]);
    expect(remove(cluster, { name: null, topicId: ZERO })).toEqual([
      [null, 42, 'Neither topic name nor id were specified.'],
    ]);
    expect(remove(cluster, { name: 'a', topicId: id })).toEqual([
      ['a', 42, 'You may not specify both topic name and topic id.'],
    ]);
    expect(remove(cluster, { name: 'a', topicId: ZERO }, { name: 'a', topicId: ZERO })).toEqual([
      ['a', 42, 'Duplicate topic name.'],
    ]);
    expect(remove(cluster, { name: null, topicId: id }, { name: null, topicId: id })).toEqual([
      [null, 42, 'Duplicate topic id.'],
    ]);
    expect(remove(cluster, { name: 'a', topicId: ZERO }, { name: null, topicId: id })).toEqual([
      ['a', 42, 'The provided topic name maps to an ID that was already supplied.'],
    ]);
    expect(topicByName(cluster.controller.image, 'a')?.id).toBe(id);
  });

  it('may be switched off', () => {
    const cluster = createCluster({ given: new Map([['delete.topic.enable', 'false']]) });
    startBrokers(cluster, 1);
    createTopic(cluster, 'a', 1, 1);
    expect(remove(cluster, { name: 'a', topicId: ZERO })).toEqual([['a', 73, null]]);
  });

  it('the log can be read again from the start', () => {
    const cluster = one();
    createTopic(cluster, 'a', 1, 1, [['retention.ms', '5']]);
    remove(cluster, { name: 'a', topicId: ZERO });
    createTopic(cluster, 'a', 2, 1);
    const again = createCluster();
    append(again, cluster.log.slice(again.log.length));
    expect({ ...again.controller.image, provenance: 0 }).toEqual({ ...cluster.controller.image, provenance: 0 });
  });
});
