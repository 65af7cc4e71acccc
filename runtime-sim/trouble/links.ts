/**
 * Troubles between nodes: what each family does when its moment comes.
 *
 * pairCut: silence between two nodes, both ways or one; both are heard by the others. isolation: one node hears none of
 * the others, or none hears it, or both; sometimes so with clients too, or with some of those of a coordinator. keyCut:
 * requests of one API do not get from a node to the others, nor what follows them on their connections. answerCut: they
 * do, and their answers do not. split: nodes that are fewer than half hear each other and none of the rest, nor does
 * any of the rest hear them; they are heard again one after the other. clog: everything from one node to another takes
 * its time, or both ways. narrow: few bytes get through in a second on each connection from one node to another.
 */
import type { Actor } from '../actor.ts';
import { around, below, chance, pick, SITE } from '../dice.ts';
import { directionKey, type NetworkDue } from '../network/network.ts';
import { clog, cut, cutAnswers, cutKey, heal, healSome, narrow } from '../network/trouble.ts';
import type { Target, TroublePlan } from '../scenario.ts';
import { STORING } from '../workload/storing.ts';
import { actorOf, queueNetwork, tellLine, type World } from '../world.ts';
import { endLater, nodeFor, noteHolds, smallerSide, type Troubles } from './troubles.ts';

/** What nodes ask each other: Fetch, Vote, BeginQuorumEpoch, AlterPartition, Envelope, registration, heartbeat. */
const KEYS: readonly number[] = [1, 52, 53, 56, 58, 62, 63];
/** Means of what a clog adds, microseconds. */
const CLOGS_US: readonly number[] = [5_000, 50_000, 300_000, 1_500_000];
/** What a narrow link lets through, bytes a ms. */
const NARROWS: readonly number[] = [5, 30, 200];
/** How long the network is broken between nodes, on average: below time-outs, or far beyond. Microseconds. */
const LASTS_US: readonly number[] = [400_000, 1_500_000, 4_000_000];
/** The same of a coordinator, which is replaced and does not hear of it. */
const ALONE_US: readonly number[] = [1_500_000, 4_000_000, 8_000_000];
/** Between its clients and the other nodes, where they are cut off from it in turn, on average. */
const TURN_US = 300_000;

/** How long it takes, on average, until the next of a smaller side is heard again. Microseconds. */
const RETURNS_US: readonly number[] = [1_500_000, 4_000_000];

/** Strikes between nodes; false where there is nobody else. */
export function strikeLinks(world: World, troubles: Troubles, { family, on }: TroublePlan): boolean {
  if (troubles.nodes.length < 2) return false;
  if (family === 'split') return split(world, troubles, on);
  const { dice } = world;
  const from = nodeFor(world, troubles, on).actor;
  const others = troubles.nodes.filter((node) => node !== from);
  const directions: number[] = [];
  const us = around(dice, SITE.pairs, 6, pick(dice, SITE.pairs, 6, on === 'coordinator' ? ALONE_US : LASTS_US));
  switch (family) {
    case 'pairCut':
      cutOff(world, from, [pick(dice, SITE.pairs, 3, others)], directions);
      break;
    case 'isolation': {
      const clients = clientsCut(world, on);
      const isInTurn = on === 'coordinator' && clients.length > 0 && chance(dice, SITE.pairs, 3, 500_000);
      cutOff(world, from, isInTurn ? clients : [...others, ...clients], directions);
      if (isInTurn) endLater(world, troubles, { kind: 'apart', actor: from, us }, around(dice, SITE.pairs, 3, TURN_US));
      break;
    }
    case 'keyCut':
    case 'answerCut':
      cutByKey(world, from, others, family === 'answerCut', directions);
      break;
    case 'clog': {
      const to = pick(dice, SITE.pairs, 5, others);
      const meanUs = pick(dice, SITE.pairs, 5, CLOGS_US);
      clog(world.network, from, to, meanUs);
      directions.push(directionKey(from, to));
      const isBoth = chance(dice, SITE.pairs, 5, 500_000);
      if (isBoth) {
        clog(world.network, to, from, meanUs);
        directions.push(directionKey(to, from));
      }
      tellLine(world, actorOf(world, from).name, `is slow to reach ${actorOf(world, to).name}: ${meanUs} us`);
      break;
    }
    case 'narrow': {
      const to = pick(dice, SITE.pairs, 5, others);
      const bytesPerMs = pick(dice, SITE.pairs, 5, NARROWS);
      narrow(world.network, from, to, bytesPerMs);
      directions.push(directionKey(from, to));
      tellLine(world, actorOf(world, from).name, `gets ${bytesPerMs} bytes a ms through to ${actorOf(world, to).name}`);
      world.env.reached('sim.narrow');
      break;
    }
    default:
      return false;
  }
  noteHolds(world, troubles);
  endLater(world, troubles, { kind: 'links', directions }, us);
  return true;
}

