/**
 * How much one request about offsets may ask for. A partition is four bytes of a request and a hundred times that in
 * memory while it is worked on: without a limit one request would be enough to take all of it. Pure, no state.
 */

/** Partitions that one request may name: far more than a cluster has. */
export const PARTITIONS_MAX = 1_000_000;

/** Whether a request names more partitions than it may; `counts`: of each of its topics. */
export function asksTooMuch(counts: Iterable<number>): boolean {
  let left = PARTITIONS_MAX;
  for (const count of counts) left -= count;
  return left < 0;
}
