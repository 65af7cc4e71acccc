/** What nodes say is judged: an error needs a reason, and the run knows whether it gave one. */
import { expect, test } from 'vitest';
import { drawPlan } from '../../runtime-sim/cast/plan.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { judgeSaid, sayingOf } from '../../runtime-sim/watch/saying.ts';
import { CALM } from '../../scenarios/calm.ts';
import { THREE_CALM } from '../../scenarios/three-calm.ts';
import { UNCLEAN_ELECTION } from '../../scenarios/unclean-election.ts';

const ERROR = 'node-1 says: error: a leader has sent what cannot be appended';

function checkerIn(
  scenario: Scenario,
  error: string | null = ERROR,
  marks = new Map<string, number>(),
): string | undefined {
  return judgeSaid(error, drawPlan(createDice(1), scenario, 1_000), marks)?.checker;
}

test('an error without a reason is told, and one with a reason is not', () => {
  expect(checkerIn(THREE_CALM)).toBe('said-error');
  expect(checkerIn(THREE_CALM, null)).toBeUndefined();
  expect(checkerIn({ ...THREE_CALM, troubles: [{ family: 'flip', every: [1, 1], always: true }] })).toBeUndefined();
  expect(checkerIn({ ...THREE_CALM, troubles: [{ family: 'crash', every: [1, 1], always: true }] })).toBe('said-error');
  expect(checkerIn(UNCLEAN_ELECTION)).toBeUndefined();
  expect(checkerIn(THREE_CALM, ERROR, new Map([['sim.elected.last_known', 1]]))).toBeUndefined();
  expect(checkerIn(CALM)).toBeUndefined();
});

test('a line has its level, its text and its fields', () => {
  const fields = new Map([['topic', 'orders']]);
  expect(sayingOf({ kind: 'say', level: 'warn', text: 'it is so', fields })).toBe('warn: it is so topic=orders');
});
