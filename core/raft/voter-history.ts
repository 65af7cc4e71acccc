/**
 * Who votes, as the log says it: the latest record counts, committed or not (Raft, section 6), and a cut of the log
 * brings back what was before. Pure but for the member's fields `quorum`, `areVotersLogged` and `earlierQuorums`.
 */
import type { QuorumControls } from './batches.ts';
import type { Raft } from './state.ts';
import type { VoterSet } from './voters.ts';

/** Earlier voter sets that are kept: no log that is read has so many changes behind its newest snapshot. */
const EARLIER_MAX = 4096;

/** Takes what a control batch at `baseOffset` says. */
export function noteVoters(
  raft: Raft,
  controls: Pick<QuorumControls, 'kraftVersion' | 'voters'>,
  baseOffset: number,
): void {
  const { kraftVersion, voters } = controls;
  if (kraftVersion === null && voters === null) return;
  const { quorum, areVotersLogged, earlierQuorums } = raft;
  earlierQuorums.push({ replacedAt: baseOffset, quorum, areVotersLogged });
  if (earlierQuorums.length > EARLIER_MAX) earlierQuorums.shift();
  raft.quorum = { kraftVersion: kraftVersion ?? quorum.kraftVersion, voters: voters ?? quorum.voters };
  raft.areVotersLogged ||= voters !== null;
}

/** The log now ends at `end`: what stood at or above it was never said. */
export function takeBackVoters(raft: Raft, end: number): void {
  for (;;) {
    const last = raft.earlierQuorums[raft.earlierQuorums.length - 1];
    if (last === undefined || last.replacedAt < end) return;
    raft.earlierQuorums.pop();
    raft.quorum = last.quorum;
    raft.areVotersLogged = last.areVotersLogged;
  }
}

/** The voters that the records below `end` name; `end` is at or above the end of the newest snapshot. */
export function votersBelow(raft: Raft, end: number): VoterSet {
  return raft.earlierQuorums.find(({ replacedAt }) => replacedAt >= end)?.quorum ?? raft.quorum;
}

/** A snapshot that ends at `end` is durable: no cut of the log goes below it. */
export function forgetVoters(raft: Raft, end: number): void {
  raft.earlierQuorums = raft.earlierQuorums.filter(({ replacedAt }) => replacedAt >= end);
}

/** Whether the latest change of the voters is not known to be committed. */
export function isChangePending(raft: Raft): boolean {
  const last = raft.earlierQuorums[raft.earlierQuorums.length - 1];
  return last !== undefined && last.replacedAt >= raft.highWatermark;
}
