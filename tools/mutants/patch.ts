/**
 * Mutants as text: what a planted bug imitates, and pieces of source to be replaced.
 *
 * A patch file begins with a line `# …` and one `stories NAME …`, the scenarios that exercise what it breaks, the best
 * first. A line `missed …` says why the simulator does not find it yet: such a mutant is left out unless it is asked
 * for; a line `slow …` says why it is not played where there is little time. Lines `checked …` and `alone …` say what
 * came of it last, with assertions and without: `run.ts` writes them. Then come, for each file, `file PATH` and hunks
 * of `--- before`, `--- after`, `--- end`. A hunk is found by its text, never by line numbers, so that changes
 * elsewhere leave it alone; text that is missing or not unique is an error: a mutant that changes nothing would look
 * like one that is not found.
 */

/** One planted bug. */
export interface Mutant {
  readonly name: string;
  /** What it imitates, a sentence. */
  readonly imitates: string;
  /** Scenarios that exercise what it breaks, the best first; empty where it does not say. */
  readonly stories: readonly string[];
  /** Why it is not found yet, a sentence; null for one that is. */
  readonly missed: string | null;
  /** Why it is played only when all are, a sentence; null for one that is quick to find. */
  readonly slow: string | null;
  /** What found it in how many seeds, or in how many it was not found; empty where it was not played. */
  readonly checked: string;
  /** The same without assertions. */
  readonly alone: string;
  readonly hunks: readonly Hunk[];
}

/** One replacement. */
export interface Hunk {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** Reads a patch file; throws an Error whose message names what is wrong. */
export function parseMutant(name: string, text: string): Mutant {
  const hunks: Hunk[] = [];
  let imitates = '';
  let stories: string[] = [];
  const said = new Map<string, string>();
  let file = '';
  let part: 'none' | 'before' | 'after' = 'none';
  let before: string[] = [];
  let after: string[] = [];
  for (const line of text.split('\n')) {
    if (line === '--- before') {
      [before, after, part] = [[], [], 'before'];
    } else if (line === '--- after' && part === 'before') part = 'after';
    else if (line === '--- end' && part === 'after') {
      if (file === '' || before.length === 0) throw new Error(`${name}: a hunk without a file or without its anchor`);
      hunks.push({ file, before: lines(before), after: lines(after) });
      part = 'none';
    } else if (part === 'before') before.push(line);
    else if (part === 'after') after.push(line);
    else if (line.startsWith('file ')) file = line.slice(5).trim();
    else if (line.startsWith('stories ')) stories = line.slice(8).trim().split(/ +/);
    else if (REMARK.test(line)) said.set(line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1));
    else if (line.startsWith('# ') && imitates === '') imitates = line.slice(2);
    else if (line.trim() !== '') throw new Error(`${name}: cannot read the line "${line}"`);
  }
  if (part !== 'none' || hunks.length === 0) throw new Error(`${name}: no whole hunk`);
  if (imitates === '') throw new Error(`${name}: it does not say what it imitates`);
  const [missed, slow] = [said.get('missed') ?? null, said.get('slow') ?? null];
  return {
    name,
    imitates,
    stories,
    missed,
    slow,
    checked: said.get('checked') ?? '',
    alone: said.get('alone') ?? '',
    hunks,
  };
}

const REMARK = /^(missed|slow|checked|alone) /;

/** The text of a patch file with another remark in place of the one of that kind; an empty remark takes it away. */
export function withRemark(text: string, kind: 'checked' | 'alone', remark: string): string {
  const kept = text.split('\n').filter((line) => !line.startsWith(`${kind} `));
  const at = kept.findIndex((line) => line.startsWith('file '));
  if (remark !== '') kept.splice(at, 0, `${kind} ${remark}`);
  return kept.join('\n');
}

function lines(of: readonly string[]): string {
  return of.map((line) => `${line}\n`).join('');
}

/** The source with a hunk put in; throws an Error where the anchor is missing or not unique. */
export function applyHunk(name: string, source: string, hunk: Hunk): string {
  const at = source.indexOf(hunk.before);
  if (at < 0) throw new Error(`${name}: its anchor is gone from ${hunk.file}: ${hunk.before.trim().split('\n')[0]}`);
  if (source.indexOf(hunk.before, at + 1) >= 0) throw new Error(`${name}: its anchor is not unique in ${hunk.file}`);
  return source.slice(0, at) + hunk.after + source.slice(at + hunk.before.length);
}
