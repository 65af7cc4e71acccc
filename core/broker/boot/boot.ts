/**
 * The start of a node, by named stages, until clients are served.
 *
 * entropy → listing (what is in the log directory?) → half (a format that a crash cut short?) or making (the directory
 * is missing) → formatting (it is empty: a voter of a new cluster) or identity (whose is it?) → marker (was the last
 * stop clean, and which logs did it leave at rest? what says so goes before anything is written) → checkpoints →
 * folders (which partitions are there, as far as their logs do not rest) → listening (so that the broker can say where)
 * → quorum (the metadata log is opened and led, and this broker registers) → tidying (folders become what the committed
 * image says) → logs (each is opened, and recovered unless the stop was clean) → unfencing (the controller lets this
 * broker take part, and gives its partitions new leader epochs) → topics (those that the configuration wants). A
 * directory that is not ours is refused before anything in it is touched.
 *
 * A crash at any stage is safe: `meta.properties` is written last of what makes a directory, and all other stages are
 * repeated.
 */
import { assert } from '../../lib/assert.ts';
import type { Timed } from '../../lib/heap.ts';
import { nextOwner, nextTicket } from '../../lib/ids.ts';
import { UUID_BYTES } from '../../lib/uuid.ts';
import type { DiskInput, Env, FolderEntry, HostInput, Outbox } from '../../lib/world.ts';
import {
  CLEAN_SHUTDOWN,
  fileText,
  HIGH_WATERMARKS,
  LOG_STARTS,
  META_PROPERTIES,
  METADATA_FOLDER,
  parseCleanShutdown,
  parseMetaProperties,
  RECOVERY_POINTS,
  randomUuid,
} from '../checkpoints/files.ts';
import { seedPeers } from '../control/peers.ts';
import { exitNode } from '../exit.ts';
import { say } from '../say.ts';
import type { Node } from '../state.ts';
import {
  type BootFolders,
  createBootFolders,
  openLogs,
  readFolders,
  sortEntries,
  takeFolderAnswer,
} from './boot-folders.ts';
import { takeLines } from './boot-lines.ts';
import { beginListening } from './boot-serve.ts';
import { beginFormat, HALF_FORMATTED, takeFormatting } from './format.ts';
import { NOTHING_RESTED, parseRested, RESTED, type RestedLogs } from './rested.ts';

/** How far the start has come, in this order. */
export type BootStage =
  | 'entropy'
  | 'listing'
  | 'half'
  | 'making'
  | 'formatting'
  | 'identity'
  | 'marker'
  | 'checkpoints'
  | 'folders'
  | 'listening'
  | 'quorum'
  | 'tidying'
  | 'logs'
  | 'unfencing'
  | 'topics';

/** The state of a start. */
export interface Boot extends Timed {
  readonly kind: 'boot';
  readonly owner: number;
  stage: BootStage;
  /** What each ticket that is awaited was about. */
  readonly asked: Map<number, string>;
  /** What the log directory held. */
  entries: readonly FolderEntry[];
  isClean: boolean;
  /** The file of logs at rest as it was found, until the marker says whether it may be believed; null for none. */
  restedBytes: Uint8Array | null;
  rested: RestedLogs;
  /** Offsets by checkpoint file, then by the partition's folder name; of partitions whose logs do not rest. */
  readonly checkpoints: Map<string, Map<string, number>>;
  /** By checkpoint file: all of it. */
  readonly texts: Map<string, string>;
  readonly folders: BootFolders;
  /** For the identities that a new directory, and this start, need. */
  entropy: Uint8Array;
  readonly seed: number;
  /** Whether CreateTopics has been asked and not answered. */
  isCreating: boolean;
  /** Whether topics of the configuration have become usable in this step. */
  isDue: boolean;
  /** Whether it was said that topics of the configuration wait for other nodes. */
  hasSaidWait: boolean;
  /** Listeners that are not up yet. */
  listenersLeft: number;
  readonly startedMs: number;
}

