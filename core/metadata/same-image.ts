/**
 * Whether two images hold the same, wherever they stand in the log and in whatever order they came to it.
 *
 * They are compared part by part, and what is one object in both costs nothing; only where that finds a difference do
 * their records decide, as they would be written: they alone say what is worth keeping. Pure, no state.
 */
import { isSameBytes } from '../lib/bytes.ts';
import type { MetadataImage } from './image.ts';
import { encodeMetadataRecord } from './records.ts';
import { snapshotRecords } from './snapshot.ts';

/** Whether their records are the same, in any order. */
export function isSameImage(a: MetadataImage, b: MetadataImage): boolean {
  if (a === b) return true;
  const { provenance: _, ...one } = a;
  const { provenance: __, ...other } = b;
  return isSame(one, other) || haveSameRecords(a, b);
}

/** Plain data, lists, maps and bytes. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Map) return b instanceof Map && isSameMap(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && isSameBytes(a, b);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(b, key) || !isSame(Reflect.get(a, key), Reflect.get(b, key))) return false;
  }
  return true;
}

function isSameMap(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (!b.has(key) || !isSame(value, b.get(key))) return false;
  return true;
}

function haveSameRecords(a: MetadataImage, b: MetadataImage): boolean {
  const one = [...snapshotRecords(a)].map(encodeMetadataRecord);
  const other = [...snapshotRecords(b)].map(encodeMetadataRecord);
  if (one.length !== other.length) return false;
  if (one.every((bytes, i) => isSameBytes(bytes, other[i] as Uint8Array))) return true;
  const texts = other.map(textOf).sort();
  return one
    .map(textOf)
    .sort()
    .every((text, i) => text === texts[i]);
}

const CHARACTERS_MAX = 4096;

/** A character for each byte: for comparing, and quick to make. */
function textOf(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHARACTERS_MAX) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHARACTERS_MAX));
  }
  return text;
}
