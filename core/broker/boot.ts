/**
 * The start of a node, by named stages, until clients are served.
 *
 * listing: what is in the log directory? → making (it is missing) → formatting (it is empty) or identity (whose is
 * it?) → marker (was the last stop clean? the marker goes before anything is written) → checkpoints → life (this
 * start gets its number, the least leader epoch of the old topics) → folders (which partitions are there) → logs
 * (each is opened, and recovered unless the stop was clean) → topics (those that the configuration wants) →
 * listening. A directory that is not ours is refused before anything in it is touched.
 *
 * A crash at any stage is safe: what was formatted is durable before it is used, and all other stages are repeated.
 */
import { assert } from '../lib/assert.ts';
import type { Timed } from '../lib/heap.ts';
import { nextOwner, nextTicket } from '../lib/ids.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Env, FolderEntry, HostInput, Outbox } from '../lib/world.ts';
import { EPOCH_MAX } from '../log/epochs.ts';
import { type BootFolders, createBootFolders, openNextLogs, readFolders, takeFolderAnswer } from './boot-folders.ts';
import { bootLogsDone } from './boot-serve.ts';
import { exitNode } from './exit.ts';
import {
  CLEAN_SHUTDOWN,
  fileText,
  formatMetaProperties,
  formatNumber,
  HIGH_WATERMARKS,
  LOG_STARTS,
  META_PROPERTIES,
  PRODUCER_IDS,
  parseCheckpoint,
  parseMetaProperties,
  parseNumber,
  RECOVERY_POINTS,
  randomUuid,
  STARTS,
} from './files.ts';
import { say } from './say.ts';
import type { Node } from './state.ts';

/** How far the start has come, in this order. */
export type BootStage =
  | 'listing'
  | 'making'
  | 'formatting'
  | 'identity'
  | 'marker'
  | 'checkpoints'
  | 'life'
  | 'folders'
  | 'logs'
  | 'topics'
  | 'listening';

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
  /** Offsets by checkpoint file, then by the partition's folder name. */
  readonly checkpoints: Map<string, Map<string, number>>;
  readonly folders: BootFolders;
  /** How often the node had started before. Leader epochs of this life begin here. */
  life: number;
  /** From the file of producer ids; -1 when it was absent or made no sense. */
  producerIdsNext: number;
  /** Listeners that are not up yet. */
  listenersLeft: number;
  readonly startedMs: number;
}

const ENTROPY_BYTES = 32;
const CHECKPOINTS = [RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, PRODUCER_IDS, STARTS];
/** What a directory may hold and still count as empty: locks, and what a crash left of a file being put in place. */
const HARMLESS = /^(\..*|lost\+found|.*\.(tmp|tidemark-tmp))$/;

/** Begins the start. */
export function startNode(node: Node, env: Env, seed: number, out: Outbox): void {
  assert(node.stage === 'new', 'a node starts once');
  node.stage = 'booting';
  node.sessions.seed = seed === 0 ? 1 : seed;
  const boot: Boot = {
    kind: 'boot',
    deadlineMs: Number.POSITIVE_INFINITY,
    heapIndex: -1,
    owner: nextOwner(node.ids),
    stage: 'listing',
    asked: new Map(),
    entries: [],
    isClean: false,
    checkpoints: new Map(),
    folders: createBootFolders(),
    life: 0,
    producerIdsNext: -1,
    listenersLeft: 0,
    startedMs: env.nowMs,
  };
  node.boot = boot;
  node.machines.set(boot.owner, boot);
  const [, second] = node.config['log.dirs'];
  if (second !== undefined) say(out, 'warn', 'only the first of log.dirs is used yet', new Map([['unused', second]]));
  out.push({ kind: 'list', path: node.folder, owner: boot.owner, ticket: ask(node, boot, node.folder) });
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
    case 'listing':
      takeListing(node, boot, input, out);
      break;
    case 'making':
      takeMaking(node, boot, input, about, out);
      break;
    case 'formatting':
      takeFormatting(node, boot, input, out);
      break;
    case 'identity':
      takeIdentity(node, boot, input, out);
      break;
    case 'marker':
      if (input.kind === 'diskFailed') refuse(node, `cannot remove ${CLEAN_SHUTDOWN}`, input);
      else if (boot.asked.size === 0) loadCheckpoints(node, boot, out);
      break;
    case 'checkpoints':
      takeCheckpoint(node, boot, input, about, out);
      break;
    case 'life':
      if (input.kind === 'diskFailed') {
        refuse(node, `cannot write ${STARTS}`, input);
      } else {
        boot.stage = 'folders';
        readFolders(node, env, boot, out);
      }
      break;
    case 'folders':
    case 'logs':
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
  openNextLogs(node, env, boot, out);
}

type DiskAnswer = DiskInput | Extract<HostInput, { kind: 'entropy' }>;
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
  const foreign = input.entries.find(({ name }) => !HARMLESS.test(name));
  if (foreign !== undefined) {
    const what = `it holds ${foreign.name} but no ${META_PROPERTIES}`;
    exitNode(node, 1, `the log directory ${node.folder} is not Tidemark's: ${what}; nothing was touched`);
    return;
  }
  // An earlier life may have made the folder and died before its name was durable.
  syncParent(node, boot, out);
}

