/** A log that follows: batches of a leader as they come, tails that are cut, logs that begin anew. */
import { describe, expect, it } from 'vitest';
import type { DiskEffect } from '../../core/lib/world.ts';
import {
  appendAsFollower,
  assignEpoch,
  checkLog,
  closeLog,
  deleteBelow,
  endOffsetForEpoch,
  latestEpoch,
  openLog,
  readLog,
  recoveryPoint,
  resetTo,
  truncateTo,
} from '../../core/log/log.ts';
import { offsetOf, SNAPSHOT_SUFFIX } from '../../core/log/names.ts';
import type { FollowerOutcome } from '../../core/log/types.ts';
import { appendParts } from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  append,
  batchOf,
  concat,
  createDice,
  createWorld,
  FOUND,
  type LogWorld,
  open,
  post,
  read,
  readAll,
  restart,
  settleAll,
  stepOnce,
  valuesOf,
} from './world.ts';

/** A batch as a leader has numbered it. */
function sent(base: number, epoch: number, values: readonly string[], options = {}): Uint8Array {
  return concat(appendParts(batchOf(values, options), base, epoch));
}

function follow(world: LogWorld, bytes: Uint8Array, leaderEpoch = 9): FollowerOutcome {
  const outcome = appendAsFollower(world.log, world.env, bytes, leaderEpoch, world.out);
  checkLog(world.log);
  post(world);
  return outcome;
}

function cut(world: LogWorld, offset: number): number {
  const isDone = truncateTo(world.log, world.env, offset, world.out);
  post(world);
  settleAll(world);
  const refused = world.events.find((event) => event.kind === 'cutRefused');
  if (!isDone && refused === undefined) {
    expect(world.events).toContainEqual({ kind: 'truncated', offset: world.log.end });
  }
  world.events.length = 0;
  if (refused?.kind !== 'cutRefused') return world.log.end;
  expect(refused.offset).toBeLessThan(offset);
  return cut(world, refused.offset);
}

function opened(config = {}): LogWorld {
  const world = createWorld(config);
  open(world);
  return world;
}

/** Ten batches of three records each, one leader epoch a batch: offsets 0 to 29. */
function tenBatches(config = {}): LogWorld {
  const world = opened(config);
  for (let i = 0; i < 10; i++) {
    const values = [0, 1, 2].map((j) => `${i * 3 + j}${'.'.repeat(100)}`);
    expect(follow(world, sent(i * 3, i, values, { timestampMs: 1000 + i }))).toMatchObject({ error: 0 });
  }
  settleAll(world);
  return world;
}

/** The offsets in the names of the files of `suffix`. */
function names(world: LogWorld, suffix: string): number[] {
  const all = [...world.disk.names.keys()].map((path) => offsetOf(path.slice(path.lastIndexOf('/') + 1), suffix));
  return all.filter((offset) => offset >= 0);
}

const texts = (world: LogWorld): string[] =>
  readAll(world, world.log.start).map(([, value]) => value.split('.')[0] ?? '');

