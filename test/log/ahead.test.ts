/** Ranges that are read ahead of a reader: taken once, right to the last byte, and gone when nobody wants them. */
import { describe, expect, it } from 'vitest';
import { AHEAD_IDLE_MS, AHEADS_MAX } from '../../core/log/ahead.ts';
import { aheadBytes, deleteBelow, logDeadlineMs, readAhead, readLog, wakeLog } from '../../core/log/log.ts';
import type { ReadOutcome } from '../../core/log/types.ts';
import {
  append,
  batchOf,
  createDice,
  createWorld,
  type LogWorld,
  open,
  post,
  read,
  settleAll,
  valuesOf,
} from './world.ts';

const COUNT = 120;
const LIMITS = { sizeBytesMax: 600, minOne: true };

/** One record a batch; nothing of it is in memory but the last few. */
function filled(seed = 0): LogWorld {
  const world = createWorld({ ringBytesMax: 200 }, createDice(seed));
  open(world);
  for (let i = 0; i < COUNT; i++) append(world, batchOf([`value ${i} ${'x'.repeat(40 + (i % 7) * 20)}`]));
  settleAll(world);
  world.events.length = 0;
  world.disk.done.length = 0;
  return world;
}

function ahead(world: LogWorld, offset: number, sizeBytesMax = LIMITS.sizeBytesMax): void {
  readAhead(world.log, world.env, { offset, sizeBytesMax, upTo: world.log.durable }, world.out);
  post(world);
}

function goesOnAt(outcome: ReadOutcome): number {
  return outcome.kind === 'batches' ? (outcome.goesOnAt ?? -1) : -1;
}

function ask(world: LogWorld, offset: number, sizeBytesMax = LIMITS.sizeBytesMax): ReadOutcome {
  return readLog(world.log, world.env, { offset, sizeBytesMax, upTo: world.log.durable, minOne: true }, world.out);
}

describe('a reader of files', () => {
  it('is known to read in sequence by its second read', () => {
    const world = filled();
    const first = read(world, { offset: 0, ...LIMITS });
    expect(goesOnAt(first)).toBe(-1);
    const next = valuesOf(first).length;
    const second = read(world, { offset: next, ...LIMITS });
    expect(goesOnAt(second)).toBe(next + valuesOf(second).length);
  });

  it('gets what was read ahead at once, and only once', () => {
    const world = filled();
    const plain = valuesOf(read(world, { offset: 5, ...LIMITS }));
    ahead(world, 5);
    settleAll(world);
    expect(world.events.filter(({ kind }) => kind === 'readDone')).toHaveLength(1);
    expect(aheadBytes(world.log)).toBe(LIMITS.sizeBytesMax);
    const reads = world.disk.done.length;
    expect(valuesOf(ask(world, 5))).toEqual(plain);
    expect(world.disk.done.length).toBe(reads);
    expect(world.reached).toContain('log.read.ahead');
    expect(aheadBytes(world.log)).toBe(0);
    expect(ask(world, 5).kind).toBe('pending');
  });

  it('takes over a read that is under way, with limits of its own', () => {
    const world = filled();
    ahead(world, 5, 1000);
    const values = valuesOf(read(world, { offset: 5, sizeBytesMax: 1, minOne: true }));
    expect(values.map(([offset]) => offset)).toEqual([5]);
    expect(world.reached).toContain('log.read.ahead_under_way');
  });

  it('that asks for less than was read ahead gets less', () => {
    const world = filled();
    ahead(world, 5, 1000);
    settleAll(world);
    expect(ask(world, 5, 300).kind).toBe('pending');
    settleAll(world);
    const [event] = world.events;
    expect(event?.kind === 'readDone' && event.outcome.kind === 'batches' && event.outcome.sizeBytes).toBeLessThan(301);
  });

  it('reads the same with as without, whatever its limits and whoever reads beside it', () => {
    for (let seed = 0; seed < 25; seed++) {
      const dice = createDice(seed);
      const world = filled(seed);
      const places = [0, Math.floor(dice() * COUNT)];
      const seen: [number, string][][] = [[], []];
      while (places.some((place) => place < COUNT)) {
        const reader = dice() < 0.5 ? 0 : 1;
        const offset = places[reader] ?? COUNT;
        if (offset >= COUNT) continue;
        const outcome = read(world, { offset, sizeBytesMax: Math.floor(dice() * 900), minOne: true });
        const values = valuesOf(outcome).filter(([at]) => at >= offset);
        seen[reader]?.push(...values);
        places[reader] = offset + values.length;
        if (goesOnAt(outcome) >= 0) ahead(world, goesOnAt(outcome), 100 + Math.floor(dice() * 900));
        if (dice() < 0.3) settleAll(world);
      }
      for (const values of seen)
        expect(values.map(([at]) => at)).toEqual(values.map((_, i) => COUNT - values.length + i));
      expect(seen[0]).toHaveLength(COUNT);
      for (const [at, value] of seen.flat()) expect(value.startsWith(`value ${at} `)).toBe(true);
    }
  });
});

describe('what was read ahead', () => {
  it('goes when nobody takes it', () => {
    const world = filled();
    ahead(world, 5);
    settleAll(world);
    expect(logDeadlineMs(world.log)).toBe(world.nowMs + AHEAD_IDLE_MS);
    world.nowMs += AHEAD_IDLE_MS;
    wakeLog(world.log, world.env, world.out, world.events);
    expect([aheadBytes(world.log), logDeadlineMs(world.log)]).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  it('is little, and the newest', () => {
    const world = filled();
    for (let i = 0; i < AHEADS_MAX + 2; i++) ahead(world, i * 5);
    settleAll(world);
    expect(world.log.aheads?.map(({ offset }) => offset)).toEqual([10, 15, 20, 25]);
    expect(aheadBytes(world.log)).toBe(AHEADS_MAX * LIMITS.sizeBytesMax);
  });

  it('goes with the head of the log, even while it is being read', () => {
    const world = filled();
    ahead(world, 5);
    settleAll(world);
    ahead(world, 10);
    deleteBelow(world.log, 60, world.out, world.events);
    post(world);
    expect(world.log.aheads).toBe(null);
    settleAll(world);
    expect(world.events.filter(({ kind }) => kind === 'readDone').length).toBeLessThan(2);
  });

  it('is not kept where a batch is damaged: its reader is told', () => {
    const world = filled();
    read(world, { offset: 0, ...LIMITS });
    const path = `/data/orders-0/${'0'.repeat(20)}.log`;
    const file = world.disk.names.get(path);
    if (file === undefined) throw new Error('the log has no file');
    file.bytes[100] = (file.bytes[100] ?? 0) ^ 1;
    ahead(world, 0);
    settleAll(world);
    expect(world.log.aheads).toBe(null);
    expect(read(world, { offset: 0, ...LIMITS })).toMatchObject({ kind: 'error' });
  });
});
