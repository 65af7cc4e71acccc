/**
 * Identifiers of 128 bits, as Kafka prints them: URL-safe base64 without padding, 22 characters.
 *
 * In memory a uuid is that string: it compares with `===`, serves as the key of a Map and is readable in a log.
 * Every string of this form has exactly one value of 16 bytes, because the unused low bits of the last character
 * must be zero. The two ends convert at the edge of the wire and nowhere else. No state.
 */
import { ProtocolError } from './protocol-error.ts';

/** The uuid of nothing: sixteen zero bytes. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA';
/** Bytes in a uuid. */
export const UUID_BYTES = 16;
/** Characters in a printed uuid. */
export const UUID_CHARS = 22;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const CODES = Uint8Array.from(ALPHABET, (char) => char.charCodeAt(0));
const VALUES = new Uint8Array(128).fill(255);
for (let i = 0; i < 64; i++) VALUES[CODES[i] as number] = i;

const scratch: number[] = new Array<number>(UUID_CHARS).fill(0);

/** Reads the 16 bytes at `position` as a uuid; the caller has checked that they are there. */
export function uuidFromBytes(bytes: Uint8Array, position: number): string {
  let at = 0;
  let any = 0;
  for (let i = 0; i < 15; i += 3) {
    const p = position + i;
    const word = ((bytes[p] as number) << 16) | ((bytes[p + 1] as number) << 8) | (bytes[p + 2] as number);
    any |= word;
    scratch[at++] = CODES[word >> 18] as number;
    scratch[at++] = CODES[(word >> 12) & 63] as number;
    scratch[at++] = CODES[(word >> 6) & 63] as number;
    scratch[at++] = CODES[word & 63] as number;
  }
  const last = bytes[position + 15] as number;
  if ((any | last) === 0) return ZERO_UUID;
  scratch[20] = CODES[last >> 2] as number;
  scratch[21] = CODES[(last & 3) << 4] as number;
  return String.fromCharCode.apply(null, scratch);
}

/** Uuids that were read lately: a power of two. */
const KNOWN_SLOTS = 256;
const knownBytes = new Uint8Array(KNOWN_SLOTS * UUID_BYTES);
const knownTexts: string[] = new Array<string>(KNOWN_SLOTS).fill(ZERO_UUID);

/** The same as `uuidFromBytes`; one of a few that come again and again is not made anew. */
export function uuidOf(bytes: Uint8Array, position: number): string {
  const slot = ((bytes[position] as number) + 31 * (bytes[position + 15] as number)) & (KNOWN_SLOTS - 1);
  const from = slot * UUID_BYTES;
  let isKnown = true;
  for (let i = 0; i < UUID_BYTES && isKnown; i++) isKnown = knownBytes[from + i] === bytes[position + i];
  if (isKnown) return knownTexts[slot] as string;
  const text = uuidFromBytes(bytes, position);
  for (let i = 0; i < UUID_BYTES; i++) knownBytes[from + i] = bytes[position + i] as number;
  knownTexts[slot] = text;
  return text;
}

/** Writes the 16 bytes of `uuid` at `position`; throws ProtocolError unless `isUuid(uuid)`. */
export function uuidToBytes(uuid: string, bytes: Uint8Array, position: number): void {
  if (uuid === ZERO_UUID) {
    bytes.fill(0, position, position + UUID_BYTES);
    return;
  }
  // Digits of no alphabet have the bit 128, and all are looked at once, for a batch may hold many thousand uuids.
  let any = uuid.length === UUID_CHARS ? 0 : 128;
  let p = position;
  for (let i = 0; i < 20; i += 4) {
    const a = digit(uuid, i);
    const b = digit(uuid, i + 1);
    const c = digit(uuid, i + 2);
    const d = digit(uuid, i + 3);
    any |= a | b | c | d;
    const word = (a << 18) | (b << 12) | (c << 6) | d;
    bytes[p++] = word >> 16;
    bytes[p++] = word >> 8;
    bytes[p++] = word;
  }
  const high = digit(uuid, 20);
  const low = digit(uuid, 21);
  bytes[p] = (high << 2) | (low >> 4);
  if (((any | high | low) & 128) !== 0 || (low & 15) !== 0) {
    throw new ProtocolError('badValue', 'a uuid is not 22 characters of URL-safe base64');
  }
}

/** Whether a string is the one printed form of some 16 bytes. */
export function isUuid(text: string): boolean {
  if (text.length !== UUID_CHARS) return false;
  for (let i = 0; i < UUID_CHARS; i++) if (digit(text, i) === 255) return false;
  return (digit(text, UUID_CHARS - 1) & 15) === 0;
}

function digit(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 128 ? (VALUES[code] as number) : 255;
}