describe('appendAsFollower', () => {
  it('keeps offsets, epochs and bytes as they came, in one write, and ends at the last whole batch', () => {
    const world = opened();
    const batches = [sent(0, 1, ['a', 'b']), sent(2, 1, ['c']), sent(3, 4, ['d', 'e'])];
    const torn = sent(5, 4, ['f']).subarray(0, 40);
    const bytes = concat([...batches, torn]);
    const outcome = follow(world, bytes);
    expect(outcome).toEqual({ error: 0, message: null, nextOffset: 5, usedBytes: bytes.length - 40 });
    const appends = world.disk.queue.filter((effect) => effect.kind === 'append');
    expect(appends).toHaveLength(1);
    settleAll(world);
    expect(world.log.durable).toBe(5);
    const outcomeRead = read(world, { offset: 0 });
    expect(outcomeRead.kind === 'batches' ? concat(outcomeRead.parts) : null).toEqual(concat(batches));
    expect(endOffsetForEpoch(world.log, 1)).toEqual({ leaderEpoch: 1, endOffset: 3 });
    expect(latestEpoch(world.log)).toBe(4);
  });

  it('rolls between the batches of one answer', () => {
    const world = opened({ segmentBytes: 700 });
    const parts = Array.from({ length: 12 }, (_, i) => sent(i, 0, ['x'.repeat(200)]));
    expect(follow(world, concat(parts))).toMatchObject({ error: 0, nextOffset: 12 });
    settleAll(world);
    expect(world.log.segments.length).toBeGreaterThan(3);
    expect(world.log.durable).toBe(12);
    restart(world, 'power');
    open(world);
    expect(readAll(world, 0)).toHaveLength(12);
  });

  it.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ['a batch with a broken checksum', (bytes) => bytes.with(bytes.length - 1, 99)],
    ['a batch that leaves a gap', () => sent(3, 1, ['c'])],
    ['a batch that goes back', () => sent(1, 1, ['c'])],
    ['a batch whose leader epoch falls', () => sent(2, 0, ['c'])],
    ['a batch whose leader epoch is above the leader’s', () => sent(2, 10, ['c'])],
    ['bytes that are no batch', () => new Uint8Array(80).fill(7)],
  ])('refuses %s and keeps what came before it', (_, spoil) => {
    const world = opened();
    const good = sent(0, 1, ['a', 'b']);
    const outcome = follow(world, concat([good, spoil(sent(2, 1, ['c']))]));
    expect(outcome).toMatchObject({ error: ErrorCode.CORRUPT_MESSAGE, nextOffset: 2, usedBytes: good.length });
    settleAll(world);
    expect(readAll(world, 0).map(([, value]) => value)).toEqual(['a', 'b']);
  });

  it('lets the recovery point pass an epoch only once its file holds it: a crash could not find it again', () => {
    const world = opened({ segmentBytes: 300 });
    world.disk.fault = (effect) => (effect.kind === 'replace' && effect.path.endsWith('checkpoint') ? 'noSpace' : null);
    for (let i = 0; i < 6; i++) follow(world, sent(i, i < 3 ? 1 : 2, ['x'.repeat(200)]));
    settleAll(world);
    expect(world.log.durable).toBe(6);
    expect(recoveryPoint(world.log)).toBe(0);
    world.disk.fault = () => null;
    follow(world, sent(6, 3, ['y']));
    settleAll(world);
    expect(recoveryPoint(world.log)).toBe(7);
  });

  it('says so when not even one batch is whole', () => {
    const world = opened();
    const outcome = follow(world, sent(0, 1, ['a']).subarray(0, 65));
    expect(outcome).toMatchObject({ error: ErrorCode.CORRUPT_MESSAGE, usedBytes: 0 });
  });

  it('refuses no producer, and knows its sequence when it comes to lead', () => {
    const world = opened();
    const of = (base: number, sequence: number) =>
      sent(base, 1, ['x'], { producerId: 5, producerEpoch: 0, baseSequence: sequence });
    expect(follow(world, concat([of(0, 0), of(1, 1), of(2, 7)]))).toMatchObject({ error: 0, nextOffset: 3 });
    settleAll(world);
    const mine = (baseSequence: number) => batchOf(['x'], { producerId: 5, producerEpoch: 0, baseSequence });
    expect(append(world, mine(7), 2)).toMatchObject({ error: 0, duplicate: true, baseOffset: 2 });
    expect(append(world, mine(9), 2)).toMatchObject({ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER });
    expect(append(world, mine(8), 2)).toMatchObject({ error: 0, baseOffset: 3 });
  });

  it('takes all of an answer back when the disk is full, producers too', () => {
    const world = opened();
    const of = (base: number, sequence: number) =>
      sent(base, 1, ['x'.repeat(100)], { producerId: 5, producerEpoch: 0, baseSequence: sequence });
    follow(world, of(0, 0));
    settleAll(world);
    world.disk.capacityBytes = 300;
    follow(world, concat([of(1, 1), of(2, 2)]));
    settleAll(world);
    expect(world.events).toContainEqual({ kind: 'cutBack', offset: 1 });
    expect(world.log.producers?.get(5)?.lastSequence).toBe(0);
    world.disk.capacityBytes = Infinity;
    expect(follow(world, concat([of(1, 1), of(2, 2)]))).toMatchObject({ error: 0, nextOffset: 3 });
    settleAll(world);
    expect(world.log.durable).toBe(3);
  });

  it('lets a follower of the leader read what is not synced yet, and never takes it for damage', () => {
    const world = opened({ ringBytesMax: 0 });
    follow(world, sent(0, 1, ['a']));
    settleAll(world);
    follow(world, sent(1, 1, ['b']));
    expect(world.log.durable).toBe(1);
    expect(valuesOf(read(world, { offset: 1 }))).toEqual([[1, 'b']]);
    // From a cold offset up to the end of the log, while the last append is still on its way.
    follow(world, sent(2, 1, ['c']));
    world.dice = () => 0.999;
    const outcome = readLog(world.log, world.env, { offset: 0, sizeBytesMax: 9999, upTo: 3, minOne: true }, world.out);
    expect(outcome.kind).toBe('pending');
    post(world);
    settleAll(world);
    expect(world.log.damaged).toEqual([]);
  });
});

