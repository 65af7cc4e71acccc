/** Every disk keeps every promise of `core/lib/world.ts`, or what is right in one world is wrong in another. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DiskEffect, type DiskInput, LOAD_BYTES_MAX } from '../../core/lib/world.ts';
import type { DiskUnderTest } from './world-under-test.ts';
import { WORLDS } from './worlds.ts';

/** An effect without the owner and ticket, which the suite adds. */
type Bare = DiskEffect extends infer E ? (E extends DiskEffect ? Omit<E, 'owner' | 'ticket'> : never) : never;

const OWNER = 7;

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function text(input: DiskInput | undefined): string {
  if (input?.kind !== 'read' && input?.kind !== 'loaded') return `not bytes but ${JSON.stringify(input)}`;
  return new TextDecoder().decode(input.bytes);
}

for (const world of WORLDS) {
  const { createDisk } = world;
  if (createDisk === undefined) continue;

  describe(`the ${world.name} disk`, () => {
    let disk: DiskUnderTest;
    let ticket = 0;

    beforeEach(async () => {
      disk = await createDisk();
      ticket = 0;
    });
    afterEach(() => disk.dispose());

    function issue(...effects: Bare[]): void {
      for (const effect of effects) disk.execute({ ...effect, owner: OWNER, ticket: ++ticket } as DiskEffect);
    }

    /** Carries out the effects in one outbox; their answers in the order of the effects. */
    async function run(...effects: Bare[]): Promise<DiskInput[]> {
      const first = ticket + 1;
      issue(...effects);
      const answers = await disk.settle();
      return effects.map((effect, index) => {
        const mine = answers.filter((answer) => answer.ticket === first + index);
        expect(mine.length, `answers to ${effect.kind}`).toBe(1);
        expect(mine[0]?.owner).toBe(OWNER);
        return mine[0] as DiskInput;
      });
    }

    async function kinds(...effects: Bare[]): Promise<string[]> {
      return (await run(...effects)).map((answer) => (answer.kind === 'diskFailed' ? answer.error : answer.kind));
    }

    const at = (name: string): string => `${disk.root}/${name}`;
    const open = (file: number, name: string, create = true): Bare => ({ kind: 'open', file, path: at(name), create });
    const append = (file: number, ...parts: string[]): Bare => ({ kind: 'append', file, parts: parts.map(bytes) });
    const read = (file: number, position: number, length: number): Bare => ({ kind: 'read', file, position, length });

    test('answers no effect before execute has returned, and every effect once', async () => {
      issue(open(1, 'a'), append(1, 'x'), { kind: 'sync', file: 1 });
      expect((await disk.settle()).map((answer) => answer.ticket).sort()).toEqual([1, 2, 3]);
      expect(await disk.settle()).toEqual([]);
    });

    test('appends may follow their open in one outbox, and land in order', async () => {
      expect(await kinds(open(1, 'a'), append(1, 'one ', 'two '), append(1, 'three'))).toEqual([
        'opened',
        'appended',
        'appended',
      ]);
      expect(text((await run(read(1, 0, 100)))[0])).toBe('one two three');
    });

    test('mutations of one file are answered in the order of their issue', async () => {
      issue(open(1, 'a'));
      for (let i = 0; i < 20; i++) issue(append(1, 'x'));
      issue({ kind: 'truncate', file: 1, size: 3 }, append(1, 'y'), { kind: 'closeFile', file: 1 });
      const order = (await disk.settle()).map((answer) => answer.ticket);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    });

    test('an open says how long the file is, and appends go to its end', async () => {
      await run(open(1, 'a'), append(1, 'abc'), { kind: 'closeFile', file: 1 });
      expect((await run(open(2, 'a', false)))[0]).toMatchObject({ kind: 'opened', sizeBytes: 3 });
      expect(text((await run(append(2, 'def'), read(2, 0, 9)))[1])).toMatch(/^abc/);
      expect(text((await run(read(2, 0, 9)))[0])).toBe('abcdef');
    });

    test('a missing file is not found without create, and its id stays closed', async () => {
      expect(await kinds(open(1, 'a', false), append(1, 'x'), read(1, 0, 1), { kind: 'sync', file: 1 })).toEqual([
        'notFound',
        'closed',
        'closed',
        'closed',
      ]);
      expect(await kinds({ kind: 'list', path: disk.root })).toEqual(['listed']);
      expect((await run({ kind: 'list', path: disk.root }))[0]).toMatchObject({ entries: [] });
    });

    test('a file in a missing folder cannot be created', async () => {
      expect(await kinds(open(1, 'folder/a'))).toEqual(['notFound']);
    });

    test('more parts than one system call takes are one append', async () => {
      const parts = Array.from({ length: 3000 }, (_, i) => String(i % 10));
      await run(open(1, 'a'), append(1, ...parts));
      expect(text((await run(read(1, 0, 10_000)))[0])).toBe(parts.join(''));
    });

    test('an append of nothing is answered', async () => {
      expect(await kinds(open(1, 'a'), append(1), append(1, ''), append(1, '', 'x', ''))).toEqual([
        'opened',
        'appended',
        'appended',
        'appended',
      ]);
      expect(text((await run(read(1, 0, 9)))[0])).toBe('x');
    });

    test('a read returns fewer bytes where the file ends, and none behind it', async () => {
      await run(open(1, 'a'), append(1, 'abcdef'));
      const [middle, end, behind] = await run(read(1, 2, 2), read(1, 4, 100), read(1, 50, 10));
      expect([middle, end, behind].map(text)).toEqual(['cd', 'ef', '']);
    });

    test('bytes that were read stay as they are when the file is cut and written again', async () => {
      await run(open(1, 'a'), append(1, 'abcdef'));
      const [held] = await run(read(1, 0, 6));
      await run({ kind: 'truncate', file: 1, size: 0 }, append(1, 'ABCDEF'));
      expect(text(held)).toBe('abcdef');
      expect(text((await run(read(1, 0, 6)))[0])).toBe('ABCDEF');
    });

    test('a truncate cuts, never grows, and appends go to the new end', async () => {
      await run(open(1, 'a'), append(1, 'abcdef'), { kind: 'truncate', file: 1, size: 2 }, append(1, 'X'));
      expect(text((await run(read(1, 0, 9)))[0])).toBe('abX');
      expect(await kinds({ kind: 'truncate', file: 1, size: 1000 })).toEqual(['changed']);
      expect(text((await run(read(1, 0, 9)))[0])).toBe('abX');
    });

    test('a read overtaken by a truncate is stale or saw the old bytes, never new ones', async () => {
      await run(open(1, 'a'), append(1, 'abcdef'));
      for (let round = 0; round < 20; round++) {
        await run({ kind: 'truncate', file: 1, size: 0 }, append(1, 'abcdef'));
        const [answer] = await run(read(1, 0, 6), { kind: 'truncate', file: 1, size: 3 }, append(1, 'XYZ'));
        if (answer?.kind === 'diskFailed') expect(answer.error).toBe('stale');
        else expect(text(answer)).toBe('abcdef');
      }
    });

    test('after a failed append the file is as before, and nothing lands until it is truncated', async () => {
      await run(open(1, 'a'), append(1, 'kept'));
      disk.failNext('append', 'noSpace');
      const failed = await run(append(1, 'lost ', 'lost'), append(1, 'piped'));
      expect(failed[0]).toMatchObject({ kind: 'diskFailed', during: 'append', error: 'noSpace' });
      expect(failed[1]).toMatchObject({ kind: 'diskFailed', during: 'append' });
      expect(await kinds(append(1, 'later'))).not.toEqual(['appended']);
      expect(text((await run(read(1, 0, 99)))[0])).toBe('kept');
      expect(await kinds({ kind: 'truncate', file: 1, size: 4 }, append(1, ' again'))).toEqual(['changed', 'appended']);
      expect(text((await run(read(1, 0, 99)))[0])).toBe('kept again');
    });

    test('a failed sync is an io error and harms no other file', async () => {
      await run(open(1, 'a'), open(2, 'b'), append(1, 'x'), append(2, 'y'));
      disk.failNext('sync', 'io');
      expect(await kinds({ kind: 'sync', file: 1 })).toEqual(['io']);
      expect(await kinds({ kind: 'sync', file: 2 })).toEqual(['synced']);
    });

    test('a failed read is an error, and the next one succeeds', async () => {
      await run(open(1, 'a'), append(1, 'abc'));
      disk.failNext('read', 'io');
      expect(await kinds(read(1, 0, 3))).toEqual(['io']);
      expect(text((await run(read(1, 0, 3)))[0])).toBe('abc');
    });

    test('a close waits for what was issued before it, and refuses what comes after', async () => {
      await run(open(1, 'a'), append(1, 'abc'));
      expect(
        await kinds(read(1, 0, 3), { kind: 'sync', file: 1 }, { kind: 'closeFile', file: 1 }, read(1, 0, 3)),
      ).toEqual(['read', 'synced', 'changed', 'closed']);
    });

    test('many files are synced at once, each answered', async () => {
      for (let i = 1; i <= 40; i++) issue(open(i, `f${i}`), append(i, 'x'), { kind: 'sync', file: i });
      const answers = await disk.settle();
      expect(answers.filter((answer) => answer.kind === 'synced').length).toBe(40);
    });

    test('replace puts a small file in place whole, and load reads it', async () => {
      const replace = (content: string): Bare => ({ kind: 'replace', path: at('c'), bytes: bytes(content) });
      expect(await kinds(replace('first'), replace('second'))).toEqual(['changed', 'changed']);
      expect(text((await run({ kind: 'load', path: at('c') }))[0])).toBe('second');
      expect((await run({ kind: 'list', path: disk.root }))[0]).toMatchObject({
        entries: [{ name: 'c', sizeBytes: 6 }],
      });
    });

    test('a failed replace leaves the old bytes and no other file', async () => {
      await run({ kind: 'replace', path: at('c'), bytes: bytes('old') });
      disk.failNext('replace', 'noSpace');
      expect(await kinds({ kind: 'replace', path: at('c'), bytes: bytes('new') })).toEqual(['noSpace']);
      expect(text((await run({ kind: 'load', path: at('c') }))[0])).toBe('old');
      const [listed] = await run({ kind: 'list', path: disk.root });
      expect(listed).toMatchObject({ entries: [{ name: 'c' }] });
    });

    test('a missing or too large file cannot be loaded', async () => {
      expect(await kinds({ kind: 'load', path: at('none') })).toEqual(['notFound']);
      await run(open(1, 'large'), { kind: 'append', file: 1, parts: [new Uint8Array(LOAD_BYTES_MAX), bytes('x')] });
      expect(await kinds({ kind: 'load', path: at('large') })).toEqual(['io']);
    });

    test('names change in the order of their issue', async () => {
      const steps: Bare[] = [
        { kind: 'makeFolder', path: at('d') },
        { kind: 'replace', path: at('d/a'), bytes: bytes('1') },
        { kind: 'rename', from: at('d/a'), to: at('d/b') },
        { kind: 'replace', path: at('d/a'), bytes: bytes('2') },
        { kind: 'rename', from: at('d'), to: at('e') },
        { kind: 'makeFolder', path: at('d') },
        { kind: 'replace', path: at('d/c'), bytes: bytes('3') },
        { kind: 'remove', path: at('e/a') },
      ];
      expect(await kinds(...steps)).toEqual(steps.map(() => 'changed'));
      expect(text((await run({ kind: 'load', path: at('e/b') }))[0])).toBe('1');
      expect(text((await run({ kind: 'load', path: at('d/c') }))[0])).toBe('3');
      expect(await kinds({ kind: 'load', path: at('e/a') })).toEqual(['notFound']);
    });

    test('a rename replaces a file, and a missing source is not found', async () => {
      await run({ kind: 'replace', path: at('a'), bytes: bytes('new') });
      await run({ kind: 'replace', path: at('b'), bytes: bytes('old') });
      expect(await kinds({ kind: 'rename', from: at('a'), to: at('b') })).toEqual(['changed']);
      expect(text((await run({ kind: 'load', path: at('b') }))[0])).toBe('new');
      expect(await kinds({ kind: 'rename', from: at('a'), to: at('b') })).toEqual(['notFound']);
    });

    test('an open file is followed through its rename', async () => {
      await run(open(1, 'a'), append(1, 'abc'));
      await run({ kind: 'rename', from: at('a'), to: at('b') });
      await run(append(1, 'def'), { kind: 'closeFile', file: 1 });
      expect(text((await run({ kind: 'load', path: at('b') }))[0])).toBe('abcdef');
    });

    test('remove takes a file, a folder with all in it, and no offence at nothing', async () => {
      await run({ kind: 'makeFolder', path: at('d') });
      await run(open(1, 'd/a'), append(1, 'x'), { kind: 'closeFile', file: 1 });
      expect(await kinds({ kind: 'remove', path: at('d') }, { kind: 'remove', path: at('none') })).toEqual([
        'changed',
        'changed',
      ]);
      expect(await kinds({ kind: 'list', path: at('d') })).toEqual(['notFound']);
    });

    test('making a folder that exists is no error, syncing a missing one is', async () => {
      expect(await kinds({ kind: 'makeFolder', path: at('d') })).toEqual(['changed']);
      expect(await kinds({ kind: 'makeFolder', path: at('d') })).toEqual(['changed']);
      expect(await kinds({ kind: 'syncFolder', path: at('d') })).toEqual(['changed']);
      expect(await kinds({ kind: 'syncFolder', path: at('none') })).toEqual(['notFound']);
    });

    test('list is sorted by name, with sizes, folders marked', async () => {
      await run({ kind: 'makeFolder', path: at('m') });
      await run(open(1, 'z'), append(1, 'abc'), open(2, 'B'), open(3, 'a10'), open(4, 'a2'));
      const [listed] = await run({ kind: 'list', path: disk.root });
      expect(listed).toMatchObject({
        kind: 'listed',
        entries: [
          { name: 'B', isFolder: false, sizeBytes: 0 },
          { name: 'a10', isFolder: false, sizeBytes: 0 },
          { name: 'a2', isFolder: false, sizeBytes: 0 },
          { name: 'm', isFolder: true, sizeBytes: 0 },
          { name: 'z', isFolder: false, sizeBytes: 3 },
        ],
      });
    });
  });
}
