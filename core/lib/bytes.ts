/**
 * Bytes that were made: whoever has them may keep them and views of them, for nobody changes them any more. Pure, no
 * state.
 */

/** One array with the parts in order; a single part is given back as it is. */
export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  let sizeBytes = 0;
  for (const part of parts) sizeBytes += part.length;
  const joined = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Whether both hold the same. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
