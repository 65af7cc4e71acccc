/**
 * Whom the outcome of a call to another node belongs to: one switch over who called. No state.
 */
import { unreachable } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import type { PeerCaller, PeerOutcome } from './peers.ts';
import type { Node } from './state.ts';

/** Tells a caller what came of its call. */
export function answerPeerCall(node: Node, env: Env, caller: PeerCaller, outcome: PeerOutcome, out: Outbox): void {
  switch (caller.kind) {
    case 'quorum':
    case 'controller':
    case 'probe':
    case 'fetcher':
      break; // Nobody calls yet.
    default:
      unreachable(caller);
  }
}
