/** What the package offers to be run: npm makes it executable when it links it, and never again for the same folder. */
import { accessSync, constants, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Record<string, string> };

test.each(Object.entries(bin))('%s may be run as it was built', (_, path) => {
  expect(() => accessSync(path, constants.X_OK)).not.toThrow();
});
