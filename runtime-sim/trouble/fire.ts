/**
 * Troubles: what each family does when its moment comes. Moments are drawn around the plan's mean, family by family,
 * until the world is healed.
 *
 * crash, powerLoss: a number of effects is drawn, after which the node's process (or machine) is gone, between any two
 * effects of one step. ambush: a node dies so when it next takes a path that is rare in this run, or another node does:
 * what goes wrong seldom is to be undone, or kept, by whatever comes next. slowElection: see `elections.ts`.
 * recoveryCrash: the same, soon after a start and again and again. cleanStop: the operator stops
 * the node and starts it. fullDisk: hardly anything fits any more, until space is freed. failedSync, failedAppend,
 * failedRead: the next such effect fails with 'io'. rot: a durable bit of a log, index or snapshot flips; indexRot: of
 * an index; checkpointRot: of a checkpoint of the metadata, while every other one is sound. reset: a connection breaks
 * off; halfClose: one of its ends alone hears so. cut: silence between the node and a client, both ways or one.
 * slowDisk: for a while everything takes up to a hundred times as long. clockJump: the node's date is set. clientCrash:
 * a client process dies. pause: the node's process stands still and goes on later. standstill: several stand still at
 * one moment, fewer than half of them, for long. Of several nodes one is struck:
 * whichever, or the one that the plan names. blackout: several nodes go at once. What comes between nodes is in
 * `links.ts`, disks that break their word in `disks.ts`.
 */
import type { Actor } from '../actor.ts';
import { setWallSkew } from '../clock.ts';
import { around, below, between, chance, type Dice, pick, SITE } from '../dice.ts';
import { makeHonest } from '../disk/betrayal.ts';
import { type Disk, rotDisk } from '../disk/disk.ts';
import { filesOf } from '../disk/tree.ts';
import { directionKey, type NetworkDue } from '../network/network.ts';
import { cut, halfClose, resetOne } from '../network/trouble.ts';
import { pauseActor, resumeActor } from '../pause.ts';
import type { Family, TroublePlan } from '../scenario.ts';
import { isIndispensable } from '../watch/known-complete.ts';
import { actorOf, crashActor, type Hooks, inputAt, queueNetwork, tellLine, troubleAt, type World } from '../world.ts';
import { type BetrayalFamily, strikeDisks } from './disks.ts';
import { awaitElection } from './elections.ts';
import { endLinks, healLinks, isolate, strikeLinks } from './links.ts';
import { awaitMember } from './members.ts';
import { awaitRebalance, WALL_SKEW_MAX_MS } from './rebalances.ts';
import { END, endLater, nodeFor, noteFull, noteHolds, smallerSide, type Troubles } from './troubles.ts';

/** Queues the first moment of every family. */
export function beginTroubles(world: World, troubles: Troubles): void {
  for (let index = 0; index < troubles.plan.troubles.length; index++) again(world, troubles, index);
}

function again(world: World, troubles: Troubles, index: number): void {
  const trouble = troubles.plan.troubles[index];
  if (trouble === undefined || trouble.family === 'recoveryCrash') return;
  troubleAt(world, index, world.nowUs + around(world.dice, SITE.trouble, index, trouble.every * 1000));
}

/** A trouble is due. */
export function fireTrouble(world: World, troubles: Troubles, number: number, hooks: Hooks): void {
  if (number >= END) {
    endTrouble(world, troubles, number, hooks);
    return;
  }
  if (troubles.isHealed) return;
  again(world, troubles, number);
  const trouble = troubles.plan.troubles[number];
  if (trouble === undefined || !strike(world, troubles, trouble, hooks)) return;
  const { family } = trouble;
  troubles.struck.set(family, (troubles.struck.get(family) ?? 0) + 1);
}

function strike(world: World, troubles: Troubles, trouble: TroublePlan, hooks: Hooks): boolean {
  const { family } = trouble;
  switch (family) {
    case 'reset':
    case 'halfClose':
    case 'cut':
      return strikeNetwork(world, troubles, family);
    case 'clientCrash': {
      if (awaitMember(world, troubles)) return false; // It counts when it comes.
      const clients = world.actors.filter((actor) => actor.role === 'client' && actor.down === null);
      const client = clients[below(world.dice, SITE.trouble, 0, clients.length)];
      if (client !== undefined) crashActor(world, client, false, hooks);
      return client !== undefined;
    }
    case 'blackout':
      return blackOut(world, troubles, hooks);
    case 'pairCut':
    case 'isolation':
    case 'keyCut':
    case 'answerCut':
    case 'split':
    case 'clog':
    case 'narrow':
      return strikeLinks(world, troubles, trouble);
    case 'ambush':
      troubles.ambushes = 1;
      return false; // It counts when it is sprung.
    case 'slowElection':
      awaitElection(world, troubles);
      return false; // Likewise.
    case 'standstill':
      return standStill(world, troubles, trouble);
    case 'recoveryCrash':
      return false;
    case 'diskLoss':
    case 'diskRestore':
    case 'misdirectedWrite':
    case 'misdirectedRead':
    case 'lostWrite':
    case 'lyingSync':
    case 'rotAnywhere':
    case 'ruin':
    case 'flip':
    case 'headerFlip':
      return strikeDisks(world, troubles, { ...trouble, family }, hooks);
    default:
      return strikeNode(world, troubles, family, nodeFor(world, troubles, trouble.on));
  }
}

