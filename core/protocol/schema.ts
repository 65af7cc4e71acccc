/**
 * Wire messages as data: a schema is a value, the static type of its bodies is inferred from it.
 *
 * A field says its kind, the versions that carry it, the versions in which it may be null, its tag and its
 * default. One body serves all versions: a field that a version lacks reads as its default, so bodies of one
 * message have one shape. When writing, a field with a declared default or a tag may be left out. Schemas are
 * built when the modules load and never change; `compile.ts` and `interpret.ts` walk them.
 */

import { ZERO_UUID } from '../lib/uuid.ts';
import type { Cut } from '../lib/writer.ts';

/** A range of versions: '3' alone, '3+' and all later, '3-7' both ends included, 'none'. */
export type Versions = `${number}` | `${number}+` | `${number}-${number}` | 'none';

/** How a field's bytes are read. `timestamp` is an int64 that rounds instead of saturating. */
export type Kind =
  | 'boolean'
  | 'int8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'timestamp'
  | 'float64'
  | 'uuid'
  | 'string'
  | 'bytes'
  | 'records'
  | 'struct'
  | 'array';

/** The versions from `since` to `until`, both included; none if `since` is greater. */
export interface Range {
  readonly since: number;
  readonly until: number;
}

/**
 * One field. `T` is its type when read, `I` when written, `Optional` whether writing may leave it out. The last
 * two exist for the type checker only.
 */
export interface Field<out T, I = T, Optional extends boolean = boolean> {
  readonly kind: Kind;
  readonly versions: Range;
  readonly nullable: Range;
  /** -1 for a field that always has its place. */
  readonly tag: number;
  /** The versions in which the field is tagged; in others of its versions it has its place. */
  readonly tagged: Range;
  /** What a body holds where the version has no such field. */
  readonly fallback: T;
  /** Whether a value may be dropped silently in a version that lacks the field. */
  readonly isIgnorable: boolean;
  /** Whether writing may leave the field out: it has a declared default or a tag. */
  readonly isOptional: boolean;
  /** Whether the old encoding is kept in flexible versions; only the request header has such a field. */
  readonly isNeverFlexible: boolean;
  /** The fields of a struct, or of the structs in an array. */
  readonly fields?: Fields;
  /** The kind of an array's elements. */
  readonly element?: Kind;
  readonly input?: I;
  readonly optional?: Optional;
}

/** The fields of a struct in the order of the wire. */
export type Fields = { readonly [name: string]: Field<unknown, unknown> };

/** The type of a struct as it is read: every field is there. */
export type ValueOf<F extends Fields> = { -readonly [K in keyof F]: F[K] extends Field<infer T, infer _I> ? T : never };

type InputTypeOf<X> = X extends { readonly input?: infer I } ? Exclude<I, undefined> : never;
type IsOptional<X> = X extends { readonly optional?: infer O } ? (true extends O ? true : false) : false;

/** The type of a struct as it is written: fields with a declared default or a tag may be left out. */
export type InputOf<F extends Fields> = {
  readonly [K in keyof F as IsOptional<F[K]> extends true ? never : K]: InputTypeOf<F[K]>;
} & {
  readonly [K in keyof F as IsOptional<F[K]> extends true ? K : never]?: InputTypeOf<F[K]> | undefined;
};

/** What may be said of a field beside its kind and versions. */
export interface Options<T> {
  readonly nullable?: Versions;
  readonly tag?: number;
  /** Where the field is tagged, if not in all of its versions. */
  readonly tagged?: Versions;
  readonly default?: T;
  readonly ignorable?: true;
  readonly flexible?: 'none';
}

type Nullable<T, O> = O extends { nullable: Versions } ? T | null : T;
type MayOmit<O> = O extends { tag: number } ? true : O extends { default: unknown } ? true : false;

/** The highest version number that a range can name. */
export const VERSION_MAX = 0x7fff;
const NEVER: Range = { since: 1, until: 0 };

/** The thousands of fields name some forty ranges between them, and every start of a process asks for all of them. */
const ranges = new Map<Versions, Range>([['none', NEVER]]);

/** Parses a range; throws a plain Error for a text that is none, because schemas are ours. */
export function parseVersions(text: Versions): Range {
  const known = ranges.get(text);
  if (known !== undefined) return known;
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text);
  if (match === null) throw new Error(`not a range of versions: ${text}`);
  const since = Number(match[1]);
  const until = match[2] !== undefined ? VERSION_MAX : match[3] === undefined ? since : Number(match[3]);
  const range: Range = { since, until };
  ranges.set(text, range);
  return range;
}

