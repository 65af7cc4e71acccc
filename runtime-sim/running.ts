/**
 * A run as its parts see it, and how time goes on in it. Data, but for the hooks that the world calls.
 *
 * Of several nodes, the replicas are compared while time goes on: that changes nothing.
 */
import type { Complaint, History } from '../core/verify/history.ts';
import type { Actor } from './actor.ts';
import type { ElectionNotes } from './election-marks.ts';
import type { NodeChecks } from './node-checks.ts';
import { compareAll, type Onlooker } from './onlooker.ts';
import type { Plan } from './scenario.ts';
import { lookForStalls, type Stalls } from './stalls.ts';
import type { Troubles } from './trouble/troubles.ts';
import type { Witness } from './witness.ts';
import type { Observer } from './workload/observer.ts';
import { type Hooks, runUntil, type World } from './world.ts';

/** All that belongs to one run. */
export interface Run {
  readonly world: World;
  readonly plan: Plan;
  readonly history: History;
  readonly observer: Observer;
  readonly nodes: readonly Actor[];
  readonly troubles: Troubles;
  readonly hooks: Hooks;
  /** By node. */
  readonly checks: readonly NodeChecks[];
  readonly onlooker: Onlooker;
  readonly elections: ElectionNotes;
  readonly witness: Witness;
  readonly stalls: Stalls;
  /** Actors that stay down when they go down. */
  readonly held: Set<number>;
  /** When replicas are compared next. */
  compareAtUs: number;
}

/** A condition is looked at so often. */
const LOOK_US = 20_000;
/** And replicas are compared so often. */
const COMPARE_US = 5_000_000;

/** Lets the world go on for `ms`, or until `isSo`, which is looked at now and then; true if it was. */
export function runOn(run: Run, ms: number, isSo: () => boolean = () => false): boolean {
  const { world, hooks, nodes } = run;
  const untilUs = world.nowUs + ms * 1000;
  if (nodes.length === 1) return runUntil(world, untilUs, hooks, isSo);
  while (world.nowUs < untilUs) {
    runUntil(world, Math.min(untilUs, world.nowUs + LOOK_US), hooks);
    lookForStalls(run.stalls, run.history, nodes, world.nowUs);
    if (world.nowUs >= run.compareAtUs) {
      run.compareAtUs = world.nowUs + COMPARE_US;
      compareAll(run.onlooker, run.history, nodes, false);
    }
    if (isSo()) return true;
  }
  return false;
}

/** Something did not come about in its time. */
export function late(checker: string, sentence: string): Complaint {
  return { checker, promise: 6, partition: -1, sentence };
}
