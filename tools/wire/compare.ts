/**
 * Compares a schema of ours with Apache Kafka's own definition of the message, field by field.
 *
 * Names (ours begin in lower case), order, types, versions, nullable versions, tags, defaults, flexible versions
 * and whether a value may be dropped. The outcome is a list of sentences, empty if they agree.
 */
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import {
  type AnyMessage,
  type Field,
  type Fields,
  parseVersions,
  type Range,
  type Versions,
} from '../../core/protocol/schema.ts';

/** A field as Kafka defines it. */
export interface FieldDefinition {
  readonly name: string;
  readonly type: string;
  readonly versions: string;
  readonly nullableVersions?: string;
  readonly taggedVersions?: string;
  readonly flexibleVersions?: string;
  readonly tag?: number;
  readonly default?: string | number | boolean | null;
  readonly ignorable?: boolean | string;
  readonly fields?: readonly FieldDefinition[];
}

/** A message as Kafka defines it. */
export interface Definition {
  readonly name: string;
  readonly apiKey?: number;
  readonly validVersions: string;
  readonly flexibleVersions: string;
  readonly latestVersionUnstable?: boolean;
  readonly fields: readonly FieldDefinition[];
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly FieldDefinition[] }[];
}

/** Reads a definition: JSON with comments to the end of the line. */
export function parseDefinition(text: string): Definition {
  // A comment begins outside of a string: strings are matched first and kept.
  const bare = text.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*/g, (_all, kept: string | undefined) => kept ?? '');
  return JSON.parse(bare) as Definition;
}

type AnyField = Field<unknown, unknown>;

/** All differences between a schema and a definition. */
export function differences(message: AnyMessage, definition: Definition): string[] {
  const found: string[] = [];
  const tell = (text: string): void => void found.push(`${message.name}: ${text}`);
  if (message.name !== definition.name) tell(`is called ${definition.name}`);
  compareRange(tell, 'valid versions', message.versions, definition.validVersions);
  compareRange(tell, 'flexible versions', message.flexible, definition.flexibleVersions);
  compareFields(tell, '', message.fields, definition.fields, definition);
  return found;
}

function compareRange(tell: (text: string) => void, what: string, ours: Range, theirs: string | undefined): void {
  const range = parseVersions((theirs ?? 'none') as Versions);
  const isNone = range.since > range.until && ours.since > ours.until;
  if (isNone || (range.since === ours.since && range.until === ours.until)) return;
  tell(`${what} are ${ours.since} to ${ours.until}, Kafka has ${theirs ?? 'none'}`);
}

function compareFields(
  tell: (text: string) => void,
  path: string,
  fields: Fields,
  definitions: readonly FieldDefinition[],
  root: Definition,
): void {
  const ours = Object.keys(fields).join(' ');
  const theirs = definitions.map((item) => lowerFirst(item.name)).join(' ');
  if (ours !== theirs) tell(`fields of ${path === '' ? 'the message' : path} are [${ours}], Kafka has [${theirs}]`);
  for (const definition of definitions) {
    const name = lowerFirst(definition.name);
    const item = fields[name];
    if (item !== undefined) compareField(tell, `${path}${name}`, item, definition, root);
  }
}

function compareField(
  tell: (text: string) => void,
  path: string,
  item: AnyField,
  definition: FieldDefinition,
  root: Definition,
): void {
  const type = typeOf(item);
  const isArray = definition.type.startsWith('[]');
  const element = isArray ? definition.type.slice(2) : definition.type;
  const inner = definition.fields ?? root.commonStructs?.find((struct) => struct.name === element)?.fields;
  const theirs = inner === undefined ? definition.type : isArray ? '[]struct' : 'struct';
  if (type !== theirs) tell(`${path} is ${type}, Kafka has ${theirs}`);
  compareRange(tell, `${path}: versions`, item.versions, definition.versions);
  compareRange(tell, `${path}: nullable versions`, item.nullable, definition.nullableVersions);
  compareRange(tell, `${path}: tagged versions`, item.tagged, definition.taggedVersions);
  if (item.tag !== (definition.tag ?? -1)) tell(`${path} has tag ${item.tag}, Kafka has ${definition.tag ?? 'none'}`);
  const isIgnorable = definition.ignorable === true || definition.ignorable === 'true';
  if (item.isIgnorable !== isIgnorable) tell(`${path}: ignorable is ${item.isIgnorable}, Kafka has ${isIgnorable}`);
  const isNeverFlexible = definition.flexibleVersions === 'none';
  if (item.isNeverFlexible !== isNeverFlexible) tell(`${path}: only one of both is never flexible`);
  compareDefault(tell, path, item, definition);
  if (inner !== undefined) compareFields(tell, `${path}.`, item.fields ?? {}, inner, root);
}

function typeOf(item: AnyField): string {
  if (item.kind === 'array') return `[]${kafkaType(item.element ?? 'struct')}`;
  return kafkaType(item.kind);
}

function kafkaType(kind: string): string {
  if (kind === 'boolean') return 'bool';
  return kind === 'timestamp' ? 'int64' : kind;
}

function compareDefault(tell: (text: string) => void, path: string, item: AnyField, definition: FieldDefinition): void {
  const ours = item.fallback;
  const given = definition.default;
  const isNull = given === null ? 'default' in definition : given === 'null';
  if (isNull || ours === null) {
    if (!isNull || ours !== null) tell(`${path}: default is ${String(ours)}, Kafka has ${String(given)}`);
    return;
  }
  if (item.kind === 'array' || item.kind === 'struct') return; // Empty, or all fields at their defaults.
  const theirs = defaultOf(item.kind, given);
  const ourText = ours instanceof Uint8Array ? `bytes(${ours.length})` : ours;
  if (ourText !== theirs) tell(`${path}: default is ${String(ourText)}, Kafka has ${String(theirs)}`);
}

function defaultOf(kind: string, given: string | number | boolean | null | undefined): unknown {
  switch (kind) {
    case 'string':
      return given ?? '';
    case 'boolean':
      return given === true || given === 'true';
    case 'uuid':
      return ZERO_UUID;
    case 'bytes':
    case 'records':
      return 'bytes(0)';
    default: {
      const value = given === undefined || given === '' ? 0 : Number(given);
      return Math.min(value, Number.MAX_SAFE_INTEGER); // As int64 is held here.
    }
  }
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
