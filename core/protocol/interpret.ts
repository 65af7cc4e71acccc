/**
 * A slow codec that walks the schema for every value: the oracle that compiled codecs are compared with.
 *
 * It is written apart from them on purpose, in the plainest way, and shares only the cursor. Never on a path that
 * serves clients. Unknown tags are kept on the struct they came with if asked.
 */
import type { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { type Cut, Writer } from '../lib/writer.ts';
import {
  type AnyMessage,
  defaultsOf,
  FIXED_BYTES,
  type Field,
  type Fields,
  inRange,
  isDefault,
  isPlaced,
  isTagged,
  type Kind,
  UNKNOWN_TAGS,
  type UnknownTag,
} from './schema.ts';

/** A struct while it is walked. */
type Values = { [name: string]: unknown };
type AnyField = Field<unknown, unknown>;

interface Mode {
  readonly version: number;
  readonly isFlexible: boolean;
  readonly keepsUnknownTags: boolean;
}

function modeOf(message: AnyMessage, version: number, keepsUnknownTags: boolean): Mode {
  if (!inRange(version, message.versions)) throw new ProtocolError('unsupported', 'no such version');
  return { version, isFlexible: inRange(version, message.flexible), keepsUnknownTags };
}

/** Reads a body from where the reader stands. */
export function interpretDecode(
  message: AnyMessage,
  version: number,
  reader: Reader,
  keepsUnknownTags = false,
): Values {
  return readStruct(modeOf(message, version, keepsUnknownTags), message.fields, reader);
}

function readStruct(mode: Mode, fields: Fields, reader: Reader): Values {
  const value: Values = defaultsOf(fields);
  for (const [name, item] of Object.entries(fields)) {
    if (isPlaced(item, mode.version)) value[name] = readField(mode, name, item, reader);
  }
  if (!mode.isFlexible) return value;
  const unknown: UnknownTag[] = [];
  for (let left = reader.tagCount(); left > 0; left--) {
    const tag = reader.unsignedVarint();
    const size = reader.unsignedVarint();
    const start = reader.position;
    const known = Object.entries(fields).find(([, item]) => item.tag === tag && isTagged(item, mode.version));
    if (known === undefined) {
      unknown.push({ tag, bytes: reader.slice(size) });
    } else {
      value[known[0]] = readField(mode, known[0], known[1], reader);
      if (reader.position - start !== size) throw new ProtocolError('badValue', 'a tag is not as long as it says');
    }
  }
  if (mode.keepsUnknownTags && unknown.length > 0) value[UNKNOWN_TAGS] = unknown;
  return value;
}

function readField(mode: Mode, name: string, item: AnyField, reader: Reader): unknown {
  const isNullable = inRange(mode.version, item.nullable);
  const isCompact = mode.isFlexible && !item.isNeverFlexible;
  if (FIXED_BYTES.has(item.kind)) return readFixed(item.kind, reader);
  if (item.kind === 'struct') {
    if (isNullable && reader.int8() < 0) return null;
    return readStruct(mode, item.fields ?? {}, reader);
  }
  if (item.kind === 'array') {
    // The fewest bytes of an element are the compiler's business; one byte is a cap as well.
    const length = isCompact ? reader.compactArrayLength(1) : reader.arrayLength(1);
    if (length < 0 && !isNullable) throw new ProtocolError('badValue', `${name} is null`);
    if (length < 0) return null;
    const element: AnyField = { ...item, kind: item.element ?? 'struct', nullable: { since: 1, until: 0 } };
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) values.push(readField(mode, name, element, reader));
    return values;
  }
  if (item.kind === 'string') {
    if (isCompact) return isNullable ? reader.compactNullableString() : reader.compactString();
    return isNullable ? reader.nullableString() : reader.string();
  }
  if (isCompact) return isNullable ? reader.compactNullableBytes() : reader.compactBytes();
  return isNullable ? reader.nullableBytes() : reader.bytesField();
}

