/**
 * Processes that the benchmark and the tests of real clients start: they are known by their pid, they are ended by it,
 * and none outlives us. What a process owns (a port, memory) is read from /proc, so this file needs Linux.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How a process ended, and what it wrote. */
export interface Finished {
  /** The exit code, or 128 and more after a signal, as shells count. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Wall-clock milliseconds from start to end. */
  readonly tookMs: number;
}

/** What may be chosen for a process that runs to its end. */
export interface RunOptions {
  readonly folder?: string;
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
  /** A file to read standard input from. Without it there is none. */
  readonly inputFile?: string;
  /** A file that takes standard output in place of the result. */
  readonly outputFile?: string;
  /** The process is killed after this many milliseconds. */
  readonly timeoutMs?: number;
}

/** A process that serves until it is stopped. */
export interface Service {
  readonly pid: number;
  /** What it has written so far, for messages about failures; what comes after 64 MiB is dropped. */
  readonly output: () => string;
  /** Its exit code, or null while it runs. */
  readonly exitCode: () => number | null;
  /** Resolves to its exit code once it has ended. */
  readonly ended: Promise<number>;
  /** Sends the signal and waits for the end. Resolves to the exit code; at once if it has ended already. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number>;
}

/** Bytes of output kept of one process. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const RUN_TIMEOUT_MS = 600_000;
/** A process that does not end on SIGTERM within this is killed. */
const STOP_TIMEOUT_MS = 30_000;
/** The kernel shows hundredths of a second. */
const KERNEL_TICK_MS = 10;
const FETCH_TRIES = 3;
const FETCH_PAUSE_MS = 5_000;
const LOWEST_PORT = 20_000;
const PORT_TRIES = 100;
const PORT_LOOKS = 20;
const PORT_LOOK_INTERVAL_MS = 25;

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * Runs a program to its end. A code other than 0 is for the caller to judge; a missing program rejects, and so does one
 * that writes more than is kept: half of its output would be taken for all of it.
 */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const input = options.inputFile === undefined ? 'ignore' : openSync(options.inputFile, 'r');
  const output = options.outputFile === undefined ? 'pipe' : openSync(options.outputFile, 'w');
  const startedMs = performance.now();
  const child = spawn(program, args, {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: [input, output, 'pipe'],
  });
  for (const handle of [input, output]) if (typeof handle === 'number') closeSync(handle);
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? RUN_TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    children.add(child);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      children.delete(child);
      clearTimeout(timer);
      if (out.isCut() || err.isCut()) {
        reject(new Error(`${program} wrote more than the ${OUTPUT_BYTES_MAX} bytes that are kept: use an outputFile`));
      } else {
        resolve({
          code: code ?? codeOf(signal),
          stdout: out.text(),
          stderr: err.text(),
          tookMs: performance.now() - startedMs,
        });
      }
    });
  });
}

/** The exit code that a shell gives to what a signal has ended. */
function codeOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 1 : 128 + constants.signals[signal];
}

/** Runs a program and throws, with what it wrote, unless it ends with 0. */
export async function runOrThrow(program: string, args: readonly string[], options?: RunOptions): Promise<Finished> {
  const finished = await run(program, args, options);
  if (finished.code === 0) return finished;
  const said = `${finished.stdout.slice(-4000)}\n${finished.stderr.slice(-4000)}`;
  throw new Error(`${program} ${args.join(' ').slice(0, 300)} ended with ${finished.code}:\n${said}`);
}

/** The same for a program that fetches from the network, where one failure says little: it is tried again. */
export async function fetchOrThrow(program: string, args: readonly string[], options?: RunOptions): Promise<Finished> {
  for (let left = FETCH_TRIES - 1; left > 0; left--) {
    const finished = await run(program, args, options);
    if (finished.code === 0) return finished;
    process.stderr.write(
      `${program} ended with ${finished.code} and is tried again:\n${finished.stderr.slice(-2000)}\n`,
    );
    await pause(FETCH_PAUSE_MS);
  }
  return runOrThrow(program, args, options);
}

