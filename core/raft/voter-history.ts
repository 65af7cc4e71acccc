/**
 * Who votes, as the log says it: the latest record counts, committed or not (Raft, section 6), and a cut of the log
 * brings back what was before. Pure but for the member's fields `quorum`, `areVotersLogged` and `earlierQuorums`.
 */
import type { QuorumControls } from './batches.ts';
import type { Raft } from './state.ts';

/** Earlier voter sets that are kept; what is committed is never cut, so older ones are of no use. */
const EARLIER_MAX = 64;

/** Takes what a control batch at `baseOffset` says. */
export function noteVoters(raft: Raft, controls: QuorumControls, baseOffset: number): void {
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
