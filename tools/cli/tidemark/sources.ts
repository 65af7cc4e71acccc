/**
 * Where settings come from: a file in Java's .properties format, the environment, flags. A flag wins over the
 * environment, the environment over the file.
 */
import fs from 'node:fs';
import { parseLines } from 'dot-properties';
import { isKnownName } from '../../../core/config/parse.ts';
import { EXIT_CANNOT_RUN, EXIT_USAGE } from '../../../core/lib/exit-codes.ts';
import { describeError } from '../../../runtime-real/disk/errors.ts';

/** What the operator gave. */
export interface Sources {
  /** The path of a .properties file. */
  readonly file: string | null;
  readonly environment: NodeJS.ProcessEnv;
  /** name=value each. */
  readonly flags: readonly string[];
}

/** One text for each name, and where it came from; or why there is none, with the exit code. */
export type Collected =
  | {
      readonly kind: 'collected';
      readonly entries: ReadonlyMap<string, string>;
      readonly origins: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'failed'; readonly code: number; readonly sentence: string };

/** A larger file is not a configuration. Bytes. */
export const CONFIG_BYTES_MAX = 1024 * 1024;

const PREFIX = 'TIDEMARK_';

/** Gathers all texts. */
export function collectSettings(sources: Sources): Collected {
  const entries = new Map<string, string>();
  const origins = new Map<string, string>();
  const put = (name: string, text: string, origin: string): void => {
    entries.set(name, text);
    origins.set(name, origin);
  };
  if (sources.file !== null) {
    try {
      const sizeBytes = fs.statSync(sources.file).size;
      if (sizeBytes > CONFIG_BYTES_MAX) throw new Error(`it has ${sizeBytes} bytes, more than ${CONFIG_BYTES_MAX}`);
      const text = fs.readFileSync(sources.file, 'utf8');
      for (const [name, value] of readProperties(text)) put(name, value, sources.file);
    } catch (error) {
      const sentence = `The configuration file ${sources.file} cannot be read: ${describeError(error)}.`;
      return { kind: 'failed', code: EXIT_CANNOT_RUN, sentence };
    }
  }
  for (const [variable, text] of Object.entries(sources.environment)) {
    if (variable.startsWith(PREFIX) && text !== undefined) put(settingOf(variable), text, variable);
  }
  for (const flag of sources.flags) {
    const equals = flag.indexOf('=');
    if (equals <= 0) {
      const sentence = `--set ${flag} does not look like name=value.`;
      return { kind: 'failed', code: EXIT_USAGE, sentence };
    }
    put(flag.slice(0, equals).trim(), flag.slice(equals + 1), '--set');
  }
  return { kind: 'collected', entries, origins };
}

/** The pairs of a .properties text, in order: comments, continued lines and escapes as in Java. */
export function readProperties(text: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const line of parseLines(text)) {
    if (Array.isArray(line)) pairs.push([line[0] ?? '', line[1] ?? '']);
  }
  return pairs;
}

/** TIDEMARK_LOG_RETENTION_MS is log.retention.ms; TIDEMARK_TOPICS is tidemark.topics. */
export function settingOf(variable: string): string {
  const name = variable.slice(PREFIX.length).toLowerCase().replaceAll('_', '.');
  return !isKnownName(name) && isKnownName(`tidemark.${name}`) ? `tidemark.${name}` : name;
}
