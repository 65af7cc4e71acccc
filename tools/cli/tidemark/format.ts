/**
 * `tidemark format`: makes an empty log directory that of a cluster whose id is known beforehand. A node that starts on
 * an empty directory formats itself; this is for whoever wants to choose the id, or to look before starting.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { META_PROPERTIES, randomUuid } from '../../../core/broker/files.ts';
import { BOOTSTRAP_PATH, formattedFiles } from '../../../core/broker/format.ts';
import { parseSettings } from '../../../core/config/parse.ts';
import { isUuid, UUID_BYTES } from '../../../core/lib/uuid.ts';
import { describeError } from '../../../runtime-real/disk/errors.ts';
import { collectSettings } from './sources.ts';

/** What the command line said. */
export interface FormatOptions {
  readonly file: string | null;
  readonly flags: readonly string[];
  readonly clusterId: string;
  /** A directory that is formatted already is left alone, and that is no error. */
  readonly ignoresFormatted: boolean;
}

const EXIT_CANNOT_RUN = 1;
const EXIT_USAGE = 2;

/** Formats the log directory of the configuration; the exit code. */
export function format(options: FormatOptions): number {
  const { clusterId } = options;
  if (!isUuid(clusterId)) return refuse(EXIT_USAGE, `--cluster-id ${clusterId} is not 22 characters of base64.`);
  const collected = collectSettings({ file: options.file, environment: process.env, flags: options.flags });
  if (collected.kind === 'failed') return refuse(collected.code, collected.sentence);
  const { config, problems } = parseSettings(collected.entries);
  const error = problems.find(({ severity }) => severity === 'error');
  if (error !== undefined) return refuse(EXIT_USAGE, error.sentence);
  const folder = path.resolve(config['log.dirs'][0] ?? '');
  try {
    fs.mkdirSync(folder, { recursive: true });
    const names = fs.readdirSync(folder).filter((name) => !name.startsWith('.') && name !== 'lost+found');
    if (names.includes(META_PROPERTIES)) {
      if (options.ignoresFormatted) return say(`${folder} is formatted already.`);
      return refuse(EXIT_CANNOT_RUN, `${folder} is formatted already; --ignore-formatted leaves it as it is.`);
    }
    if (names.length > 0) return refuse(EXIT_CANNOT_RUN, `${folder} is not empty: it holds ${names[0]}.`);
    const directoryId = randomUuid(crypto.randomBytes(UUID_BYTES), 0);
    const { checkpoint, metaProperties } = formattedFiles(config, clusterId, directoryId, Date.now());
    fs.mkdirSync(path.dirname(path.join(folder, BOOTSTRAP_PATH)));
    writeDurably(path.join(folder, BOOTSTRAP_PATH), checkpoint);
    syncFolder(folder);
    writeDurably(path.join(folder, META_PROPERTIES), metaProperties);
    return say(`Formatted ${folder} for node ${config['node.id']} of cluster ${clusterId}, directory ${directoryId}.`);
  } catch (failure) {
    return refuse(EXIT_CANNOT_RUN, `${folder} cannot be formatted: ${describeError(failure)}.`);
  }
}

function writeDurably(file: string, bytes: Uint8Array): void {
  fs.writeFileSync(file, bytes, { flush: true });
  syncFolder(path.dirname(file));
}

function syncFolder(folder: string): void {
  const descriptor = fs.openSync(folder, 'r');
  fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
}

function say(sentence: string): number {
  process.stdout.write(`${sentence}\n`);
  return 0;
}

function refuse(code: number, sentence: string): number {
  process.stderr.write(`tidemark: ${sentence}\n`);
  return code;
}
