/**
 * The part of a start that makes folders what the committed image says: each partition's folder is looked into, what
 * crashes and damage have left is settled, and the logs are opened.
 *
 * The image is the truth. A partition that has no folder gets one; loudly, if it had records. A folder whose topic the
 * image does not have is set aside under a name that ends in `-stray`, never removed, unless it holds nothing.
 *
 * Checkpoint lines of earlier topics go first, durably: before a folder is made whose log would be taken for theirs.
 * A crash before that leaves what told them apart: the old folder, or the one that was set aside to be deleted.
 */
import { encodeUtf8 } from '../../lib/utf8.ts';
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { LogFound } from '../../log/types.ts';
import { EMPTY_IMAGE, type MetadataImage, type TopicImage } from '../../metadata/image.ts';
import { mapValues } from '../../metadata/sharded-map.ts';
import { dropLines, scheduleCheckpoints, settleWrite } from '../checkpoints/checkpoints.ts';
import {
  fileText,
  formatPartitionMetadata,
  METADATA_FOLDER,
  PARTITION_METADATA,
  parseFolderName,
  parsePartitionMetadata,
  partitionName,
} from '../checkpoints/files.ts';
import { setAsideName } from '../checkpoints/removal.ts';
import { catchUp, configFor } from '../partitions/apply-image.ts';
import { settleRole } from '../partitions/partition-role.ts';
import { createPartition, openPartition } from '../partitions/partitions.ts';
import { addTopic } from '../partitions/topics.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { ask, type Boot, bootFoldersRead, type DiskAnswer, refuse } from './boot.ts';
import { dropForeignRested, linesFor, purgeLines } from './boot-lines.ts';
import { bootLogsDone } from './boot-serve.ts';
import { seeRested, wakeRested } from './rested.ts';

/** Folders that are looked into, and logs that are opened, at one time. */
export const FOLDERS_AT_ONCE_MAX = 64;

/** The folder of one partition whose log does not rest. */
export interface Folder {
  readonly topic: string;
  readonly partition: number;
  readonly name: string;
  /** Null when it has no metadata that can be read. */
  topicId: string | null;
  /** It holds more than its metadata, or might. */
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
  /** Names of folders that were set aside: they stay. */
  readonly strays: Set<string>;
  /** Names of folders of deleted topics: they go once no line is about them. */
  readonly deleted: string[];
  /** Folder names whose checkpoint lines are about an earlier topic, and whether the image has the name again. */
  readonly stale: Map<string, boolean>;
  /** The image whose topics were taken over; what has changed since is caught up with when their logs are open. */
  takenOver: MetadataImage;
}

/** Nothing found yet. */
export function createBootFolders(): BootFolders {
  return {
    found: [],
    next: 0,
    toOpen: [],
    opening: 0,
    strays: new Set(),
    deleted: [],
    stale: new Map(),
    takenOver: EMPTY_IMAGE,
  };
}

/** Says what each name in the log directory is: the folders of logs at rest need nothing more. */
export function sortEntries(boot: Boot, out: Outbox): void {
  const { folders } = boot;
  for (const { name, isFolder } of boot.entries) {
    if (name.endsWith('-stray')) folders.strays.add(name);
    if (!isFolder || name === METADATA_FOLDER || name.endsWith('-stray')) continue;
    const parsed = parseFolderName(name);
    if (parsed !== null) {
      if (seeRested(boot.rested, parsed.topic, parsed.partition)) continue;
      folders.found.push({ topic: parsed.topic, partition: parsed.partition, name, topicId: null, hasLog: true });
    } else if (name.endsWith('-delete')) {
      folders.deleted.push(name);
    } else {
      say(out, 'warn', 'a folder is not a partition and is passed over', new Map([['folder', name]]));
    }
  }
  boot.entries = [];
}

/** Looks into the folder of every partition whose log does not rest. */
export function readFolders(node: Node, boot: Boot, out: Outbox): void {
  readNext(node, boot, out);
}

