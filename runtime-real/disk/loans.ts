/**
 * Buffers for large reads, lent to the node and used again once their bytes have left by a socket.
 *
 * A fresh megabyte for every read costs page faults, and V8 answers 64 of them with a collection of the whole heap
 * (10 to 25 ms beside a consumer). A buffer belongs to the node from `borrow` until `giveBack` is told of a part that
 * lies in it; one that is never sent is collected like any other, and forgotten here with it. Invariant: a buffer is
 * lent or spare, never both, so that no byte changes that somebody still has to send. A crash loses nothing.
 */

/** Smaller reads get a buffer of their own. */
export const LOAN_BYTES_MIN = 64 * 1024;
/** Larger reads too: of those there are few. */
export const LOAN_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of spare buffers that are kept. */
export const SPARE_BYTES_MAX = 16 * 1024 * 1024;

/** Buffers that are lent and taken back. */
export interface Loans {
  /** `length` bytes with anything in them, between LOAN_BYTES_MIN and LOAN_BYTES_MAX. */
  borrow(length: number): Buffer;
  /** The parts have been sent, and nobody looks at the buffers that they lie in any more. */
  giveBack(parts: readonly Uint8Array[]): void;
}

/** Nothing lent, nothing spare. */
export function createLoans(): Loans {
  const lent = new WeakSet<ArrayBufferLike>();
  /** By size, which is a power of two. */
  const spares = new Map<number, ArrayBufferLike[]>();
  let spareBytes = 0;

  function borrow(length: number): Buffer {
    const sizeBytes = 2 ** Math.ceil(Math.log2(Math.max(length, LOAN_BYTES_MIN)));
    const spare = spares.get(sizeBytes)?.pop();
    if (spare !== undefined) spareBytes -= sizeBytes;
    const buffer = spare ?? Buffer.allocUnsafeSlow(sizeBytes).buffer;
    lent.add(buffer);
    return Buffer.from(buffer as ArrayBuffer, 0, length);
  }

  function giveBack(parts: readonly Uint8Array[]): void {
    for (const { buffer } of parts) {
      // Of several parts in one buffer the first gives it back.
      if (!lent.delete(buffer) || spareBytes + buffer.byteLength > SPARE_BYTES_MAX) continue;
      const known = spares.get(buffer.byteLength);
      if (known === undefined) spares.set(buffer.byteLength, [buffer]);
      else known.push(buffer);
      spareBytes += buffer.byteLength;
    }
  }

  return { borrow, giveBack };
}
