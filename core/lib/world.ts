/**
 * All that a node may ask of the world and all that the world may tell a node. The world is either `runtime-real`
 * (files, sockets, the system's clock) or `runtime-sim` (a seeded model of them); a node cannot tell which.
 *
 * A node is a function: `step(node, env, input, out)` runs to its end, changes the node's state in place and pushes
 * effects into `out`. The world carries the effects out in order and answers with inputs, never from within a step.
 * Any prefix of an outbox may survive a crash.
 *
 * Answers. An effect that can finish carries `owner` (which machine inside the node asked) and `ticket` (what it
 * asked; unique within the owner for the life of the node). The answer repeats both. An answer for an owner or ticket
 * that no longer exists is dropped by the node.
 *
 * The disk's promises, which the simulator uses to the last inch:
 * - A file id is chosen by the node at `open` and never used again, so that appends may follow an open in one outbox.
 * - Mutations of one file (open, append, truncate, closeFile) take effect in the order they were issued. So do
 *   mutations of names (replace, rename, remove, makeFolder) among themselves. Reads are unordered.
 * - An append is whole or an error; after an error the file is as long as before it, and every later append to it fails
 *   too until a truncate of it is issued: what was piped behind a failed append can never land in its place.
 * - Written is not synced: without `sync` a power loss may lose or tear any write, in any order. A finished `sync`
 *   covers the appends and truncates of its file that were issued before it, and blocks nothing.
 * - A name (created by open, renamed, removed) survives a power loss only after `syncFolder` of its folder has
 *   finished. `replace` is safe by itself: after a crash the file holds the old bytes or the new ones, and once it
 *   has been answered, the new ones.
 * - A read that overlaps a truncate of its file, issued later but finished earlier, is answered by 'stale'.
 * - An error of kind 'io' or 'noSpace' from `sync` leaves the state of the file unknown: it is never retried.
 *
 * The network's promises: bytes of one connection arrive in order and unchanged, or the connection ends. A partition
 * is silence, not an error. Frames are cut by `core/protocol/frame.ts` in both worlds.
 */
import type { Codecs } from '../protocol/compression.ts';

/** Time and pure functions, lent for one step. The world changes `nowMs` and `wallMs` between steps, never within. */
export interface Env {
  /** Monotonic milliseconds since an arbitrary start; an integer. For deadlines. */
  readonly nowMs: number;
  /** Milliseconds since 1970; an integer that may jump both ways. For timestamps and retention only. */
  readonly wallMs: number;
  /** CRC-32C of `bytes` from `start` to `end`, unsigned. */
  readonly crc32c: (bytes: Uint8Array, start?: number, end?: number) => number;
  /** Compression, synchronous, loaded before the first step. */
  readonly codecs: Codecs;
  /** Understands a regular expression in RE2's syntax, for whole texts, in linear time; null if it is none. */
  readonly compilePattern?: (pattern: string) => ((text: string) => boolean) | null;
  /** Says that a rare path was taken, for the simulator's reports; does nothing in production. */
  readonly reached: (mark: string) => void;
}

/** Who asked, and what: repeated in the answer. */
export interface Asked {
  /** The machine inside the node that asked; chosen by the node, never used again in its life. */
  readonly owner: number;
  /** What it asked; unique within the owner. */
  readonly ticket: number;
}

/** An outgoing one's is negative and chosen by the node; an accepted one's is positive and chosen by the world. */
export type ConnectionId = number;
/** Chosen by the node when it opens the file; never used again in the life of the node. */
export type FileId = number;