describe('truncateTo', () => {
  it.each([30, 29, 28, 27, 26, 15, 12, 1, 0])('cuts at %i, memory and files alike', (offset) => {
    const configs = [
      {},
      { segmentBytes: 1200, indexIntervalBytes: 1 },
      { segmentBytes: 100_000, indexIntervalBytes: 1 },
    ];
    for (const config of configs) {
      const world = tenBatches({ ringBytesMax: 0, ...config });
      const end = cut(world, offset);
      expect(end).toBe(offset - (offset % 3));
      expect(world.log.durable).toBe(end);
      expect(texts(world)).toEqual(Array.from({ length: end }, (_, i) => String(i)));
      expect(latestEpoch(world.log)).toBe(end / 3 - 1);
      expect(follow(world, sent(end, 20, ['new']), 20)).toMatchObject({ error: 0, nextOffset: end + 1 });
      settleAll(world);
      restart(world, 'power');
      open(world, { recoveryPoint: end, highWatermark: end });
      expect(texts(world)).toEqual([...Array.from({ length: end }, (_, i) => String(i)), 'new']);
      expect(latestEpoch(world.log)).toBe(20);
    }
  });

  it('leaves indexes that a clean start believes and that lead readers right', () => {
    for (const offset of [29, 20, 12, 5]) {
      const world = tenBatches({ ringBytesMax: 0, segmentBytes: 1500, indexIntervalBytes: 1 });
      const end = cut(world, offset);
      for (let i = 0; i < 6; i++) follow(world, sent(end + i, 20, [`new${i}.`], { timestampMs: 500 + i }), 20);
      settleAll(world);
      const before = texts(world);
      closeLog(world.log, world.env, world.out);
      settleAll(world);
      restart(world, 'process');
      open(world, { clean: true, recoveryPoint: world.log.end, highWatermark: 0 });
      expect(texts(world)).toEqual(before);
      for (let at = 0; at < world.log.end; at++)
        expect(valuesOf(read(world, { offset: at })).length).toBeGreaterThan(0);
      expect(world.said.filter((effect) => effect.kind === 'say' && effect.level !== 'info')).toEqual([]);
    }
  });

  it('forgets an epoch under which nothing was appended, although no record goes (KAFKA-10706)', () => {
    const world = tenBatches();
    assignEpoch(world.log, 12, 30);
    expect(truncateTo(world.log, world.env, 30, world.out)).toBe(true);
    expect(latestEpoch(world.log)).toBe(9);
  });

  it('waits for what is under way, refuses appends meanwhile, and goes on serving', () => {
    const world = tenBatches();
    follow(world, sent(30, 10, ['late']), 10);
    expect(truncateTo(world.log, world.env, 27, world.out)).toBe(false);
    expect(follow(world, sent(31, 10, ['later']), 10)).toMatchObject({ error: ErrorCode.KAFKA_STORAGE_ERROR });
    expect(append(world, batchOf(['mine']), 11)).toMatchObject({ error: ErrorCode.KAFKA_STORAGE_ERROR });
    expect(valuesOf(read(world, { offset: 26, upTo: 27 }))[0]?.[0]).toBe(24);
    settleAll(world);
    expect(world.log.end).toBe(27);
    expect(follow(world, sent(27, 11, ['next']), 11)).toMatchObject({ error: 0, nextOffset: 28 });
  });

  it('is forgotten by a log that closes first', () => {
    const world = tenBatches();
    follow(world, sent(30, 10, ['late']), 10);
    truncateTo(world.log, world.env, 3, world.out);
    closeLog(world.log, world.env, world.out);
    settleAll(world);
    expect(world.events.at(-1)).toEqual({ kind: 'closed' });
    expect(world.log.end).toBe(31);
  });

  it('ends a read that looked beyond the cut, and lets one below it finish', () => {
    const world = tenBatches({ ringBytesMax: 0 });
    const ask = (offset: number, upTo: number) =>
      readLog(world.log, world.env, { offset, upTo, sizeBytesMax: 50, minOne: true }, world.out);
    truncateTo(world.log, world.env, 15, world.out);
    const beyond = ask(0, 30);
    const below = ask(0, 15);
    post(world);
    const held = world.disk.queue.filter((effect: DiskEffect) => effect.kind === 'read');
    world.disk.queue = world.disk.queue.filter((effect) => effect.kind !== 'read' || !held.includes(effect));
    while (world.log.truncation !== null && stepOnce(world));
    world.disk.queue.push(...held);
    settleAll(world);
    const done = new Map(world.events.flatMap((e) => (e.kind === 'readDone' ? [[e.ticket, e.outcome] as const] : [])));
    const [first, second] = [beyond, below].map((one) => (one.kind === 'pending' ? done.get(one.ticket) : undefined));
    expect(first).toEqual({ kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER });
    expect(second?.kind).toBe('batches');
  });

  it('knows of producers what is left, and of one that began in what went that it has written nothing', () => {
    const world = opened();
    const of = (id: number, base: number, sequence: number) =>
      sent(base, 1, ['x'], { producerId: id, producerEpoch: 0, baseSequence: sequence });
    for (let i = 0; i < 9; i++) follow(world, of(5, i, i));
    follow(world, of(6, 9, 0));
    settleAll(world);
    expect(cut(world, 7)).toBe(7);
    expect(world.log.producers?.get(5)).toMatchObject({ lastSequence: 6, knownRecords: 7 });
    expect(world.log.producers?.get(6)).toMatchObject({ lastSequence: -1, knownRecords: 0, batches: [] });
    expect(cut(world, 4)).toBe(4);
    expect(world.log.producers?.get(5)).toMatchObject({ lastSequence: 3, knownRecords: 4, batches: [] });
    const mine = batchOf(['x'], { producerId: 5, producerEpoch: 0, baseSequence: 4 });
    expect(append(world, mine, 2)).toMatchObject({ error: 0, duplicate: false, baseOffset: 4 });
    expect(cut(world, 0)).toBe(0);
    // What was sent first here comes first again, and nothing before it.
    expect(world.log.producers?.get(5)).toMatchObject({ lastSequence: 3, knownRecords: 0, batches: [] });
    expect(world.log.producers?.get(6)).toMatchObject({ lastSequence: -1, knownRecords: 0, batches: [] });
  });

  it('removes the snapshot that a clean stop left above the cut', () => {
    const world = tenBatches();
    closeLog(world.log, world.env, world.out);
    settleAll(world);
    restart(world, 'process');
    open(world, { clean: true, recoveryPoint: 30 });
    expect(names(world, SNAPSHOT_SUFFIX)).toContain(30);
    cut(world, 9);
    expect(names(world, SNAPSHOT_SUFFIX)).not.toContain(30);
  });

  it('cuts where damage begins when the cut lies within it', () => {
    const world = tenBatches({ ringBytesMax: 0, segmentBytes: 100_000 });
    const inode = [...world.disk.names].find(([path]) => path.endsWith('.log'))?.[1];
    if (inode === undefined) throw new Error('no log file');
    const size = inode.bytes.length / 10;
    inode.bytes = inode.bytes.map((byte, i) => (i > size * 4 + 70 && i < size * 4 + 90 ? byte ^ 0xff : byte));
    expect(read(world, { offset: 12 })).toEqual({ kind: 'error', error: ErrorCode.CORRUPT_MESSAGE });
    expect(world.log.damaged).toHaveLength(1);
    expect(cut(world, 13)).toBe(12);
    expect(world.log.damaged).toEqual([]);
    expect(texts(world)).toHaveLength(12);
  });

  it('begins anew below its first segment', () => {
    const world = tenBatches({ segmentBytes: 1200 });
    deleteBelow(world.log, 20, world.out, world.events);
    settleAll(world);
    expect(world.log.segments[0]?.base).toBeGreaterThan(3);
    expect(cut(world, 3)).toBe(3);
    expect(world.log).toMatchObject({ start: 3, end: 3, durable: 3, sizeBytes: 0 });
    expect(follow(world, sent(3, 20, ['new']), 20)).toMatchObject({ error: 0, nextOffset: 4 });
    settleAll(world);
    restart(world, 'power');
    open(world, { recoveryPoint: 3, highWatermark: 3, logStartOffset: 3 });
    expect(texts(world)).toEqual(['new']);
  });
});

