/** The settings of one log, and how they follow from the node's configuration. Pure, no state. */
import type { NodeConfig } from './settings.ts';

/** The settings of one log, as numbers. Kafka's topic settings; "never" is Infinity. */
export interface LogConfig {
  /** segment.bytes: a segment rolls before it would grow beyond this. */
  readonly segmentBytes: number;
  /** segment.ms less jitter: a segment rolls when its first record is older than this. */
  readonly segmentMs: number;
  /** segment.index.bytes: a segment rolls when an index is full. */
  readonly indexBytesMax: number;
  /** index.interval.bytes: one index entry for about so many bytes of log. */
  readonly indexIntervalBytes: number;
  /** max.message.bytes: of a batch, as it is stored. */
  readonly messageBytesMax: number;
  /** compression.type: 'producer' keeps what comes, another name recompresses. */
  readonly compressionType: 'producer' | 'uncompressed' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  /** message.timestamp.type */
  readonly timestampType: 'CreateTime' | 'LogAppendTime';
  /** message.timestamp.before.max.ms */
  readonly timestampBeforeMaxMs: number;
  /** message.timestamp.after.max.ms */
  readonly timestampAfterMaxMs: number;
  /** flush.messages: 1 syncs every append (as one round for all that wait), Infinity never. */
  readonly flushMessages: number;
  /** flush.ms: an unsynced record waits no longer than this. Infinity: never. */
  readonly flushMs: number;
  /** producer.id.expiration.ms: an idle producer's sequence numbers are forgotten after this. */
  readonly producerIdExpirationMs: number;
  /** Bytes of recent batches kept in memory for readers, for this log. */
  readonly ringBytesMax: number;
}

/** The settings of a topic that overrides nothing. */
export function topicConfig(config: NodeConfig): LogConfig {
  return {
    segmentBytes: config['log.segment.bytes'],
    segmentMs: config['log.roll.ms'],
    indexBytesMax: config['log.index.size.max.bytes'],
    indexIntervalBytes: config['log.index.interval.bytes'],
    messageBytesMax: config['message.max.bytes'],
    compressionType: config['compression.type'],
    timestampType: config['log.message.timestamp.type'],
    timestampBeforeMaxMs: config['log.message.timestamp.before.max.ms'],
    timestampAfterMaxMs: config['log.message.timestamp.after.max.ms'],
    flushMessages: config['log.flush.interval.messages'],
    flushMs: config['log.flush.interval.ms'],
    producerIdExpirationMs: config['producer.id.expiration.ms'],
    ringBytesMax: config['tidemark.ring.partition.max.bytes'],
  };
}