/** Of the cluster, of the directory, of this start. */
const UUIDS = 3;
const CHECKPOINTS = [RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS];
/** What a directory may hold and still count as empty: locks, and what a crash left of a file being put in place. */
const HARMLESS = /^(\..*|lost\+found|.*\.(tmp|tidemark-tmp))$/;

/** Begins the start. */
export function bootNode(node: Node, env: Env, seed: number, out: Outbox): void {
  assert(node.stage === 'new', 'a node starts once');
  node.stage = 'booting';
  node.sessions.seed = seed === 0 ? 1 : seed;
  seedPeers(node.peers, seed);
  const boot: Boot = {
    kind: 'boot',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner: nextOwner(node.ids),
    stage: 'entropy',
    asked: new Map(),
    entries: [],
    isClean: false,
    restedBytes: null,
    rested: NOTHING_RESTED,
    checkpoints: new Map(),
    texts: new Map(),
    folders: createBootFolders(),
    entropy: new Uint8Array(0),
    seed,
    isCreating: false,
    isDue: false,
    hasSaidWait: false,
    listenersLeft: 0,
    startedMs: env.nowMs,
  };
  node.boot = boot;
  node.machines.set(boot.owner, boot);
  const [, second] = node.config['log.dirs'];
  if (second !== undefined) say(out, 'warn', 'only the first of log.dirs is used yet', new Map([['unused', second]]));
  const length = UUIDS * UUID_BYTES;
  out.push({ kind: 'entropy', length, owner: boot.owner, ticket: ask(node, boot, 'entropy') });
}

/** Takes an answer of the world to the start. */
export function stepBoot(
  node: Node,
  env: Env,
  boot: Boot,
  input: DiskInput | Extract<HostInput, { kind: 'entropy' }>,
  out: Outbox,
): void {
  const about = boot.asked.get(input.ticket);
  if (about === undefined) return;
  boot.asked.delete(input.ticket);
  switch (boot.stage) {
    case 'entropy':
      if (input.kind !== 'entropy') return;
      boot.entropy = input.bytes;
      node.lifecycle.incarnationId = randomUuid(input.bytes, 2 * UUID_BYTES);
      boot.stage = 'listing';
      out.push({ kind: 'list', path: node.folder, owner: boot.owner, ticket: ask(node, boot, node.folder) });
      break;
    case 'listing':
      takeListing(node, boot, input, out);
      break;
    case 'half':
      takeHalf(node, boot, input, out);
      break;
    case 'making':
      takeMaking(node, env, boot, input, about, out);
      break;
    case 'formatting':
      takeFormatting(node, boot, input, about, out);
      break;
    case 'identity':
      takeIdentity(node, boot, input, out);
      break;
    case 'marker':
      takeMarker(node, env, boot, input, about, out);
      break;
    case 'checkpoints':
      takeCheckpoint(node, boot, input, about, out);
      break;
    case 'folders':
    case 'tidying':
      takeFolderAnswer(node, env, boot, input, about, out);
      break;
    default:
      assert(false, 'an answer came in a stage that asks nothing of the disk');
  }
}

/** A log is open and has a leader. */
export function bootPartitionOpened(node: Node, env: Env, out: Outbox): void {
  const boot = node.boot as Boot;
  if (boot.stage !== 'logs') return;
  boot.folders.opening -= 1;
  openLogs(node, env, boot, out);
}

/** What a start is answered. */
export type DiskAnswer = DiskInput | Extract<HostInput, { kind: 'entropy' }>;
type DiskFailure = Extract<DiskInput, { kind: 'diskFailed' }>;