/** Makes the name of the log directory durable; the stage 'making' is through once that is answered. */
function syncParent(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'making';
  const parent = node.folder.slice(0, node.folder.lastIndexOf('/'));
  const path = parent === '' ? '/' : parent;
  out.push({ kind: 'syncFolder', path, owner: boot.owner, ticket: ask(node, boot, 'parent') });
}

function takeMaking(node: Node, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed') {
    if (about !== 'parent' || input.error === 'io') {
      refuse(node, `cannot make the log directory ${node.folder}`, input);
      return;
    }
    say(out, 'warn', 'a power loss may lose the new log directory: its parent cannot be synced', detailOf(input));
  }
  if (boot.asked.size > 0) return;
  boot.stage = 'formatting';
  askEntropy(node, boot, out);
}

function takeFormatting(node: Node, boot: Boot, input: DiskAnswer, out: Outbox): void {
  if (input.kind === 'entropy') {
    node.clusterId = node.config['cluster.id'] ?? randomUuid(input.bytes, 0);
    const directoryId = randomUuid(input.bytes, 16);
    const text = formatMetaProperties({ version: 1, clusterId: node.clusterId, nodeId: node.nodeId, directoryId });
    const path = `${node.folder}/${META_PROPERTIES}`;
    const asked = { owner: boot.owner, ticket: ask(node, boot, META_PROPERTIES) };
    out.push({ kind: 'replace', path, bytes: encodeUtf8(text), ...asked });
    writeLife(node, boot, out);
    return;
  }
  if (input.kind === 'diskFailed') {
    refuse(node, `cannot format the log directory ${node.folder}`, input);
    return;
  }
  if (boot.asked.size > 0) return;
  const fields = new Map([
    ['folder', node.folder],
    ['clusterId', node.clusterId],
  ]);
  say(out, 'info', 'formatted an empty log directory', fields);
  boot.isClean = true;
  boot.entries = [];
  bootLogsDone(node, boot, out);
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
  if (boot.entries.some(({ name }) => name === '__cluster_metadata-0')) {
    const why = 'holds the metadata log of a Kafka cluster, which this version cannot read';
    exitNode(node, 1, `the log directory ${node.folder} ${why}; nothing was touched`);
    return;
  }
  node.clusterId = meta.clusterId;
  boot.isClean = boot.entries.some(({ name }) => name === CLEAN_SHUTDOWN);
  if (!boot.isClean) {
    loadCheckpoints(node, boot, out);
    return;
  }
  boot.stage = 'marker';
  const path = `${node.folder}/${CLEAN_SHUTDOWN}`;
  out.push({ kind: 'remove', path, owner: boot.owner, ticket: ask(node, boot, CLEAN_SHUTDOWN) });
  out.push({ kind: 'syncFolder', path: node.folder, owner: boot.owner, ticket: ask(node, boot, node.folder) });
}

function mismatch(node: Node, nodeId: number, clusterId: string): string | null {
  if (nodeId !== node.nodeId) return `belongs to node ${nodeId}, and this is node ${node.nodeId}`;
  const wanted = node.config['cluster.id'];
  return wanted === null || wanted === clusterId ? null : `belongs to cluster ${clusterId}, not to ${wanted}`;
}

function loadCheckpoints(node: Node, boot: Boot, out: Outbox): void {
  boot.stage = 'checkpoints';
  for (const name of CHECKPOINTS) load(node, boot, name, out);
}

function takeCheckpoint(node: Node, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed' && input.error !== 'notFound') {
    refuse(node, `cannot read ${about}`, input);
    return;
  }
  if (input.kind === 'loaded') {
    const text = fileText(input.bytes);
    const isNumber = about === PRODUCER_IDS || about === STARTS;
    const parsed = isNumber ? parseNumber(text) : parseCheckpoint(text);
    if (parsed === 'malformed' || (about === STARTS && Number(parsed) >= EPOCH_MAX)) {
      say(out, 'error', 'a file makes no sense and is passed over', new Map([['file', `${node.folder}/${about}`]]));
    } else if (typeof parsed === 'number') {
      if (about === PRODUCER_IDS) boot.producerIdsNext = parsed;
      else boot.life = parsed + 1;
    } else {
      boot.checkpoints.set(about, parsed);
    }
  }
  if (boot.asked.size > 0) return;
  boot.stage = 'life';
  writeLife(node, boot, out);
}

/** Durable before anything is led: two lives never append under one epoch. */
function writeLife(node: Node, boot: Boot, out: Outbox): void {
  const bytes = encodeUtf8(formatNumber(boot.life));
  const asked = { owner: boot.owner, ticket: ask(node, boot, STARTS) };
  out.push({ kind: 'replace', path: `${node.folder}/${STARTS}`, bytes, ...asked });
}

function load(node: Node, boot: Boot, name: string, out: Outbox): void {
  out.push({ kind: 'load', path: `${node.folder}/${name}`, owner: boot.owner, ticket: ask(node, boot, name) });
}

function askEntropy(node: Node, boot: Boot, out: Outbox): void {
  out.push({ kind: 'entropy', length: ENTROPY_BYTES, owner: boot.owner, ticket: ask(node, boot, 'entropy') });
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
