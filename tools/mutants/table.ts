/** The table of planted bugs in the docs: made from the patch files, so that it says what they say. */
import type { Mutant } from './patch.ts';

const BEGIN = '<!-- mutants: written by npm run mutants -- --note -->';
const END = '<!-- end of mutants -->';

/** The table, a line for each mutant. */
function tableOf(mutants: readonly Mutant[]): string {
  const rows = mutants.map(({ name, imitates, missed, checked, alone }) => {
    const sentence = missed === null ? imitates : `${imitates} *${missed}*`;
    return `| `.concat([`\`${name}\``, sentence, checked, alone].join(' | '), ' |');
  });
  return ['| mutant | what it imitates | with checks | judges alone |', '|---|---|---|---|', ...rows].join('\n');
}

/** The text of the docs with the table in its place; throws an Error where there is no place for it. */
export function withTable(text: string, mutants: readonly Mutant[]): string {
  const from = text.indexOf(BEGIN);
  const to = text.indexOf(END);
  if (from < 0 || to < from) throw new Error(`there is no place for the table: ${BEGIN} … ${END}`);
  return `${text.slice(0, from)}${BEGIN}\n${tableOf(mutants)}\n${text.slice(to)}`;
}
