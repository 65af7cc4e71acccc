/** Which name was probably meant. Pure, no state. */

/** Longer names are not compared: nobody mistypes one of them. Characters. */
const NAME_LENGTH_MAX = 100;

/** The known name that is nearest to `name`, or null when none is near: at most one change in four characters. */
export function suggest(name: string, known: Iterable<string>): string | null {
  if (name.length > NAME_LENGTH_MAX) return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 4)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name, candidate);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** How many insertions, removals and replacements of one character lead from `a` to `b` (Levenshtein, 1965). */
function editDistance(a: string, b: string): number {
  let previous = new Uint32Array(b.length + 1);
  let current = new Uint32Array(b.length + 1);
  for (let j = 0; j <= b.length; j++) previous[j] = j;
  for (let i = 1; i <= a.length; i++) {
    current[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1);
      current[j] = Math.min(replaced, (previous[j] as number) + 1, (current[j - 1] as number) + 1);
    }
    [previous, current] = [current, previous];
  }
  return previous[b.length] as number;
}