type NodeFamily = Exclude<
  Family,
  | 'reset'
  | 'halfClose'
  | 'cut'
  | 'clientCrash'
  | 'blackout'
  | 'standstill'
  | 'pairCut'
  | 'isolation'
  | 'keyCut'
  | 'answerCut'
  | 'split'
  | 'clog'
  | 'narrow'
  | 'recoveryCrash'
  | 'ambush'
  | 'slowElection'
  | BetrayalFamily
>;

function strikeNode(world: World, troubles: Troubles, family: NodeFamily, node: Actor): boolean {
  const { dice } = world;
  const { disk } = node;
  if (disk === null) throw new Error('troubles need a node');
  switch (family) {
    case 'crash':
    case 'powerLoss':
      return planCrash(world, troubles, node, family === 'powerLoss', CRASH_EFFECTS_MAX);
    case 'cleanStop':
      if (node.down !== null || !maySpare(troubles, node)) return false;
      inputAt(world, node, { kind: 'stop' }, world.nowUs);
      tellLine(world, node.name, 'is asked to stop');
      return true;
    case 'fullDisk':
      disk.mood.capacityBytes = disk.usedBytes + below(dice, SITE.trouble, 0, 20_000);
      noteFull(world, troubles);
      endLater(world, troubles, { kind: 'fullDisk', actor: node.actor }, around(dice, SITE.trouble, 0, 1_500_000));
      tellLine(world, node.name, 'has a full disk');
      return true;
    case 'failedSync':
    case 'failedAppend':
    case 'failedRead': {
      if (!maySpare(troubles, node)) return false;
      const kind = family === 'failedSync' ? 'sync' : family === 'failedAppend' ? 'append' : 'read';
      disk.failNext.set(kind, 'io');
      tellLine(world, node.name, `will see its next ${kind} fail`);
      return true;
    }
    case 'rot':
      return rot(world, troubles, node, /\.(log|index|timeindex|snapshot)$/);
    case 'indexRot':
      return rot(world, troubles, node, /\.(index|timeindex)$/);
    case 'checkpointRot':
      return mayLoseCheckpoint(disk) && rot(world, troubles, node, CHECKPOINT);
    case 'slowDisk':
      slowDown(disk, dice);
      endLater(world, troubles, { kind: 'slowDisk', actor: node.actor }, around(dice, SITE.trouble, 0, 1_000_000));
      return true;
    case 'clockJump':
      if (awaitRebalance(world, troubles)) return false; // It counts when it comes.
      setWallSkew(node.clock, between(dice, SITE.clock, node.actor, -WALL_SKEW_MAX_MS, WALL_SKEW_MAX_MS));
      tellLine(world, node.name, 'finds its date changed');
      return true;
    case 'pause':
      return pauseFor(world, troubles, node, around(dice, SITE.pairs, 1, pick(dice, SITE.pairs, 1, PAUSES_US)));
  }
}

/** How long a process stands still, on average: below any time-out, or beyond those between nodes. Microseconds. */
const PAUSES_US: readonly number[] = [200_000, 1_000_000, 4_000_000, 8_000_000];

function pauseFor(world: World, troubles: Troubles, node: Actor, us: number): boolean {
  if (!pauseActor(world, node)) return false;
  noteHolds(world, troubles);
  endLater(world, troubles, { kind: 'pause', actor: node.actor, life: node.life }, us);
  return true;
}

/** So long several stand still together, on average: beyond the sessions of brokers. Microseconds. */
const STANDSTILL_US = 5_000_000;

/** As many as the others can do without stand still together, as on one host that stalls. */
function standStill(world: World, troubles: Troubles, { on }: TroublePlan): boolean {
  const { dice } = world;
  const us = around(dice, SITE.pairs, 10, STANDSTILL_US);
  let hasStruck = false;
  for (const number of smallerSide(world, troubles, on, 10)) {
    if (pauseFor(world, troubles, actorOf(world, number), us)) hasStruck = true;
  }
  return hasStruck;
}

