/** Bytes that are no longer what they were: bit rot, wrong indexes, missing and foreign files, broken snapshots. */
import { describe, expect, it } from 'vitest';
import { closeLog, openLog, truncateTo } from '../../core/log/log.ts';
import type { LogFound } from '../../core/log/types.ts';
import {
  append,
  batchOf,
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
  valuesOf,
} from './world.ts';

const BATCHES = 60;
const FOLDER = '/data/orders-0';

/** Sixty batches of one record in segments of about ten, all durable. */
function filled(config = {}): LogWorld {
  const world = createWorld({ segmentBytes: 1000, indexIntervalBytes: 150, ringBytesMax: 0, ...config });
  open(world);
  for (let i = 0; i < BATCHES; i++) {
    append(world, batchOf([`value ${i}`], { producerId: 5, producerEpoch: 0, baseSequence: i }));
    settleAll(world);
  }
  return world;
}

function path(offset: number, suffix: string): string {
  return `${FOLDER}/${String(offset).padStart(20, '0')}${suffix}`;
}

function stop(world: LogWorld): void {
  closeLog(world.log, world.env, world.out);
  post(world);
  settleAll(world);
}

/** What the log has said, without what it was about. */
function said(world: LogWorld): string[] {
  return world.said.flatMap((effect) => (effect.kind === 'say' ? [`${effect.level}: ${effect.text}`] : []));
}

const ALL: Partial<LogFound> = { recoveryPoint: BATCHES, highWatermark: BATCHES };

/** Where batch `offset` lies: the base of its segment and its position there. */
function place(world: LogWorld, offset: number): { base: number; position: number; size: number } {
  const segment = world.log.segments.findLast((one) => one.base <= offset && one.sizeBytes > 0);
  if (segment === undefined) throw new Error('no segment');
  const bytes = world.disk.names.get(path(segment.base, '.log'))?.bytes ?? new Uint8Array();
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (let at = 0; at < bytes.length; ) {
    const size = view.getInt32(at + 8) + 12;
    if (view.getUint32(at + 4) === offset) return { base: segment.base, position: at, size };
    at += size;
  }
  throw new Error('no such batch');
}

/** Changes one byte of batch `offset`, `at` bytes from its head. */
function rot(world: LogWorld, offset: number, at: number): void {
  const { base, position } = place(world, offset);
  const inode = world.disk.names.get(path(base, '.log'));
  if (inode === undefined) throw new Error('no file');
  inode.bytes = inode.bytes.slice();
  inode.bytes[position + at] = (inode.bytes[position + at] as number) ^ 0x41;
  inode.synced = inode.bytes;
}

function values(from: number, to: number): [number, string][] {
  return Array.from({ length: to - from }, (_, i) => [from + i, `value ${from + i}`]);
}

/** The whole log but for offset 33, which must be refused. */
function expectOnlyOneLost(world: LogWorld, lost: number): void {
  const before: [number, string][] = [];
  for (let next = 0; next < lost; ) {
    const some = valuesOf(read(world, { offset: next })).filter(([at]) => at >= next);
    before.push(...some);
    next = (some.at(-1)?.[0] ?? lost) + 1;
  }
  expect(before).toEqual(values(0, lost));
  expect(read(world, { offset: lost })).toEqual({ kind: 'error', error: 2 });
  expect(readAll(world, lost + 1)).toEqual(values(lost + 1, world.log.end));
  const errors = world.said.filter((effect) => effect.kind === 'say' && effect.level === 'error');
  expect(errors).toHaveLength(1);
}

