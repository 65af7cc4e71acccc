/**
 * Stories that are told in order: each step does something, or waits for something. That it does not come about in its
 * time is a promise broken.
 */
import type { Complaint } from '../core/verify/history.ts';
import type { Actor } from './actor.ts';
import { areInSync, areLed, arePreferred, partitionsText } from './conditions.ts';
import { directionKey } from './network/network.ts';
import { findTarget } from './nodes.ts';
import { late, type Run, runOn } from './running.ts';
import type { ScriptStep, Target } from './scenario.ts';
import { endLinks } from './trouble/links.ts';
import { actorOf, crashActor, inputAt, startAt, tellLine } from './world.ts';

/** Plays the steps; what was not so in time, or null. */
export function playScript(run: Run, steps: readonly ScriptStep[]): Complaint | null {
  const cast = new Map<string, Actor>();
  for (const step of steps) {
    const failure = playStep(run, step, cast);
    if (failure !== null) return failure;
  }
  return null;
}

function playStep(run: Run, step: ScriptStep, cast: Map<string, Actor>): Complaint | null {
  const { world, hooks } = run;
  switch (step.act) {
    case 'wait':
      runOn(run, step.ms);
      return null;
    case 'await':
      return awaitThat(run, step);
    case 'heal': {
      const actor = cast.get(step.as);
      if (actor === undefined) throw new Error('nobody of that name was cut off');
      run.held.delete(actor.actor);
      endLinks(world, run.troubles, directionsOf(run, actor));
      tellLine(world, actor.name, 'is cut off no more');
      return null;
    }
    case 'start': {
      const actor = cast.get(step.as);
      if (actor === undefined) throw new Error('nobody of that name went down');
      run.held.delete(actor.actor);
      if (actor.down !== null) startAt(world, actor, world.nowUs);
      return null;
    }
    case 'cutOff': {
      const actor = castFor(run, step.who);
      cast.set(step.as, actor);
      run.held.add(actor.actor);
      for (const direction of directionsOf(run, actor)) world.network.cut.add(direction);
      tellLine(world, actor.name, 'is cut off from all other nodes');
      return null;
    }
    case 'stop':
    case 'crash':
    case 'powerLoss': {
      const actor = castFor(run, step.who);
      cast.set(step.as, actor);
      run.held.add(actor.actor);
      if (step.act === 'stop') inputAt(world, actor, { kind: 'stop' }, world.nowUs);
      else crashActor(world, actor, step.act === 'powerLoss', hooks);
      return null;
    }
  }
}

/** Both ways between a node and every other. */
function directionsOf({ nodes }: Run, one: Actor): number[] {
  const others = nodes.filter((actor) => actor !== one);
  return others.flatMap(({ actor }) => [directionKey(one.actor, actor), directionKey(actor, one.actor)]);
}

function castFor({ world, nodes }: Run, who: Target | number): Actor {
  const found = typeof who === 'number' ? who - 1 : findTarget(nodes, who);
  return actorOf(world, Math.max(0, found));
}

function awaitThat(run: Run, { what, withinMs }: Extract<ScriptStep, { act: 'await' }>): Complaint | null {
  const { world, nodes, history, plan } = run;
  const sinceUs = world.nowUs;
  const up = nodes.filter(({ actor }) => !run.held.has(actor));
  const isSo = (): boolean => {
    if (what === 'led') return areLed(nodes, up);
    if (what === 'inSync') return areInSync(nodes, up);
    if (what === 'preferred') return arePreferred(nodes);
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
} as const;
