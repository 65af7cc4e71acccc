/**
 * `tidemark format`: makes an empty log directory that of a cluster whose id is known beforehand. A node that starts on
 * an empty directory formats itself; this is for whoever wants to choose the id, or to look before starting. A crash
 * leaves a directory that may be formatted again, or started on.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { BOOTSTRAP_PATH, formattedFiles, HALF_FORMATTED } from '../../../core/broker/boot/format.ts';
import { META_PROPERTIES, METADATA_FOLDER, randomUuid } from '../../../core/broker/checkpoints/files.ts';
import { parseSettings } from '../../../core/config/parse.ts';
import { EXIT_CANNOT_RUN, EXIT_USAGE } from '../../../core/lib/exit-codes.ts';
import { isUuid, UUID_BYTES } from '../../../core/lib/uuid.ts';
import { describeError } from '../../../runtime-real/disk/errors.ts';
import { ASIDE_SUFFIX } from '../../../runtime-real/disk/names.ts';
import { lockFolder } from '../../../runtime-real/lock.ts';
import { readFounders } from './founders.ts';
import { collectSettings } from './sources.ts';

/** What the command line said. */
export interface FormatOptions {
  readonly file: string | null;
  readonly flags: readonly string[];
  readonly clusterId: string;
  /** Who votes in the new cluster: see `Founders`; or what --initial-controllers says. */
  readonly founders: 'configured' | 'alone' | 'others' | { readonly list: string };
  /** A directory that is formatted already is left alone, and that is no error. */
  readonly ignoresFormatted: boolean;
}

/** Formats the log directory of the configuration; the exit code. */
export function format(options: FormatOptions): number {
  const { clusterId } = options;
  if (!isUuid(clusterId)) return refuse(EXIT_USAGE, `--cluster-id ${clusterId} is not 22 characters of base64.`);
  const collected = collectSettings({ file: options.file, environment: process.env, flags: options.flags });
  if (collected.kind === 'failed') return refuse(collected.code, collected.sentence);
  const { config, problems } = parseSettings(collected.entries);
  const error = problems.find(({ severity }) => severity === 'error');
  if (error !== undefined) return refuse(EXIT_USAGE, error.sentence);
  const wanted = config['cluster.id'];
  if (wanted !== null && wanted !== clusterId) {
    return refuse(EXIT_USAGE, `--cluster-id is ${clusterId}, but the configuration has cluster.id=${wanted}.`);
  }
  const founding = readFounders(config, options.founders);
  if (typeof founding === 'string') return refuse(EXIT_USAGE, founding);
  const folder = path.resolve(config['log.dirs'][0] ?? '');
  try {
    makeFolder(folder);
    const locking = lockFolder(folder);
    if (locking.kind === 'refused') return refuse(EXIT_CANNOT_RUN, `${folder} ${locking.reason}.`);
    let isUnused = true;
    try {
      const names = namesIn(folder);
      if (names.includes(META_PROPERTIES)) {
        if (options.ignoresFormatted) return say(`${folder} is formatted already.`);
        return refuse(EXIT_CANNOT_RUN, `${folder} is formatted already; --ignore-formatted leaves it as it is.`);
      }
      const foreign = foreignName(folder, names);
      if (foreign !== null) return refuse(EXIT_CANNOT_RUN, `${folder} is not empty: it holds ${foreign}.`);
      isUnused = false;
      const directoryId = founding.directoryId ?? randomUuid(crypto.randomBytes(UUID_BYTES), 0);
      writeFiles(folder, formattedFiles(config, clusterId, directoryId, Date.now(), founding.founders));
      return say(
        `Formatted ${folder} for node ${config['node.id']} of cluster ${clusterId}, directory ${directoryId}.`,
      );
    } finally {
      locking.lock.release(isUnused);
    }
  } catch (failure) {
    return refuse(EXIT_CANNOT_RUN, `${folder} cannot be formatted: ${describeError(failure)}.`);
  }
}

/** Makes the folder and what lies above it, durably: an earlier attempt may have made it and not got any further. */
function makeFolder(folder: string): void {
  const first = fs.mkdirSync(folder, { recursive: true });
  let made = folder;
  syncFolder(path.dirname(made));
  while (first !== undefined && made !== first && made !== path.dirname(made)) {
    made = path.dirname(made);
    syncFolder(path.dirname(made));
  }
}

/** What counts in a folder: hidden files and what a crash left of a write aside do not. */
function namesIn(folder: string): string[] {
  const names = fs.readdirSync(folder);
  return names.filter((name) => !/^(\..*|lost\+found|.*\.tmp)$/.test(name) && !name.endsWith(ASIDE_SUFFIX));
}

/** The first name that a format which was cut short cannot have left; null if there is none. */
function foreignName(folder: string, names: readonly string[]): string | null {
  const foreign = names.find((name) => name !== METADATA_FOLDER);
  if (foreign !== undefined) return foreign;
  if (names.length === 0) return null;
  const inside = namesIn(path.join(folder, METADATA_FOLDER)).find((name) => !HALF_FORMATTED.includes(name));
  return inside === undefined ? null : `${METADATA_FOLDER}/${inside}`;
}

/** The checkpoint first, \`meta.properties\` last: only a directory that has the latter counts as formatted. */
function writeFiles(folder: string, files: ReturnType<typeof formattedFiles>): void {
  const checkpoint = path.join(folder, BOOTSTRAP_PATH);
  fs.mkdirSync(path.dirname(checkpoint), { recursive: true });
  if (files.checkpoint !== null) writeDurably(checkpoint, files.checkpoint);
  syncFolder(folder);
  writeDurably(path.join(folder, META_PROPERTIES), files.metaProperties);
}

/** A crash leaves the whole file or none of that name. */
function writeDurably(file: string, bytes: Uint8Array): void {
  fs.writeFileSync(file + ASIDE_SUFFIX, bytes, { flush: true });
  fs.renameSync(file + ASIDE_SUFFIX, file);
  syncFolder(path.dirname(file));
}

function syncFolder(folder: string): void {
  const descriptor = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function say(sentence: string): number {
  process.stdout.write(`${sentence}\n`);
  return 0;
}

function refuse(code: number, sentence: string): number {
  process.stderr.write(`tidemark: ${sentence}\n`);
  return code;
}
