/**
 * Whom the outcome of a call to another node belongs to: one switch over who called. No state.
 */
import { unreachable } from '../../lib/assert.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { answerDescribeQuorum } from '../api/55-describe-quorum.ts';
import { answerFetcher } from '../partitions/followers.ts';
import type { Node } from '../state.ts';
import { takeRemoteAnswer } from './controller-calls.ts';
import { takeProbed } from './controller-work.ts';
import type { PeerCaller, PeerOutcome } from './peers.ts';
import { takeMemberAnswer } from './quorum-calls.ts';
import { answerVoters } from './voter-calls.ts';

/** Tells a caller what came of its call. */
export function answerPeerCall(node: Node, env: Env, caller: PeerCaller, outcome: PeerOutcome, out: Outbox): void {
  switch (caller.kind) {
    case 'quorum':
      takeMemberAnswer(node, env, caller.ticket, outcome, out);
      break;
    case 'controller':
      takeRemoteAnswer(node, env, caller.ticket, outcome, out);
      break;
    case 'describeQuorum':
      answerDescribeQuorum(node, caller.request, outcome);
      break;
    case 'voters':
      answerVoters(node, caller, outcome);
      break;
    case 'probe':
      takeProbed(node, env, caller.ticket, outcome, out);
      break;
    case 'fetcher':
      answerFetcher(node, env, caller, outcome, out);
      break;
    default:
      unreachable(caller);
  }
}
