/**
 * Tells the controller in which log directory the replicas of this node are, where the image says otherwise (KIP-858).
 *
 * A node has one log directory, and new partitions are put there from the start. But a node whose disk was swapped
 * comes back with an empty directory of another id: until the controller knows that its replicas are in this one, it
 * takes them for lost with the old one, and lets them lead nothing. A replica whose bytes are damaged is called lost
 * until it has been mended (`partitions/mending.ts`).
 *
 * One call is under way at a time, for at most ASSIGNED_MAX replicas. What is refused or lost is tried again. The image
 * says when it is done: a partition that is where the image has it is not in `misplaced`. A crash forgets all of it;
 * the next life compares anew.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { DirectoryId } from '../../metadata/describe-topics.ts';
import type { PartitionImage } from '../../metadata/image.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../../protocol/messages/index.ts';
import { mendWhole } from '../partitions/mending.ts';
import { say } from '../say.ts';
import type { Node, Partition } from '../state.ts';
import { activeController, type CallOutcome, callController } from './controller-calls.ts';

const KEY = 73;
const VERSION = 0;
/** Replicas in one call. */
export const ASSIGNED_MAX = 2_000;
/** Between a call in vain and the next, ms. */
const RETRY_MS = 500;

/** The state. */
export interface Directories {
  /** Partitions whose replica here is in another directory than the image says. */
  readonly misplaced: Set<Partition>;
  isCalling: boolean;
  /** Whether it was said that replicas begin anew here. */
  hasSaid: boolean;
  /** No call before this, `env.nowMs`. */
  retryAtMs: number;
}

/** Nothing is misplaced. */
export function createDirectories(): Directories {
  return { misplaced: new Set(), isCalling: false, hasSaid: false, retryAtMs: Number.NEGATIVE_INFINITY };
}

/** What the image says of a partition that is kept here. */
export function noteDirectory(node: Node, partition: Partition, { replicas, directories }: PartitionImage): void {
  const { inSync, nodeId, directoryId } = node;
  const { misplaced } = inSync.directories;
  // Metadata of old versions know no directories.
  const said = directories[replicas.indexOf(nodeId)] ?? directoryId;
  if (said === DirectoryId.LOST && partition.mend === null) mendWhole(partition);
  if (said === wantedOf(node, partition)) {
    if (misplaced.size > 0) misplaced.delete(partition);
    return;
  }
  misplaced.add(partition);
  inSync.isTouched = true;
}

/** Where the replica is, to the controller. */
function wantedOf({ directoryId }: Node, { mend }: Partition): string {
  return mend === null || mend.stage === 'done' ? directoryId : DirectoryId.LOST;
}

/** Calls the controller if there is something to say and somebody to hear it. */
export function pumpDirectories(node: Node, env: Env, out: Outbox): void {
  const { inSync, lifecycle, nodeId } = node;
  const { directories } = inSync;
  if (directories.misplaced.size === 0 || directories.isCalling || env.nowMs < directories.retryAtMs) return;
  // A new controller, or the registration, brings us back here.
  if (lifecycle.epoch < 0 || activeController(node) < 0) return;
  env.reached('broker.directory_assigned');
  sayAnew(node, out);
  directories.isCalling = true;
  directories.retryAtMs = env.nowMs + RETRY_MS;
  const body = { brokerId: nodeId, brokerEpoch: lifecycle.epoch, directories: assigned(node) };
  callController(node, env, KEY, VERSION, body, { kind: 'directories' }, out);
}

/** Loudly, once in the life of the node: whatever only the other directory had is not here. */
function sayAnew({ inSync, folder, directoryId }: Node, out: Outbox): void {
  const { directories } = inSync;
  const replicas = [...directories.misplaced].filter(({ mend }) => mend === null).length;
  if (directories.hasSaid || replicas === 0) return;
  directories.hasSaid = true;
  const fields = new Map<string, string | number>([
    ['folder', folder],
    ['directoryId', directoryId],
    ['replicas', replicas],
  ]);
  const text =
    'the cluster knows replicas of this node in another log directory: they begin anew here, and are fetched';
  say(out, 'error', text, fields);
}

type Assigned = RequestOf<typeof KEY>['directories'][number];

function assigned(node: Node): Assigned[] {
  const topics = new Map<string, Map<string, { partitionIndex: number }[]>>();
  let left = ASSIGNED_MAX;
  for (const partition of node.inSync.directories.misplaced) {
    if (left-- === 0) break;
    const id = wantedOf(node, partition);
    const inDirectory = topics.get(id) ?? new Map<string, { partitionIndex: number }[]>();
    topics.set(id, inDirectory);
    const partitions = inDirectory.get(partition.topic.id) ?? [];
    partitions.push({ partitionIndex: partition.index });
    inDirectory.set(partition.topic.id, partitions);
  }
  return [...topics].map(([id, inDirectory]) => ({
    id,
    topics: [...inDirectory].map(([topicId, partitions]) => ({ topicId, partitions })),
  }));
}

/** The controller has answered, or cannot be asked. What it has written down is not said again. */
export function answerDirectories(node: Node, outcome: CallOutcome): void {
  const { inSync, topics } = node;
  const { directories } = inSync;
  directories.isCalling = false;
  inSync.isTouched = true;
  if ('failure' in outcome) return;
  const response = outcome.response as ResponseInputOf<typeof KEY>;
  for (const directory of response.directories) {
    for (const { topicId, partitions } of directory.topics) {
      for (const { partitionIndex, errorCode } of partitions) {
        const partition = topics.byId.get(topicId)?.partitions[partitionIndex] ?? null;
        if (partition === null || errorCode !== ErrorCode.NONE) continue;
        directories.misplaced.delete(partition);
        directories.retryAtMs = Number.NEGATIVE_INFINITY;
      }
    }
  }
}

/** When what was in vain is tried again, `env.nowMs`; Infinity for never, or once a controller is known. */
export function directoriesDeadlineMs({ misplaced, isCalling, retryAtMs }: Directories, nowMs: number): number {
  return misplaced.size > 0 && !isCalling && retryAtMs > nowMs ? retryAtMs : Number.POSITIVE_INFINITY;
}
