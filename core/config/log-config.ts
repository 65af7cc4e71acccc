/** The settings of one log, and how they follow from the node's configuration. Pure, no state. */
import { type NodeConfig, SETTINGS } from './settings.ts';
import { readValue } from './values.ts';

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
  /** Whether cleanup.policy has 'compact': then every record needs a key. */
  readonly isCompacted: boolean;
  /** file.delete.delay.ms: the folder of a deleted partition is kept for so long, under another name. */
  readonly fileDeleteDelayMs: number;
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
    isCompacted: config['log.cleanup.policy'].includes('compact'),
    fileDeleteDelayMs: config['log.segment.delete.delay.ms'],
    ringBytesMax: config['tidemark.ring.partition.max.bytes'],
  };
}

/** The broker's setting that a topic's setting overrides, by the topic's name for it. */
const OVERRIDDEN: ReadonlyMap<string, string> = new Map(
  [...SETTINGS].flatMap(([name, { topicName }]): [string, string][] => (topicName === null ? [] : [[topicName, name]])),
);

/** A configuration with other texts for some settings; those that are unknown, or make no sense, are passed over. */
export function withTexts(config: NodeConfig, texts: Iterable<readonly [string, string]>): NodeConfig {
  const changes = new Map<string, unknown>();
  for (const [name, text] of texts) {
    const setting = SETTINGS.get(name);
    const reading = setting === undefined ? null : readValue(setting, text);
    if (reading !== null && 'value' in reading) changes.set(name, reading.value);
  }
  return changes.size === 0 ? config : ({ ...config, ...Object.fromEntries(changes) } as NodeConfig);
}

/** The configuration as a topic sees it, given what was set for the topic. */
export function withTopicTexts(config: NodeConfig, values: ReadonlyMap<string, string>): NodeConfig {
  const texts = [...values].flatMap(([name, text]): [string, string][] => {
    const own = OVERRIDDEN.get(name);
    return own === undefined ? [] : [[own, text]];
  });
  return withTexts(config, texts);
}
