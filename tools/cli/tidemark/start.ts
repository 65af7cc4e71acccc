/** `tidemark start`: settings, log, node, signals; its exit code is the command's. */
import path from 'node:path';
import { parseSettings } from '../../../core/config/parse.ts';
import type { NodeConfig } from '../../../core/config/settings.ts';
import { EXIT_SOFTWARE, EXIT_USAGE } from '../../../core/lib/exit-codes.ts';
import { letHeapGrow } from '../../../runtime-real/heap-growth.ts';
import type { Host, Listening } from '../../../runtime-real/host.ts';
import { startHost } from '../../../runtime-real/start-node.ts';
import { type BannerFacts, banner, nextSteps } from './banner.ts';
import { createLogger, type Logger } from './logger.ts';
import { collectSettings } from './sources.ts';
import { startWatchdog } from './watchdog.ts';

/** What the command line said. */
export interface StartOptions {
  readonly version: string;
  readonly file: string | null;
  readonly flags: readonly string[];
}

const NO_FIELDS: ReadonlyMap<string, string> = new Map();

/** Runs a node until it is told to stop; the exit code. */
export async function start(options: StartOptions): Promise<number> {
  const collected = collectSettings({ file: options.file, environment: process.env, flags: options.flags });
  if (collected.kind === 'failed') return refuse(collected.code, [collected.sentence]);
  const { config, problems } = parseSettings(collected.entries);
  const said = problems.map((problem) => ({
    ...problem,
    sentence: withOrigin(problem.sentence, collected.origins.get(problem.name)),
  }));
  const errors = said.filter((problem) => problem.severity === 'error');
  if (errors.length > 0)
    return refuse(
      EXIT_USAGE,
      errors.map((problem) => problem.sentence),
    );

  const logger = await createLogger(config['tidemark.log.level'], process.stdout.isTTY === true);
  for (const { sentence } of said) logger.say('warn', sentence, NO_FIELDS);
  endOnMistakes(logger);
  const running = stopOnSignals(logger);
  letHeapGrow();
  const started = await startHost(config, { say: logger.say, disk: 'files', keepsProcessAlive: true, running });
  if (started.kind === 'failed') {
    if (started.exit.code !== 0) return refuse(started.exit.code, [started.exit.reason]);
    logger.say('info', started.exit.reason, NO_FIELDS);
    return 0;
  }
  const watchdogMs = config['tidemark.watchdog.timeout.ms'];
  if (watchdogMs > 0) startWatchdog(watchdogMs, (reason) => logger.say('warn', `no watchdog: ${reason}`, NO_FIELDS));
  greet(options, config, logger, started.listening);
  const exit = await started.host.exited;
  if (exit.code !== 0) return refuse(exit.code, [exit.reason]);
  logger.say('info', 'stopped cleanly', NO_FIELDS);
  return 0;
}

function refuse(code: number, sentences: readonly string[]): number {
  for (const sentence of sentences) process.stderr.write(`tidemark: ${sentence}\n`);
  return code;
}

function withOrigin(sentence: string, origin: string | undefined): string {
  return origin === undefined || origin === '--set' ? sentence : `${sentence} (from ${origin})`;
}

/** What escapes every machine is our own mistake: say it and end, rather than go on with an unknown state. */
function endOnMistakes(logger: Logger): void {
  const endAtOnce = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.say('error', `A mistake inside Tidemark has ended this process: ${text}`, NO_FIELDS);
    process.exit(EXIT_SOFTWARE);
  };
  process.on('uncaughtException', endAtOnce);
  process.on('unhandledRejection', endAtOnce);
}

function greet(options: StartOptions, config: NodeConfig, logger: Logger, listening: readonly Listening[]): void {
  const addresses = listening.map(({ host, port }) => `${addressForClients(host)}:${port}`);
  const facts: BannerFacts = {
    version: options.version,
    addresses,
    folders: config['log.dirs'].map((folder) => path.resolve(folder)),
    startedMs: performance.now(),
    synced: config['log.flush.interval.messages'] === 1,
    topic: config['tidemark.topics'][0]?.name ?? 'greetings',
  };
  if (logger.pretty) {
    process.stdout.write(banner(facts));
    return;
  }
  const fields = new Map<string, string | number>([
    ['version', facts.version],
    ['listens', addresses.join(',')],
    ['data', facts.folders.join(',')],
    ['startedMs', Math.round(facts.startedMs)],
  ]);
  logger.say('info', `listens on ${addresses.join(', ')}, data in ${facts.folders.join(', ')}`, fields);
  for (const [command, meaning] of nextSteps(facts)) logger.say('info', `try next: ${command} (${meaning})`, NO_FIELDS);
}

function addressForClients(host: string): string {
  if (host === '' || host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * The first signal asks the node to stop, also while it still recovers; the second one ends the process. Returns what
 * takes the host once there is one.
 */
function stopOnSignals(logger: Logger): (host: Host) => void {
  let asked = false;
  let running: Host | null = null;
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    process.on(signal, () => {
      if (asked) process.exit(code);
      asked = true;
      logger.say('info', `stopping on ${signal}; once more to stop at once`, NO_FIELDS);
      running?.stop();
    });
  }
  return (host) => {
    running = host;
    if (asked) host.stop();
  };
}