/** Whether a version lies in a range. */
export function inRange(version: number, range: Range): boolean {
  return version >= range.since && version <= range.until;
}

function field<T, I, O extends boolean>(
  kind: Kind,
  versions: Versions,
  zero: T,
  options: Options<unknown>,
  more: { readonly fields?: Fields; readonly element?: Kind } = {},
): Field<T, I, O> {
  const tag = options.tag ?? -1;
  return {
    kind,
    versions: parseVersions(versions),
    nullable: options.nullable === undefined ? NEVER : parseVersions(options.nullable),
    tag,
    tagged: tag < 0 ? NEVER : parseVersions(options.tagged ?? versions),
    fallback: (options.default === undefined ? zero : options.default) as T,
    isIgnorable: options.ignorable === true,
    isOptional: options.default !== undefined || tag >= 0,
    isNeverFlexible: options.flexible === 'none',
    ...more,
  };
}

const scalar =
  <T>(kind: Kind, zero: T) =>
  <const O extends Options<T | null> = Record<never, never>>(
    versions: Versions = '0+',
    options?: O,
  ): Field<Nullable<T, O>, Nullable<T, O>, MayOmit<O>> =>
    field(kind, versions, zero as Nullable<T, O>, options ?? {});

const NO_BYTES = new Uint8Array(0);

/** One byte, 0 or 1. */
export const boolean = scalar<boolean>('boolean', false);
/** A signed byte. */
export const int8 = scalar<number>('int8', 0);
/** A signed integer of 16 bits. */
export const int16 = scalar<number>('int16', 0);
/** An unsigned integer of 16 bits. */
export const uint16 = scalar<number>('uint16', 0);
/** A signed integer of 32 bits. */
export const int32 = scalar<number>('int32', 0);
/** An unsigned integer of 32 bits. */
export const uint32 = scalar<number>('uint32', 0);
/** A signed integer of 64 bits, which saturates beyond 2^53. */
export const int64 = scalar<number>('int64', 0);
/** A signed integer of 64 bits, which rounds beyond 2^53: ms since 1970, or a special value below 0. */
export const timestamp = scalar<number>('timestamp', 0);
/** A double. */
export const float64 = scalar<number>('float64', 0);
/** A uuid in its printed form of 22 characters; see core/lib/uuid.ts. */
export const uuid = scalar<string>('uuid', ZERO_UUID);
/** UTF-8. */
export const string = scalar<string>('string', '');
/** Bytes: a view of the frame when read, copied when written. */
export const bytes = scalar<Uint8Array>('bytes', NO_BYTES);

/** Batches of records: one view of the frame when read; when written, views that are sent without a copy. */
export const records = <const O extends Options<null> = Record<never, never>>(
  versions: Versions = '0+',
  options?: O,
): Field<Nullable<Uint8Array, O>, Nullable<Exclude<Cut, null>, O>, MayOmit<O>> =>
  field('records', versions, NO_BYTES as Nullable<Uint8Array, O>, options ?? {});

/** Structs in a row. The default is an empty array, or null if so declared. */
export const array = <const F extends Fields, const O extends Options<null> = Record<never, never>>(
  fields: F,
  versions: Versions = '0+',
  options?: O,
): Field<Nullable<ValueOf<F>[], O>, Nullable<readonly InputOf<F>[], O>, MayOmit<O>> =>
  field('array', versions, [] as unknown as Nullable<ValueOf<F>[], O>, options ?? {}, { fields, element: 'struct' });

/** Scalars in a row: `arrayOf(int32(), '0+')`. Versions and options of the element itself are ignored. */
export const arrayOf = <T, const O extends Options<null> = Record<never, never>>(
  element: Field<T, T>,
  versions: Versions = '0+',
  options?: O,
): Field<Nullable<T[], O>, Nullable<readonly T[], O>, MayOmit<O>> =>
  field('array', versions, [] as unknown as Nullable<T[], O>, options ?? {}, { element: element.kind });

/** One struct. Its default has every field at its own default, or is null if so declared. */
export const struct = <const F extends Fields, const O extends Options<null> = Record<never, never>>(
  fields: F,
  versions: Versions = '0+',
  options?: O,
): Field<Nullable<ValueOf<F>, O>, Nullable<InputOf<F>, O>, MayOmit<O>> =>
  field('struct', versions, defaultsOf(fields) as Nullable<ValueOf<F>, O>, options ?? {}, { fields });

