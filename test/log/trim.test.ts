/** A log that is cut at its head, and batches of our own making. */
import { describe, expect, it } from 'vitest';
import { appendOwn, deleteBelow, latestEpoch, readLog, recoveryPoint, rollLog } from '../../core/log/log.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { batchOf, createWorld, FOUND, type LogWorld, open, post, readAll, restart, settleAll } from './world.ts';

function filled(count = 40): LogWorld {
  const world = createWorld({ segmentBytes: 800 });
  open(world);
  for (let i = 0; i < count; i++) {
    appendOwn(world.log, world.env, batchOf([`value ${i} ${'x'.repeat(60)}`]), i < 10 ? 1 : 2, world.out);
  }
  post(world);
  settleAll(world);
  world.events.length = 0;
  return world;
}

function cut(world: LogWorld, offset: number): void {
  deleteBelow(world.log, offset, world.out, world.events);
  post(world);
}

describe('a log that is cut below an offset', () => {
  it('loses whole segments only, and with them their files', () => {
    const world = filled();
    const bases = world.log.segments.map((segment) => segment.base);
    expect(bases.length).toBeGreaterThan(4);
    const offset = (bases[2] as number) + 1;
    cut(world, offset);
    settleAll(world);
    expect(world.log.start).toBe(offset);
    expect(world.log.segments.map((segment) => segment.base)).toEqual(bases.slice(2));
    const stem = String(bases[1]).padStart(20, '0');
    expect([...world.disk.names.keys()].filter((path) => path.includes(stem))).toEqual([]);
    expect(readAll(world, offset)).toHaveLength(40 - offset);
    expect(readLog(world.log, world.env, { offset: 0, sizeBytesMax: 1, upTo: 40, minOne: true }, world.out)).toEqual({
      kind: 'error',
      error: ErrorCode.OFFSET_OUT_OF_RANGE,
    });
  });

  it('keeps the active segment, and never goes back', () => {
    const world = filled();
    cut(world, 40);
    settleAll(world);
    expect(world.log.segments).toHaveLength(1);
    cut(world, 3);
    expect(world.log.start).toBe(40);
  });

  it('has no recovery point above what is durable while files are being removed', () => {
    const world = filled();
    cut(world, 30);
    const held = world.disk.queue.filter(({ kind }) => kind === 'remove');
    expect(held.length).toBeGreaterThan(0);
    const others = world.disk.queue.filter(({ kind }) => kind !== 'remove');
    world.disk.queue.splice(0, Number.POSITIVE_INFINITY, ...others);
    appendOwn(world.log, world.env, batchOf(['later']), 2, world.out);
    settleAll(world);
    expect([world.log.durable, recoveryPoint(world.log)]).toEqual([40, 40]);
    world.disk.queue.push(...held);
    settleAll(world);
    expect([world.log.durable, recoveryPoint(world.log)]).toEqual([41, 41]);
  });

  it('knows the epoch of its first record, and where it begins now', () => {
    const world = filled();
    cut(world, 20);
    expect(world.log.epochs).toEqual([{ epoch: 2, startOffset: 20 }]);
    expect(latestEpoch(world.log)).toBe(2);
  });

  it('tells a reader of what is gone that it is', () => {
    const world = filled();
    const request = { offset: 0, sizeBytesMax: 100, upTo: 40, minOne: true };
    const outcome = readLog(world.log, world.env, request, world.out);
    expect(outcome.kind).toBe('pending');
    post(world);
    cut(world, 30);
    settleAll(world);
    const outcomes = world.events.filter((event) => event.kind === 'readDone');
    expect(outcomes).toMatchObject([{ outcome: { kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE } }]);
  });

  it('goes on taking appends and stands after a crash, when its owner says where it starts', () => {
    for (const how of ['process', 'power'] as const) {
      const world = filled();
      cut(world, 30);
      appendOwn(world.log, world.env, batchOf(['after']), 2, world.out);
      post(world);
      settleAll(world);
      expect(world.log.durable).toBe(41);
      restart(world, how);
      open(world, { ...FOUND, recoveryPoint: 30, highWatermark: 30, logStartOffset: 30 });
      expect([world.log.start, world.log.end]).toEqual([30, 41]);
      expect(readAll(world, 30)).toHaveLength(11);
      expect(world.log.damaged).toEqual([]);
    }
  });
});

describe('segments below the start that a power loss brought back', () => {
  it('are no gap and no damage: what lies behind them stays', () => {
    const world = filled();
    const second = world.log.segments[1]?.base ?? 0;
    const back = [...world.disk.names].filter(([path]) => path.includes(String(second).padStart(20, '0')));
    expect(back).toHaveLength(4); // Log, two indexes, producers.
    cut(world, 30);
    appendOwn(world.log, world.env, batchOf(['after']), 2, world.out);
    post(world);
    settleAll(world);
    restart(world, 'process');
    for (const [path, inode] of back) world.disk.names.set(path, inode);
    open(world, { ...FOUND, highWatermark: 30, logStartOffset: 30 });
    expect([world.log.start, world.log.end]).toEqual([30, 41]);
    expect(readAll(world, 30)).toHaveLength(11);
    expect(world.log.damaged).toEqual([]);
    cut(world, 31);
    settleAll(world);
    expect(world.log.segments[0]?.base).toBeGreaterThan(second);
  });
});

describe('a roll on request', () => {
  it('ends the active segment where the log ends, unless it is empty', () => {
    const world = filled(5);
    rollLog(world.log, world.env, world.out);
    post(world);
    settleAll(world);
    const count = world.log.segments.length;
    expect(world.log.segments.at(-1)?.base).toBe(5);
    rollLog(world.log, world.env, world.out);
    expect(world.log.segments).toHaveLength(count);
    cut(world, 5);
    settleAll(world);
    expect(world.log.segments).toHaveLength(1);
    expect(world.log.sizeBytes).toBe(0);
  });
});
