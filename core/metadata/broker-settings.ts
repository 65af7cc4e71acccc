/**
 * The settings of brokers that may be changed while the broker runs, as Apache Kafka 4.4 has them, with their types.
 *
 * A name that is not here is read-only, unless it is unknown: unknown names are kept, for plug-ins may want them. Those
 * that give a topic its value are judged as the topic's own. Data and pure functions, no state.
 */
import { isKnownName } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import type { SettingDef, SettingType } from './setting-values.ts';
import { TOPIC_SETTINGS } from './topic-settings.ts';

const DYNAMIC: readonly (readonly [SettingType, string])[] = [
  ['BOOLEAN', 'errors.deadletterqueue.auto.create.topics.enable follower.fetch.last.tiered.offset.enable'],
  ['BOOLEAN', 'transaction.partition.verification.enable unclean.leader.election.enable log.preallocate'],
  ['INT', 'min.insync.replicas num.recovery.threads.per.data.dir message.max.bytes max.connection.creation.rate'],
  ['INT', 'num.replica.fetchers log.cleaner.threads max.connections producer.id.expiration.ms'],
  ['INT', 'group.consumer.assignment.interval.ms remote.fetch.max.wait.ms remote.log.reader.threads'],
  ['INT', 'max.connections.per.ip background.threads log.segment.bytes remote.log.manager.copier.thread.pool.size'],
  ['INT', 'num.network.threads compression.gzip.level max.decompressed.message.bytes'],
  ['INT', 'group.share.assignment.interval.ms num.io.threads group.streams.assignment.interval.ms'],
  ['INT', 'compression.zstd.level remote.log.manager.expiration.thread.pool.size log.index.size.max.bytes'],
  ['INT', 'share.coordinator.cached.buffer.max.bytes log.cleaner.io.buffer.size compression.lz4.level'],
  ['INT', 'log.index.interval.bytes remote.log.manager.follower.thread.pool.size'],
  ['INT', 'group.coordinator.cached.buffer.max.bytes'],
  ['SHORT', 'sasl.login.refresh.min.period.seconds sasl.login.refresh.buffer.seconds'],
  ['LONG', 'log.cleaner.min.compaction.lag.ms log.flush.interval.messages log.flush.interval.ms'],
  ['LONG', 'remote.log.manager.fetch.max.bytes.per.second log.cleaner.delete.retention.ms log.roll.ms'],
  ['LONG', 'remote.log.manager.copy.max.bytes.per.second log.local.retention.ms log.remote.copy.lag.bytes'],
  ['LONG', 'remote.log.index.file.cache.total.size.bytes log.message.timestamp.after.max.ms'],
  ['LONG', 'log.segment.delete.delay.ms log.message.timestamp.before.max.ms log.remote.copy.lag.ms'],
  ['LONG', 'log.cleaner.max.compaction.lag.ms log.retention.ms log.local.retention.bytes log.retention.bytes'],
  ['LONG', 'sasl.kerberos.min.time.before.relogin log.cleaner.dedupe.buffer.size log.roll.jitter.ms'],
  ['LONG', 'log.cleaner.backoff.ms remote.list.offsets.request.timeout.ms'],
  ['LONG', 'leader.replication.throttled.rate follower.replication.throttled.rate'],
  ['LONG', 'replica.alter.log.dirs.io.max.bytes.per.second'],
  ['DOUBLE', 'sasl.kerberos.ticket.renew.window.factor log.cleaner.io.max.bytes.per.second'],
  ['DOUBLE', 'log.cleaner.min.cleanable.ratio sasl.login.refresh.window.jitter sasl.kerberos.ticket.renew.jitter'],
  ['DOUBLE', 'sasl.login.refresh.window.factor log.cleaner.io.buffer.load.factor'],
  ['LIST', 'metric.reporters sasl.kerberos.principal.to.local.rules config.providers log.cleanup.policy'],
  ['LIST', 'cordoned.log.dirs'],
  ['STRING', 'log.message.timestamp.type compression.type max.connections.per.ip.overrides'],
  ['STRING', 'errors.deadletterqueue.topic.name.prefix'],
];

