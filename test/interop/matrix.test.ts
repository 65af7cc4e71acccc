/**
 * Clients of other makers: each writes with every codec that it has, to a partition of its own, and what it wrote is
 * read back equal, by offset, key, value and headers, by the next client of the ring and by kcat. Each administers too.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type Client, needClients, needProgram } from '../../tools/peers/clients.ts';
import { type Finished, runOrThrow } from '../../tools/peers/process.ts';
import { daemon, temporaryFolder } from './daemon.ts';
import {
  encodeRecords,
  KCAT_FORMAT,
  makeRecords,
  type Reading,
  readingOf,
  readingOfKcat,
  withoutEmpty,
} from './records.ts';

const COUNT = 10_000;
/** Far above what any needs: on a busy machine each takes many times its usual seconds. */
const TIMEOUT_MS = 300_000;
/** Clients that cannot describe the settings of a topic. */
const WITHOUT_CONFIGS = new Set(['rskafka']);

const folder = temporaryFolder();
const file = join(folder, 'records');
const records = makeRecords(COUNT);
const expected = readingOf(records);
const expectedWithoutEmpty = readingOf(withoutEmpty(records));
writeFileSync(file, encodeRecords(records));

const clients = await needClients(fileURLToPath(new URL('./clients/', import.meta.url)));
const kcat = await needProgram('kcat');
/** What one of them does not ask the broker to make, the broker makes for all. */
const topics = clients.flatMap(({ name, codecs }) => codecs.map((codec) => topicOf(name, codec)));
const made = topics.filter((topic) => topic.startsWith('m-rskafka-')).map((topic) => `${topic}:1`);
const node = await daemon(folder, { settings: new Map([['tidemark.topics', made.join(',')]]) });

/** Seconds that a client spent, by what it did. */
const spent = new Map<string, { write: number; read: number }>();
afterAll(() => {
  for (const [name, { write, read }] of spent) {
    process.stderr.write(`${name.padEnd(16)} writes ${write.toFixed(1)} s  reads ${read.toFixed(1)} s\n`);
  }
});

describe.each(clients)('$name', (writer) => {
  const pairs = writer.codecs.map((codec) => {
    const reader = readerAfter(writer, codec);
    return [codec, reader.name, reader] as const;
  });
  const missing = [writer, ...pairs.map(([, , reader]) => reader)].find(({ problem }) => problem !== null);
  it.skipIf(missing ?? kcat).each(pairs)('writes %s; %s and kcat read it', async (codec, _name, reader) => {
    const topic = topicOf(writer.name, codec);
    await timed(writer, 'write', [node.bootstrap, topic, codec, file]);
    const stored = batchesOf(join(node.dataFolder, `${topic}-0/00000000000000000000.log`));
    expect(stored).toEqual({ codecs: [codec], idempotent: [writer.idempotent] });
    const { stdout } = await timed(reader, 'read', [node.bootstrap, topic]);
    expect(JSON.parse(stdout)).toEqual(reader.readsEmptyAsNull ? expectedWithoutEmpty : expected);
    expect(await readWithKcat(topic)).toEqual(expected);
  });

  it.skipIf(writer.problem)('makes, lists, describes and deletes a topic', async () => {
    const { stdout } = await timed(writer, 'admin', [node.bootstrap, `a-${writer.name}`]);
    const done = { created: true, listed: true, partitions: 3, gone: true };
    expect(JSON.parse(stdout)).toEqual(WITHOUT_CONFIGS.has(writer.name) ? done : { ...done, retentionMs: '123456' });
  });
});

function topicOf(client: string, codec: string): string {
  return `m-${client}-${codec}`;
}

/** The next client of the ring that has the codec. */
function readerAfter(writer: Client, codec: string): Client {
  const from = clients.indexOf(writer) + 1;
  const others = [...clients.slice(from), ...clients.slice(0, from)];
  return others.find(({ codecs }) => codecs.includes(codec)) ?? writer;
}

/**
 * What the batches of a segment have in common, if all is well: clients store plain batches without a word where they
 * take a broker to be too old for a codec, and may do without a producer id for the same reason.
 */
function batchesOf(segment: string): { codecs: string[]; idempotent: boolean[] } {
  const bytes = readFileSync(segment);
  const codecs = new Set<string>();
  const idempotent = new Set<boolean>();
  for (let at = 0; at < bytes.length; at += 12 + bytes.readInt32BE(at + 8)) {
    const codec = bytes.readInt16BE(at + 21) & 7;
    codecs.add(['none', 'gzip', 'snappy', 'lz4', 'zstd'][codec] ?? String(codec));
    idempotent.add(bytes.readBigInt64BE(at + 43) >= 0n);
  }
  return { codecs: [...codecs], idempotent: [...idempotent] };
}

async function timed(client: Client, mode: 'write' | 'read' | 'admin', args: readonly string[]): Promise<Finished> {
  const finished = await client.run([mode, ...args], { timeoutMs: TIMEOUT_MS });
  const sum = spent.get(client.name) ?? { write: 0, read: 0 };
  sum[mode === 'read' ? 'read' : 'write'] += finished.tookMs / 1000;
  spent.set(client.name, sum);
  const said = `${finished.stdout.slice(-2000)}${finished.stderr.slice(-4000)}`;
  if (finished.code !== 0) throw new Error(`${client.name} could not ${mode} (${finished.code}):\n${said}`);
  return finished;
}

async function readWithKcat(topic: string): Promise<Reading> {
  const outputFile = join(folder, 'kcat');
  const args = ['-C', '-b', node.bootstrap, '-t', topic, '-p', '0', '-o', 'beginning', '-e', '-q', '-f', KCAT_FORMAT];
  const { tookMs } = await runOrThrow('kcat', args, { outputFile, timeoutMs: TIMEOUT_MS });
  const sum = spent.get('kcat') ?? { write: 0, read: 0 };
  spent.set('kcat', { ...sum, read: sum.read + tookMs / 1000 });
  const reading = readingOfKcat(readFileSync(outputFile));
  rmSync(outputFile);
  return reading;
}
