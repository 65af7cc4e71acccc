/**
 * The simulated world and its loop, the only one there is.
 *
 * Everything that happens is an event in one queue: an answer of a disk, something on the wire, a wake, a trouble, a
 * restart. The loop takes the earliest, moves time there, and steps whoever it is for; the effects of a step are
 * carried out in order, unless the actor's planned crash comes between two of them, and what they lead to is queued.
 * Every input and effect goes into the trace's hash; after each step, which takes no time, invariants are checked.
 *
 * A life of an actor ends by a crash (its process dies), by a power loss (its machine), or by its own exit. Events that
 * were meant for an earlier life are dropped when they come up.
 */
import { crc32c } from '../core/lib/crc32c.ts';
import type { DiskEffect, DiskInput, Effect, Env, Input, NetworkEffect, Outbox } from '../core/lib/world.ts';
import type { Codecs } from '../core/protocol/compression.ts';
import { type Actor, type AnyMachine, createActor } from './actor.ts';
import { bootClock, monotonicMs, trueTimeOf, wallMs } from './clock.ts';
import { below, chance, createDice, type Dice, draw, SITE } from './dice.ts';
import { crashDisk, type DiskDue, type DiskOperation, finishDisk, submitDisk } from './disk/disk.ts';
import { markCounter, type Rarity } from './marks/marks.ts';
import { finishNetwork, submitNetwork } from './network/flow.ts';
import {
  addHost,
  createNetwork,
  type Delivery,
  type Network,
  type NetworkDue,
  type NetworkEvent,
} from './network/network.ts';
import { crashHost, powerUp } from './network/trouble.ts';
import { compilePattern } from './patterns.ts';
import { createQueue, pop, push, type Queue, type Timed } from './queue.ts';
import { createTrace, mix, type Trace, traceEffect, traceInput } from './trace.ts';
import { sayingOf } from './watch/saying.ts';

/** What the queue holds. */
export type SimEvent = Timed &
  (
    | { readonly kind: 'disk'; readonly actor: number; readonly life: number; readonly operation: DiskOperation }
    | { readonly kind: 'network'; readonly event: NetworkEvent }
    | { readonly kind: 'input'; readonly actor: number; readonly life: number; readonly input: Input }
    | { readonly kind: 'wake'; readonly actor: number; readonly life: number }
    | { readonly kind: 'start'; readonly actor: number }
    | { readonly kind: 'trouble'; readonly trouble: number }
  );

/** A line for whoever reads the run. */
export interface Line {
  readonly atUs: number;
  readonly actor: string;
  readonly text: string;
}

/** What happened, in numbers. */
export interface WorldFigures {
  events: number;
  effects: number;
  crashes: number;
  powerLosses: number;
  exits: number;
  starts: number;
  recoveriesCrashed: number;
}

/** The whole simulation. */
export interface World {
  readonly dice: Dice;
  nowUs: number;
  readonly queue: Queue<SimEvent>;
  readonly actors: Actor[];
  readonly network: Network;
  readonly trace: Trace;
  readonly checks: boolean;
  /** Who takes a step, or took the last one. */
  stepping: number;
  /** Steps of all actors together, at most. */
  stepsMax: number;
  readonly codecs: Codecs;
  /** How often each rare path was taken. */
  readonly marks: Map<string, number>;
  readonly rarity: Rarity;
  /** The story so far; the oldest lines go when there are too many. */
  readonly lines: Line[];
  /** What a node has said at the level of errors first; null: none has. */
  firstError: string | null;
  readonly figures: WorldFigures;
  readonly env: { nowMs: number; wallMs: number } & Env;
}

/** What the loop calls for events that are not its own. */
export interface Hooks {
  /** A trouble is due. */
  readonly onTrouble: (world: World, trouble: number) => void;
  /** A life of an actor has just ended; `state` is what it had, for observers only. */
  readonly onDown: (world: World, actor: Actor, state: unknown) => void;
  /** An actor has just been started. */
  readonly onStart: (world: World, actor: Actor) => void;
  /** An actor has taken a step whose effects are not carried out yet. */
  readonly onStepped: (world: World, actor: Actor, out: Outbox) => void;
}

