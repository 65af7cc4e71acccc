/**
 * From texts to the configuration of one node, with a clear sentence for whatever is wrong. Pure, no state.
 *
 * Every name and every value is looked at before anything is refused, so that the operator sees all problems at once.
 */
import { checkGroupRules } from './group-rules.ts';
import { FOREIGN_NAMES, FOREIGN_PREFIXES, LATER_NAMES, LATER_PREFIXES } from './kafka-names.ts';
import { checkQuorumRules, controllerNames, type Fail } from './quorum-rules.ts';
import type { Setting } from './setting.ts';
import { type NodeConfig, SETTINGS } from './settings.ts';
import { suggest } from './suggest.ts';
import { type Listener, numberText, readValue, type SettingValue } from './values.ts';

/** What is wrong with one setting. Errors keep the node from starting; warnings are said once. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly name: string;
  /** A whole sentence, for people. */
  readonly sentence: string;
}

/** A configuration, to be used only if no problem is an error. */
export interface Parsed {
  readonly config: NodeConfig;
  readonly problems: readonly Problem[];
}

/** The most entries that are looked at; more are refused. */
export const ENTRIES_MAX = 10_000;

/** Other names of one setting, which Kafka still takes. */
const ALIASES: ReadonlyMap<string, string> = new Map([['broker.id', 'node.id']]);

/** Reads all entries, name to text. Absent settings have their defaults. */
export function parseSettings(entries: ReadonlyMap<string, string>): Parsed {
  const problems: Problem[] = [];
  const values = new Map<string, SettingValue>();
  const given = new Map<string, string>();
  if (entries.size > ENTRIES_MAX) {
    problems.push({ severity: 'error', name: '', sentence: `There are more than ${ENTRIES_MAX} settings.` });
  } else {
    for (const [name, text] of entries) readEntry(name, text, values, given, problems);
  }
  fillIn(values);
  const config = Object.fromEntries([...values, ['given', given]]) as unknown as NodeConfig;
  if (!problems.some((problem) => problem.severity === 'error')) checkTogether(config, problems);
  return { config, problems };
}

/** The configuration with Kafka's defaults and ours, changed as said; bounds are not checked. For tests. */
export function defaultConfig(changes: Partial<NodeConfig> = {}): NodeConfig {
  return { ...parseSettings(new Map()).config, ...changes };
}

/** Whether a name is a setting of ours or of Kafka's, whether it acts or not. */
export function isKnownName(name: string): boolean {
  return SETTINGS.has(name) || ALIASES.has(name) || isForeign(name) || isLater(name);
}

function readEntry(
  name: string,
  text: string,
  values: Map<string, SettingValue>,
  given: Map<string, string>,
  problems: Problem[],
): void {
  const key = ALIASES.get(name) ?? name;
  const setting = SETTINGS.get(key);
  if (setting === undefined) {
    problems.push(unknownName(name));
    return;
  }
  const reading = readValue(setting, text);
  if ('problem' in reading) {
    problems.push({ severity: 'error', name, sentence: `${name} ${reading.problem}.` });
    return;
  }
  const other = values.get(key);
  if (other !== undefined && other !== reading.value) {
    problems.push({
      severity: 'error',
      name,
      sentence: `${name} is another name of a setting that has another value.`,
    });
    return;
  }
  if (!setting.acts && !isDefault(setting, reading.value)) {
    problems.push({ severity: 'warning', name, sentence: `${name} is kept, but it does not act yet.` });
  }
  values.set(key, reading.value);
  given.set(key, text.trim());
}

/** Whether a value is the default, so that it changes nothing to leave it out. */
function isDefault(setting: Setting<unknown>, value: SettingValue): boolean {
  if (setting.default === null) return false;
  const reading = readValue(setting, setting.default);
  return 'value' in reading && String(reading.value) === String(value);
}

function unknownName(name: string): Problem {
  if (isForeign(name)) {
    return { severity: 'warning', name, sentence: `${name} means nothing to Tidemark and is ignored.` };
  }
  if (isLater(name)) {
    return { severity: 'warning', name, sentence: `${name} is not served by Tidemark yet and is ignored.` };
  }
  const meant = suggest(name, knownNames());
  const hint = meant === null ? 'see "tidemark settings" for the names that there are' : `did you mean ${meant}?`;
  return { severity: 'error', name, sentence: `There is no setting ${name}: ${hint}${meant === null ? '.' : ''}` };
}

