/** Who must be served when all is well, and who may have given up. */
import { expect, test } from 'vitest';
import type { Send } from '../../core/verify/history.ts';
import { judgeService } from '../../core/verify/service.ts';

function send(fields: Partial<Send> = {}): Send {
  const asked = { producer: 0, partition: 0, value: 7, acks: -1, isIdempotent: true, patienceMs: 2_000 } as const;
  return { ...asked, sentUs: 50, doneUs: 60, outcome: 'failed', offset: -1, error: 7, ...fields };
}

const SERVICE = { fromUs: 10, leastMs: 1_000, isOwed: (partition: number) => partition === 0 };

test('a send that came to nothing when all was well is told', () => {
  expect(judgeService([send()], SERVICE)).toMatchObject({ checker: 'not-served', partition: 0 });
  expect(judgeService([send({ outcome: 'unknown' })], SERVICE)).not.toBeNull();
});

test.each([
  ['one that was acknowledged', { outcome: 'acknowledged' }],
  ['one that was made before', { sentUs: 9 }],
  ['one to what is not owed', { partition: 1 }],
  ['one that had less time than it takes', { patienceMs: 999 }],
] as const)('not %s', (_, fields) => {
  expect(judgeService([send(fields)], SERVICE)).toBeNull();
});
