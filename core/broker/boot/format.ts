/**
 * Making an empty log directory that of a node. A node that is a cluster of its own becomes the only voter of a new
 * one (kraft.version 1, KIP-853): a bootstrap checkpoint says so. Where the configuration names several voters, or the
 * node is no controller, the directory begins with nothing: who votes is in the configuration (kraft.version 0), and
 * what a new cluster begins with is decided by its first leader. Such nodes must be told the id of their cluster.
 *
 * The bootstrap checkpoint of the metadata log comes first, durably, and `meta.properties` last: a directory that has
 * the latter is whole, and one that a crash left without it is formatted anew.
 */
import type { NodeConfig } from '../../config/settings.ts';
import { encodeUtf8 } from '../../lib/utf8.ts';
import { UUID_BYTES } from '../../lib/uuid.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { BOOTSTRAP_LEVELS, featureRecords } from '../../metadata/features.ts';
import { encodeMetadataRecord } from '../../metadata/records.ts';
import { bootstrapCheckpoint } from '../../raft/batches.ts';
import { BOOTSTRAP_ID, checkpointName } from '../../raft/names.ts';
import type { Voter } from '../../raft/voters.ts';
import { formatMetaProperties, META_PROPERTIES, METADATA_FOLDER, randomUuid } from '../checkpoints/files.ts';
import { foundsAlone, ownVoter } from '../control/roles.ts';
import { exitNode } from '../exit.ts';
import { say } from '../say.ts';
import type { Node } from '../state.ts';
import { ask, type Boot, bootFoldersRead, type DiskAnswer, refuse } from './boot.ts';

/** What a format that was cut short may have left in the folder of the metadata log. */
export const HALF_FORMATTED: readonly string[] = [checkpointName(BOOTSTRAP_ID)];

/** Where the bootstrap checkpoint lies in a log directory. */
export const BOOTSTRAP_PATH = `${METADATA_FOLDER}/${checkpointName(BOOTSTRAP_ID)}`;

/**
 * Who votes in the cluster that a new directory belongs to. configured: this node where no other is named, else the
 * directory does not say it. others: likewise it does not. alone: this node. Or these voters, of whom it need not be
 * one.
 */
export type Founders = 'configured' | 'others' | 'alone' | readonly Voter[];

/**
 * The two files of a new log directory, the first, if there is one, to be written before the second. `wallMs`: ms since
 * 1970.
 */
export function formattedFiles(
  config: NodeConfig,
  clusterId: string,
  directoryId: string,
  wallMs: number,
  founders: Founders = 'configured',
): { readonly checkpoint: Uint8Array | null; readonly metaProperties: Uint8Array } {
  const meta = { version: 1, clusterId, nodeId: config['node.id'], directoryId } as const;
  const metaProperties = encodeUtf8(formatMetaProperties(meta));
  const isAlone = founders === 'alone' || (founders === 'configured' && foundsAlone(config));
  const voters = isAlone ? [ownVoter(config, directoryId)] : typeof founders === 'string' ? [] : founders;
  if (voters.length === 0) return { checkpoint: null, metaProperties };
  const levels = new Map(BOOTSTRAP_LEVELS.map(({ name, level }) => [name, level]));
  const values = featureRecords(levels).map(encodeMetadataRecord);
  return { checkpoint: bootstrapCheckpoint(voters, values, wallMs), metaProperties };
}

/** Begins: the folder of the metadata log, and what the quorum begins with. */
export function beginFormat(node: Node, env: Env, boot: Boot, out: Outbox): void {
  if (!foundsAlone(node.config) && node.config['cluster.id'] === null) {
    const where = `the log directory ${node.folder} is empty, and this node is one of several`;
    exitNode(node, 1, `${where}: set cluster.id, the same for all of them, or format it (tidemark format)`);
    return;
  }
  node.clusterId = node.config['cluster.id'] ?? randomUuid(boot.entropy, 0);
  node.directoryId = randomUuid(boot.entropy, UUID_BYTES);
  const { owner } = boot;
  const folder = `${node.folder}/${METADATA_FOLDER}`;
  const { checkpoint: bytes } = formattedFiles(node.config, node.clusterId, node.directoryId, env.wallMs);
  out.push({ kind: 'makeFolder', path: folder, owner, ticket: ask(node, boot, 'folder') });
  const path = `${node.folder}/${BOOTSTRAP_PATH}`;
  if (bytes !== null) out.push({ kind: 'replace', path, bytes, owner, ticket: ask(node, boot, 'checkpoint') });
  out.push({ kind: 'syncFolder', path: node.folder, owner, ticket: ask(node, boot, 'synced') });
}

/** An answer in the stage 'formatting'. */
export function takeFormatting(node: Node, boot: Boot, input: DiskAnswer, about: string, out: Outbox): void {
  if (input.kind === 'diskFailed') {
    refuse(node, `cannot format the log directory ${node.folder}`, input);
    return;
  }
  if (boot.asked.size > 0) return;
  const { clusterId, directoryId } = node;
  if (about !== META_PROPERTIES) {
    const { metaProperties: bytes } = formattedFiles(node.config, clusterId, directoryId, 0);
    const path = `${node.folder}/${META_PROPERTIES}`;
    out.push({ kind: 'replace', path, bytes, owner: boot.owner, ticket: ask(node, boot, META_PROPERTIES) });
    return;
  }
  const fields = new Map([
    ['folder', node.folder],
    ['clusterId', clusterId],
    ['directoryId', directoryId],
  ]);
  say(out, 'info', 'formatted an empty log directory', fields);
  boot.isClean = true;
  boot.entries = [];
  bootFoldersRead(node, boot, out);
}
