/**
 * Cuts a stream of bytes into frames: a 32-bit length, then that many bytes. Both runtimes use it.
 *
 * A frame that lies whole inside one chunk is handed out as a view of it; one that spans chunks is gathered in a
 * slab of its own. Memory follows what has arrived, never what was announced: a slab holds at most four times the
 * bytes received, or SLAB_FIRST_BYTES. A chunk must never change after `push`, because frames may be views of it.
 * A view pins its whole chunk: who keeps a small frame for long copies it. The state is plain data; a crash of the
 * node takes the connection with it.
 */

/** Bytes of the length in front of each frame. */
export const FRAME_LENGTH_BYTES = 4;
/** What a frame that spans chunks is given at first, if it announces more. */
export const SLAB_FIRST_BYTES = 64 * 1024;
/** How much larger each next slab is, until the announced length is reached. */
const SLAB_GROWTH = 4;

/** One direction of one connection. */
export interface Framer {
  /** Longer frames are refused. Bytes. */
  readonly frameBytesMax: number;
  /** Bytes of the length that have arrived, 0 to 4; 4 while a frame is being gathered. */
  lengthBytes: number;
  /** The length as far as it has arrived. */
  length: number;
  /** What has arrived of the frame lies in `slab` below `filled`; null while nothing is gathered. */
  slab: Uint8Array | null;
  filled: number;
  /** Where the last `push` stopped in its chunk: the chunk's length, unless it said 'more'. */
  at: number;
  /** Set by the first bad length and never reset: no byte after it makes sense. */
  isBroken: boolean;
}

/** A framer at the start of a stream. */
export function createFramer(frameBytesMax: number): Framer {
  return { frameBytesMax, lengthBytes: 0, length: 0, slab: null, filled: 0, at: 0, isBroken: false };
}

/** Bytes that an unfinished frame holds; what a node's budget is charged with. */
export function bytesHeld(framer: Framer): number {
  return framer.slab === null ? 0 : framer.slab.length;
}

/** Whether a frame has begun and not ended. */
export function isMidFrame(framer: Framer): boolean {
  return framer.lengthBytes > 0;
}

/**
 * Takes the next bytes of the stream and adds the frames that they complete to `out`, without their lengths.
 * 'badLength' if a length is negative or over the limit; the frames before it are in `out` all the same. 'more' if it
 * stopped at `framesMax` frames: what lies behind `framer.at` is the next chunk.
 */
export function push(
  framer: Framer,
  chunk: Uint8Array,
  out: Uint8Array[],
  framesMax = Number.POSITIVE_INFINITY,
): 'ok' | 'more' | 'badLength' {
  const outMax = out.length + framesMax;
  let at = 0;
  while (at < chunk.length && !framer.isBroken && out.length < outMax) {
    if (framer.lengthBytes < FRAME_LENGTH_BYTES) {
      at = takeLength(framer, chunk, at);
      if (framer.lengthBytes < FRAME_LENGTH_BYTES || framer.isBroken) continue;
      if (framer.length === 0) finish(framer, new Uint8Array(0), out);
    } else if (framer.slab === null && chunk.length - at >= framer.length) {
      // A plain view: a Node buffer's own subarray would make another Node buffer, which is slower to read.
      const frame = new Uint8Array(chunk.buffer, chunk.byteOffset + at, framer.length);
      at += framer.length;
      finish(framer, frame, out);
    } else {
      at = gather(framer, chunk, at);
      if (framer.filled === framer.length && framer.slab !== null) finish(framer, framer.slab, out);
    }
  }
  framer.at = at;
  if (framer.isBroken) return 'badLength';
  return at < chunk.length ? 'more' : 'ok';
}

/** Takes bytes of the length; returns the position after them. */
function takeLength(framer: Framer, chunk: Uint8Array, from: number): number {
  let at = from;
  while (framer.lengthBytes < FRAME_LENGTH_BYTES && at < chunk.length) {
    framer.length = (framer.length << 8) | (chunk[at++] as number);
    framer.lengthBytes++;
  }
  if (framer.lengthBytes === FRAME_LENGTH_BYTES) {
    framer.isBroken = framer.length < 0 || framer.length > framer.frameBytesMax;
  }
  return at;
}

/** Copies what the chunk has of the frame into the slab; returns the position after it. */
function gather(framer: Framer, chunk: Uint8Array, from: number): number {
  const size = Math.min(chunk.length - from, framer.length - framer.filled);
  const slab = roomFor(framer, framer.filled + size);
  slab.set(chunk.subarray(from, from + size), framer.filled);
  framer.filled += size;
  return from + size;
}

/** A slab of at least `size` bytes with what has been gathered; never more than the announced length. */
function roomFor(framer: Framer, size: number): Uint8Array {
  const old = framer.slab;
  if (old !== null && size <= old.length) return old;
  const wanted = old === null ? SLAB_FIRST_BYTES : old.length * SLAB_GROWTH;
  const slab = new Uint8Array(Math.min(framer.length, Math.max(wanted, size)));
  if (old !== null) slab.set(old.subarray(0, framer.filled));
  framer.slab = slab;
  return slab;
}

function finish(framer: Framer, frame: Uint8Array, out: Uint8Array[]): void {
  out.push(frame);
  framer.lengthBytes = 0;
  framer.length = 0;
  framer.slab = null;
  framer.filled = 0;
}