/** A struct with every field at its default. */
export function defaultsOf<F extends Fields>(fields: F): ValueOf<F> {
  const value: { [name: string]: unknown } = {};
  for (const [name, item] of Object.entries(fields)) {
    const isFresh = item.kind === 'array' && item.fallback !== null;
    value[name] = isFresh
      ? []
      : item.kind === 'struct' && item.fallback !== null
        ? defaultsOf(item.fields ?? {})
        : item.fallback;
  }
  return value as ValueOf<F>;
}

/** A message or a record with a schema. */
export interface Message<F extends Fields> {
  readonly name: string;
  /** The versions that the schema describes. */
  readonly versions: Range;
  /** The versions with compact lengths and tags. */
  readonly flexible: Range;
  /** Whether tags that the schema does not know are kept in the bodies, to be written again. */
  readonly keepsUnknownTags: boolean;
  readonly fields: F;
}

/** The head of a schema. */
export interface MessageOptions {
  readonly name: string;
  readonly versions: Versions;
  readonly flexible: Versions;
  /** For what we store and forward. Default: unknown tags are skipped. */
  readonly keepsUnknownTags?: boolean;
}

/** Declares a message. Its fields come in the order of the wire. */
export function message<const F extends Fields>(options: MessageOptions, fields: F): Message<F> {
  return {
    name: options.name,
    versions: parseVersions(options.versions),
    flexible: parseVersions(options.flexible),
    keepsUnknownTags: options.keepsUnknownTags === true,
    fields,
  };
}

/** A message whose fields are not known to the type checker. */
export type AnyMessage = Message<Fields>;
/** The body of a message as it is read. */
export type BodyOf<M> = M extends Message<infer F> ? ValueOf<F> : never;
/** The body of a message as it is written. */
export type BodyInputOf<M> = M extends Message<infer F> ? InputOf<F> : never;

/** A tagged field that the schema does not know: its bytes as they came. */
export interface UnknownTag {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

/** Where kept unknown tags hang on a struct; absent if there were none. */
export const UNKNOWN_TAGS = 'unknownTags';

/** Whether a field has its ordinary place in a version. */
export function isPlaced(item: Field<unknown, unknown>, version: number): boolean {
  return inRange(version, item.versions) && !inRange(version, item.tagged);
}

/** Whether a field is tagged in a version. */
export function isTagged(item: Field<unknown, unknown>, version: number): boolean {
  return inRange(version, item.versions) && inRange(version, item.tagged);
}

/** Whether a value equals its field's default; undefined does. */
export function isDefault(item: Field<unknown, unknown>, value: unknown): boolean {
  if (value === undefined || value === item.fallback) return true;
  if (value === null || item.fallback === null) return false;
  if (item.kind === 'array') return (value as readonly unknown[]).length === 0;
  if (item.kind === 'bytes' || item.kind === 'records') return isEmptyBytes(value as Cut);
  if (item.kind !== 'struct') return false;
  const held = value as { readonly [name: string]: unknown };
  if (held[UNKNOWN_TAGS] !== undefined) return false;
  return Object.entries(item.fields ?? {}).every(([name, inner]) => isDefault(inner, held[name]));
}

function isEmptyBytes(value: Cut): boolean {
  if (value === null) return false;
  return value instanceof Uint8Array ? value.length === 0 : value.every((part) => part.length === 0);
}

/** The fewest bytes that a value can take: what caps the length of an array before anything is allocated. */
export function sizeBytesMin(item: Field<unknown, unknown>, kind: Kind, version: number, isFlexible: boolean): number {
  const fixed = FIXED_BYTES.get(kind);
  if (fixed !== undefined) return fixed;
  if (kind === 'string') return isFlexible ? 1 : 2;
  if (kind !== 'struct') return isFlexible ? 1 : 4;
  if (inRange(version, item.nullable)) return 1;
  let size = isFlexible ? 1 : 0;
  for (const inner of Object.values(item.fields ?? {})) {
    if (isPlaced(inner, version)) size += sizeBytesMin(inner, inner.kind, version, isFlexible);
  }
  return size;
}

/** Bytes of the kinds whose size does not depend on the value. */
export const FIXED_BYTES: ReadonlyMap<Kind, number> = new Map<Kind, number>([
  ['boolean', 1],
  ['int8', 1],
  ['int16', 2],
  ['uint16', 2],
  ['int32', 4],
  ['uint32', 4],
  ['int64', 8],
  ['timestamp', 8],
  ['float64', 8],
  ['uuid', 16],
]);
