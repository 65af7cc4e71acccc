/**
 * Turns schemas into functions: one decoder and one encoder for each (message, version), made at first use.
 *
 * The only file of the project that makes code at run time; its input is our own schemas, never bytes from outside.
 * A compiled codec behaves exactly as the interpreter does, which a property test holds it to. The cache only
 * grows by what is used and can be lost at any time.
 */
import { joinParts } from '../lib/bytes.ts';
import type { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { unsignedVarintSize } from '../lib/varint.ts';
import {
  bytesSize,
  type Cut,
  compactBytesSize,
  compactStringSize,
  cutSize,
  stringSize,
  Writer,
} from '../lib/writer.ts';
import { decoderText } from './compile-decode.ts';
import { encoderText } from './compile-encode.ts';
import { type AnyMessage, type BodyInputOf, type BodyOf, inRange, type UnknownTag } from './schema.ts';

/** Reads a body from where the reader stands. Throws ProtocolError. */
export type Decoder = (reader: Reader) => unknown;

/** Writes bodies: `size` counts all but the bytes of records, `write` fills a writer of at least that size. */
export interface Encoder {
  readonly size: (body: unknown) => number;
  readonly write: (writer: Writer, body: unknown) => void;
}

const NO_BYTES = new Uint8Array(0);

function fail(field: string): never {
  throw new ProtocolError('badValue', `the field ${field} is null or not as long as its tag says`);
}

function notNull(field: string): never {
  throw new ProtocolError('badValue', `the field ${field} may not be null in this version`);
}

function absent(field: string): never {
  throw new ProtocolError('unsupported', `this version has no field ${field}, and it is not at its default`);
}

function keep(unknown: UnknownTag[] | null, tag: number, bytes: Uint8Array): UnknownTag[] {
  const kept = unknown ?? [];
  kept.push({ tag, bytes });
  return kept;
}

function taggedSize(tag: number, size: number): number {
  return unsignedVarintSize(tag) + unsignedVarintSize(size) + size;
}

function unknownSize(unknown: readonly UnknownTag[] | undefined): number {
  let size = 0;
  for (const { tag, bytes } of unknown ?? []) size += taggedSize(tag, bytes.length);
  return size;
}

/** Writes the unknown tags from index `from` that are below `below`; returns the index of the first that is not. */
function writeUnknown(to: Writer, unknown: readonly UnknownTag[] | undefined, from: number, below: number): number {
  let index = from;
  for (let next = unknown?.[index]; next !== undefined && next.tag < below; next = unknown?.[++index]) {
    to.unsignedVarint(next.tag);
    to.unsignedVarint(next.bytes.length);
    to.raw(next.bytes);
  }
  return index;
}

function compactCutSize(value: Cut): number {
  return value === null ? 1 : unsignedVarintSize(cutSize(value) + 1);
}

function isNoBytes(value: Cut | undefined): boolean {
  return value === undefined || (value !== null && cutSize(value) === 0);
}

/** What compiled text may name beside its parameters. */
const LENT: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['NO_BYTES', NO_BYTES],
  ['fail', fail],
  ['notNull', notNull],
  ['absent', absent],
  ['keep', keep],
  ['taggedSize', taggedSize],
  ['unknownSize', unknownSize],
  ['writeUnknown', writeUnknown],
  ['varintSize', unsignedVarintSize],
  ['stringSize', stringSize],
  ['compactStringSize', compactStringSize],
  ['bytesSize', bytesSize],
  ['compactBytesSize', compactBytesSize],
  ['compactCutSize', compactCutSize],
  ['isNoBytes', isNoBytes],
]);

function build<T>(text: string): T {
  return new Function(...LENT.keys(), text)(...LENT.values()) as T;
}

const decoders = new Map<AnyMessage, (Decoder | undefined)[]>();
const encoders = new Map<AnyMessage, (Encoder | undefined)[]>();

function checkVersion(message: AnyMessage, version: number): void {
  if (inRange(version, message.versions)) return;
  throw new ProtocolError('unsupported', `${message.name} has no version ${version}`);
}

/** The decoder of a version, compiled at first use. */
export function decoderOf(message: AnyMessage, version: number): Decoder {
  const versions = decoders.get(message) ?? [];
  if (versions.length === 0) decoders.set(message, versions);
  let decoder = versions[version];
  if (decoder === undefined) {
    checkVersion(message, version);
    decoder = compileDecoder(message, version, message.keepsUnknownTags);
    versions[version] = decoder;
  }
  return decoder;
}

/** The encoder of a version, compiled at first use. */
export function encoderOf(message: AnyMessage, version: number): Encoder {
  const versions = encoders.get(message) ?? [];
  if (versions.length === 0) encoders.set(message, versions);
  let encoder = versions[version];
  if (encoder === undefined) {
    checkVersion(message, version);
    encoder = compileEncoder(message, version, message.keepsUnknownTags);
    versions[version] = encoder;
  }
  return encoder;
}

/** Compiles a decoder anew, keeping unknown tags or not whatever the message says. */
export function compileDecoder(message: AnyMessage, version: number, keepsUnknownTags: boolean): Decoder {
  return build(decoderText(message, version, keepsUnknownTags));
}

/** Compiles an encoder anew, writing kept unknown tags or not whatever the message says. */
export function compileEncoder(message: AnyMessage, version: number, keepsUnknownTags: boolean): Encoder {
  return build(encoderText(message, version, keepsUnknownTags));
}

/** Reads one body; the reader is left behind it. */
export function readBody<M extends AnyMessage>(message: M, version: number, reader: Reader): BodyOf<M> {
  return decoderOf(message, version)(reader) as BodyOf<M>;
}

/** The bytes of one body in parts: pieces of one buffer and, between them, views of the records. */
function bodyParts<M extends AnyMessage>(message: M, version: number, body: BodyInputOf<M>): Uint8Array[] {
  const encoder = encoderOf(message, version);
  const writer = new Writer(encoder.size(body));
  encoder.write(writer, body);
  return writer.finish();
}

/** The bytes of one body in one buffer. For messages without records; others are copied together. */
export function bodyBytes<M extends AnyMessage>(message: M, version: number, body: BodyInputOf<M>): Uint8Array {
  return joinParts(bodyParts(message, version, body));
}
