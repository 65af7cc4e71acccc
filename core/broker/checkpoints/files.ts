/**
 * The small text files of a log directory, in Apache Kafka's formats: read and written as pure functions.
 *
 * `meta.properties` says whose directory it is; `partition.metadata` in each partition's folder carries the topic's
 * id; checkpoints carry one offset a partition; the clean-shutdown marker says that nothing needs recovery. Each is
 * put in place whole ('replace'), so a crash leaves the old text or the new one. A text that does not parse is
 * 'malformed', and what that means is the reader's business.
 */
import { isTopicName } from '../../config/values.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import { decodeUtf8 } from '../../lib/utf8.ts';
import { isUuid, UUID_BYTES, uuidFromBytes } from '../../lib/uuid.ts';

/** Whose directory it is: written once, when the directory is formatted. */
export const META_PROPERTIES = 'meta.properties';
/** Present while the last stop was clean and nothing has been written since. */
export const CLEAN_SHUTDOWN = '.kafka_cleanshutdown';
/** Where recovery of each partition begins. */
export const RECOVERY_POINTS = 'recovery-point-offset-checkpoint';
/** What each partition had shown to its readers. */
export const HIGH_WATERMARKS = 'replication-offset-checkpoint';
/** Where each partition begins, when records were deleted from its front. */
export const LOG_STARTS = 'log-start-offset-checkpoint';
/** In a partition's folder: the id of its topic. */
export const PARTITION_METADATA = 'partition.metadata';
/** The folder of the metadata log. */
export const METADATA_FOLDER = '__cluster_metadata-0';

/** What `meta.properties` holds, in version 1. */
export interface MetaProperties {
  readonly version: number;
  readonly clusterId: string;
  readonly nodeId: number;
  /** Absent in directories that Kafka before 3.7 made. */
  readonly directoryId: string | null;
}

/** One line of a checkpoint. */
export interface CheckpointLine {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

const LINES_MAX = 1_000_000;
const INTEGER = /^-?[0-9]{1,15}$/;
const DIGITS_MAX = 15;
const ZERO = 0x30;

/** The text of a small file; one that is not UTF-8 reads as a text that no format of ours accepts. */
export function fileText(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes, 0, bytes.length);
  } catch (error) {
    if (error instanceof ProtocolError) return '?';
    throw error;
  }
}

/** `meta.properties` as text. */
export function formatMetaProperties(meta: MetaProperties): string {
  const directory = meta.directoryId === null ? '' : `directory.id=${meta.directoryId}\n`;
  return `#\ncluster.id=${meta.clusterId}\n${directory}node.id=${meta.nodeId}\nversion=${meta.version}\n`;
}

/** Reads `meta.properties`; a sentence's end ("has no version") when it cannot be read. */
export function parseMetaProperties(text: string): MetaProperties | { readonly problem: string } {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    const equals = trimmed.indexOf('=');
    if (trimmed.startsWith('#') || trimmed === '') continue;
    if (equals < 1) return { problem: 'holds a line that is not name=value' };
    values.set(trimmed.slice(0, equals).trim(), trimmed.slice(equals + 1).trim());
  }
  const version = values.get('version');
  if (version === undefined || !INTEGER.test(version)) return { problem: 'has no version' };
  if (version !== '1') return { problem: `has version ${version}, and this node knows version 1 only` };
  const nodeId = values.get('node.id');
  if (nodeId === undefined || !INTEGER.test(nodeId)) return { problem: 'has no node.id' };
  const clusterId = values.get('cluster.id');
  if (clusterId === undefined || clusterId === '') return { problem: 'has no cluster.id' };
  return { version: 1, clusterId, nodeId: Number(nodeId), directoryId: values.get('directory.id') ?? null };
}

/** `partition.metadata` as text. */
export function formatPartitionMetadata(topicId: string): string {
  return `version: 0\ntopic_id: ${topicId}`;
}

