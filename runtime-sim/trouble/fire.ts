/**
 * Troubles: what each family does when its moment comes. Moments are drawn around the plan's mean, family by family,
 * until the world is healed.
 *
 * crash, powerLoss: a number of effects is drawn, after which the node's process (or machine) is gone, between any two
 * effects of one step. recoveryCrash: the same, soon after a start and again and again. cleanStop: the operator stops
 * the node and starts it. fullDisk: hardly anything fits any more, until space is freed. failedSync, failedAppend,
 * failedRead: the next such effect fails with 'io'. rot: a durable bit of a log, index or snapshot flips; indexRot: of
 * an index; checkpointRot: of a checkpoint of the metadata, while every other one is sound. reset: a connection breaks
 * off. cut: silence between the node and a client, both ways or one. slowDisk: for a while everything takes up to a
 * hundred times as long. clockJump: the node's date is set. clientCrash: a client process dies.
 */
import type { Actor } from '../actor.ts';
import { setWallSkew } from '../clock.ts';
import { around, below, between, chance, type Dice, pick, SITE } from '../dice.ts';
import { type Disk, rotDisk } from '../disk/disk.ts';
import { filesOf } from '../disk/tree.ts';
import type { NetworkDue } from '../network/network.ts';
import { cut, heal, resetOne } from '../network/trouble.ts';
import type { Family, Plan } from '../scenario.ts';
import { actorOf, crashActor, type Hooks, inputAt, queueNetwork, tellLine, troubleAt, type World } from '../world.ts';

/** The troubles of one run. */
export interface Troubles {
  readonly plan: Plan;
  /** The node that they strike. */
  readonly node: number;
  /** How often each family struck. */
  readonly struck: Map<Family, number>;
  /** Nothing strikes any more. */
  isHealed: boolean;
  /** Called with the path of a file in which a bit has flipped. */
  readonly onRot: (path: string) => void;
  /** Called when the network begins to hold bytes back, and when it has let all of them go. */
  readonly onHold: (isHeld: boolean) => void;
}

/** Numbers of troubles in the queue: an index of `plan.troubles`, or this and more for what ends one. */
const END = 1_000;
const END_FULL_DISK = END;
const END_CUT = END + 1;
const END_SLOW_DISK = END + 2;

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
    endTrouble(world, troubles, number);
    return;
  }
  if (troubles.isHealed) return;
  again(world, troubles, number);
  const family = troubles.plan.troubles[number]?.family;
  if (family === undefined) return;
  if (strike(world, troubles, family, hooks)) troubles.struck.set(family, (troubles.struck.get(family) ?? 0) + 1);
}

