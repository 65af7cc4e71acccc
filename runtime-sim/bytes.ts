/** Bytes that come in parts, of files and of what is sent. They are never changed, and shared. */

/** One array with the parts in order; a single part is given back as it is. */
export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const first = parts[0];
  if (first !== undefined && parts.length === 1) return first;
  let size = 0;
  for (const part of parts) size += part.length;
  const joined = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
