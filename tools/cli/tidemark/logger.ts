/** The daemon's log: lines for people on a terminal, JSON otherwise, always on standard output. */
import { pino } from 'pino';
import type { Say } from '../../../runtime-real/host.ts';
import { withSources } from './stack.ts';

/** A log. */
export interface Logger {
  readonly say: Say;
  /** Whether it writes for people. */
  readonly pretty: boolean;
}

/** Opens the log. Lines are written synchronously: the last ones before an end are not lost. */
export async function createLogger(level: string, pretty: boolean): Promise<Logger> {
  const stream = pretty ? await prettyStream() : pino.destination({ dest: 1, sync: true });
  // A reader that has gone away (`| head`) must not end the node.
  stream.on('error', () => {});
  process.stdout.on('error', () => {});
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
  const say: Say = (at, text, fields) => {
    logger[at](Object.fromEntries(fields), at === 'error' ? withSources(text) : text);
  };
  return { say, pretty };
}

async function prettyStream() {
  const { default: createPretty } = await import('pino-pretty');
  return createPretty({
    sync: true,
    singleLine: true,
    colorize: process.stdout.hasColors?.() ?? false,
    translateTime: 'SYS:HH:MM:ss.l',
  });
}