/** What a node asks of its disks. Paths are absolute, separated by '/'. */
export type DiskEffect =
  /** Opens for reading and appending. Without `create` a missing file is 'notFound'. Answered by 'opened'. */
  | ({ readonly kind: 'open'; readonly file: FileId; readonly path: string; readonly create: boolean } & Asked)
  /** Writes the parts, in order, at the end. The parts are never changed afterwards. Answered by 'appended'. */
  | ({ readonly kind: 'append'; readonly file: FileId; readonly parts: readonly Uint8Array[] } & Asked)
  /** Makes what was issued before it durable (fdatasync). Answered by 'synced'. */
  | ({ readonly kind: 'sync'; readonly file: FileId } & Asked)
  /**
   * Reads `length` bytes at `position`; fewer where the file ends. Answered by 'read'. With `isLent` the bytes are the
   * node's only until it hands a view of them to one `send`: from then on the world may put other bytes in their place.
   */
  | ({
      readonly kind: 'read';
      readonly file: FileId;
      readonly position: number;
      readonly length: number;
      readonly isLent?: boolean;
    } & Asked)
  /** Cuts the file to `size` bytes, never grows it. Answered by 'changed'. */
  | ({ readonly kind: 'truncate'; readonly file: FileId; readonly size: number } & Asked)
  /** Forgets the id once all issued before it is done. Answered by 'changed'. */
  | ({ readonly kind: 'closeFile'; readonly file: FileId } & Asked)
  /** Puts a small file in place whole: write aside, sync, rename, sync the folder. Answered by 'changed'. */
  | ({ readonly kind: 'replace'; readonly path: string; readonly bytes: Uint8Array } & Asked)
  /** Reads a small file whole, at most LOAD_BYTES_MAX. Answered by 'loaded'. */
  | ({ readonly kind: 'load'; readonly path: string } & Asked)
  /** Renames a file or folder, replacing a file of that name. Answered by 'changed'. */
  | ({ readonly kind: 'rename'; readonly from: string; readonly to: string } & Asked)
  /** Removes a file, or a folder with all that is in it; a missing one is no error. Answered by 'changed'. */
  | ({ readonly kind: 'remove'; readonly path: string } & Asked)
  /** Makes a folder; an existing one is no error. Answered by 'changed'. */
  | ({ readonly kind: 'makeFolder'; readonly path: string } & Asked)
  /** Makes the names in a folder durable. Answered by 'changed'. */
  | ({ readonly kind: 'syncFolder'; readonly path: string } & Asked)
  /** Lists a folder, sorted by name. Answered by 'listed'. */
  | ({ readonly kind: 'list'; readonly path: string } & Asked);

/** The most that `load` reads: a larger file is answered by 'io'. Bytes. */
export const LOAD_BYTES_MAX = 16 * 1024 * 1024;

/**
 * notFound: no such file or folder. noSpace: the disk is full. stale: a truncate overtook a read.
 * io: the device failed; the log directory that holds the path is not to be trusted again.
 * denied: permissions or a read-only file system. closed: the file id is not open.
 */
export type DiskError = 'notFound' | 'noSpace' | 'stale' | 'io' | 'denied' | 'closed';

/** One name in a folder. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Bytes; 0 for a folder. */
  readonly sizeBytes: number;
}

/** What the disk answers. */
export type DiskInput =
  | ({ readonly kind: 'opened'; readonly sizeBytes: number } & Asked)
  | ({ readonly kind: 'appended' } & Asked)
  | ({ readonly kind: 'synced' } & Asked)
  /** `bytes` may be kept and shared: the world never changes them, unless they were lent and are sent. */
  | ({ readonly kind: 'read'; readonly bytes: Uint8Array } & Asked)
  | ({ readonly kind: 'loaded'; readonly bytes: Uint8Array } & Asked)
  | ({ readonly kind: 'listed'; readonly entries: readonly FolderEntry[] } & Asked)
  | ({ readonly kind: 'changed' } & Asked)
  /** `during` names the effect that failed; `detail` is for people and never decides anything. */
  | ({
      readonly kind: 'diskFailed';
      readonly during: DiskEffect['kind'];
      readonly error: DiskError;
      readonly detail: string;
    } & Asked);

