/** Configurations and features are changed as Apache Kafka 4.4 does it; its answers are the facts in the tables. */
import { describe, expect, it } from 'vitest';
import { configOf } from '../../core/metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../../core/metadata/records.ts';
import { append, ask, type Cluster, createCluster, createTopic, register, startBrokers } from './cluster.ts';

const [SET, DELETE, APPEND, SUBTRACT] = [0, 1, 2, 3];
type Change = readonly [name: string, operation: number, value: string | null];

function one(): Cluster {
  const cluster = createCluster();
  startBrokers(cluster, 1);
  createTopic(cluster, 't', 1, 1);
  return cluster;
}

function change(cluster: Cluster, type: number, name: string, ...changes: readonly Change[]) {
  const configs = changes.map(([key, configOperation, value]) => ({ name: key, configOperation, value }));
  const resources = [{ resourceType: type, resourceName: name, configs }];
  const { responses } = ask(cluster, 44, 1, { resources, validateOnly: false });
  return [responses[0]?.errorCode, responses[0]?.errorMessage];
}

const REFUSED: readonly (readonly [number, string, Change, number, string])[] = [
  [2, 'nope', ['segment.bytes', SET, '2097152'], 3, "The topic 'nope' does not exist."],
  [2, '', ['segment.bytes', SET, '2097152'], 42, 'Default topic resources are not allowed.'],
  [2, 't', ['no.such', SET, '1'], 40, 'Unknown topic config name: no.such'],
  [
    2,
    't',
    ['segment.bytes', SET, 'x'],
    40,
    'Invalid value x for configuration segment.bytes: Not a number of type INT',
  ],
  [2, 't', ['segment.bytes', APPEND, '1'], 40, "Can't APPEND to key segment.bytes because its type is not LIST."],
  [2, 't', ['segment.bytes', SUBTRACT, '1'], 40, "Can't SUBTRACT to key segment.bytes because its type is not LIST."],
  [2, 't', ['segment.bytes', SET, null], 42, 'Null value not supported for : segment.bytes'],
  [
    2,
    't',
    ['min.insync.replicas', SET, '0'],
    40,
    'Invalid value 0 for configuration min.insync.replicas: Value must be at least 1',
  ],
  [2, 't', ['segment.bytes', 9, '1'], 42, 'Unknown operations type 9'],
  [4, '1', ['log.dirs', SET, 'x'], 42, 'Cannot update these configs dynamically: [log.dirs]'],
  [4, '', ['num.partitions', SET, '3'], 42, 'Cannot update these configs dynamically: [num.partitions]'],
  [
    4,
    '',
    ['listeners', SET, 'PLAINTEXT://:1'],
    42,
    'Cannot update these configs at default cluster level, broker id must be specified: [listeners]',
  ],
  [
    4,
    '1',
    ['log.cleaner.threads', SET, 'x'],
    42,
    'Invalid value x for configuration log.cleaner.threads: Not a number of type INT',
  ],
  [
    4,
    '',
    ['log.retention.ms', SET, 'x'],
    42,
    'Invalid value x for configuration log.retention.ms: Not a number of type LONG',
  ],
  [
    4,
    '1',
    ['log.segment.bytes', SET, '1'],
    42,
    'Invalid value 1 for configuration log.segment.bytes: Value must be at least 1048576',
  ],
  [
    4,
    '1',
    ['background.threads', SET, '0'],
    42,
    'Invalid value 0 for configuration background.threads: Value must be at least 1',
  ],
  [
    4,
    '1',
    ['log.retention.ms', APPEND, '1'],
    40,
    'Config value append is not allowed for config key: log.retention.ms',
  ],
  [
    4,
    '1',
    ['min.insync.replicas', SET, '1'],
    40,
    'Broker-level min.insync.replicas cannot be altered while ELR is enabled.',
  ],
  [
    4,
    '',
    ['min.insync.replicas', DELETE, null],
    40,
    'Cluster-level min.insync.replicas cannot be removed while ELR is enabled.',
  ],
  [
    4,
    '',
    ['min.insync.replicas', SET, '0'],
    42,
    'Invalid value 0 for configuration min.insync.replicas: Value must be at least 1',
  ],
  [4, 'x', ['log.retention.ms', SET, '1'], 42, 'Node id must be an integer, but it is: x'],
  [4, '7', ['log.retention.ms', SET, '1'], 102, 'No broker with id 7 found.'],
  [0, '1', ['a', SET, '1'], 42, 'Unknown resource type 0'],
];