/** Cuts a node off from all others for so long, its clients having gone before: whatever it took is committed. */
export function isolate(world: World, troubles: Troubles, node: number, us: number): void {
  const directions: number[] = [];
  cutOff(
    world,
    node,
    troubles.nodes.filter((other) => other !== node),
    directions,
  );
  noteHolds(world, troubles);
  endLater(world, troubles, { kind: 'links', directions }, us);
}

/**
 * The clients that do not reach a node either: none or all; of a coordinator some, who find the next one soon, or all
 * but the tools of operators, which may run on its own machine.
 */
function clientsCut({ dice, actors }: World, on: Target): number[] {
  const areAll = chance(dice, SITE.pairs, 3, 400_000);
  const areSome = on === 'coordinator' && !areAll;
  if (!areAll && !areSome) return [];
  const clients = actors.filter(({ role }) => role === 'client');
  const isByChance = areSome && chance(dice, SITE.pairs, 3, 500_000);
  const isCut = ({ machine }: Actor): boolean => {
    if (areAll) return true;
    return isByChance ? chance(dice, SITE.pairs, 3, 500_000) : machine !== STORING;
  };
  return clients.filter(isCut).map(({ actor }) => actor);
}

/** Who goes together comes back one by one: the first has heard then of what the last still knows nothing of. */
function split(world: World, troubles: Troubles, on: Target): boolean {
  const { dice, network } = world;
  const side = [...smallerSide(world, troubles, on, 11)];
  const rest = troubles.nodes.filter((node) => !side.includes(node));
  const names = (list: readonly number[]): string => list.map((one) => actorOf(world, one).name).join(', ');
  tellLine(world, names(side), `hear nothing of ${names(rest)}, nor are heard there`);
  const meanUs = pick(dice, SITE.pairs, 11, RETURNS_US);
  let us = 0;
  while (side.length > 0) {
    const [next = -1] = side.splice(below(dice, SITE.pairs, 11, side.length), 1);
    const directions = rest.flatMap((other) => [directionKey(next, other), directionKey(other, next)]);
    for (const direction of directions) network.cut.add(direction);
    us += around(dice, SITE.pairs, 11, meanUs);
    endLater(world, troubles, { kind: 'links', directions }, us);
  }
  noteHolds(world, troubles);
  return true;
}

/** Lets requests of one API through to nobody, or the answers to them. */
function cutByKey(
  world: World,
  from: number,
  others: readonly number[],
  areAnswers: boolean,
  directions: number[],
): void {
  const apiKey = pick(world.dice, SITE.pairs, areAnswers ? 9 : 4, KEYS);
  for (const to of others) {
    if (areAnswers) cutAnswers(world.network, from, to, apiKey);
    else cutKey(world.network, from, to, apiKey);
    directions.push(areAnswers ? directionKey(to, from) : directionKey(from, to));
  }
  const what = areAnswers ? 'hears no answer of other nodes to requests' : 'gets no request through to other nodes';
  tellLine(world, actorOf(world, from).name, `${what} of key ${apiKey}`);
}

/** Cuts a machine off from others, both ways or one. */
function cutOff(world: World, from: number, others: readonly number[], directions: number[]): void {
  const ways = below(world.dice, SITE.pairs, 3, 3);
  for (const to of others) {
    if (ways !== 1) directions.push(directionKey(from, to));
    if (ways !== 1) cut(world.network, from, to);
    if (ways !== 2) directions.push(directionKey(to, from));
    if (ways !== 2) cut(world.network, to, from);
  }
  const how = ways === 0 ? 'is cut off from' : ways === 1 ? 'hears nothing of' : 'is not heard by';
  tellLine(world, actorOf(world, from).name, `${how} ${others.map((to) => actorOf(world, to).name).join(', ')}`);
}

/** Ends what was cut or clogged. With one node every cut is the same one. */
export function endLinks(world: World, troubles: Troubles, directions: readonly number[]): void {
  if (troubles.nodes.length === 1) {
    healLinks(world, troubles);
    return;
  }
  const due: NetworkDue[] = [];
  healSome(world.network, world.dice, world.nowUs, new Set(directions), due);
  queueNetwork(world, due);
  noteHolds(world, troubles);
}

/** Ends every cut and clog. */
export function healLinks(world: World, troubles: Troubles): void {
  const due: NetworkDue[] = [];
  heal(world.network, world.dice, world.nowUs, due);
  queueNetwork(world, due);
  troubles.onHold(false);
}
