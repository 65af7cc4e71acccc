/**
 * The hash of a whole run: every input and every effect, in order, mixed into 64 bits held as two lanes.
 *
 * Effects are mixed with all their bytes; the bytes of inputs follow from effects and dice, so their kinds, numbers
 * and lengths are enough. Only 32-bit integer arithmetic, hence equal on every engine. Plain data.
 */
import { crc32c } from '../core/lib/crc32c.ts';
import type { Effect, Input } from '../core/lib/world.ts';

/** Two lanes and a count of what was mixed in. */
export interface Trace {
  high: number;
  low: number;
  mixed: number;
}

/** Nothing mixed in. */
export function createTrace(): Trace {
  return { high: 0x9e3779b9 | 0, low: 0x85ebca6b | 0, mixed: 0 };
}

/** Mixes one number; beyond 32 bits the upper half counts too. */
export function mix(trace: Trace, value: number): void {
  const low = value | 0;
  let a = trace.low ^ low;
  a = Math.imul(a ^ (a >>> 15), 0x2c1b3c6d);
  a ^= a >>> 12;
  let b = Math.imul(trace.high ^ a, 0x297a2d39);
  b ^= b >>> 15;
  if (value > 0xffff_ffff || value < -0x8000_0000) b = Math.imul(b ^ Math.floor(value / 0x1_0000_0000), 0x27d4eb2f);
  trace.low = (a + b) | 0;
  trace.high = (b ^ (a << 7)) | 0;
  trace.mixed += 1;
}

/** Mixes a text. */
export function mixText(trace: Trace, text: string): void {
  mix(trace, hashOf(text));
  mix(trace, text.length);
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** The kinds that come by most often: their hashes are known beforehand. */
const FREQUENT: readonly (Input['kind'] | Effect['kind'])[] = [
  'frame',
  'sent',
  'send',
  'wake',
  'append',
  'appended',
  'sync',
  'synced',
  'read',
];
const HASHES: ReadonlyMap<string, number> = new Map(FREQUENT.map((kind): [string, number] => [kind, hashOf(kind)]));

/** The same as `mixText`. */
function mixKind(trace: Trace, kind: string): void {
  mix(trace, HASHES.get(kind) ?? hashOf(kind));
  mix(trace, kind.length);
}

/** Mixes bytes. */
export function mixBytes(trace: Trace, bytes: Uint8Array): void {
  mix(trace, crc32c(bytes) | 0);
  mix(trace, bytes.length);
}

/** Sixteen hexadecimal digits. */
export function traceHash(trace: Trace): string {
  const hex = (lane: number): string => (lane >>> 0).toString(16).padStart(8, '0');
  return hex(trace.high) + hex(trace.low);
}

/** Mixes what an actor is told. */
export function traceInput(trace: Trace, actor: number, atUs: number, input: Input): void {
  mix(trace, actor);
  mix(trace, atUs);
  mixKind(trace, input.kind);
  if ('ticket' in input) {
    mix(trace, input.owner);
    mix(trace, input.ticket);
  }
  switch (input.kind) {
    case 'read':
    case 'loaded':
    case 'entropy':
      mix(trace, input.bytes.length);
      break;
    case 'frame':
      mix(trace, input.connection);
      mix(trace, input.bytes.length);
      break;
    case 'connected':
    case 'connectFailed':
    case 'closed':
    case 'accepted':
      mix(trace, input.connection);
      break;
    case 'sent':
      mix(trace, input.connection);
      mix(trace, input.sizeBytes);
      break;
    case 'opened':
      mix(trace, input.sizeBytes);
      break;
    case 'listed':
      mix(trace, input.entries.length);
      break;
    case 'diskFailed':
      mixText(trace, input.error);
      break;
    case 'start':
      mix(trace, input.seed);
      break;
    default:
  }
}

/** Mixes what an actor asks for, with every byte. */
export function traceEffect(trace: Trace, actor: number, effect: Effect): void {
  mix(trace, ~actor);
  mixKind(trace, effect.kind);
  if ('ticket' in effect) {
    mix(trace, effect.owner);
    mix(trace, effect.ticket);
  }
  switch (effect.kind) {
    case 'append':
      mix(trace, effect.file);
      for (const part of effect.parts) mixBytes(trace, part);
      break;
    case 'send':
      mix(trace, effect.connection);
      for (const part of effect.parts) mixBytes(trace, part);
      break;
    case 'read':
      mix(trace, effect.file);
      mix(trace, effect.position);
      mix(trace, effect.length);
      break;
    case 'truncate':
      mix(trace, effect.file);
      mix(trace, effect.size);
      break;
    case 'sync':
    case 'closeFile':
      mix(trace, effect.file);
      break;
    case 'replace':
      mixText(trace, effect.path);
      mixBytes(trace, effect.bytes);
      break;
    case 'say':
      mixText(trace, effect.text);
      break;
    default:
      tracePaths(trace, effect);
  }
}

function tracePaths(trace: Trace, effect: Effect): void {
  if ('path' in effect) mixText(trace, effect.path);
  if ('from' in effect) mixText(trace, effect.from + effect.to);
  if ('connection' in effect) mix(trace, effect.connection);
  if ('port' in effect) mix(trace, effect.port);
  if ('code' in effect) mix(trace, effect.code);
}