/** What a node asks of the network. */
export type NetworkEffect =
  /**
   * Answered by 'listening' or 'listenFailed'. Port 0 asks for a free one. A longer frame than `frameBytesMax` ends its
   * connection ('badFrame'), and so does silence both ways for `idleMs` ('idle').
   */
  | {
      readonly kind: 'listen';
      readonly listener: number;
      readonly host: string;
      readonly port: number;
      readonly frameBytesMax: number;
      readonly idleMs: number;
    }
  /** Stops accepting; connections stay. */
  | { readonly kind: 'unlisten'; readonly listener: number }
  /** Answered by 'connected' or 'connectFailed'. */
  | {
      readonly kind: 'connect';
      readonly connection: ConnectionId;
      readonly host: string;
      readonly port: number;
      readonly timeoutMs: number;
      readonly frameBytesMax: number;
    }
  /** Queues the parts. Each flush to the system is answered by 'sent'. To a closed connection: ignored. */
  | { readonly kind: 'send'; readonly connection: ConnectionId; readonly parts: readonly Uint8Array[] }
  /** No more 'frame' of this connection after those already under way, until 'resume'. */
  | { readonly kind: 'pause'; readonly connection: ConnectionId }
  | { readonly kind: 'resume'; readonly connection: ConnectionId }
  /** Ends the connection once what was queued is sent, or at once if `abort`. Answered by 'closed'. */
  | { readonly kind: 'close'; readonly connection: ConnectionId; readonly abort: boolean };

/**
 * end: the peer finished. reset: it broke off. badFrame: an illegal length was announced. idle: nothing moved for too
 * long. budget: it held half-sent frames while memory was short. asked: the node closed it.
 */
export type CloseReason = 'end' | 'reset' | 'badFrame' | 'idle' | 'budget' | 'asked';

/** What the network tells. */
export type NetworkInput =
  | { readonly kind: 'listening'; readonly listener: number; readonly host: string; readonly port: number }
  | {
      readonly kind: 'listenFailed';
      readonly listener: number;
      readonly reason: 'inUse' | 'denied' | 'noAddress' | 'other';
      readonly detail: string;
    }
  /** Local address and port are those the peer reached, for advertising. */
  | {
      readonly kind: 'accepted';
      readonly connection: ConnectionId;
      readonly listener: number;
      readonly peerHost: string;
      readonly peerPort: number;
      readonly localHost: string;
      readonly localPort: number;
    }
  | { readonly kind: 'connected'; readonly connection: ConnectionId }
  | {
      readonly kind: 'connectFailed';
      readonly connection: ConnectionId;
      readonly reason: 'refused' | 'timedOut' | 'unreachable';
    }
  /** One frame without its length prefix: a view that may pin a larger buffer. Never changed by anyone. */
  | { readonly kind: 'frame'; readonly connection: ConnectionId; readonly bytes: Uint8Array }
  /** `bytes` have left the node's queue for this connection since the last 'sent'. */
  | { readonly kind: 'sent'; readonly connection: ConnectionId; readonly sizeBytes: number }
  /** The last input of a connection. */
  | {
      readonly kind: 'closed';
      readonly connection: ConnectionId;
      readonly reason: CloseReason;
      readonly detail: string;
    };

/** The rest that a node may ask. */
export type HostEffect =
  /** Unpredictable bytes, for identities. Answered by 'entropy'. */
  | ({ readonly kind: 'entropy'; readonly length: number } & Asked)
  /** A line for the operator. `fields` are printed as given. */
  | {
      readonly kind: 'say';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly text: string;
      readonly fields: ReadonlyMap<string, string | number | boolean>;
    }
  /** The node serves clients from now on. */
  | { readonly kind: 'ready' }
  /** The last effect of a node: 0 after a clean stop, else why it cannot go on. */
  | { readonly kind: 'exit'; readonly code: number; readonly reason: string };

/** The rest that a node is told. */
export type HostInput =
  /** The first input. `seed` is fresh each time: jitter only, never identities. An unsigned 32-bit integer. */
  | { readonly kind: 'start'; readonly seed: number }
  | ({ readonly kind: 'entropy'; readonly bytes: Uint8Array } & Asked)
  /** The node's deadline has come, or might have. */
  | { readonly kind: 'wake' }
  /** Stop cleanly: the operator asked (SIGTERM). */
  | { readonly kind: 'stop' };

/** All that a node may ask of the world. */
export type Effect = DiskEffect | NetworkEffect | HostEffect;
/** All that the world may tell a node. */
export type Input = DiskInput | NetworkInput | HostInput;
/** Filled by steps, emptied by whoever called the node. */
export type Outbox = Effect[];