/** Starts a program that serves. A program that cannot be started ends with 127. */
export function serve(program: string, args: readonly string[], options: RunOptions = {}): Service {
  const child = spawn(program, args, {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  let code: number | null = null;
  const ended = new Promise<number>((resolve) => {
    child.on('error', (error) => {
      code = 127;
      children.delete(child);
      resolve(127);
      process.stderr.write(`${program}: ${error.message}\n`);
    });
    child.on('close', (exitCode, signal) => {
      code = exitCode ?? codeOf(signal);
      children.delete(child);
      resolve(code);
    });
  });
  return {
    pid: child.pid ?? -1,
    output: () => `${out.text()}${err.text()}`,
    exitCode: () => code,
    ended,
    stop: async (signal = 'SIGTERM') => {
      if (code !== null) return code;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      const result = await ended;
      clearTimeout(timer);
      return result;
    },
  };
}

/**
 * A port of 127.0.0.1 that was free a moment ago, below those that the kernel gives to whoever asks for any: else a
 * connection that somebody opens meanwhile may have it, or the one that looks whether anybody listens there.
 */
export async function freePort(): Promise<number> {
  const kernels = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  const span = Math.max(1_000, kernels - LOWEST_PORT);
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = LOWEST_PORT + randomInt(span);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error('no port is free');
}

/** Ports that this process has been given: those who want several get different ones. */
const given = new Set<number>();

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Waits until the service accepts connections. Throws, with its output, when it ends first or takes too long. */
export async function waitForPort(service: Service, port: number, timeoutMs: number): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  while (performance.now() < untilMs) {
    if (service.exitCode() !== null) break;
    if (await accepts(port)) return;
    await pause(10);
  }
  const end = service.exitCode() === null ? `did not listen within ${timeoutMs} ms` : `ended: ${service.exitCode()}`;
  throw new Error(`the process for port ${port} ${end}\n${service.output().slice(-4000)}`);
}

/** Throws unless the process `pid` listens on `port`. Looks more than once: the kernel's tables are not read whole. */
export async function mustOwnPort(pid: number, port: number): Promise<void> {
  for (let look = 0; look < PORT_LOOKS; look++) {
    if (ownsPort(pid, port)) return;
    await pause(PORT_LOOK_INTERVAL_MS);
  }
  throw new Error(`port ${port} belongs to another process than ${pid}`);
}

/** Whether the process `pid` holds the listening socket of `port`, by the kernel's tables. */
function ownsPort(pid: number, port: number): boolean {
  const inodes = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state !== '0A' || local === undefined || inode === undefined) continue;
      if (Number.parseInt(local.split(':')[1] ?? '', 16) === port) inodes.add(`socket:[${inode}]`);
    }
  }
  return readdirSync(`/proc/${pid}/fd`).some((name) => {
    try {
      return inodes.has(readlinkSync(`/proc/${pid}/fd/${name}`));
    } catch {
      return false; // The process closed it while we looked.
    }
  });
}

/** The first child of a process: what a wrapper such as strace has started. */
export function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

/** Resident memory of a process. Bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** Processor time that a process has used, its threads included, in steps of the kernel's clock. Milliseconds. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * KERNEL_TICK_MS;
}

/** Processor time that this process spends on a piece of work, ms: other work on the machine does not count in it. */
export function ownProcessorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Bytes of this process: what lives on the heap and beside it, once everything that nobody holds is gone. */
export function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resolves after so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** What a stream has given so far, and whether more came than is kept. */
interface Collected {
  readonly text: () => string;
  readonly isCut: () => boolean;
}

function collect(stream: NodeJS.ReadableStream | null): Collected {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= OUTPUT_BYTES_MAX) chunks.push(chunk);
  });
  return { text: () => Buffer.concat(chunks).toString('utf8'), isCut: () => size > OUTPUT_BYTES_MAX };
}
