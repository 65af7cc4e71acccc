/**
 * Very many idle partitions on a real node. The bounds leave room for a slow machine: what a start costs is held as
 * processor time, and as many times that of an empty node.
 */

import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { measureScale } from '../../tools/bench/scale.ts';

describe('10,000 idle partitions', () => {
  it('a clean start looks into none of their folders, each holds little, and no file is open for them', async () => {
    const figures = await measureScale({ topics: 1_000, partitions: 10, folder: tmpdir(), quietMs: 3_000 });
    process.stdout.write(`  ${JSON.stringify(figures)}\n`);
    // A hundred thousand start within 3 s: these are a tenth, with much room.
    expect(figures.startProcessorMs - figures.emptyStartProcessorMs).toBeLessThan(2_000);
    expect(figures.bytesPerPartition).toBeLessThan(6_000);
    expect(figures.fileHandles).toBeLessThan(100);
  });
});
