/** Settings of topics and brokers: Kafka's table, Kafka's complaints, and where a value comes from. */
import { describe, expect, it } from 'vitest';
import { brokerSettingType, mutabilityOf } from '../../core/metadata/broker-settings.ts';
import { describeConfigs, listConfigResources } from '../../core/metadata/describe-configs.ts';
import { effectiveTopicSetting, topicSettingValue } from '../../core/metadata/effective.ts';
import { bootstrapRecords } from '../../core/metadata/features.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../../core/metadata/records.ts';
import { judge } from '../../core/metadata/setting-values.ts';
import { TOPIC_SETTINGS } from '../../core/metadata/topic-settings.ts';
import { brokerRecordOf, idOf, imageOf, topicRecordsOf } from './cluster.ts';

/** Name, text, complaint; what Apache Kafka 4.4 answers. */
const COMPLAINTS: readonly (readonly [string, string, string])[] = [
  ['segment.bytes', 'abc', 'Not a number of type INT'],
  ['segment.bytes', '1', 'Value must be at least 1048576'],
  ['segment.bytes', '2147483648', 'Not a number of type INT'],
  ['retention.ms', '99999999999999999999', 'Not a number of type LONG'],
  ['retention.ms', '-2', 'Value must be at least -1'],
  ['compression.type', 'foo', 'String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer'],
  ['cleanup.policy', 'foo', 'String must be one of: compact, delete'],
  ['message.timestamp.type', 'Foo', 'String must be one of: CreateTime, LogAppendTime'],
  ['preallocate', 'yes', 'Expected value to be either true or false'],
  ['min.cleanable.dirty.ratio', 'x', 'Not a number of type DOUBLE'],
  ['compression.gzip.level', '0', 'Value must be between 1 and 9 or equal to -1'],
  ['compression.gzip.level', '10', 'Value must be between 1 and 9 or equal to -1'],
  ['compression.lz4.level', '18', 'Value must be no more than 17'],
  ['compression.zstd.level', '23', 'Value must be no more than 22'],
  ['local.retention.ms', '-3', 'Value must be at least -2'],
  ['max.message.bytes', '-1', 'Value must be at least 0'],
  ['min.insync.replicas', '0', 'Value must be at least 1'],
  ['remote.copy.lag.ms', '-2', 'Value must be at least -1'],
];

const ACCEPTED: readonly (readonly [string, string, string])[] = [
  ['segment.bytes', ' 2097152 ', '2097152'],
  ['segment.bytes', '+2097152', '2097152'],
  ['retention.ms', '-1', '-1'],
  ['flush.messages', '9223372036854775807', '9223372036854775807'],
  ['cleanup.policy', 'compact, delete', 'compact,delete'],
  ['cleanup.policy', '', ''],
  ['preallocate', 'TRUE', 'true'],
  ['min.cleanable.dirty.ratio', '1', '1.0'],
  ['compression.gzip.level', '-1', '-1'],
  ['leader.replication.throttled.replicas', '*', '*'],
  ['leader.replication.throttled.replicas', '0:1,1:2', '0:1,1:2'],
];

function judged(name: string, text: string): unknown {
  const setting = TOPIC_SETTINGS.get(name);
  return setting === undefined ? undefined : judge(name, setting, text);
}

describe('settings of topics', () => {
  it.each(COMPLAINTS)('%s=%s is refused: %s', (name, text, complaint) => {
    expect(judged(name, text)).toEqual({ problem: `Invalid value ${text} for configuration ${name}: ${complaint}` });
  });

  it.each(ACCEPTED)('%s=%j is kept as %j', (name, text, kept) => {
    expect(judged(name, text)).toEqual({ text: kept });
  });

  it('a ratio is shown as a double, a list of replicas in brackets', () => {
    expect(judged('min.cleanable.dirty.ratio', '2')).toEqual({
      problem: 'Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1',
    });
    expect(judged('leader.replication.throttled.replicas', 'x,0:1')).toEqual({
      problem:
        'Invalid value [x, 0:1] for configuration leader.replication.throttled.replicas: ' +
        "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following " +
        'format: [partitionId]:[brokerId],[partitionId]:[brokerId],...',
    });
  });

  it('there are 37, every default is legal, and those of the log act', () => {
    expect(TOPIC_SETTINGS.size).toBe(37);
    for (const [name, setting] of TOPIC_SETTINGS) {
      const own = judge(name, setting, setting.default);
      expect(own).toEqual({ text: setting.default });
    }
    expect([...TOPIC_SETTINGS].filter(([, { acts }]) => acts).map(([name]) => name)).toContain('segment.bytes');
    expect(TOPIC_SETTINGS.get('remote.storage.enable')?.acts).toBe(false);
  });
});

