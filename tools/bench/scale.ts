#!/usr/bin/env node
/**
 * One node with very many idle partitions, on real files: how long they take to make, how soon a node serves again
 * after a clean stop, and what each costs.
 *
 *   node dist/tools/bench/scale.js                        10,000 topics of 10 partitions
 *   node dist/tools/bench/scale.js --topics 1000 --json
 *
 * Memory is counted as an operator sees it: the resident bytes of the daemon less those of one without topics. Times
 * are given by the clock and as processor time, which is the same on a busy machine. Linux only.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';

/** What was measured. */
export interface ScaleFigures {
  readonly partitions: number;
  /** From the start of an empty node to serving, with all topics made. */
  readonly createMs: number;
  /** From the start of the process to serving, after a clean stop; and the processor time of it. */
  readonly startMs: number;
  readonly startProcessorMs: number;
  /** The same of a node without topics. */
  readonly emptyStartProcessorMs: number;
  readonly stopMs: number;
  readonly bytesPerPartition: number;
  readonly fileHandles: number;
}

/** What to measure. */
export interface ScaleOptions {
  readonly topics: number;
  readonly partitions: number;
  /** Where the data lies for the while. */
  readonly folder: string;
  /** How long a started node is left alone before its memory is counted, ms. */
  readonly quietMs: number;
}

interface Life {
  readonly startMs: number;
  readonly processorMs: number;
  readonly residentBytes: number;
  readonly fileHandles: number;
  readonly stopMs: number;
}

/** From this file, built or not. */
const REPOSITORY = import.meta.filename.endsWith('.ts') ? '../..' : '../../..';
const TIDEMARK = resolve(import.meta.dirname, REPOSITORY, 'dist/tools/cli/tidemark.js');

/** Starts the daemon, waits until it serves, leaves it alone for a while, and stops it cleanly. */
async function live(file: string, quietMs: number): Promise<Life> {
  const began = performance.now();
  const child = spawn(process.execPath, [TIDEMARK, 'start', '--config', file]);
  const ended = new Promise<number | null>((done) => child.on('close', done));
  let output = '';
  const serves = new Promise<void>((done) => {
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (output.includes('"listens"')) done();
    });
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  const code = await Promise.race([serves, ended]);
  if (code !== undefined) throw new Error(`the daemon ended with ${code}: ${output.slice(-2000)}`);
  const startMs = performance.now() - began;
  const processorMs = processorTimeMs(child.pid);
  await new Promise((done) => setTimeout(done, quietMs));
  const residentBytes = residentBytesOf(child.pid);
  const fileHandles = readdirSync(`/proc/${child.pid}/fd`).length;
  const stopped = performance.now();
  child.kill('SIGTERM');
  if ((await ended) !== 0) throw new Error(`the daemon did not stop cleanly: ${output.slice(-2000)}`);
  return { startMs, processorMs, residentBytes, fileHandles, stopMs: performance.now() - stopped };
}

function processorTimeMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10; // The kernel shows hundredths of a second.
}

function residentBytesOf(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Measures one node; its data is removed afterwards. */
export async function measureScale(options: ScaleOptions): Promise<ScaleFigures> {
  mkdirSync(options.folder, { recursive: true });
  const folder = mkdtempSync(join(options.folder, 'tidemark-scale-'));
  try {
    const configure = (name: string, topics: string): string => {
      const file = join(folder, `${name}.properties`);
      const lines = ['listeners=PLAINTEXT://127.0.0.1:0', `log.dirs=${join(folder, name)}`, topics];
      writeFileSync(file, `${lines.join('\n')}\n`);
      return file;
    };
    const names = Array.from({ length: options.topics }, (_, i) => `scale-${i}:${options.partitions}`);
    await live(configure('empty', ''), 0);
    const empty = await live(configure('empty', ''), options.quietMs);
    const created = await live(configure('full', `tidemark.topics=${names.join(',')}`), 0);
    const full = await live(configure('full', ''), options.quietMs);
    const partitions = options.topics * options.partitions;
    return {
      partitions,
      createMs: Math.round(created.startMs),
      startMs: Math.round(full.startMs),
      startProcessorMs: full.processorMs,
      emptyStartProcessorMs: empty.processorMs,
      stopMs: Math.round(full.stopMs),
      bytesPerPartition: Math.round((full.residentBytes - empty.residentBytes) / partitions),
      fileHandles: full.fileHandles,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Given {
  readonly topics: number;
  readonly partitions: number;
  readonly folder: string;
  readonly json?: boolean;
}

async function main(given: Given): Promise<void> {
  const figures = await measureScale({ ...given, quietMs: 10_000 });
  if (given.json === true) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  else for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(24)}${value}\n`);
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === resolve(import.meta.filename)) {
  const program = new Command('scale')
    .description('one node with very many idle partitions: time to make them, to start with them, what each costs')
    .option('--topics <count>', 'topics', Number, 10_000)
    .option('--partitions <count>', 'partitions of each', Number, 10)
    .option('--folder <path>', 'where the data lies for the while', tmpdir())
    .option('--json', 'print data')
    .parse();
  await main(program.opts<Given>());
}
