/** What one run came to, as plain data: printed, stored by sweeps, compared between engines. */
import type { Violation } from '../core/verify/checkers.ts';
import type { Plan } from './scenario.ts';
import type { Line } from './world.ts';

/** One run. */
export interface RunResult {
  readonly seed: number;
  readonly scenario: string;
  /** ok: every promise held. excused: what was lost lies beyond the promises. failed: a promise was broken. */
  readonly verdict: 'ok' | 'excused' | 'failed';
  readonly violations: readonly Violation[];
  readonly excused: readonly Violation[];
  /**
   * Of a run without limits: what was done to disks and network that lies beyond the contract, as far as it excuses.
   */
  readonly excuses: readonly string[];
  /** Of every input and effect, sixteen hexadecimal digits. */
  readonly hash: string;
  readonly plan: Plan;
  readonly figures: RunFigures;
  /** How often each rare path was taken. */
  readonly marks: ReadonlyMap<string, number>;
  /** How often each family of troubles struck. */
  readonly struck: ReadonlyMap<string, number>;
  /** The end of the story. */
  readonly lines: readonly Line[];
}

/** What happened, in numbers. */
export interface RunFigures {
  readonly events: number;
  readonly effects: number;
  readonly simulatedMs: number;
  readonly sends: number;
  readonly acknowledged: number;
  readonly acknowledgedBatches: number;
  readonly failed: number;
  readonly unknown: number;
  readonly reads: number;
  /** Questions of administrators about topics that were answered, and those of which nobody knows. */
  readonly administrations: number;
  readonly administrationsLost: number;
  /** Deletions of records that were acknowledged. */
  readonly recordsDeletions: number;
  readonly crashes: number;
  readonly powerLosses: number;
  readonly recoveriesCrashed: number;
  readonly starts: number;
  readonly exits: number;
  readonly filesTorn: number;
  readonly filesCut: number;
  readonly filesLost: number;
  readonly namesLost: number;
  readonly appendsCut: number;
  readonly syncs: number;
  readonly diskErrors: number;
  readonly bitsRotten: number;
  readonly connections: number;
  readonly resets: number;
  readonly chunks: number;
}
