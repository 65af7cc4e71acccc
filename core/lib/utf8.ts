/**
 * Strings to UTF-8 and back, without the engine's text classes, which core may not name.
 *
 * Not well-formed are stray or missing continuation bytes, overlong forms, surrogates, anything beyond U+10FFFF.
 * `decodeUtf8` refuses them, for files; `decodeUtf8Loosely` puts U+FFFD in their place as Java does, for what clients
 * send. Encoding refuses a lone surrogate, which has no UTF-8 form. Names of topics, clients
 * and groups repeat on every request, so short ASCII strings are interned in a table of fixed size: a hit costs
 * one pass over the bytes and no garbage. The table only saves time; no result depends on what it holds.
 */
import { ProtocolError } from './protocol-error.ts';

const INTERN_SLOTS = 2048; // A power of two.
const INTERN_BYTES_MAX = 64;
const REPLACEMENT = 0xfffd;
const CHUNK_CHARS = 4096; // Arguments of one fromCharCode call; engines limit their number.

const interned: string[] = new Array<string>(INTERN_SLOTS).fill('');

/** Decodes bytes `start` (inclusive) to `end` (exclusive); throws ProtocolError 'badUtf8' if malformed. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  return decode(bytes, start, end, false);
}

/** Decodes bytes `start` (inclusive) to `end` (exclusive), with one U+FFFD for each malformed sequence. */
export function decodeUtf8Loosely(bytes: Uint8Array, start: number, end: number): string {
  return decode(bytes, start, end, true);
}

function decode(bytes: Uint8Array, start: number, end: number, isLoose: boolean): string {
  const length = end - start;
  if (length === 0) return '';
  let hash = length;
  let all = 0;
  if (length <= INTERN_BYTES_MAX) {
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      all |= byte;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    if (all >= 0x80) return decodeMixed(bytes, start, end, isLoose);
    const slot = (hash ^ (hash >>> 11)) & (INTERN_SLOTS - 1);
    const known = interned[slot] as string;
    if (sameAscii(known, bytes, start, length)) return known;
    const text = String.fromCharCode.apply(null, bytes.subarray(start, end) as unknown as number[]);
    interned[slot] = text;
    return text;
  }
  for (let i = start; i < end; i++) all |= bytes[i] as number;
  return all < 0x80 ? decodeAscii(bytes, start, end) : decodeMixed(bytes, start, end, isLoose);
}

function sameAscii(text: string, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

function decodeAscii(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += CHUNK_CHARS) {
    const chunk = bytes.subarray(at, Math.min(at + CHUNK_CHARS, end));
    text += String.fromCharCode.apply(null, chunk as unknown as number[]);
  }
  return text;
}

function decodeMixed(bytes: Uint8Array, start: number, end: number, isLoose: boolean): string {
  let text = '';
  let units: number[] = [];
  let at = start;
  while (at < end) {
    const lead = bytes[at] as number;
    if (lead < 0x80) {
      units.push(lead);
      at++;
    } else {
      const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      const point = decodePoint(bytes, at, end, lead, size);
      if (point < 0) {
        if (!isLoose) throw new ProtocolError('badUtf8', 'a string is not well-formed UTF-8');
        units.push(REPLACEMENT);
        at += malformedSize(bytes, at, end, lead, size);
        continue;
      }
      if (point >= 0x10000) units.push(0xd7c0 + (point >> 10), 0xdc00 | (point & 0x3ff));
      else units.push(point);
      at += size;
    }
    if (units.length >= CHUNK_CHARS) {
      text += String.fromCharCode.apply(null, units);
      units = [];
    }
  }
  return text + String.fromCharCode.apply(null, units);
}

/** One code point beyond ASCII whose lead byte announces `size` bytes; -1 if malformed. */
function decodePoint(bytes: Uint8Array, at: number, end: number, lead: number, size: number): number {
  if (lead < 0xc2 || lead > 0xf4 || at + size > end) return -1;
  let point = lead & (0x7f >> size);
  for (let i = 1; i < size; i++) {
    const byte = bytes[at + i] as number;
    if ((byte & 0xc0) !== 0x80) return -1;
    point = (point << 6) | (byte & 0x3f);
  }
  const overlong = (size === 3 && point < 0x800) || (size === 4 && point < 0x10000);
  if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return -1;
  return point;
}

/** Bytes that one U+FFFD stands for: as many as could begin a character; a surrogate's three count as one. */
function malformedSize(bytes: Uint8Array, at: number, end: number, lead: number, size: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 1;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xf4 ? 0x8f : 0xbf;
  const second = at + 1 < end ? (bytes[at + 1] as number) : 0;
  if (second < lowest || second > highest) return 1;
  let count = 2;
  while (count < size && at + count < end && ((bytes[at + count] as number) & 0xc0) === 0x80) count++;
  return count;
}

/** The beginning of `text` that takes at most `sizeMax` bytes; no character is cut in half. */
export function cutUtf8(text: string, sizeMax: number): string {
  if (text.length * 3 <= sizeMax) return text;
  let size = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const isPair = unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(i + 1));
    size += isPair ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (size > sizeMax) return text.slice(0, i);
    if (isPair) i++;
  }
  return text;
}

/** Bytes that `text` takes; a lone surrogate counts as three, and `encodeUtf8` will refuse it. */
export function utf8Size(text: string): number {
  let size = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      size += 1;
    } else if (unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(i + 1))) {
      size += 2; // Two units, four bytes.
      i++;
    } else {
      size += 2;
    }
  }
  return size;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Writes `text` at `position`, where the caller has left `utf8Size(text)` bytes; returns the position after it. */
export function writeUtf8(text: string, bytes: Uint8Array, position: number): number {
  let at = position;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      bytes[at++] = unit;
    } else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >> 6);
      bytes[at++] = 0x80 | (unit & 0x3f);
    } else if (unit < 0xd800 || unit > 0xdfff) {
      bytes[at++] = 0xe0 | (unit >> 12);
      bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
      bytes[at++] = 0x80 | (unit & 0x3f);
    } else {
      const low = text.charCodeAt(++i);
      if (unit > 0xdbff || !isLow(low)) throw new ProtocolError('badUtf8', 'a string holds half a surrogate pair');
      const point = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
      bytes[at++] = 0xf0 | (point >> 18);
      bytes[at++] = 0x80 | ((point >> 12) & 0x3f);
      bytes[at++] = 0x80 | ((point >> 6) & 0x3f);
      bytes[at++] = 0x80 | (point & 0x3f);
    }
  }
  return at;
}

/** The UTF-8 bytes of `text` in a buffer of their own. */
export function encodeUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Size(text));
  writeUtf8(text, bytes, 0);
  return bytes;
}
