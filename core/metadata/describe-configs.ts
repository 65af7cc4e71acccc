/**
 * Answers to questions about configuration: DescribeConfigs and ListConfigResources, from an image and the settings of
 * the node that is asked. Pure, no state.
 */
import { SETTINGS } from '../config/settings.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { brokerSettingType, mutabilityOf } from './broker-settings.ts';
import { brokerSynonyms, ConfigSource, effectiveTopicSetting, type NodeSettings, type Synonym } from './effective.ts';
import { configOf, type MetadataImage, ResourceType, topicByName } from './image.ts';
import { judge, SETTING_TYPE_CODES, type SettingDef, type SettingType } from './setting-values.ts';
import { mapEntries, mapValues } from './sharded-map.ts';
import { topicNameProblem } from './topic-names.ts';
import { TOPIC_SETTINGS } from './topic-settings.ts';

type Request = RequestOf<32>;
type Result = ResponseInputOf<32>['results'][number];
type Entry = Result['configs'][number];

/** The answer to DescribeConfigs. */
export function describeConfigs(image: MetadataImage, node: NodeSettings, request: Request): ResponseInputOf<32> {
  const results = request.resources.map((resource): Result => {
    const { resourceType, resourceName } = resource;
    const outcome = entriesOf(image, node, resourceType, resourceName, request.includeDocumentation);
    const head = { resourceType, resourceName };
    if ('errorCode' in outcome) return { ...outcome, ...head, configs: [] };
    const keys = resource.configurationKeys;
    const isWanted = (entry: Entry): boolean => keys === null || keys.length === 0 || keys.includes(entry.name);
    const configs = outcome.entries.filter(isWanted);
    for (const entry of configs) if (!request.includeSynonyms) entry.synonyms = [];
    return { errorCode: ErrorCode.NONE, errorMessage: '', ...head, configs };
  });
  return { throttleTimeMs: 0, results };
}

type MutableEntry = Omit<Entry, 'synonyms'> & { synonyms: readonly Synonym[] };
type Outcome = { readonly entries: MutableEntry[] } | { readonly errorCode: number; readonly errorMessage: string };

function entriesOf(
  image: MetadataImage,
  node: NodeSettings,
  type: number,
  name: string,
  includeDocumentation: boolean,
): Outcome {
  switch (type) {
    case ResourceType.TOPIC:
      return topicEntries(image, node, name, includeDocumentation);
    case ResourceType.BROKER:
      return brokerEntries(image, node, name, includeDocumentation);
    case ResourceType.CLIENT_METRICS:
    case ResourceType.GROUP: {
      if (name === '')
        return refusal(
          `${type === ResourceType.GROUP ? 'Group name' : 'Client metrics subscription name'} must not be empty`,
        );
      const source = type === ResourceType.GROUP ? ConfigSource.GROUP : ConfigSource.CLIENT_METRICS;
      const values = [...configOf(image, type, name)];
      return { entries: values.map(([key, value]) => entryOf(key, value, source, 'STRING', false, [], '')) };
    }
    case ResourceType.BROKER_LOGGER:
      return { entries: [] };
    default:
      return refusal(`Unsupported resource type: ${type}`);
  }
}

function refusal(errorMessage: string): Outcome {
  return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage };
}

function entryOf(
  name: string,
  value: string | null,
  configSource: number,
  type: SettingType,
  readOnly: boolean,
  synonyms: readonly Synonym[],
  documentation: string | null,
): MutableEntry {
  const isSensitive = type === 'PASSWORD';
  return {
    name,
    value: isSensitive ? null : value,
    readOnly,
    configSource,
    isSensitive,
    synonyms,
    configType: SETTING_TYPE_CODES.get(type) ?? 0,
    documentation,
  };
}

/** A stored text as Kafka shows it: numbers without blanks, lists joined. */
function shown(name: string, def: SettingDef, value: string): string {
  const judged = judge(name, def, value);
  return 'text' in judged ? judged.text : value;
}

/** What a setting of topics is for; documentation is kept with the broker's setting of the same meaning. */
const TOPIC_SENTENCES: ReadonlyMap<string, string> = new Map(
  [...SETTINGS.values()].map((setting): [string, string] => [setting.topicName ?? '', setting.sentence]),
);

function topicEntries(image: MetadataImage, node: NodeSettings, topic: string, documented: boolean): Outcome {
  const problem = topicNameProblem(topic);
  if (problem !== null) return { errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, errorMessage: problem };
  if (topicByName(image, topic) === undefined) {
    return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: '' };
  }
  return { entries: topicSettings(image, node, configOf(image, ResourceType.TOPIC, topic), documented) };
}

