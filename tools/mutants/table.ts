/** The table of planted bugs in the docs: made from the patch files, so that it says what they say. */
import type { Mutant } from './patch.ts';

const BEGIN = '<!-- mutants: written by npm run mutants -- --note -->';
const END = '<!-- end of mutants -->';

/** The checker that found it and in how many seeds, from a remark; null where it was not found, or not played. */
function findIn(remark: string): { readonly checker: string; readonly seeds: number } | null {
  const parts = /^`([^`]+)`, (\d+)/.exec(remark);
  return parts === null ? null : { checker: parts[1] as string, seeds: Number(parts[2]) };
}

/** What judges alone made of it. Where no assertion found it they did: without checks a run is the same. */
function aloneOf({ checked, alone }: Mutant): string {
  const checker = findIn(checked)?.checker ?? 'assertion';
  if (alone !== '' || checker === 'assertion' || checker === 'exception') return alone;
  return checked;
}

/** The table, a line for each mutant, and what they come to. */
function tableOf(mutants: readonly Mutant[]): string {
  const rows = mutants.map((mutant) => {
    const { name, imitates, missed, slow, checked } = mutant;
    const remark = missed ?? slow;
    const sentence = remark === null ? imitates : `${imitates} *${remark}*`;
    return `| `.concat([`\`${name}\``, sentence, checked, aloneOf(mutant)].join(' | '), ' |');
  });
  const head = ['| mutant | what it imitates | with checks | judges alone |', '|---|---|---|---|'];
  return [...head, ...rows, '', sumOf(mutants)].join('\n');
}

function sumOf(mutants: readonly Mutant[]): string {
  const alone = mutants.flatMap((mutant) => findIn(aloneOf(mutant)) ?? []);
  const found = mutants.flatMap((mutant) => findIn(mutant.checked) ?? findIn(mutant.alone) ?? []);
  const most = Math.max(0, ...found.map(({ seeds }) => seeds));
  const counts = `${found.length} of ${mutants.length} are found, each within ${most} seeds of its stories`;
  const left = mutants.filter(({ missed, slow }) => missed === null && slow === null).length;
  return `${counts}; ${alone.length} of them by judges alone. Without \`--all\` ${left} are played.`;
}

/** The text of the docs with the table in its place; throws an Error where there is no place for it. */
export function withTable(text: string, mutants: readonly Mutant[]): string {
  const from = text.indexOf(BEGIN);
  const to = text.lastIndexOf(END);
  if (from < 0 || to < from) throw new Error(`there is no place for the table: ${BEGIN} … ${END}`);
  return `${text.slice(0, from)}${BEGIN}\n${tableOf(mutants)}\n${text.slice(to)}`;
}
