/** Buffers that the disk lends for large reads: used again once sent, and never before. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { DiskInput } from '../../core/lib/world.ts';
import { createDisk } from '../../runtime-real/disk/disk.ts';
import { createLoans, LOAN_BYTES_MAX, LOAN_BYTES_MIN, SPARE_BYTES_MAX } from '../../runtime-real/disk/loans.ts';

test('what was sent is lent again, what was not stays as it is', () => {
  const loans = createLoans();
  const first = loans.borrow(LOAN_BYTES_MIN);
  const second = loans.borrow(LOAN_BYTES_MIN);
  loans.giveBack([new Uint8Array(8), first.subarray(100, 200)]);
  expect(loans.borrow(LOAN_BYTES_MIN).buffer).toBe(first.buffer);
  const third = loans.borrow(LOAN_BYTES_MIN);
  expect(third.buffer).not.toBe(first.buffer);
  expect(third.buffer).not.toBe(second.buffer);
});

test('a buffer that two parts share is taken back once', () => {
  const loans = createLoans();
  const bytes = loans.borrow(LOAN_BYTES_MIN + 1);
  loans.giveBack([bytes.subarray(0, 10), bytes.subarray(10, 20)]);
  loans.giveBack([bytes]);
  const one = loans.borrow(LOAN_BYTES_MIN + 1);
  const other = loans.borrow(LOAN_BYTES_MIN + 1);
  expect(one.length).toBe(LOAN_BYTES_MIN + 1);
  expect(one.buffer).not.toBe(other.buffer);
});

test('spare buffers are bounded', () => {
  const loans = createLoans();
  const count = SPARE_BYTES_MAX / LOAN_BYTES_MAX;
  const lent = Array.from({ length: count + 2 }, () => loans.borrow(LOAN_BYTES_MAX));
  loans.giveBack(lent);
  const again = new Set(Array.from({ length: count + 2 }, () => loans.borrow(LOAN_BYTES_MAX).buffer));
  expect(lent.filter(({ buffer }) => again.has(buffer)).length).toBe(count);
});

test('the disk lends for large reads that may be, and takes back itself what nobody gets', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-loans-'));
  const answers: DiskInput[] = [];
  const lent: ArrayBufferLike[] = [];
  const loans = createLoans();
  const noted = {
    ...loans,
    borrow: (length: number): Buffer => {
      const bytes = loans.borrow(length);
      lent.push(bytes.buffer);
      return bytes;
    },
  };
  const disk = createDisk((input) => answers.push(input), undefined, noted);
  const asked = { owner: 1, file: 1, position: 0 };
  disk.execute({ kind: 'open', file: 1, path: `${folder}/a`, create: true, owner: 1, ticket: 1 });
  disk.execute({ kind: 'append', file: 1, parts: [Buffer.alloc(LOAN_BYTES_MIN * 2, 7)], owner: 1, ticket: 2 });
  disk.execute({ kind: 'read', length: LOAN_BYTES_MIN, isLent: true, ticket: 3, ...asked });
  disk.execute({ kind: 'read', length: LOAN_BYTES_MIN, ticket: 4, ...asked });
  disk.execute({ kind: 'read', length: LOAN_BYTES_MIN - 1, isLent: true, ticket: 5, ...asked });
  disk.execute({ kind: 'truncate', file: 1, size: LOAN_BYTES_MIN, owner: 1, ticket: 6 });
  await disk.shut();
  fs.rmSync(folder, { recursive: true });
  expect(answers.filter(({ kind }) => kind === 'diskFailed').length).toBe(3);
  expect(lent.length).toBe(1);
  expect(loans.borrow(LOAN_BYTES_MIN).buffer).toBe(lent[0]);
});
