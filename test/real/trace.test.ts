import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createProducerClient } from '../../runtime-real/sdk/producer-client.ts';
import { needProgram } from '../../tools/peers/clients.ts';
import { runOrThrow } from '../../tools/peers/process.ts';
import { NEVER } from '../../tools/peers/tidemark.ts';
import { daemon, temporaryFolder } from '../interop/daemon.ts';

const SENDS = 30;
const SLOW_MS = 80;
const SOURCE = fileURLToPath(new URL('./slow-sync.c', import.meta.url));
const CALLS = 'trace=fdatasync,fsync,write,writev,pwrite64,pwritev,sendto,sendmsg';

const problem = (await needProgram('gcc')) ?? (await needProgram('strace'));

describe.skipIf(problem !== null)('no acks=all answer before the sync of its file has returned', () => {
  it(`with a sync that takes ${SLOW_MS} ms, no round trip is shorter; without syncs it is`, async () => {
    const folder = temporaryFolder();
    const library = join(folder, 'slow-sync.so');
    await runOrThrow('gcc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl']);
    const environment = { LD_PRELOAD: library, SLOW_SYNC_MS: String(SLOW_MS) };
    const shortest = async (name: string, interval: string): Promise<number> => {
      const settings = new Map([['log.flush.interval.messages', interval]]);
      const node = await daemon(folder, { dataFolder: join(folder, name), environment, settings });
      const times = await roundTrips(node.bootstrap);
      await node.service.stop();
      return Math.min(...times);
    };
    expect(await shortest('synced', '1')).toBeGreaterThanOrEqual(SLOW_MS);
    expect(await shortest('not-synced', NEVER)).toBeLessThan(SLOW_MS / 2);
  });

  it('in a trace of system calls, no answer leaves between the write of a batch and the end of its sync', async () => {
    const synced = await trace('1');
    expect(synced.answersTooEarly).toBe(0);
    expect(synced.syncs).toBeGreaterThanOrEqual(SENDS);
    expect(synced.answers).toBeGreaterThanOrEqual(SENDS);
    // The same reading of a node that never syncs finds what it looks for.
    expect((await trace(NEVER)).answersTooEarly).toBeGreaterThanOrEqual(SENDS);
  });
});

/** Sends one record after the other; how long each took to be acknowledged, without the first. Milliseconds. */
async function roundTrips(bootstrap: string): Promise<number[]> {
  const client = createProducerClient({ bootstrap, idempotent: true, acks: -1, lingerMs: 0 });
  const times: number[] = [];
  for (let count = 0; count <= SENDS; count++) {
    const startedMs = performance.now();
    await client.send({ topic: 'traced', partition: 0, value: `record ${count}` });
    if (count > 0) times.push(performance.now() - startedMs);
  }
  await client.close();
  return times;
}

interface Traced {
  readonly syncs: number;
  readonly answers: number;
  /** Bytes that went to a socket while a batch lay in a log file and no sync begun after it had returned. */
  readonly answersTooEarly: number;
}

async function trace(interval: string): Promise<Traced> {
  const folder = temporaryFolder();
  const output = join(folder, 'trace');
  const settings = new Map([['log.flush.interval.messages', interval]]);
  const node = await daemon(folder, { settings, wrapper: ['strace', '-f', '-yy', '-e', CALLS, '-o', output] });
  await roundTrips(node.bootstrap);
  await node.service.stop('SIGTERM');
  return readTrace(readFileSync(output, 'utf8'));
}

/** Reads a trace: one request is under way at a time, so what leaves while a batch is unsynced is its answer. */
function readTrace(text: string): Traced {
  let [syncs, answers, answersTooEarly] = [0, 0, 0];
  let written = 0;
  let durable = 0;
  const syncing = new Map<string, number>();
  for (const line of text.split('\n')) {
    const thread = line.split(' ', 1)[0] ?? '';
    const isLog = /<[^>]*\/traced-0\/\d+\.log>/.test(line);
    if (isLog && /\b(write|writev|pwrite64|pwritev)\(/.test(line)) written++;
    if (isLog && /\bf(data)?sync\(/.test(line)) syncing.set(thread, written);
    const ends = /\bf(data)?sync(\(| resumed)/.test(line) && /\) += 0$/.test(line);
    const covered = syncing.get(thread);
    if (ends && covered !== undefined) {
      syncing.delete(thread);
      syncs++;
      durable = Math.max(durable, covered);
    }
    if (/\b(write|writev|sendto|sendmsg)\(\d+<TCP:/.test(line)) {
      answers++;
      if (written > durable) answersTooEarly++;
    }
  }
  return { syncs, answers, answersTooEarly };
}
