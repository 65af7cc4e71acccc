/** What a member asks of others and answers them, as events for its host. No state but `raft.calls`. */
import { nextTicket } from '../lib/ids.ts';
import type { ResponseInputOf } from '../protocol/messages/index.ts';
import type { PeerKey, PeerRequest } from './role-state.ts';
import type { Turn } from './state.ts';

/** Asks another member; the answer is handed to the role that asked, if it lasts so long. */
export function askPeer(turn: Turn, nodeId: number, request: PeerRequest): void {
  const { raft, events } = turn;
  const ticket = nextTicket(raft.ids);
  raft.calls.set(ticket, { apiKey: request.apiKey, nodeId });
  events.push({ kind: 'call', ticket, nodeId, timeoutMs: raft.peers.times.requestTimeoutMs, ...request });
}

/** Answers a request, in words that its version has. */
export function reply<K extends PeerKey>(turn: Turn, waiter: number, apiKey: K, response: ResponseInputOf<K>): void {
  const whole = response as ResponseInputOf<PeerKey>;
  // Version 0 cannot say where the leader listens; a Fetch sees to that itself.
  const isBare = turn.raft.bareWaiters.delete(waiter);
  turn.events.push({ kind: 'reply', waiter, apiKey, response: isBare ? { ...whole, nodeEndpoints: [] } : whole });
}