/** Thrown by a run that takes more steps than it may: somebody asks again and again. */
export class EndlessError extends Error {
  override readonly name = 'EndlessError';
}

/** Lines that are kept. */
export const LINES_MAX = 2_000;

/** An empty world at time 0. */
export function createWorld(seed: number, codecs: Codecs, checks: boolean): World {
  const marks = new Map<string, number>();
  const rarity: Rarity = { steps: 0 };
  const world: World = {
    dice: createDice(seed),
    nowUs: 0,
    queue: createQueue(),
    actors: [],
    network: createNetwork(),
    trace: createTrace(),
    checks,
    stepping: -1,
    stepsMax: Number.POSITIVE_INFINITY,
    codecs,
    marks,
    rarity,
    lines: [],
    firstError: null,
    figures: { events: 0, effects: 0, crashes: 0, powerLosses: 0, exits: 0, starts: 0, recoveriesCrashed: 0 },
    env: { nowMs: 0, wallMs: 0, crc32c, codecs, compilePattern, reached: markCounter(marks, rarity) },
  };
  mix(world.trace, seed);
  return world;
}

/** Adds an actor, which is started by `startAt`. Its name is its host name. */
export function addActor(
  world: World,
  name: string,
  role: 'node' | 'client',
  machine: AnyMachine,
  options: unknown,
): Actor {
  const actor = createActor(addHost(world.network, name), name, role, machine, options);
  world.actors.push(actor);
  return actor;
}

/** Adds a line to the story. */
export function tellLine(world: World, actor: string, text: string): void {
  if (world.lines.length >= LINES_MAX) world.lines.splice(0, LINES_MAX / 4);
  world.lines.push({ atUs: world.nowUs, actor, text });
}

/** Queues the start of an actor. */
export function startAt(world: World, actor: Actor, atUs: number): void {
  push(world.queue, { atUs, order: 0, kind: 'start', actor: actor.actor });
}

/** Queues a trouble, to be handed to the hook. */
export function troubleAt(world: World, trouble: number, atUs: number): void {
  push(world.queue, { atUs, order: 0, kind: 'trouble', trouble });
}

/** Queues an input for this life of an actor. */
export function inputAt(world: World, actor: Actor, input: Input, atUs: number): void {
  push(world.queue, { atUs, order: 0, kind: 'input', actor: actor.actor, life: actor.life, input });
}

/** Queues what the network still has to do. */
export function queueNetwork(world: World, due: NetworkDue[]): void {
  for (const { atUs, event } of due) push(world.queue, { atUs, order: 0, kind: 'network', event });
  due.length = 0;
}

function queueDisk(world: World, actor: Actor, due: DiskDue[]): void {
  for (const { atUs, operation } of due) {
    push(world.queue, { atUs, order: 0, kind: 'disk', actor: actor.actor, life: actor.life, operation });
  }
  due.length = 0;
}

/** The actor of a number. */
export function actorOf(world: World, actor: number): Actor {
  const found = world.actors[actor];
  if (found === undefined) throw new Error('no such actor');
  return found;
}

/** Ends a life: the process dies, or the machine loses its power. */
export function crashActor(world: World, actor: Actor, takesPower: boolean, hooks: Hooks): void {
  if (actor.down !== null) return;
  if (takesPower) world.figures.powerLosses += 1;
  else world.figures.crashes += 1;
  if (actor.role === 'node' && !actor.isReady) world.figures.recoveriesCrashed += 1;
  tellLine(world, actor.name, takesPower ? 'loses its power' : 'crashes');
  endLife(world, actor, takesPower ? 'powerLost' : 'crashed', hooks);
}

