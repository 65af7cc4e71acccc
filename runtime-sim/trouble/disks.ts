/**
 * Troubles of disks that break their word, and of a wire that does.
 *
 * diskLoss: the machine loses its power, and comes back with an empty disk. diskRestore: what a disk holds is copied,
 * and some time later that copy is in its place. misdirectedWrite, lostWrite: an append lands elsewhere, or nowhere,
 * and is acknowledged; lostWrite may also be the replacement of a small file. misdirectedRead: a read brings other
 * bytes. lyingSync: for a while syncs are answered and nothing is durable. rotAnywhere: a bit of any file flips. ruin:
 * all machines lose their power at once, and each disk may be gone or an older one. flip: a bit of a batch flips on the
 * wire; headerFlip: one outside of batches.
 *
 * Within the promises a disk is only damaged if that leaves what is promised to be kept by others (`watch/damage.ts`),
 * and only files of one partition are written to wrongly. Without limits nothing is asked.
 */
import { logName } from '../../core/verify/excuses.ts';
import type { Actor } from '../actor.ts';
import { around, chance, pick, SITE } from '../dice.ts';
import { copyDisk, swapDisk } from '../disk/betrayal.ts';
import { rotDisk } from '../disk/disk.ts';
import { nodeOf } from '../nodes.ts';
import type { DiskFamily, TroublePlan } from '../scenario.ts';
import { markDamage, noteDamages, noteSwap, wouldExceed } from '../watch/damage.ts';
import { actorOf, crashActor, type Hooks, tellLine, type World } from '../world.ts';
import { endLater, nodeFor, type Troubles } from './troubles.ts';

/** The families of this file. */
export type BetrayalFamily = DiskFamily | 'flip' | 'headerFlip';

/** How long a disk lies, on average, microseconds. */
const LIES_US = 3_000_000;

/** Strikes; false where nothing was there to be struck, or it would go beyond what is promised. */
export function strikeDisks(
  world: World,
  troubles: Troubles,
  { family, on }: TroublePlan & { readonly family: BetrayalFamily },
  hooks: Hooks,
): boolean {
  switch (family) {
    case 'ruin':
      return ruin(world, troubles, hooks);
    case 'flip':
    case 'headerFlip':
      return armFlip(world, troubles, family === 'flip' ? 'batch' : 'header');
    case 'diskRestore':
      return copyOrRestore(world, troubles, nodeFor(world, troubles, on), hooks);
    case 'diskLoss':
      return swap(world, troubles, nodeFor(world, troubles, on), hooks, 'lost');
    case 'rotAnywhere':
      return rotAnywhere(world, troubles, nodeFor(world, troubles, on));
    case 'lyingSync': {
      const node = nodeFor(world, troubles, on);
      if (node.disk === null || node.disk.betrayals.isLying) return false;
      node.disk.betrayals.isLying = true;
      node.disk.betrayals.hasLied = true;
      tellLine(world, node.name, 'has a disk that lies about its syncs');
      endLater(
        world,
        troubles,
        { kind: 'lyingDisk', actor: node.actor },
        around(world.dice, SITE.betrayal, 0, LIES_US),
      );
      return true;
    }
    default:
      return arm(world, troubles, family, nodeFor(world, troubles, on));
  }
}

/** The machine goes down, and its disk is another one when it comes back. */
function swap(world: World, troubles: Troubles, node: Actor, hooks: Hooks, kind: 'lost' | 'older'): boolean {
  const { keeper, copies, plan } = troubles;
  const copy = kind === 'older' ? copies.get(node.actor) : null;
  if (node.disk === null || copy === undefined) return false;
  if (!plan.isUnlimited && wouldExceed(keeper, node, kind, null)) return false;
  crashActor(world, node, true, hooks);
  swapDisk(node.disk, copy);
  copies.delete(node.actor);
  tellLine(world, node.name, kind === 'lost' ? 'has an empty disk' : 'has its disk as it was some time ago');
  world.env.reached(kind === 'lost' ? 'sim.disk.lost' : 'sim.disk.older');
  noteSwap(keeper, world.nowUs, node, kind);
  return true;
}

/** One disk is copied at a time; at the next moment its copy comes back. */
function copyOrRestore(world: World, troubles: Troubles, node: Actor, hooks: Hooks): boolean {
  const [held] = troubles.copies.keys();
  if (held !== undefined) return swap(world, troubles, actorOf(world, held), hooks, 'older');
  if (node.disk === null) return false;
  troubles.copies.set(node.actor, copyDisk(node.disk));
  tellLine(world, node.name, 'has its disk copied');
  return false;
}

