/** Figures of a benchmark: medians, spread and ratios of interleaved runs, as a table for people or as data. */

/** One row of the result: what was measured, in which unit, and every value of every side in the order of the runs. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  /** Whether more is better. */
  readonly higherIsBetter: boolean;
  readonly values: ReadonlyMap<string, readonly number[]>;
  /** What is asked for, if anything: a ratio to Kafka or a value of ours, and then perhaps a ratio as well. */
  readonly budget?: {
    readonly must: number;
    readonly aim?: number;
    readonly of: 'ratio' | 'value';
    readonly ratioToo?: number;
  };
  readonly note?: string;
  /** Sides that this row says nothing about, even when they were asked for. */
  readonly without?: readonly string[];
}

/** The middle value, or the mean of the two in the middle; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** How far apart the values lie: largest less smallest, as a share of the median. */
export function spread(values: readonly number[]): number {
  const range = Math.max(...values) - Math.min(...values);
  return range === 0 ? 0 : range / median(values);
}

/** The median over the pairs of our value by Kafka's; NaN without pairs. Above 1 we win where higher is better. */
export function ratio(row: Row, side = 'tidemark', base = 'kafka'): number {
  const ours = row.values.get(side) ?? [];
  const theirs = row.values.get(base) ?? [];
  const count = Math.min(ours.length, theirs.length);
  return median(ours.slice(0, count).map((value, index) => value / (theirs[index] ?? Number.NaN)));
}

/** Whether the row keeps its budget; null if it has none or was not measured on the sides that it needs. */
export function keepsBudget(row: Row): boolean | null {
  const { budget } = row;
  if (budget === undefined) return null;
  const keeps = (measured: number, must: number): boolean | null => {
    if (Number.isNaN(measured)) return null;
    return row.higherIsBetter ? measured >= must : measured <= must;
  };
  const kept = keeps(budget.of === 'ratio' ? ratio(row) : median(row.values.get('tidemark') ?? []), budget.must);
  if (kept !== true || budget.ratioToo === undefined) return kept;
  return keeps(ratio(row), budget.ratioToo);
}

/** Which of the sides that were asked for the row lacks a figure of; all of them if it has none at all. */
export function unmeasured(row: Row, sides: readonly string[]): string[] {
  if (row.values.size === 0) return [...sides];
  return sides.filter((side) => {
    if (row.without?.includes(side) === true) return false;
    const values = row.values.get(side) ?? [];
    return values.length === 0 || !values.every(Number.isFinite);
  });
}

/** The rows as lines of a table for people. */
export function table(rows: readonly Row[]): string {
  const head = ['', 'unit', 'kafka', 'tidemark', 'ratio', 'null broker', 'budget', ''];
  const lines = rows.map((row) => [
    row.name,
    row.unit,
    show(row, 'kafka'),
    show(row, 'tidemark'),
    number(ratio(row)),
    show(row, 'null'),
    budget(row),
    verdict(row),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)));
  const text = [head, ...lines].map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  const notes = rows.flatMap((row) => (row.note === undefined ? [] : [`${row.name}: ${row.note}`]));
  return `${[...text, ...notes].map((line) => line.trimEnd()).join('\n')}\n`;
}

/** The rows as plain data for programs. */
export function asData(rows: readonly Row[]): unknown[] {
  return rows.map((row) => ({
    name: row.name,
    unit: row.unit,
    higherIsBetter: row.higherIsBetter,
    sides: Object.fromEntries(
      [...row.values].map(([side, values]) => [side, { median: median(values), spread: spread(values), values }]),
    ),
    ratioToKafka: finite(ratio(row)),
    ratioToNull: finite(ratio(row, 'tidemark', 'null')),
    budget: row.budget ?? null,
    keepsBudget: keepsBudget(row),
    note: row.note ?? null,
  }));
}

function show(row: Row, side: string): string {
  const values = row.values.get(side) ?? [];
  if (values.length === 0) return '-';
  const around = values.length > 1 ? ` ±${Math.round(spread(values) * 50)}%` : '';
  return `${number(median(values))}${around}`;
}

function budget(row: Row): string {
  if (row.budget === undefined) return '';
  const sign = row.higherIsBetter ? '≥' : '≤';
  const too = row.budget.ratioToo === undefined ? '' : `, ${sign} ${row.budget.ratioToo}×`;
  return `${sign} ${row.budget.must}${row.budget.of === 'ratio' ? '×' : ''}${too}`;
}

function verdict(row: Row): string {
  const kept = keepsBudget(row);
  if (kept === null) return '';
  return kept ? 'kept' : 'MISSED';
}

function number(value: number): string {
  if (Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 100 ? 0 : 2);
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
