/** What an append refuses, what it changes in the bytes, when it rolls, and what idempotent producers may do. */
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { type Log, logDeadlineMs, recoveryPoint, wakeLog } from '../../core/log/log.ts';
import { dataViewOf, RECORDS_COUNT_AT, validateBatch } from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { readRecords } from '../../core/protocol/records.ts';
import {
  append,
  batchOf,
  concat,
  createWorld,
  FAKE_CODECS,
  type LogWorld,
  open,
  post,
  read,
  readAll,
  restart,
  settleAll,
  stepOnce,
} from './world.ts';

function opened(config = {}): LogWorld {
  const world = createWorld(config);
  open(world);
  return world;
}

/** The batch with one field changed and the checksum made right again. */
function changed(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const view = dataViewOf(copy);
  change(view);
  view.setUint32(17, crc32c(copy, 21));
  return copy;
}

function stored(world: LogWorld, offset: number): Uint8Array {
  const outcome = read(world, { offset, sizeBytesMax: 1 });
  return outcome.kind === 'batches' ? concat(outcome.parts) : new Uint8Array();
}

describe('an append refuses', () => {
  const good = batchOf(['a', 'b']);
  const cases: [string, Uint8Array, number][] = [
    ['no batch at all', new Uint8Array(), ErrorCode.INVALID_RECORD],
    ['two batches', concat([good, good]), ErrorCode.INVALID_RECORD],
    ['a batch that ends too early', good.slice(0, -1), ErrorCode.INVALID_RECORD],
    ['a piece of a header', good.slice(0, 10), ErrorCode.INVALID_RECORD],
    ['magic 3', changed(good, (view) => view.setInt8(16, 3)), ErrorCode.CORRUPT_MESSAGE],
    [
      'a checksum that does not hold',
      good.map((byte, i) => (i === good.length - 1 ? byte ^ 1 : byte)),
      ErrorCode.CORRUPT_MESSAGE,
    ],
    ['magic 1', changed(good, (view) => view.setInt8(16, 1)), ErrorCode.INVALID_RECORD],
    ['a base offset', changed(good, (view) => view.setInt32(4, 9)), ErrorCode.INVALID_RECORD],
    [
      'a count that is not the offsets',
      changed(good, (view) => view.setInt32(RECORDS_COUNT_AT, 3)),
      ErrorCode.INVALID_RECORD,
    ],
    ['a control batch', batchOf(['a'], { isControl: true }), ErrorCode.INVALID_RECORD],
    [
      'a transactional batch',
      batchOf(['a'], { isTransactional: true, producerId: 1, producerEpoch: 0, baseSequence: 0 }),
      ErrorCode.INVALID_TXN_STATE,
    ],
    ['a producer without a sequence', batchOf(['a'], { producerId: 1, producerEpoch: 0 }), ErrorCode.INVALID_RECORD],
    ['a batch that is too large', batchOf(['x'.repeat(3000)]), ErrorCode.MESSAGE_TOO_LARGE],
    [
      'a time too far ahead',
      batchOf(['a'], { timestampMs: 1_700_000_000_000 + 3_600_001 }),
      ErrorCode.INVALID_TIMESTAMP,
    ],
  ];
  it.each(cases)('%s', (_title, bytes, error) => {
    const world = opened();
    expect(append(world, bytes)).toMatchObject({ error, baseOffset: -1 });
    expect(world.log.end).toBe(0);
    expect(world.disk.queue).toEqual([]);
  });

  it('a time too far behind, and a batch that no segment holds', () => {
    const world = opened({ timestampBeforeMaxMs: 1000, segmentBytes: 1000 });
    expect(append(world, batchOf(['a'], { timestampMs: 1_699_999_998_000 }))).toMatchObject({ error: 32 });
    expect(append(world, batchOf(['x'.repeat(1500)]))).toMatchObject({ error: ErrorCode.RECORD_LIST_TOO_LARGE });
  });
});

describe('the stored bytes', () => {
  it('are those that came but for base offset and leader epoch', () => {
    const world = opened();
    const bytes = batchOf(['a', 'b']);
    append(world, bytes, 0);
    append(world, bytes, 5);
    const again = stored(world, 2);
    expect(again.slice(16)).toEqual(bytes.slice(16));
    expect([...again.slice(0, 16)]).toEqual([0, 0, 0, 0, 0, 0, 0, 2, ...bytes.slice(8, 12), 0, 0, 0, 5]);
  });

  it('carry the leader time and a right checksum under LogAppendTime', () => {
    const world = opened({ timestampType: 'LogAppendTime' });
    expect(append(world, batchOf(['a', 'b'], { timestampMs: 5 }))).toMatchObject({ logAppendTimeMs: world.wallMs });
    const bytes = stored(world, 0);
    expect(validateBatch(bytes, 'log', crc32c)).toBe(null);
    expect(readRecords(bytes, FAKE_CODECS).map((record) => record.timestampMs)).toEqual([world.wallMs, world.wallMs]);
  });

  it('are compressed anew where the topic says so, and kept where they have that codec', () => {
    const world = opened({ compressionType: 'gzip' });
    append(world, batchOf(['a', 'b']));
    const bytes = stored(world, 0);
    expect(validateBatch(bytes, 'log', crc32c)).toBe(null);
    expect((bytes[22] ?? 0) & 7).toBe(1);
    expect(readRecords(bytes, FAKE_CODECS).map((record) => record.offset)).toEqual([0, 1]);
    const packed = batchOf(['c'], { codec: 1, codecs: FAKE_CODECS });
    append(world, packed);
    expect(stored(world, 2).slice(16)).toEqual(packed.slice(16));
    const lying = changed(batchOf(['a', 'b']), (view) => view.setInt8(61, 3));
    expect(append(world, lying)).toMatchObject({ error: ErrorCode.INVALID_RECORD });
  });

  it('do not keep a much larger buffer in memory', () => {
    const world = opened();
    const bytes = batchOf(['a']);
    const frame = new Uint8Array(100_000);
    frame.set(bytes, 500);
    append(world, frame.subarray(500, 500 + bytes.length));
    for (const item of world.log.ring?.items ?? []) {
      for (const part of item?.parts ?? []) expect(part.buffer.byteLength).toBeLessThan(1000);
    }
  });
});

