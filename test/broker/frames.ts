/** Bytes and bodies as a test's client handles them. */
import { defaultsOf, type Fields } from '../../core/protocol/schema.ts';

/** A body of which any field may be left out: it is at its default then. */
export type Loose<T> = T extends Uint8Array | string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly Loose<E>[]
    : { readonly [K in keyof T]?: Loose<T[K]> };

/** Bytes put together. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The whole frames in what a client received, without their lengths. */
export function frames(bytes: Uint8Array): Uint8Array[] {
  const found: Uint8Array[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = view.getInt32(at);
    found.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return found;
}

/** The body with every field that was left out at its default. */
export function fill(fields: Fields, value: unknown): unknown {
  const whole: { [name: string]: unknown } = defaultsOf(fields);
  for (const [name, given] of Object.entries(value as object)) {
    const inner = fields[name]?.fields;
    if (inner === undefined || given === null) whole[name] = given;
    else whole[name] = Array.isArray(given) ? given.map((one) => fill(inner, one)) : fill(inner, given);
  }
  return whole;
}
