/**
 * Records of `__consumer_offsets` about classic groups and committed offsets: keys and values.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `group-records.ts` frames them. A committed
 * offset was once written with keys of type 0; both types mean the same.
 */
import { array, type BodyOf, bytes, int32, int64, message, string, timestamp, uuid } from '../schema.ts';

const offsetKey = { group: string('0'), topic: string('0'), partition: int32('0') };

/** Whose offset, as old brokers wrote it. */
export const LegacyOffsetCommitKey = message(
  { name: 'LegacyOffsetCommitKey', versions: '0', flexible: 'none' },
  offsetKey,
);
/** The offset, as old brokers wrote it. */
export const LegacyOffsetCommitValue = message(
  { name: 'LegacyOffsetCommitValue', versions: '0', flexible: 'none' },
  { offset: int64('0'), metadata: string('0'), commitTimestamp: timestamp('0') },
);

/** Whose offset. */
export const OffsetCommitKey = message({ name: 'OffsetCommitKey', versions: '0', flexible: 'none' }, offsetKey);
/** The key as it is read. */
export type OffsetCommitKey = BodyOf<typeof OffsetCommitKey>;

/** The offset that a consumer goes on at. */
export const OffsetCommitValue = message(
  { name: 'OffsetCommitValue', versions: '0-4', flexible: '4+' },
  {
    offset: int64(),
    leaderEpoch: int32('3+', { default: -1, ignorable: true }),
    metadata: string(),
    commitTimestamp: timestamp(),
    expireTimestamp: timestamp('1', { default: -1, ignorable: true }),
    topicId: uuid('4+', { tag: 0, ignorable: true }),
  },
);
/** The value as it is read. */
export type OffsetCommitValue = BodyOf<typeof OffsetCommitValue>;

/** Which classic group. */
export const GroupMetadataKey = message(
  { name: 'GroupMetadataKey', versions: '0', flexible: 'none' },
  { group: string('0') },
);
/** The key as it is read. */
export type GroupMetadataKey = BodyOf<typeof GroupMetadataKey>;

/** A generation of a classic group: its members and what each was assigned. */
export const GroupMetadataValue = message(
  { name: 'GroupMetadataValue', versions: '0-4', flexible: '4+' },
  {
    protocolType: string(),
    generation: int32(),
    protocol: string('0+', { nullable: '0+' }),
    leader: string('0+', { nullable: '0+' }),
    currentStateTimestamp: timestamp('2+', { default: -1, ignorable: true }),
    members: array({
      memberId: string(),
      groupInstanceId: string('3+', { nullable: '3+', default: null, ignorable: true }),
      clientId: string(),
      clientHost: string(),
      rebalanceTimeout: int32('1+', { default: -1, ignorable: true }),
      sessionTimeout: int32(),
      subscription: bytes(),
      assignment: bytes(),
    }),
  },
);
/** The value as it is read. */
export type GroupMetadataValue = BodyOf<typeof GroupMetadataValue>;