/** The topic's id in a `partition.metadata`. */
export function parsePartitionMetadata(text: string): string | 'malformed' {
  const lines = text.trim().split('\n');
  if (lines.length !== 2 || lines[0]!.trim() !== 'version: 0') return 'malformed';
  const second = lines[1]!.trim();
  const id = second.startsWith('topic_id: ') ? second.slice('topic_id: '.length) : '';
  return isUuid(id) ? id : 'malformed';
}

/** A checkpoint as text: version, count, then a line each. */
export function formatCheckpoint(lines: readonly CheckpointLine[]): string {
  const text = ['0', String(lines.length)];
  for (const line of lines) text.push(`${line.topic} ${line.partition} ${line.offset}`);
  return `${text.join('\n')}\n`;
}

/** The key of a partition in a parsed checkpoint: as its folder is called. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/**
 * Hands each line of a checkpoint to `take`. False where the text makes no sense: what was handed over by then counts
 * for nothing.
 */
export function readCheckpoint(
  text: string,
  take: (topic: string, partition: number, offset: number) => void,
): boolean {
  const head = /^0\n([0-9]{1,15})(\n|$)/.exec(text);
  const count = head === null ? LINES_MAX + 1 : Number(head[1]);
  if (head === null || count > LINES_MAX) return false;
  let at = head[0].length;
  let topic = '';
  for (let left = count; left > 0; left--) {
    if (at >= text.length) return false;
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    const first = text.indexOf(' ', at);
    const second = text.indexOf(' ', first + 1);
    if (first < 0 || second < 0 || second > end) return false;
    // Lines of one topic stand together, and its name is made once.
    if (topic.length !== first - at || !text.startsWith(topic, at)) topic = text.slice(at, first);
    const partition = wholeNumber(text, first + 1, second);
    const offset = wholeNumber(text, second + 1, end);
    if (partition < 0 || offset < 0) return false;
    take(topic, partition, offset);
    at = end + 1;
  }
  return at >= text.length;
}

/** The decimal number that is all of the text from `from` to `to`; -1 where it is none, or has too many digits. */
function wholeNumber(text: string, from: number, to: number): number {
  if (to <= from || to - from > DIGITS_MAX) return -1;
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** Offsets by `partitionName`. */
export function parseCheckpoint(text: string): Map<string, number> | 'malformed' {
  const offsets = new Map<string, number>();
  const isWhole = readCheckpoint(text, (topic, partition, offset) => {
    offsets.set(partitionName(topic, partition), offset);
  });
  return isWhole ? offsets : 'malformed';
}

/** The marker of a clean stop, with the broker epoch of the life that ended. */
export function formatCleanShutdown(brokerEpoch: number): string {
  return JSON.stringify({ version: 0, brokerEpoch });
}

/** The broker epoch in the marker; -1 where it makes no sense. */
export function parseCleanShutdown(text: string): number {
  const found = /"brokerEpoch"\s*:\s*([0-9]{1,15})\s*[,}]/.exec(text);
  return found === null ? -1 : Number(found[1]);
}

/** The topic and partition that a folder is called after; null when it is not a partition's. */
export function parseFolderName(name: string): { readonly topic: string; readonly partition: number } | null {
  const dash = name.lastIndexOf('-');
  const partition = name.slice(dash + 1);
  if (dash < 1 || !/^(0|[1-9][0-9]{0,8})$/.test(partition)) return null;
  const topic = name.slice(0, dash);
  return isTopicName(topic) ? { topic, partition: Number(partition) } : null;
}

/** A random uuid (RFC 9562, version 4) from 16 unpredictable bytes at `at`; never one that begins with '-'. */
export function randomUuid(entropy: Uint8Array, at: number): string {
  const bytes = new Uint8Array(UUID_BYTES);
  bytes.set(entropy.subarray(at, at + UUID_BYTES));
  bytes[0]! &= 0x7f; // A leading '-' would read as a flag on a command line.
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return uuidFromBytes(bytes, 0);
}
