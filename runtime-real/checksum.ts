/**
 * CRC-32C for the real world: the processor's own instruction through a native package where there is one for this
 * platform (about 5 GB/s), the core's portable one elsewhere (about 1 GB/s). Both give the same numbers.
 *
 * The package is loaded when the first batch worth it comes by, so that a start does not wait for it. A platform that
 * it has no build for is no error: it is an optional dependency.
 */
import { createRequire } from 'node:module';
import { crc32c as portable } from '../core/lib/crc32c.ts';

/** Below so many bytes a call out of JavaScript costs more than the sum itself. */
const NATIVE_BYTES_MIN = 512;

type Native = (bytes: Uint8Array) => number;
let native: Native | null | undefined;

/** CRC-32C of `bytes` from `start` to `end`, unsigned. */
export function realCrc32c(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  if (end - start < NATIVE_BYTES_MIN) return portable(bytes, start, end);
  if (native === undefined) native = loadNative();
  return native === null ? portable(bytes, start, end) : native(bytes.subarray(start, end));
}

function loadNative(): Native | null {
  try {
    const { crc32c } = createRequire(import.meta.url)('@node-rs/crc32') as { crc32c: Native };
    const probe = new Uint8Array(NATIVE_BYTES_MIN).fill(7);
    return crc32c(probe) === portable(probe) ? crc32c : null;
  } catch {
    return null;
  }
}
