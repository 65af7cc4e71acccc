/**
 * What a setting is worth in the end, and where that comes from: what was set for the topic, for this broker, for all
 * brokers, what its file says, its default. Pure, no state.
 */
import { SETTINGS } from '../config/settings.ts';
import { configOf, type MetadataImage, ResourceType } from './image.ts';
import { TOPIC_SETTINGS, type TopicSetting } from './topic-settings.ts';

/** Kafka's numbers for where a value comes from. */
export const ConfigSource = {
  TOPIC: 1,
  DYNAMIC_BROKER: 2,
  DYNAMIC_DEFAULT_BROKER: 3,
  STATIC_BROKER: 4,
  DEFAULT: 5,
  CLIENT_METRICS: 7,
  GROUP: 8,
} as const;

/** The node whose settings count: its id, and what the operator wrote, by name, as text. */
export interface NodeSettings {
  readonly nodeId: number;
  readonly given: ReadonlyMap<string, string>;
}

/** A value of a setting under one of its names. */
export interface Synonym {
  readonly name: string;
  readonly value: string;
  readonly source: number;
}

/** A value, where it comes from, and what would be next, the strongest first. */
export interface Effective {
  readonly value: string;
  readonly source: number;
  readonly synonyms: readonly Synonym[];
}

/** The default of a setting of the broker, as text; null if it has none. */
export function brokerDefault(name: string): string | null {
  const own = SETTINGS.get(name);
  if (own !== undefined) return own.default;
  for (const topic of TOPIC_SETTINGS.values()) {
    const first = topic.synonyms[0];
    if (first?.name === name && topic.synonyms.length === 1) return topic.default;
  }
  return null;
}

interface Layer {
  readonly source: number;
  readonly get: (name: string) => string | null | undefined;
}

/** The layers of a broker's settings, the strongest first. */
function layersOf(image: MetadataImage, node: NodeSettings): Layer[] {
  const ofBroker = configOf(image, ResourceType.BROKER, String(node.nodeId));
  const ofAll = configOf(image, ResourceType.BROKER, '');
  return [
    { source: ConfigSource.DYNAMIC_BROKER, get: (name) => ofBroker.get(name) },
    { source: ConfigSource.DYNAMIC_DEFAULT_BROKER, get: (name) => ofAll.get(name) },
    { source: ConfigSource.STATIC_BROKER, get: (name) => node.given.get(name) },
    { source: ConfigSource.DEFAULT, get: brokerDefault },
  ];
}

/** All values that a broker's setting has under these names, layer by layer. */
export function brokerSynonyms(image: MetadataImage, node: NodeSettings, names: readonly string[]): Synonym[] {
  const found: Synonym[] = [];
  for (const { source, get } of layersOf(image, node)) {
    for (const name of names) {
      const value = get(name);
      if (value !== undefined && value !== null) found.push({ name, value, source });
    }
  }
  return found;
}

/** The value of a topic's setting where the topic itself sets none. */
function inherited(setting: TopicSetting, synonyms: readonly Synonym[]): string {
  const strongest = (name: string): string | undefined => synonyms.find((synonym) => synonym.name === name)?.value;
  for (const { name, times } of setting.synonyms) {
    const value = strongest(name);
    if (value === undefined) continue;
    if (times === 1) return value;
    const number = BigInt(value.trim());
    return number < 0n ? '-1' : String(number * BigInt(times));
  }
  return setting.default;
}

/**
 * A setting of a topic. `overrides` is what is, or would be, set for the topic. As in Kafka the synonyms begin at the
 * setting's first name: a topic that takes its value from `log.roll.hours` shows none.
 */
export function effectiveTopicSetting(
  image: MetadataImage,
  node: NodeSettings,
  name: string,
  setting: TopicSetting,
  overrides: ReadonlyMap<string, string>,
): Effective {
  const names = setting.synonyms.map((synonym) => synonym.name);
  const all = brokerSynonyms(image, node, names);
  const first = all.findIndex((synonym) => synonym.name === names[0]);
  const shown = first < 0 ? [] : all.slice(first);
  const own = overrides.get(name);
  if (own !== undefined) {
    return {
      value: own,
      source: ConfigSource.TOPIC,
      synonyms: [{ name, value: own, source: ConfigSource.TOPIC }, ...shown],
    };
  }
  return { value: inherited(setting, all), source: shown[0]?.source ?? ConfigSource.DEFAULT, synonyms: shown };
}

/** The value of a topic's setting, for code that acts on it. `name` is one of Kafka's settings of topics. */
export function topicSettingValue(image: MetadataImage, node: NodeSettings, topic: string, name: string): string {
  const own = configOf(image, ResourceType.TOPIC, topic).get(name);
  if (own !== undefined) return own;
  const setting = TOPIC_SETTINGS.get(name);
  if (setting === undefined) return '';
  return effectiveTopicSetting(image, node, name, setting, new Map()).value;
}