describe('resetTo', () => {
  it.each([0, 12, 17, 30, 1000])('begins anew at %i', (offset) => {
    const world = tenBatches({ segmentBytes: 1200 });
    resetTo(world.log, world.env, offset, world.out);
    settleAll(world);
    expect(world.events).toContainEqual({ kind: 'truncated', offset });
    expect(world.log).toMatchObject({ start: offset, end: offset, durable: offset, sizeBytes: 0 });
    expect(latestEpoch(world.log)).toBe(-1);
    expect(recoveryPoint(world.log)).toBe(offset);
    expect(follow(world, sent(offset, 20, ['new']), 20)).toMatchObject({ error: 0 });
    settleAll(world);
    expect(world.log.durable).toBe(offset + 1);
    restart(world, 'power');
    open(world, { recoveryPoint: offset, highWatermark: offset, logStartOffset: offset });
    expect(texts(world)).toEqual(['new']);
  });

  it('takes a batch that begins below the new start and reaches above it', () => {
    const world = tenBatches({ segmentBytes: 1200 });
    resetTo(world.log, world.env, 101, world.out);
    settleAll(world);
    expect(follow(world, sent(99, 20, ['99', '100', '101', '102']), 20)).toMatchObject({ error: 0, nextOffset: 103 });
    settleAll(world);
    expect(world.log).toMatchObject({ start: 101, end: 103, durable: 103 });
    expect(valuesOf(read(world, { offset: 101 })).map(([, value]) => value)).toEqual(['99', '100', '101', '102']);
    restart(world, 'power');
    open(world, { recoveryPoint: 101, highWatermark: 101, logStartOffset: 101 });
    expect(world.log).toMatchObject({ start: 101, end: 103 });
  });

  it('does not come back by a power loss after a clean stop', () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = tenBatches({ segmentBytes: 1200 });
      world.dice = createDice(seed);
      resetTo(world.log, world.env, 14, world.out);
      settleAll(world);
      closeLog(world.log, world.env, world.out);
      settleAll(world);
      restart(world, 'power');
      openLog(world.log, world.env, { ...FOUND, clean: true, recoveryPoint: 14, logStartOffset: 14 }, world.out);
      settleAll(world);
      expect(world.log).toMatchObject({ start: 14, end: 14 });
    }
  });
});