describe('a segment rolls', () => {
  it('when its first record is too old', () => {
    const world = opened({ segmentMs: 1000 });
    for (const ms of [0, 900, 1000, 1001, 1500, 2100])
      append(world, batchOf(['a'], { timestampMs: 1_600_000_000_000 + ms }));
    expect(world.log.segments.map((segment) => segment.base)).toEqual([0, 3, 5]);
    expect(world.reached).toContain('log.roll.time');
  });

  it('when it is too old and the log was opened in between', () => {
    const world = opened({ segmentMs: 1000, indexIntervalBytes: 1 });
    for (const ms of [0, 100, 200]) append(world, batchOf(['a'], { timestampMs: 1_600_000_000_000 + ms }));
    settleAll(world);
    restart(world, 'process');
    open(world, { recoveryPoint: 3 });
    append(world, batchOf(['a'], { timestampMs: 1_600_000_001_001 }));
    expect(world.log.segments.map((segment) => segment.base)).toEqual([0, 3]);
  });

  it('when an index is full', () => {
    const world = opened({ indexBytesMax: 48, indexIntervalBytes: 1 });
    for (let i = 0; i < 12; i++) append(world, batchOf(['a'], { timestampMs: 1_600_000_000_000 + i }));
    settleAll(world);
    expect(world.reached).toContain('log.roll.index');
    for (const [name, inode] of world.disk.names)
      if (name.includes('index')) expect(inode.bytes.length).toBeLessThanOrEqual(48);
    expect(readAll(world, 0)).toHaveLength(12);
  });

  it('when an offset would not fit into 32 bits', () => {
    const world = opened();
    const huge = changed(batchOf(['a']), (view) => {
      view.setInt32(23, 0x7ffffffe);
      view.setInt32(RECORDS_COUNT_AT, 0x7fffffff);
    });
    append(world, huge);
    append(world, batchOf(['b']));
    append(world, batchOf(['c']));
    expect(world.log.segments.map((segment) => segment.base)).toEqual([0, 0x7fffffff + 1]);
    expect(world.reached).toContain('log.roll.offset');
  });
});

