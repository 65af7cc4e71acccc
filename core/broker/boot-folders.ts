/**
 * The part of a start that finds the partitions: reads each folder's metadata, settles what crashes and damage have
 * left, and opens the logs.
 *
 * A topic is complete when its partition 0 has its metadata (see topics.ts). An incomplete topic without a record is
 * taken away: nobody was ever told of it. Whatever holds records is kept and said aloud, never removed.
 */
import { topicConfig } from '../config/log-config.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import { UUID_BYTES } from '../lib/uuid.ts';
import type { DiskInput, Env, HostInput, Outbox } from '../lib/world.ts';
import type { LogFound } from '../log/types.ts';
import { ask, type Boot, refuse } from './boot.ts';
import { bootLogsDone } from './boot-serve.ts';
import { exitNode } from './exit.ts';
import {
  fileText,
  formatPartitionMetadata,
  HIGH_WATERMARKS,
  LOG_STARTS,
  PARTITION_METADATA,
  parseFolderName,
  parsePartitionMetadata,
  partitionName,
  RECOVERY_POINTS,
  randomUuid,
} from './files.ts';
import { createPartition, openPartition } from './partitions.ts';
import { say } from './say.ts';
import type { Node, Partition, Topic } from './state.ts';
import { showTopic } from './topics.ts';

/** Folders that a topic may lack between those it has; more is a folder that is not ours. */
export const GAP_MAX = 1000;
/** Folders that are looked into, and logs that are opened, at one time. */
export const FOLDERS_AT_ONCE_MAX = 64;

/** One partition's folder. */
interface Folder {
  readonly topic: string;
  readonly partition: number;
  readonly name: string;
  /** Null when it has no metadata that can be read. */
  topicId: string | null;
  /** It holds more than its metadata. */
  hasLog: boolean;
}

/** What has been found so far. */
export interface BootFolders {
  readonly found: Folder[];
  /** The next of `found` to look into. */
  next: number;
  /** Partitions to open, the next at the end. */
  readonly toOpen: Partition[];
  opening: number;
  readonly topics: Topic[];
  /** For the ids of topics that have lost theirs; null until it is needed. */
  entropy: Uint8Array | null;
}

/** Nothing found yet. */
export function createBootFolders(): BootFolders {
  return { found: [], next: 0, toOpen: [], opening: 0, topics: [], entropy: null };
}

/** Looks into every partition's folder. */
export function readFolders(node: Node, env: Env, boot: Boot, out: Outbox): void {
  for (const { name, isFolder } of boot.entries) {
    if (!isFolder) continue;
    const parsed = parseFolderName(name);
    if (parsed !== null) {
      boot.folders.found.push({ ...parsed, name, topicId: null, hasLog: false });
    } else if (name.endsWith('-delete')) {
      const path = `${node.folder}/${name}`;
      out.push({ kind: 'remove', path, owner: boot.owner, ticket: ask(node, boot, 'removed') });
    } else {
      say(out, 'warn', 'a folder is not a partition and is passed over', new Map([['folder', name]]));
    }
  }
  readNext(node, env, boot, out);
}

/** An answer in the stages 'folders' and 'logs'. */
export function takeFolderAnswer(
  node: Node,
  env: Env,
  boot: Boot,
  input: DiskInput | Extract<HostInput, { kind: 'entropy' }>,
  about: string,
  out: Outbox,
): void {
  const folder = boot.folders.found[Number(about.slice(about.indexOf(':') + 1))];
  if (input.kind === 'entropy') {
    boot.folders.entropy = input.bytes;
  } else if (about.startsWith('metadata:') && folder !== undefined) {
    if (input.kind === 'loaded') {
      const id = parsePartitionMetadata(fileText(input.bytes));
      if (id !== 'malformed') folder.topicId = id;
    } else if (input.kind !== 'diskFailed' || input.error !== 'notFound') {
      refuse(node, `cannot read ${folder.name}/${PARTITION_METADATA}`, input);
      return;
    }
  } else if (about.startsWith('files:') && folder !== undefined) {
    if (input.kind !== 'listed') {
      refuse(node, `cannot list ${folder.name}`, input);
      return;
    }
    folder.hasLog = input.entries.some(({ name }) => name !== PARTITION_METADATA && !name.endsWith('.tmp'));
  } else if (input.kind === 'diskFailed') {
    refuse(node, `cannot tidy the log directory ${node.folder}`, input);
    return;
  }
  if (boot.stage === 'folders') readNext(node, env, boot, out);
  else if (boot.asked.size === 0) openNextLogs(node, env, boot, out);
}

/** Opens as many logs as may be opened at one time; when all are open the start goes on. */
export function openNextLogs(node: Node, env: Env, boot: Boot, out: Outbox): void {
  const { folders } = boot;
  while (folders.opening < FOLDERS_AT_ONCE_MAX) {
    const partition = folders.toOpen.pop();
    if (partition === undefined) break;
    folders.opening += 1;
    openPartition(node, env, partition, foundOf(boot, partition), out);
  }
  if (folders.opening > 0) return;
  for (const topic of folders.topics) showTopic(node, topic);
  bootLogsDone(node, boot, out);
}