describe('a batch that rots', () => {
  // Base offset, length, leader epoch (below what it was is impossible here), magic, checksum, attributes, count,
  // value.
  it.each([7, 11, 16, 17, 22, 60, 70])('is not served by a cold read after a clean stop: byte %i', (at) => {
    const world = filled();
    stop(world);
    rot(world, 33, at);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expectOnlyOneLost(world, 33);
  });

  it.each([7, 11, 16, 17, 22, 60, 70])('is kept out by recovery where it was synced, and never cut: byte %i', (at) => {
    const world = filled();
    rot(world, 33, at);
    const size = world.log.sizeBytes;
    restart(world, 'process');
    open(world, { recoveryPoint: 10, highWatermark: BATCHES });
    expect(world.log.damaged).toMatchObject([{ start: 33, end: 34 }]);
    expect(world.log.sizeBytes).toBe(size);
    expect(world.log.end).toBe(BATCHES);
    expectOnlyOneLost(world, 33);
    expect(world.reached).toContain('log.recovery.damage');
  });

  it('is a torn tail above what is known to be synced: the log is cut there', () => {
    const world = filled();
    rot(world, 33, 70);
    restart(world, 'process');
    open(world, { recoveryPoint: 10, highWatermark: 20 });
    expect(world.log).toMatchObject({ end: 33, durable: 33, damaged: [] });
    expect(readAll(world, 0)).toEqual(values(0, 33));
    expect(append(world, batchOf(['again']))).toMatchObject({ baseOffset: 33 });
    settleAll(world);
    restart(world, 'power');
    open(world, { recoveryPoint: 33, highWatermark: 33 });
    expect(world.log.end).toBe(34);
    expect(readAll(world, 33)).toEqual([[33, 'again']]);
  });

  it('at the very end, below the high watermark, does not give its offset out again', () => {
    const world = filled();
    rot(world, BATCHES - 1, 70);
    restart(world, 'process');
    open(world, { recoveryPoint: 10, highWatermark: BATCHES });
    expect(world.log.end).toBe(BATCHES);
    expect(append(world, batchOf(['next']))).toMatchObject({ baseOffset: BATCHES });
    settleAll(world);
    expect(read(world, { offset: BATCHES - 1 })).toEqual({ kind: 'error', error: 2 });
    expect(valuesOf(read(world, { offset: BATCHES }))).toEqual([[BATCHES, 'next']]);
    restart(world, 'power');
    open(world, { recoveryPoint: 10, highWatermark: BATCHES + 1 });
    expect(world.log.end).toBe(BATCHES + 1);
    expect(read(world, { offset: BATCHES - 1 })).toEqual({ kind: 'error', error: 2 });
    expect(valuesOf(read(world, { offset: BATCHES }))).toEqual([[BATCHES, 'next']]);
  });

  it('or a file that lost its end below the high watermark leaves a hole, not room for new records', () => {
    const world = filled();
    const last = world.log.segments.at(-1)?.base ?? 0;
    const { size } = place(world, last);
    restart(world, 'process');
    const inode = world.disk.names.get(path(last, '.log'));
    if (inode !== undefined) inode.bytes = inode.bytes.slice(0, size);
    open(world, { recoveryPoint: 10, highWatermark: BATCHES });
    expect(world.log.end).toBe(BATCHES);
    expect(world.log.damaged.at(-1)).toMatchObject({ end: BATCHES });
    expect(world.reached).toContain('log.recovery.lost_end');
  });
});

