/**
 * The names on a disk: replace, rename, remove, make and sync folders, in the order in which they were asked for.
 *
 * A `replace` has a slow part that concerns nobody else (write aside, sync) and may overtake; its rename takes its
 * turn; the sync of the folder behind it concerns only its own answer. So a thousand of them cost a thousand syncs
 * shared between the threads, not a thousand waits. After a crash a file `NAME.tidemark-tmp` may lie about: `list` does
 * not show it, and the next replace of that name writes over it.
 */
import fs from 'node:fs';
import { unreachable } from '../../core/lib/assert.ts';
import type { DiskEffect, DiskInput } from '../../core/lib/world.ts';
import type { FileSystem } from './disk.ts';
import { describeError, diskError } from './errors.ts';
import { createIdleness, type Idleness } from './idleness.ts';
import type { SyncDone, Syncs } from './syncs.ts';

/** The effects on names. */
export type NameEffect = Extract<DiskEffect, { kind: 'replace' | 'rename' | 'remove' | 'makeFolder' | 'syncFolder' }>;

/** What `replace` adds to a name while it writes aside. */
export const ASIDE_SUFFIX = '.tidemark-tmp';

/** The names on a disk. */
export interface Names {
  /** Takes its turn behind all that were asked before it. */
  execute(effect: NameEffect): void;
  /** Resolves when nothing is queued or under way. */
  idle(): Promise<void>;
}

interface Turn {
  readonly effect: NameEffect;
  /** Whether its turn may be taken as far as it is concerned: a `replace` has been written aside, or has failed. */
  prepared: boolean;
  error: unknown;
}

/** Names whose answers go to `complete`. */
export function createNames(complete: (input: DiskInput) => void, system: FileSystem, syncs: Syncs): Names {
  const state: State = {
    complete,
    system,
    syncs,
    turns: [],
    started: 0,
    asides: new Set(),
    busy: false,
    unanswered: 0,
    idleness: createIdleness(() => state.unanswered === 0),
  };
  return {
    execute: (effect) => {
      state.unanswered += 1;
      state.turns.push({ effect, prepared: effect.kind !== 'replace', error: null });
      takeTurns(state);
    },
    idle: state.idleness.wait,
  };
}

interface State {
  readonly complete: (input: DiskInput) => void;
  readonly system: FileSystem;
  readonly syncs: Syncs;
  /** Oldest first. */
  readonly turns: Turn[];
  /** How many turns at the head are replaces that are being, or have been, written aside. */
  started: number;
  /** The paths of the files aside that are in use. */
  readonly asides: Set<string>;
  /** Turns are being taken, or a `remove` is under way: everything behind it waits. */
  busy: boolean;
  unanswered: number;
  readonly idleness: Idleness;
}

function answer(state: State, effect: NameEffect, error: unknown): void {
  state.unanswered -= 1;
  const { owner, ticket } = effect;
  if (error === null) {
    state.complete({ kind: 'changed', owner, ticket });
  } else {
    const detail = describeError(error);
    state.complete({ kind: 'diskFailed', owner, ticket, during: effect.kind, error: diskError(error), detail });
  }
  state.idleness.changed();
}

function takeTurns(state: State): void {
  if (state.busy) return;
  state.busy = true;
  for (;;) {
    startReplaces(state);
    const turn = state.turns[0];
    if (turn?.prepared !== true) break;
    state.turns.shift();
    if (state.started > 0) state.started -= 1;
    if (turn.effect.kind === 'remove' && turn.error === null) {
      remove(state, turn.effect);
      return;
    }
    takeTurn(state, turn);
  }
  state.busy = false;
}

/** Writes aside for the replaces at the head: what lies before them cannot change the folders that they write to. */
function startReplaces(state: State): void {
  for (;;) {
    const turn = state.turns[state.started];
    if (turn === undefined || turn.effect.kind !== 'replace') return;
    const aside = turn.effect.path + ASIDE_SUFFIX;
    if (state.asides.has(aside)) return;
    state.asides.add(aside);
    state.started += 1;
    writeAside(state, turn, aside, turn.effect.bytes);
  }
}

/** Removing a large file or folder may take long, so it leaves the event loop alone. */
function remove(state: State, effect: Extract<NameEffect, { kind: 'remove' }>): void {
  state.system.rm(effect.path, { recursive: true, force: true }, (error) => {
    state.busy = false;
    answer(state, effect, error);
    takeTurns(state);
  });
}

function takeTurn(state: State, turn: Turn): void {
  const { effect } = turn;
  if (effect.kind === 'replace') state.asides.delete(effect.path + ASIDE_SUFFIX);
  try {
    if (turn.error !== null) throw turn.error;
    switch (effect.kind) {
      case 'replace':
        state.system.renameSync(effect.path + ASIDE_SUFFIX, effect.path);
        syncFolder(state, parentOf(effect.path), (error) => answer(state, effect, error));
        return;
      case 'rename':
        state.system.renameSync(effect.from, effect.to);
        answer(state, effect, null);
        return;
      case 'makeFolder':
        state.system.mkdirSync(effect.path, { recursive: true });
        answer(state, effect, null);
        return;
      case 'syncFolder':
        syncFolder(state, effect.path, (error) => answer(state, effect, error));
        return;
      case 'remove':
        return;
      default:
        unreachable(effect);
    }
  } catch (error) {
    answer(state, effect, error);
  }
}

function writeAside(state: State, turn: Turn, aside: string, bytes: Uint8Array): void {
  const { system } = state;
  let descriptor = -1;
  const prepared = (error: unknown): void => {
    turn.error = error;
    turn.prepared = true;
    takeTurns(state);
  };
  const done = (error: unknown): void => {
    if (descriptor >= 0) closeQuietly(system, descriptor);
    if (error === null) prepared(null);
    // The name aside is free only now: the next replace of the same file would lose what it writes to this removal.
    else system.rm(aside, { force: true }, () => prepared(error));
  };
  try {
    descriptor = system.openSync(aside, 'w', 0o644);
    let at = 0;
    while (at < bytes.length) at += system.writevSync(descriptor, [bytes.subarray(at)]);
  } catch (error) {
    done(error);
    return;
  }
  state.syncs.fdatasync(descriptor, done);
}

/** What was written is on disk, or an error says so: closing adds nothing. */
function closeQuietly(system: FileSystem, descriptor: number): void {
  try {
    system.closeSync(descriptor);
  } catch {}
}

function syncFolder(state: State, path: string, done: SyncDone): void {
  const descriptor = state.system.openSync(path, fs.constants.O_RDONLY);
  state.syncs.fsync(descriptor, (error) => {
    closeQuietly(state.system, descriptor);
    done(error);
  });
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}
