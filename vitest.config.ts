import { defineConfig } from 'vitest/config';

/**
 * One project a lane: `unit` is `npm test`; the others need peers (Kafka's jars, other clients) and run in CI. What
 * drives programs of others tries a failed test once more, and says so: they may fail by themselves. What drives our own
 * alone does not: a promise that was broken once is broken.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/wire/**', 'test/interop/**', 'test/real/**', '**/node_modules/**'],
          testTimeout: 30_000,
        },
      },
      { test: { name: 'wire', include: ['test/wire/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 } },
      {
        test: {
          name: 'interop',
          include: ['test/interop/**/*.test.ts'],
          retry: 1,
          testTimeout: 600_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
