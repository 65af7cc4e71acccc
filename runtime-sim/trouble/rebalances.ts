/**
 * A date that is set forwards just while a group makes a generation: what grows old by the date, as committed offsets
 * do, is suddenly older, in a moment that is over in less than a second.
 */
import type { Actor } from '../actor.ts';
import { setWallSkew } from '../clock.ts';
import { between, chance, SITE } from '../dice.ts';
import { nodeOf } from '../nodes.ts';
import { tellLine, type World } from '../world.ts';
import type { Troubles } from './troubles.ts';

/** A node's date is wrong by at most this: honest clients' timestamps may be off by an hour. */
export const WALL_SKEW_MAX_MS = 1_700_000;
/** So far a date goes at most, from the one end to the other. */
export const WALL_SWING_MAX_MS = 2 * WALL_SKEW_MAX_MS;
/** What is kept for the shortest time is too old then. */
const JUMP_MS_MIN = 61_000;
/** Keys its dice; no node has this number. */
const REBALANCE = 3_200;

/** Whether this change of a date waits for a rebalance: half of them where there are groups. */
export function awaitRebalance({ dice }: World, troubles: Troubles): boolean {
  if (troubles.plan.groups.length === 0 || !chance(dice, SITE.clock, REBALANCE, 500_000)) return false;
  troubles.awaitsRebalance = chance(dice, SITE.clock, REBALANCE, 600_000) ? 'gathering' : 'any';
  return true;
}

/** A node has taken a step: is one of its groups making the generation that is waited for? */
export function springRebalance(world: World, troubles: Troubles, actor: Actor): void {
  const { awaitsRebalance } = troubles;
  if (awaitsRebalance === null || troubles.isHealed || !isRebalancing(actor, awaitsRebalance === 'gathering')) return;
  const { clock } = actor;
  troubles.awaitsRebalance = null;
  const roomMs = WALL_SKEW_MAX_MS - clock.wallSkewMs;
  if (roomMs < JUMP_MS_MIN) return;
  setWallSkew(clock, clock.wallSkewMs + between(world.dice, SITE.clock, REBALANCE, JUMP_MS_MIN, roomMs));
  tellLine(world, actor.name, 'finds its date set forwards in a rebalance');
  world.env.reached('sim.group.dated_in_rebalance');
  troubles.struck.set('clockJump', (troubles.struck.get('clockJump') ?? 0) + 1);
}

function isRebalancing(actor: Actor, mustGather: boolean): boolean {
  for (const { stage, coordinator } of nodeOf(actor)?.groups.hosts ?? []) {
    if (stage !== 'active') continue;
    for (const group of coordinator.state?.groups.values() ?? []) {
      if (group.kind !== 'classic' || group.state !== 'PreparingRebalance') continue;
      if (!mustGather || group.gathering !== null) return true;
    }
  }
  return false;
}
