/**
 * What a power loss does to the bytes of one file.
 *
 * What a finished sync covered stays, to the byte. Of the rest, drawn anew for each file:
 * - all is lost, or all had been written back by chance;
 * - a prefix of the new bytes is there and the file ends within a write;
 * - torn: the file has one of the sizes it went through, or any size between, and each sector of 512 bytes that was
 *   written or cut since the last sync holds, by itself, the new bytes or the old; where there were no old ones, zeros.
 */
import { joinParts } from '../../core/lib/bytes.ts';
import { below, chance, type Dice, SITE } from '../dice.ts';
import { appendParts, type Content, type Inode, isDirty, partsBetween, readContent, setContent } from './content.ts';

/** The unit in which a device keeps or loses what was under way. Bytes. */
export const SECTOR_BYTES = 512;

/** How a file came out of a power loss. */
export type Fate = 'untouched' | 'kept' | 'lost' | 'cut' | 'torn';

/** Decides for one file and changes it; afterwards all that it holds is durable. `entity` keys the dice. */
export function loseBytes(file: Inode, dice: Dice, entity: number): Fate {
  if (!isDirty(file)) {
    file.isForsaken = false;
    return 'untouched';
  }
  const old = durableContent(file);
  const fate = below(dice, SITE.diskCrash, entity, 100);
  if (fate < 25) {
    setContent(file, old.chunks.slice());
    return 'lost';
  }
  if (fate < 40) {
    setContent(file, partsBetween(file.content, 0, file.content.size));
    return 'kept';
  }
  if (fate < 60) {
    const shared = file.durable.shared;
    // What was durable and not cut off stays; without a cut, that is all that was durable.
    const end = shared + below(dice, SITE.diskCrash, entity, file.content.size - shared + 1);
    setContent(file, partsBetween(file.content, 0, end));
    return 'cut';
  }
  setContent(file, tear(file, old, dice, entity));
  return 'torn';
}

function durableContent(file: Inode): Content {
  const content: Content = { chunks: [], starts: [], size: 0 };
  appendParts(content, partsBetween(file.content, 0, file.durable.shared));
  appendParts(content, file.durable.tail);
  return content;
}

function tear(file: Inode, old: Content, dice: Dice, entity: number): Uint8Array[] {
  const { shared } = file.durable;
  const size = tornSize(shared, old.size, file.content.size, dice, entity);
  const mostlyKept = chance(dice, SITE.diskCrash, entity, 500_000);
  const parts = partsBetween(file.content, 0, Math.min(shared, size));
  for (let at = Math.min(shared, size); at < size; ) {
    const end = Math.min(size, at - (at % SECTOR_BYTES) + SECTOR_BYTES);
    const kept = chance(dice, SITE.diskCrash, entity, mostlyKept ? 850_000 : 400_000);
    parts.push(padded(readContent(kept ? file.content : old, at, end - at), end - at));
    at = end;
  }
  return [joinParts(parts)];
}

function tornSize(shared: number, oldSize: number, newSize: number, dice: Dice, entity: number): number {
  const largest = Math.max(oldSize, newSize);
  const choice = below(dice, SITE.diskCrash, entity, 10);
  if (choice < 5) return newSize;
  if (choice < 6) return oldSize;
  if (choice < 7) return largest;
  return shared + below(dice, SITE.diskCrash, entity, largest - shared + 1);
}

function padded(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes;
  const whole = new Uint8Array(length);
  whole.set(bytes);
  return whole;
}
