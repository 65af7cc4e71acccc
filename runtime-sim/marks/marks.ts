/** How often rare paths were taken in one run, and what counts as rare in it: all but what happens all the time. */

/** Of a path that was taken so often in a run no notice is taken any more. */
const RARE_MAX = 20;

/** How often a path was taken that was still rare then. */
export interface Rarity {
  steps: number;
}

/** Counts in `marks`, by the path's name, and in `rarity`. */
export function markCounter(marks: Map<string, number>, rarity: Rarity): (mark: string) => void {
  return (mark) => {
    const times = (marks.get(mark) ?? 0) + 1;
    marks.set(mark, times);
    if (times <= RARE_MAX) rarity.steps += 1;
  };
}
