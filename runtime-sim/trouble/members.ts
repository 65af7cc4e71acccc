/**
 * Members of groups that die in the middle of a rebalance: while they join, or have been told what to give up or what
 * they own and have not called that off. It lasts for some milliseconds of some seconds, so whoever is to die then is
 * waited for.
 */
import type { Actor } from '../actor.ts';
import { below, chance, pick, SITE } from '../dice.ts';
import { CONSUMING } from '../workload/consuming.ts';
import { isAtMoment } from '../workload/consuming-views.ts';
import type { World } from '../world.ts';
import { endLater, type MemberMoment, type Troubles } from './troubles.ts';

/** Keys its dice; no node has this number. */
const MEMBERS = 3_300;
const MOMENTS: readonly MemberMoment[] = ['joining', 'owing', 'owing', 'givingUp', 'takingOver'];
const MARKS: Readonly<Record<MemberMoment, string>> = {
  joining: 'sim.consumer.dies_joining',
  givingUp: 'sim.consumer.dies_giving_up',
  owing: 'sim.consumer.dies_owing',
  takingOver: 'sim.consumer.dies_taking_over',
};
/** It dies within one of these: of the same moment mostly. */
const WITHIN_US: readonly number[] = [1, 50_000, 500_000];

/** Whether this crash of a client waits for a member to be in a rebalance: most of them where there are groups. */
export function awaitMember({ dice }: World, troubles: Troubles): boolean {
  if (troubles.plan.groups.length === 0 || !chance(dice, SITE.client, MEMBERS, 700_000)) return false;
  troubles.awaitedMembers.add(pick(dice, SITE.client, MEMBERS, MOMENTS));
  return true;
}

/** A process has taken a step: is it a member, at a moment that a crash waits for? */
export function springMember(world: World, troubles: Troubles, actor: Actor): void {
  const { awaitedMembers } = troubles;
  if (awaitedMembers.size === 0 || troubles.isHealed || actor.machine !== CONSUMING) return;
  for (const moment of awaitedMembers) {
    if (!isAtMoment(actor.state, moment)) continue;
    awaitedMembers.delete(moment);
    const us = below(world.dice, SITE.client, MEMBERS, pick(world.dice, SITE.client, MEMBERS, WITHIN_US));
    endLater(world, troubles, { kind: 'life', actor: actor.actor, life: actor.life }, us);
    world.env.reached(MARKS[moment]);
    troubles.struck.set('clientCrash', (troubles.struck.get('clientCrash') ?? 0) + 1);
    return;
  }
}