function readNext(node: Node, env: Env, boot: Boot, out: Outbox): void {
  const { folders } = boot;
  while (folders.next < folders.found.length && boot.asked.size < FOLDERS_AT_ONCE_MAX) {
    const index = folders.next;
    const path = `${node.folder}/${folders.found[index]!.name}`;
    folders.next += 1;
    const { owner } = boot;
    const metadata = ask(node, boot, `metadata:${index}`);
    out.push({ kind: 'load', path: `${path}/${PARTITION_METADATA}`, owner, ticket: metadata });
    out.push({ kind: 'list', path, owner, ticket: ask(node, boot, `files:${index}`) });
  }
  if (boot.asked.size === 0) settleFolders(node, env, boot, out);
}

/** All folders are known: decides about each topic, mends what can be mended, and begins to open the logs. */
function settleFolders(node: Node, env: Env, boot: Boot, out: Outbox): void {
  const byTopic = new Map<string, Folder[]>();
  for (const folder of boot.folders.found) {
    const group = byTopic.get(folder.topic);
    if (group === undefined) byTopic.set(folder.topic, [folder]);
    else group.push(folder);
  }
  const nameless = [...byTopic.values()].filter((group) => isKept(group) && group.every((one) => one.topicId === null));
  if (nameless.length > 0 && boot.folders.entropy === null) {
    const ticket = ask(node, boot, 'ids');
    out.push({ kind: 'entropy', length: nameless.length * UUID_BYTES, owner: boot.owner, ticket });
    return;
  }
  boot.stage = 'logs';
  const taken = new Map<string, string>();
  let drawn = 0;
  for (const [topic, group] of byTopic) {
    if (!isKept(group)) {
      takeAway(node, boot, topic, group, out);
      continue;
    }
    const known = group.find(({ topicId }) => topicId !== null)?.topicId;
    const id = known ?? randomUuid(boot.folders.entropy as Uint8Array, UUID_BYTES * drawn++);
    const problem = problemOf(group, id, taken.get(id));
    if (problem !== null) {
      exitNode(node, 1, `the log directory ${node.folder} is damaged: topic ${topic} ${problem}; nothing was removed`);
      return;
    }
    taken.set(id, topic);
    keep(node, boot, topic, id, group, out);
  }
  boot.folders.toOpen.reverse();
  if (boot.asked.size > 0) {
    out.push({ kind: 'syncFolder', path: node.folder, owner: boot.owner, ticket: ask(node, boot, 'synced') });
  } else {
    openNextLogs(node, env, boot, out);
  }
}

/** Whether a topic is complete, or holds anything that must not be lost. */
function isKept(group: readonly Folder[]): boolean {
  return group.some(({ partition, topicId, hasLog }) => hasLog || (partition === 0 && topicId !== null));
}

/** Why the folders of a topic cannot be used; null when they can. */
function problemOf(group: readonly Folder[], id: string, namesake: string | undefined): string | null {
  if (namesake !== undefined) return `has the id of topic ${namesake}`;
  const other = group.find(({ topicId }) => topicId !== null && topicId !== id);
  if (other !== undefined) return `has another id in ${other.name} than in its other folders`;
  const last = group.reduce((most, { partition }) => Math.max(partition, most), 0);
  return last + 1 - group.length > GAP_MAX ? `lacks most of its folders below partition ${last}` : null;
}

function takeAway(node: Node, boot: Boot, topic: string, group: readonly Folder[], out: Outbox): void {
  say(out, 'info', 'a topic that was never completed is taken away', new Map([['topic', topic]]));
  for (const { name } of group) {
    const path = `${node.folder}/${name}`;
    out.push({ kind: 'remove', path, owner: boot.owner, ticket: ask(node, boot, 'removed') });
  }
}

function keep(node: Node, boot: Boot, name: string, id: string, group: readonly Folder[], out: Outbox): void {
  const topic: Topic = { name, id, partitions: [] };
  const byPartition = new Map(group.map((folder) => [folder.partition, folder]));
  const last = group.reduce((most, { partition }) => Math.max(partition, most), 0);
  boot.folders.topics.push(topic);
  for (let index = 0; index <= last; index++) {
    const folder = byPartition.get(index);
    if (folder?.topicId == null) mend(node, boot, partitionName(name, index), id, folder === undefined, out);
    boot.folders.toOpen.push(createPartition(node, topic, topicConfig(node.config)));
  }
}

/** Writes the metadata that a folder lacks, and makes the folder if it is gone. */
function mend(node: Node, boot: Boot, name: string, id: string, isGone: boolean, out: Outbox): void {
  const { owner } = boot;
  const path = `${node.folder}/${name}`;
  const text = isGone
    ? 'a partition has lost its folder and its records; it begins anew'
    : `a partition has lost its ${PARTITION_METADATA}; it is written again`;
  say(out, 'error', text, new Map([['folder', path]]));
  if (isGone) out.push({ kind: 'makeFolder', path, owner, ticket: ask(node, boot, 'mended') });
  const bytes = encodeUtf8(formatPartitionMetadata(id));
  const ticket = ask(node, boot, 'mended');
  out.push({ kind: 'replace', path: `${path}/${PARTITION_METADATA}`, bytes, owner, ticket });
}

function foundOf(boot: Boot, partition: Partition): LogFound {
  const name = partitionName(partition.topic.name, partition.index);
  return {
    clean: boot.isClean,
    recoveryPoint: boot.checkpoints.get(RECOVERY_POINTS)?.get(name) ?? 0,
    highWatermark: boot.checkpoints.get(HIGH_WATERMARKS)?.get(name) ?? 0,
    logStartOffset: boot.checkpoints.get(LOG_STARTS)?.get(name) ?? 0,
  };
}
