/** Batches whose records are read: what is put right by them, what is refused, and that all others are not read. */
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { FAULTS_MAX } from '../../core/log/judge.ts';
import type { LogConfig } from '../../core/log/types.ts';
import * as batch from '../../core/protocol/batch.ts';
import type { Codec } from '../../core/protocol/compression.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { encodeBatch, type RecordInput } from '../../core/protocol/records.ts';
import { append, concat, createWorld, FAKE_CODECS, type LogWorld, open, read } from './world.ts';

const NOW_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

/** One batch of records with these times and keys. */
function batchOf(records: readonly Partial<RecordInput>[], codec: Codec = 0): Uint8Array {
  const whole = records.map((record) => ({ timestampMs: NOW_MS, key: null, value: Uint8Array.of(1), ...record }));
  return encodeBatch(whole, { codec, codecs: FAKE_CODECS });
}

function changed(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const view = batch.dataViewOf(copy);
  change(view);
  view.setUint32(batch.CRC_AT, crc32c(copy, batch.ATTRIBUTES_AT));
  return copy;
}

function withMax(bytes: Uint8Array, timeMs: number): Uint8Array {
  return changed(bytes, (view) => view.setBigInt64(batch.MAX_TIMESTAMP_AT, BigInt(timeMs)));
}

function opened(config: Partial<LogConfig> = {}): LogWorld {
  const world = createWorld(config);
  open(world);
  return world;
}

/** The header of the batch that is stored at an offset; its checksum holds. */
function storedAt(world: LogWorld, offset: number): DataView {
  const outcome = read(world, { offset, sizeBytesMax: 1 });
  const bytes = outcome.kind === 'batches' ? concat(outcome.parts) : new Uint8Array();
  expect(batch.validateBatch(bytes, 'log', crc32c)).toBeNull();
  return batch.dataViewOf(bytes);
}

describe('a header that is wrong about times is set right by the records', () => {
  const good = [{}, { timestampMs: NOW_MS + 5 }, { timestampMs: NOW_MS + 2 }];

  it.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ['a largest time below the first', (bytes) => withMax(bytes, NOW_MS - 1)],
    ['a largest time of none', (bytes) => withMax(bytes, -1)],
    ['a largest time too far ahead', (bytes) => withMax(bytes, NOW_MS + HOUR_MS + 1)],
    ['a time of the broker', (bytes) => changed(bytes, (view) => view.setInt8(batch.ATTRIBUTES_AT + 1, 8))],
  ])('%s', (_title, change) => {
    const world = opened();
    expect(append(world, change(batchOf(good)))).toMatchObject({ error: 0, baseOffset: 0, faults: [] });
    const stored = storedAt(world, 0);
    expect([batch.baseTimestamp(stored, 0), batch.maxTimestamp(stored, 0)]).toEqual([NOW_MS, NOW_MS + 5]);
    expect(batch.isLogAppendTime(stored, 0)).toBe(false);
  });

  it('times before that of none count as none', () => {
    const world = opened();
    expect(append(world, batchOf([{ timestampMs: -5 }, { timestampMs: -9 }])).error).toBe(0);
    const stored = storedAt(world, 0);
    expect([batch.baseTimestamp(stored, 0), batch.maxTimestamp(stored, 0)]).toEqual([-5, -1]);
  });

  it('also where they are compressed', () => {
    const world = opened();
    const spoilt = withMax(batchOf(good, 1), 3);
    expect(append(world, spoilt).error).toBe(0);
    expect(batch.maxTimestamp(storedAt(world, 0), 0)).toBe(NOW_MS + 5);
  });

  it('and where the broker stamps them they are not even read', () => {
    const world = opened({ timestampType: 'LogAppendTime' });
    const torn = changed(withMax(batchOf(good), 3), (view) => view.setInt8(batch.BATCH_HEADER_BYTES, 99));
    expect(append(world, torn)).toMatchObject({ error: 0, logAppendTimeMs: world.wallMs });
  });

  it('but not where they cannot be read', () => {
    const torn = changed(withMax(batchOf(good), 3), (view) => view.setInt8(batch.BATCH_HEADER_BYTES, 99));
    const gap = withMax(batchOf([{}, { offsetDelta: 1 }, {}]), 3);
    const shifted = changed(gap, (view) => view.setInt8(batch.BATCH_HEADER_BYTES + 3, 4));
    for (const bytes of [torn, shifted]) {
      expect(append(opened(), bytes)).toMatchObject({ error: ErrorCode.INVALID_RECORD, faults: [] });
    }
  });

  it('a sound header is believed, whatever the records are', () => {
    const world = opened();
    const torn = changed(batchOf(good), (view) => view.setInt8(batch.BATCH_HEADER_BYTES, 99));
    expect(append(world, torn).error).toBe(0);
  });
});

describe('records that are refused', () => {
  it('for their time are named, with the range that is legal', () => {
    const late = NOW_MS + HOUR_MS + 1;
    const outcome = append(opened(), batchOf([{}, { timestampMs: late }, { timestampMs: -1 }, { timestampMs: late }]));
    const range = `[${BigInt(NOW_MS) - 9223372036854775807n}, ${NOW_MS + HOUR_MS}]`;
    expect(outcome).toMatchObject({
      error: ErrorCode.INVALID_TIMESTAMP,
      message: 'One or more records have been rejected due to invalid timestamp',
      faults: [1, 3].map((batchIndex) => ({
        batchIndex,
        batchIndexErrorMessage: [
          `Timestamp ${late} of message with offset ${batchIndex} is out of range.`,
          `The timestamp should be within ${range}`,
        ].join(' '),
      })),
    });
  });

  it('for their age are found behind young ones where the topic bounds it', () => {
    const world = opened({ timestampBeforeMaxMs: 1000 });
    const outcome = append(world, batchOf([{}, { timestampMs: NOW_MS - 1001 }, { timestampMs: NOW_MS - 1000 }]));
    expect(outcome.error).toBe(ErrorCode.INVALID_TIMESTAMP);
    expect(outcome.faults.map(({ batchIndex }) => batchIndex)).toEqual([1]);
    expect(append(world, batchOf([{}, { timestampMs: NOW_MS - 1000 }])).error).toBe(0);
  });

  it('for having no key in a compacted topic are named, a few in words', () => {
    const world = opened({ isCompacted: true });
    const key = Uint8Array.of(7);
    const outcome = append(world, batchOf([{}, { key }, {}, {}, {}]));
    expect(outcome.error).toBe(ErrorCode.INVALID_RECORD);
    expect(outcome.faults.map(({ batchIndex }) => batchIndex)).toEqual([0, 2, 3, 4]);
    expect(outcome.message).toMatch(/due to 4 record errors in total, and only .* three .*batchIndex=0.*=2.*=3/);
    expect(outcome.message).not.toContain('batchIndex=4');
    expect(append(world, batchOf([{ key }, { key: new Uint8Array(0) }])).error).toBe(0);
  });

  it('for both are refused for their time, and no more are named than fit', () => {
    const many = Array.from({ length: FAULTS_MAX + 50 }, () => ({}));
    const late = { key: Uint8Array.of(1), timestampMs: NOW_MS + 2 * HOUR_MS };
    const outcome = append(opened({ isCompacted: true }), batchOf([...many, late]));
    expect(outcome.error).toBe(ErrorCode.INVALID_TIMESTAMP);
    expect(outcome.faults).toHaveLength(FAULTS_MAX);
  });
});
