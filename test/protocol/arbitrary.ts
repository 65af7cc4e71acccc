/** Random bodies of any message in any version, for property tests. */
import fc from 'fast-check';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import {
  type AnyMessage,
  defaultsOf,
  type Field,
  type Fields,
  inRange,
  type Kind,
  type Range,
} from '../../core/protocol/schema.ts';

type AnyField = Field<unknown, unknown>;

/** A body of a message or of one of its structs. */
export type Body = { [name: string]: unknown };

const ascii = fc.string({ maxLength: 12 });
const anyText = fc.oneof(
  { arbitrary: ascii, weight: 4 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 8 }), weight: 2 },
  { arbitrary: fc.string({ minLength: 60, maxLength: 200 }), weight: 1 },
);
const int64 = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32));
const blob = fc.uint8Array({ maxLength: 40 });

const SCALARS: ReadonlyMap<Kind, fc.Arbitrary<unknown>> = new Map<Kind, fc.Arbitrary<unknown>>([
  ['boolean', fc.boolean()],
  ['int8', fc.integer({ min: -128, max: 127 })],
  ['int16', fc.integer({ min: -32768, max: 32767 })],
  ['uint16', fc.integer({ min: 0, max: 65535 })],
  ['int32', fc.integer()],
  ['uint32', fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  ['int64', int64],
  ['timestamp', int64],
  ['float64', fc.double({ noNaN: true })],
  ['uuid', fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => uuidFromBytes(bytes, 0))],
  ['bytes', blob],
  ['records', blob],
]);

/** Bodies in which every field that the version has is random, and every other is at its default. */
export function bodiesOf(message: AnyMessage, version: number, text = anyText): fc.Arbitrary<Body> {
  return structOf(message.fields, version, text);
}

function structOf(fields: Fields, version: number, text: fc.Arbitrary<string>): fc.Arbitrary<Body> {
  const model: { [name: string]: fc.Arbitrary<unknown> } = {};
  const defaults: Body = defaultsOf(fields);
  for (const [name, item] of Object.entries(fields)) {
    model[name] = inRange(version, item.versions) ? fieldOf(item, version, text) : fc.constant(defaults[name]);
  }
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<Body>;
}

function fieldOf(item: AnyField, version: number, text: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const base = itemOf(item, item.kind, version, text);
  const choices: fc.WeightedArbitrary<unknown>[] = [{ arbitrary: base, weight: 6 }];
  if (inRange(version, item.nullable)) choices.push({ arbitrary: fc.constant(null), weight: 1 });
  const isFallbackLegal = item.fallback !== null || inRange(version, item.nullable);
  const isScalar = item.kind !== 'array' && item.kind !== 'struct';
  if (isFallbackLegal && isScalar) choices.push({ arbitrary: fc.constant(item.fallback), weight: 1 });
  return fc.oneof(...choices);
}

function itemOf(item: AnyField, kind: Kind, version: number, text: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  if (kind === 'string') return text;
  if (kind === 'struct') return structOf(item.fields ?? {}, version, text);
  if (kind === 'array') return fc.array(itemOf(item, item.element ?? 'struct', version, text), { maxLength: 3 });
  return SCALARS.get(kind) as fc.Arbitrary<unknown>;
}

/** Every version of a range. */
export function versionsOf(range: Range): number[] {
  return Array.from({ length: range.until - range.since + 1 }, (_, index) => range.since + index);
}

/** Parts in one buffer. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
