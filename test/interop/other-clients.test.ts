import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { kafkaJsFolder, needGo, needKafkaJs, needPython, runGo, runPython } from '../../tools/peers/clients.ts';
import { type Finished, runOrThrow } from '../../tools/peers/process.ts';
import { daemon, temporaryFolder } from './daemon.ts';

const COUNT = 20_000;
const PROGRAMS = fileURLToPath(new URL('./clients/', import.meta.url));

const node = await daemon(temporaryFolder());
const [kafkaJs, python, go] = [await needKafkaJs(), await needPython(), await needGo(join(PROGRAMS, 'go'))];

describe('producers and partition readers of other makers', () => {
  it.skipIf(kafkaJs !== null)('kafkajs: an idempotent producer with gzip; the offsets say how many came', async () => {
    const program = join(kafkaJsFolder(), 'client.mjs');
    cpSync(join(PROGRAMS, 'kafkajs.mjs'), program);
    const { stdout } = await runOrThrow('node', [program, node.bootstrap, 'kafkajs', String(COUNT)]);
    expect(JSON.parse(stdout)).toEqual({ start: 0, end: COUNT });
  });

  it.skipIf(python !== null)('confluent-kafka for Python: idempotent, zstd, and back in order', async () => {
    const finished = await runPython(join(PROGRAMS, 'confluent.py'), [node.bootstrap, 'confluent', String(COUNT)]);
    expect(resultOf(finished)).toEqual({ read: COUNT, inOrder: true, failures: [], low: 0, high: COUNT });
  });

  it.skipIf(go !== null)('franz-go: its defaults, and back in order', async () => {
    const finished = await runGo([node.bootstrap, 'franz', String(COUNT)]);
    expect(resultOf(finished)).toEqual({ read: COUNT, inOrder: true, failed: 0 });
  });
});

function resultOf(finished: Finished): unknown {
  if (finished.code !== 0) throw new Error(`ended with ${finished.code}: ${finished.stdout}${finished.stderr}`);
  return JSON.parse(finished.stdout.trim().split('\n').at(-1) ?? '');
}
