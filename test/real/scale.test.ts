/**
 * Very many idle partitions on a real node. Held is what a busy machine does not change: processor time, what lives on
 * the heap, and open files.
 */
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { measureScale } from '../../tools/bench/scale.ts';

describe('10,000 idle partitions', () => {
  it('a clean start looks into none of their folders, each holds little, and no file is open for them', async () => {
    const say = (): void => {};
    const options = { partitions: 10, folder: tmpdir(), quietMs: 1_000, producingMs: 0, say };
    const figures = await measureScale({ topics: 1_000, ...options });
    process.stdout.write(`  ${JSON.stringify(figures)}\n`);
    // A hundred thousand start within 3 s: these are a tenth, with much room.
    expect(figures.startProcessorMs - figures.emptyStartProcessorMs).toBeLessThan(2_000);
    // What is live is the same on every machine; how much a process keeps beside it is not.
    expect(figures.heapBytesPerPartition).toBeLessThan(2_500);
    expect(figures.fileHandles).toBeLessThan(100);
  });
});
