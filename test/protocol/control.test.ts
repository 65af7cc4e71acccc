/** Control batches: ends of transactions and leader changes, built and read, and one that Apache Kafka wrote. */
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { Reader } from '../../core/lib/cursor.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import * as batch from '../../core/protocol/batch.ts';
import { readBody } from '../../core/protocol/compile.ts';
import type { Codecs } from '../../core/protocol/compression.ts';
import {
  ControlType,
  controlTypeOf,
  endTxnBatch,
  endTxnCoordinatorEpoch,
  leaderChangeBatch,
  quorumBatch,
  quorumValueSchema,
  readLeaderChange,
} from '../../core/protocol/control.ts';
import { type LogRecord, readRecords } from '../../core/protocol/records.ts';

const NO_CODECS: Codecs = { compress: (_codec, bytes) => bytes, decompress: () => 'corrupt' };
const place = { baseOffset: 8, leaderEpoch: 2, timestampMs: 1_700_000_000_000 };

/** The first batch of a metadata log of Apache Kafka 4.4, as its node wrote it. */
const KAFKA_LEADER_CHANGE =
  'AAAAAAAAAAAAAABPAAAAAQLRgkhcACAAAAAAAAABoihmKT8AAAGiKGYpP/////' +
  '//////////////AAAAAToAAAAIAAAAAiYAAAAAAAECAAAAAQACAAAAAQAAAA==';

function onlyRecord(bytes: Uint8Array): LogRecord {
  const records = readRecords(bytes, NO_CODECS);
  expect(records).toHaveLength(1);
  return records[0]!;
}

describe('a control batch', () => {
  it.each([
    [true, ControlType.COMMIT],
    [false, ControlType.ABORT],
  ])('ends a transaction (commit: %s)', (isCommit, type) => {
    const bytes = endTxnBatch(isCommit, 77, { id: 4001, epoch: 3 }, place);
    const view = batch.dataViewOf(bytes);
    expect(batch.validateBatch(bytes, 'log', crc32c)).toBeNull();
    expect([batch.isControl(view, 0), batch.isTransactional(view, 0)]).toEqual([true, true]);
    expect([batch.producerId(view, 0), batch.producerEpoch(view, 0), batch.baseSequence(view, 0)]).toEqual([
      4001, 3, -1,
    ]);
    const record = onlyRecord(bytes);
    expect(controlTypeOf(record)).toBe(type);
    expect(endTxnCoordinatorEpoch(record)).toBe(77);
    expect(Buffer.from(record.value!).toString('hex')).toBe('00000000004d');
  });

  it.each([0, 1] as const)('names the leader of a quorum (version %i)', (version) => {
    const voterDirectoryId = version === 0 ? ZERO_UUID : 'abcdefghijklmnopqrstuQ';
    const voters = [{ voterId: 1, voterDirectoryId }];
    const bytes = leaderChangeBatch(version, { leaderId: 1, voters, grantingVoters: voters }, place);
    const record = onlyRecord(bytes);
    expect(record.offset).toBe(8);
    expect(controlTypeOf(record)).toBe(ControlType.LEADER_CHANGE);
    expect(readLeaderChange(record)).toEqual({ version, leaderId: 1, voters, grantingVoters: voters });
  });

  it('that Apache Kafka wrote is read, and written again to the same bytes', () => {
    const bytes = Uint8Array.from(Buffer.from(KAFKA_LEADER_CHANGE, 'base64'));
    const record = onlyRecord(bytes);
    expect(controlTypeOf(record)).toBe(ControlType.LEADER_CHANGE);
    const body = readLeaderChange(record);
    expect(body.leaderId).toBe(1);
    const view = batch.dataViewOf(bytes);
    const again = leaderChangeBatch(body.version as 0 | 1, body, {
      baseOffset: record.offset,
      leaderEpoch: batch.leaderEpoch(view, 0),
      timestampMs: record.timestampMs,
    });
    expect(Buffer.from(again).toString('hex')).toBe(Buffer.from(bytes).toString('hex'));
  });

  it('may hold several records, of types that are read by their schema or passed over', () => {
    const value = Uint8Array.of(0, 0, 0, 1, 0);
    const unknown = 99 as ControlType;
    const bytes = quorumBatch(
      [ControlType.KRAFT_VERSION, unknown].map((type) => ({ type, value })),
      place,
    );
    const [known, later] = readRecords(bytes, NO_CODECS);
    expect(controlTypeOf(later!)).toBeNull();
    const schema = quorumValueSchema(controlTypeOf(known!)!)!;
    expect(readBody(schema, 0, new Reader(known!.value!))).toEqual({ version: 0, kRaftVersion: 1 });
    expect(quorumValueSchema(ControlType.COMMIT)).toBeNull();
  });

  it('with a key that makes no sense raises ProtocolError', () => {
    const record = { offset: 0, timestampMs: 0, key: Uint8Array.of(0), value: null, headers: [] };
    expect(() => controlTypeOf(record)).toThrow(/bytes end/);
    expect(() => controlTypeOf({ ...record, key: null })).toThrow(/no key/);
    expect(() => readLeaderChange({ ...record, value: null })).toThrow(/no value/);
  });
});
