/**
 * Looks now and then for voters that are in a later epoch than the leader whom they reach: it has to hear of that epoch
 * and lead no more, for in an earlier one than its own a voter follows nobody, and whoever has more than it never votes
 * for it.
 *
 * Reads states, and changes nothing. A crash of the voter begins its part of the memory anew.
 */
import type { Node } from '../../core/broker/node.ts';
import { isOwnVoter, otherVoters } from '../../core/raft/state.ts';
import { type Complaint, complain, type History } from '../../core/verify/history.ts';
import type { Actor } from '../actor.ts';
import { directionKey, type Network } from '../network/network.ts';
import { nodeOf } from '../nodes.ts';
import { hasLasted, type Stalls } from './stalls.ts';

type Raft = NonNullable<Node['controller']>['quorum']['raft'];

/** A member that runs. */
interface Member {
  readonly actor: number;
  readonly raft: Raft;
}

/**
 * So long a voter may be so: it may have to give up a question that nobody answers, wait for its next turn to stand,
 * and ask again. Microseconds.
 */
const ASTRAY_US_MAX = 6_000_000;

/** Looks at all nodes. `stalls`: by member of a life of a node. */
export function lookForStrays(
  stalls: Stalls,
  history: History,
  nodes: readonly Actor[],
  network: Network,
  nowUs: number,
): void {
  const members: Member[] = [];
  for (const actor of nodes) {
    const raft = nodeOf(actor)?.controller?.quorum.raft;
    const isRunning = actor.inbox === null && raft?.stage === 'open' && raft.changing === null;
    if (isRunning) members.push({ actor: actor.actor, raft });
  }
  for (const member of members) {
    const { raft } = member;
    const leader = members.find((other) => isLeftBehind(other.raft, raft) && reachEachOther(network, member, other));
    if (!hasLasted(stalls, raft, leader !== undefined, ASTRAY_US_MAX, nowUs) || leader === undefined) continue;
    complain(history, astray(raft, leader.raft));
  }
}

/** Whether a member leads in an earlier epoch than that of a voter, and each counts the other among the voters. */
function isLeftBehind(leader: Raft, voter: Raft): boolean {
  if (leader.lead === null || voter.lead !== null || leader.epoch >= voter.epoch || !isOwnVoter(voter)) return false;
  const isKnown = otherVoters(voter).some(({ id }) => id === leader.nodeId);
  return isKnown && otherVoters(leader).some(({ id }) => id === voter.nodeId);
}

function reachEachOther({ cut, clogs, narrows, keyCuts }: Network, one: Member, other: Member): boolean {
  return [directionKey(one.actor, other.actor), directionKey(other.actor, one.actor)].every((way) => {
    const isSlow = clogs.has(way) || narrows.has(way);
    return !isSlow && !cut.has(way) && !keyCuts.some(({ direction }) => direction === way);
  });
}

function astray({ nodeId, epoch }: Raft, leader: Raft): Complaint {
  const sentence = `node ${nodeId} is in epoch ${epoch} of the quorum, and node ${leader.nodeId}, which it reaches,`;
  return { checker: 'astray', promise: 6, partition: -1, sentence: `${sentence} leads on in epoch ${leader.epoch}` };
}
