/**
 * Our own daemon as a process, started as a user would start it, for the benchmark and the tests of real clients.
 *
 * It runs what was built into `dist`. Its data outlives a kill, so that a test can start it again in the same folder.
 */
import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childOf, mustOwnPort, pause, type Service, serve } from './process.ts';

/** A running daemon. */
export interface TidemarkNode {
  readonly pid: number;
  readonly port: number;
  /** `host:port`, as clients want it. */
  readonly bootstrap: string;
  /** The log directory. */
  readonly dataFolder: string;
  readonly service: Service;
}

/** What may be chosen for a daemon. */
export interface TidemarkOptions {
  /** Settings by Kafka's names. */
  readonly settings?: ReadonlyMap<string, string>;
  /** The log directory; a fresh one by default. */
  readonly dataFolder?: string;
  /** A free one by default. */
  readonly port?: number;
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
  /** What runs before `node`, such as `strace` and its arguments. */
  readonly wrapper?: readonly string[];
  /** Arguments of `node` itself, before the program. */
  readonly nodeArguments?: readonly string[];
}

/** `never`, as Kafka spells it. */
export const NEVER = '9223372036854775807';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;

/**
 * The daemon's program: `$PEERS_DAEMON`, or what was built into `dist`, from wherever this file is run. Throws when the
 * sources were compiled after they were bundled, so that nobody measures or tests yesterday's daemon.
 */
export function tidemarkProgram(): string {
  const chosen = process.env.PEERS_DAEMON;
  if (chosen !== undefined) return chosen;
  const here = fileURLToPath(new URL('.', import.meta.url));
  const dist = join(here.replace(/(dist\/)?tools\/peers\/$/, ''), 'dist');
  const program = join(dist, 'bundle/cli/tidemark.cjs');
  const isStale = ['tsconfig.tsbuildinfo', 'core/tsconfig.tsbuildinfo'].some((name) => {
    return timeOf(join(dist, name)) > timeOf(program);
  });
  if (isStale) throw new Error('the daemon was compiled and not bundled since: run `npm run build`');
  return program;
}

/** When a file was written last, ms; 0 if there is none. */
function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The command line of a daemon, without `node`. */
function tidemarkArguments(port: number, dataFolder: string, settings: ReadonlyMap<string, string>): string[] {
  const all = new Map([['listeners', `PLAINTEXT://127.0.0.1:${port}`], ['log.dirs', dataFolder], ...settings]);
  return ['start', ...[...all].flatMap(([name, value]) => ['--set', `${name}=${value}`])];
}

/** Starts the daemon. Resolves when it says that it listens, and owns its port. */
export async function startTidemark(options: TidemarkOptions = {}): Promise<TidemarkNode> {
  const dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), 'tidemark-'));
  const args = tidemarkArguments(options.port ?? 0, dataFolder, options.settings ?? new Map());
  const wrapper = options.wrapper ?? [];
  const command = [...wrapper, process.execPath, ...(options.nodeArguments ?? []), tidemarkProgram(), ...args];
  const environment = options.environment === undefined ? {} : { environment: options.environment };
  const service = serve(command[0] ?? '', command.slice(1), environment);
  const port = await portOf(service);
  const pid = wrapper.length === 0 ? service.pid : childOf(service.pid);
  await mustOwnPort(pid, port).catch(async (error) => {
    await service.stop('SIGKILL');
    throw error;
  });
  // A wrapper ends with what it wraps, not by signals of its own.
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number> => {
    if (service.exitCode() === null) process.kill(pid, signal);
    return service.ended;
  };
  const stoppable = wrapper.length === 0 ? service : { ...service, stop };
  return { pid, port, bootstrap: `127.0.0.1:${port}`, dataFolder, service: stoppable };
}

/** Waits until the daemon says where it listens. Throws, with its output, when it ends first or takes too long. */
async function portOf(service: Service): Promise<number> {
  const untilMs = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < untilMs && service.exitCode() === null) {
    const said = /listens on 127\.0\.0\.1:(\d+)/.exec(service.output());
    if (said) return Number(said[1]);
    await pause(POLL_MS);
  }
  await service.stop('SIGKILL');
  throw new Error(`the daemon did not come up:\n${service.output().slice(-4000)}`);
}
