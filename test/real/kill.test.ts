import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProducerClient } from '../../runtime-real/sdk/producer-client.ts';
import { needProgram } from '../../tools/peers/clients.ts';
import { freePort, pause, runOrThrow } from '../../tools/peers/process.ts';
import { startTidemark } from '../../tools/peers/tidemark.ts';
import { daemon, temporaryFolder } from '../interop/daemon.ts';

const KILLS = 50;
/** Records that are under way at once. */
const WAITING_MAX = 1000;
const BATCH = 100;
/** Every so many kills one comes as soon as the node listens; the others wait until records are acknowledged again. */
const AT_ONCE_EVERY = 5;
/** How long the others go on under load. Milliseconds. */
const KILL_AFTER_MS = [0, 20, 350, 90, 500, 200, 40, 10, 300];
const PROGRESS_TIMEOUT_MS = 20_000;
/** Small segments, so that kills also fall into rolls. */
const SETTINGS = new Map([
  ['log.segment.bytes', String(1024 * 1024)],
  ['num.partitions', '1'],
]);

const problem = await needProgram('kcat');
const folder = temporaryFolder();

describe.skipIf(problem !== null)('kill -9 under load', () => {
  it(`after ${KILLS} kills every acknowledged record is there once, in order, at its offset`, async () => {
    // Not one of the ports that the kernel gives away: the client's own attempts to connect could take it while no
    // daemon listens there.
    let node = await daemon(folder, { settings: SETTINGS, port: await freePort() });
    const options = { dataFolder: node.dataFolder, port: node.port, settings: SETTINGS };
    const load = startLoad(node.bootstrap);
    let killsUnderLoad = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      if (kill % AT_ONCE_EVERY !== 0) {
        if (await progresses(load)) killsUnderLoad++;
        await pause(KILL_AFTER_MS[kill % KILL_AFTER_MS.length] ?? 0);
      }
      await node.service.stop('SIGKILL');
      node = await startTidemark(options);
    }
    await load.stop();
    const args = ['-C', '-b', node.bootstrap, '-t', 'kill', '-p', '0', '-o', 'beginning', '-e', '-q', '-f', '%o %s\\n'];
    const outputFile = join(folder, 'records.txt');
    await runOrThrow('kcat', args, { outputFile });
    expect(await node.service.stop()).toBe(0);

    const found = readFileSync(outputFile, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ').map(Number));
    expect(found.map(([offset]) => offset)).toEqual(found.map((_, index) => index));
    const values = found.map(([, value]) => value ?? Number.NaN);
    const outOfOrder = values.filter((value, index) => index > 0 && value <= (values[index - 1] ?? 0));
    expect(outOfOrder, 'records that came twice or too early').toEqual([]);
    const lost = [...load.acknowledged].filter(([value, offset]) => values[offset] !== value);
    expect(lost.slice(0, 10), 'acknowledged records that are not at their offset').toEqual([]);
    expect(load.failures).toEqual([]);
    expect(killsUnderLoad).toBe(KILLS - KILLS / AT_ONCE_EVERY);
    expect(load.acknowledged.size).toBeGreaterThan(10_000);
    process.stdout.write(`${KILLS} kills, ${killsUnderLoad} under load, ${load.acknowledged.size} acknowledged\n`);
  });
});

interface Load {
  /** Value → the offset that was acknowledged. */
  readonly acknowledged: Map<number, number>;
  readonly failures: string[];
  /** Sends nothing more and waits for what is under way. */
  readonly stop: () => Promise<void>;
}

/** Sends the numbers from 0 on with an idempotent producer, as fast as they are acknowledged. */
function startLoad(bootstrap: string): Load {
  const client = createProducerClient({ bootstrap, idempotent: true, acks: -1, lingerMs: 1, retryBackoffMs: 50 });
  const acknowledged = new Map<number, number>();
  const failures: string[] = [];
  let next = 0;
  let waiting = 0;
  let running = true;
  const send = (value: number): void => {
    waiting++;
    client
      .send({ topic: 'kill', partition: 0, value: String(value).padEnd(100) })
      .then(
        ({ offset }) => void acknowledged.set(value, offset),
        (error) => void failures.push(String(error)),
      )
      .finally(() => waiting--);
  };
  const ended = (async (): Promise<void> => {
    while (running) {
      for (let count = 0; count < BATCH && waiting < WAITING_MAX; count++) send(next++);
      await pause(1);
    }
    await client.close();
  })();
  const stop = async (): Promise<void> => {
    running = false;
    await ended;
  };
  return { acknowledged, failures, stop };
}

/** Waits until more records are acknowledged; false if that takes too long. */
async function progresses(load: Load): Promise<boolean> {
  const before = load.acknowledged.size;
  const untilMs = performance.now() + PROGRESS_TIMEOUT_MS;
  while (load.acknowledged.size === before && performance.now() < untilMs) await pause(5);
  return load.acknowledged.size > before;
}