function endLife(world: World, actor: Actor, down: 'crashed' | 'powerLost' | 'exited', hooks: Hooks): void {
  mix(world.trace, 0x0dead);
  mix(world.trace, actor.actor);
  const takesPower = down === 'powerLost';
  const { state } = actor;
  actor.state = undefined;
  actor.down = down;
  actor.isReady = false;
  actor.inbox = null;
  actor.wakeUs = Number.POSITIVE_INFINITY;
  actor.effectsLeft = Number.POSITIVE_INFINITY;
  if (actor.disk !== null) crashDisk(actor.disk, world.dice, takesPower);
  const due: NetworkDue[] = [];
  crashHost(world.network, world.dice, world.nowUs, actor.actor, takesPower, due);
  actor.life += 1;
  queueNetwork(world, due);
  hooks.onDown(world, actor, state);
}

function start(world: World, actor: Actor, hooks: Hooks): void {
  if (actor.down === null) return;
  const { dice } = world;
  const due: NetworkDue[] = [];
  powerUp(world.network, dice, world.nowUs, actor.actor, due);
  queueNetwork(world, due);
  bootClock(actor.clock, world.nowUs, below(dice, SITE.clock, actor.actor, 1_000_000));
  actor.down = null;
  actor.starts += 1;
  world.figures.starts += actor.role === 'node' ? 1 : 0;
  actor.state = actor.machine.create(actor.options);
  hooks.onStart(world, actor);
  stepActor(world, actor, { kind: 'start', seed: draw(dice, SITE.nodeSeed, actor.actor) }, hooks);
}

/** One step of one actor, and all that it asks for. */
export function stepActor(world: World, actor: Actor, input: Input, hooks: Hooks): void {
  const { env, trace } = world;
  if (actor.inbox !== null) {
    actor.inbox.push(input);
    return;
  }
  traceInput(trace, actor.actor, world.nowUs, input);
  world.figures.events += 1;
  if (world.figures.events > world.stepsMax) throw new EndlessError('somebody asks again and again, without end');
  env.nowMs = monotonicMs(actor.clock, world.nowUs);
  env.wallMs = wallMs(actor.clock, world.nowUs);
  const out: Outbox = [];
  world.stepping = actor.actor;
  actor.machine.step(actor.state, env, input, out);
  if (world.checks) actor.machine.check(actor.state);
  hooks.onStepped(world, actor, out);
  plan(world, actor);
  carryOut(world, actor, out, hooks);
}

/** Sees to it that the actor is woken at its deadline. */
function plan(world: World, actor: Actor): void {
  const deadlineMs = actor.machine.deadlineMs(actor.state);
  if (deadlineMs === Number.POSITIVE_INFINITY) return;
  const atUs = Math.max(trueTimeOf(actor.clock, deadlineMs, world.nowUs), world.nowUs + WAKE_MIN_US);
  if (atUs >= actor.wakeUs) return;
  actor.wakeUs = atUs;
  push(world.queue, { atUs, order: 0, kind: 'wake', actor: actor.actor, life: actor.life });
}

/** No timer fires sooner than this. Microseconds. */
const WAKE_MIN_US = 50;

function carryOut(world: World, actor: Actor, out: Outbox, hooks: Hooks): void {
  const diskDue: DiskDue[] = [];
  const networkDue: NetworkDue[] = [];
  for (const effect of out) {
    if (actor.effectsLeft <= 0) {
      queueNetwork(world, networkDue);
      crashActor(world, actor, actor.crashTakesPower, hooks);
      return;
    }
    actor.effectsLeft -= 1;
    world.figures.effects += 1;
    traceEffect(world.trace, actor.actor, effect);
    if (isDiskEffect(effect)) {
      if (actor.disk === null) throw new Error('this actor has no disk');
      submitDisk(actor.disk, world.dice, world.nowUs, effect, diskDue);
    } else if (isNetworkEffect(effect)) {
      submitNetwork(world.network, world.dice, world.nowUs, actor.actor, effect, networkDue);
    } else if (effect.kind === 'exit') {
      world.figures.exits += 1;
      tellLine(world, actor.name, `exits with ${effect.code}: ${effect.reason}`);
      queueNetwork(world, networkDue);
      endLife(world, actor, 'exited', hooks);
      return;
    } else carryOutHost(world, actor, effect);
  }
  if (diskDue.length > 0) queueDisk(world, actor, diskDue);
  if (networkDue.length > 0) queueNetwork(world, networkDue);
}

