/** A simulated disk that breaks its word: what is then on it, and what it says of that. */
import { expect, test } from 'vitest';
import type { DiskInput } from '../../core/lib/world.ts';
import { copyDisk, makeHonest, swapDisk } from '../../runtime-sim/disk/betrayal.ts';
import { crashDisk, rotDisk } from '../../runtime-sim/disk/disk.ts';
import { append, type Bare, bytes, open, type Rig, rig, settle, submit, sync, syncRoot, textOf } from './disk-rig.ts';

/** Submits one effect after the other, each once the one before is done; the answers. */
function run(to: Rig, ...effects: Bare[]): DiskInput[] {
  return effects.flatMap((effect) => {
    submit(to, effect);
    return settle(to);
  });
}

const read = (file: number, length: number): Bare => ({ kind: 'read', file, position: 0, length });
const replace = (path: string, text: string): Bare => ({ kind: 'replace', path, bytes: bytes(text) });

const SEEDS = Array.from({ length: 60 }, (_, seed) => seed);

test('an append that lands elsewhere leaves zeros, and is found in the other file', () => {
  const to = rig();
  run(to, open(1, '/a.log'), append(1, 'aaaa'), open(2, '/b.log'), append(2, 'bbbb'));
  to.disk.betrayals.append = { kind: 'misdirected', fits: /^\/b/ };
  run(to, append(1, 'AA'));
  expect(textOf(to, '/a.log')).toBe('aaaaAA');
  const [answer] = run(to, append(2, 'XY'));
  expect(answer?.kind).toBe('appended');
  expect(textOf(to, '/b.log')).toBe('XYbb\0\0');
  expect(to.disk.damages).toEqual([
    { kind: 'misdirected', path: '/b.log', position: 4 },
    { kind: 'misdirected', path: '/b.log', position: 0, of: '/b.log' },
  ]);
  run(to, append(2, 'ZZ'));
  expect(textOf(to, '/b.log')).toBe('XYbb\0\0ZZ');
});

test('a write that is lost is acknowledged, synced, and zeros', () => {
  const to = rig();
  run(to, open(1, '/a.log'), append(1, 'kept'));
  to.disk.betrayals.append = { kind: 'unwritten', fits: /./ };
  const kinds = run(to, append(1, 'gone'), sync(1)).map(({ kind }) => kind);
  expect(kinds).toEqual(['appended', 'synced']);
  expect(textOf(to, '/a.log')).toBe('kept\0\0\0\0');
  expect(to.disk.damages).toEqual([{ kind: 'unwritten', path: '/a.log', position: 4 }]);
});

test('a replacement that is lost leaves the former file, and a new file is never lost so', () => {
  const to = rig();
  to.disk.betrayals.replace = { kind: 'unwritten', fits: /./ };
  run(to, replace('/state', 'one'));
  expect(textOf(to, '/state')).toBe('one');
  const [answer] = run(to, replace('/state', 'two'));
  expect(answer?.kind).toBe('changed');
  expect(textOf(to, '/state')).toBe('one');
  run(to, replace('/state', 'three'));
  expect(textOf(to, '/state')).toBe('three');
});

test('a read that goes astray is as long as it should be, and the next one is right', () => {
  const wrong: string[] = [];
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a.log'), append(1, 'aaaaaaaa'), open(2, '/b.log'), append(2, 'bb'));
    to.disk.betrayals.read = { kind: 'misread', fits: /./ };
    const [first, second] = run(to, read(1, 8), read(1, 8));
    if (first?.kind !== 'read' || second?.kind !== 'read') throw new Error('a read failed');
    expect(first.bytes.length).toBe(8);
    expect(new TextDecoder().decode(second.bytes)).toBe('aaaaaaaa');
    wrong.push(new TextDecoder().decode(first.bytes));
    expect(to.disk.damages).toMatchObject([{ kind: 'misread', path: '/a.log', position: 0 }]);
  }
  expect(wrong.some((text) => text.startsWith('bb\0'))).toBe(true);
});

test('what was synced while the disk lied may be gone with the power, and only then it is a damage', () => {
  let gone = 0;
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a.log'), append(1, 'safe'), sync(1), syncRoot);
    to.disk.betrayals.isLying = true;
    expect(run(to, append(1, 'lied'), sync(1)).map(({ kind }) => kind)).toEqual(['appended', 'synced']);
    expect(to.disk.damages).toEqual([]);
    crashDisk(to.disk, to.dice, true);
    const left = textOf(to, '/a.log') ?? '';
    expect(left.startsWith('safe')).toBe(true);
    expect(to.disk.damages.length > 0).toBe(!left.startsWith('safelied'));
    if (to.disk.damages.length > 0) gone += 1;
  }
  expect(gone).toBeGreaterThan(10);
});