function config(resourceType: number, resourceName: string, name: string, value: string): MetadataRecord {
  return metadataRecord('ConfigRecord', 0, { resourceType, resourceName, name, value });
}

function cluster(...records: MetadataRecord[]): MetadataImage {
  return imageOf([...bootstrapRecords(1), brokerRecordOf(1, 5), ...topicRecordsOf('a', idOf(1), 1, [1]), ...records]);
}

const node = (given: readonly (readonly [string, string])[] = []): { nodeId: number; given: Map<string, string> } => ({
  nodeId: 1,
  given: new Map(given),
});

describe('where the value of a setting comes from', () => {
  const effective = (
    image: MetadataImage,
    name: string,
    given: readonly (readonly [string, string])[] = [],
  ): unknown => {
    const setting = TOPIC_SETTINGS.get(name);
    if (setting === undefined) throw new Error(name);
    const overrides = new Map<string, string>();
    return effectiveTopicSetting(image, node(given), name, setting, overrides);
  };

  it('of the cluster before the file, of the broker before the cluster, of the topic before all', () => {
    const image = cluster(config(4, '', 'log.segment.bytes', '2097152'));
    expect(effective(image, 'segment.bytes', [['log.segment.bytes', '3000000']])).toEqual({
      value: '2097152',
      source: 3,
      synonyms: [
        { name: 'log.segment.bytes', value: '2097152', source: 3 },
        { name: 'log.segment.bytes', value: '3000000', source: 4 },
        { name: 'log.segment.bytes', value: '1073741824', source: 5 },
      ],
    });
    const own = cluster(
      config(4, '', 'log.segment.bytes', '2097152'),
      config(4, '1', 'log.segment.bytes', '2097153'),
      config(2, 'a', 'segment.bytes', '2097154'),
    );
    expect(topicSettingValue(own, node(), 'a', 'segment.bytes')).toBe('2097154');
    expect(topicSettingValue(own, node(), 'other', 'segment.bytes')).toBe('2097153');
  });

  it('hours become milliseconds, and show no synonyms, as in Kafka', () => {
    expect(effective(cluster(), 'segment.ms')).toEqual({ value: '604800000', source: 5, synonyms: [] });
    expect(effective(cluster(), 'retention.ms', [['log.retention.hours', '2']])).toEqual({
      value: '7200000',
      source: 5,
      synonyms: [],
    });
    expect(effective(cluster(), 'retention.ms', [['log.retention.minutes', '-1']])).toMatchObject({ value: '-1' });
    const both = cluster(config(4, '', 'log.retention.ms', '100000'));
    expect(effective(both, 'retention.ms')).toEqual({
      value: '100000',
      source: 3,
      synonyms: [
        { name: 'log.retention.ms', value: '100000', source: 3 },
        { name: 'log.retention.hours', value: '168', source: 5 },
      ],
    });
  });
});