/** An answer in the stages 'folders' and 'tidying'. */
export function takeFolderAnswer(
  node: Node,
  env: Env,
  boot: Boot,
  input: DiskAnswer,
  about: string,
  out: Outbox,
): void {
  if (about.startsWith('purged:')) {
    takePurged(node, env, boot, input, about.slice('purged:'.length), out);
    return;
  }
  const at = Number(about.slice(about.indexOf(':') + 1));
  const folder = boot.folders.found[at];
  if (about.startsWith('metadata:') && folder !== undefined) {
    if (input.kind === 'diskFailed' && input.error !== 'notFound') {
      refuse(node, `cannot read ${folder.name}/${PARTITION_METADATA}`, input);
      return;
    }
    const id = input.kind === 'loaded' ? parsePartitionMetadata(fileText(input.bytes)) : 'malformed';
    if (id !== 'malformed') folder.topicId = id;
    else look(node, boot, folder, at, out);
  } else if (about.startsWith('files:') && folder !== undefined) {
    if (input.kind !== 'listed') {
      refuse(node, `cannot list ${folder.name}`, input);
      return;
    }
    folder.hasLog = input.entries.some(({ name }) => name !== PARTITION_METADATA && !/tmp$/.test(name));
    if (boot.stage === 'tidying') setAside(node, boot, folder, out);
  } else if (input.kind === 'diskFailed') {
    refuse(node, `cannot tidy the log directory ${node.folder}`, input);
    return;
  }
  if (boot.stage === 'folders') readNext(node, boot, out);
  else if (boot.asked.size === 0) tidied(node, env, boot, about, out);
}

function readNext(node: Node, boot: Boot, out: Outbox): void {
  const { folders } = boot;
  while (folders.next < folders.found.length && boot.asked.size < FOLDERS_AT_ONCE_MAX) {
    const index = folders.next;
    const path = `${node.folder}/${folders.found[index]?.name}`;
    folders.next += 1;
    const { owner } = boot;
    const metadata = ask(node, boot, `metadata:${index}`);
    out.push({ kind: 'load', path: `${path}/${PARTITION_METADATA}`, owner, ticket: metadata });
  }
  if (boot.asked.size === 0) bootFoldersRead(node, boot, out);
}

/** Asks what a folder holds; `at` is its place among those that the stage is about. */
function look(node: Node, boot: Boot, folder: Folder, at: number, out: Outbox): void {
  const path = `${node.folder}/${folder.name}`;
  const ticket = ask(node, boot, `files:${at}`);
  out.push({ kind: 'list', path, owner: boot.owner, ticket });
}

/** The image of this start is known: lines of earlier topics go, then its topics are taken over. */
export function settleFolders(node: Node, env: Env, boot: Boot, out: Outbox): void {
  boot.stage = 'tidying';
  dropForeignRested(node, boot);
  purgeLines(node, boot, out);
  if (boot.asked.size === 0) takeOverAll(node, env, boot, out);
}

/** A checkpoint has lost its lines of earlier topics, or could not: that matters if their names are needed now. */
function takePurged(node: Node, env: Env, boot: Boot, input: DiskAnswer, file: string, out: Outbox): void {
  const isNeeded = [...boot.folders.stale.values()].includes(true);
  if (input.kind === 'diskFailed' && (input.error !== 'noSpace' || isNeeded)) {
    refuse(node, `cannot write ${file}`, input);
    return;
  }
  settleWrite(node, env, file, input.kind !== 'diskFailed');
  if (boot.asked.size === 0) takeOverAll(node, env, boot, out);
}

/** Takes the topics of the image over, and mends their folders. */
function takeOverAll(node: Node, env: Env, boot: Boot, out: Outbox): void {
  boot.folders.takenOver = node.image;
  for (const [name, isWanted] of boot.folders.stale) {
    if (isWanted) continue;
    node.topics.leaving.set(name, null);
    dropLines(node, env, name, null, out);
  }
  for (const name of boot.folders.deleted) {
    const path = `${node.folder}/${name}`;
    out.push({ kind: 'remove', path, owner: boot.owner, ticket: ask(node, boot, 'removed') });
  }
  const byName = new Map(boot.folders.found.map((folder) => [folder.name, folder]));
  for (const image of mapValues(node.image.topics.byId)) takeOver(node, env, boot, image, byName, out);
  for (const folder of byName.values()) {
    // What has an id was not looked into yet.
    if (folder.topicId !== null) look(node, boot, folder, boot.folders.found.indexOf(folder), out);
    else setAside(node, boot, folder, out);
  }
  boot.folders.toOpen.reverse();
  if (boot.asked.size === 0) openLogs(node, env, boot, out);
}

