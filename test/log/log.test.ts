/** The log's everyday: appends, group commit, rolls, reads, clean restarts, and what logs of a node share. */
import { describe, expect, it } from 'vitest';
import type { DiskEffect } from '../../core/lib/world.ts';
import { createSharedEpochs, withEpoch } from '../../core/log/epochs.ts';
import { closeLog, recoveryPoint } from '../../core/log/log.ts';
import {
  append,
  batchOf,
  createDice,
  createWorld,
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

function fill(world: LogWorld, from: number, count: number, leaderEpoch = 0): void {
  for (let i = from; i < from + count; i++) append(world, batchOf([`value ${i} ${'x'.repeat(i % 50)}`]), leaderEpoch);
}

function expected(from: number, count: number): [number, string][] {
  return Array.from({ length: count }, (_, i) => [from + i, `value ${from + i} ${'x'.repeat((from + i) % 50)}`]);
}

function close(world: LogWorld): void {
  closeLog(world.log, world.env, world.out);
  post(world);
  settleAll(world);
  expect(world.events.at(-1)).toEqual({ kind: 'closed' });
}

describe('an everyday log', () => {
  it('numbers records, makes them durable and gives them back', () => {
    const world = createWorld();
    open(world);
    expect(append(world, batchOf(['a', 'b']))).toMatchObject({ error: 0, baseOffset: 0, nextOffset: 2 });
    expect(append(world, batchOf(['c']))).toMatchObject({ error: 0, baseOffset: 2, nextOffset: 3 });
    expect(world.log.durable).toBe(0);
    settleAll(world);
    expect(world.log.durable).toBe(3);
    expect(valuesOf(read(world, { offset: 1 }))).toEqual([
      [0, 'a'],
      [1, 'b'],
      [2, 'c'],
    ]);
  });

  it('answers many appends with one sync and never has two under way for a file', () => {
    const world = createWorld();
    open(world);
    fill(world, 0, 1);
    fill(world, 1, 9);
    const syncs = () => world.disk.queue.filter((effect) => effect.kind === 'sync').length;
    expect(syncs()).toBe(1);
    while (world.log.durable === 0) stepOnce(world);
    expect(world.log.durable).toBe(1);
    expect(syncs()).toBe(1);
    settleAll(world);
    expect(world.log.durable).toBe(10);
    expect(world.disk.done.filter((effect) => effect.kind === 'sync')).toHaveLength(2);
  });

  it('reads what was written across segments, from memory and from files, in any step size', () => {
    const world = createWorld();
    open(world);
    fill(world, 0, 200);
    settleAll(world);
    expect(world.log.segments.length).toBeGreaterThan(3);
    expect(readAll(world, 0)).toEqual(expected(0, 200));
    expect(readAll(world, 77, 300)).toEqual(expected(77, 123));
    expect(readAll(world, 199)).toEqual(expected(199, 1));
    expect(world.reached).toContain('log.read.cold');
    expect(world.reached).toContain('log.roll.size');
  });

  it('opens after a clean stop without scanning more than the tail, and goes on', () => {
    const world = createWorld();
    open(world);
    fill(world, 0, 150);
    settleAll(world);
    close(world);
    const epochs = world.log.epochs;
    restart(world, 'power');
    world.disk.done.length = 0;
    open(world, { clean: true, recoveryPoint: 150, highWatermark: 150 });
    const bytesRead = world.disk.done.reduce((sum, effect) => sum + (effect.kind === 'read' ? effect.length : 0), 0);
    expect(bytesRead).toBeLessThan(1000);
    expect(world.log).toMatchObject({ end: 150, durable: 150, start: 0, epochs });
    fill(world, 150, 50);
    settleAll(world);
    expect(readAll(world, 0)).toEqual(expected(0, 200));
    expect(world.reached).not.toContain('log.index.rebuilt');
  });

  it('after a clean stop on a full disk looks into the batches for what the stop could not write', () => {
    const world = createWorld();
    open(world);
    fill(world, 0, 50);
    settleAll(world);
    // The file of leader epochs finds no room from now on.
    const isEpochs = (effect: DiskEffect): boolean => effect.kind === 'replace' && effect.path.endsWith('-checkpoint');
    world.disk.fault = (effect) => (isEpochs(effect) ? 'noSpace' : null);
    fill(world, 50, 100, 3);
    settleAll(world);
    close(world);
    const point = recoveryPoint(world.log);
    expect(point).toBe(50);
    restart(world, 'process');
    world.disk.fault = () => null;
    open(world, { clean: true, recoveryPoint: point, highWatermark: 150 });
    expect(world.log.epochs).toEqual([
      { epoch: 0, startOffset: 0 },
      { epoch: 3, startOffset: 50 },
    ]);
    expect(readAll(world, 0)).toEqual(expected(0, 150));
  });

  it('does not count a new segment as durable before the old one is synced and the new names are', () => {
    for (let seed = 0; seed < 30; seed++) {
      const world = createWorld({}, createDice(seed));
      open(world);
      fill(world, 0, 120);
      for (;;) {
        const before = world.log.durable;
        if (!stepOnce(world)) break;
        if (world.log.durable === before) continue;
        const power = structuredClone({ names: world.disk.durableNames });
        for (const segment of world.log.segments) {
          if (segment.base >= world.log.durable) continue;
          const path = `/data/orders-0/${String(segment.base).padStart(20, '0')}.log`;
          expect(power.names.has(path)).toBe(true);
        }
      }
      expect(world.log.durable).toBe(120);
      expect(recoveryPoint(world.log)).toBe(120);
    }
  });

  it('shares the list of epochs with another log of the node that begins the same one with nothing in it', () => {
    const shared = createSharedEpochs();
    const first = withEpoch(shared, [], 4, 0);
    expect(withEpoch(shared, [{ epoch: 3, startOffset: 0 }], 4, 0)).toBe(first);
    expect(withEpoch(shared, [], 5, 0)).toEqual([{ epoch: 5, startOffset: 0 }]);
    expect(first).toEqual([{ epoch: 4, startOffset: 0 }]);
    expect(withEpoch(createSharedEpochs(), [], 5, 0)).not.toBe(withEpoch(shared, [], 5, 0));
  });

  it('with flush off, counts what is written as durable and never syncs the active segment', () => {
    const world = createWorld({ flushMessages: Infinity, segmentBytes: 1 << 20 });
    open(world);
    fill(world, 0, 20);
    settleAll(world);
    expect(world.log.durable).toBe(20);
    expect(recoveryPoint(world.log)).toBe(0);
    expect(world.disk.done.some((effect) => effect.kind === 'sync')).toBe(false);
  });
});
