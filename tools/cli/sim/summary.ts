/**
 * What of a run goes over a thread's border, into a sweep's state file and onto paper: plain data that JSON keeps.
 */
import type { Violation } from '../../../core/verify/checkers.ts';
import type { RunFigures, RunResult } from '../../../runtime-sim/result.ts';
import type { WorkerOptions } from './worker.ts';

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
  /** Why, where nothing was spared. */
  readonly excuses: readonly string[];
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
    excuses: result.excuses,
    marks: [...result.marks],
    struck: [...result.struck],
    tookMs,
  };
}

/** A seed at which workers died, again and again: nothing is known of it but that. */
export function diedSummary(seed: number, scenario: string | null, how: string): Summary {
  const sentence = `the process that played it died twice; the second ${how}`;
  return {
    seed,
    scenario: scenario ?? 'unknown',
    verdict: 'failed',
    hash: '',
    isSameTwice: true,
    figures: NO_FIGURES,
    violations: [{ checker: 'worker-died', promise: 0, partition: -1, sentence }],
    excused: 0,
    excuses: [],
    marks: [],
    struck: [],
    tookMs: 0,
  };
}

const NO_FIGURES: RunFigures = {
  events: 0,
  effects: 0,
  simulatedMs: 0,
  sends: 0,
  acknowledged: 0,
  acknowledgedBatches: 0,
  failed: 0,
  unknown: 0,
  reads: 0,
  administrations: 0,
  administrationsLost: 0,
  recordsDeletions: 0,
  crashes: 0,
  powerLosses: 0,
  recoveriesCrashed: 0,
  starts: 0,
  exits: 0,
  filesTorn: 0,
  filesCut: 0,
  filesLost: 0,
  namesLost: 0,
  appendsCut: 0,
  syncs: 0,
  diskErrors: 0,
  bitsRotten: 0,
  connections: 0,
  resets: 0,
  chunks: 0,
};

/** What a verdict is called: where nothing was spared, a promise that was broken is a bug or beyond the contract. */
export function verdictText(verdict: string, isUnlimited: boolean): string {
  if (!isUnlimited) return verdict;
  return verdict === 'failed' ? 'bug' : verdict === 'excused' ? 'beyond contract' : verdict;
}

/** The line that plays a run again. */
export function reproduction(
  seed: number,
  { scenario, durationMs, isUnlimited }: Pick<WorkerOptions, 'scenario' | 'durationMs' | 'isUnlimited'>,
): string {
  const flags = [`--seed ${seed}`];
  if (isUnlimited) flags.push('--unlimited');
  if (scenario !== null) flags.push(`--scenario ${scenario}`);
  if (durationMs !== null) flags.push(`--for ${durationMs}ms`);
  return `npx sim run ${flags.join(' ')}`;
}
