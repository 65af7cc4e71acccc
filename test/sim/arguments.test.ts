/** The flags of `sim`: what they take, and that a wrong one is refused in a sentence. */
import { expect, test } from 'vitest';
import { readDuration, readScenario, readSeed, readSeeds, readWorkers } from '../../tools/cli/sim/arguments.ts';

test('seeds are one, or from A to B', () => {
  expect(readSeed('7')).toBe(7);
  expect(readSeeds('7')).toEqual({ first: 7, last: 7 });
  expect(readSeeds('1..2000')).toEqual({ first: 1, last: 2_000 });
});

test.each(['', 'x', '-1', '1.5', '4294967296'])('"%s" is no seed', (text) => {
  expect(() => readSeed(text)).toThrow(/A seed is an integer/);
});

test.each(['2..1', '1..2..3', '1..', '..5', '0..4294967295'])('"%s" is no range of seeds', (text) => {
  expect(() => readSeeds(text)).toThrow(/seed/i);
});

test('durations have a unit and bounds', () => {
  expect([readDuration('500ms'), readDuration('60s'), readDuration('2m')]).toEqual([500, 60_000, 120_000]);
  for (const text of ['60', '0s', '61m', '1h', 's']) expect(() => readDuration(text)).toThrow(/A duration is like/);
});

test('an unknown scenario is refused with the names of those that exist', () => {
  expect(readScenario('power-loss').name).toBe('power-loss');
  expect(() => readScenario('flood')).toThrow(/crash-idempotent, .*calm/);
});

test('workers are one at least', () => {
  expect(readWorkers('3')).toBe(3);
  for (const text of ['0', 'two', '257']) expect(() => readWorkers(text)).toThrow(/from 1 to 256/);
});
