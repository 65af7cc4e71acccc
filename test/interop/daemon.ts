/** A daemon for a test file: started in a temporary folder, stopped and removed whatever the tests did. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { startTidemark, type TidemarkNode, type TidemarkOptions } from '../../tools/peers/tidemark.ts';

/** A temporary folder that goes when the tests of the file are over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A daemon that is stopped when the tests of the file are over. */
export async function daemon(folder: string, options: TidemarkOptions = {}): Promise<TidemarkNode> {
  const node = await startTidemark({ dataFolder: join(folder, 'data'), ...options });
  afterAll(async () => void (await node.service.stop('SIGKILL')));
  return node;
}

/** All files of partitions under a log directory that Kafka's dump tool can read. */
export function partitionFiles(dataFolder: string): string[] {
  return readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /-\d+\/\d{20}\.(log|index|timeindex|snapshot)$/.test(name))
    .map((name) => join(dataFolder, name))
    .sort();
}
