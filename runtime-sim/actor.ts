/**
 * Whoever takes part in a simulation: a node with a disk, or a process of clients. Its machine is code and shared; all
 * that changes is data here.
 */
import type { Env, Input, Outbox } from '../core/lib/world.ts';
import { type Clock, createClock } from './clock.ts';
import { createDisk, type Disk } from './disk/disk.ts';

/** The functions of a machine. `S` is its state, `O` what it is created from. */
export interface Machine<S, O> {
  readonly create: (options: O) => S;
  readonly step: (state: S, env: Env, input: Input, out: Outbox) => void;
  readonly deadlineMs: (state: S) => number;
  readonly check: (state: S) => void;
}

/** A machine whose types only its maker knows. */
export type AnyMachine = Machine<unknown, unknown>;

/** Hides the types of a machine: the world hands states back only to the machine that made them. */
export function asAnyMachine<S, O>(machine: Machine<S, O>): AnyMachine {
  return machine as unknown as AnyMachine;
}

/** How an actor's last life ended, or null while it lives. */
export type Down = 'notStarted' | 'crashed' | 'powerLost' | 'exited' | null;

/** One taker of parts. */
export interface Actor {
  readonly actor: number;
  readonly name: string;
  readonly role: 'node' | 'client';
  readonly machine: AnyMachine;
  readonly options: unknown;
  /** Undefined while it is down. */
  state: unknown;
  down: Down;
  /** Grows with each end of a life; answers to a former one are dropped. */
  life: number;
  starts: number;
  isReady: boolean;
  readonly clock: Clock;
  readonly disk: Disk | null;
  /** When the next wake is due; Infinity for none. True microseconds. */
  wakeUs: number;
  /** So many effects are carried out before it crashes; Infinity for no plan. */
  effectsLeft: number;
  /** Whether the planned crash takes the power too. */
  crashTakesPower: boolean;
  /** What it is told while its process is paused, to be taken when it goes on; null while it runs. */
  inbox: Input[] | null;
}

/** An actor that has not been started. */
export function createActor(
  actor: number,
  name: string,
  role: 'node' | 'client',
  machine: AnyMachine,
  options: unknown,
): Actor {
  return {
    actor,
    name,
    role,
    machine,
    options,
    state: undefined,
    down: 'notStarted',
    life: 0,
    starts: 0,
    isReady: false,
    clock: createClock(),
    disk: role === 'node' ? createDisk(actor) : null,
    wakeUs: Number.POSITIVE_INFINITY,
    effectsLeft: Number.POSITIVE_INFINITY,
    crashTakesPower: false,
    inbox: null,
  };
}