describe('DescribeConfigs', () => {
  const ask = (image: MetadataImage, type: number, name: string, keys: string[] | null = null) =>
    describeConfigs(image, node([['num.partitions', '3']]), {
      resources: [{ resourceType: type, resourceName: name, configurationKeys: keys }],
      includeSynonyms: true,
      includeDocumentation: false,
    }).results[0];

  it('of a topic has all settings, typed', () => {
    const result = ask(cluster(config(2, 'a', 'cleanup.policy', 'compact')), 2, 'a');
    expect(result?.configs).toHaveLength(37);
    expect(result?.configs.find(({ name }) => name === 'cleanup.policy')).toEqual({
      name: 'cleanup.policy',
      value: 'compact',
      readOnly: false,
      configSource: 1,
      isSensitive: false,
      synonyms: [
        { name: 'cleanup.policy', value: 'compact', source: 1 },
        { name: 'log.cleanup.policy', value: 'delete', source: 5 },
      ],
      configType: 7,
      documentation: null,
    });
    const insync = result?.configs.find(({ name }) => name === 'min.insync.replicas');
    expect(insync).toMatchObject({ value: '1', configSource: 3, configType: 3 });
  });

  it('of a broker shows where a value would come from, once it has one of its own', () => {
    const described = (image: MetadataImage, name: string) =>
      ask(image, 4, '1', [name])?.configs.map(({ value, synonyms }) => [value, synonyms?.map((one) => one.name)]);
    expect(described(cluster(), 'log.retention.ms')).toEqual([[null, []]]);
    const set = cluster(config(4, '1', 'log.retention.ms', '5'));
    expect(described(set, 'log.retention.ms')).toEqual([['5', ['log.retention.ms', 'log.retention.hours']]]);
  });

  it('gives only the keys that were asked for', () => {
    expect(ask(cluster(), 2, 'a', ['segment.bytes', 'nothing'])?.configs.map(({ name }) => name)).toEqual([
      'segment.bytes',
    ]);
  });

  it('of a broker says what may be changed and what the file says', () => {
    const result = ask(cluster(config(4, '1', 'max.connections', '5')), 4, '1');
    const found = new Map(result?.configs.map((entry) => [entry.name, entry]));
    expect(found.get('num.partitions')).toMatchObject({ value: '3', configSource: 4, readOnly: true, configType: 3 });
    expect(found.get('max.connections')).toMatchObject({ value: '5', configSource: 2, readOnly: false });
    expect(found.get('message.max.bytes')).toMatchObject({ value: '1048588', configSource: 5, readOnly: false });
  });

  it('of all brokers has what was set for all', () => {
    const result = ask(cluster(config(4, '', 'log.retention.ms', '5')), 4, '');
    expect(result?.configs.map(({ name, configSource }) => [name, configSource])).toEqual([
      ['min.insync.replicas', 3],
      ['log.retention.ms', 3],
    ]);
  });

  it.each([
    [2, 'b', 3, ''],
    [2, '', 17, 'Topic name is invalid: the empty string is not allowed'],
    [4, '9', 42, 'Unexpected broker id, expected 1 or empty string, but received 9'],
    [4, 'x', 42, 'Broker id must be an integer, but it is: x'],
    [0, 'x', 42, 'Unsupported resource type: 0'],
  ])('of type %i %j is refused with %i', (type, name, errorCode, errorMessage) => {
    expect(ask(cluster(), type, name)).toMatchObject({ errorCode, errorMessage, configs: [] });
  });
});

describe('ListConfigResources', () => {
  const image = cluster(config(32, 'g1', 'consumer.session.timeout.ms', '50000'), config(16, 'm1', 'interval.ms', '5'));

  it('names everything that can be configured', () => {
    const { configResources, errorCode } = listConfigResources(image, 1, { resourceTypes: [] });
    expect(errorCode).toBe(0);
    const pairs = configResources.map(({ resourceName, resourceType }) => `${resourceType}:${resourceName}`);
    expect(new Set(pairs)).toEqual(new Set(['32:g1', '16:m1', '8:1', '4:1', '2:a']));
  });

  it('in version 0 means client metrics, and refuses types that are not known', () => {
    expect(listConfigResources(image, 0, { resourceTypes: [] }).configResources).toEqual([
      { resourceName: 'm1', resourceType: 16 },
    ]);
    expect(listConfigResources(image, 1, { resourceTypes: [3] }).errorCode).toBe(35);
  });
});

describe('settings of brokers', () => {
  it.each([
    ['log.segment.bytes', 'dynamic', 'INT'],
    ['listeners', 'perBroker', 'LIST'],
    ['listener.name.plaintext.max.connections', 'perBroker', 'INT'],
    ['node.id', 'readOnly', 'INT'],
    ['log.dirs', 'readOnly', 'LIST'],
    ['auto.create.topics.enable', 'readOnly', 'BOOLEAN'],
    ['no.such', 'unknown', 'STRING'],
    ['ssl.key.password', 'perBroker', 'PASSWORD'],
  ])('%s is %s, of type %s', (name, mutability, type) => {
    expect(mutabilityOf(name)).toBe(mutability);
    expect(brokerSettingType(name)).toBe(type);
  });
});
