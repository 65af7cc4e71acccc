/** Starts the built daemon as a process of its own, on a free port and in a temporary folder, and watches it. */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { tidemarkProgram } from '../../tools/peers/tidemark.ts';

/** The command, as `npm run build` leaves it. */
export const TIDEMARK = tidemarkProgram();

/** How a process ended, and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** A daemon that says it listens. */
export interface Daemon {
  readonly process: ChildProcess;
  readonly port: number;
  readonly folder: string;
  /** Everything printed on standard output so far. */
  output(): string;
  readonly ended: Promise<Ended>;
}

/** Runs the command to its end. */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return runNode([TIDEMARK, ...args], environment);
}

/** Runs any program of Node's to its end. */
export async function runNode(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment } });
  return watch(child).ended;
}

/** Runs a program of Node's whose output nobody reads. */
export async function runUnread(args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, args);
  child.stdout.destroy();
  return watch(child).ended;
}

/** Starts a daemon and waits until it listens; rejects with its errors when it ends instead. */
export async function startDaemon(
  settings: Readonly<Record<string, string>> = {},
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-daemon-')),
): Promise<Daemon> {
  const all = { listeners: 'PLAINTEXT://127.0.0.1:0', 'log.dirs': folder, ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const child = spawn(process.execPath, [TIDEMARK, 'start', ...flags]);
  const watched = watch(child);
  const listens = new Promise<number>((resolve) => {
    child.stdout.on('data', () => {
      const port = /"listens":"[^"]*:(\d+)"/.exec(watched.output())?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
  const port = await Promise.race([listens, watched.ended]);
  if (typeof port !== 'number') throw new Error(`the daemon ended with ${port.code}: ${port.errors}${port.output}`);
  return { process: child, port, folder, ...watched };
}

/** Stops a daemon as an operator would, and removes its data. */
export async function stopDaemon(daemon: Daemon): Promise<Ended> {
  daemon.process.kill('SIGTERM');
  const ended = await daemon.ended;
  fs.rmSync(daemon.folder, { recursive: true, force: true });
  return ended;
}

function watch(child: ChildProcess): { output(): string; readonly ended: Promise<Ended> } {
  let output = '';
  let errors = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, output, errors }));
  });
  return { output: () => output, ended };
}
