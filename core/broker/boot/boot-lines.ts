/**
 * The lines of the checkpoints at a start: which are about what the image has under their names, and which are of
 * earlier topics and must go, durably, before a log is made that would be taken for theirs.
 *
 * Lines of logs at rest are their topics' own as long as the image has those topics, so that they are counted and not
 * looked at one by one.
 */
import { ZERO_UUID } from '../../lib/uuid.ts';
import type { Outbox } from '../../lib/world.ts';
import type { LogFound } from '../../log/types.ts';
import { topicByName } from '../../metadata/image.ts';
import { knowLines, write } from '../checkpoints/checkpoints.ts';
import {
  HIGH_WATERMARKS,
  LOG_STARTS,
  METADATA_FOLDER,
  parseCheckpoint,
  parseFolderName,
  partitionName,
  RECOVERY_POINTS,
  readCheckpoint,
} from '../checkpoints/files.ts';
import { addLineName, createLineNames } from '../checkpoints/line-names.ts';
import { setAsideName } from '../checkpoints/removal.ts';
import type { Node } from '../state.ts';
import { ask, type Boot } from './boot.ts';
import { restedTopicId } from './rested.ts';

/** Takes the text of a checkpoint; false where it makes no sense. */
export function takeLines(node: Node, boot: Boot, file: string, text: string): boolean {
  const names = createLineNames();
  const offsets = new Map<string, number>();
  const isWhole = readCheckpoint(text, (topic, partition, offset) => {
    addLineName(names, topic, partition);
    if (restedTopicId(boot.rested, topic, partition) === null) offsets.set(partitionName(topic, partition), offset);
  });
  if (!isWhole) return false;
  boot.checkpoints.set(file, offsets);
  knowLines(node, file, names);
  return true;
}

/** The image is known: topics that it does not have do not rest any more, and their folders are looked at as others. */
export function dropForeignRested(node: Node, boot: Boot): void {
  const { topics } = boot.rested;
  let hasChanged = false;
  for (const [name, { id, places }] of [...topics]) {
    const image = topicByName(node.image, name);
    const isHere = (place: number, at: number): boolean =>
      place <= 0 || image?.partitions[at]?.replicas.includes(node.nodeId) === true;
    if (image?.id === id && places.every(isHere)) continue;
    hasChanged = true;
    topics.delete(name);
    for (const [partition, place] of places.entries()) {
      if (place <= 0) continue;
      const folder = partitionName(name, partition);
      boot.folders.found.push({ topic: name, partition, name: folder, topicId: id, hasLog: true });
    }
  }
  if (hasChanged) for (const [file, text] of boot.texts) takeLines(node, boot, file, text);
}

/** Finds the lines of earlier topics and asks for the files to be written without them. */
export function purgeLines(node: Node, boot: Boot, out: Outbox): void {
  const { stale } = boot.folders;
  findStale(node, boot);
  for (const [file, offsets] of boot.checkpoints) {
    if (![...stale.keys()].some((name) => offsets.has(name))) continue;
    for (const name of stale.keys()) offsets.delete(name);
    const all = parseCheckpoint(boot.texts.get(file) ?? '');
    if (all === 'malformed') continue;
    const lines = [...all].flatMap(([name, offset]) => {
      const parsed = stale.has(name) ? null : parseFolderName(name);
      return parsed === null ? [] : [{ ...parsed, offset }];
    });
    write(node, file, lines, boot.owner, ask(node, boot, `purged:${file}`), out);
  }
}

const NONE_TAKEN: ReadonlySet<string> = new Set();

/** Which lines are not about what the image has under their names. */
function findStale(node: Node, boot: Boot): void {
  const { found, deleted, stale } = boot.folders;
  const ids = new Map(found.map(({ name, topicId }) => [name, topicId]));
  const setAsides = new Set(deleted.map((name) => name.slice(0, name.lastIndexOf('.'))));
  for (const offsets of boot.checkpoints.values()) {
    for (const name of offsets.keys()) {
      const parsed = parseFolderName(name);
      if (name === METADATA_FOLDER || parsed === null) continue;
      const image = topicByName(node.image, parsed.topic);
      const isWanted = image?.partitions[parsed.partition]?.replicas.includes(node.nodeId) === true;
      const id = ids.get(name);
      if (isWanted && (id === image?.id || id === null)) continue;
      const setAside = setAsideName(parsed.topic, parsed.partition, ZERO_UUID, 'delete', NONE_TAKEN);
      const wasDeleted = setAsides.has(setAside.slice(0, setAside.lastIndexOf('.')));
      // A lost folder keeps its offsets, so that none is given out twice, unless the log could not begin there.
      const isLost = isWanted && id === undefined && !wasDeleted && isConsistent(boot, name);
      if (!isLost) stale.set(name, isWanted);
    }
  }
}

/** Whether a log without records can begin where the lines say. */
function isConsistent(boot: Boot, name: string): boolean {
  const { recoveryPoint, highWatermark, logStartOffset } = linesFor(boot, name);
  return logStartOffset <= Math.max(recoveryPoint, highWatermark);
}

/** What the checkpoints say of a log that does not rest. */
export function linesFor(boot: Boot, name: string): LogFound {
  const highWatermark = boot.checkpoints.get(HIGH_WATERMARKS)?.get(name);
  const logStartOffset = boot.checkpoints.get(LOG_STARTS)?.get(name) ?? 0;
  return {
    clean: boot.isClean,
    recoveryPoint: boot.checkpoints.get(RECOVERY_POINTS)?.get(name) ?? 0,
    highWatermark: highWatermark ?? 0,
    logStartOffset,
    // Without a line nobody knows; see `lowering.ts`.
    wasReset: highWatermark === 0 && logStartOffset > 0,
  };
}
