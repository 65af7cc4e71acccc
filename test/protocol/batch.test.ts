/** Record batches: built, read, checked by their header, and stamped by a leader without touching the records. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import * as batch from '../../core/protocol/batch.ts';
import type { Codecs } from '../../core/protocol/compression.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { encodeBatch, type RecordInput, readRecords } from '../../core/protocol/records.ts';
import { joined } from './arbitrary.ts';

const NO_CODECS: Codecs = { compress: (_codec, bytes) => bytes, decompress: () => 'corrupt' };
const blob = fc.option(fc.uint8Array({ maxLength: 80 }));
const record: fc.Arbitrary<RecordInput> = fc.record({
  timestampMs: fc.integer({ min: 0, max: 4e12 }),
  key: blob,
  value: blob,
  headers: fc.array(fc.record({ key: fc.string({ maxLength: 6 }), value: blob }), { maxLength: 3 }),
});
const one: RecordInput = { timestampMs: 1000, key: null, value: Uint8Array.of(1, 2, 3) };

/** A sound batch with one change to its header and, if so wanted, a checksum that fits again. */
function changed(change: (view: DataView) => void, isResummed = true): Uint8Array {
  const bytes = encodeBatch([one, { ...one, timestampMs: 2000 }]);
  const view = batch.dataViewOf(bytes);
  change(view);
  if (isResummed) view.setUint32(batch.CRC_AT, crc32c(bytes, batch.ATTRIBUTES_AT));
  return bytes;
}

