/** Whether a client that says which leader epoch it believes in is heard (KIP-320). Pure, no state. */
import { ErrorCode } from '../protocol/errors.ts';
import type { Leader, Waiter } from './leader.ts';

/**
 * FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH when the epoch that a client believes in (-1: it does not say) is not
 * this leader's (KIP-320), NOT_LEADER_OR_FOLLOWER when this node does not lead; else NONE. An epoch below -1 is an
 * older one.
 */
export function fence<W extends Waiter>(leader: Leader<W>, currentLeaderEpoch: number): ErrorCode {
  return leader.epoch < 0 ? ErrorCode.NOT_LEADER_OR_FOLLOWER : fenceEpoch(leader.epoch, currentLeaderEpoch);
}

/** As `fence`, given the epoch that this node knows. */
export function fenceEpoch(epoch: number, currentLeaderEpoch: number): ErrorCode {
  if (currentLeaderEpoch === -1 || currentLeaderEpoch === epoch) return ErrorCode.NONE;
  return currentLeaderEpoch < epoch ? ErrorCode.FENCED_LEADER_EPOCH : ErrorCode.UNKNOWN_LEADER_EPOCH;
}
