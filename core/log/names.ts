/**
 * Names of the files in a partition's folder, as Kafka writes them: twenty digits of an offset and a suffix.
 *
 * Pure functions. A name that is not exactly ours (a sign, fewer digits, an offset beyond 2^53) is nobody's file:
 * it is left alone.
 */

/** Batches. */
export const LOG_SUFFIX = '.log';
/** Offset -> position. */
export const INDEX_SUFFIX = '.index';
/** Timestamp -> offset. */
export const TIME_INDEX_SUFFIX = '.timeindex';
/** Producer state just before the offset in its name. */
export const SNAPSHOT_SUFFIX = '.snapshot';
/** Aborted transactions; not written yet. */
export const TXN_INDEX_SUFFIX = '.txnindex';
/** The epochs of leaders and where each starts. */
export const EPOCHS_NAME = 'leader-epoch-checkpoint';

/** What is left behind by an unfinished deletion or cleaning and can go. */
export const LEFTOVER_SUFFIXES: readonly string[] = ['.deleted', '.cleaned'];
/** A cleaned segment that was about to take the place of its originals. */
export const SWAP_SUFFIX = '.swap';

const DIGITS = 20;

/** The path of the file of `suffix` whose name says `offset`. */
export function pathOf(folder: string, offset: number, suffix: string): string {
  return `${folder}/${nameOf(offset, suffix)}`;
}

/** The name of the file of `suffix` for `offset`. */
export function nameOf(offset: number, suffix: string): string {
  return String(offset).padStart(DIGITS, '0') + suffix;
}

/** The offset that a name with `suffix` says, or -1 if it is not such a name. */
export function offsetOf(name: string, suffix: string): number {
  if (name.length !== DIGITS + suffix.length || !name.endsWith(suffix)) return -1;
  let offset = 0;
  for (let i = 0; i < DIGITS; i++) {
    const digit = name.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    offset = offset * 10 + digit;
  }
  return Number.isSafeInteger(offset) ? offset : -1;
}

/** The folder that holds `path`. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}