describe('a batch', () => {
  it('holds the records that were put in', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 10 }), fc.nat(1e6), (records, baseOffset) => {
        const bytes = encodeBatch(records, { baseOffset });
        expect(batch.validateBatch(bytes, 'log', crc32c)).toBeNull();
        const back = readRecords(bytes, NO_CODECS);
        expect(back).toEqual(records.map((input, index) => ({ offset: baseOffset + index, ...input })));
      }),
    );
  });

  it('says in its header what it was built with', () => {
    const bytes = encodeBatch([one, { ...one, timestampMs: 500 }, { ...one, timestampMs: 3000, offsetDelta: 9 }], {
      baseOffset: 77,
      leaderEpoch: 5,
      producerId: 2 ** 40,
      producerEpoch: 3,
      baseSequence: 2 ** 31 - 2,
      isTransactional: true,
    });
    const view = batch.dataViewOf(bytes);
    expect(batch.baseOffset(view, 0)).toBe(77);
    expect(batch.batchSizeBytes(view, 0)).toBe(bytes.length);
    expect(batch.leaderEpoch(view, 0)).toBe(5);
    expect(batch.lastOffset(view, 0)).toBe(86);
    expect(batch.nextOffset(view, 0)).toBe(87);
    expect(batch.recordsCount(view, 0)).toBe(3);
    expect([batch.baseTimestamp(view, 0), batch.maxTimestamp(view, 0)]).toEqual([1000, 3000]);
    expect([batch.producerId(view, 0), batch.producerEpoch(view, 0)]).toEqual([2 ** 40, 3]);
    expect([batch.baseSequence(view, 0), batch.lastSequence(view, 0)]).toEqual([2 ** 31 - 2, 7]);
    expect([batch.isTransactional(view, 0), batch.isControl(view, 0), batch.isLogAppendTime(view, 0)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('gets base offset and leader epoch in sixteen fresh bytes, and keeps checksum and records', () => {
    const bytes = encodeBatch([one]);
    const before = Buffer.from(bytes).toString('hex');
    const parts = batch.appendParts(bytes, 123456789012, 42);
    expect(parts[0].length).toBe(batch.PREFIX_BYTES);
    expect(parts[1].buffer).toBe(bytes.buffer);
    const stored = joined(parts);
    const view = batch.dataViewOf(stored);
    expect(batch.baseOffset(view, 0)).toBe(123456789012);
    expect(batch.leaderEpoch(view, 0)).toBe(42);
    expect(batch.validateBatch(stored, 'log', crc32c)).toBeNull();
    expect(Buffer.from(bytes).toString('hex')).toBe(before);
  });

  it('stamped with the time of the broker has that time on every record, and a new checksum', () => {
    const bytes = Buffer.from(encodeBatch([one, { ...one, timestampMs: 2000 }]));
    const stored = joined(batch.appendTimeParts(bytes, 10, 1, 1_700_000_000_000));
    expect(batch.validateBatch(stored, 'log', crc32c)).toBeNull();
    expect(readRecords(stored, NO_CODECS).map((item) => item.timestampMs)).toEqual([
      1_700_000_000_000, 1_700_000_000_000,
    ]);
    expect(batch.validateBatch(Uint8Array.from(bytes), 'client', crc32c)).toBeNull();
  });
});

describe('a batch from a client is refused', () => {
  const cases: [string, (view: DataView) => void, ErrorCode][] = [
    [
      'whose count is not that of its offsets',
      (view) => view.setInt32(batch.LAST_OFFSET_DELTA_AT, 5),
      ErrorCode.INVALID_RECORD,
    ],
    [
      'whose last offset lies before its first',
      (view) => view.setInt32(batch.LAST_OFFSET_DELTA_AT, -1),
      ErrorCode.INVALID_RECORD,
    ],
    ['with a negative count', (view) => view.setInt32(batch.RECORDS_COUNT_AT, -2), ErrorCode.INVALID_RECORD],
    ['with a codec that does not exist', (view) => view.setInt16(batch.ATTRIBUTES_AT, 5), ErrorCode.INVALID_RECORD],
    ['that claims to be control records', (view) => view.setInt16(batch.ATTRIBUTES_AT, 32), ErrorCode.INVALID_RECORD],
    ['with a producer id but no sequence', (view) => view.setInt32(batch.PRODUCER_ID_AT, 0), ErrorCode.INVALID_RECORD],
    ['of the old format 1', (view) => view.setInt8(batch.MAGIC_AT, 1), ErrorCode.INVALID_RECORD],
    ['of a format to come', (view) => view.setInt8(batch.MAGIC_AT, 3), ErrorCode.CORRUPT_MESSAGE],
    ['that is longer than its bytes', (view) => view.setInt32(batch.BATCH_LENGTH_AT, 5000), ErrorCode.CORRUPT_MESSAGE],
    ['that is shorter than a header', (view) => view.setInt32(batch.BATCH_LENGTH_AT, 10), ErrorCode.CORRUPT_MESSAGE],
  ];
  it.each(cases)('%s', (_title, change, code) => {
    expect(
      batch.validateBatch(
        changed(() => {}),
        'client',
        crc32c,
      ),
    ).toBeNull();
    expect(batch.validateBatch(changed(change), 'client', crc32c)).toBe(code);
  });

  it('where any bit that the checksum covers is flipped', () => {
    const bytes = encodeBatch([one]);
    for (let bit = batch.ATTRIBUTES_AT * 8; bit < bytes.length * 8; bit++) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(batch.validateBatch(flipped, 'client', crc32c)).toBe(ErrorCode.CORRUPT_MESSAGE);
    }
  });

  it('that is cut anywhere', () => {
    const bytes = encodeBatch([one]);
    for (let size = 0; size < bytes.length; size++) {
      expect(batch.validateBatch(bytes.subarray(0, size), 'client', crc32c)).toBe(ErrorCode.CORRUPT_MESSAGE);
    }
  });
});

describe('a run of batches', () => {
  it('is walked batch by batch, to a torn end', () => {
    const run = joined([encodeBatch([one]), encodeBatch([one, one]), encodeBatch([one]).subarray(0, 30)]);
    const view = batch.dataViewOf(run);
    const first = batch.batchEnd(view, 0, run.length);
    const second = batch.batchEnd(view, first, run.length);
    expect(batch.recordsCount(view, first)).toBe(2);
    expect(second).toBe(run.length - 30);
    expect(batch.batchEnd(view, second, run.length)).toBe(batch.BATCH_TRUNCATED);
    expect(batch.batchEnd(view, second, second + 5)).toBe(batch.BATCH_TRUNCATED);
    view.setInt32(second + batch.BATCH_LENGTH_AT, -7);
    expect(batch.batchEnd(view, second, run.length)).toBe(batch.BATCH_CORRUPT);
  });
});

describe('records that make no sense', () => {
  it('raise ProtocolError, wherever a byte is flipped', () => {
    const bytes = encodeBatch([{ ...one, key: Uint8Array.of(9), headers: [{ key: 'h', value: null }] }, one]);
    fc.assert(
      fc.property(fc.integer({ min: batch.BATCH_HEADER_BYTES, max: bytes.length - 1 }), fc.nat(255), (at, value) => {
        const wrong = Uint8Array.from(bytes);
        wrong[at] = value;
        try {
          expect(readRecords(wrong, NO_CODECS)).toHaveLength(2);
        } catch (error) {
          expect((error as Error).name).toBe('ProtocolError');
        }
      }),
      { numRuns: 1000 },
    );
  });
});