function takeListing(node: Node, boot: Boot, input: DiskAnswer, out: Outbox): void {
  if (input.kind === 'diskFailed' && input.error === 'notFound') {
    const asked = { owner: boot.owner, ticket: ask(node, boot, node.folder) };
    out.push({ kind: 'makeFolder', path: node.folder, ...asked });
    syncParent(node, boot, out);
    return;
  }
  if (input.kind !== 'listed') {
    refuse(node, `cannot list the log directory ${node.folder}`, input);
    return;
  }
  boot.entries = input.entries;
  if (input.entries.some(({ name }) => name === META_PROPERTIES)) {
    boot.stage = 'identity';
    load(node, boot, META_PROPERTIES, out);
    return;
  }
  const foreign = input.entries.find(({ name }) => !HARMLESS.test(name) && name !== METADATA_FOLDER);
  if (foreign !== undefined) {
    const what = `it holds ${foreign.name} but no ${META_PROPERTIES}`;
    exitNode(node, 1, `the log directory ${node.folder} is not Tidemark's: ${what}; nothing was touched`);
    return;
  }
  if (input.entries.some(({ name }) => name === METADATA_FOLDER)) {
    boot.stage = 'half';
    const path = `${node.folder}/${METADATA_FOLDER}`;
    out.push({ kind: 'list', path, owner: boot.owner, ticket: ask(node, boot, path) });
    return;
  }
  // An earlier life may have made the folder and died before its name was durable.
  syncParent(node, boot, out);
}

/** A metadata log without `meta.properties`: of a format that was cut short, or somebody's whose name is lost. */
function takeHalf(node: Node, boot: Boot, input: DiskAnswer, out: Outbox): void {
  if (input.kind !== 'listed') {
    refuse(node, `cannot list ${METADATA_FOLDER}`, input);
    return;
  }
  if (input.entries.every(({ name }) => HARMLESS.test(name) || HALF_FORMATTED.includes(name))) {
    syncParent(node, boot, out);
    return;
  }
  const what = `it holds ${METADATA_FOLDER} but no ${META_PROPERTIES}`;
  exitNode(node, 1, `the log directory ${node.folder} cannot be used: ${what}; nothing was touched`);
}

/** Makes the name of the log directory durable; the stage 'making' is through once that is answered. */
function syncParent(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'making';
  const parent = node.folder.slice(0, node.folder.lastIndexOf('/'));
  const path = parent === '' ? '/' : parent;
  out.push({ kind: 'syncFolder', path, owner: boot.owner, ticket: ask(node, boot, 'parent') });
}

function takeMaking(node: Node, env: Env, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed') {
    if (about !== 'parent' || input.error === 'io') {
      refuse(node, `cannot make the log directory ${node.folder}`, input);
      return;
    }
    say(out, 'warn', 'a power loss may lose the new log directory: its parent cannot be synced', detailOf(input));
  }
  if (boot.asked.size > 0) return;
  boot.stage = 'formatting';
  beginFormat(node, env, boot, out);
}

function takeIdentity(node: Node, boot: Boot, input: DiskAnswer, out: Outbox): void {
  if (input.kind !== 'loaded') {
    refuse(node, `cannot read ${META_PROPERTIES}`, input);
    return;
  }
  const meta = parseMetaProperties(fileText(input.bytes));
  const problem = 'problem' in meta ? meta.problem : mismatch(node, meta.nodeId, meta.clusterId);
  if (problem !== null || 'problem' in meta) {
    const path = `${node.folder}/${META_PROPERTIES}`;
    exitNode(node, 1, `${path} ${problem}; nothing was touched`);
    return;
  }
  if (!boot.entries.some(({ name }) => name === METADATA_FOLDER)) {
    const why = `holds no ${METADATA_FOLDER}: an earlier, unpublished version made it, or its metadata is lost`;
    exitNode(node, 1, `the log directory ${node.folder} ${why}; nothing was touched`);
    return;
  }
  if (meta.directoryId === null) {
    exitNode(node, 1, `${node.folder}/${META_PROPERTIES} has no directory.id; nothing was touched`);
    return;
  }
  node.clusterId = meta.clusterId;
  node.directoryId = meta.directoryId;
  boot.isClean = boot.entries.some(({ name }) => name === CLEAN_SHUTDOWN);
  const hasRested = boot.entries.some(({ name }) => name === RESTED);
  boot.stage = 'marker';
  if (boot.isClean) load(node, boot, CLEAN_SHUTDOWN, out);
  if (boot.isClean && hasRested) load(node, boot, RESTED, out);
  // Without a marker nobody believes it; it goes all the same, as the marker does.
  if (!boot.isClean && hasRested) remove(node, boot, RESTED, out);
  if (boot.asked.size === 0) loadCheckpoints(node, boot, out);
}

