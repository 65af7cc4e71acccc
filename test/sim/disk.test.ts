/** What a simulated disk keeps through a crash and through a power loss, and what it may lose. */
import { expect, test } from 'vitest';
import type { DiskInput } from '../../core/lib/world.ts';
import { crashDisk, rotDisk } from '../../runtime-sim/disk/disk.ts';
import { append, type Bare, bytes, open, type Rig, rig, settle, submit, sync, syncRoot, textOf } from './disk-rig.ts';

function run(to: Rig, ...effects: Bare[]): DiskInput[] {
  submit(to, ...effects);
  return settle(to);
}

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

test('a process crash keeps what was answered, in every seed', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), append(1, 'kept'));
    submit(to, append(1, ' perhaps'));
    crashDisk(to.disk, to.dice, false);
    expect(textOf(to, '/a')).toMatch(/^kept/);
  }
});

test('an append under way at a crash may be there, not there, or there in part', () => {
  const outcomes = new Set<string | null>();
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'));
    submit(to, append(1, 'abc'));
    crashDisk(to.disk, to.dice, false);
    outcomes.add(textOf(to, '/a'));
  }
  expect([...outcomes].sort()).toEqual(['', 'a', 'ab', 'abc']);
});

test('a power loss keeps to the byte what a sync has covered, and loses the rest in every possible way', () => {
  const outcomes = new Set<string>();
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), append(1, 'durable '), sync(1), syncRoot);
    run(to, append(1, 'cached'));
    crashDisk(to.disk, to.dice, true);
    const text = textOf(to, '/a') ?? '';
    expect(text.startsWith('durable ')).toBe(true);
    outcomes.add(text.slice(8));
  }
  expect(outcomes.has('')).toBe(true);
  expect(outcomes.has('cached')).toBe(true);
  expect(outcomes.has('\0\0\0\0\0\0')).toBe(true);
  expect([...outcomes].some((text) => /^cach?$/.test(text))).toBe(true);
});

test('sectors of one write are lost one by one', () => {
  const kinds = new Set<string>();
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), sync(1), syncRoot);
    run(to, append(1, 'x'.repeat(1_536)));
    crashDisk(to.disk, to.dice, true);
    const text = textOf(to, '/a') ?? '';
    if (text.length === 1_536) kinds.add([0, 512, 1_024].map((at) => (text[at] === 'x' ? '1' : '0')).join(''));
  }
  expect([...kinds].sort()).toEqual(['000', '001', '010', '011', '100', '101', '110', '111']);
});

test('bytes that a truncate cut off come back where neither was synced, and what replaced them may not', () => {
  const outcomes = new Set<string>();
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), append(1, 'old bytes'), sync(1), syncRoot);
    run(to, { kind: 'truncate', file: 1, size: 3 }, append(1, 'NEW'));
    crashDisk(to.disk, to.dice, true);
    outcomes.add(textOf(to, '/a') ?? '');
  }
  expect(outcomes.has('old bytes')).toBe(true);
  expect(outcomes.has('oldNEW')).toBe(true);
  expect([...outcomes].every((text) => text.startsWith('old'))).toBe(true);
});

test('a sync covers what was issued before it and not what came after', () => {
  let lost = 0;
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), syncRoot);
    run(to, append(1, 'before'), sync(1), append(1, ' after'));
    crashDisk(to.disk, to.dice, true);
    const text = textOf(to, '/a') ?? '';
    expect(text.startsWith('before')).toBe(true);
    if (!text.endsWith('after')) lost += 1;
  }
  expect(lost).toBeGreaterThan(50);
});

test('a name is durable only once its folder has been synced', () => {
  let lost = 0;
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/kept'), append(1, 'x'), sync(1), syncRoot);
    run(to, open(2, '/new'), append(2, 'y'), sync(2));
    crashDisk(to.disk, to.dice, true);
    expect(textOf(to, '/kept')).toBe('x');
    const text = textOf(to, '/new');
    if (text === null) lost += 1;
    else expect(text).toBe('y');
  }
  expect(lost).toBeGreaterThan(50);
});

test('a replace that was answered is there for good, one under way is whole or not there', () => {
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, { kind: 'replace', path: '/c', bytes: bytes('first') });
    submit(to, { kind: 'replace', path: '/c', bytes: bytes('second') });
    crashDisk(to.disk, to.dice, true);
    expect(['first', 'second']).toContain(textOf(to, '/c'));
  }
});

test('a full disk refuses an append whole, and takes it once there is space and the file was truncated', () => {
  const to = rig(1);
  run(to, open(1, '/a'), append(1, 'abc'));
  to.disk.mood.capacityBytes = 4;
  expect(run(to, append(1, 'de'))[0]).toMatchObject({ kind: 'diskFailed', error: 'noSpace' });
  to.disk.mood.capacityBytes = 100;
  expect(run(to, append(1, 'de'))[0]).toMatchObject({ kind: 'diskFailed' });
  expect(run(to, { kind: 'truncate', file: 1, size: 3 }, append(1, 'de')).map(({ kind }) => kind)).toEqual([
    'changed',
    'appended',
  ]);
  expect(textOf(to, '/a')).toBe('abcde');
  expect(to.disk.usedBytes).toBe(5);
});

test('rot flips one durable bit for good and says where', () => {
  const to = rig(2);
  run(to, open(1, '/a.log'), append(1, 'aaaaaaaa'), sync(1));
  expect(rotDisk(to.disk, to.dice, 5, (path) => path.endsWith('.log'))).toBe(true);
  const text = textOf(to, '/a.log') ?? '';
  expect(to.disk.rot).toMatchObject([{ path: '/a.log', sizeBytes: 8, atUs: 5 }]);
  const position = to.disk.rot[0]?.position ?? -1;
  expect(text[position]).not.toBe('a');
  expect(text.replaceAll('a', '')).toHaveLength(1);
  expect(rotDisk(to.disk, to.dice, 5, () => false)).toBe(false);
});

test('what a failed sync was about is lost for good, though later syncs succeed', () => {
  let lost = 0;
  for (const seed of SEEDS) {
    const to = rig(seed);
    run(to, open(1, '/a'), append(1, 'kept'), sync(1), syncRoot);
    to.disk.failNext.set('sync', 'io');
    expect(run(to, append(1, ' and gone'), sync(1)).at(-1)?.kind).toBe('diskFailed');
    expect(run(to, sync(1)).at(-1)?.kind).toBe('synced');
    crashDisk(to.disk, to.dice, true);
    const text = textOf(to, '/a') ?? '';
    expect(text.startsWith('kept')).toBe(true);
    if (text !== 'kept and gone') lost += 1;
    // A machine that has been off begins anew.
    run(to, open(2, '/a'), append(2, '!'), sync(2));
    const whole = textOf(to, '/a');
    crashDisk(to.disk, to.dice, true);
    expect(textOf(to, '/a')).toBe(whole);
  }
  expect(lost).toBeGreaterThan(100);
});
