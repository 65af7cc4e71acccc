/**
 * How the text of a setting becomes a value, or a sentence that says why it cannot. Pure functions, no state.
 *
 * Kafka's own rules: surrounding blanks are dropped, a number is decimal digits with an optional sign, a boolean is
 * `true` or `false` in any case, a list is split at commas with the blanks around them.
 */
import type { Setting } from './setting.ts';

/** One address that the node listens on or advertises. */
export interface Listener {
  /** Upper case; PLAINTEXT unless the operator chose names. */
  readonly name: string;
  /** Empty: every interface (to listen), or the address that the client reached (to advertise). */
  readonly host: string;
  /** 0 asks for a free port. */
  readonly port: number;
}

/** A controller that votes, as `controller.quorum.voters` names it. */
export interface QuorumVoter {
  readonly id: number;
  readonly host: string;
  readonly port: number;
}

/** A topic that exists from the start. */
export interface TopicAtStart {
  readonly name: string;
  readonly partitions: number;
}

/** What any setting may hold. */
export type SettingValue =
  | string
  | number
  | boolean
  | readonly string[]
  | readonly Listener[]
  | readonly QuorumVoter[]
  | readonly TopicAtStart[]
  | null;

/** A value, or what is wrong with the text: the rest of a sentence that begins with the setting's name. */
export type Reading = { readonly value: SettingValue } | { readonly problem: string };

/** The longest topic name, characters: it must fit a folder name with the partition's number. */
export const TOPIC_NAME_MAX = 249;
/** The most partitions of one topic that exists from the start. */
export const PARTITIONS_MAX = 100_000;

/** The most voters of a quorum: more would be slower and no safer. */
export const VOTERS_MAX = 5;

const LONG_MAX = 9223372036854775807n;
const LONG_MIN = -9223372036854775808n;
const INTEGER = /^[+-]?[0-9]{1,24}$/;
const DECIMAL = /^[+-]?([0-9]{1,400}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,4})?$/;
const LISTENER = /^([A-Za-z][A-Za-z0-9_]*):\/\/(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]*):([0-9]{1,5})$/;
const ADDRESS = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@[\]]+):([0-9]{1,5})$/;
const VOTER = /^([0-9]{1,10})@(.*)$/;
const NODE_ID_MAX = 2147483647;
const PORT_MAX = 65535;
const TOPIC = /^[a-zA-Z0-9._-]+$/;

/** Reads `text` as `setting` wants it. */
export function readValue(setting: Setting<unknown>, text: string): Reading {
  const trimmed = text.trim();
  switch (setting.kind) {
    case 'int':
    case 'long':
      return readInteger(setting, trimmed);
    case 'double':
      if (!DECIMAL.test(trimmed)) return { problem: `is "${trimmed}", which is not a number` };
      return withinBounds(setting, Number(trimmed), trimmed);
    case 'boolean':
      return readBoolean(trimmed);
    case 'string':
      return { value: trimmed };
    case 'choice':
      if (setting.choices.includes(trimmed)) return { value: trimmed };
      return { problem: `is "${trimmed}", but must be one of ${setting.choices.join(', ')}` };
    case 'list':
      return readList(setting, trimmed);
    case 'listeners':
      return readListeners(trimmed);
    case 'addresses':
      return readAddresses(trimmed);
    case 'voters':
      return readVoters(trimmed);
    case 'topics':
      return readTopics(trimmed);
  }
}

/** The text of an inherited value: how a number would stand in a file. */
export function numberText(value: number): string {
  return value === Infinity ? String(LONG_MAX) : String(value);
}

/** Whether Kafka takes it as the name of a topic. */
export function isTopicName(name: string): boolean {
  return TOPIC.test(name) && name.length <= TOPIC_NAME_MAX && name !== '.' && name !== '..';
}

/** Splits at commas, as Kafka does; an empty text is an empty list. */
export function splitList(text: string): string[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  return trimmed.split(',').map((part) => part.trim());
}

function readInteger(setting: Setting<unknown>, text: string): Reading {
  if (!INTEGER.test(text)) return { problem: `is "${text}", which is not a whole number` };
  const exact = BigInt(text.startsWith('+') ? text.slice(1) : text);
  if (exact > LONG_MAX || exact < LONG_MIN) return { problem: `is ${text}, which does not fit 64 bits` };
  if (exact === -1n && setting.minusOneIsNever) return { value: Infinity };
  return withinBounds(setting, exact === LONG_MAX ? Infinity : Number(exact), text);
}

