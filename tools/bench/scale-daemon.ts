/**
 * A daemon of the scale benchmark: started from a file of settings, watched from outside, stopped cleanly. Linux only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { processorMs, residentBytes } from '../peers/process.ts';
import { tidemarkProgram } from '../peers/tidemark.ts';

/** A daemon that serves. */
export interface Daemon {
  readonly port: number;
  /** From the start of the process until it served, by the clock; and the processor time of it. */
  readonly startMs: number;
  readonly startProcessorMs: number;
  /** As an operator sees it now. */
  readonly residentBytes: () => number;
  readonly fileHandles: () => number;
  /** What lives on the heap, after a collection. */
  readonly heapBytes: () => Promise<number>;
  /** How long a clean stop took, ms. Throws, with the output, where it was not clean. */
  readonly stop: () => Promise<number>;
}

/** On a signal the process collects its garbage and says what is left; nothing else of it changes. */
const TELL_HEAP = `process.on('SIGUSR2', () => {
  gc(); gc();
  process.stderr.write('heapUsed=' + process.memoryUsage().heapUsed + '\\n');
})`;
/** The end of what a daemon said is enough to find out why it ended. */
const TAIL_CHARS = 10_000;

/** Starts a daemon and waits until it serves. Throws, with its output, where it ends before. */
export async function startDaemon(settingsFile: string): Promise<Daemon> {
  const began = performance.now();
  const preload = `data:text/javascript,${encodeURIComponent(TELL_HEAP)}`;
  const args = ['--expose-gc', '--import', preload, tidemarkProgram(), 'start', '--config', settingsFile];
  const child = spawn(process.execPath, args);
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const pid = child.pid ?? -1;
  const read = (pattern: RegExp): Promise<RegExpExecArray> => seen(child, () => pattern.exec(output));
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-TAIL_CHARS);
    });
  }
  const found = await Promise.race([read(/listens on [^"]*?:(\d+)/), ended]);
  if (found === null || typeof found === 'number') throw new Error(`the daemon ended with ${found}: ${output}`);
  const startMs = performance.now() - began;
  return {
    port: Number(found[1]),
    startMs,
    startProcessorMs: processorMs(pid),
    residentBytes: () => residentBytes(pid),
    fileHandles: () => readdirSync(`/proc/${pid}/fd`).length,
    heapBytes: async () => {
      output = '';
      child.kill('SIGUSR2');
      return Number((await read(/heapUsed=(\d+)\n/))[1]);
    },
    stop: async () => {
      const stopping = performance.now();
      child.kill('SIGTERM');
      const code = await ended;
      if (code !== 0) throw new Error(`the daemon did not stop cleanly: ${output}`);
      return performance.now() - stopping;
    },
  };
}

/** Resolves once `look` finds something in the output; it is asked after each piece. */
function seen<T>(child: ChildProcess, look: () => T | null): Promise<T> {
  return new Promise((resolve) => {
    const again = (): void => {
      const found = look();
      if (found === null) return;
      child.stdout?.off('data', again);
      child.stderr?.off('data', again);
      resolve(found);
    };
    // Behind the listener that collects the output, which is added in the same turn.
    setImmediate(() => {
      child.stdout?.on('data', again);
      child.stderr?.on('data', again);
      again();
    });
  });
}
