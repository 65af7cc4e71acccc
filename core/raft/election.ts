/**
 * How a member comes to lead, and ceases to.
 *
 * A candidacy is a new epoch and a vote for oneself, both in `quorum-state` before anyone hears of them. With the
 * votes of a majority, here the own one, the victory is written and the leader appends the first batch of its epoch;
 * once that is committed so is everything before it, and only then is the high watermark known (Raft, section 5.4.2).
 * A disk that is full leaves the old file as it was: the member stands again later, in a newer epoch. An append that
 * failed ends the epoch too: others may have been sent its bytes, and no epoch may hold two records at one offset.
 */
import { assert } from '../lib/assert.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { DiskInput, Env, Outbox } from '../lib/world.ts';
import { appendOwn, roomOfLog } from '../log/log.ts';
import { askDisk, failRaft, failureText, isDeviceFailure } from './asks.ts';
import { startOfEpochBatch } from './batches.ts';
import { QUORUM_STATE_NAME } from './names.ts';
import { encodeQuorumState, type QuorumState } from './quorum-state.ts';
import type { Raft, RaftEvent } from './state.ts';
import { majorityOffset } from './voters.ts';

/** How long a member waits before it stands again, ms; doubled each time. */
export const ELECT_BACKOFF_MS_MIN = 50;
/** The longest such wait, ms. */
export const ELECT_BACKOFF_MS_MAX = 2000;

/** Stands for election in the next epoch. */
export function standForElection(raft: Raft, out: Outbox): void {
  assert(raft.candidacy === null, 'one election at a time');
  assert(raft.lead === null, 'a leader does not stand for election');
  raft.electAtMs = Infinity;
  raft.candidacy = { epoch: raft.epoch + 1, stage: 'vote' };
  const votedDirectoryId = raft.quorum.kraftVersion > 0 ? raft.directoryId : ZERO_UUID;
  write(raft, { leaderId: -1, leaderEpoch: raft.candidacy.epoch, votedId: raft.nodeId, votedDirectoryId }, out);
}

function write(raft: Raft, state: QuorumState, out: Outbox): void {
  const ids = raft.quorum.voters.map((voter) => voter.id);
  const bytes = encodeQuorumState(state, raft.quorum.kraftVersion, ids);
  askDisk(raft, { kind: 'candidacy' }, { kind: 'replace', path: `${raft.folder}/${QUORUM_STATE_NAME}`, bytes }, out);
}

/** The vote or the victory is on the disk, or is not. */
export function takeCandidacy(raft: Raft, env: Env, input: DiskInput, out: Outbox, events: RaftEvent[]): void {
  const { candidacy } = raft;
  if (candidacy === null) return;
  if (isDeviceFailure(input)) {
    failRaft(raft, failureText(raft, input), events);
    return;
  }
  if (input.kind === 'diskFailed') {
    env.reached('raft.election.no_space');
    raft.candidacy = null;
    raft.role = 'resigned';
    standLater(raft, env);
    return;
  }
  if (candidacy.stage === 'vote') {
    raft.role = 'candidate';
    raft.epoch = candidacy.epoch;
    raft.leaderId = -1;
    // The own vote is a majority of one.
    candidacy.stage = 'victory';
    const { nodeId: leaderId, epoch: leaderEpoch } = raft;
    write(raft, { leaderId, leaderEpoch, votedId: -1, votedDirectoryId: ZERO_UUID }, out);
    return;
  }
  raft.candidacy = null;
  lead(raft, env, out);
}

/** Begins to lead: the first batch of the epoch goes into the log. */
function lead(raft: Raft, env: Env, out: Outbox): void {
  if (raft.stage !== 'open') return;
  const { log, nodeId, quorum, epoch } = raft;
  const ids = quorum.voters.map((voter) => voter.id);
  const place = { baseOffset: log.end, leaderEpoch: epoch, timestampMs: env.wallMs };
  // What only the bootstrap snapshot says must reach those who fetch the log.
  const voters = quorum.kraftVersion > 0 && !raft.areVotersLogged ? quorum.voters : null;
  const bytes = startOfEpochBatch({ leaderId: nodeId, voterIds: ids, grantingIds: [nodeId] }, voters, place);
  if (roomOfLog(log) === 0) {
    raft.role = 'resigned';
    standLater(raft, env);
    return;
  }
  const appended = appendOwn(log, env, bytes, epoch, out);
  raft.role = 'leader';
  raft.leaderId = nodeId;
  raft.unsnapshottedBytes += bytes.length;
  raft.lead = { epochStart: appended.baseOffset, epochStartNext: appended.nextOffset, isConfirmed: false };
}

/** Leads no more: the appends from somewhere on did not happen. */
export function resign(raft: Raft, env: Env, events: RaftEvent[]): void {
  if (raft.lead === null) return;
  env.reached('raft.resigned');
  raft.lead = null;
  raft.role = 'resigned';
  raft.leaderId = -1;
  events.push({ kind: 'resigned' });
  standLater(raft, env);
}

function standLater(raft: Raft, env: Env): void {
  raft.electAtMs = env.nowMs + raft.electBackoffMs;
  raft.electBackoffMs = Math.min(raft.electBackoffMs * 2, ELECT_BACKOFF_MS_MAX);
}

/** More may be synced than was: raises the high watermark. */
export function advance(raft: Raft, events: RaftEvent[]): void {
  const { lead: leading, log, quorum } = raft;
  if (leading === null) return;
  // Each voter counts to where it has synced; this node is the only one.
  const reached = majorityOffset(quorum.voters.map(() => log.durable));
  if (reached < leading.epochStartNext || reached <= raft.highWatermark) return;
  raft.highWatermark = reached;
  if (!leading.isConfirmed) {
    leading.isConfirmed = true;
    raft.areVotersLogged ||= raft.quorum.kraftVersion > 0;
    raft.electBackoffMs = ELECT_BACKOFF_MS_MIN;
    events.push({ kind: 'leading', epoch: raft.epoch });
  }
  events.push({ kind: 'committed' });
}
