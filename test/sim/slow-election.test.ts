/** Elections of the quorum in slow motion: others stand, and operators ask, while somebody is in the midst of one. */
import { expect, test } from 'vitest';
import { runSeed } from '../../runtime-sim/run.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { VOTERS_COME_AND_GO } from '../../scenarios/voters-come-and-go.ts';

const SLOW: Scenario = {
  ...VOTERS_COME_AND_GO,
  workload: { ...VOTERS_COME_AND_GO.workload, changeVotersEveryMs: [100, 100] },
  troubles: [
    { family: 'slowElection', every: [100, 100], always: true },
    { family: 'crash', every: [700, 700], on: 'controller', always: true },
  ],
};

test('each moment of an election is struck, a leader is asked for voters too early, and nothing is lost', () => {
  const marks = new Map<string, number>();
  for (let seed = 1; seed <= 8; seed++) {
    const result = runSeed({ seed, scenarios: [SLOW], durationMs: 3_000 });
    expect(result.violations).toEqual([]);
    expect(result.struck.get('slowElection')).toBeGreaterThan(0);
    for (const [mark, times] of result.marks) marks.set(mark, times + (marks.get(mark) ?? 0));
  }
  for (const stage of ['asks', 'stands', 'leads']) {
    expect(marks.get(`sim.election.slow.${stage}`), stage).toBeGreaterThan(0);
  }
  expect(marks.get('raft.voter.too_early')).toBeGreaterThan(0);
});
