/**
 * What is known of the troubles of one run: whom they may strike, what is to end when, and how often each struck.
 *
 * Plain data but for what asks the run, or tells it. Only what is in `endings` ends: a number that comes up and is not
 * there belongs to a trouble that was healed meanwhile.
 */
import type { Actor } from '../actor.ts';
import { below, pick, SITE } from '../dice.ts';
import type { DiskCopy } from '../disk/betrayal.ts';
import type { Family, Plan, Target } from '../scenario.ts';
import type { Keeper } from '../watch/damage.ts';
import { actorOf, troubleAt, type World } from '../world.ts';

/** The end of a trouble that lasts. */
export type Ending =
  | { readonly kind: 'fullDisk' | 'slowDisk' | 'lyingDisk'; readonly actor: number }
  /** Of one life: whoever crashes is paused no more. */
  | { readonly kind: 'pause'; readonly actor: number; readonly life: number }
  /** Of a client: the process dies. */
  | { readonly kind: 'life'; readonly actor: number; readonly life: number }
  | { readonly kind: 'congestion' }
  /** Those whose connections to clients broke first are cut off from the other nodes now, for so long. */
  | { readonly kind: 'apart'; readonly actor: number; readonly us: number }
  /** What was cut or clogged, as `directionKey` names it. */
  | { readonly kind: 'links'; readonly directions: readonly number[] };

/** What a member of the quorum may just have begun in an election. */
export type ElectionStage = 'asks' | 'stands' | 'leads';

/**
 * A moment of a group in which a date matters: it makes a generation, or its first one; or nobody in it has been heard,
 * or has committed anything, for long, so that it may soon be empty.
 */
export type GroupMoment = 'rebalancing' | 'gathering' | 'silent' | 'uncommitted';

/** A moment of a member that is soon over; owing: it is in a generation that waits for what it has to give up. */
export type MemberMoment = 'joining' | 'givingUp' | 'owing' | 'takingOver';

/** The troubles of one run. */
export interface Troubles {
  readonly plan: Plan;
  /** The actors that are nodes. */
  readonly nodes: readonly number[];
  /** How often each family struck. */
  readonly struck: Map<Family, number>;
  /** Ambushes that were laid, and how many rare steps there were when they were last looked at. */
  ambushes: number;
  rareSteps: number;
  /** What a member of the quorum is waited for to do in an election; null while nobody is. */
  awaited: ElectionStage | null;
  /** What dates wait for groups to be at. */
  readonly awaitedGroups: Set<GroupMoment>;
  /** What crashes of clients wait for members to be at. */
  readonly awaitedMembers: Set<MemberMoment>;
  /** Nothing strikes any more. */
  isHealed: boolean;
  /** By the number that stands in the queue. */
  readonly endings: Map<number, Ending>;
  /** The number of the next of them. */
  nextEnd: number;
  /** Which actor is what a target says; -1 for none. */
  readonly find: (target: Target) => number;
  /** Knows what is promised still. */
  readonly keeper: Keeper;
  /** What disks held some time ago, by actor. */
  readonly copies: Map<number, DiskCopy>;
  /** Called with the path of a file in which a bit has flipped. */
  readonly onRot: (path: string) => void;
  /** Called when the network begins to hold bytes back, and when it has let all of them go. */
  readonly onHold: (isHeld: boolean) => void;
  /** Called when a majority of the disks begins to be full, and when it no longer is. */
  readonly onFull: (isFull: boolean) => void;
}

/** Numbers of troubles in the queue: an index of `plan.troubles`, or this and more for what ends one. */
export const END = 1_000;

/** Ends something after `us` microseconds. */
export function endLater(world: World, troubles: Troubles, ending: Ending, us: number): void {
  const number = troubles.nextEnd;
  troubles.nextEnd += 1;
  troubles.endings.set(number, ending);
  troubleAt(world, number, world.nowUs + us);
}

/** The node that a trouble strikes. */
export function nodeFor(world: World, troubles: Troubles, on: Target): Actor {
  const [first, second] = troubles.nodes;
  if (first === undefined) throw new Error('troubles need a node');
  if (second === undefined) return actorOf(world, first);
  const found = on === 'any' ? -1 : troubles.find(on);
  return actorOf(world, found >= 0 ? found : pick(world.dice, SITE.pairs, 0, troubles.nodes));
}

/** A node that a trouble strikes, and as many beside it as the others can do without: they stand together. */
export function smallerSide(world: World, troubles: Troubles, on: Target, entity: number): readonly number[] {
  const first = nodeFor(world, troubles, on).actor;
  const others = troubles.nodes.filter((number) => number !== first);
  const side = [first];
  for (let left = Math.ceil(troubles.nodes.length / 2) - 2; left > 0; left--) {
    side.push(...others.splice(below(world.dice, SITE.pairs, entity, others.length), 1));
  }
  return side;
}

/** Tells whether bytes are held back anywhere, by the network or by a process that stands still. */
export function noteHolds({ network, actors }: World, troubles: Troubles): void {
  const { cut, clogs, narrows, keyCuts, mood } = network;
  const isPaused = actors.some(({ inbox }) => inbox !== null);
  const isSlow = clogs.size + narrows.size + mood.congestionUs > 0;
  troubles.onHold(isPaused || isSlow || cut.size + keyCuts.length > 0);
}

/** Tells whether a majority of the nodes has no space: each needs some to lead. */
export function noteFull(world: World, { nodes, onFull }: Troubles): void {
  const full = nodes.filter((node) => Number.isFinite(actorOf(world, node).disk?.mood.capacityBytes ?? Infinity));
  onFull(full.length * 2 > nodes.length);
}
