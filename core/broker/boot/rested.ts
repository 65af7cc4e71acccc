/**
 * The logs at rest of a node that stopped cleanly, in one file of its log directory: the next start takes them up
 * without looking into a folder for each (`log/rest.ts`).
 *
 * The file is a hint that must never be believed of another state of the directory. It is written after every log is
 * closed and before the marker of the clean stop, and counts only together with a marker that names the same broker
 * epoch, in the same directory: the epoch is an offset of the metadata log, so that no other life of this broker, of
 * Apache Kafka's neither, can have ended under it. A start removes it with the marker, durably, before it writes
 * anything. What it does not speak of is looked into as ever. Apache Kafka passes over files in a log directory.
 */
import { assert } from '../../lib/assert.ts';
import { Reader } from '../../lib/cursor.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import { UUID_BYTES } from '../../lib/uuid.ts';
import { type Env, LOAD_BYTES_MAX } from '../../lib/world.ts';
import { compactStringSize, Writer } from '../../lib/writer.ts';
import { canRest, type Log, openRested, restBytesMax, writeRest } from '../../log/log.ts';
import { highWatermarkOf } from '../partitions/partition-role.ts';
import type { Topic } from '../state.ts';

/** The name of the file. */
export const RESTED = '.tidemark-logs-at-rest';

const MAGIC = 0x544d5231; // "TMR1": the number counts up when the format changes.
const CRC_AT = 4;
const BODY_AT = 8; // The checksum covers all from here on.
const HEAD_BYTES = BODY_AT + 8 + UUID_BYTES;
const COUNT_BYTES_MAX = 5;
const SIZE_BYTES = 4;
/** No topic has more partitions. */
const PARTITIONS_MAX = 1_000_000;

/** Where the logs of one topic lie in the file. */
interface RestedTopic {
  readonly id: string;
  /** By partition number: the place of its log; negative while its folder was not seen, 0 where there is none. */
  readonly places: number[];
}

/** The file of the stop before this start. */
export interface RestedLogs {
  readonly bytes: Uint8Array;
  /** By name. */
  readonly topics: Map<string, RestedTopic>;
}

/** Whom the file is about. */
export interface RestedOf {
  readonly brokerEpoch: number;
  readonly directoryId: string;
}

/** No log is at rest. */
export const NOTHING_RESTED: RestedLogs = { bytes: new Uint8Array(0), topics: new Map() };

/** The file for topics whose logs are closed. Logs that cannot rest, or do not fit into a small file, are left out. */
export function formatRested(
  topics: Iterable<Topic>,
  env: Pick<Env, 'crc32c'>,
  { brokerEpoch, directoryId }: RestedOf,
): Uint8Array {
  const resting: { readonly topic: Topic; readonly logs: readonly Log[] }[] = [];
  let sizeBytes = HEAD_BYTES + COUNT_BYTES_MAX;
  for (const topic of topics) {
    const headBytes = compactStringSize(topic.name) + UUID_BYTES + COUNT_BYTES_MAX;
    const logs: Log[] = [];
    let logsBytes = 0;
    for (const partition of topic.partitions) {
      if (partition === null || partition.phase !== 'log') continue;
      const { log, wantedStart } = partition;
      // The high watermark is not written down with it: it must be where the log ends.
      if (wantedStart > log.start || highWatermarkOf(partition) < log.end || !canRest(log)) continue;
      const bytes = COUNT_BYTES_MAX + SIZE_BYTES + restBytesMax(log);
      if (sizeBytes + headBytes + logsBytes + bytes > LOAD_BYTES_MAX) continue;
      logsBytes += bytes;
      logs.push(log);
    }
    if (logs.length === 0) continue;
    sizeBytes += headBytes + logsBytes;
    resting.push({ topic, logs });
  }
  const writer = new Writer(sizeBytes);
  writer.uint32(MAGIC);
  writer.uint32(0);
  writer.int64(brokerEpoch);
  writer.uuid(directoryId);
  writer.unsignedVarint(resting.length);
  for (const { topic, logs } of resting) writeTopic(writer, topic, logs, env);
  assert(writer.position <= sizeBytes, 'logs at rest take more than was thought');
  writer.patchInt32(CRC_AT, env.crc32c(writer.bytes, BODY_AT, writer.position) | 0);
  return writer.bytes.slice(0, writer.position);
}

function writeTopic(writer: Writer, topic: Topic, logs: readonly Log[], env: Pick<Env, 'crc32c'>): void {
  writer.compactString(topic.name);
  writer.uuid(topic.id);
  writer.unsignedVarint(logs.length);
  for (const log of logs) {
    writer.unsignedVarint(log.partition);
    const sizeAt = writer.position;
    writer.int32(0);
    writeRest(writer, log, env);
    writer.patchInt32(sizeAt, writer.position - sizeAt - SIZE_BYTES);
  }
}

/** Reads the file; why it is not to be believed, for people, where it is not. */
export function parseRested(bytes: Uint8Array, env: Pick<Env, 'crc32c'>, of: RestedOf): RestedLogs | string {
  if (bytes.length < HEAD_BYTES) return 'it is not whole';
  try {
    const reader = new Reader(bytes);
    if (reader.uint32() !== MAGIC) return 'it is of another version';
    if (reader.uint32() !== env.crc32c(bytes, BODY_AT, bytes.length)) return 'its checksum does not hold';
    if (reader.int64() !== of.brokerEpoch || of.brokerEpoch < 0) return 'it is of another stop';
    if (reader.uuid() !== of.directoryId) return 'it is of another directory';
    const topics = new Map<string, RestedTopic>();
    for (let left = reader.unsignedVarint(); left > 0; left--) readTopic(reader, topics);
    return { bytes, topics };
  } catch (error) {
    if (error instanceof ProtocolError) return 'it makes no sense';
    throw error;
  }
}

function readTopic(reader: Reader, topics: Map<string, RestedTopic>): void {
  const name = reader.compactString();
  const places: number[] = [];
  topics.set(name, { id: reader.uuid(), places });
  for (let left = reader.unsignedVarint(); left > 0; left--) {
    const partition = reader.unsignedVarint();
    const sizeBytes = reader.int32();
    if (partition > PARTITIONS_MAX) throw new ProtocolError('badLength', 'a partition has no such number');
    while (places.length < partition) places.push(0);
    places[partition] = -reader.position;
    reader.skip(sizeBytes);
  }
}

/** The folder of a partition is there. Whether its log rests: then nothing else need be known of the folder. */
export function seeRested(rested: RestedLogs, topic: string, partition: number): boolean {
  const places = rested.topics.get(topic)?.places;
  const place = places?.[partition] ?? 0;
  if (places === undefined || place === 0) return false;
  places[partition] = Math.abs(place);
  return true;
}

/** The id of the topic whose log at rest has this name and number; null where there is none. */
export function restedTopicId(rested: RestedLogs, topic: string, partition: number): string | null {
  const found = rested.topics.get(topic);
  return found !== undefined && (found.places[partition] ?? 0) > 0 ? found.id : null;
}

/** Takes a new log up as it rested; false where its folder is to be looked into. */
export function wakeRested(rested: RestedLogs, log: Log, topicId: string, env: Env): boolean {
  const topic = rested.topics.get(log.topic);
  const place = topic?.places[log.partition] ?? 0;
  if (topic?.id !== topicId || place <= 0) return false;
  try {
    return openRested(log, env, new Reader(rested.bytes, place));
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}