function withinBounds(setting: Setting<unknown>, value: number, text: string): Reading {
  const unit = setting.unit === '' || setting.unit === 'count' || setting.unit === 'ratio' ? '' : ` ${setting.unit}`;
  if (value < setting.min) return { problem: `is ${text}${unit}, but must be at least ${setting.min}` };
  if (value > setting.max) return { problem: `is ${text}${unit}, but must be at most ${setting.max}` };
  return { value };
}

function readBoolean(text: string): Reading {
  const lower = text.toLowerCase();
  if (lower === 'true') return { value: true };
  if (lower === 'false') return { value: false };
  return { problem: `is "${text}", but must be true or false` };
}

function readList(setting: Setting<unknown>, text: string): Reading {
  const parts = splitList(text);
  for (const part of parts) {
    if (part === '') return { problem: `is "${text}", which has an empty element` };
    if (setting.choices.length > 0 && !setting.choices.includes(part)) {
      return { problem: `has the element "${part}", but may only have ${setting.choices.join(', ')}` };
    }
  }
  if (parts.length < setting.min) return { problem: 'is empty' };
  return { value: parts };
}

function readListeners(text: string): Reading {
  const found: Listener[] = [];
  for (const part of splitList(text)) {
    const match = LISTENER.exec(part);
    if (match === null) return { problem: `has "${part}", which does not look like PLAINTEXT://host:port` };
    const port = Number(match[3]);
    if (port > PORT_MAX) return { problem: `has the port ${port}, but the highest is ${PORT_MAX}` };
    const name = (match[1] as string).toUpperCase();
    if (found.some((other) => other.name === name)) return { problem: `names ${name} twice` };
    found.push({ name, host: (match[2] as string).replace('[', '').replace(']', ''), port });
  }
  if (found.length === 0) return { problem: 'is empty' };
  return { value: found };
}

/** What is wrong with `host:port`, or null. */
export function addressProblem(text: string): string | null {
  const match = ADDRESS.exec(text);
  if (match === null) return `has "${text}", which does not look like host:port`;
  const port = Number(match[2]);
  return port < 1 || port > PORT_MAX ? `has the port ${port}, but must have 1 to ${PORT_MAX}` : null;
}

/** The two parts of `host:port`, without the brackets of an IPv6 address. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace('[', '').replace(']', '');
  return { host, port: Number(address.slice(colon + 1)) };
}

function readAddresses(text: string): Reading {
  const found = splitList(text);
  for (const part of found) {
    const problem = addressProblem(part);
    if (problem !== null) return { problem };
  }
  return { value: found };
}

function readVoters(text: string): Reading {
  const found: QuorumVoter[] = [];
  for (const part of splitList(text)) {
    const match = VOTER.exec(part);
    const id = Number(match?.[1]);
    if (match === null || id > NODE_ID_MAX) return { problem: `has "${part}", which does not look like id@host:port` };
    const address = match[2] as string;
    const problem = addressProblem(address);
    if (problem !== null) return { problem };
    const { host, port } = splitAddress(address);
    if (host === '0.0.0.0' || host === '::') return { problem: `has ${host}, to which no node can connect` };
    if (found.some((other) => other.id === id)) return { problem: `names the voter ${id} twice` };
    found.push({ id, host, port });
  }
  if (found.length > VOTERS_MAX) return { problem: `has ${found.length} voters, but may have ${VOTERS_MAX}` };
  return { value: found };
}

function readTopics(text: string): Reading {
  const found: TopicAtStart[] = [];
  for (const part of splitList(text)) {
    const colon = part.lastIndexOf(':');
    const name = colon < 0 ? part : part.slice(0, colon);
    const digits = colon < 0 ? '1' : part.slice(colon + 1);
    if (!isTopicName(name)) return { problem: `has "${name}", which cannot be the name of a topic` };
    const partitions = /^[0-9]{1,6}$/.test(digits) ? Number(digits) : 0;
    if (partitions < 1 || partitions > PARTITIONS_MAX) {
      return { problem: `wants "${digits}" partitions for ${name}, but must want 1 to ${PARTITIONS_MAX}` };
    }
    if (found.some((other) => other.name === name)) return { problem: `names ${name} twice` };
    found.push({ name, partitions });
  }
  return { value: found };
}
