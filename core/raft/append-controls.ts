/** How a leader appends what concerns the quorum itself. No state but that of the member. */
import { appendOwn } from '../log/log.ts';
import type { QuorumControls } from './batches.ts';
import type { Turn } from './state.ts';
import { noteVoters } from './voter-history.ts';

/** Appends a control batch, built for the end of the log, and goes by what it says of the voters from there on. */
export function appendControls(
  turn: Turn,
  bytes: Uint8Array,
  controls: Pick<QuorumControls, 'kraftVersion' | 'voters'>,
): { readonly baseOffset: number; readonly nextOffset: number } {
  const { raft, env, out } = turn;
  const appended = appendOwn(raft.log, env, bytes, raft.epoch, out);
  raft.unsnapshottedBytes += bytes.length;
  noteVoters(raft, controls, appended.baseOffset);
  if (raft.lead !== null) raft.lead.hasNews = true;
  return appended;
}
