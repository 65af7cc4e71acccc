/**
 * `sim sweep`: many seeds on all cores, resumable.
 *
 * Each finished run is a line in a file under ./sim-results, named after what was asked for; a sweep that is asked for
 * again skips what is there. The first line says which code made it: other code starts anew.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SeedRange } from './arguments.ts';
import { type Death, playSeeds } from './pool.ts';
import { diedSummary, reproduction, type Summary, verdictText } from './summary.ts';
import {
  addSummary,
  createTotals,
  EXCUSED_PERCENT_MAX,
  eventsPerSecond,
  excusedPercent,
  failureText,
  isFailure,
  median,
  missingMarks,
  type Totals,
  totalsText,
} from './totals.ts';

/** What to sweep. */
export interface SweepOptions {
  readonly seeds: SeedRange;
  readonly scenario: string | null;
  readonly durationMs: number | null;
  /** Disks and network break their word without regard to what is promised. */
  readonly isUnlimited: boolean;
  readonly workers: number | null;
  readonly isTwice: boolean;
  readonly checks: boolean;
  readonly isFresh: boolean;
  /** Stop at the first seed that breaks a promise after something was acknowledged. */
  readonly isUntilFailure: boolean;
  readonly isJson: boolean;
}

const FOLDER = 'sim-results';
const PROGRESS_MS = 2_000;

/** Sweeps and tells; the exit code. */
export async function sweep(options: SweepOptions): Promise<number> {
  const { first, last } = options.seeds;
  const path = stateFile(options);
  const done = options.isFresh ? new Map<number, Summary>() : readState(path);
  if (done.size === 0) writeState(path);
  const totals = createTotals();
  for (const summary of done.values()) addSummary(totals, summary);
  const note = (text: string): void => {
    if (!options.isJson) process.stdout.write(`${text}\n`);
  };
  if (done.size > 0) note(`${done.size} seeds were played before (${path})`);
  for (const failure of totals.failures) note(failureText(failure, options).join('\n'));
  const startedAt = performance.now();
  let progressAt = startedAt;
  let played = 0;
  const workers = options.workers ?? availableParallelism();
  const { scenario, durationMs, checks, isTwice, isUnlimited } = options;
  const onSummary = (summary: Summary): boolean => {
    appendFileSync(path, `${JSON.stringify(summary)}\n`);
    addSummary(totals, summary);
    played += 1;
    if (isFailure(summary)) note(failureText(summary, options).join('\n'));
    if (performance.now() - progressAt > PROGRESS_MS) {
      progressAt = performance.now();
      const perSecond = (played * 1000) / (progressAt - startedAt);
      const left = Math.ceil((last - first + 1 - totals.runs) / perSecond);
      note(`${totals.runs} of ${last - first + 1} seeds, ${totals.failures.length} failed, about ${left} s to go`);
    }
    return !(options.isUntilFailure && isFailure(summary) && summary.figures.acknowledged > 0);
  };
  const onDeath = ({ seed, how, isGivenUp }: Death): boolean => {
    totals.deaths += 1;
    note(`seed ${seed}: the worker that played it ${how}${isGivenUp ? '' : '; it is played again'}`);
    return !isGivenUp || onSummary(diedSummary(seed, scenario, how));
  };
  const asked = { scenario, durationMs, checks, isTwice, isUnlimited };
  await playSeeds(seedsOf(first, last, done), workers, asked, { onSummary, onDeath });
  return conclude(options, totals, performance.now() - startedAt);
}

function* seedsOf(first: number, last: number, done: ReadonlyMap<number, unknown>): Generator<number> {
  for (let seed = first; seed <= last; seed++) if (!done.has(seed)) yield seed;
}

function conclude(options: SweepOptions, totals: Totals, tookMs: number): number {
  const { isUnlimited } = options;
  const missing = missingMarks(totals, isUnlimited);
  const share = excusedPercent(totals);
  const isTooMuch = isUnlimited && share > EXCUSED_PERCENT_MAX;
  const isClean = totals.failures.length === 0 && missing.length === 0 && !isTooMuch;
  if (options.isJson) {
    const json = {
      seeds: `${options.seeds.first}..${options.seeds.last}`,
      verdict: isClean ? 'ok' : 'failed',
      runs: totals.runs,
      tookMs: Math.round(tookMs),
      eventsPerSecond: eventsPerSecond(totals),
      medianBatches: median(totals.batches),
      verdicts: Object.fromEntries([...totals.verdicts].map(([name, n]) => [verdictText(name, isUnlimited), n])),
      ...(isUnlimited ? { excusedPercent: share, excuses: Object.fromEntries(totals.excuses) } : {}),
      scenarios: Object.fromEntries(totals.scenarios),
      figures: Object.fromEntries(totals.figures),
      troubles: Object.fromEntries(totals.struck),
      marks: Object.fromEntries(totals.marks),
      requiredMarksMissing: missing,
      workersDied: totals.deaths,
      failures: totals.failures.map((failure) => ({
        seed: failure.seed,
        scenario: failure.scenario,
        acknowledged: failure.figures.acknowledged,
        isSameTwice: failure.isSameTwice,
        violations: failure.violations,
        again: reproduction(failure.seed, options),
      })),
    };
    process.stdout.write(`${JSON.stringify(json)}\n`);
  } else {
    process.stdout.write(`${totalsText(totals, isUnlimited).join('\n')}\n`);
    if (missing.length > 0) process.stdout.write(`The sweep is not clean: ${missing.join(', ')} was never reached.\n`);
    if (isTooMuch) process.stdout.write(`The sweep is not clean: more than ${EXCUSED_PERCENT_MAX} % were excused.\n`);
    process.stdout.write(isClean ? 'Every promise held.\n' : `${totals.failures.length} seeds failed.\n`);
  }
  return isClean ? 0 : 1;
}

function stateFile(options: SweepOptions): string {
  const { first, last } = options.seeds;
  const parts = ['sweep', `${first}-${last}`];
  if (options.isUnlimited) parts.push('unlimited');
  if (options.scenario !== null) parts.push(options.scenario);
  if (options.durationMs !== null) parts.push(`${options.durationMs}ms`);
  if (options.isTwice) parts.push('twice');
  if (!options.checks) parts.push('unchecked');
  return join(FOLDER, `${parts.join('-')}.jsonl`);
}

function writeState(path: string): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(path, `${JSON.stringify({ code: codeDigest() })}\n`);
}

function readState(path: string): Map<number, Summary> {
  const done = new Map<number, Summary>();
  if (!existsSync(path)) return done;
  const [head, ...lines] = readFileSync(path, 'utf8').split('\n');
  if (head !== JSON.stringify({ code: codeDigest() })) return done;
  for (const line of lines) {
    try {
      const summary = JSON.parse(line) as Summary;
      done.set(summary.seed, summary);
    } catch {
      // The last line of a sweep that was killed may be half a line: its seed is played again.
    }
  }
  return done;
}

/** Names the code that a run depends on: everything in core, the simulator and the scenarios. */
function codeDigest(): string {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const hash = createHash('sha256');
  for (const folder of ['core', 'runtime-sim', 'scenarios']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (!/\.(js|ts)$/.test(name) || name.endsWith('.d.ts')) continue;
      hash.update(name).update(readFileSync(join(root, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
