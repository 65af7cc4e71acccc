/**
 * RemoveRaftVoter: v0. Takes a controller out of the quorum; it follows the metadata log from then on.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { RemoveRaftVoterRequest } from '../../protocol/messages/81-remove-raft-voter.ts';
import { askForVoters } from '../control/voter-calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 81;

/** Hands the request to the leader of the quorum; answers when it does. */
export function handleRemoveRaftVoter(
  node: Node,
  env: Env,
  request: Request,
  body: RemoveRaftVoterRequest,
  out: Outbox,
): void {
  askForVoters(node, env, request, KEY, body, out);
}
