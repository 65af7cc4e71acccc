/**
 * Stories that are told in order: each step does something, or waits for something. That it does not come about in its
 * time is a promise broken.
 */
import type { Complaint } from '../core/verify/history.ts';
import type { Actor } from './actor.ts';
import { addElectors, rackOf } from './cast/casting.ts';
import { areInSync, areLed, arePreferred, areSpread, isLeaderless, partitionsText } from './conditions.ts';
import { directionKey } from './network/network.ts';
import { constantPartitions, findTarget } from './nodes.ts';
import { late, type Run, runOn } from './running.ts';
import type { Cast, ScriptStep } from './scenario.ts';
import { endLinks } from './trouble/links.ts';
import { noteHolds } from './trouble/troubles.ts';
import { actorOf, crashActor, inputAt, startAt, tellLine } from './world.ts';

/** Plays the steps; what was not so in time, or null. */
export function playScript(run: Run, steps: readonly ScriptStep[]): Complaint | null {
  const cast = new Map<string, readonly Actor[]>();
  for (const step of steps) {
    const failure = playStep(run, step, cast);
    if (failure !== null) return failure;
  }
  return null;
}

function playStep(run: Run, step: ScriptStep, cast: Map<string, readonly Actor[]>): Complaint | null {
  const { world, hooks } = run;
  switch (step.act) {
    case 'wait':
      runOn(run, step.ms);
      return null;
    case 'await':
      return awaitThat(run, step);
    case 'electUncleanly':
      run.elections.isUncleanAllowed = true;
      addElectors(world, run.plan, world.nowUs);
      tellLine(world, 'world', 'an operator asks for leaders, whoever they may be');
      return null;
    case 'heal': {
      const group = known(cast, step.as);
      for (const { actor } of group) run.held.delete(actor);
      endLinks(world, run.troubles, directionsOf(run, group));
      for (const { name } of group) tellLine(world, name, 'is cut off no more');
      return null;
    }
    case 'start':
      for (const actor of known(cast, step.as)) {
        run.held.delete(actor.actor);
        if (actor.down !== null) startAt(world, actor, world.nowUs);
      }
      return null;
    case 'cutOff': {
      const group = castFor(run, step.who);
      cast.set(step.as, group);
      for (const { actor } of group) run.held.add(actor);
      for (const direction of directionsOf(run, group)) world.network.cut.add(direction);
      noteHolds(world, run.troubles);
      for (const { name } of group) tellLine(world, name, 'is cut off from all other nodes');
      return null;
    }
    case 'stop':
    case 'crash':
    case 'powerLoss': {
      const group = castFor(run, step.who);
      cast.set(step.as, group);
      for (const actor of group) {
        run.held.add(actor.actor);
        if (step.act === 'stop') inputAt(world, actor, { kind: 'stop' }, world.nowUs);
        else crashActor(world, actor, step.act === 'powerLoss', hooks);
      }
      return null;
    }
  }
}

function known(cast: ReadonlyMap<string, readonly Actor[]>, name: string): readonly Actor[] {
  const group = cast.get(name);
  if (group === undefined) throw new Error('a story speaks of somebody to whom nothing has happened');
  return group;
}

/** Both ways between each of some nodes and every other. */
function directionsOf({ nodes }: Run, group: readonly Actor[]): number[] {
  const others = nodes.filter((actor) => !group.includes(actor));
  return group.flatMap((one) =>
    others.flatMap(({ actor }) => [directionKey(one.actor, actor), directionKey(actor, one.actor)]),
  );
}

function castFor({ world, nodes, plan }: Run, who: Cast): readonly Actor[] {
  if (who === 'followers') {
    const [first] = constantPartitions(nodes);
    const others = first?.replicas.filter((id) => id !== first.leader) ?? [];
    return nodes.filter(({ actor }) => others.includes(actor + 1));
  }
  if (who !== 'rackOfLeader') {
    const found = typeof who === 'number' ? who - 1 : findTarget(nodes, who);
    return [actorOf(world, Math.max(0, found))];
  }
  const rack = rackOf(plan, Math.max(0, findTarget(nodes, 'leader')) + 1);
  return nodes.filter(({ actor }) => rackOf(plan, actor + 1) === rack);
}

function awaitThat(run: Run, { what, withinMs }: Extract<ScriptStep, { act: 'await' }>): Complaint | null {
  const { world, nodes, history, plan } = run;
  const sinceUs = world.nowUs;
  const up = nodes.filter(({ actor }) => !run.held.has(actor));
  const isSo = (): boolean => {
    if (what === 'led') return areLed(nodes, up);
    if (what === 'inSync') return areInSync(nodes, up);
    if (what === 'preferred') return arePreferred(nodes);
    if (what === 'leaderless') return isLeaderless(nodes);
    if (what === 'spread') return areSpread(nodes, (id) => rackOf(plan, id));
    // Where nobody asks for answers there is none.
    if (plan.producers.every(({ acks }) => acks === 0)) return true;
    return history.sends.some((one) => one.sentUs > sinceUs && one.outcome === 'acknowledged' && one.acks !== 0);
  };
  if (runOn(run, withinMs, isSo)) {
    tellLine(world, 'world', `${what} after ${Math.floor((world.nowUs - sinceUs) / 1000)} ms`);
    return null;
  }
  return late('story', `${SENTENCES[what]} within ${withinMs} ms: ${partitionsText(nodes)}`);
}

const SENTENCES = {
  led: 'not every partition found a leader',
  acknowledged: 'nothing that was sent was acknowledged',
  inSync: 'not every partition had its replicas in sync',
  preferred: 'not every partition was led by its preferred replica',
  spread: 'two replicas of a partition were in one rack',
  leaderless: 'the first partition had a leader',
} as const;
