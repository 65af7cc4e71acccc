/**
 * Whether what lies on a node's disk comes to what the node has in memory: the newest sound checkpoint of the metadata,
 * and the log behind it, read from the simulated disk byte by byte and replayed, are the committed image.
 *
 * Everything below the high watermark is on the disk at any time, so this holds between any two steps, unless the disk
 * has damaged it. It costs a replay of all metadata: it is done at the first commit of a life and then at one in so
 * many.
 */
import type { Node } from '../../core/broker/node.ts';
import { CONTROLLER } from '../../core/controller/machine.ts';
import { decodeAll } from '../../core/coordination/coordinator.ts';
import type { Place } from '../../core/coordination/machine.ts';
import { assert } from '../../core/lib/assert.ts';
import type { Env } from '../../core/lib/world.ts';
import { offsetOf } from '../../core/log/names.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { readBatch, splitBatches } from '../../core/raft/batches.ts';
import { createCheckpointReader, isWhole, takeCheckpoint } from '../../core/raft/checkpoint-read.ts';
import { checkpointOf, metadataFolder, type SnapshotId } from '../../core/raft/names.ts';
import { readContent } from '../disk/content.ts';
import type { Disk } from '../disk/disk.ts';
import { isFolder, resolve } from '../disk/tree.ts';

/** Commits between two replays of one life. */
const COMMITS_PER_REPLAY = 8;

/** What was replayed last, plain data. */
export interface ReplayCheck {
  /** The offset behind the records that were looked at last, and how many commits have been seen since. */
  nextOffset: number;
  commits: number;
  /** How often it was done in this run. */
  replays: number;
}

/** Nothing was looked at yet. */
export function createReplayCheck(): ReplayCheck {
  return { nextOffset: -1, commits: 0, replays: 0 };
}

/** A new life: its first commit is looked at. */
export function beginReplayCheck(check: ReplayCheck): void {
  check.nextOffset = -1;
  check.commits = 0;
}

/** Looks after a step of the node. Throws AssertionError where disk and memory differ. */
export function checkReplay(check: ReplayCheck, node: Node, disk: Disk, env: Env): void {
  const { controller } = node;
  if (disk.damages.some(({ path }) => path.startsWith(`${metadataFolder(node.folder)}/`))) return;
  const coordinator = controller?.quorum.coordinator;
  if (controller === null || coordinator === undefined || coordinator.committed === null) return;
  // A node that follows goes on loading for ever; what it has told is committed.
  if (coordinator.stage !== 'active' && !(coordinator.stage === 'loading' && coordinator.isTold)) return;
  const { place, view } = coordinator.committed;
  if (place.nextOffset === check.nextOffset) return;
  check.nextOffset = place.nextOffset;
  check.commits += 1;
  if (check.commits % COMMITS_PER_REPLAY !== 1) return;
  check.replays += 1;
  // What it comes by is no path of the node's.
  const quiet = { ...env, reached: () => {} };
  const image = replay(disk, metadataFolder(node.folder), place.nextOffset, quiet);
  assert(typeof image !== 'string', `what lies on the disk cannot be replayed: ${image}`);
  const state = CONTROLLER.activate(image, { ...activation(node), nowMs: env.nowMs, seed: 1 });
  assert(typeof state !== 'string', 'what lies on the disk cannot be served');
  const difference = firstDifference(partsOf(CONTROLLER.view(state.state)), partsOf(view), 'the image');
  assert(difference === null, `the replay of checkpoint and log is not what is committed: ${difference}`);
}

/** All of an image but where it stands in the log. */
function partsOf(image: MetadataImage): Omit<MetadataImage, 'provenance'> {
  const { provenance: _, ...parts } = image;
  return parts;
}

/**
 * Where two values of plain data and maps differ; null where they do not. Not by the code that writes snapshots: what
 * that leaves out would be missed on both sides.
 */
function firstDifference(a: unknown, b: unknown, where: string): string | null {
  if (a === b) return null;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return where;
  if (a instanceof Map) return b instanceof Map ? differenceOfMaps(a, b, where) : where;
  const keys = Object.keys(a);
  if (b instanceof Map || keys.length !== Object.keys(b).length) return where;
  for (const key of keys) {
    const one: unknown = Reflect.get(a, key);
    const other: unknown = Reflect.get(b, key);
    // Most of what an image lists is empty on both sides, and one object.
    if (one === other && one !== undefined) continue;
    if (!Object.hasOwn(b, key)) return `${where}, ${key}`;
    const found = firstDifference(one, other, `${where}, ${key}`);
    if (found !== null) return found;
  }
  return null;
}

