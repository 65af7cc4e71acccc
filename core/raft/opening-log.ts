/**
 * The second half of an opening: the log is open, its control batches are walked over, and what they say of the voters
 * decides whether this member can serve, and as what.
 *
 * Only the part behind the snapshot is read. Everything found there is synced (the log saw to it) but not yet known to
 * be committed; who votes is decided by the latest record even so, as Raft has it.
 */
import { assert } from '../lib/assert.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { epochAt } from '../log/epochs.ts';
import { deleteBelow, latestEpoch, readLog } from '../log/log.ts';
import type { LogEvent, ReadOutcome } from '../log/types.ts';
import * as batch from '../protocol/batch.ts';
import { askTidy, failRaft } from './asks.ts';
import { readControls, splitBatches } from './batches.ts';
import { checkpointName } from './names.ts';
import { SLICE_BYTES } from './reading.ts';
import { beginFirstRole } from './roles.ts';
import { scheduleSnapshot } from './snapshots.ts';
import { isOwnVoter, type Opening, otherVoters, type Raft, type RaftEvent } from './state.ts';
import { noteVoters } from './voter-history.ts';
import { KRAFT_VERSION_MAX, QUORUM_VOTERS_MAX, type VoterSet } from './voters.ts';

/** The log is open: its control batches are looked for behind the snapshot. */
export function takeLogOpened(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  opening.phase = 'controls';
  assert(raft.log.start <= opening.offset, 'the log reaches back to the snapshot');
  walkOn(raft, env, opening, out, events);
}

function walkOn(raft: Raft, env: Env, opening: Opening, out: Outbox, events: RaftEvent[]): void {
  while (opening.offset < raft.log.end) {
    const request = { offset: opening.offset, sizeBytesMax: SLICE_BYTES, upTo: raft.log.end, minOne: true };
    const outcome = readLog(raft.log, env, request, out);
    if (outcome.kind === 'pending') {
      opening.ticket = outcome.ticket;
      return;
    }
    if (!walk(raft, env, opening, outcome, events)) return;
  }
  finishOpening(raft, env, out, events);
}

/** The answer to a read of the walk. */
export function takeWalked(raft: Raft, env: Env, outcome: ReadOutcome, out: Outbox, events: RaftEvent[]): void {
  const opening = raft.opening;
  if (opening === null) return;
  opening.ticket = -1;
  if (walk(raft, env, opening, outcome, events)) walkOn(raft, env, opening, out, events);
}

/** Looks at what was read; false if the member has failed by it. */
function walk(raft: Raft, env: Env, opening: Opening, outcome: ReadOutcome, events: RaftEvent[]): boolean {
  const at = opening.offset;
  if (outcome.kind === 'batches') {
    try {
      for (const one of splitBatches(outcome.parts)) noteBatch(raft, env, opening, one);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      failRaft(
        raft,
        `a control record of the metadata log cannot be read behind offset ${at}: ${error.message}`,
        events,
      );
      return false;
    }
    if (opening.offset > at) return true;
  }
  failRaft(raft, damageText(raft, at), events);
  return false;
}

/** What the operator is told of damage in the middle of the log. */
export function damageText(raft: Raft, offset: number): string {
  return (
    `the metadata log in ${raft.folder} is damaged at offset ${offset}` +
    (raft.quorum.voters.length > 1 ? '' : ', and this node is the only voter') +
    ': bring back the folder from a copy'
  );
}

function noteBatch(raft: Raft, env: Env, opening: Opening, bytes: Uint8Array): void {
  const view = batch.dataViewOf(bytes);
  opening.offset = Math.max(opening.offset, batch.nextOffset(view, 0));
  raft.unsnapshottedBytes += bytes.length;
  const controls = readControls(bytes, env);
  if (controls !== null) noteVoters(raft, controls, batch.baseOffset(view, 0));
}

/** All is known: the member may stand for election, or must say why not. */
function finishOpening(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  const remembered = raft.opening?.quorumState ?? null;
  raft.opening = null;
  const { quorum, staticVoters } = raft;
  raft.epoch = Math.max(raft.epoch, latestEpoch(raft.log));
  // What is remembered of an older epoch means nothing in this one.
  if (remembered !== null && remembered.leaderEpoch === raft.epoch) {
    raft.leaderId = remembered.leaderId;
    raft.votedId = remembered.votedId;
    raft.votedDirectoryId = remembered.votedId < 0 ? ZERO_UUID : remembered.votedDirectoryId;
  }
  if (quorum.kraftVersion === 0) raft.quorum = { kraftVersion: 0, voters: staticVoters };
  const problem = problemOf(raft, raft.quorum);
  if (problem !== null) {
    failRaft(raft, problem, events);
    return;
  }
  const isAlone = isOwnVoter(raft) && otherVoters(raft).length === 0;
  if (!isAlone) forgetFalseHead(raft, env, out);
  raft.stage = 'open';
  // What a snapshot holds was committed, whatever the leader of today knows yet.
  const newest = raft.snapshots[raft.snapshots.length - 1];
  if (newest !== undefined && newest.endOffset > 0) raft.highWatermark = newest.endOffset;
  scheduleSnapshot(raft, env);
  beginFirstRole({ raft, env, out, events });
}

/**
 * A snapshot that was fetched took the place of a log that need not have been a piece of the leader's. A crash may have
 * left that log, or brought it back, below the snapshot: it is told by damage, or by the epoch of the record right
 * before the snapshot's end, which by the matching of logs stands for all before it. What stands behind the snapshot is
 * sound and was promised, so only the head goes, with the older snapshots that would need it.
 */
function forgetFalseHead(raft: Raft, env: Env, out: Outbox): void {
  const { log, snapshots } = raft;
  const newest = snapshots[snapshots.length - 1];
  if (newest === undefined || newest.endOffset === 0 || log.start >= newest.endOffset) return;
  const isDamaged = log.damaged.some(({ start }) => start < newest.endOffset);
  if (!isDamaged && epochAt(log.epochs, newest.endOffset - 1) === newest.epoch) return;
  env.reached('raft.opening.false_head');
  for (const id of snapshots.splice(0, snapshots.length - 1)) {
    askTidy(raft, { kind: 'remove', path: `${raft.folder}/${checkpointName(id)}` }, out);
  }
  const logEvents: LogEvent[] = [];
  deleteBelow(log, newest.endOffset, out, logEvents);
  assert(logEvents.length === 0, 'nobody reads while a member is opened');
}

/** Why a member cannot serve this quorum; null if it can. */
function problemOf(raft: Raft, { kraftVersion, voters }: VoterSet): string | null {
  const { nodeId, directoryId, folder, peers } = raft;
  if (kraftVersion > KRAFT_VERSION_MAX) {
    return `the quorum in ${folder} is at kraft.version ${kraftVersion}, which is not served here`;
  }
  if (voters.length > QUORUM_VOTERS_MAX) {
    return `the quorum in ${folder} has ${voters.length} voters; at most ${QUORUM_VOTERS_MAX} are served`;
  }
  const hasOthers = voters.some(({ id }) => id !== nodeId) || peers.bootstrapCount > 0;
  if (isOwnVoter(raft) || (peers.mayObserve && hasOthers)) return null;
  if (voters.length === 0) {
    return `no voters are known in ${folder}: format the directory, or set controller.quorum.voters`;
  }
  const ids = voters.map((voter) => `${voter.id} with directory ${voter.directoryId}`).join(', ');
  return `node ${nodeId} with directory ${directoryId} is no voter of the quorum in ${folder}; voters are ${ids}`;
}