describe('IncrementalAlterConfigs', () => {
  it.each(REFUSED)('of type %i %j: %j is refused with %i', (type, name, wanted, errorCode, errorMessage) => {
    const cluster = one();
    const before = cluster.log.length;
    expect(change(cluster, type, name, wanted)).toEqual([errorCode, errorMessage]);
    expect(cluster.log).toHaveLength(before);
  });

  it('adds to lists and takes from them, and what is there already is no news', () => {
    const cluster = one();
    const policy = (): string | undefined => configOf(cluster.controller.image, 2, 't').get('cleanup.policy');
    const steps: readonly (readonly [Change, string])[] = [
      [['cleanup.policy', APPEND, 'compact'], 'delete,compact'],
      [['cleanup.policy', APPEND, 'compact'], 'delete,compact'],
      [['cleanup.policy', SUBTRACT, 'delete'], 'compact'],
      [['cleanup.policy', SUBTRACT, 'compact'], ''],
      [['cleanup.policy', SUBTRACT, 'compact'], ''],
    ];
    const lengths = steps.map(([wanted, expected]) => {
      expect(change(cluster, 2, 't', wanted)).toEqual([0, null]);
      expect(policy()).toBe(expected);
      return cluster.log.length;
    });
    expect(lengths[1]).toBe(lengths[0]);
    expect(lengths[4]).toBe(lengths[3]);
  });

  it('changes all keys of a resource or none, and each resource by itself', () => {
    const cluster = one();
    const resources = [
      {
        resourceType: 2,
        resourceName: 't',
        configs: [
          { name: 'retention.ms', configOperation: SET, value: '5' },
          { name: 'segment.bytes', configOperation: SET, value: '1' },
        ],
      },
      { resourceType: 4, resourceName: '', configs: [{ name: 'log.retention.ms', configOperation: SET, value: '9' }] },
    ];
    const { responses } = ask(cluster, 44, 1, { resources, validateOnly: false });
    expect(responses.map(({ errorCode }) => errorCode)).toEqual([40, 0]);
    expect(configOf(cluster.controller.image, 2, 't').size).toBe(0);
    expect(configOf(cluster.controller.image, 4, '').get('log.retention.ms')).toBe('9');
  });

  it('refuses a key or a resource that is named twice', () => {
    const cluster = one();
    const twice: Change = ['segment.bytes', SET, '2097152'];
    expect(change(cluster, 2, 't', twice, twice)).toEqual([42, 'Error due to duplicate config keys']);
    const resource = { resourceType: 2, resourceName: 't', configs: [] };
    const { responses } = ask(cluster, 44, 1, { resources: [resource, resource], validateOnly: false });
    expect(responses.map(({ errorMessage }) => errorMessage)).toEqual(
      Array(2).fill('Each resource must appear at most once.'),
    );
  });

  it('takes unknown names of brokers, and tells a broker also what it knows', () => {
    const cluster = one();
    expect(change(cluster, 4, '1', ['no.such', SET, 'x'])).toEqual([0, null]);
    const before = cluster.log.length;
    expect(change(cluster, 4, '1', ['no.such', SET, 'x'])).toEqual([0, null]);
    expect(cluster.log).toHaveLength(before + 1);
    expect(cluster.lastDelta?.configs).toEqual([{ type: 4, name: '1' }]);
  });

  it('another min.insync.replicas makes the cluster forget eligible replicas', () => {
    const cluster = one();
    change(cluster, 2, 't', ['min.insync.replicas', SET, '2']);
    expect(cluster.log.at(-1)).toMatchObject({ kind: 'ClearElrRecord', value: { topicName: 't' } });
    change(cluster, 4, '', ['min.insync.replicas', SET, '1']);
    expect(cluster.log.at(-1)).toMatchObject({ kind: 'ClearElrRecord', value: { topicName: '' } });
  });

  it('only looks if it is only asked to look', () => {
    const cluster = one();
    const before = cluster.log.length;
    const configs = [{ name: 'retention.ms', configOperation: SET, value: '5' }];
    const resources = [{ resourceType: 2, resourceName: 't', configs }];
    expect(ask(cluster, 44, 0, { resources, validateOnly: true }).responses[0]?.errorCode).toBe(0);
    expect(cluster.log).toHaveLength(before);
  });
});

