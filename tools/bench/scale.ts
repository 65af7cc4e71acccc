/**
 * One node with very many idle partitions, on real files: how long they take to make, how soon a node serves again
 * after a clean stop, what each costs, and whether a producer notices them.
 *
 *   npm run bench -- --scale                              10,000 topics of 10 partitions
 *   npm run bench -- --scale --topics 300 --seconds 10 --json
 *
 * Memory is counted as an operator sees it: the resident bytes of the daemon less those of one without topics, after
 * it was left alone for a while. Times are given by the clock and as processor time, which is the same on a busy
 * machine. Producers wait for both nodes in turn. Linux only.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, startDaemon } from './scale-daemon.ts';
import { type Fencing, measureFencing } from './scale-fencing.ts';
import { measureWaits, type Waits } from './scale-latency.ts';

/** What was measured. */
export interface ScaleFigures {
  readonly partitions: number;
  /** From the start of an empty node to serving, with all topics made. */
  readonly createMs: number;
  readonly createProcessorMs: number;
  /** From the start of the process to serving, after a clean stop; and the processor time of it. */
  readonly startMs: number;
  readonly startProcessorMs: number;
  /** The same of a node without idle topics. */
  readonly emptyStartProcessorMs: number;
  readonly stopMs: number;
  readonly bytesPerPartition: number;
  readonly heapBytesPerPartition: number;
  readonly fileHandles: number;
  /** Of a producer at the node with the idle partitions, and at the one without; null if not measured. */
  readonly waits: Waits | null;
  readonly emptyWaits: Waits | null;
  readonly fencing: Fencing | null;
}

/** What to measure. */
export interface ScaleOptions {
  readonly topics: number;
  readonly partitions: number;
  /** Where the data lies for the while. */
  readonly folder: string;
  /** How long a started node is left alone before its memory is counted, ms. */
  readonly quietMs: number;
  /** How long producers are measured, ms; 0: neither they nor fencing are. */
  readonly producingMs: number;
  /** Takes a line for whoever waits. */
  readonly say: (line: string) => void;
}

/** The topic that is not idle. */
const BUSY = 'busy';

/** Measures one node beside an empty one; their data is removed afterwards. */
export async function measureScale(options: ScaleOptions): Promise<ScaleFigures> {
  mkdirSync(options.folder, { recursive: true });
  const folder = mkdtempSync(join(options.folder, 'tidemark-scale-'));
  const running = new Set<Daemon>();
  try {
    return await measure(options, folder, running);
  } finally {
    await Promise.allSettled([...running].map((daemon) => daemon.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(options: ScaleOptions, folder: string, running: Set<Daemon>): Promise<ScaleFigures> {
  const start = async (name: string, topics: readonly string[]): Promise<Daemon> => {
    const file = join(folder, `${name}.properties`);
    const settings = [
      ['listeners', 'PLAINTEXT://127.0.0.1:0'],
      ['log.dirs', join(folder, name)],
    ];
    const lines = [...settings, ['tidemark.topics', topics.join(',')]].map((pair) => pair.join('='));
    writeFileSync(file, `${lines.join('\n')}\n`);
    const daemon = await startDaemon(file);
    running.add(daemon);
    return daemon;
  };
  const stop = (daemon: Daemon): Promise<number> => {
    running.delete(daemon);
    return daemon.stop();
  };
  const partitions = options.topics * options.partitions;
  options.say(`makes ${partitions} partitions`);
  await stop(await start('empty', [`${BUSY}:1`]));
  const idle = Array.from({ length: options.topics }, (_, i) => `scale-${i}:${options.partitions}`);
  const created = await start('full', [`${BUSY}:1`, ...idle]);
  await stop(created);
  options.say('starts with them, and without them');
  const full = await start('full', []);
  const empty = await start('empty', []);
  await new Promise((done) => setTimeout(done, options.quietMs));
  const residentBytes = full.residentBytes() - empty.residentBytes();
  const fileHandles = full.fileHandles();
  const heapBytes = (await full.heapBytes()) - (await empty.heapBytes());
  let waits: Waits[] = [];
  if (options.producingMs > 0) {
    options.say('produces to both in turn');
    waits = await measureWaits([full.port, empty.port], BUSY, options.producingMs);
  }
  const stopMs = await stop(full);
  await stop(empty);
  return {
    partitions,
    createMs: created.startMs,
    createProcessorMs: created.startProcessorMs,
    startMs: full.startMs,
    startProcessorMs: full.startProcessorMs,
    emptyStartProcessorMs: empty.startProcessorMs,
    stopMs,
    bytesPerPartition: Math.round(residentBytes / partitions),
    heapBytesPerPartition: Math.round(heapBytes / partitions),
    fileHandles,
    waits: waits[0] ?? null,
    emptyWaits: waits[1] ?? null,
    fencing: options.producingMs > 0 ? measureFencing(options.topics, options.partitions) : null,
  };
}

/** The figures as lines for people: a name, a number, and its unit. */
export function scaleLines(figures: ScaleFigures): string {
  const lines: string[] = [];
  const add = (what: string, value: number | undefined, unit: string): void => {
    if (value !== undefined) lines.push(`${what.padEnd(44)}${Number(value.toPrecision(3))} ${unit}`.trimEnd());
  };
  add('idle partitions', figures.partitions, '');
  add('to make them', figures.createMs / 1000, 's');
  add('  processor time', figures.createProcessorMs / 1000, 's');
  add('to start with them after a clean stop', figures.startMs / 1000, 's');
  add('  processor time', figures.startProcessorMs / 1000, 's');
  add('  of a node without them', figures.emptyStartProcessorMs / 1000, 's');
  add('to stop cleanly', figures.stopMs / 1000, 's');
  add('resident memory of each', figures.bytesPerPartition, 'bytes');
  add('  of which live on the heap', figures.heapBytesPerPartition, 'bytes');
  add('open file handles', figures.fileHandles, '');
  for (const [name, waits] of [
    ['with', figures.waits],
    ['without', figures.emptyWaits],
  ] as const) {
    add(`a producer waits ${name} them, p50`, waits?.p50, 'ms');
    add('  p99', waits?.p99, 'ms');
    add('  longest', waits?.max, 'ms');
  }
  const { fencing } = figures;
  add('partitions that a fenced broker led', fencing?.partitions, '');
  add('to fence it, processor time, first time', fencing?.firstMs, 'ms');
  add('  warmed up', fencing?.warmMs, 'ms');
  add('    making the records', fencing?.makeMs, 'ms');
  add('    replaying them', fencing?.replayMs, 'ms');
  add('    encoding them', fencing?.encodeMs, 'ms');
  return `${lines.join('\n')}\n`;
}
