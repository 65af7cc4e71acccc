/**
 * A partition whose topic was deleted: its readers and writers are told at once, then its folder goes.
 *
 * quiet (what its log asked of the disk is answered: an open under way could make a file in a folder of a later topic)
 * → closing (its files) → renaming (to `<topic>-<partition>.<uuid>-delete`, durably) → unlisting (its lines go from the
 * checkpoints: the name is free from then on) → keeping (until `file.delete.delay.ms` after the deletion, so that
 * what was deleted by mistake can be copied) → removing. A crash before the rename is durable leaves a folder whose
 * topic id the image does not have; the next start sets it aside. A crash or a stop after it leaves a name that says
 * that it may go, and that lines about it may be left: the next start removes it, without waiting.
 *
 * On a full disk neither the rename nor the checkpoints may get through, and what is deleted may be what fills it: then
 * the folder is emptied at once (`emptySetAside`). It stays itself until no line about it is left, because a start that
 * found the lines without it would believe them of the next topic of that name.
 */
import { setDeadline, type Timed } from '../../lib/heap.ts';
import { nextOwner, nextTicket } from '../../lib/ids.ts';
import { UUID_BYTES, uuidToBytes } from '../../lib/uuid.ts';
import type { DiskInput, Env, FolderEntry, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { failAll } from '../../replication/leader.ts';
import { finishLookup } from '../api/02-list-offsets.ts';
import { exitNode } from '../exit.ts';
import { failStart } from '../partitions/delete-records.ts';
import { ripen, takeRead } from '../partitions/fetch.ts';
import { markDirty } from '../partitions/fetch-sessions.ts';
import { recount } from '../partitions/partitions.ts';
import { nameIsFree } from '../partitions/topics.ts';
import type { Node, Partition } from '../state.ts';
import { dropLines } from './checkpoints.ts';
import { PARTITION_METADATA, partitionName } from './files.ts';

/** The longest name of a folder. */
const NAME_MAX = 255;

/** The state of a removal. */
export interface Removal extends Timed {
  readonly kind: 'removal';
  readonly owner: number;
  /** The name of the folder. */
  readonly name: string;
  readonly from: string;
  /** The name under which it is set aside. */
  readonly asideName: string;
  /** Where it is set aside; `from` itself where a full disk refused the rename. */
  to: string;
  readonly files: readonly number[];
  /** Until when it is kept, `env.nowMs`; Infinity: for the life of the node. */
  readonly keptUntilMs: number;
  stage: 'quiet' | 'closing' | 'renaming' | 'unlisting' | 'keeping' | 'removing';
  /** Its files went before their time. */
  isEmptied: boolean;
  /** Tickets that the stage waits for. */
  readonly awaited: Set<number>;
}

/** Everyone who waits for the partition is told that there is no such partition, or that it is not here any more. */
export function leaveReaders(node: Node, partition: Partition): void {
  const { leader, reads, lookups, subscriptions, topic } = partition;
  const isDeleted = !node.topics.byId.has(topic.id);
  const error = isDeleted ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION : ErrorCode.NOT_LEADER_OR_FOLLOWER;
  failAll(leader, error, isDeleted ? 'the topic was deleted' : 'the replica has moved', node.finished);
  failStart(node, partition, error);
  leader.epoch = -1;
  leader.inSync = null;
  for (const ticket of [...(reads?.keys() ?? [])]) takeRead(node, partition, ticket, { kind: 'error', error });
  const found = { error, offset: -1, timestampMs: -1, leaderEpoch: -1 };
  for (const ticket of [...(lookups?.keys() ?? [])]) finishLookup(node, partition, ticket, found);
  for (const subscription of subscriptions.splice(0)) {
    subscription.partition = null;
    subscription.place = -1;
    markDirty(subscription);
    const { parked } = subscription.session;
    if (parked !== null) ripen(node, parked);
  }
}

/** Begins to take the folder away; the partition's name is not free until its end. */
export function beginRemoval(node: Node, env: Env, partition: Partition, out: Outbox): void {
  const { log, topic, index } = partition;
  const name = partitionName(topic.name, index);
  const hasLog = partition.phase === 'log';
  const asideName = setAsideName(topic.name, index, topic.id, 'delete', node.topics.asideNames);
  node.topics.asideNames.add(asideName);
  const removal: Removal = {
    kind: 'removal',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner: hasLog ? log.owner : nextOwner(node.ids),
    name,
    from: log.folder,
    asideName,
    to: `${node.folder}/${asideName}`,
    files: log.segments
      .flatMap(({ logFile, indexFile, timeFile }) => [logFile, indexFile, timeFile])
      .filter((file) => file !== 0),
    keptUntilMs: env.nowMs + log.config.fileDeleteDelayMs,
    stage: 'quiet',
    isEmptied: false,
    awaited: new Set(log.asks?.keys()),
  };
  setDeadline(node.deadlines, partition, Number.POSITIVE_INFINITY);
  log.ring = null;
  log.aheads = null;
  recount(node, partition);
  node.machines.delete(log.owner);
  node.machines.set(removal.owner, removal);
  node.topics.leaving.set(name, null);
  if (removal.awaited.size === 0) goOn(node, env, removal, out);
}

/**
 * The name of a folder that is set aside, as Kafka makes it: the topic's name is cut where it would be too long. A
 * replica that comes back and goes again may find that its last folder still has the name: the next number is taken.
 */
export function setAsideName(
  topic: string,
  partition: number,
  id: string,
  why: 'delete' | 'stray',
  taken: ReadonlySet<string>,
): string {
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(id, bytes, 0);
  const view = new DataView(bytes.buffer);
  const first = view.getUint32(UUID_BYTES - 4);
  let name = '';
  for (let turn = 0; turn <= taken.size; turn++) {
    view.setUint32(UUID_BYTES - 4, first + turn);
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const tail = `-${partition}.${hex}-${why}`;
    name = topic.slice(0, NAME_MAX - tail.length) + tail;
    if (!taken.has(name)) break;
  }
  return name;
}

/** Takes an answer of the disk: to the removal, or to what its log had asked. */
export function stepRemoval(node: Node, env: Env, removal: Removal, input: DiskInput, out: Outbox): void {
  if (input.kind === 'diskFailed' && input.error === 'io') {
    exitNode(node, 1, `the log directory ${node.folder} failed (${removal.name}: ${input.detail})`);
    return;
  }
  const isRefused = input.kind === 'diskFailed' && input.during === 'rename' && input.error !== 'notFound';
  if (isRefused) removal.to = removal.from;
  if (!removal.awaited.delete(input.ticket)) return;
  if (input.kind === 'listed') removeFiles(node, removal, input.entries, out);
  if (removal.awaited.size === 0) goOn(node, env, removal, out);
}

function goOn(node: Node, env: Env, removal: Removal, out: Outbox): void {
  const ask = (): { owner: number; ticket: number } => {
    const ticket = nextTicket(node.ids);
    removal.awaited.add(ticket);
    return { owner: removal.owner, ticket };
  };
  switch (removal.stage) {
    case 'quiet':
      removal.stage = 'closing';
      for (const file of removal.files) out.push({ kind: 'closeFile', file, ...ask() });
      if (removal.awaited.size === 0) goOn(node, env, removal, out);
      break;
    case 'closing':
      removal.stage = 'renaming';
      out.push({ kind: 'rename', from: removal.from, to: removal.to, ...ask() });
      out.push({ kind: 'syncFolder', path: node.folder, ...ask() });
      break;
    case 'renaming':
      removal.stage = 'unlisting';
      if (removal.to === removal.from) emptySetAside(node, removal, out);
      dropLines(node, env, removal.name, removal, out);
      break;
    case 'unlisting':
    case 'keeping':
      break; // They ask nothing themselves.
    case 'removing':
      node.machines.delete(removal.owner);
      node.topics.asideNames.delete(removal.asideName);
      break;
  }
}

/** No checkpoint mentions the folder name any more: it is free, and what was set aside goes when its time has come. */
export function linesGone(node: Node, name: string, removal: Removal | null, out: Outbox): void {
  if (removal?.isEmptied === true) {
    removeSetAside(node, removal, out);
  } else if (removal !== null) {
    removal.stage = 'keeping';
    setDeadline(node.deadlines, removal, removal.keptUntilMs);
  }
  nameIsFree(node, name, out);
}

/** The deadline has come, or might have. */
export function wakeRemoval(node: Node, env: Env, removal: Removal, out: Outbox): void {
  if (removal.stage !== 'keeping') return;
  if (env.nowMs >= removal.keptUntilMs) removeSetAside(node, removal, out);
  else setDeadline(node.deadlines, removal, removal.keptUntilMs);
}

/** Lets what was set aside take no room any more, but for its name and what says whose it was. */
export function emptySetAside(node: Node, removal: Removal, out: Outbox): void {
  if (removal.isEmptied) return;
  removal.isEmptied = true;
  const ticket = nextTicket(node.ids);
  removal.awaited.add(ticket);
  out.push({ kind: 'list', path: removal.to, owner: removal.owner, ticket });
}

function removeFiles(node: Node, removal: Removal, entries: readonly FolderEntry[], out: Outbox): void {
  for (const { name } of entries) {
    if (name === PARTITION_METADATA) continue;
    const ticket = nextTicket(node.ids);
    removal.awaited.add(ticket);
    out.push({ kind: 'remove', path: `${removal.to}/${name}`, owner: removal.owner, ticket });
  }
}

/** Takes the renamed folder away. */
function removeSetAside(node: Node, removal: Removal, out: Outbox): void {
  removal.stage = 'removing';
  const ticket = nextTicket(node.ids);
  removal.awaited.add(ticket);
  out.push({ kind: 'remove', path: removal.to, owner: removal.owner, ticket });
}
