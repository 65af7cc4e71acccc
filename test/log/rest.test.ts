/** Logs at rest: what was closed is taken up again as a look into its folder would have found it. */
import { describe, expect, it } from 'vitest';
import { Reader } from '../../core/lib/cursor.ts';
import { Writer } from '../../core/lib/writer.ts';
import {
  assignEpoch,
  canRest,
  checkLog,
  closeLog,
  closeResting,
  createLog,
  deleteBelow,
  type Log,
  openRested,
  restBytesMax,
  writeRest,
} from '../../core/log/log.ts';
import { append, batchOf, createDice, createWorld, type LogWorld, open, readAll, restart, settleAll } from './world.ts';

/** What others may see of a log, and what decides about its next append. */
function shapeOf(log: Log): unknown {
  const { start, end, durable, sizeBytes, segments, producers } = log;
  const last = segments.at(-1);
  return {
    start,
    end,
    durable,
    sizeBytes,
    epochs: log.epochs.filter(({ startOffset }) => startOffset < end),
    segments: segments.map((one) => [
      one.base,
      one.sizeBytes,
      one.indexCount,
      one.timeCount,
      one.sealedAt,
      one.isOnDisk,
    ]),
    times: last && [last.firstTimestampMs, last.maxTimestampMs, last.maxTimestampOffset],
    sinceIndexBytes: last?.sinceIndexBytes,
    producers: producers && [...producers].map(([id, { usedAtMs: _, ...rest }]) => [id, rest]),
  };
}

function bytesOf(world: LogWorld): Uint8Array {
  const writer = new Writer(restBytesMax(world.log));
  writeRest(writer, world.log, world.env);
  expect(writer.position).toBeLessThanOrEqual(writer.end);
  return writer.bytes.slice(0, writer.position);
}

function wake(world: LogWorld, bytes: Uint8Array): boolean {
  const { owner, ids, topic, partition, folder, config } = world.log;
  world.log = createLog({ owner, ids, topic, partition, folder, config });
  const isOpen = openRested(world.log, world.env, new Reader(bytes));
  if (isOpen) checkLog(world.log);
  return isOpen;
}

function close(world: LogWorld): void {
  closeLog(world.log, world.env, world.out);
  settleAll(world);
  expect(world.log.state).toBe('closed');
}

/** Offsets of the snapshots in the folder, ascending. */
function snapshotsOf(world: LogWorld): number[] {
  const names = [...world.disk.names.keys()].filter((name) => name.endsWith('.snapshot'));
  return names.map((name) => Number(name.slice(name.lastIndexOf('/') + 1, -'.snapshot'.length))).sort((a, b) => a - b);
}

/** Some appends of some producers under some epochs, as the dice fall. */
function live(world: LogWorld, sequences: Map<number, number>): void {
  const { dice } = world;
  if (dice() < 0.5)
    assignEpoch(world.log, Math.max(0, ...world.log.epochs.map(({ epoch }) => epoch)) + 1, world.log.end);
  for (let left = Math.floor(dice() * 12); left > 0; left--) {
    const producerId = Math.floor(dice() * 4) - 1;
    const baseSequence = producerId < 0 ? -1 : (sequences.get(producerId) ?? 0);
    const values = Array.from({ length: 1 + Math.floor(dice() * 4) }, () => 'x'.repeat(Math.floor(dice() * 300)));
    const timestampMs = world.wallMs + Math.floor(dice() * 1000);
    const producer = producerId < 0 ? {} : { producerId, producerEpoch: 0, baseSequence };
    const epoch = world.log.epochs.at(-1)?.epoch ?? 0;
    expect(append(world, batchOf(values, { ...producer, timestampMs }), epoch).error).toBe(0);
    if (producerId >= 0) sequences.set(producerId, baseSequence + values.length);
    if (dice() < 0.3) settleAll(world);
  }
  settleAll(world);
  if (dice() < 0.2) deleteBelow(world.log, Math.floor(dice() * world.log.durable), world.out, world.events);
  settleAll(world);
}