/** Nodes that stand together go at once: all of them, or all but one. */
function blackOut(world: World, troubles: Troubles, hooks: Hooks): boolean {
  const { dice } = world;
  const spared = chance(dice, SITE.pairs, 2, 500_000) ? pick(dice, SITE.pairs, 2, troubles.nodes) : -1;
  const takesPower = chance(dice, SITE.pairs, 2, 500_000);
  for (const number of troubles.nodes) {
    const node = actorOf(world, number);
    if (number !== spared && maySpare(troubles, node)) crashActor(world, node, takesPower, hooks);
  }
  return true;
}

/** Bytes, names or both: a journal that stalls lets appends and their syncs pass. */
function slowDown({ mood }: Disk, dice: Dice): void {
  const slowness = pick(dice, SITE.trouble, 0, [300, 1_000, 3_000, 10_000]);
  const which = below(dice, SITE.trouble, 0, 3);
  if (which !== 1) mood.slowness = slowness;
  if (which !== 2) mood.namesSlowness = slowness;
}

function speedUp({ mood }: Disk): void {
  mood.slowness = 100;
  mood.namesSlowness = 100;
}

/** A planned crash comes within so many effects. */
const CRASH_EFFECTS_MAX = 120;
/** And one in recovery within one of these: in the middle of it, or just behind it. */
const RECOVERY_EFFECTS_MAX: readonly number[] = [15, 60, 250];

function planCrash(world: World, troubles: Troubles, node: Actor, takesPower: boolean, effectsMax: number): boolean {
  if (node.down !== null || node.effectsLeft !== Number.POSITIVE_INFINITY || !maySpare(troubles, node)) return false;
  node.effectsLeft = below(world.dice, SITE.nodeCrash, node.actor, effectsMax);
  node.crashTakesPower = takesPower;
  return true;
}

/**
 * Whether a node may go down: within the promises not where it alone is known to have everything. Not cleanly either:
 * it leaves the in-sync set, and is not eligible for later where one that has lost its disk still counts as in sync.
 */
function maySpare({ plan, keeper }: Troubles, node: Actor): boolean {
  return plan.isUnlimited || plan.cluster.nodes === 1 || !isIndispensable(keeper, node);
}

/** And one in an ambush within one of these. */
const AMBUSH_EFFECTS_MAX: readonly number[] = [3, 12, 60];

/** A node has taken a step: if it was a rare one, and somebody waits for that, it is not to come far. */
export function springAmbush(world: World, troubles: Troubles, actor: Actor): void {
  const isRare = world.rarity.steps > troubles.rareSteps;
  troubles.rareSteps = world.rarity.steps;
  if (!isRare || troubles.ambushes === 0 || troubles.isHealed) return;
  troubles.ambushes = 0;
  const { dice } = world;
  const isAnother = chance(dice, SITE.nodeCrash, AMBUSH, 300_000);
  const node = isAnother ? actorOf(world, pick(dice, SITE.nodeCrash, AMBUSH, troubles.nodes)) : actor;
  const takesPower = chance(dice, SITE.nodeCrash, AMBUSH, 400_000);
  if (!planCrash(world, troubles, node, takesPower, pick(dice, SITE.nodeCrash, AMBUSH, AMBUSH_EFFECTS_MAX))) return;
  troubles.struck.set('ambush', (troubles.struck.get('ambush') ?? 0) + 1);
}

/** Keys the dice of ambushes; no node has this number. */
const AMBUSH = 3_000;

/** A checkpoint of the metadata; the log behind the older of two reaches back to it. */
const CHECKPOINT = /__cluster_metadata-0\/.*\.checkpoint$/;
const METADATA_LOG = /__cluster_metadata-0\/.*\.log$/;

/**
 * Whether something else holds what a checkpoint holds. Where another is rotten too nothing can be done
 * (`docs/decisions/0005`): that is beyond what one node promises. Nor where the log is still empty: the only copy of
 * what the directory was formatted with is gone then.
 */
function mayLoseCheckpoint(disk: Disk): boolean {
  const files = filesOf(disk.tree);
  const paths = new Set(files.map(({ path }) => path));
  if (disk.rot.some(({ path }) => CHECKPOINT.test(path) && paths.has(path))) return false;
  return files.some(({ path, file }) => METADATA_LOG.test(path) && file.durable.shared > 0);
}

function rot(world: World, troubles: Troubles, node: Actor, wanted: RegExp): boolean {
  if (node.disk === null) return false;
  // The metadata log of a cluster of one has no other copy: a node that finds it rotten stops and says so.
  const isWanted = (path: string): boolean => wanted.test(path) && !METADATA_LOG.test(path);
  if (!rotDisk(node.disk, world.dice, world.nowUs, isWanted)) return false;
  const rotten = node.disk.rot[node.disk.rot.length - 1];
  if (rotten === undefined) return false;
  tellLine(world, node.name, `has a flipped bit in ${rotten.path} at ${rotten.position} of ${rotten.sizeBytes}`);
  troubles.onRot(rotten.path);
  return true;
}

