/**
 * The settings of topics, as Apache Kafka 4.4 has them: type, default, what is legal, and which settings of a broker
 * give the value where the topic has none. All are accepted and described; `acts` says which have an effect.
 *
 * The order is Kafka's: of several bad values the first in this order is complained about. Data, no state.
 */
import { SETTINGS } from '../config/settings.ts';
import type { SettingDef } from './setting-values.ts';

/** A setting of a topic. */
export interface TopicSetting extends SettingDef {
  readonly default: string;
  /**
   * Settings of the broker that give its value, the strongest first, with the factor that makes ms of hours.
   * Empty: the topic alone decides.
   */
  readonly synonyms: readonly { readonly name: string; readonly times: number }[];
  /** Whether it has an effect yet. */
  readonly acts: boolean;
}

const LONG_MAX = '9223372036854775807';
const HOUR_MS = 3_600_000;
const BOTH = { choices: ['compact', 'delete'] };
const CODECS = { choices: ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer'] };
const CLOCKS = { choices: ['CreateTime', 'LogAppendTime'] };

/** Names of the settings of topics that the log, or replication, heeds. */
const ACTING: ReadonlySet<string> = new Set([
  ...[...SETTINGS.values()].filter(({ acts, topicName }) => acts && topicName !== null).map((s) => s.topicName ?? ''),
  'leader.replication.throttled.replicas',
  'follower.replication.throttled.replicas',
]);

type Row = readonly [
  name: string,
  type: SettingDef['type'],
  fallback: string,
  limits: Omit<SettingDef, 'type'>,
  synonyms: string,
];

const ROWS: readonly Row[] = [
  ['segment.bytes', 'INT', '1073741824', { min: 1048576 }, 'log.segment.bytes'],
  ['segment.ms', 'LONG', '604800000', { min: 1 }, 'log.roll.ms log.roll.hours'],
  ['segment.jitter.ms', 'LONG', '0', { min: 0 }, 'log.roll.jitter.ms log.roll.jitter.hours'],
  ['segment.index.bytes', 'INT', '10485760', { min: 4 }, 'log.index.size.max.bytes'],
  ['flush.messages', 'LONG', LONG_MAX, { min: 1 }, 'log.flush.interval.messages'],
  ['flush.ms', 'LONG', LONG_MAX, { min: 0 }, 'log.flush.interval.ms log.flush.scheduler.interval.ms'],
  ['retention.bytes', 'LONG', '-1', {}, 'log.retention.bytes'],
  ['retention.ms', 'LONG', '604800000', { min: -1 }, 'log.retention.ms log.retention.minutes log.retention.hours'],
  ['max.message.bytes', 'INT', '1048588', { min: 0 }, 'message.max.bytes'],
  [
    'max.decompressed.message.bytes',
    'INT',
    '2147483639',
    { min: 1, max: 2147483639 },
    'max.decompressed.message.bytes',
  ],
  ['index.interval.bytes', 'INT', '4096', { min: 0 }, 'log.index.interval.bytes'],
  ['delete.retention.ms', 'LONG', '86400000', { min: 0 }, 'log.cleaner.delete.retention.ms'],
  ['min.compaction.lag.ms', 'LONG', '0', { min: 0 }, 'log.cleaner.min.compaction.lag.ms'],
  ['max.compaction.lag.ms', 'LONG', LONG_MAX, { min: 1 }, 'log.cleaner.max.compaction.lag.ms'],
  ['file.delete.delay.ms', 'LONG', '60000', { min: 0 }, 'log.segment.delete.delay.ms'],
  ['min.cleanable.dirty.ratio', 'DOUBLE', '0.5', { min: 0, max: 1 }, 'log.cleaner.min.cleanable.ratio'],
  ['cleanup.policy', 'LIST', 'delete', BOTH, 'log.cleanup.policy'],
  ['unclean.leader.election.enable', 'BOOLEAN', 'false', {}, 'unclean.leader.election.enable'],
  ['min.insync.replicas', 'INT', '1', { min: 1 }, 'min.insync.replicas'],
  ['compression.type', 'STRING', 'producer', CODECS, 'compression.type'],
  ['compression.gzip.level', 'INT', '-1', { min: 1, max: 9, also: -1 }, 'compression.gzip.level'],
  ['compression.lz4.level', 'INT', '9', { min: 1, max: 17 }, 'compression.lz4.level'],
  ['compression.zstd.level', 'INT', '3', { min: -131072, max: 22 }, 'compression.zstd.level'],
  ['preallocate', 'BOOLEAN', 'false', {}, 'log.preallocate'],
  ['message.timestamp.type', 'STRING', 'CreateTime', CLOCKS, 'log.message.timestamp.type'],
  ['message.timestamp.before.max.ms', 'LONG', LONG_MAX, { min: 0 }, 'log.message.timestamp.before.max.ms'],
  ['message.timestamp.after.max.ms', 'LONG', '3600000', { min: 0 }, 'log.message.timestamp.after.max.ms'],
  ['leader.replication.throttled.replicas', 'LIST', '', { isThrottle: true }, ''],
  ['follower.replication.throttled.replicas', 'LIST', '', { isThrottle: true }, ''],
  ['remote.storage.enable', 'BOOLEAN', 'false', {}, ''],
  ['local.retention.ms', 'LONG', '-2', { min: -2 }, 'log.local.retention.ms'],
  ['local.retention.bytes', 'LONG', '-2', { min: -2 }, 'log.local.retention.bytes'],
  ['remote.log.copy.disable', 'BOOLEAN', 'false', {}, ''],
  ['remote.copy.lag.ms', 'LONG', '0', { min: -1 }, 'log.remote.copy.lag.ms'],
  ['remote.copy.lag.bytes', 'LONG', '-1', { min: -1 }, 'log.remote.copy.lag.bytes'],
  ['remote.log.delete.on.disable', 'BOOLEAN', 'false', {}, ''],
  ['errors.deadletterqueue.group.enable', 'BOOLEAN', 'false', {}, ''],
];

function factor(synonym: string): number {
  if (synonym.endsWith('.hours')) return HOUR_MS;
  return synonym.endsWith('.minutes') ? 60_000 : 1;
}

/** The table by name, in Kafka's order. */
export const TOPIC_SETTINGS: ReadonlyMap<string, TopicSetting> = new Map(
  ROWS.map(([name, type, fallback, limits, synonyms]): [string, TopicSetting] => [
    name,
    {
      type,
      default: fallback,
      ...limits,
      synonyms:
        synonyms === '' ? [] : synonyms.split(' ').map((synonym) => ({ name: synonym, times: factor(synonym) })),
      acts: ACTING.has(name),
    },
  ]),
);
