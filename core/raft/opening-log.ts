/**
 * The second half of an opening: the log is open, its control batches are walked over, and what they say of the voters
 * decides whether this member can serve.
 *
 * Only the part behind the snapshot is read. Everything found there is synced (the log saw to it) but not yet known to
 * be committed; who votes is decided by the latest record even so, as Raft has it.
 */
import { assert } from '../lib/assert.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { latestEpoch, readLog } from '../log/log.ts';
import type { ReadOutcome } from '../log/types.ts';
import * as batch from '../protocol/batch.ts';
import { failRaft } from './asks.ts';
import { readControls, splitBatches } from './batches.ts';
import { standForElection } from './election.ts';
import { SLICE_BYTES } from './reading.ts';
import { scheduleSnapshot } from './snapshots.ts';
import type { Opening, Raft, RaftEvent } from './state.ts';
import { isVoter, KRAFT_VERSION_MAX, type VoterSet } from './voters.ts';

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
    `the metadata log in ${raft.folder} is damaged at offset ${offset}, and this node is the only voter: ` +
    'bring back the folder from a copy'
  );
}

function noteBatch(raft: Raft, env: Env, opening: Opening, bytes: Uint8Array): void {
  opening.offset = Math.max(opening.offset, batch.nextOffset(batch.dataViewOf(bytes), 0));
  raft.unsnapshottedBytes += bytes.length;
  const controls = readControls(bytes, env);
  if (controls === null) return;
  const { kraftVersion, voters } = controls;
  if (kraftVersion !== null) raft.quorum = { ...raft.quorum, kraftVersion };
  if (voters === null) return;
  raft.quorum = { ...raft.quorum, voters };
  raft.areVotersLogged = true;
}

/** All is known: the member may stand for election, or must say why not. */
function finishOpening(raft: Raft, env: Env, out: Outbox, events: RaftEvent[]): void {
  raft.opening = null;
  const { quorum, staticVoters } = raft;
  raft.epoch = Math.max(raft.epoch, latestEpoch(raft.log));
  if (quorum.kraftVersion === 0) raft.quorum = { kraftVersion: 0, voters: staticVoters };
  const problem = problemOf(raft, raft.quorum);
  if (problem !== null) {
    failRaft(raft, problem, events);
    return;
  }
  raft.stage = 'open';
  scheduleSnapshot(raft, env);
  standForElection(raft, out);
}

/** Why a member cannot serve this quorum; null if it can. */
function problemOf(raft: Raft, { kraftVersion, voters }: VoterSet): string | null {
  const { nodeId, directoryId, folder } = raft;
  if (kraftVersion > KRAFT_VERSION_MAX) {
    return `the quorum in ${folder} is at kraft.version ${kraftVersion}, which is not served here`;
  }
  if (voters.length === 0) {
    return `no voters are known in ${folder}: format the directory, or set controller.quorum.voters`;
  }
  const self = voters.find((voter) => isVoter(voter, nodeId, directoryId));
  if (self === undefined) {
    const ids = voters.map((voter) => `${voter.id} with directory ${voter.directoryId}`).join(', ');
    return `node ${nodeId} with directory ${directoryId} is no voter of the quorum in ${folder}; voters are ${ids}`;
  }
  if (voters.length > 1) return `the quorum in ${folder} has ${voters.length} voters; only one is served yet`;
  return null;
}