test('an honest sync makes durable what the disk had lied about', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a.log'), syncRoot);
    to.disk.betrayals.isLying = true;
    run(to, append(1, 'lied'), sync(1));
    makeHonest(to.disk);
    run(to, append(1, ' and not'), sync(1));
    crashDisk(to.disk, to.dice, true);
    expect(textOf(to, '/a.log')).toBe('lied and not');
    expect(to.disk.damages).toEqual([]);
  }
});

test('a process crash costs a lying disk nothing', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a.log'), syncRoot);
    to.disk.betrayals.isLying = true;
    run(to, append(1, 'lied'), sync(1));
    crashDisk(to.disk, to.dice, false);
    expect(textOf(to, '/a.log')).toBe('lied');
    expect(to.disk.damages).toEqual([]);
  }
});

test('a small file that was replaced while the disk lied may be the former one again', () => {
  let former = 0;
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, replace('/state', 'one'));
    to.disk.betrayals.isLying = true;
    run(to, replace('/state', 'two'));
    expect(textOf(to, '/state')).toBe('two');
    crashDisk(to.disk, to.dice, true);
    const left = textOf(to, '/state');
    if (left === 'one') former += 1;
    expect(to.disk.damages.length).toBe(left === 'one' ? 1 : 0);
  }
  expect(former).toBeGreaterThan(10);
});

test('what an honest disk has replaced since never comes back as it was in a lie', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, replace('/state', 'one'));
    to.disk.betrayals.isLying = true;
    run(to, replace('/state', 'two'));
    makeHonest(to.disk);
    run(to, replace('/state', 'three'));
    crashDisk(to.disk, to.dice, true);
    expect(textOf(to, '/state')).toBe('three');
    expect(to.disk.damages).toEqual([]);
  }
});

test('a disk is swapped for its copy, and the copy stays what it was', () => {
  const to = rig();
  run(to, open(1, '/a.log'), append(1, 'old'), { kind: 'makeFolder', path: '/f' }, replace('/f/state', 'one'));
  const copy = copyDisk(to.disk);
  run(to, append(1, ' and new'), replace('/f/state', 'two'));
  for (const file of [2, 3]) {
    crashDisk(to.disk, to.dice, true);
    swapDisk(to.disk, copy);
    expect(textOf(to, '/a.log')).toBe('old');
    expect(textOf(to, '/f/state')).toBe('one');
    expect(to.disk.usedBytes).toBe(6);
    run(to, open(file, '/a.log'), append(file, ' again'), replace('/f/state', 'three'));
    expect(textOf(to, '/a.log')).toBe('old again');
  }
});

test('what was wrong with a disk goes with it, and comes back with its copy', () => {
  const to = rig();
  run(to, open(1, '/a.log'), append(1, 'kept'), sync(1));
  to.disk.betrayals.append = { kind: 'unwritten', fits: /./ };
  run(to, append(1, 'gone'));
  expect(rotDisk(to.disk, to.dice, 5, () => true)).toBe(true);
  const copy = copyDisk(to.disk);
  const [damages, rot] = [[...to.disk.damages], [...to.disk.rot]];
  expect([damages.length, rot.length]).toEqual([2, 1]);
  to.disk.betrayals.append = { kind: 'misdirected', fits: /./ };
  crashDisk(to.disk, to.dice, true);
  swapDisk(to.disk, null);
  expect([to.disk.damages, to.disk.rot, to.disk.betrayals.append]).toEqual([[], [], null]);
  swapDisk(to.disk, copy);
  expect([to.disk.damages, to.disk.rot]).toEqual([damages, rot]);
  expect(to.disk.figures.bitsRotten).toBe(1);
});

test('what a swapped disk shows outlives a power loss, and an empty one has nothing', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a.log'), append(1, 'never synced'));
    const copy = copyDisk(to.disk);
    crashDisk(to.disk, to.dice, true);
    swapDisk(to.disk, copy);
    crashDisk(to.disk, to.dice, true);
    expect(textOf(to, '/a.log')).toBe('never synced');
    swapDisk(to.disk, null);
    expect(textOf(to, '/a.log')).toBeNull();
    expect(to.disk.usedBytes).toBe(0);
  }
});