describe('a log at rest', () => {
  it('is what a look into its folder would have found, life after life', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const world = createWorld({}, createDice(seed));
      const sequences = new Map<number, number>();
      open(world);
      for (let life = 0; life < 4; life++) {
        live(world, sequences);
        close(world);
        expect(canRest(world.log)).toBe(true);
        const bytes = bytesOf(world);
        const { end, start } = world.log;
        restart(world, 'process');
        open(world, { clean: true, recoveryPoint: end, highWatermark: end, logStartOffset: start });
        const looked = shapeOf(world.log);
        restart(world, 'process');
        expect(wake(world, bytes)).toBe(true);
        expect(shapeOf(world.log), `seed ${seed}`).toEqual(looked);
        expect(readAll(world, start).at(-1)?.[0] ?? start - 1).toBe(end - 1);
      }
    }
  });

  it('needs no disk to be closed again, and no memory for files that it does not have', () => {
    const world = createWorld();
    open(world);
    expect(world.log.segments).toEqual([]);
    assignEpoch(world.log, 7, 0);
    world.disk.done.length = 0;
    expect(closeResting(world.log)).toBe(true);
    expect(wake(world, bytesOf(world))).toBe(true);
    expect(world.log.segments).toEqual([]);
    expect(append(world, batchOf(['first'])).baseOffset).toBe(0);
    expect(closeResting(world.log)).toBe(false);
    settleAll(world);
    expect(closeResting(world.log)).toBe(false);
    close(world);
    expect(wake(world, bytesOf(world))).toBe(true);
    expect(readAll(world, 0)).toEqual([[0, 'first']]);
  });

  it('leaves one snapshot beside those at the heads of its segments, however often it was closed and taken up', () => {
    const world = createWorld();
    open(world);
    for (let life = 0; life < 30; life++) {
      for (let count = life % 4; count >= 0; count--) append(world, batchOf([`${life}`.padEnd(500)]));
      settleAll(world);
      expect(world.log.state).toBe('open');
      close(world);
      const offsets = new Set([
        ...world.log.segments.map(({ base }) => base).filter((base) => base > 0),
        world.log.end,
      ]);
      expect(snapshotsOf(world), `life ${life}`).toEqual([...offsets].sort((a, b) => a - b));
      expect(wake(world, bytesOf(world))).toBe(true);
    }
    expect(world.log.segments.length).toBeGreaterThan(3);
  });

  it('forgets what it was to read ahead', () => {
    const world = createWorld();
    open(world);
    world.log.aheads = [];
    expect(closeResting(world.log)).toBe(true);
    expect(world.log.aheads).toBe(null);
  });

  it('whose file has another size is not appended to: the log fails', () => {
    const world = createWorld();
    open(world);
    append(world, batchOf(['first']));
    settleAll(world);
    close(world);
    expect(wake(world, bytesOf(world))).toBe(true);
    const inode = world.disk.names.get('/data/orders-0/00000000000000000000.log');
    if (inode !== undefined) inode.bytes = inode.bytes.slice(0, 10);
    append(world, batchOf(['second']));
    settleAll(world);
    expect(world.events).toContainEqual(expect.objectContaining({ kind: 'failed' }));
  });

  it('with damage, or an index that was given up, does not rest', () => {
    const world = createWorld();
    open(world);
    append(world, batchOf(['first']));
    settleAll(world);
    close(world);
    const [segment] = world.log.segments;
    if (segment === undefined) throw new Error('there is a segment');
    segment.isIndexBroken = true;
    expect(canRest(world.log)).toBe(false);
    segment.isIndexBroken = false;
    world.log.damaged = [{ start: 0, end: 1, segment: 0, position: 0, positionEnd: 1 }];
    expect(canRest(world.log)).toBe(false);
  });
});
