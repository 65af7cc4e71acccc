/**
 * What a node keeps in small files of its own, in the bytes that Apache Kafka uses for them.
 *
 * `ProducerSnapshot` is the body of a `.snapshot` file, after the 16-bit version of its schema; its checksum covers
 * what follows the checksum. `QuorumStateData` is written as JSON in `quorum-state`, so only its field names matter.
 * `AbortedTxn` is one entry of a `.txnindex` file, after the same 16-bit version.
 */
import { array, type BodyOf, int16, int32, int64, message, string, timestamp, uint32, uuid } from './schema.ts';

/** The producers of a partition. */
export const ProducerSnapshot = message(
  { name: 'ProducerSnapshot', versions: '1', flexible: 'none' },
  {
    crc: uint32('1'),
    producerEntries: array(
      {
        producerId: int64('1'),
        epoch: int16('1'),
        lastSequence: int32('1'),
        lastOffset: int64('1'),
        offsetDelta: int32('1'),
        timestamp: timestamp('1'),
        coordinatorEpoch: int32('1'),
        currentTxnFirstOffset: int64('1'),
      },
      '1',
    ),
  },
);
/** The same as it is read. */
export type ProducerSnapshot = BodyOf<typeof ProducerSnapshot>;

/** What a voter must not forget. */
export const QuorumStateData = message(
  { name: 'QuorumStateData', versions: '0-1', flexible: '0+' },
  {
    clusterId: string('0'),
    leaderId: int32('0+', { default: -1 }),
    leaderEpoch: int32('0+', { default: -1 }),
    votedId: int32('0+', { default: -1 }),
    votedDirectoryId: uuid('1+'),
    appliedOffset: int64('0'),
    currentVoters: array({ voterId: int32('0') }, '0', { nullable: '0' }),
  },
);
/** The same as it is read. */
export type QuorumStateData = BodyOf<typeof QuorumStateData>;

/** A transaction that was aborted. */
export const AbortedTxn = message(
  { name: 'AbortedTxn', versions: '0', flexible: 'none' },
  { producerId: int64(), firstOffset: int64(), lastOffset: int64(), lastStableOffset: int64() },
);
/** The same as it is read. */
export type AbortedTxn = BodyOf<typeof AbortedTxn>;