function carryOutHost(world: World, actor: Actor, effect: Exclude<Effect, DiskEffect | NetworkEffect>): void {
  switch (effect.kind) {
    case 'entropy': {
      const bytes = new Uint8Array(effect.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = below(world.dice, SITE.entropy, actor.actor, 256);
      inputAt(world, actor, { kind: 'entropy', owner: effect.owner, ticket: effect.ticket, bytes }, world.nowUs + 10);
      return;
    }
    case 'say': {
      const text = sayingOf(effect);
      if (effect.level !== 'debug') tellLine(world, actor.name, text);
      if (effect.level === 'error' && actor.disk !== null) world.firstError ??= `${actor.name} says: ${text}`;
      return;
    }
    case 'ready':
      actor.isReady = true;
      tellLine(world, actor.name, 'is ready');
      return;
    case 'exit':
  }
}

function isDiskEffect(effect: Effect): effect is DiskEffect {
  switch (effect.kind) {
    case 'listen':
    case 'unlisten':
    case 'connect':
    case 'send':
    case 'pause':
    case 'resume':
    case 'entropy':
    case 'say':
    case 'ready':
    case 'exit':
    case 'close':
      return false;
    default:
      return true;
  }
}

function isNetworkEffect(effect: Effect): effect is NetworkEffect {
  return effect.kind !== 'entropy' && effect.kind !== 'say' && effect.kind !== 'ready' && effect.kind !== 'exit';
}

/** Lets the world go on until `untilUs`, or until `isDone` says so; true if it did. */
export function runUntil(world: World, untilUs: number, hooks: Hooks, isDone: () => boolean = () => false): boolean {
  const { queue } = world;
  const answers: DiskInput[] = [];
  const diskDue: DiskDue[] = [];
  const networkDue: NetworkDue[] = [];
  const deliveries: Delivery[] = [];
  while (!isDone()) {
    const first = queue.heap[0];
    if (first === undefined || first.atUs > untilUs) {
      world.nowUs = Math.max(world.nowUs, untilUs);
      return false;
    }
    const event = pop(queue) as SimEvent;
    world.nowUs = event.atUs;
    switch (event.kind) {
      case 'disk': {
        const actor = actorOf(world, event.actor);
        if (actor.life !== event.life || actor.disk === null) break;
        finishDisk(actor.disk, world.dice, world.nowUs, event.operation, answers, diskDue);
        if (diskDue.length > 0) queueDisk(world, actor, diskDue);
        for (const answer of answers) if (actor.life === event.life) stepActor(world, actor, answer, hooks);
        answers.length = 0;
        break;
      }
      case 'network':
        finishNetwork(world.network, world.dice, world.nowUs, event.event, deliveries, networkDue);
        if (networkDue.length > 0) queueNetwork(world, networkDue);
        for (const { actor, life, input } of deliveries) deliver(world, actor, life, input, hooks);
        deliveries.length = 0;
        break;
      case 'input':
        deliver(world, event.actor, event.life, event.input, hooks);
        break;
      case 'wake':
        wake(world, actorOf(world, event.actor), event, hooks);
        break;
      case 'start':
        start(world, actorOf(world, event.actor), hooks);
        break;
      case 'trouble':
        hooks.onTrouble(world, event.trouble);
    }
  }
  return true;
}

function deliver(world: World, number: number, life: number, input: Input, hooks: Hooks): void {
  const actor = actorOf(world, number);
  if (actor.life === life && actor.down === null) stepActor(world, actor, input, hooks);
}

function wake(world: World, actor: Actor, event: { atUs: number; life: number }, hooks: Hooks): void {
  if (actor.life !== event.life || actor.wakeUs !== event.atUs) return;
  actor.wakeUs = Number.POSITIVE_INFINITY;
  const isDue = actor.machine.deadlineMs(actor.state) <= monotonicMs(actor.clock, world.nowUs);
  // Early wakes are legal, so some happen.
  if (isDue || chance(world.dice, SITE.clock, actor.actor, 20_000)) stepActor(world, actor, { kind: 'wake' }, hooks);
  else plan(world, actor);
}
