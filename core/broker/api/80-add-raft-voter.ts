/**
 * AddRaftVoter: v0–1. Makes a controller that follows the metadata log a voter of the quorum. Version 1 may ask for an
 * answer before that is committed.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { AddRaftVoterRequest } from '../../protocol/messages/80-add-raft-voter.ts';
import { askForVoters } from '../control/voter-calls.ts';
import type { Node, Request } from '../state.ts';

const KEY = 80;

/** Hands the request to the leader of the quorum; answers when it does. */
export function handleAddRaftVoter(
  node: Node,
  env: Env,
  request: Request,
  body: AddRaftVoterRequest,
  out: Outbox,
): void {
  askForVoters(node, env, request, KEY, body, out);
}