/** Those that are of one broker and cannot be set for all at once. */
const PER_BROKER: readonly (readonly [SettingType, string])[] = [
  ['LIST', 'listeners ssl.cipher.suites ssl.enabled.protocols sasl.enabled.mechanisms'],
  ['STRING', 'listener.security.protocol.map ssl.keystore.type sasl.mechanism.inter.broker.protocol'],
  ['STRING', 'ssl.endpoint.identification.algorithm sasl.kerberos.service.name ssl.provider sasl.kerberos.kinit.cmd'],
  ['STRING', 'ssl.truststore.type ssl.client.auth ssl.secure.random.implementation ssl.trustmanager.algorithm'],
  ['STRING', 'ssl.keymanager.algorithm ssl.truststore.location ssl.protocol ssl.keystore.location'],
  ['CLASS', 'principal.builder.class ssl.engine.factory.class'],
  ['PASSWORD', 'ssl.keystore.key ssl.truststore.password sasl.jaas.config ssl.keystore.certificate.chain'],
  ['PASSWORD', 'ssl.truststore.certificates ssl.keystore.password ssl.key.password'],
];

const AT_LEAST_NOTHING: ReadonlySet<string> = new Set([
  'leader.replication.throttled.rate',
  'follower.replication.throttled.rate',
  'replica.alter.log.dirs.io.max.bytes.per.second',
]);
const AT_LEAST_ONE: ReadonlySet<string> = new Set(
  'background.threads log.cleaner.threads num.io.threads num.network.threads num.recovery.threads.per.data.dir'.split(
    ' ',
  ),
);

function limitsOf(name: string, type: SettingType): SettingDef {
  for (const topic of TOPIC_SETTINGS.values()) {
    const isRetention = name === 'log.retention.ms'; // Kafka bounds it for topics only.
    if (topic.synonyms[0]?.name === name && !isRetention) return topic;
  }
  if (AT_LEAST_NOTHING.has(name)) return { type, min: 0 };
  return AT_LEAST_ONE.has(name) ? { type, min: 1 } : { type };
}

function table(rows: readonly (readonly [SettingType, string])[]): Map<string, SettingDef> {
  const defs = new Map<string, SettingDef>();
  for (const [type, names] of rows) for (const name of names.split(' ')) defs.set(name, limitsOf(name, type));
  return defs;
}

const CLUSTER_WIDE: ReadonlyMap<string, SettingDef> = table(DYNAMIC);
const OF_ONE: ReadonlyMap<string, SettingDef> = table(PER_BROKER);

/** How a broker's setting may be changed. */
export type Mutability = 'dynamic' | 'perBroker' | 'readOnly' | 'unknown';

/** The name without the listener it is for: `listener.name.plaintext.max.connections`. */
export function withoutListener(name: string): string {
  return name.replace(/^listener\.name\.[^.]+\./, '');
}

/** How the setting of this name may be changed. */
export function mutabilityOf(name: string): Mutability {
  const plain = withoutListener(name);
  if (plain !== name && (CLUSTER_WIDE.has(plain) || OF_ONE.has(plain))) return 'perBroker';
  if (CLUSTER_WIDE.has(name)) return 'dynamic';
  if (OF_ONE.has(name)) return 'perBroker';
  return isKnownName(name) ? 'readOnly' : 'unknown';
}

/** Type and limits of a setting that may be changed; null for others. */
export function dynamicDef(name: string): SettingDef | null {
  const plain = withoutListener(name);
  return CLUSTER_WIDE.get(plain) ?? OF_ONE.get(plain) ?? null;
}

/** The type that DescribeConfigs gives for a broker's setting. */
export function brokerSettingType(name: string): SettingType {
  const dynamic = dynamicDef(name);
  if (dynamic !== null) return dynamic.type;
  switch (SETTINGS.get(name)?.kind) {
    case 'int':
      return 'INT';
    case 'long':
      return 'LONG';
    case 'double':
      return 'DOUBLE';
    case 'boolean':
      return 'BOOLEAN';
    case 'list':
    case 'listeners':
    case 'addresses':
    case 'voters':
    case 'topics':
      return 'LIST';
    default:
      return 'STRING';
  }
}