function strikeNetwork(world: World, troubles: Troubles, family: 'reset' | 'halfClose' | 'cut'): boolean {
  const { dice, network } = world;
  const due: NetworkDue[] = [];
  let hasStruck = true;
  if (family === 'reset') hasStruck = resetOne(network, dice, world.nowUs, due);
  else if (family === 'halfClose') {
    hasStruck = halfClose(network, dice, world.nowUs, due);
    if (hasStruck) world.env.reached('sim.half_close');
  } else {
    const clients = world.actors.filter((actor) => actor.role === 'client');
    const client = pick(dice, SITE.trouble, 1, clients);
    const ways = below(dice, SITE.trouble, 1, 3);
    const node = nodeFor(world, troubles, 'any').actor;
    troubles.onHold(true);
    if (ways !== 1) cut(network, client.actor, node);
    if (ways !== 2) cut(network, node, client.actor);
    tellLine(
      world,
      client.name,
      `is cut off (${ways === 0 ? 'both ways' : ways === 1 ? 'hears nothing' : 'is not heard'})`,
    );
    const directions = [directionKey(client.actor, node), directionKey(node, client.actor)];
    endLater(world, troubles, { kind: 'links', directions }, around(dice, SITE.trouble, 1, 1_200_000));
  }
  queueNetwork(world, due);
  return hasStruck;
}

function endTrouble(world: World, troubles: Troubles, number: number, hooks: Hooks): void {
  const ending = troubles.endings.get(number);
  troubles.endings.delete(number);
  if (ending === undefined) return;
  if (ending.kind === 'links') {
    endLinks(world, troubles, ending.directions);
    return;
  }
  if (ending.kind === 'apart') {
    isolate(world, troubles, ending.actor, ending.us);
    return;
  }
  if (ending.kind === 'congestion') {
    world.network.mood.congestionUs = 0;
    noteHolds(world, troubles);
    return;
  }
  const node = actorOf(world, ending.actor);
  if (ending.kind === 'life' && node.life === ending.life) crashActor(world, node, false, hooks);
  if (node.disk === null) return;
  if (ending.kind === 'fullDisk') {
    node.disk.mood.capacityBytes = Number.POSITIVE_INFINITY;
    noteFull(world, troubles);
    tellLine(world, node.name, 'has space again');
  }
  if (ending.kind === 'slowDisk') speedUp(node.disk);
  if (ending.kind === 'lyingDisk') makeHonest(node.disk);
  if (ending.kind !== 'pause') return;
  if (node.life === ending.life) resumeActor(world, node, hooks);
  noteHolds(world, troubles);
}

/** A node has been started: recovery may be struck at once. */
export function troubleStart(world: World, troubles: Troubles, node: Actor): void {
  if (troubles.isHealed || !troubles.nodes.includes(node.actor)) return;
  const index = troubles.plan.troubles.findIndex((trouble) => trouble.family === 'recoveryCrash');
  const trouble = troubles.plan.troubles[index];
  if (trouble === undefined || !chance(world.dice, SITE.nodeCrash, 1_000 + node.actor, trouble.every * 10_000)) return;
  const takesPower = chance(world.dice, SITE.nodeCrash, 1_000 + node.actor, 500_000);
  const effectsMax = pick(world.dice, SITE.nodeCrash, 1_000 + node.actor, RECOVERY_EFFECTS_MAX);
  if (!planCrash(world, troubles, node, takesPower, effectsMax)) return;
  troubles.struck.set('recoveryCrash', (troubles.struck.get('recoveryCrash') ?? 0) + 1);
}

/** The end of all troubles: what is broken works again, and stays so. */
export function healAll(world: World, troubles: Troubles, hooks: Hooks): void {
  troubles.isHealed = true;
  troubles.endings.clear();
  for (const actor of world.actors) {
    actor.effectsLeft = Number.POSITIVE_INFINITY;
    resumeActor(world, actor, hooks);
    if (actor.disk === null) continue;
    speedUp(actor.disk);
    actor.disk.mood.capacityBytes = Number.POSITIVE_INFINITY;
    actor.disk.failNext.clear();
    makeHonest(actor.disk);
  }
  world.network.flips.length = 0;
  noteFull(world, troubles);
  healLinks(world, troubles);
  tellLine(world, 'world', 'is healed');
}

/** How long whoever went down stays down, microseconds. */
export function restartUs(dice: Dice, actor: Actor): number {
  const meanMs = actor.down === 'powerLost' ? 500 : actor.down === 'crashed' ? 150 : 200;
  return 5_000 + around(dice, SITE.nodeCrash, 2_000 + actor.actor, meanMs * 1000);
}
