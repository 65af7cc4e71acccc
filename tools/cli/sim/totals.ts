/** The totals of a sweep, and how they are told. */
import type { RunFigures } from '../../../runtime-sim/result.ts';
import {
  RARE_MARKS,
  RARE_SEEDS_MIN,
  REQUIRED_MARKS,
  REQUIRED_SEEDS_MIN,
  UNLIMITED_MARKS,
} from '../../../scenarios/marks.ts';
import { reproduction, type Summary, verdictText } from './summary.ts';
import type { WorkerOptions } from './worker.ts';

/** All that a sweep adds up. */
export interface Totals {
  runs: number;
  readonly verdicts: Map<string, number>;
  readonly scenarios: Map<string, number>;
  readonly figures: Map<keyof RunFigures, number>;
  readonly marks: Map<string, number>;
  readonly struck: Map<string, number>;
  readonly batches: number[];
  readonly failures: Summary[];
  /** By what was done to disks and network: runs that it excused. */
  readonly excuses: Map<string, number>;
  /** Workers that died by themselves: what they had was played again. */
  deaths: number;
  tookMs: number;
}

/** Nothing yet. */
export function createTotals(): Totals {
  return {
    runs: 0,
    verdicts: new Map(),
    scenarios: new Map(),
    figures: new Map(),
    marks: new Map(),
    struck: new Map(),
    batches: [],
    failures: [],
    excuses: new Map(),
    deaths: 0,
    tookMs: 0,
  };
}

function add<K>(map: Map<K, number>, key: K, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count);
}

/** Adds one run. */
export function addSummary(totals: Totals, summary: Summary): void {
  totals.runs += 1;
  totals.tookMs += summary.tookMs;
  add(totals.verdicts, summary.verdict, 1);
  add(totals.scenarios, summary.scenario, 1);
  for (const [name, value] of Object.entries(summary.figures)) add(totals.figures, name as keyof RunFigures, value);
  for (const [mark, count] of summary.marks) add(totals.marks, mark, count);
  for (const [family, count] of summary.struck) add(totals.struck, family, count);
  totals.batches.push(summary.figures.acknowledgedBatches);
  // Without names and numbers, so that what is alike is counted together.
  for (const why of new Set(summary.excuses.map(kindOfExcuse))) add(totals.excuses, why, 1);
  if (isFailure(summary)) totals.failures.push(summary);
}

function kindOfExcuse(why: string): string {
  return why.replace(/[a-z]+-\d+(?= lies)/, 'a partition').replace(/\d+(, \d+)*/g, 'N');
}

/** Of a hundred runs without limits, so many may be excused: with more, faults are too many to show anything. */
export const EXCUSED_PERCENT_MAX = 20;

/** Of a hundred runs, how many were excused. */
export function excusedPercent({ verdicts, runs }: Totals): number {
  return runs === 0 ? 0 : ((verdicts.get('excused') ?? 0) * 100) / runs;
}

/** Whether a run broke a promise, the seventh included. */
export function isFailure(summary: Summary): boolean {
  return summary.verdict === 'failed' || !summary.isSameTwice;
}

/** The middle one; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Required marks that were not reached; none are required of a small sweep, or of one scenario. */
export function missingMarks(totals: Totals, isUnlimited: boolean): string[] {
  if (isUnlimited) return totals.runs < REQUIRED_SEEDS_MIN ? [] : lacking(totals, UNLIMITED_MARKS);
  if (totals.runs < REQUIRED_SEEDS_MIN || totals.scenarios.size < 2) return [];
  const required = totals.runs < RARE_SEEDS_MIN ? REQUIRED_MARKS : [...REQUIRED_MARKS, ...RARE_MARKS];
  return lacking(totals, required);
}

function lacking({ marks }: Totals, required: readonly string[]): string[] {
  return required.filter((mark) => !marks.has(mark));
}