function* knownNames(): Iterable<string> {
  yield* SETTINGS.keys();
  yield* LATER_NAMES;
  yield* FOREIGN_NAMES;
}

function isForeign(name: string): boolean {
  return FOREIGN_NAMES.has(name) || FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function isLater(name: string): boolean {
  return LATER_NAMES.has(name) || LATER_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Gives every setting a value that has none, in the order of the table, inherited ones by their chain. */
function fillIn(values: Map<string, SettingValue>): void {
  for (const [name, setting] of SETTINGS) {
    if (values.has(name)) continue;
    if (setting.inherits === null) values.set(name, defaultValue(name, setting));
  }
  for (const [name, setting] of SETTINGS) {
    if (!values.has(name)) values.set(name, inherited(setting, values));
  }
}

function inherited(setting: Setting<unknown>, values: Map<string, SettingValue>): SettingValue {
  if (setting.inherits === null) return null;
  const { from, times } = setting.inherits;
  const parent = SETTINGS.get(from) as Setting<unknown>;
  const value = values.get(from) ?? inherited(parent, values);
  if (typeof value === 'number') return value * times;
  return setting.kind === 'list' && typeof value === 'string' ? [value] : value;
}

function defaultValue(name: string, setting: Setting<unknown>): SettingValue {
  if (setting.default === null) return null;
  const reading = readValue(setting, setting.default);
  return 'problem' in reading ? unreadableDefault(name) : reading.value;
}

function unreadableDefault(name: string): never {
  throw new Error(`the default of ${name} cannot be read`);
}

/** What only shows when settings are seen beside each other. */
function checkTogether(config: NodeConfig, problems: Problem[]): void {
  const fail: Fail = (name, sentence) => problems.push({ severity: 'error', name, sentence });
  if (config['tidemark.frames.max.bytes'] < config['socket.request.max.bytes']) {
    const need = numberText(config['socket.request.max.bytes']);
    fail('tidemark.frames.max.bytes', `tidemark.frames.max.bytes must be at least socket.request.max.bytes (${need}).`);
  }
  checkListeners(config, fail);
  checkQuorumRules(config, fail);
  checkGroupRules(config, fail);
  const dirs = config['log.dirs'];
  if (new Set(dirs).size !== dirs.length) fail('log.dirs', 'log.dirs names a folder twice.');
}

function checkListeners(config: NodeConfig, fail: Fail): void {
  const names = new Set(config.listeners.map((listener) => listener.name));
  const protocols = protocolMap(config);
  for (const { name } of config.listeners) {
    const protocol = protocols.get(name);
    if (protocol === undefined) {
      fail('listeners', `The listener ${name} has no protocol in listener.security.protocol.map.`);
    } else if (protocol !== 'PLAINTEXT') {
      fail('listeners', `The listener ${name} wants ${protocol}, but only PLAINTEXT is served yet.`);
    }
  }
  for (const { name, host } of config['advertised.listeners'] ?? []) {
    if (!names.has(name)) fail('advertised.listeners', `advertised.listeners has ${name}, but listeners does not.`);
    if (host === '0.0.0.0' || host === '::') {
      fail('advertised.listeners', `advertised.listeners has ${host}, to which no client can connect.`);
    }
  }
  const ports = config.listeners.filter((listener) => listener.port !== 0).map(address);
  if (new Set(ports).size !== ports.length) fail('listeners', 'listeners has the same address twice.');
}

function address(listener: Listener): string {
  return `${listener.host}:${listener.port}`;
}

function protocolMap(config: NodeConfig): ReadonlyMap<string, string> {
  const protocols = new Map<string, string>([['PLAINTEXT', 'PLAINTEXT']]);
  for (const name of controllerNames(config)) protocols.set(name, 'PLAINTEXT');
  for (const pair of config['listener.security.protocol.map']) {
    const colon = pair.indexOf(':');
    if (colon > 0)
      protocols.set(
        pair.slice(0, colon).trim().toUpperCase(),
        pair
          .slice(colon + 1)
          .trim()
          .toUpperCase(),
      );
  }
  return protocols;
}

/** The listeners that clients may use: all that are not for controllers only. */
export function clientListeners(config: NodeConfig): readonly Listener[] {
  const controllers = controllerNames(config);
  return config.listeners.filter((listener) => !controllers.includes(listener.name));
}