describe('wrong and missing files', () => {
  it('an index full of nonsense does not change what is read', () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = filled();
      stop(world);
      const dice = createDice(seed);
      for (const [name, inode] of world.disk.names) {
        if (name.endsWith('.index')) inode.bytes = inode.bytes.map(() => (dice() < 0.7 ? 0 : Math.floor(dice() * 256)));
      }
      restart(world, 'process');
      open(world, { ...ALL, clean: true });
      for (const offset of [59, 41, 33, 17, 5, 0])
        expect(valuesOf(read(world, { offset }))[0]?.[0]).toBeLessThanOrEqual(offset);
      expect(readAll(world, 0)).toEqual(values(0, BATCHES));
    }
  });

  it.each([
    ['before its head', 1, -1],
    ['behind its end', 1, 0x7fff_ffff],
    ['below its base', -5, 0],
  ])('an index that points out of its segment, %s, does not change where a log is cut', (_, relative, position) => {
    for (const offset of [57, 41, 33, 17, 5]) {
      const world = filled();
      stop(world);
      restart(world, 'process');
      open(world, { ...ALL, clean: true });
      for (const [name, inode] of world.disk.names) {
        if (!name.endsWith('.index')) continue;
        const view = new DataView(inode.bytes.buffer, inode.bytes.byteOffset, inode.bytes.length);
        for (let at = 0; at < inode.bytes.length; at += 8) {
          view.setInt32(at, relative);
          view.setInt32(at + 4, position);
        }
      }
      truncateTo(world.log, world.env, offset, world.out);
      settleAll(world);
      expect(world.log.end).toBe(offset);
      expect(readAll(world, 0)).toEqual(values(0, offset));
    }
  });

  it('an index that vanishes while the log is open, or reads that a truncate overtakes, change nothing', () => {
    const world = filled();
    stop(world);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    for (const name of [...world.disk.names.keys()]) if (name.endsWith('index')) world.disk.names.delete(name);
    let stale = 0;
    world.disk.fault = (effect) => (effect.kind === 'read' && stale++ % 3 === 0 ? 'stale' : null);
    expect(valuesOf(read(world, { offset: 5 }))[0]).toEqual([5, 'value 5']);
    expect(readAll(world, 0)).toEqual(values(0, BATCHES));
    expect(world.reached).toContain('log.read.stale');
  });

  it('a segment that vanishes while the log is open is an error for its readers alone', () => {
    const world = filled();
    stop(world);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    world.disk.names.delete(path(world.log.segments[1]?.base ?? 0, '.log'));
    expect(read(world, { offset: world.log.segments[1]?.base ?? 0 })).toEqual({ kind: 'error', error: 56 });
    expect(valuesOf(read(world, { offset: 0, sizeBytesMax: 1 }))).toEqual([[0, 'value 0']]);
  });

  it('missing and odd-sized indexes are built again after a clean stop', () => {
    const world = filled();
    stop(world);
    const before = new Map([...world.disk.names].map(([name, inode]) => [name, inode.bytes]));
    const bases = world.log.segments.map((segment) => segment.base);
    world.disk.names.delete(path(bases[1] ?? 0, '.index'));
    const odd = world.disk.names.get(path(bases[2] ?? 0, '.timeindex'));
    if (odd !== undefined) odd.bytes = new Uint8Array([...odd.bytes, 1, 2, 3]);
    const last = world.disk.names.get(path(bases.at(-1) ?? 0, '.index'));
    if (last !== undefined) last.bytes = last.bytes.map(() => 255);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expect(world.reached).toContain('log.index.rebuilt');
    expect(readAll(world, 0)).toEqual(values(0, BATCHES));
    for (const base of bases) {
      expect(world.disk.names.get(path(base, '.index'))?.bytes, `${base}`).toEqual(before.get(path(base, '.index')));
    }
  });

  it('a broken snapshot is removed and the producers are found in the batches', () => {
    const world = filled();
    stop(world);
    for (const [name, inode] of world.disk.names)
      if (name.endsWith('.snapshot')) inode.bytes = inode.bytes.map((b, i) => (i === 20 ? b ^ 1 : b));
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expect(world.reached).toContain('log.recovery.bad_snapshot');
    const again = batchOf(['value 57'], { producerId: 5, producerEpoch: 0, baseSequence: 57 });
    expect(append(world, again)).toMatchObject({ duplicate: true, baseOffset: 57 });
    expect(append(world, batchOf(['x'], { producerId: 5, producerEpoch: 0, baseSequence: 61 }))).toMatchObject({
      error: 45,
    });
  });

  it('leftovers, orphans and foreign names are cleared away or left alone', () => {
    const world = filled();
    stop(world);
    const file = () => ({ bytes: new Uint8Array(10), synced: new Uint8Array(10) });
    for (const name of [
      '00000000000000000007.index',
      '00000000000000000007.log.deleted',
      '00000000000000000003.log.cleaned',
    ]) {
      world.disk.names.set(`${FOLDER}/${name}`, file());
    }
    for (const name of ['partition.metadata', 'notes.log', '-0000000000000000001.log'])
      world.disk.names.set(`${FOLDER}/${name}`, file());
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    const names = [...world.disk.names.keys()];
    expect(names.filter((name) => /0007|0003\.log/.test(name))).toEqual([]);
    expect(names).toContain(`${FOLDER}/notes.log`);
    expect(readAll(world, 0)).toEqual(values(0, BATCHES));
  });

  it('a lost epoch checkpoint is built from the batches', () => {
    const world = filled();
    append(world, batchOf(['later']), 7);
    settleAll(world);
    stop(world);
    world.disk.names.delete(`${FOLDER}/leader-epoch-checkpoint`);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expect(world.log.epochs).toEqual([
      { epoch: 0, startOffset: 0 },
      { epoch: 7, startOffset: BATCHES },
    ]);
  });

  it('a stop that was not clean although it says so is recovered as a crash', () => {
    const world = filled();
    const last = world.log.segments.at(-1)?.base ?? 0;
    restart(world, 'process');
    const inode = world.disk.names.get(path(last, '.log'));
    if (inode !== undefined) inode.bytes = new Uint8Array([...inode.bytes, ...batchOf(['torn']).slice(0, 50)]);
    open(world, { ...ALL, clean: true });
    expect(world.reached).toContain('log.recovery.dirty_clean');
    expect(readAll(world, 0)).toEqual(values(0, BATCHES));
  });
});

