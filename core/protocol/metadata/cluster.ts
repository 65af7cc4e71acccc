/**
 * Records of the metadata log about the cluster as a whole, and those that tie others together.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `metadata-records.ts` frames them.
 */
import { type BodyOf, int8, int16, int32, int64, message, string } from '../schema.ts';

/** A feature has a new level; 0 switches it off. */
export const FeatureLevelRecord = message(
  { name: 'FeatureLevelRecord', versions: '0', flexible: '0+' },
  { name: string(), featureLevel: int16() },
);
/** The record as it is read. */
export type FeatureLevelRecord = BodyOf<typeof FeatureLevelRecord>;

/** A block of producer ids was given away. */
export const ProducerIdsRecord = message(
  { name: 'ProducerIdsRecord', versions: '0', flexible: '0+' },
  { brokerId: int32(), brokerEpoch: int64('0+', { default: -1 }), nextProducerId: int64() },
);
/** The record as it is read. */
export type ProducerIdsRecord = BodyOf<typeof ProducerIdsRecord>;

/** Nothing: it moves the high watermark on. */
export const NoOpRecord = message({ name: 'NoOpRecord', versions: '0', flexible: '0+' }, {});
/** The record as it is read. */
export type NoOpRecord = BodyOf<typeof NoOpRecord>;

/** What follows takes effect only when the transaction ends. */
export const BeginTransactionRecord = message(
  { name: 'BeginTransactionRecord', versions: '0', flexible: '0+' },
  { name: string('0+', { nullable: '0+', tag: 0, default: null }) },
);
/** The record as it is read. */
export type BeginTransactionRecord = BodyOf<typeof BeginTransactionRecord>;

/** The records since the beginning take effect. */
export const EndTransactionRecord = message({ name: 'EndTransactionRecord', versions: '0', flexible: '0+' }, {});
/** The record as it is read. */
export type EndTransactionRecord = BodyOf<typeof EndTransactionRecord>;

/** The records since the beginning are void. */
export const AbortTransactionRecord = message(
  { name: 'AbortTransactionRecord', versions: '0', flexible: '0+' },
  { reason: string('0+', { nullable: '0+', tag: 0, default: null }) },
);
/** The record as it is read. */
export type AbortTransactionRecord = BodyOf<typeof AbortTransactionRecord>;

/** A state of a migration that is no more; read and passed over. */
export const ZkMigrationStateRecord = message(
  { name: 'ZkMigrationStateRecord', versions: '0', flexible: '0+' },
  { zkMigrationState: int8() },
);
/** The record as it is read. */
export type ZkMigrationStateRecord = BodyOf<typeof ZkMigrationStateRecord>;