/** Events in a second of one core. */
export function eventsPerSecond(totals: Totals): number {
  return totals.tookMs === 0 ? 0 : Math.round(((totals.figures.get('events') ?? 0) * 1000) / totals.tookMs);
}

const FIGURES: readonly (readonly [keyof RunFigures, string])[] = [
  ['acknowledgedBatches', 'batches acknowledged'],
  ['acknowledged', 'records acknowledged'],
  ['reads', 'records read'],
  ['administrations', 'questions of administrators answered'],
  ['administrationsLost', 'questions of administrators lost'],
  ['recordsDeletions', 'deletions of records acknowledged'],
  ['crashes', 'process crashes'],
  ['powerLosses', 'power losses'],
  ['recoveriesCrashed', 'recoveries struck'],
  ['filesTorn', 'files torn'],
  ['filesCut', 'files cut short'],
  ['filesLost', 'files that lost their new bytes'],
  ['namesLost', 'names lost'],
  ['appendsCut', 'appends cut by a crash'],
  ['diskErrors', 'disk errors'],
  ['bitsRotten', 'bits rotten'],
  ['resets', 'connections reset'],
  ['chunks', 'sends cut to pieces'],
  ['events', 'events'],
];

/** The totals in words, a line each. */
export function totalsText(totals: Totals, isUnlimited: boolean): string[] {
  const lines: string[] = [];
  const counts = [...totals.verdicts].map(([verdict, count]) => `${count} ${verdictText(verdict, isUnlimited)}`);
  const verdicts = counts.join(', ');
  lines.push(`${totals.runs} runs: ${verdicts}`);
  const scenarios = [...totals.scenarios].sort((a, b) => b[1] - a[1]);
  lines.push(`scenarios: ${scenarios.map(([name, count]) => `${name} ${count}`).join(', ')}`);
  for (const [name, label] of FIGURES) lines.push(`${String(totals.figures.get(name) ?? 0).padStart(12)} ${label}`);
  lines.push(`${String(median(totals.batches)).padStart(12)} batches acknowledged in the median seed`);
  lines.push(`${String(eventsPerSecond(totals)).padStart(12)} events a second on a core`);
  const struck = [...totals.struck].sort((a, b) => b[1] - a[1]);
  lines.push(`troubles: ${struck.map(([family, count]) => `${family} ${count}`).join(', ')}`);
  if (totals.deaths > 0) lines.push(`${totals.deaths} workers died by themselves: their seeds were played again`);
  const marks = [...totals.marks].sort((a, b) => a[1] - b[1]);
  lines.push(`marks reached: ${marks.map(([mark, count]) => `${mark} ${count}`).join(', ')}`);
  if (isUnlimited) {
    const share = excusedPercent(totals).toFixed(1);
    lines.push(`beyond contract: ${share} % of the runs (at most ${EXCUSED_PERCENT_MAX} %)`);
    for (const [why, count] of totals.excuses) lines.push(`${String(count).padStart(12)} because ${why}`);
  }
  const never = lacking(totals, isUnlimited ? UNLIMITED_MARKS : [...REQUIRED_MARKS, ...RARE_MARKS]);
  if (never.length > 0) lines.push(`required marks never reached: ${never.join(', ')}`);
  return lines;
}

/** A failure in words: what broke, and the line that plays it again. */
export function failureText(
  summary: Summary,
  asked: Pick<WorkerOptions, 'scenario' | 'durationMs' | 'isUnlimited'>,
): string[] {
  const lines: string[] = [];
  if (!summary.isSameTwice) lines.push(`seed ${summary.seed}: promise 7 broken: the second run was another one`);
  for (const { promise, checker, sentence } of summary.violations.slice(0, 3)) {
    lines.push(`seed ${summary.seed} (${summary.scenario}): promise ${promise} broken, ${checker}: ${sentence}`);
  }
  lines.push(`  again: ${reproduction(summary.seed, asked)}`);
  return lines;
}
