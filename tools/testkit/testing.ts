/**
 * `tidemark/testing`: a node inside the caller's own process, for tests.
 *
 * ```ts
 * import { startNode } from 'tidemark/testing';
 *
 * await using node = await startNode({ topics: { orders: 3 } });
 * const kafka = new Kafka({ brokers: [node.bootstrap] });
 * ```
 *
 * It listens on a free port of 127.0.0.1. A node that was not stopped does not keep the process alive, and a stopped
 * one leaves nothing behind: no socket, no file handle, no timer, no temporary folder.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseSettings } from '../../core/config/parse.ts';
import { startHost } from '../../runtime-real/start-node.ts';

/** A node for tests. */
export interface NodeForTests extends AsyncDisposable {
  /** What clients connect to: 127.0.0.1:PORT. */
  readonly bootstrap: string;
  readonly port: number;
  /** The folder of its data; null in memory. */
  readonly folder: string | null;
  /** Stops it cleanly. A second call waits for the first one. */
  stop(): Promise<void>;
}

/** How a node for tests is started; all of it may be left out. */
export interface StartNodeOptions {
  /** Topics that exist from the start, and how many partitions they have. */
  readonly topics?: Readonly<Record<string, number>>;
  /** In memory (the default), in a temporary folder that goes with the node, or the path of a folder that stays. */
  readonly disk?: 'memory' | 'temporary' | (string & Record<never, never>);
  /** Settings by Kafka's names, as in a configuration file. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Called with each line of the node's log; nothing is printed by itself. */
  readonly log?: (level: 'debug' | 'info' | 'warn' | 'error', text: string) => void;
}

/** Starts a node; rejects with a sentence when it cannot start. */
export async function startNode(options: StartNodeOptions = {}): Promise<NodeForTests> {
  const disk = options.disk ?? 'memory';
  const isPath = disk !== 'memory' && disk !== 'temporary';
  if (isPath && !disk.includes('/') && !disk.includes(path.sep)) {
    throw new Error(`disk is "${disk}", but must be "memory", "temporary" or a path with a separator`);
  }
  const temporary = disk === 'temporary' ? fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-')) : null;
  const folder = isPath ? path.resolve(disk) : temporary;
  const removeTemporary = (): void => {
    if (temporary !== null) fs.rmSync(temporary, { recursive: true, force: true });
  };
  const { config, problems } = parseSettings(entriesOf(options, folder ?? '/memory'));
  const error = problems.find((problem) => problem.severity === 'error');
  if (error !== undefined) {
    removeTemporary();
    throw new Error(error.sentence);
  }
  const started = await startHost(config, {
    say: (level, text) => options.log?.(level, text),
    disk: folder === null ? 'memory' : 'files',
    keepsProcessAlive: false,
  });
  if (started.kind === 'failed') {
    removeTemporary();
    throw new Error(started.exit.reason);
  }
  const port = started.listening[0]?.port ?? 0;
  const { host } = started;
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= stopNode();
    return stopping;
  };
  async function stopNode(): Promise<void> {
    // The node itself does not keep the process alive, whoever waits for its end does.
    const alive = setInterval(() => {}, 1_000_000);
    host.stop();
    const exit = await host.exited;
    clearInterval(alive);
    removeTemporary();
    if (exit.code !== 0) throw new Error(exit.reason);
  }
  return { bootstrap: `127.0.0.1:${port}`, port, folder, stop, [Symbol.asyncDispose]: stop };
}

/**
 * What a test waits for is its own: members of groups need not wait for each other as they do in production. Members of
 * the consumer protocol come as often as the broker says; those of the classic one as `heartbeat.interval.ms` of their
 * own client says. One partition holds all groups, so that the first of them does not wait for fifty to be made.
 */
const QUICK_GROUPS: readonly (readonly [string, string])[] = [
  ['offsets.topic.num.partitions', '1'],
  ['group.initial.rebalance.delay.ms', '0'],
  ['group.min.session.timeout.ms', '100'],
  ['group.consumer.min.session.timeout.ms', '100'],
  ['group.consumer.min.heartbeat.interval.ms', '10'],
  ['group.consumer.heartbeat.interval.ms', '20'],
  ['group.consumer.assignment.interval.ms', '0'],
];

function entriesOf(options: StartNodeOptions, folder: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>([
    ['listeners', 'PLAINTEXT://127.0.0.1:0'],
    ['log.dirs', folder],
    ...QUICK_GROUPS,
  ]);
  const topics = Object.entries(options.topics ?? {}).map(([name, partitions]) => `${name}:${partitions}`);
  if (topics.length > 0) entries.set('tidemark.topics', topics.join(','));
  for (const [name, value] of Object.entries(options.settings ?? {})) entries.set(name, String(value));
  return entries;
}
