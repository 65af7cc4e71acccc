import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LOCK_FILE, type Locking, lockFolder } from '../../runtime-real/lock.ts';

describe('the lock of a data folder', () => {
  let folder: string;
  const file = (): string => path.join(folder, LOCK_FILE);
  const release = (locking: Locking, unused = false): void => {
    if (locking.kind === 'locked') locking.lock.release(unused);
  };

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-lock-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  test('is taken once, and again after its release', () => {
    const first = lockFolder(folder);
    expect(first.kind).toBe('locked');
    expect(lockFolder(folder)).toMatchObject({ kind: 'refused', reason: 'is in use by another node of this process' });
    expect(lockFolder(`${folder}/.`).kind).toBe('refused');
    release(first);
    const second = lockFolder(folder);
    expect(second.kind).toBe('locked');
    release(second);
  });

  test('of a live process is respected', () => {
    const parent = process.ppid;
    const stat = fs.existsSync(`/proc/${parent}/stat`) ? fs.readFileSync(`/proc/${parent}/stat`, 'utf8') : '';
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
    fs.writeFileSync(file(), JSON.stringify({ pid: parent, started }));
    expect(lockFolder(folder)).toMatchObject({ kind: 'refused', reason: `is in use by process ${parent}` });
  });

  test.each([
    ['a process that is gone', JSON.stringify({ pid: 2 ** 22 + 1, started: '5' })],
    ['a process whose number was used again', JSON.stringify({ pid: process.ppid, started: 'never' })],
    ['nobody', ''],
    ['nobody that can be read', '{"pid":'],
  ])('of %s is taken over', (_who, text) => {
    fs.writeFileSync(file(), text);
    const locking = lockFolder(folder);
    expect(locking.kind).toBe('locked');
    release(locking);
    expect(fs.readFileSync(file(), 'utf8')).toBe('');
  });

  test('is claimed before it is written: a claim is waited for, one that its maker never signed is taken away', () => {
    const claim = path.join(folder, '.lock.tidemark-claim');
    fs.writeFileSync(claim, String(process.ppid));
    expect(lockFolder(folder)).toMatchObject({ kind: 'refused', reason: 'is being taken by another process' });
    fs.writeFileSync(claim, '');
    const locking = lockFolder(folder);
    expect(locking.kind).toBe('locked');
    release(locking);
    expect(fs.readdirSync(folder)).toEqual([LOCK_FILE]);
  });

  test('that was not needed leaves the folder as it was', () => {
    release(lockFolder(folder), true);
    expect(fs.readdirSync(folder)).toEqual([]);
    fs.writeFileSync(file(), '');
    release(lockFolder(folder), true);
    expect(fs.readdirSync(folder)).toEqual([LOCK_FILE]);
  });

  test('cannot be had in a folder that is not there', () => {
    expect(lockFolder(path.join(folder, 'none'))).toMatchObject({ kind: 'refused' });
  });
});
