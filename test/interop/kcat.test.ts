import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { dumpFiles } from '../../tools/peers/kafka-tools.ts';
import { runOrThrow } from '../../tools/peers/process.ts';
import { daemon, partitionFiles, temporaryFolder } from './daemon.ts';

const COUNT = 1_000_000;
/**
 * The names that kcat knows, and what the dump tool prints of the batches. librdkafka compresses with lz4 only for
 * brokers that advertise FindCoordinator, and sends plain batches to others without a word.
 */
const CODECS = [
  ['none', 'none'],
  ['gzip', 'gzip'],
  ['snappy', 'snappy'],
  ['lz4', 'lz4'],
  ['zstd', 'zstd'],
] as const;

const folder = temporaryFolder();
const node = await daemon(folder);
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());

describe.skipIf(problem !== null)('kcat, with the librdkafka of the system', () => {
  it.each(CODECS)('a million records go out and come back equal: %s', async (codec, stored) => {
    const [sent, read] = [join(folder, `${codec}.sent`), join(folder, `${codec}.read`)];
    writeLines(sent, codec);
    const to = ['-b', node.bootstrap, '-t', `kcat-${codec}`, '-p', '0'];
    await runOrThrow('kcat', ['-P', ...to, '-z', codec, '-X', 'queue.buffering.max.messages=1000000', '-l', sent]);
    await runOrThrow('kcat', ['-C', ...to, '-o', 'beginning', '-e', '-q'], { outputFile: read });
    expect(statSync(read).size).toBe(statSync(sent).size);
    expect(readFileSync(read).equals(readFileSync(sent))).toBe(true);

    // What lies on the disk is compressed as asked for: old clients do without when they miss a version.
    const log = partitionFiles(node.dataFolder).find(
      (name) => name.includes(`/kcat-${codec}-0/`) && name.endsWith('.log'),
    );
    const dump = await dumpFiles([log ?? ''], { deep: false, bytesMax: 1_000_000 });
    expect(dump.complaints).toEqual([]);
    expect(dump.text).toMatch(new RegExp(`compresscodec: ${stored}`, 'i'));
  });

  it('a reader that starts in the middle gets what follows, and no more', async () => {
    const from = ['-C', '-b', node.bootstrap, '-t', 'kcat-none', '-p', '0', '-e', '-q', '-f', '%o %s\\n'];
    const { stdout } = await runOrThrow('kcat', [...from, '-o', String(COUNT - 3)]);
    expect(stdout).toBe([3, 2, 1].map((back) => `${COUNT - back} ${line('none', COUNT - back)}\n`).join(''));
  });

  it('keys, headers, timestamps and empty values come back', async () => {
    const file = join(folder, 'keyed');
    writeFileSync(file, 'a=1\nb=\nä=ü\n');
    const to = ['-b', node.bootstrap, '-t', 'keyed', '-p', '0'];
    await runOrThrow('kcat', ['-P', ...to, '-K', '=', '-H', 'name=value', '-l', file]);
    const { stdout } = await runOrThrow('kcat', ['-C', ...to, '-e', '-q', '-f', '%o|%k|%s|%h|%T\\n']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((one) => one.replace(/\|\d{13}$/, ''))).toEqual([
      '0|a|1|name=value',
      '1|b||name=value',
      '2|ä|ü|name=value',
    ]);
    for (const one of lines) expect(Math.abs(Number(one.split('|').at(-1)) - Date.now())).toBeLessThan(60_000);
  });
});

function line(codec: string, number: number): string {
  return `${codec} record ${number} of a million`;
}

function writeLines(file: string, codec: string): void {
  const lines: string[] = [];
  for (let number = 0; number < COUNT; number++) lines.push(line(codec, number));
  writeFileSync(file, `${lines.join('\n')}\n`);
}
