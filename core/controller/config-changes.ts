/**
 * Changes of configuration: what a new value makes of a resource's settings, and whether all of them together are
 * legal. Refusals are in Kafka's words and codes, which differ between topics and brokers. Pure, no state.
 */
import { dynamicDef, mutabilityOf } from '../metadata/broker-settings.ts';
import { isElrEnabled } from '../metadata/features.ts';
import { configOf, type MetadataImage, ResourceType, topicByName } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { judge, readWhole, type SettingDef } from '../metadata/setting-values.ts';
import { topicNameProblem } from '../metadata/topic-names.ts';
import { TOPIC_SETTINGS } from '../metadata/topic-settings.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { Refusal } from './state.ts';

/** Kafka's numbers of what is done to a value. */
export const ConfigOp = { SET: 0, DELETE: 1, APPEND: 2, SUBTRACT: 3 } as const;

/** One change of one key. */
export interface ConfigChange {
  readonly name: string;
  readonly operation: number;
  readonly value: string | null;
}

const MIN_INSYNC = 'min.insync.replicas';

function refusal(errorCode: number, errorMessage: string): Refusal {
  return { errorCode, errorMessage };
}

function typeOf(resourceType: number, name: string): SettingDef | null {
  return resourceType === ResourceType.TOPIC ? (TOPIC_SETTINGS.get(name) ?? null) : dynamicDef(name);
}

/** A list as it is stored: no blanks around it, no empty elements. */
function elements(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

/** The value of a key after a change; null: not set. */
function changed(resourceType: number, change: ConfigChange, before: string | undefined): string | null | Refusal {
  const { name, value } = change;
  switch (change.operation) {
    case ConfigOp.SET:
      return value;
    case ConfigOp.DELETE:
      return null;
    case ConfigOp.APPEND:
    case ConfigOp.SUBTRACT: {
      const isAppend = change.operation === ConfigOp.APPEND;
      if (typeOf(resourceType, name)?.type !== 'LIST') return notAList(resourceType, name, isAppend);
      const fallback = resourceType === ResourceType.TOPIC ? TOPIC_SETTINGS.get(name)?.default : defaultOf(name);
      const parts = elements(before ?? fallback ?? '');
      for (const part of (value ?? '').split(',')) {
        const at = parts.indexOf(part);
        if (isAppend && at < 0) parts.push(part);
        if (!isAppend && at >= 0) parts.splice(at, 1);
      }
      return parts.join(',');
    }
    default:
      return refusal(ErrorCode.INVALID_REQUEST, `Unknown operations type ${change.operation}`);
  }
}

function defaultOf(name: string): string | undefined {
  for (const topic of TOPIC_SETTINGS.values()) if (topic.synonyms[0]?.name === name) return topic.default;
  return undefined;
}

function notAList(resourceType: number, name: string, isAppend: boolean): Refusal {
  if (resourceType === ResourceType.TOPIC) {
    const operation = isAppend ? 'APPEND' : 'SUBTRACT';
    return refusal(ErrorCode.INVALID_CONFIG, `Can't ${operation} to key ${name} because its type is not LIST.`);
  }
  const operation = isAppend ? 'append' : 'subtract';
  return refusal(ErrorCode.INVALID_CONFIG, `Config value ${operation} is not allowed for config key: ${name}`);
}

/** What a set of settings of a topic is refused for, or null. */
export function topicConfigProblem(values: ReadonlyMap<string, string>): Refusal | null {
  const invalid = (message: string): Refusal => refusal(ErrorCode.INVALID_CONFIG, message);
  for (const name of values.keys()) {
    if (!TOPIC_SETTINGS.has(name)) return invalid(`Unknown topic config name: ${name}`);
  }
  for (const [name, setting] of TOPIC_SETTINGS) {
    const value = values.get(name);
    if (value === undefined) continue;
    const judged = judge(name, setting, value);
    if ('problem' in judged) return invalid(judged.problem);
  }
  const [least, most] = ['min.compaction.lag.ms', 'max.compaction.lag.ms'];
  const min = readWhole('LONG', (values.get(least) ?? '0').trim()) ?? 0n;
  const max = readWhole('LONG', (values.get(most) ?? '9223372036854775807').trim()) ?? 0n;
  if (min > max) return invalid(`conflict topic config setting ${least} (${min}) > ${most} (${max})`);
  if (values.get('remote.storage.enable')?.trim().toLowerCase() === 'true') {
    return invalid(
      'Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.',
    );
  }
  return null;
}

/** What changes of a broker's settings are refused for, or null. An empty `id` means all brokers. */
function brokerConfigProblem(
  image: MetadataImage,
  id: string,
  changes: readonly ConfigChange[],
  values: ReadonlyMap<string, string>,
): Refusal | null {
  const names = [...values.keys()];
  const readOnly = names.filter((name) => mutabilityOf(name) === 'readOnly');
  if (readOnly.length > 0) {
    return refusal(ErrorCode.INVALID_REQUEST, `Cannot update these configs dynamically: [${readOnly.join(', ')}]`);
  }
  const single = names.filter((name) => mutabilityOf(name) === 'perBroker');
  if (id === '' && single.length > 0) {
    const message = 'Cannot update these configs at default cluster level, broker id must be specified:';
    return refusal(ErrorCode.INVALID_REQUEST, `${message} [${single.join(', ')}]`);
  }
  for (const [name, value] of values) {
    const def = dynamicDef(name);
    const judged = def === null ? null : judge(name, def, value);
    if (judged !== null && 'problem' in judged) return refusal(ErrorCode.INVALID_REQUEST, judged.problem);
  }
  const change = changes.find(({ name }) => name === MIN_INSYNC);
  if (change === undefined || !isElrEnabled(image)) return null;
  if (id !== '') {
    return refusal(ErrorCode.INVALID_CONFIG, `Broker-level ${MIN_INSYNC} cannot be altered while ELR is enabled.`);
  }
  if (values.has(MIN_INSYNC)) return null;
  return refusal(ErrorCode.INVALID_CONFIG, `Cluster-level ${MIN_INSYNC} cannot be removed while ELR is enabled.`);
}

/** What is wrong with the name or the type of a resource. */
function resourceProblem(type: number, name: string): Refusal | null {
  switch (type) {
    case ResourceType.TOPIC: {
      if (name === '') return refusal(ErrorCode.INVALID_REQUEST, 'Default topic resources are not allowed.');
      const problem = topicNameProblem(name);
      return problem === null ? null : refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem);
    }
    case ResourceType.BROKER:
      if (name === '' || /^[0-9]{1,9}$/.test(name)) return null;
      return refusal(ErrorCode.INVALID_REQUEST, `Node id must be an integer, but it is: ${name}`);
    case ResourceType.BROKER_LOGGER:
    case ResourceType.CLIENT_METRICS:
    case ResourceType.GROUP:
      return refusal(ErrorCode.INVALID_REQUEST, `Resources of type ${type} cannot be configured on this cluster yet.`);
    default:
      return refusal(ErrorCode.INVALID_REQUEST, `Unknown resource type ${type}`);
  }
}

