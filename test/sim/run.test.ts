/** Whole runs: the same twice, clean where nothing is planted, and blind to the real world. */
import { expect, test } from 'vitest';
import { withoutRealWorld } from '../../runtime-sim/ban.ts';
import { runSeed } from '../../runtime-sim/run.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { SCENARIOS } from '../../scenarios/list.ts';

test.each(SCENARIOS.map(({ name }) => name))('%s: a short run keeps every promise and is the same twice', (name) => {
  const scenarios = SCENARIOS.filter((scenario) => scenario.name === name);
  const first = runSeed({ seed: 11, scenarios, durationMs: 4_000 });
  expect(first.violations).toEqual([]);
  expect(first.figures.acknowledged).toBeGreaterThan(20);
  const second = runSeed({ seed: 11, scenarios, durationMs: 4_000 });
  expect(second.hash).toBe(first.hash);
  expect(second.figures).toEqual(first.figures);
});

test('late-duplicates: requests come a second time, and nothing comes of it', () => {
  const scenarios = SCENARIOS.filter(({ name }) => name === 'late-duplicates');
  const { violations, marks } = runSeed({ seed: 1, scenarios, durationMs: 4_000 });
  expect(violations).toEqual([]);
  expect(marks.get('sim.repeated')).toBeGreaterThan(5);
});

test('voters-come-and-go: once operators rest no late word of theirs takes the leader out of the quorum', () => {
  const story = SCENARIOS.find(({ name }) => name === 'voters-come-and-go');
  if (story === undefined) throw new Error('no such story');
  const workload = { ...story.workload, changeVotersEveryMs: [100, 100], repeatBetweenEveryMs: [20, 20] } as const;
  const scenarios = [{ ...story, workload, troubles: [] }];
  const { violations, marks } = runSeed({ seed: 3, scenarios, durationMs: 2_000 });
  expect(violations).toEqual([]);
  expect(marks.get('raft.voter.removed')).toBeGreaterThan(2);
  expect(marks.get('sim.repeated.between')).toBeGreaterThan(20);
});

test('two-sides: two of five nodes are apart from the others together, and all is well when they are back', () => {
  const scenarios = SCENARIOS.filter(({ name }) => name === 'two-sides').map((story): Scenario => {
    return { ...story, troubles: [{ family: 'split', every: [2_000, 2_000], on: 'leader', always: true }] };
  });
  const { violations, struck, lines } = runSeed({ seed: 2, scenarios, durationMs: 6_000 });
  expect(violations).toEqual([]);
  const sides = lines.filter(({ text }) => text.startsWith('hear nothing of'));
  expect(sides.length).toBe(struck.get('split'));
  expect(sides.length).toBeGreaterThan(0);
  for (const { actor, text } of sides) {
    const apart = `${actor} | ${text}`.match(/node-\d/g) ?? [];
    expect(new Set(apart).size).toBe(5);
    expect(actor.split(', ').length).toBe(2);
  }
});

test('two seeds are two runs', () => {
  const scenarios = SCENARIOS.filter(({ name }) => name === 'calm');
  const hashes = [1, 2].map((seed) => runSeed({ seed, scenarios, durationMs: 500 }).hash);
  expect(hashes[0]).not.toBe(hashes[1]);
});

test('checking invariants does not change the run', () => {
  const scenarios = SCENARIOS.filter(({ name }) => name === 'power-loss');
  const checked = runSeed({ seed: 5, scenarios, durationMs: 2_000, checks: true });
  expect(runSeed({ seed: 5, scenarios, durationMs: 2_000, checks: false }).hash).toBe(checked.hash);
});

test('clocks, dice and timers of the real world throw inside and are back afterwards', () => {
  const before = [Date.now, Math.random, setTimeout];
  expect(() => withoutRealWorld(() => Date.now())).toThrow(/not be the same run twice/);
  expect(() => withoutRealWorld(() => Math.random())).toThrow(/not be the same run twice/);
  expect(() => withoutRealWorld(() => setTimeout(() => {}, 0))).toThrow(/not be the same run twice/);
  expect([Date.now, Math.random, setTimeout]).toEqual(before);
  expect(Date.now()).toBeGreaterThan(0);
});