describe('an idempotent producer', () => {
  const send = (world: LogWorld, sequence: number, count = 1, epoch = 0, producerId = 9) =>
    append(world, batchOf(Array(count).fill('v'), { producerId, producerEpoch: epoch, baseSequence: sequence }));

  it('gets the first offset for each of its last five batches, and no gap through', () => {
    const world = opened();
    for (let i = 0; i < 8; i++)
      expect(send(world, i * 2, 2)).toMatchObject({ error: 0, baseOffset: i * 2, duplicate: false });
    for (let i = 3; i < 8; i++)
      expect(send(world, i * 2, 2)).toMatchObject({ baseOffset: i * 2, nextOffset: i * 2 + 2, duplicate: true });
    expect(send(world, 4, 2)).toMatchObject({ error: ErrorCode.DUPLICATE_SEQUENCE_NUMBER });
    expect(send(world, 15, 2)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    expect(send(world, 17)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    expect(send(world, 16)).toMatchObject({ error: 0, baseOffset: 16 });
  });

  it('starts anywhere when it is not known, at 0 under a new epoch, and never under an old one', () => {
    const world = opened();
    expect(send(world, 1000)).toMatchObject({ error: 0 });
    expect(send(world, 500)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    expect(send(world, 1001, 1, 1)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    expect(send(world, 0, 1, 1)).toMatchObject({ error: 0 });
    expect(send(world, 1002, 1, 0)).toMatchObject({ error: ErrorCode.INVALID_PRODUCER_EPOCH });
  });

  it('wraps its sequence after 2^31 - 1', () => {
    const world = opened();
    expect(send(world, 0x7ffffffe, 4)).toMatchObject({ error: 0, baseOffset: 0 });
    expect(send(world, 0x7ffffffe, 4)).toMatchObject({ duplicate: true });
    expect(send(world, 2)).toMatchObject({ error: 0, baseOffset: 4 });
  });

  it('is forgotten when it has been idle for long enough, and not before', () => {
    const world = opened({ producerIdExpirationMs: 5000 });
    send(world, 0);
    const due = logDeadlineMs(world.log);
    expect(due).toBe(6000);
    world.nowMs = due - 1;
    send(world, 0, 1, 0, 10);
    wakeLog(world.log, world.env, world.out, world.events);
    expect(world.log.producers?.size).toBe(2);
    world.nowMs = due;
    wakeLog(world.log, world.env, world.out, world.events);
    expect([...(world.log.producers?.keys() ?? [])]).toEqual([10]);
  });

  it('finds its five batches again after a clean stop and after a crash', () => {
    for (const recoveryPoint of [0, 8]) {
      const world = opened({ segmentBytes: 300 });
      for (let i = 0; i < 8; i++) send(world, i);
      settleAll(world);
      restart(world, 'power');
      open(world, { recoveryPoint, highWatermark: 8 });
      for (let i = 3; i < 8; i++) expect(send(world, i), `${i}`).toMatchObject({ duplicate: true, baseOffset: i });
      expect(send(world, 9)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    }
  });
});

describe('a disk that fails', () => {
  function kinds(world: LogWorld): string[] {
    return world.events.map((event) => event.kind);
  }

  it('when full: the batch and all behind it are taken back, and later ones land in their place', () => {
    const world = opened();
    append(world, batchOf(['a'], { producerId: 9, producerEpoch: 0, baseSequence: 0 }));
    settleAll(world);
    world.disk.capacityBytes = 100;
    append(world, batchOf(['b'], { producerId: 9, producerEpoch: 0, baseSequence: 1 }), 3);
    append(world, batchOf(['c'], { producerId: 9, producerEpoch: 0, baseSequence: 2 }), 4);
    append(world, batchOf(['d'], { producerId: 11, producerEpoch: 0, baseSequence: 0 }), 4);
    while (!kinds(world).includes('cutBack')) stepOnce(world);
    expect(world.log).toMatchObject({ end: 1, durable: 1, epochs: [{ epoch: 0, startOffset: 0 }] });
    world.disk.capacityBytes = Infinity;
    // What was in flight behind a failed batch must not overtake its retry.
    expect(append(world, batchOf(['c'], { producerId: 9, producerEpoch: 0, baseSequence: 2 }))).toMatchObject({
      error: 45,
    });
    expect(append(world, batchOf(['e'], { producerId: 11, producerEpoch: 0, baseSequence: 1 }))).toMatchObject({
      error: 45,
    });
    expect(append(world, batchOf(['b'], { producerId: 9, producerEpoch: 0, baseSequence: 1 }))).toMatchObject({
      error: 0,
      baseOffset: 1,
    });
    settleAll(world);
    expect(readAll(world, 0).map(([, value]) => value)).toEqual(['a', 'b']);
    expect(kinds(world)).not.toContain('failed');
  });

  it('in a sync, or with an input/output error: the log fails once and for good', () => {
    for (const during of ['sync', 'append'] as const) {
      const world = opened();
      world.disk.fault = (effect) => (effect.kind === during ? (during === 'sync' ? 'noSpace' : 'io') : null);
      append(world, batchOf(['a']));
      append(world, batchOf(['b']));
      settleAll(world);
      expect(kinds(world).filter((kind) => kind === 'failed')).toHaveLength(1);
      expect(world.log.durable).toBe(0);
      expect(append(world, batchOf(['c']))).toMatchObject({ error: ErrorCode.KAFKA_STORAGE_ERROR });
      expect(read(world, { offset: 0 })).toEqual({ kind: 'error', error: ErrorCode.KAFKA_STORAGE_ERROR });
    }
  });
});

describe('flushing in the background', () => {
  it('by messages and by time moves the recovery point, while written counts as durable', () => {
    const world = opened({ flushMessages: 5, flushMs: 300 });
    for (let i = 0; i < 4; i++) append(world, batchOf(['a']));
    settleAll(world);
    expect([world.log.durable, recoveryPoint(world.log)]).toEqual([4, 0]);
    append(world, batchOf(['a']));
    settleAll(world);
    expect(recoveryPoint(world.log)).toBe(5);
    append(world, batchOf(['a']));
    settleAll(world);
    expect([recoveryPoint(world.log), logDeadlineMs(world.log)]).toEqual([5, world.nowMs + 300]);
    world.nowMs += 300;
    wakeLog(world.log, world.env, world.out, world.events);
    post(world);
    settleAll(world);
    expect(recoveryPoint(world.log)).toBe(6);
  });
});

it('holds nothing but plain data, which can be cloned and gone on with', () => {
  const world = opened();
  for (let i = 0; i < 50; i++) append(world, batchOf([`value ${i}`]));
  for (let i = 0; i < 20; i++) stepOnce(world);
  const clone: Log = structuredClone(world.log);
  expect(clone).toEqual(world.log);
  world.log = clone;
  settleAll(world);
  expect(world.log.durable).toBe(50);
  expect(readAll(world, 0)).toHaveLength(50);
});
