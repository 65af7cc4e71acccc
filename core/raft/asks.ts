/** What a member asks of its disk, and how it fails: notes, tickets, the end. */
import { nextTicket } from '../lib/ids.ts';
import type { DiskEffect, DiskInput, Outbox } from '../lib/world.ts';
import type { Raft, RaftAsk, RaftEvent } from './state.ts';

/** An effect without who asked. */
export type Unasked<E> = E extends unknown ? Omit<E, 'owner' | 'ticket'> : never;

/** Asks the disk for something, and notes what it is for. */
export function askDisk(raft: Raft, what: RaftAsk, effect: Unasked<DiskEffect>, out: Outbox): void {
  const ticket = nextTicket(raft.ids);
  raft.asks.set(ticket, what);
  out.push({ ...effect, owner: raft.owner, ticket } as DiskEffect);
}

/** Asks for something of which only a failing device matters. */
export function askTidy(raft: Raft, effect: Unasked<DiskEffect>, out: Outbox): void {
  askDisk(raft, { kind: 'tidy' }, effect, out);
}

/** Whether the device itself failed, so that nothing in the log directory is to be trusted any more. */
export function isDeviceFailure(input: DiskInput): boolean {
  if (input.kind !== 'diskFailed') return false;
  if (input.error === 'io' || input.error === 'denied') return true;
  return input.error === 'noSpace' && (input.during === 'sync' || input.during === 'syncFolder');
}

/** The member is of no use any more; said once. */
export function failRaft(raft: Raft, detail: string, events: RaftEvent[]): void {
  if (raft.stage === 'failed') return;
  raft.stage = 'failed';
  raft.role = 'resigned';
  raft.lead = null;
  raft.follow = null;
  raft.campaign = null;
  raft.changing = null;
  raft.installing = null;
  raft.deferred = [];
  raft.calls.clear();
  raft.serving.clear();
  raft.opening = null;
  raft.reading = null;
  raft.writing = null;
  raft.asks.clear();
  raft.timerMs = Infinity;
  raft.snapshotAtMs = Infinity;
  events.push({ kind: 'failed', detail });
}

/** What a failure of the disk is to the operator. */
export function failureText(raft: Raft, input: DiskInput): string {
  if (input.kind !== 'diskFailed') return `the disk answers out of turn in ${raft.folder}`;
  return `${input.during} failed in ${raft.folder}: ${input.error} ${input.detail}`;
}
