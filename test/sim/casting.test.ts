/** Who takes part in a run is who its plan has drawn: nobody is forgotten. */
import { expect, test } from 'vitest';
import { createHistory } from '../../core/verify/history.ts';
import { partitionsOf } from '../../runtime-sim/cast/casting.ts';
import { drawPlan } from '../../runtime-sim/cast/plan.ts';
import { SIMULATED_CODECS } from '../../runtime-sim/codecs.ts';
import { addClients } from '../../runtime-sim/play.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { createObserver } from '../../runtime-sim/workload/observer.ts';
import { createWorld } from '../../runtime-sim/world.ts';
import { PARTITIONS_MOVE } from '../../scenarios/partitions-move.ts';
import { THREE_GROUPS } from '../../scenarios/three-groups.ts';

/** By what the names of clients begin with: how many there are, and how many the plan has drawn. */
function cast(seed: number, scenario: Scenario): { there: Record<string, number>; drawn: Record<string, number> } {
  const world = createWorld(seed, SIMULATED_CODECS, true);
  const plan = drawPlan(world.dice, scenario, 1_000);
  const observer = createObserver(createHistory(partitionsOf(plan), true), world, () => {});
  addClients(world, observer, plan, 0);
  const named = (begin: string): number => world.actors.filter(({ name }) => name.startsWith(`${begin}-`)).length;
  const there = {
    producer: named('producer'),
    administrator: named('administrator'),
    tail: named('tail'),
    replay: named('replay'),
  };
  const drawn = {
    producer: plan.producers.length,
    administrator: plan.administration?.administrators ?? 0,
    tail: 1,
    replay: plan.replayers,
  };
  return { there, drawn };
}

test('producers, administrators and readers are as many as were drawn', () => {
  let replayersMax = 0;
  for (let seed = 1; seed <= 20; seed++) {
    for (const scenario of [PARTITIONS_MOVE, THREE_GROUPS]) {
      const { there, drawn } = cast(seed, scenario);
      expect(there).toEqual(drawn);
      replayersMax = Math.max(replayersMax, there['replay'] ?? 0);
    }
  }
  expect(replayersMax).toBe(3);
});
