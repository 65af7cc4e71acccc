/** Dice: one stream for each place and entity, the same on every engine. */
import { expect, test } from 'vitest';
import { around, below, createDice, draw, SITE } from '../../runtime-sim/dice.ts';

test('taking draws away from one stream leaves every other as it was', () => {
  const one = createDice(7);
  const other = createDice(7);
  for (let i = 0; i < 50; i++) draw(one, SITE.netLatency, 1);
  expect(draw(one, SITE.diskLatency, 1)).toBe(draw(other, SITE.diskLatency, 1));
  expect(draw(one, SITE.netLatency, 2)).toBe(draw(other, SITE.netLatency, 2));
});

test('draws are those of every engine, for ever', () => {
  const dice = createDice(1);
  expect([draw(dice, SITE.plan, 0), draw(dice, SITE.plan, 0), draw(dice, SITE.workload, 3)]).toMatchInlineSnapshot(`
    [
      1200196300,
      4143840149,
      1048774206,
    ]
  `);
});

test('times are spread around their mean and never nothing', () => {
  const dice = createDice(5);
  const drawn = Array.from({ length: 5_000 }, () => around(dice, SITE.diskLatency, 0, 1_000));
  const mean = drawn.reduce((sum, value) => sum + value, 0) / drawn.length;
  expect(mean).toBeGreaterThan(850);
  expect(mean).toBeLessThan(1_150);
  expect(Math.min(...drawn)).toBeGreaterThan(0);
  expect(Math.max(...drawn)).toBeGreaterThan(3_500);
});

test('a limit of none or one is always 0', () => {
  const dice = createDice(5);
  expect([below(dice, SITE.plan, 0, 0), below(dice, SITE.plan, 0, 1)]).toEqual([0, 0]);
});