function isMissing(image: MetadataImage, type: number, name: string): Refusal | null {
  if (type === ResourceType.TOPIC && topicByName(image, name) === undefined) {
    return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `The topic '${name}' does not exist.`);
  }
  const { brokers, controllers } = image.cluster;
  const isNode = brokers.has(Number(name)) || controllers.has(Number(name));
  if (type === ResourceType.BROKER && name !== '' && !isNode) {
    return refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, `No broker with id ${name} found.`);
  }
  return null;
}

/** How a request changes a resource: key by key, or as a whole. */
export interface ResourceChanges {
  readonly type: number;
  readonly name: string;
  readonly changes: readonly ConfigChange[];
  /** Whether keys that are not named lose their values (AlterConfigs). */
  readonly replacesAll: boolean;
}

/** The records of a change of one resource, or why it is refused. A refused resource changes in nothing. */
export function configRecords(image: MetadataImage, wanted: ResourceChanges): MetadataRecord[] | Refusal {
  const { type, name, changes } = wanted;
  if (new Set(changes.map((change) => change.name)).size !== changes.length) {
    return refusal(ErrorCode.INVALID_REQUEST, 'Error due to duplicate config keys');
  }
  const missing = changes.filter(({ operation, value }) => value === null && operation !== ConfigOp.DELETE);
  if (missing.length > 0) {
    const names = missing.map((change) => change.name).join(', ');
    return refusal(ErrorCode.INVALID_REQUEST, `Null value not supported for : ${names}`);
  }
  const problem = resourceProblem(type, name);
  if (problem !== null) return problem;
  const before = configOf(image, type, name);
  const after = new Map(before);
  const records: MetadataRecord[] = [];
  const set = (key: string, value: string | null): void => {
    if (value === null) after.delete(key);
    else after.set(key, value);
    // A broker is told even of a value that it has: to read again the file that the value names.
    const isNews = (before.get(key) ?? null) !== value;
    if (isNews || type === ResourceType.BROKER) records.push(configRecord(type, name, key, value));
  };
  for (const change of changes) {
    const value = changed(type, change, before.get(change.name));
    if (value !== null && typeof value !== 'string') return value;
    set(change.name, value);
  }
  if (wanted.replacesAll) {
    for (const key of before.keys()) if (!changes.some((change) => change.name === key)) set(key, null);
  }
  const illegal =
    type === ResourceType.TOPIC ? topicConfigProblem(after) : brokerConfigProblem(image, name, changes, after);
  return illegal ?? isMissing(image, type, name) ?? withClearedElr(image, wanted, records);
}

/** One value of a resource as a record. */
export function configRecord(
  resourceType: number,
  resourceName: string,
  name: string,
  value: string | null,
): MetadataRecord {
  return metadataRecord('ConfigRecord', 0, { resourceType, resourceName, name, value });
}

/** With another `min.insync.replicas` the eligible replicas mean something else, and are forgotten. */
function withClearedElr(image: MetadataImage, wanted: ResourceChanges, records: MetadataRecord[]): MetadataRecord[] {
  if (!isElrEnabled(image)) return records;
  const isTold = records.some((record) => record.kind === 'ConfigRecord' && record.value.name === MIN_INSYNC);
  if (!isTold) return records;
  if (wanted.type === ResourceType.TOPIC) {
    records.push(metadataRecord('ClearElrRecord', 0, { topicName: wanted.name }));
  } else if (wanted.name === '') {
    records.push(metadataRecord('ClearElrRecord', 0, { topicName: '' }));
  }
  return records;
}