function readFixed(kind: Kind, reader: Reader): unknown {
  return reader[kind as 'int32']();
}

/** The largest body that the interpreter writes, records not counted. Bytes. */
export const INTERPRETED_BYTES_MAX = 1024 * 1024;

const scratch = new Uint8Array(INTERPRETED_BYTES_MAX);

/** The parts of a body. It measures by writing into a scratch buffer. */
export function interpretEncode(
  message: AnyMessage,
  version: number,
  body: unknown,
  keepsUnknownTags = false,
): Uint8Array[] {
  const mode = modeOf(message, version, keepsUnknownTags);
  const size = measure((writer) => writeStruct(mode, message.fields, body as Values, writer));
  const writer = new Writer(size);
  writeStruct(mode, message.fields, body as Values, writer);
  return writer.finish();
}

function measure(write: (writer: Writer) => void): number {
  const writer = new Writer(scratch.length, scratch);
  write(writer);
  return writer.position;
}

function writeStruct(mode: Mode, fields: Fields, value: Values, writer: Writer): void {
  const tagged: { tag: number; write: (to: Writer) => void }[] = [];
  for (const [name, item] of Object.entries(fields)) {
    const given = value[name] === undefined ? item.fallback : value[name];
    if (isPlaced(item, mode.version)) {
      writeField(mode, name, item, given, writer);
    } else if (isTagged(item, mode.version)) {
      if (!isDefault(item, given)) {
        tagged.push({ tag: item.tag, write: (to) => writeField(mode, name, item, given, to) });
      }
    } else if (!item.isIgnorable && !isDefault(item, given)) {
      throw new ProtocolError('unsupported', `this version has no field ${name}`);
    }
  }
  if (!mode.isFlexible) return;
  const unknown = mode.keepsUnknownTags ? ((value[UNKNOWN_TAGS] ?? []) as UnknownTag[]) : [];
  for (const { tag, bytes } of unknown) tagged.push({ tag, write: (to) => to.raw(bytes) });
  tagged.sort((a, b) => a.tag - b.tag);
  writer.unsignedVarint(tagged.length);
  for (const { tag, write } of tagged) {
    writer.unsignedVarint(tag);
    writer.unsignedVarint(measure(write));
    write(writer);
  }
}

function writeField(mode: Mode, name: string, item: AnyField, value: unknown, writer: Writer): void {
  const isNullable = inRange(mode.version, item.nullable);
  const isCompact = mode.isFlexible && !item.isNeverFlexible;
  if (value === null && !isNullable) throw new ProtocolError('badValue', `${name} is null`);
  if (FIXED_BYTES.has(item.kind)) {
    writer[item.kind as 'int32'](value as number);
  } else if (item.kind === 'struct') {
    if (isNullable) writer.int8(value === null ? -1 : 1);
    if (value !== null) writeStruct(mode, item.fields ?? {}, value as Values, writer);
  } else if (item.kind === 'array') {
    writeArray(mode, name, item, value as readonly unknown[] | null, writer);
  } else if (item.kind === 'string') {
    if (isCompact) writer.compactNullableString(value as string | null);
    else writer.nullableString(value as string | null);
  } else if (item.kind === 'records') {
    if (isCompact) writer.compactRecords(value as Cut);
    else writer.records(value as Cut);
  } else if (isCompact) {
    writer.compactNullableBytes(value as Uint8Array | null);
  } else {
    writer.nullableBytes(value as Uint8Array | null);
  }
}

function writeArray(mode: Mode, name: string, item: AnyField, values: readonly unknown[] | null, writer: Writer): void {
  const length = values === null ? -1 : values.length;
  if (mode.isFlexible) writer.unsignedVarint(length + 1);
  else writer.int32(length);
  const element: AnyField = { ...item, kind: item.element ?? 'struct', nullable: { since: 1, until: 0 } };
  for (const value of values ?? []) writeField(mode, name, element, value, writer);
}