function differenceOfMaps(a: Map<unknown, unknown>, b: Map<unknown, unknown>, where: string): string | null {
  if (a.size !== b.size) return where;
  for (const [key, value] of a) {
    if (!b.has(key)) return `${where}, ${String(key)}`;
    const found = firstDifference(value, b.get(key), `${where}, ${String(key)}`);
    if (found !== null) return found;
  }
  return null;
}

function activation({ controller }: Node) {
  assert(controller !== null, 'a node without a controller has no metadata');
  return { config: controller.quorum.config, isNew: false, bootstrap: [] };
}

type Loading = ReturnType<typeof CONTROLLER.beginLoad>;

/** Everything below `upTo`, as it would be loaded; a sentence where that fails. */
function replay(disk: Disk, folder: string, upTo: number, env: Env): Loading | string {
  const { entry } = resolve(disk.tree, folder);
  if (entry === undefined || !isFolder(entry)) return 'there is no folder';
  const bytesOf = (name: string): Uint8Array => {
    const file = entry.entries.get(name);
    return file === undefined || isFolder(file) ? NO_BYTES : readContent(file.content, 0, file.content.size);
  };
  const loading = CONTROLLER.beginLoad();
  const names = [...entry.entries.keys()];
  const snapshots = names.flatMap((name) => {
    const id = checkpointOf(name);
    return id === null ? [] : [{ name, id }];
  });
  snapshots.sort((a, b) => b.id.endOffset - a.id.endOffset);
  let from = 0;
  for (const { name, id } of snapshots) {
    if (id.endOffset === 0 || id.endOffset > upTo) continue;
    const place = placeOf(id);
    const batches = readSnapshot(id, bytesOf(name), env);
    if (batches === null) continue;
    const problem = load(loading, batches, place, env);
    if (problem !== null) return problem;
    from = id.endOffset;
    break;
  }
  const bases = names.map((name) => offsetOf(name, '.log')).filter((base) => base >= 0);
  bases.sort((a, b) => a - b);
  return loadLog(loading, bases, bytesOf, { from, upTo }, env) ?? loading;
}

function placeOf({ endOffset, epoch }: SnapshotId): Place {
  return { baseOffset: endOffset - 1, nextOffset: endOffset, leaderEpoch: epoch, timestampMs: 0 };
}

const NO_BYTES = new Uint8Array(0);

function readSnapshot(id: SnapshotId, bytes: Uint8Array, env: Env): Uint8Array[] | null {
  const reader = createCheckpointReader(id, 0);
  reader.sizeBytes = bytes.length;
  const batches = takeCheckpoint(reader, env, bytes);
  return batches !== null && isWhole(reader) ? batches : null;
}

function load(loading: Loading, batches: readonly Uint8Array[], place: Place, env: Env): string | null {
  const values = batches.flatMap((one) => readBatch(one, env).values);
  const records = decodeAll(CONTROLLER, values);
  if (typeof records === 'string') return records;
  const changes = CONTROLLER.load(loading, records, place, false);
  return typeof changes === 'string' ? changes : null;
}

function loadLog(
  loading: Loading,
  bases: readonly number[],
  bytesOf: (name: string) => Uint8Array,
  { from, upTo }: { readonly from: number; readonly upTo: number },
  env: Env,
): string | null {
  let next = from;
  for (const [index, base] of bases.entries()) {
    const after = bases[index + 1] ?? Number.POSITIVE_INFINITY;
    if (after <= next || base >= upTo) continue;
    for (const bytes of splitBatches([bytesOf(`${String(base).padStart(20, '0')}.log`)])) {
      const batch = readBatch(bytes, env);
      if (batch.nextOffset <= next || batch.baseOffset >= upTo) continue;
      if (batch.baseOffset > next) return `offset ${next} is missing`;
      next = batch.nextOffset;
      if (batch.values.length === 0) continue;
      const problem = load(loading, [bytes], batch, env);
      if (problem !== null) return problem;
    }
  }
  return next >= upTo ? null : `the log ends at ${next}, below ${upTo}`;
}
