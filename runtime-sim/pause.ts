/**
 * A process that stands still for a while and then goes on with a view of the world that is out of date: a garbage
 * collection, a virtual machine that was moved, SIGSTOP and SIGCONT.
 *
 * Meanwhile its clocks run, its disk carries out what it was asked, and its kernel accepts connections and takes bytes
 * as far as the windows reach. When it goes on it takes what it was told in the order of its coming, either before its
 * timers or behind them.
 */
import type { Actor } from './actor.ts';
import { chance, SITE } from './dice.ts';
import type { NetworkDue } from './network/network.ts';
import { freezeHost, thawHost } from './network/trouble.ts';
import { type Hooks, queueNetwork, stepActor, tellLine, type World } from './world.ts';

/** Stops the process of an actor; false if it does not run. */
export function pauseActor(world: World, actor: Actor): boolean {
  if (actor.down !== null || actor.inbox !== null) return false;
  actor.inbox = [];
  freezeHost(world.network, actor.actor);
  tellLine(world, actor.name, 'is paused');
  return true;
}

/** Lets it go on. */
export function resumeActor(world: World, actor: Actor, hooks: Hooks): void {
  const { inbox, life } = actor;
  if (inbox === null) return;
  actor.inbox = null;
  tellLine(world, actor.name, `goes on, with ${inbox.length} things to hear`);
  const due: NetworkDue[] = [];
  thawHost(world.network, world.nowUs, actor.actor, due);
  queueNetwork(world, due);
  if (chance(world.dice, SITE.pairs, actor.actor, 500_000)) stepActor(world, actor, { kind: 'wake' }, hooks);
  for (const input of inbox) if (actor.life === life) stepActor(world, actor, input, hooks);
}