describe('AlterConfigs', () => {
  it('takes away what it does not name', () => {
    const cluster = one();
    change(cluster, 2, 't', ['retention.ms', SET, '5'], ['segment.bytes', SET, '2097152']);
    const configs = [{ name: 'segment.bytes', value: '2097153' }];
    const resources = [{ resourceType: 2, resourceName: 't', configs }];
    for (const version of [0, 1, 2]) {
      expect(ask(cluster, 33, version, { resources, validateOnly: false }).responses[0]?.errorCode).toBe(0);
    }
    expect([...configOf(cluster.controller.image, 2, 't')]).toEqual([['segment.bytes', '2097153']]);
  });
});

describe('UpdateFeatures', () => {
  const START = 'The update failed for all features since the following feature had an error: ';
  const update = (cluster: Cluster, feature: string, maxVersionLevel: number, upgradeType: number) => {
    const featureUpdates = [{ feature, maxVersionLevel, upgradeType, allowDowngrade: false }];
    const { errorCode, errorMessage } = ask(cluster, 57, 2, { featureUpdates });
    return [errorCode, errorMessage?.replace(START, '') ?? null];
  };

  it.each<[string, number, number, string]>([
    [
      'metadata.version',
      31,
      1,
      "Invalid update version 31 for feature metadata.version. Can't downgrade the version of this feature without " +
        'setting the upgrade type to either safe or unsafe downgrade.',
    ],
    [
      'metadata.version',
      1,
      1,
      'Invalid update version 1 for feature metadata.version. Local controller 1 only supports versions 7-33',
    ],
    [
      'metadata.version',
      29,
      2,
      'Unsupported metadata.version downgrade from 33 to 29. Refusing to perform the requested downgrade because it ' +
        'might delete metadata information.',
    ],
    [
      'metadata.version',
      29,
      3,
      'Unsupported metadata.version downgrade from 33 to 29. Unsafe metadata downgrade is not supported in this ' +
        'version.',
    ],
    ['foo', 1, 1, 'Invalid update version 1 for feature foo. Local controller 1 does not support this feature.'],
    [
      'metadata.version',
      33,
      9,
      'Invalid update version 33 for feature metadata.version. The controller does not support the given upgrade type.',
    ],
  ])('of %s to %i by %i is refused', (feature, level, type, sentence) => {
    const cluster = one();
    const before = cluster.log.length;
    expect(update(cluster, feature, level, type)).toEqual([95, sentence]);
    expect(cluster.log).toHaveLength(before);
  });

  it('finalizes levels that every node supports, and none of a request with one that cannot be', () => {
    const cluster = one();
    expect(update(cluster, 'eligible.leader.replicas.version', 0, 2)).toEqual([0, null]);
    expect([...cluster.controller.image.features.keys()]).toEqual(['metadata.version', 'group.version']);
    const pair = [
      { feature: 'eligible.leader.replicas.version', maxVersionLevel: 1, upgradeType: 1, allowDowngrade: false },
      { feature: 'foo', maxVersionLevel: 1, upgradeType: 1, allowDowngrade: false },
    ];
    expect(ask(cluster, 57, 2, { featureUpdates: pair }).errorCode).toBe(95);
    expect(cluster.controller.image.features.size).toBe(2);
    expect(update(cluster, 'kraft.version', 1, 1)).toEqual([0, null]);
  });

  it('with eligible replicas min.insync.replicas becomes one for all brokers', () => {
    const cluster = createCluster({ given: new Map([['min.insync.replicas', '2']]) });
    startBrokers(cluster, 1);
    update(cluster, 'eligible.leader.replicas.version', 0, 2);
    const set = (resourceName: string, value: string | null): MetadataRecord =>
      metadataRecord('ConfigRecord', 0, { resourceType: 4, resourceName, name: 'min.insync.replicas', value });
    append(cluster, [set('', null), set('1', '3')]);
    expect(update(cluster, 'eligible.leader.replicas.version', 1, 1)).toEqual([0, null]);
    expect(configOf(cluster.controller.image, 4, '').get('min.insync.replicas')).toBe('2');
    expect(configOf(cluster.controller.image, 4, '1').size).toBe(0);
  });

  it('waits for brokers that do not support it', () => {
    const cluster = createCluster();
    append(cluster, [metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel: 29 })]);
    register(cluster, 2, { maxLevel: 30 });
    expect(update(cluster, 'metadata.version', 33, 1)).toEqual([
      95,
      'Invalid update version 33 for feature metadata.version. Broker 2 only supports versions 7-30',
    ]);
    expect(update(cluster, 'metadata.version', 30, 1)).toEqual([0, null]);
  });
});