function strike(world: World, troubles: Troubles, family: Family, hooks: Hooks): boolean {
  const { dice } = world;
  const node = actorOf(world, troubles.node);
  const { disk } = node;
  if (disk === null) throw new Error('troubles need a node');
  switch (family) {
    case 'crash':
    case 'powerLoss':
      return planCrash(world, node, family === 'powerLoss', CRASH_EFFECTS_MAX);
    case 'cleanStop':
      if (node.down !== null) return false;
      inputAt(world, node, { kind: 'stop' }, world.nowUs);
      tellLine(world, node.name, 'is asked to stop');
      return true;
    case 'fullDisk':
      disk.mood.capacityBytes = disk.usedBytes + below(dice, SITE.trouble, 0, 20_000);
      troubleAt(world, END_FULL_DISK, world.nowUs + around(dice, SITE.trouble, 0, 1_500_000));
      tellLine(world, node.name, 'has a full disk');
      return true;
    case 'failedSync':
    case 'failedAppend':
    case 'failedRead': {
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
      return !hasRottenCheckpoint(disk) && rot(world, troubles, node, CHECKPOINT);
    case 'slowDisk':
      slowDown(disk, dice);
      troubleAt(world, END_SLOW_DISK, world.nowUs + around(dice, SITE.trouble, 0, 1_000_000));
      return true;
    case 'clockJump':
      // Within what the timestamps of honest clients may be off: message.timestamp.after.max.ms is an hour.
      setWallSkew(node.clock, between(dice, SITE.clock, node.actor, -WALL_SKEW_MAX_MS, WALL_SKEW_MAX_MS));
      tellLine(world, node.name, 'finds its date changed');
      return true;
    case 'reset':
    case 'cut':
      return strikeNetwork(world, troubles, family);
    case 'clientCrash': {
      const clients = world.actors.filter((actor) => actor.role === 'client' && actor.down === null);
      const client = clients[below(dice, SITE.trouble, 0, clients.length)];
      if (client !== undefined) crashActor(world, client, false, hooks);
      return client !== undefined;
    }
    case 'recoveryCrash':
      return false;
  }
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

/** A node's date is wrong by at most this. */
const WALL_SKEW_MAX_MS = 1_700_000;
/** A planned crash comes within so many effects. */
const CRASH_EFFECTS_MAX = 120;
/** And one in recovery within one of these: in the middle of it, or just behind it. */
const RECOVERY_EFFECTS_MAX: readonly number[] = [15, 60, 250];

function planCrash(world: World, node: Actor, takesPower: boolean, effectsMax: number): boolean {
  if (node.down !== null || node.effectsLeft !== Number.POSITIVE_INFINITY) return false;
  node.effectsLeft = below(world.dice, SITE.nodeCrash, node.actor, effectsMax);
  node.crashTakesPower = takesPower;
  return true;
}

/** A checkpoint of the metadata; the log behind the older of two reaches back to it. */
const CHECKPOINT = /__cluster_metadata-0\/.*\.checkpoint$/;

/** Where both are rotten nothing can be done (`docs/decisions/0005`): that is beyond what one node promises. */
function hasRottenCheckpoint(disk: Disk): boolean {
  const paths = new Set(filesOf(disk.tree).map(({ path }) => path));
  return disk.rot.some(({ path }) => CHECKPOINT.test(path) && paths.has(path));
}

function rot(world: World, troubles: Troubles, node: Actor, wanted: RegExp): boolean {
  if (node.disk === null) return false;
  // The metadata log of a cluster of one has no other copy: a node that finds it rotten stops and says so.
  const isOnly = (path: string): boolean => /__cluster_metadata-0\/.*\.log$/.test(path);
  const isWanted = (path: string): boolean => wanted.test(path) && !isOnly(path);
  if (!rotDisk(node.disk, world.dice, world.nowUs, isWanted)) return false;
  const rotten = node.disk.rot[node.disk.rot.length - 1];
  if (rotten === undefined) return false;
  tellLine(world, node.name, `has a flipped bit in ${rotten.path} at ${rotten.position} of ${rotten.sizeBytes}`);
  troubles.onRot(rotten.path);
  return true;
}

function strikeNetwork(world: World, troubles: Troubles, family: 'reset' | 'cut'): boolean {
  const { dice, network } = world;
  const due: NetworkDue[] = [];
  let hasStruck = true;
  if (family === 'reset') hasStruck = resetOne(network, dice, world.nowUs, due);
  else {
    const clients = world.actors.filter((actor) => actor.role === 'client');
    const client = pick(dice, SITE.trouble, 1, clients);
    const ways = below(dice, SITE.trouble, 1, 3);
    troubles.onHold(true);
    if (ways !== 1) cut(network, client.actor, troubles.node);
    if (ways !== 2) cut(network, troubles.node, client.actor);
    tellLine(
      world,
      client.name,
      `is cut off (${ways === 0 ? 'both ways' : ways === 1 ? 'hears nothing' : 'is not heard'})`,
    );
    troubleAt(world, END_CUT, world.nowUs + around(dice, SITE.trouble, 1, 1_200_000));
  }
  queueNetwork(world, due);
  return hasStruck;
}

function endTrouble(world: World, troubles: Troubles, number: number): void {
  const node = actorOf(world, troubles.node);
  if (node.disk === null) return;
  if (number === END_FULL_DISK) {
    node.disk.mood.capacityBytes = Number.POSITIVE_INFINITY;
    tellLine(world, node.name, 'has space again');
  }
  if (number === END_SLOW_DISK) speedUp(node.disk);
  if (number === END_CUT) healNetwork(world, troubles);
}

function healNetwork(world: World, troubles: Troubles): void {
  const due: NetworkDue[] = [];
  heal(world.network, world.dice, world.nowUs, due);
  queueNetwork(world, due);
  troubles.onHold(false);
}

/** A node has been started: recovery may be struck at once. */
export function troubleStart(world: World, troubles: Troubles, node: Actor): void {
  if (troubles.isHealed || node.actor !== troubles.node) return;
  const index = troubles.plan.troubles.findIndex((trouble) => trouble.family === 'recoveryCrash');
  const trouble = troubles.plan.troubles[index];
  if (trouble === undefined || !chance(world.dice, SITE.nodeCrash, 1_000 + node.actor, trouble.every * 10_000)) return;
  const takesPower = chance(world.dice, SITE.nodeCrash, 1_000 + node.actor, 500_000);
  const effectsMax = pick(world.dice, SITE.nodeCrash, 1_000 + node.actor, RECOVERY_EFFECTS_MAX);
  if (!planCrash(world, node, takesPower, effectsMax)) return;
  troubles.struck.set('recoveryCrash', (troubles.struck.get('recoveryCrash') ?? 0) + 1);
}

/** The end of all troubles: what is broken works again, and stays so. */
export function healAll(world: World, troubles: Troubles): void {
  troubles.isHealed = true;
  for (const actor of world.actors) {
    actor.effectsLeft = Number.POSITIVE_INFINITY;
    if (actor.disk === null) continue;
    speedUp(actor.disk);
    actor.disk.mood.capacityBytes = Number.POSITIVE_INFINITY;
    actor.disk.failNext.clear();
  }
  healNetwork(world, troubles);
  tellLine(world, 'world', 'is healed');
}

/** How long whoever went down stays down, microseconds. */
export function restartUs(dice: Dice, actor: Actor): number {
  const meanMs = actor.down === 'powerLost' ? 500 : actor.down === 'crashed' ? 150 : 200;
  return 5_000 + around(dice, SITE.nodeCrash, 2_000 + actor.actor, meanMs * 1000);
}