/** All is tidy: its names are made durable, then the logs are opened. */
function tidied(node: Node, env: Env, boot: Boot, about: string, out: Outbox): void {
  if (about === 'synced') openLogs(node, env, boot, out);
  else out.push({ kind: 'syncFolder', path: node.folder, owner: boot.owner, ticket: ask(node, boot, 'synced') });
}

/** A topic of the image: the folders that are its are taken out of `byName`. */
function takeOver(node: Node, env: Env, boot: Boot, image: TopicImage, byName: Map<string, Folder>, out: Outbox): void {
  const topic = addTopic(node, image.name, image.id);
  const config = configFor(node, image.name);
  for (let index = 0; index < image.partitions.length; index++) {
    if (image.partitions[index]?.replicas.includes(node.nodeId) !== true) {
      topic.partitions.push(null);
      continue;
    }
    const partition = createPartition(node, topic, index, config);
    if (wakeRested(boot.rested, partition.log, image.id, env)) {
      partition.phase = 'log';
      // Only what was committed to its end was left at rest.
      partition.leader.highWatermark = partition.log.end;
      settleRole(node, env, partition, out);
      continue;
    }
    const name = partitionName(image.name, index);
    const folder = byName.get(name);
    byName.delete(name);
    topic.opening += 1;
    boot.folders.toOpen.push(partition);
    if (folder?.topicId === image.id) continue;
    const isOthers = folder !== undefined && folder.topicId !== null;
    if (isOthers) setAside(node, boot, folder, out);
    mend(node, boot, partition, folder === undefined || isOthers ? null : folder, out);
  }
}

/** Writes the metadata that a folder lacks, and makes the folder if there is none. */
function mend(node: Node, boot: Boot, partition: Partition, folder: Folder | null, out: Outbox): void {
  const { owner } = boot;
  const path = partition.log.folder;
  const fields = new Map([['folder', path]]);
  const found = foundOf(boot, partition);
  const hadRecords = found.highWatermark > 0 || found.recoveryPoint > 0;
  if (folder === null && hadRecords) say(out, 'error', 'a partition has lost its folder and its records', fields);
  else if (folder === null) say(out, 'warn', 'a partition has no folder; it gets one', fields);
  if (folder?.hasLog === true) say(out, 'error', `a partition has lost its ${PARTITION_METADATA}`, fields);
  if (folder === null) out.push({ kind: 'makeFolder', path, owner, ticket: ask(node, boot, 'mended') });
  const bytes = encodeUtf8(formatPartitionMetadata(partition.topic.id));
  const ticket = ask(node, boot, 'mended');
  out.push({ kind: 'replace', path: `${path}/${PARTITION_METADATA}`, bytes, owner, ticket });
}

/** A folder of no topic of the image. */
function setAside(node: Node, boot: Boot, folder: Folder, out: Outbox): void {
  const { owner } = boot;
  const from = `${node.folder}/${folder.name}`;
  if (!folder.hasLog) {
    out.push({ kind: 'remove', path: from, owner, ticket: ask(node, boot, 'removed') });
    return;
  }
  const { strays } = boot.folders;
  const name = setAsideName(folder.topic, folder.partition, folder.topicId ?? ZERO_UUID, 'stray', strays);
  strays.add(name);
  const fields = new Map([
    ['folder', folder.name],
    ['now', name],
  ]);
  say(out, 'warn', 'a folder belongs to no topic and is set aside', fields);
  out.push({ kind: 'rename', from, to: `${node.folder}/${name}`, owner, ticket: ask(node, boot, 'stray') });
}

/** Opens as many logs as may be opened at one time; when all are open the start goes on. */
export function openLogs(node: Node, env: Env, boot: Boot, out: Outbox): void {
  boot.stage = 'logs';
  const { folders } = boot;
  while (folders.opening < FOLDERS_AT_ONCE_MAX) {
    const partition = folders.toOpen.pop();
    if (partition === undefined) break;
    folders.opening += 1;
    openPartition(node, env, partition, foundOf(boot, partition), out);
  }
  if (folders.opening > 0) return;
  node.topics.isLoaded = true;
  catchUp(node, env, folders.takenOver, out);
  bootLogsDone(node, env, boot, out);
  scheduleCheckpoints(node);
}

function foundOf(boot: Boot, partition: Partition): LogFound {
  return linesFor(boot, partitionName(partition.topic.name, partition.index));
}
