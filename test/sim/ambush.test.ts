/** An ambush strikes where a node has just done what it seldom does, whether or not machines check themselves. */
import { expect, test } from 'vitest';
import { runSeed } from '../../runtime-sim/run.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { ROLL_AND_RESTART } from '../../scenarios/roll-and-restart.ts';

const AMBUSHED: Scenario = {
  ...ROLL_AND_RESTART,
  troubles: [{ family: 'ambush', every: [100, 100], always: true }],
};

test('nodes die of it, and nothing is lost', () => {
  const run = { seed: 3, scenarios: [AMBUSHED], durationMs: 2_000 };
  const { violations, struck, figures, hash } = runSeed(run);
  expect(violations).toEqual([]);
  expect(struck.get('ambush')).toBeGreaterThan(2);
  expect(figures.crashes + figures.powerLosses).toBeGreaterThan(1);
  expect(runSeed({ ...run, checks: false }).hash).toBe(hash);
});
