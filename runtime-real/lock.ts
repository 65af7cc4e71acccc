/**
 * One process at a time on a data folder: the file `.lock` names its holder.
 *
 * Node cannot lock files, so the holder writes who it is (process id and, on Linux, when it started, since ids are used
 * again), and whoever comes later looks whether that process still lives. The lock of a dead one is taken over. Apache
 * Kafka locks the same file with fcntl: on Linux such a lock is seen in /proc/locks and respected; Kafka does not see
 * ours. A crash leaves the file behind, and with it the name of a process that is gone. Two containers that share a
 * volume and whose processes have equal ids are not told apart: each takes the lock for that of its own life before.
 */
import fs from 'node:fs';
import { describeError, errorCode } from './disk/errors.ts';

/** A folder that is ours, or the end of a sentence that begins with the folder. */
export type Locking =
  | { readonly kind: 'locked'; readonly lock: FolderLock }
  | { readonly kind: 'refused'; readonly reason: string };

/** A lock that is held. */
export interface FolderLock {
  /** Lets the next process in. `unused`: nothing was written, so the lock file goes too if we made it. */
  release(unused: boolean): void;
}

/** The name of the lock file, which is Kafka's. */
export const LOCK_FILE = '.lock';
/** Exists while a lock file is looked at and written, a millisecond or so. */
const CLAIM_FILE = '.lock.tidemark-claim';
/** How often a claim of another is waited for, CLAIM_WAIT_MS each. */
const CLAIM_ATTEMPTS_MAX = 50;
const CLAIM_WAIT_MS = 20;

/** Folders that are locked by this very process, by their real paths. */
const held = new Set<string>();

/** Locks an existing folder. */
export function lockFolder(folder: string): Locking {
  try {
    const path = fs.realpathSync(folder);
    if (held.has(path)) return { kind: 'refused', reason: 'is in use by another node of this process' };
    const claim = `${path}/${CLAIM_FILE}`;
    if (!takeClaim(claim)) return { kind: 'refused', reason: 'is being taken by another process' };
    try {
      return lockClaimed(path);
    } finally {
      fs.rmSync(claim, { force: true });
    }
  } catch (error) {
    return { kind: 'refused', reason: `cannot be locked: ${describeError(error)}` };
  }
}

function lockClaimed(path: string): Locking {
  const file = `${path}/${LOCK_FILE}`;
  const existed = fs.existsSync(file);
  if (existed) {
    const foreign = foreignHolder(file);
    if (foreign !== null) return { kind: 'refused', reason: `is in use by process ${foreign}` };
    const holder = parseHolder(fs.readFileSync(file, 'utf8'));
    if (holder !== null && isAlive(holder)) return { kind: 'refused', reason: `is in use by process ${holder.pid}` };
  }
  const mine = `${JSON.stringify({ pid: process.pid, started: startOf(process.pid) })}\n`;
  fs.writeFileSync(file, mine);
  held.add(path);
  const release = (unused: boolean): void => {
    if (!held.delete(path)) return;
    try {
      if (unused && !existed) fs.rmSync(file, { force: true });
      else fs.writeFileSync(file, '');
    } catch {} // Whoever comes next sees that we are gone.
  };
  return { kind: 'locked', lock: { release } };
}

/** Two processes that start together must not both find the same dead holder. */
function takeClaim(claim: string): boolean {
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS_MAX; attempt++) {
    if (makeClaim(claim)) return true;
    const pid = Number(readOr(claim, ''));
    if (pid > 0 && !processExists(pid)) fs.rmSync(claim, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, CLAIM_WAIT_MS);
  }
  // Whoever makes a claim names himself in it at once: one still nameless was left by a process that died there.
  if (readOr(claim, '?') !== '') return false;
  fs.rmSync(claim, { force: true });
  return makeClaim(claim);
}

/** False: there is a claim already. */
function makeClaim(claim: string): boolean {
  let file: number;
  try {
    file = fs.openSync(claim, 'wx');
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    fs.writeSync(file, String(process.pid));
    return true;
  } catch (error) {
    // A full disk takes the name of a file, and not what is to be in it.
    fs.rmSync(claim, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
}

interface Holder {
  readonly pid: number;
  /** As `startOf` says. */
  readonly started: string;
}

function parseHolder(text: string): Holder | null {
  try {
    const { pid, started } = JSON.parse(text) as { pid?: unknown; started?: unknown };
    return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : null;
  } catch {
    return null; // Kafka's is empty, and a torn one was written by a process that crashed with its machine.
  }
}

function isAlive(holder: Holder): boolean {
  // Our own id in a lock that is not ours: the process before us in this container.
  if (holder.pid === process.pid) return false;
  return processExists(holder.pid) && startOf(holder.pid) === holder.started;
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM'; // It lives, and belongs to somebody else.
  }
}

/** When a process started, in the kernel's ticks; empty where there is no /proc. */
function startOf(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`, '');
  // The name of the program, in brackets, may hold anything; 20 fields after it comes the start.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

/** The process that holds an fcntl lock on the file, null if none does or the system cannot say. */
function foreignHolder(file: string): string | null {
  const { ino, dev } = fs.statSync(file, { bigint: true });
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  const device = `${major.toString(16).padStart(2, '0')}:${minor.toString(16).padStart(2, '0')}`;
  for (const line of readOr('/proc/locks', '').split('\n')) {
    // 1: POSIX  ADVISORY  WRITE 4711 fe:00:131090 0 EOF
    const [, , , , pid, where] = line.split(/\s+/);
    if (where === `${device}:${ino}`) return pid ?? '';
  }
  return null;
}

function readOr(path: string, otherwise: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
