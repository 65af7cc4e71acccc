/**
 * Bodies whose strings are too long for the old encoding, which counts their bytes in 16 bits, made to fit. Pure, no
 * state.
 *
 * Most strings of an answer come from requests, whose names and messages are short. A few may be longer than an old
 * version can say: what a newer version stored, or what grew because malformed UTF-8 was replaced. A client is better
 * served by a cut text than by the end of its connection.
 */
import { cutUtf8 } from '../lib/utf8.ts';
import { type AnyMessage, type Field, type Fields, inRange } from './schema.ts';

/** The longest string of the old encoding. Bytes. */
export const OLD_STRING_BYTES_MAX = 0x7fff;

/** Whether a message counts the bytes of its strings in 16 bits in this version. */
export function hasOldStrings(message: AnyMessage, version: number): boolean {
  return !inRange(version, message.flexible);
}

/** The body with every string short enough for the version. What is short enough is the same object. */
export function fitStrings(message: AnyMessage, version: number, body: unknown): unknown {
  return hasOldStrings(message, version) ? fitStruct(message.fields, body) : body;
}

function fitStruct(fields: Fields, value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const held = value as { readonly [name: string]: unknown };
  const changed: { [name: string]: unknown } = {};
  let isChanged = false;
  for (const [name, item] of Object.entries(fields)) {
    const fitted = fitField(item, item.kind, held[name]);
    if (fitted === held[name]) continue;
    changed[name] = fitted;
    isChanged = true;
  }
  return isChanged ? { ...held, ...changed } : value;
}

function fitField(item: Field<unknown, unknown>, kind: Field<unknown>['kind'], value: unknown): unknown {
  if (kind === 'string') return typeof value === 'string' ? cutUtf8(value, OLD_STRING_BYTES_MAX) : value;
  if (kind === 'struct') return fitStruct(item.fields ?? {}, value);
  if (kind !== 'array' || !Array.isArray(value)) return value;
  const fitted = value.map((one: unknown) => fitField(item, item.element ?? 'struct', one));
  return fitted.some((one, i) => one !== value[i]) ? fitted : value;
}
