/**
 * What a seed plans for real processes: the same again, every family sometime, and never two troubles at once of which
 * nobody could say which one a node, or the quorum, recovers from.
 */
import { describe, expect, it } from 'vitest';
import { FAMILIES, GUEST, planEpisode, type Trouble, takesOf } from '../../tools/troubles/plan.ts';

const EPISODE_MS = 60_000;
const SEEDS = 300;

function plans(families = FAMILIES as readonly (typeof FAMILIES)[number][]): ReturnType<typeof planEpisode>[] {
  return Array.from({ length: SEEDS }, (_, seed) => planEpisode(seed, EPISODE_MS, families));
}

/** Pairs of troubles that want the same thing at the same time. */
function clashes(troubles: readonly Trouble[]): string[] {
  return troubles.flatMap((one, index) =>
    troubles
      .slice(index + 1)
      .filter((other) => other.atMs < one.atMs + one.forMs)
      .filter((other) => takesOf(other).some((thing) => takesOf(one).includes(thing)))
      .map((other) => `${one.family} and ${other.family} at ${other.atMs} ms`),
  );
}

describe('the plan of an episode', () => {
  it('is the same for the same seed, and has each family for some', () => {
    expect(plans()).toEqual(plans());
    const drawn = new Set(plans().flatMap(({ troubles }) => troubles.map(({ family }) => family)));
    expect([...drawn].sort()).toEqual([...FAMILIES].sort());
  });

  it('never strikes a node twice at a time, nor changes the voters twice', () => {
    expect(plans().flatMap(({ troubles }) => clashes(troubles))).toEqual([]);
  });

  it('strikes the guest only while it is there', () => {
    let strikes = 0;
    for (const { troubles } of plans()) {
      for (const { atMs } of troubles.filter(({ nodes }) => nodes.includes(GUEST))) {
        strikes += 1;
        const stays = troubles.filter(({ family }) => family === 'brokers');
        expect(stays.some((stay) => stay.atMs < atMs && atMs < stay.atMs + stay.forMs)).toBe(true);
      }
    }
    expect(strikes).toBeGreaterThan(0);
  });

  it('changes voters only where they can change', () => {
    const changing = plans(['voters', 'swap']);
    expect(changing.filter(({ quorum }) => quorum === 'static')).toEqual([]);
    for (const { quorum, troubles } of plans()) {
      if (quorum !== 'static') continue;
      expect(troubles.filter(({ family }) => family === 'voters' || family === 'swap')).toEqual([]);
    }
  });
});
