/** What holds for any members that do anything while anything happens to them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  anyStep,
  beat,
  checkReplay,
  createWorld,
  groupIn,
  revoke,
  take,
  type World,
  wantedIn,
} from './consumer-world.ts';
import { describeIt } from './consumers.ts';
import { advance } from './coordinator.ts';

/** Rounds of heartbeats after the last change until nothing moves, at most. */
const ROUNDS_MAX = 5;

/** Everybody who lives sends heartbeats until nobody writes or gives back anything: how many rounds that took. */
function settle(world: World): number {
  const { coordinator, clients } = world;
  for (let round = 0; round < 30; round++) {
    const before = coordinator.log.length;
    advance(coordinator, 1_000);
    for (const client of clients) {
      if (client.epoch < 0 || client.isLost) continue;
      revoke(client);
      beat(world, client, {});
    }
    const isGivingBack = clients.some(({ isLost, owned, told }) => !isLost && owned.size > told.size);
    if (coordinator.log.length === before && !isGivingBack) return round;
  }
  return 30;
}

function checkSettled(world: World): void {
  const { coordinator, clients } = world;
  const group = groupIn(world);
  if (group === null) return;
  const live = clients.filter(({ epoch, isLost }) => epoch > 0 && !isLost);
  expect(describeIt(coordinator).groupState).toBe(live.length === 0 ? 'Empty' : 'Stable');
  const owned = live.flatMap((client) => [...client.owned]).sort();
  expect(owned).toEqual(wantedIn(world));
  for (const client of live) expect([...client.owned].sort()).toEqual([...client.told].sort());
}

describe.each(['uniform', 'range'])('with %s', (assignor) => {
  it('nobody ever owns what another owns, replay gives what is live, and all comes to rest', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 20, maxLength: 80, size: 'max' }), (steps) => {
        const world = createWorld(assignor);
        for (const step of steps) take(world, step);
        world.coordinator.checksReplay = false;
        // Sessions of those who are gone end, while the others go on.
        for (let i = 0; i < 12; i++) {
          advance(world.coordinator, 5_000);
          for (const client of world.clients) {
            if (client.epoch < 0 || client.isLost) continue;
            revoke(client);
            beat(world, client, {});
          }
        }
        expect(settle(world)).toBeLessThanOrEqual(ROUNDS_MAX);
        checkSettled(world);
        checkReplay(world);
      }),
      { numRuns: 25 },
    );
  });
});

describe('after the last change', () => {
  it('a few rounds of heartbeats are enough', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 10, maxLength: 60, size: 'max' }), (steps) => {
        const world = createWorld();
        for (const step of steps) {
          if (step.kind !== 'vanish' && step.kind !== 'leave') take(world, step);
        }
        expect(settle(world)).toBeLessThanOrEqual(ROUNDS_MAX);
        checkSettled(world);
      }),
      { numRuns: 25 },
    );
  });
});
