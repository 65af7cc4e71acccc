/** An image as records and back: equal, in Kafka's order, in the versions that metadata.version asks for. */
import { describe, expect, it } from 'vitest';
import {
  bootstrapRecords,
  losesMetadata,
  METADATA_LEVEL_MAX,
  metadataLevelName,
  partitionVersion,
  registerBrokerVersion,
  unservedFeatures,
} from '../../core/metadata/features.ts';
import { EMPTY_IMAGE } from '../../core/metadata/image.ts';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataRecord,
  metadataRecord,
} from '../../core/metadata/records.ts';
import { imageFromRecords, snapshotRecords } from '../../core/metadata/snapshot.ts';
import { brokerRecordOf, idOf, imageOf, topicRecordsOf } from './cluster.ts';

const bytes = (...items: number[]): Uint8Array => Uint8Array.from(items);

const everything: readonly MetadataRecord[] = [
  ...bootstrapRecords(2),
  brokerRecordOf(3, 7, true, 'east'),
  brokerRecordOf(1, 8),
  metadataRecord('RegisterControllerRecord', 0, {
    controllerId: 1,
    incarnationId: idOf(77),
    zkMigrationReady: false,
    endPoints: [{ name: 'CONTROLLER', host: 'h', port: 65535, securityProtocol: 0 }],
    features: [],
  }),
  ...topicRecordsOf('orders', idOf(1), 3, [1, 3]),
  ...topicRecordsOf('events', idOf(2), 1, [3, 1]),
  metadataRecord('PartitionChangeRecord', 2, {
    topicId: idOf(1),
    partitionId: 1,
    isr: [3],
    leader: 3,
    leaderRecoveryState: 1,
    eligibleLeaderReplicas: [1],
    addingReplicas: [2],
    removingReplicas: [1],
    lastKnownElr: [1],
  }),
  metadataRecord('ConfigRecord', 0, { resourceType: 2, resourceName: 'orders', name: 'retention.ms', value: '5' }),
  metadataRecord('ClientQuotaRecord', 0, {
    entity: [
      { entityType: 'user', entityName: null },
      { entityType: 'client-id', entityName: 'c' },
    ],
    key: 'producer_byte_rate',
    value: 1.5,
    remove: false,
  }),
  metadataRecord('ProducerIdsRecord', 0, { brokerId: 1, brokerEpoch: 8, nextProducerId: 3000 }),
  metadataRecord('AccessControlEntryRecord', 0, {
    id: idOf(50),
    resourceType: 2,
    resourceName: 'orders',
    patternType: 3,
    principal: 'User:x',
    host: '*',
    operation: 3,
    permissionType: 3,
  }),
  metadataRecord('UserScramCredentialRecord', 0, {
    name: 'u',
    mechanism: 1,
    salt: bytes(1),
    storedKey: bytes(2, 3),
    serverKey: bytes(),
    iterations: 4096,
  }),
  metadataRecord('DelegationTokenRecord', 0, {
    owner: 'User:a',
    requester: 'User:b',
    renewers: ['User:c'],
    issueTimestamp: 1,
    maxTimestamp: 2,
    expirationTimestamp: 3,
    tokenId: 't',
  }),
];

const ORDER = (
  'FeatureLevelRecord FeatureLevelRecord FeatureLevelRecord RegisterBrokerRecord RegisterBrokerRecord ' +
  'RegisterControllerRecord TopicRecord PartitionRecord'
).split(' ');

describe('a snapshot', () => {
  const image = imageOf(everything);

  it('gives the image back, through bytes', () => {
    const read = [...snapshotRecords(image)].map((record) => {
      const decoded = decodeMetadataRecord(encodeMetadataRecord(record));
      return 'record' in decoded ? decoded.record : expect.fail(decoded.problem.sentence);
    });
    expect(imageFromRecords(read, image.provenance)).toEqual(image);
  });

  it("is in Kafka's order, metadata.version first", () => {
    const kinds = [...snapshotRecords(image)].map(({ kind }) => kind);
    expect(kinds.slice(0, ORDER.length)).toEqual(ORDER);
    expect(kinds.slice(-6)).toEqual([
      'ConfigRecord',
      'ClientQuotaRecord',
      'ProducerIdsRecord',
      'AccessControlEntryRecord',
      'UserScramCredentialRecord',
      'DelegationTokenRecord',
    ]);
    expect([...snapshotRecords(image)][0]?.value).toEqual({ name: 'metadata.version', featureLevel: 33 });
  });

  it('of nothing is nothing', () => {
    expect([...snapshotRecords(EMPTY_IMAGE)]).toEqual([]);
  });

  it('is the same when it is taken of what it gave', () => {
    const again = imageFromRecords(snapshotRecords(image), image.provenance);
    if (typeof again === 'string') throw new Error(again);
    expect([...snapshotRecords(again)]).toEqual([...snapshotRecords(image)]);
  });

  it('of an old cluster is written so that old nodes can read it', () => {
    const level = metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel: 14 });
    const old = imageOf([level, ...everything.slice(4)]);
    const versions = new Map([...snapshotRecords(old)].map((record) => [record.kind, record.version]));
    expect([versions.get('RegisterBrokerRecord'), versions.get('PartitionRecord')]).toEqual([2, 0]);
    const values = [...snapshotRecords(old)].map((record) => encodeMetadataRecord(record).length);
    expect(Math.min(...values)).toBeGreaterThan(0);
  });
});

describe('feature levels', () => {
  it.each([
    [7, '3.3-IV3', 1, 0],
    [16, '3.7-IV1', 2, 0],
    [17, '3.7-IV2', 3, 1],
    [23, '4.0-IV1', 3, 2],
    [29, '4.2-IV1', 3, 2],
    [30, '4.3-IV0', 4, 2],
    [33, '4.4-IV2', 4, 2],
  ])('%i is %s: brokers in version %i, partitions in version %i', (level, name, broker, partition) => {
    expect(metadataLevelName(level)).toBe(name);
    expect([registerBrokerVersion(level), partitionVersion(level)]).toEqual([broker, partition]);
  });

  it('may go down where no metadata is lost', () => {
    expect(losesMetadata(29, 23)).toBe(false);
    expect(losesMetadata(31, 30)).toBe(false);
    expect(losesMetadata(33, 32)).toBe(true);
    expect(losesMetadata(33, 29)).toBe(true);
    expect(metadataLevelName(METADATA_LEVEL_MAX + 1)).toBe('34');
  });

  it('that we do not serve are named', () => {
    const finalize = (name: string, featureLevel: number): MetadataRecord =>
      metadataRecord('FeatureLevelRecord', 0, { name, featureLevel });
    const foreign = imageOf([finalize('metadata.version', 34), finalize('share.version', 2), ...bootstrapRecords(1)]);
    expect(unservedFeatures(foreign)).toEqual([{ name: 'share.version', level: 2 }]);
    const newer = imageOf([...bootstrapRecords(1), finalize('metadata.version', 34)]);
    expect(unservedFeatures(newer)).toEqual([{ name: 'metadata.version', level: 34 }]);
    const off = imageOf([...bootstrapRecords(1), finalize('share.version', 2), finalize('share.version', 0)]);
    expect(unservedFeatures(off)).toEqual([]);
  });
});