/** Every setting of a topic for which `overrides` is, or would be, set; in the order of the table. */
export function topicSettings(
  image: MetadataImage,
  node: NodeSettings,
  overrides: ReadonlyMap<string, string>,
  documented: boolean,
): MutableEntry[] {
  return [...TOPIC_SETTINGS].map(([name, setting]) => {
    const { value, source, synonyms } = effectiveTopicSetting(image, node, name, setting, overrides);
    const documentation = documented ? (TOPIC_SENTENCES.get(name) ?? '') : null;
    return entryOf(name, shown(name, setting, value), source, setting.type, false, synonyms, documentation);
  });
}

function brokerEntries(image: MetadataImage, node: NodeSettings, name: string, documented: boolean): Outcome {
  if (name === '') {
    const values = [...configOf(image, ResourceType.BROKER, '')];
    const source = ConfigSource.DYNAMIC_DEFAULT_BROKER;
    return {
      entries: values.map(([key, value]) => {
        const synonyms = [{ name: key, value, source }];
        const isReadOnly = mutabilityOf(key) === 'readOnly';
        return entryOf(
          key,
          value,
          source,
          brokerSettingType(key),
          isReadOnly,
          synonyms,
          documented ? sentence(key) : null,
        );
      }),
    };
  }
  if (!/^[+-]?[0-9]{1,9}$/.test(name)) return refusal(`Broker id must be an integer, but it is: ${name}`);
  if (Number(name) !== node.nodeId) {
    return refusal(`Unexpected broker id, expected ${node.nodeId} or empty string, but received ${name}`);
  }
  const names = new Set(SETTINGS.keys());
  for (const key of configOf(image, ResourceType.BROKER, '').keys()) names.add(key);
  for (const key of configOf(image, ResourceType.BROKER, name).keys()) names.add(key);
  for (const key of node.given.keys()) names.add(key);
  return { entries: [...names].map((key) => brokerEntry(image, node, key, documented)) };
}

/** Other settings that give a setting of a broker its value, the strongest first. */
const OTHER_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['log.roll.ms', ['log.roll.hours']],
  ['log.roll.jitter.ms', ['log.roll.jitter.hours']],
  ['log.flush.interval.ms', ['log.flush.scheduler.interval.ms']],
  ['log.retention.ms', ['log.retention.minutes', 'log.retention.hours']],
]);

function brokerEntry(image: MetadataImage, node: NodeSettings, name: string, documented: boolean): MutableEntry {
  const all = brokerSynonyms(image, node, [name, ...(OTHER_NAMES.get(name) ?? [])]);
  // As in Kafka they begin at the setting's own name: one without a value of its own shows none.
  const first = all.findIndex((synonym) => synonym.name === name);
  const synonyms = first < 0 ? [] : all.slice(first);
  const strongest = synonyms[0];
  const readOnly = mutabilityOf(name) === 'readOnly';
  const source = strongest?.source ?? ConfigSource.DEFAULT;
  const type = brokerSettingType(name);
  return entryOf(name, strongest?.value ?? null, source, type, readOnly, synonyms, documented ? sentence(name) : null);
}

function sentence(name: string): string {
  return SETTINGS.get(name)?.sentence ?? '';
}

/** The answer to ListConfigResources. Version 0 asks for client metrics only. */
export function listConfigResources(
  image: MetadataImage,
  version: number,
  request: RequestOf<74>,
): ResponseInputOf<74> {
  const { GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC } = ResourceType;
  const every: readonly number[] = [GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC];
  const isOld = version === 0;
  const asked: readonly number[] = isOld ? [CLIENT_METRICS] : request.resourceTypes;
  if (asked.some((type) => !every.includes(type))) {
    return { throttleTimeMs: 0, errorCode: ErrorCode.UNSUPPORTED_VERSION, configResources: [] };
  }
  const wanted = new Set(asked.length === 0 ? every : asked);
  const found: { resourceName: string; resourceType: number }[] = [];
  for (const { resource } of mapValues(image.configs)) {
    const isNamedOnlyHere = resource.type === GROUP || resource.type === CLIENT_METRICS;
    if (isNamedOnlyHere && wanted.has(resource.type)) {
      found.push({ resourceName: resource.name, resourceType: resource.type });
    }
  }
  for (const type of [BROKER_LOGGER, BROKER]) {
    if (!wanted.has(type)) continue;
    for (const id of image.cluster.brokers.keys()) found.push({ resourceName: String(id), resourceType: type });
  }
  if (wanted.has(TOPIC)) {
    for (const [name] of mapEntries(image.topics.idByName)) found.push({ resourceName: name, resourceType: TOPIC });
  }
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, configResources: found };
}
