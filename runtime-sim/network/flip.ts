/**
 * A bit flips on its way through the network, which TCP's checksum lets pass now and then, and a proxy's memory always.
 *
 * It is armed for what one actor sends next to another. Where it strikes is drawn: under the checksum of a batch, so
 * that whoever takes the batch can know, or anywhere outside of the batches, where nothing tells.
 */

import { joinParts } from '../../core/lib/bytes.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { below, type Dice, SITE } from '../dice.ts';
import type { End, Network } from './network.ts';

/** Where a bit is to flip. */
export type FlipPlace = 'batch' | 'header';

/** One that is armed. */
export interface Flip {
  readonly from: number;
  readonly to: number;
  readonly place: FlipPlace;
}

/** Bytes of a batch from its start: where its length stands and ends, its magic, its checksum, and what that covers. */
const LENGTH_AT = 8;
const LENGTH_END = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const CRC_END = 21;
const HEADER_BYTES = 61;

/** Flips a bit of what is about to leave `end`, if that is armed and there is such a place; then it is disarmed. */
export function flipParts(network: Network, dice: Dice, end: End, parts: Uint8Array[]): Uint8Array[] {
  const to = network.ends.get(end.peer)?.actor ?? -1;
  const index = network.flips.findIndex((flip) => flip.from === end.actor && flip.to === to);
  const flip = network.flips[index];
  if (flip === undefined) return parts;
  const bytes = joinParts(parts).slice();
  const batches = batchesIn(bytes);
  const position = flip.place === 'batch' ? inBatch(batches, dice, end) : outside(batches, bytes.length, dice, end);
  if (position < 0) return parts;
  network.flips.splice(index, 1);
  network.flipped.push(flip.place);
  bytes[position] = (bytes[position] as number) ^ (1 << below(dice, SITE.flip, end.actor, 8));
  return [bytes];
}

/** The batches that stand in some bytes, whole and sound, whatever is around them. */
function batchesIn(bytes: Uint8Array): { readonly start: number; readonly end: number }[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: { start: number; end: number }[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; at++) {
    if (bytes[at + MAGIC_AT] !== 2) continue;
    const end = at + LENGTH_END + view.getInt32(at + LENGTH_AT);
    if (end < at + HEADER_BYTES || end > bytes.length) continue;
    if (view.getUint32(at + CRC_AT) !== crc32c(bytes, at + CRC_END, end)) continue;
    found.push({ start: at, end });
    at = end - 1;
  }
  return found;
}

/** A place under the checksum of one of the batches, the checksum included; -1 for none. */
function inBatch(batches: readonly { start: number; end: number }[], dice: Dice, { actor }: End): number {
  const batch = batches[below(dice, SITE.flip, actor, batches.length)];
  if (batch === undefined) return -1;
  return batch.start + CRC_AT + below(dice, SITE.flip, actor, batch.end - batch.start - CRC_AT);
}

/** A place that no batch covers with its checksum; -1 for none. */
function outside(
  batches: readonly { start: number; end: number }[],
  length: number,
  dice: Dice,
  { actor }: End,
): number {
  let left = length;
  for (const { start, end } of batches) left -= end - start - CRC_AT;
  if (left <= 0) return -1;
  let at = below(dice, SITE.flip, actor, left);
  for (const { start, end } of batches) if (at >= start + CRC_AT) at += end - start - CRC_AT;
  return at;
}
