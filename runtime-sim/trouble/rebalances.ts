/**
 * A date that is set forwards just while a group makes a generation, or is about to lose its last members: what grows
 * old by the date, as committed offsets do, is suddenly older, in a moment that is soon over.
 */

import type { ClassicGroup } from '../../core/group/classic-group.ts';
import type { GroupOffsets } from '../../core/group/state.ts';
import type { Actor } from '../actor.ts';
import { monotonicMs, setWallSkew, wallMs } from '../clock.ts';
import { between, chance, pick, SITE } from '../dice.ts';
import { nodeOf } from '../nodes.ts';
import { tellLine, type World } from '../world.ts';
import type { GroupMoment, Troubles } from './troubles.ts';

/** A node's date is wrong by at most this: honest clients' timestamps may be off by an hour. */
export const WALL_SKEW_MAX_MS = 1_700_000;
/** So far a date goes at most, from the one end to the other. */
export const WALL_SWING_MAX_MS = 2 * WALL_SKEW_MAX_MS;
/** What is kept for the shortest time is too old then. */
const JUMP_MS_MIN = 61_000;
/** Keys its dice; no node has this number. */
const REBALANCE = 3_200;

/** And it is set by this at most then: so there is room for more of them. */
const JUMP_MS_MAX = 400_000;
/** Nobody has committed anything for this time: whoever does so once a poll, or by itself now and then, has stopped. */
const UNCOMMITTED_MS = 900;

const MARKS: Readonly<Record<GroupMoment, string>> = {
  gathering: 'sim.group.dated_in_gathering',
  rebalancing: 'sim.group.dated_in_rebalance',
  silent: 'sim.group.dated_in_silence',
  uncommitted: 'sim.group.dated_uncommitted',
};

/** What a date waits for: each as often as it is named. */
const MOMENTS: readonly GroupMoment[] = [
  'gathering',
  'gathering',
  'rebalancing',
  'silent',
  'uncommitted',
  'uncommitted',
];

/** Whether this change of a date waits for a moment of a group: most of them where there are groups. */
export function awaitRebalance({ dice }: World, troubles: Troubles): boolean {
  if (troubles.plan.groups.length === 0 || !chance(dice, SITE.clock, REBALANCE, 700_000)) return false;
  troubles.awaitedGroups.add(pick(dice, SITE.clock, REBALANCE, MOMENTS));
  return true;
}

/** A node has taken a step: is one of its groups where a date waits for it to be? */
export function springRebalance(world: World, troubles: Troubles, actor: Actor): void {
  const { awaitedGroups } = troubles;
  if (awaitedGroups.size === 0 || troubles.isHealed) return;
  const moment = momentOf(world, troubles, actor);
  if (moment === null) return;
  const { clock } = actor;
  awaitedGroups.delete(moment);
  const roomMs = WALL_SKEW_MAX_MS - clock.wallSkewMs;
  if (roomMs < JUMP_MS_MIN) return;
  setWallSkew(
    clock,
    clock.wallSkewMs + between(world.dice, SITE.clock, REBALANCE, JUMP_MS_MIN, Math.min(roomMs, JUMP_MS_MAX)),
  );
  tellLine(world, actor.name, `finds its date set forwards, with a group ${moment}`);
  world.env.reached(MARKS[moment]);
  troubles.struck.set('clockJump', (troubles.struck.get('clockJump') ?? 0) + 1);
}

/** A moment that is waited for, and that a group of the node is at; null for none. */
function momentOf({ nowUs }: World, { awaitedGroups }: Troubles, actor: Actor): GroupMoment | null {
  const nowMs = monotonicMs(actor.clock, nowUs);
  const dateMs = wallMs(actor.clock, nowUs);
  for (const { stage, coordinator } of nodeOf(actor)?.groups.hosts ?? []) {
    if (stage !== 'active') continue;
    for (const group of coordinator.state?.groups.values() ?? []) {
      // A date does nothing to a group without offsets.
      const offsets = coordinator.state?.offsets.get(group.groupId);
      if (group.kind !== 'classic' || group.protocolType === '' || offsets === undefined) continue;
      for (const moment of awaitedGroups) {
        if (moment === 'uncommitted' ? isUncommitted(group, offsets, dateMs) : isAt(group, moment, nowMs))
          return moment;
      }
    }
  }
  return null;
}

function isAt(group: ClassicGroup, moment: GroupMoment, nowMs: number): boolean {
  if (moment === 'silent') {
    if (group.state !== 'Stable') return false;
    return [...group.members.values()].every((one) => one.sessionDeadlineMs - nowMs < one.sessionTimeoutMs / 2);
  }
  return group.state === 'PreparingRebalance' && (moment === 'rebalancing' || group.gathering !== null);
}

/** Its members are there, and have committed nothing for a while. */
function isUncommitted({ state }: ClassicGroup, offsets: GroupOffsets, dateMs: number): boolean {
  if (state !== 'Stable') return false;
  for (const partitions of offsets.values()) {
    for (const { commitTimestampMs } of partitions.values()) {
      if (dateMs - commitTimestampMs < UNCOMMITTED_MS) return false;
    }
  }
  return true;
}
