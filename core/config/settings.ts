/**
 * Every setting that Tidemark knows, once. The type of a node's configuration is inferred from here; help,
 * documentation and DescribeConfigs are made from here. Names, kinds and bounds are Apache Kafka's; names that begin
 * with `tidemark.` are our own. Data, no state.
 */
import { GROUP_SETTINGS, OFFSETS_SETTINGS } from './group-settings.ts';
import { LOG_SETTINGS } from './log-settings.ts';
import { NODE_SETTINGS } from './node-settings.ts';
import { QUORUM_SETTINGS } from './quorum-settings.ts';
import { REPLICA_SETTINGS } from './replica-settings.ts';
import type { Setting } from './setting.ts';

const TABLE = {
  ...NODE_SETTINGS,
  ...LOG_SETTINGS,
  ...QUORUM_SETTINGS,
  ...REPLICA_SETTINGS,
  ...GROUP_SETTINGS,
  ...OFFSETS_SETTINGS,
};

/** The name of a setting. */
export type SettingName = keyof typeof TABLE;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The configuration of one node: a value for every setting, by Kafka's name. "Never" and "no limit" are Infinity. */
export type NodeConfig = { readonly [N in SettingName]: ValueOf<(typeof TABLE)[N]> } & {
  /** What the operator wrote, by name, as text: for describing the configuration. */
  readonly given: ReadonlyMap<string, string>;
};

/** The table by name, in the order of declaration. */
export const SETTINGS: ReadonlyMap<string, Setting<unknown>> = new Map<string, Setting<unknown>>(Object.entries(TABLE));