function ruin(world: World, troubles: Troubles, hooks: Hooks): boolean {
  const { dice } = world;
  tellLine(world, 'world', 'goes to ruin');
  for (const number of troubles.nodes) {
    const node = actorOf(world, number);
    const fate = pick(dice, SITE.betrayal, 1, ['spared', 'powerLoss', 'powerLoss', 'lost', 'older'] as const);
    if (fate === 'powerLoss') crashActor(world, node, true, hooks);
    else if (fate !== 'spared') swap(world, troubles, node, hooks, fate);
  }
  return true;
}

/** The next write or read that fits goes wrong. */
function arm(
  world: World,
  troubles: Troubles,
  family: 'misdirectedWrite' | 'misdirectedRead' | 'lostWrite',
  node: Actor,
): boolean {
  const { disk } = node;
  const { keeper, plan } = troubles;
  if (disk === null) return false;
  const { betrayals } = disk;
  const isOfRead = family === 'misdirectedRead';
  if (isOfRead ? betrayals.read !== null : betrayals.append !== null || betrayals.replace !== null) return false;
  let fits = /./;
  if (!plan.isUnlimited) {
    const log = partitionOn(world, node);
    if (log === null || wouldExceed(keeper, node, 'misdirected', log)) return false;
    fits = new RegExp(`/${log}/[0-9]+\\.log$`);
    // Nobody knows when it happens: from now on it counts as done.
    markDamage(keeper, world.nowUs, node, isOfRead ? 'misread' : 'misdirected', log);
  }
  if (isOfRead) betrayals.read = { kind: 'misread', fits };
  else if (family === 'misdirectedWrite') betrayals.append = { kind: 'misdirected', fits };
  else if (plan.isUnlimited && chance(world.dice, SITE.betrayal, 2, 300_000)) {
    betrayals.replace = { kind: 'unwritten', fits };
  } else betrayals.append = { kind: 'unwritten', fits };
  world.env.reached(`sim.disk.${family}`);
  tellLine(world, node.name, `will have a ${family} in ${fits.source}`);
  return true;
}

/** A partition that has a replica on a node which serves. */
function partitionOn({ dice }: World, actor: Actor): string | null {
  const logs: string[] = [];
  for (const { name, partitions } of nodeOf(actor)?.topics.byName.values() ?? []) {
    partitions.forEach((partition, index) => {
      if (partition !== null) logs.push(logName(name, index));
    });
  }
  return logs.length === 0 ? null : pick(dice, SITE.betrayal, 3, logs);
}

function rotAnywhere(world: World, { keeper }: Troubles, node: Actor): boolean {
  const { disk } = node;
  if (disk === null) return false;
  // Nine of ten files are logs and indexes: the small ones have their turn too.
  const isSmall = chance(world.dice, SITE.betrayal, 4, 300_000);
  const wanted = (path: string): boolean => !isSmall || !/\.(log|index|timeindex)$/.test(path);
  if (!rotDisk(disk, world.dice, world.nowUs, wanted)) return false;
  const rotten = disk.damages[disk.damages.length - 1];
  tellLine(world, node.name, `has a flipped bit in ${rotten?.path} at ${rotten?.position}`);
  if (node.down !== null) noteDamages(keeper, world.nowUs, node);
  return true;
}

/** A bit of what a node sends next, to another node or to a client, or of what a client sends to it. */
function armFlip(world: World, troubles: Troubles, place: 'batch' | 'header'): boolean {
  const { dice, network } = world;
  const node = pick(dice, SITE.flip, 0, troubles.nodes);
  const others = world.actors.map(({ actor }) => actor).filter((actor) => actor !== node);
  const other = pick(dice, SITE.flip, 0, others);
  const [from, to] = chance(dice, SITE.flip, 0, 500_000) ? [node, other] : [other, node];
  if (network.flips.length >= FLIPS_MAX) network.flips.shift();
  network.flips.push({ from, to, place });
  tellLine(world, actorOf(world, from).name, `will send ${actorOf(world, to).name} a flipped bit in a ${place}`);
  return true;
}

/** That wait for something to be sent, at most. */
const FLIPS_MAX = 8;
