/**
 * The replica that a leader has sent a reader to because it stands in the reader's rack (KIP-392).
 *
 * The reader keeps to it for NEARBY_MS, unless anything goes wrong there: then it asks the leader again, who may name
 * it once more. Such a replica shows what it knows to be committed, and may know less than the leader. Invariant: it is
 * asked for records only; where a log begins or an epoch ended is the leader's to say. A crash forgets it.
 */
import { type Address, peerKey } from '../channel/channel.ts';
import type { ClusterView, Leader } from './metadata.ts';

/** Where the next fetches go in the place of the leader. */
export interface Nearby {
  readonly peer: string;
  readonly address: Address;
  readonly untilMs: number;
}

/** The leader is asked again after so long whether another replica is nearer: Kafka's `metadata.max.age.ms`. */
export const NEARBY_MS = 300_000;

/** The replica that the leader has named; null for one that the client knows no address of. */
export function nearbyOf(view: ClusterView, nodeId: number, nowMs: number): Nearby | null {
  const address = view.brokers.get(nodeId);
  return address === undefined ? null : { peer: peerKey(address), address, untilMs: nowMs + NEARBY_MS };
}

/** Whom to ask for records: the nearby replica while it stands, under the leader's epoch; else the leader. */
export function sourceOf(leader: Leader, nearby: Nearby | null, nowMs: number): Leader {
  if (nearby === null || nearby.untilMs <= nowMs) return leader;
  const { peer, address } = nearby;
  return { ...leader, peer, address };
}
