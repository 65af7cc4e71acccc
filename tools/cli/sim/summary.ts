/**
 * What of a run goes over a thread's border, into a sweep's state file and onto paper: plain data that JSON keeps.
 */
import type { Violation } from '../../../core/verify/checkers.ts';
import type { RunFigures, RunResult } from '../../../runtime-sim/result.ts';

/** One run of a sweep. */
export interface Summary {
  readonly seed: number;
  readonly scenario: string;
  readonly verdict: RunResult['verdict'];
  readonly hash: string;
  /** False if a second run of the seed had another hash. */
  readonly isSameTwice: boolean;
  readonly figures: RunFigures;
  readonly violations: readonly Violation[];
  readonly excused: number;
  readonly marks: readonly (readonly [string, number])[];
  readonly struck: readonly (readonly [string, number])[];
  readonly tookMs: number;
}

/** Shortens a result. */
export function summarize(result: RunResult, tookMs: number, isSameTwice: boolean): Summary {
  return {
    seed: result.seed,
    scenario: result.scenario,
    verdict: result.verdict,
    hash: result.hash,
    isSameTwice,
    figures: result.figures,
    violations: result.violations,
    excused: result.excused.length,
    marks: [...result.marks],
    struck: [...result.struck],
    tookMs,
  };
}

/** The line that plays a run again. */
export function reproduction(seed: number, scenario: string | null, durationMs: number | null): string {
  const flags = [`--seed ${seed}`];
  if (scenario !== null) flags.push(`--scenario ${scenario}`);
  if (durationMs !== null) flags.push(`--for ${durationMs}ms`);
  return `npx sim run ${flags.join(' ')}`;
}