describe('random bit rot', () => {
  it('never changes what is served, wherever it hits', () => {
    for (let seed = 0; seed < 60; seed++) {
      const dice = createDice(seed);
      const world = filled();
      const isClean = dice() < 0.5;
      if (isClean) stop(world);
      const files = [...world.disk.names].filter(([, inode]) => inode.bytes.length > 0);
      const [, inode] = files[Math.floor(dice() * files.length)] ?? [];
      if (inode === undefined) continue;
      inode.bytes = inode.bytes.slice();
      const at = Math.floor(dice() * inode.bytes.length);
      inode.bytes[at] = (inode.bytes[at] as number) ^ (1 << Math.floor(dice() * 8));
      restart(world, 'process');
      openLog(
        world.log,
        world.env,
        { ...FOUND, ...ALL, clean: isClean, recoveryPoint: isClean ? BATCHES : 20 },
        world.out,
      );
      settleAll(world);
      expect(world.log.state).toBe('open');
      let served = 0;
      for (let offset = 0; offset < BATCHES; offset++) {
        const outcome = read(world, { offset, sizeBytesMax: 1 });
        if (outcome.kind === 'error') continue;
        expect(valuesOf(outcome), `seed ${seed}`).toEqual([[offset, `value ${offset}`]]);
        served++;
      }
      expect(served, `seed ${seed}`).toBeGreaterThanOrEqual(BATCHES - 1);
    }
  });
});

describe('what is found is said, and nothing is removed for a number that cannot be right', () => {
  it.each([true, false])('a start behind the end is passed over (clean stop: %s)', (isClean) => {
    const world = filled();
    stop(world);
    restart(world, 'process');
    open(world, { ...ALL, clean: isClean, logStartOffset: 999_999 });
    expect([world.log.start, world.log.end]).toEqual([0, BATCHES]);
    expect(readAll(world, 0)).toHaveLength(BATCHES);
    expect(said(world)).toContain(
      'error: the log ends at offset 60 and is said to start at 999999: that is passed over',
    );
  });

  it.each([true, false])('a reset that a crash cut short is no error (clean stop: %s)', (isClean) => {
    const world = filled();
    stop(world);
    restart(world, 'process');
    open(world, { clean: isClean, recoveryPoint: 0, highWatermark: 0, logStartOffset: 70, wasReset: true });
    expect([world.log.start, world.log.end]).toEqual([0, BATCHES]);
    expect(readAll(world, 0)).toHaveLength(BATCHES);
    expect(said(world).filter((line) => line.startsWith('error'))).toEqual([]);
    expect(said(world).join('\n')).toContain('warn: the log ends at offset 60 and was to begin anew at 70');
  });

  it('a segment that was emptied is damage: a reader is told, not led past it', () => {
    const world = filled();
    stop(world);
    const second = world.log.segments[1]?.base ?? 0;
    const inode = world.disk.names.get(path(second, '.log'));
    if (inode !== undefined) inode.bytes = new Uint8Array();
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expect(read(world, { offset: second, sizeBytesMax: 1 })).toMatchObject({ kind: 'error' });
    expect(said(world).filter((line) => line.startsWith('error: damaged batch'))).toHaveLength(1);
  });

  it.each([
    ['.index', 'warn: an index is missing or not whole'],
    ['.snapshot', 'warn: a snapshot of producers cannot be read'],
    ['leader-epoch-checkpoint', 'warn: the leader epochs cannot be read'],
  ])('a broken file: %s', (suffix, line) => {
    const world = filled();
    stop(world);
    for (const [name, inode] of world.disk.names) if (name.endsWith(suffix)) inode.bytes = new Uint8Array([9, 9, 9]);
    restart(world, 'process');
    open(world, { ...ALL, clean: true });
    expect(said(world).some((one) => one.startsWith(line))).toBe(true);
    expect(readAll(world, 0)).toHaveLength(BATCHES);
  });
});