/** The marker is read, with what came with it; then both are removed, durably, before anything is written. */
function takeMarker(node: Node, env: Env, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed') {
    refuse(node, `cannot read or remove ${about}`, input);
    return;
  }
  const isRead = input.kind === 'loaded';
  if (isRead && about === CLEAN_SHUTDOWN) node.lifecycle.previousEpoch = parseCleanShutdown(fileText(input.bytes));
  if (isRead && about === RESTED) boot.restedBytes = input.bytes;
  if (boot.asked.size > 0) return;
  if (isRead) {
    if (boot.restedBytes !== null) believeRested(node, env, boot, boot.restedBytes, out);
    remove(node, boot, CLEAN_SHUTDOWN, out);
    if (boot.restedBytes !== null) remove(node, boot, RESTED, out);
    out.push({ kind: 'syncFolder', path: node.folder, owner: boot.owner, ticket: ask(node, boot, node.folder) });
    boot.restedBytes = null;
    return;
  }
  loadCheckpoints(node, boot, out);
}

function believeRested(node: Node, env: Env, boot: Boot, bytes: Uint8Array, out: Outbox): void {
  const of = { brokerEpoch: node.lifecycle.previousEpoch, directoryId: node.directoryId };
  const rested = parseRested(bytes, env, of);
  if (typeof rested !== 'string') {
    boot.rested = rested;
    return;
  }
  env.reached('broker.rested.refused');
  const fields = new Map([
    ['file', `${node.folder}/${RESTED}`],
    ['reason', rested],
  ]);
  say(out, 'info', 'logs at rest are not believed: every folder is looked into', fields);
}

function mismatch(node: Node, nodeId: number, clusterId: string): string | null {
  if (nodeId !== node.nodeId) return `belongs to node ${nodeId}, and this is node ${node.nodeId}`;
  const wanted = node.config['cluster.id'];
  return wanted === null || wanted === clusterId ? null : `belongs to cluster ${clusterId}, not to ${wanted}`;
}

function loadCheckpoints(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'checkpoints';
  sortEntries(boot, out);
  for (const name of CHECKPOINTS) load(node, boot, name, out);
}

function takeCheckpoint(node: Node, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed' && input.error !== 'notFound') {
    refuse(node, `cannot read ${about}`, input);
    return;
  }
  if (input.kind === 'loaded') {
    const text = fileText(input.bytes);
    boot.texts.set(about, text);
    if (!takeLines(node, boot, about, text)) {
      boot.texts.delete(about);
      say(out, 'error', 'a file makes no sense and is passed over', new Map([['file', `${node.folder}/${about}`]]));
    }
  }
  if (boot.asked.size > 0) return;
  boot.stage = 'folders';
  readFolders(node, boot, out);
}

/** All folders are known. */
export function bootFoldersRead(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'listening';
  beginListening(node, boot, out);
}

function load(node: Node, boot: Boot, name: string, out: Outbox): void {
  out.push({ kind: 'load', path: `${node.folder}/${name}`, owner: boot.owner, ticket: ask(node, boot, name) });
}

function remove(node: Node, boot: Boot, name: string, out: Outbox): void {
  out.push({ kind: 'remove', path: `${node.folder}/${name}`, owner: boot.owner, ticket: ask(node, boot, name) });
}

/** A ticket whose answer belongs to the start, and what it is about. */
export function ask(node: Node, boot: Boot, about: string): number {
  const ticket = nextTicket(node.ids);
  boot.asked.set(ticket, about);
  return ticket;
}

/** The start cannot go on: the node ends with the reason. */
export function refuse(node: Node, what: string, input: DiskAnswer): void {
  const why = input.kind === 'diskFailed' ? `${input.error} (${input.detail})` : `an unexpected ${input.kind}`;
  exitNode(node, 1, `${what}: ${why}`);
}

function detailOf(input: DiskFailure): ReadonlyMap<string, string> {
  return new Map([['reason', `${input.error}: ${input.detail}`]]);
}
