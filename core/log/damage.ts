/**
 * Damage: bytes that were synced and are no longer what they were. Kept out of service, said loudly, never truncated.
 *
 * Where a bad batch stands below what is known to be synced, the next sound batch behind it is hunted for; the offsets
 * in between become a `DamagedRange`. Ranges are not kept on disk: a restart finds them again by scanning or by the
 * checksum of a cold read.
 */
import type { Env, Outbox } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { segmentPath } from './files.ts';
import { type Expected, nextPlausible, sightHeader } from './scan.ts';
import type { DamagedRange, Log, Segment } from './state.ts';

/** Bytes that are looked through at a time. */
export const HUNT_CHUNK_BYTES = 256 * 1024;
/** A batch behind damage is not believed to be larger than this. */
const HUNT_BATCH_BYTES_MAX = 128 * 1024 * 1024;
/** Ranges that are kept for one log; beyond that the last two become one. */
const RANGES_MAX = 1024;

/** A search for the next sound batch behind a bad one. */
export interface Hunt {
  /** The first lost offset. */
  readonly offset: number;
  /** Where the bad bytes begin. */
  readonly damageAt: number;
  /** Offsets at or above this belong to the next segment. */
  readonly offsetMax: number;
  /** Bytes of the file. */
  readonly end: number;
  /** Where the next read begins, and how long it is to be. */
  position: number;
  length: number;
}

/** Starts the search behind the bad batch at `damageAt`, of which `header` holds what can be read, if anything. */
export function startHunt(offset: number, damageAt: number, offsetMax: number, end: number): Hunt {
  const position = damageAt + 1;
  return { offset, damageAt, offsetMax, end, position, length: Math.min(HUNT_CHUNK_BYTES, end - position) };
}

/**
 * Looks through `bytes`, read from `hunt.position`. The position and base offset of a sound batch; 'none' if the file
 * holds none; 'more' if the next read is to be made as `hunt` says now.
 */
export function huntIn(
  hunt: Hunt,
  bytes: Uint8Array,
  crc32c: batch.Crc32c,
): { readonly position: number; readonly base: number } | 'more' | 'none' {
  const view = batch.dataViewOf(bytes);
  const expected: Expected = { offset: -1, offsetMax: hunt.offsetMax, epochMin: -1, end: hunt.end - hunt.position };
  const offsetMin = hunt.offset + 1;
  let from = 0;
  for (;;) {
    const at = nextPlausible(bytes, view, from, expected, offsetMin);
    if (at < 0) return huntOn(hunt, bytes.length);
    from = at + 1;
    const size = batch.batchSizeBytes(view, at);
    const isWhole = sightHeader(view, at, expected) === 'sound';
    if (isWhole && batch.crcHolds(bytes, view, at, crc32c)) {
      return { position: hunt.position + at, base: batch.baseOffset(view, at) };
    }
    if (!isWhole && at > 0 && size <= HUNT_BATCH_BYTES_MAX) {
      hunt.position += at;
      hunt.length = Math.min(Math.max(size, HUNT_CHUNK_BYTES), hunt.end - hunt.position);
      return 'more';
    }
  }
}

function huntOn(hunt: Hunt, seenBytes: number): 'more' | 'none' {
  // The last bytes are read again: a header may begin in them.
  const step = seenBytes - batch.BATCH_HEADER_BYTES + 1;
  if (step <= 0) return 'none';
  hunt.position += step;
  hunt.length = Math.min(HUNT_CHUNK_BYTES, hunt.end - hunt.position);
  return hunt.length < batch.BATCH_HEADER_BYTES ? 'none' : 'more';
}

/** Says what was found in the log's folder and what was done; `name` is the file's, without the folder. */
export function sayFound(log: Log, level: 'info' | 'warn' | 'error', name: string, text: string, out: Outbox): void {
  const fields = new Map<string, string | number | boolean>([
    ['topic', log.topic],
    ['partition', log.partition],
    ['file', `${log.folder}/${name}`],
  ]);
  out.push({ kind: 'say', level, text, fields });
}

/**
 * Takes [offset, end) out of service and says so. What a snapshot holds is lost to nobody: a log may even have ended
 * before a snapshot that was fetched.
 */
export function addDamage(log: Log, env: Env, segment: Segment, range: DamagedRange, out: Outbox): void {
  if (log.damaged.some((known) => known.start <= range.start && range.end <= known.end)) return;
  env.reached('log.damage');
  const fields = new Map<string, string | number | boolean>([
    ['topic', log.topic],
    ['partition', log.partition],
    ['file', segmentPath(log, segment, 'log')],
    ['position', range.position],
    ['offset', range.start],
    ['nextOffset', range.end],
  ]);
  const isHeld = range.end <= (log.opening?.found.snapshotEnd ?? 0);
  const text = isHeld
    ? 'the log lacks what the snapshot behind it holds'
    : 'damaged batch: its offsets are out of service, the file is left as it is';
  out.push({ kind: 'say', level: isHeld ? 'warn' : 'error', text, fields });
  log.damaged = merge([...log.damaged, range]);
}

function merge(ranges: readonly DamagedRange[]): readonly DamagedRange[] {
  const merged: DamagedRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = merged[merged.length - 1];
    const touches = last !== undefined && range.start <= last.end && range.segment === last.segment;
    if (last !== undefined && (touches || merged.length >= RANGES_MAX)) {
      const end = Math.max(last.end, range.end);
      const positionEnd = Math.max(last.positionEnd, range.positionEnd);
      merged[merged.length - 1] = { ...last, end, positionEnd };
    } else {
      merged.push(range);
    }
  }
  return merged;
}
