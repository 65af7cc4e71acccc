/**
 * The records of control batches: ends of transactions, and what a quorum writes into its own log.
 *
 * `control.ts` builds and reads the batches. Names, types and versions are those of Apache Kafka 4.4.
 */
import { array, type BodyOf, int16, int32, message, string, struct, timestamp, uint16, uuid } from './schema.ts';

/** The key of a control record, after the version of its own schema. */
export const ControlRecordTypeSchema = message(
  { name: 'ControlRecordTypeSchema', versions: '0', flexible: 'none' },
  { type: int16() },
);
/** The same as it is read. */
export type ControlRecordTypeSchema = BodyOf<typeof ControlRecordTypeSchema>;

/** Ends a transaction in one partition; the type in the key says how. */
export const EndTxnMarker = message(
  { name: 'EndTxnMarker', versions: '0', flexible: 'none' },
  { coordinatorEpoch: int32() },
);
/** The same as it is read. */
export type EndTxnMarker = BodyOf<typeof EndTxnMarker>;

const leaderChangeMessageVoter = { voterId: int32(), voterDirectoryId: uuid('1+') };

/** The first record of every leader of a quorum. */
export const LeaderChangeMessage = message(
  { name: 'LeaderChangeMessage', versions: '0-1', flexible: '0+' },
  {
    version: int16(),
    leaderId: int32(),
    voters: array(leaderChangeMessageVoter),
    grantingVoters: array(leaderChangeMessageVoter),
  },
);
/** The same as it is read. */
export type LeaderChangeMessage = BodyOf<typeof LeaderChangeMessage>;

/** The first record of a snapshot. */
export const SnapshotHeaderRecord = message(
  { name: 'SnapshotHeaderRecord', versions: '0', flexible: '0+' },
  { version: int16(), lastContainedLogTimestamp: timestamp() },
);
/** The same as it is read. */
export type SnapshotHeaderRecord = BodyOf<typeof SnapshotHeaderRecord>;

/** The last record of a snapshot. */
export const SnapshotFooterRecord = message(
  { name: 'SnapshotFooterRecord', versions: '0', flexible: '0+' },
  { version: int16() },
);
/** The same as it is read. */
export type SnapshotFooterRecord = BodyOf<typeof SnapshotFooterRecord>;

/** The feature level of the quorum. */
export const KRaftVersionRecord = message(
  { name: 'KRaftVersionRecord', versions: '0', flexible: '0+' },
  { version: int16(), kRaftVersion: int16() },
);
/** The same as it is read. */
export type KRaftVersionRecord = BodyOf<typeof KRaftVersionRecord>;

/** The voters of the quorum, from feature level 1. */
export const VotersRecord = message(
  { name: 'VotersRecord', versions: '0', flexible: '0+' },
  {
    version: int16(),
    voters: array({
      voterId: int32(),
      voterDirectoryId: uuid(),
      endpoints: array({ name: string(), host: string(), port: uint16() }),
      kRaftVersionFeature: struct({ minSupportedVersion: int16(), maxSupportedVersion: int16() }),
    }),
  },
);
/** The same as it is read. */
export type VotersRecord = BodyOf<typeof VotersRecord>;
