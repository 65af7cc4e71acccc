import { expect, test } from 'vitest';
import { run } from '../../tools/peers/process.ts';

const MEBIBYTES = (count: number) => [
  '-e',
  `for (let n = 0; n < ${count}; n++) process.stdout.write('x'.repeat(2 ** 20))`,
];

test('all that a program writes is given back', async () => {
  const { stdout } = await run(process.execPath, MEBIBYTES(3));
  expect(stdout.length).toBe(3 * 2 ** 20);
});

test('a program that writes more than is kept is refused, and not cut short', async () => {
  await expect(run(process.execPath, MEBIBYTES(65))).rejects.toThrow('use an outputFile');
});
