/**
 * Holds what a node says of its logs when it fetches as a replica against what they are: where a log ends and under
 * which epoch. By that its leader tells whether the logs have parted (KIP-320, KIP-595), so that whoever says less
 * keeps what nobody else has, if ever there is such a thing; mostly there is not, and nobody comes to harm.
 *
 * Of several nodes only. A request that was made before its replica went on under another leader, or was cut, says
 * what was so: it is passed over. Reads states and what is sent, and changes nothing.
 */
import type { Node } from '../../core/broker/node.ts';
import { joinParts } from '../../core/lib/bytes.ts';
import type { Outbox } from '../../core/lib/world.ts';
import { epochAt, lastEpoch } from '../../core/log/epochs.ts';
import type { Log } from '../../core/log/log.ts';
import { decodeRequest, peekRequest } from '../../core/protocol/codec.ts';
import { FRAME_LENGTH_BYTES } from '../../core/protocol/frame.ts';
import { METADATA_TOPIC_ID } from '../../core/raft/names.ts';
import type { Complaint } from '../../core/verify/history.ts';
import { type Claimed, judgeClaimed } from '../../core/verify/standing.ts';

const FETCH = 1;
/** A request begins with its length and its key. Bytes. */
const API_KEY_END = FRAME_LENGTH_BYTES + 2;

/** A replica as its node knows it. */
interface Known {
  readonly name: string;
  readonly log: Log;
  readonly leaderEpoch: number;
  /** The epoch of what a snapshot holds, or of a lead under which nothing was appended. */
  readonly latestEpoch: number;
}

/** The first false word among the fetches that a node sends in a step. */
export function judgeClaims(node: Node, out: Outbox): Complaint | null {
  for (const effect of out) {
    // Who has dialled asks, one request with each send.
    if (effect.kind !== 'send' || effect.connection > 0) continue;
    const apiKey = keyOf(effect.parts);
    if (apiKey >= 0 && apiKey !== FETCH) continue;
    const frame = joinParts(effect.parts).subarray(FRAME_LENGTH_BYTES);
    const head = peekRequest(frame);
    if (head === null || head.apiKey !== FETCH) continue;
    const { topics } = decodeRequest(FETCH, head.apiVersion, frame).body;
    for (const { topicId, partitions } of topics) {
      for (const partition of partitions) {
        const known = knownOf(node, topicId, partition.partition);
        const found = known === null ? null : judgeOne(node, known, partition);
        if (found !== null) return found;
      }
    }
  }
  return null;
}

/** The key of a request; -1 where the first part does not hold it. */
function keyOf([first]: readonly Uint8Array[]): number {
  if (first === undefined || first.length < API_KEY_END) return -1;
  return ((first[API_KEY_END - 2] as number) << 8) | (first[API_KEY_END - 1] as number);
}

function knownOf(node: Node, topicId: string, index: number): Known | null {
  if (topicId === METADATA_TOPIC_ID) {
    const raft = node.controller?.quorum.raft;
    if (raft === undefined) return null;
    const { log, epoch: leaderEpoch, snapshots } = raft;
    const ofSnapshot = snapshots[snapshots.length - 1]?.epoch ?? 0;
    return { name: 'the metadata', log, leaderEpoch, latestEpoch: Math.max(lastEpoch(log.epochs), ofSnapshot) };
  }
  const partition = node.topics.byId.get(topicId)?.partitions[index] ?? null;
  if (partition === null || partition.followed === null) return null;
  const { log, followed, topic } = partition;
  const { leaderEpoch } = followed;
  return { name: `${topic.name}-${index}`, log, leaderEpoch, latestEpoch: lastEpoch(log.epochs) };
}

function judgeOne(
  { nodeId: follower }: Node,
  { name, log, leaderEpoch, latestEpoch }: Known,
  { currentLeaderEpoch, fetchOffset, lastFetchedEpoch }: Omit<Claimed, 'log' | 'follower' | 'ownEpoch' | 'latestEpoch'>,
): Complaint | null {
  const isOfNow = currentLeaderEpoch === leaderEpoch && (fetchOffset === log.end || fetchOffset === log.durable);
  if (!isOfNow || fetchOffset <= log.start) return null;
  const ownEpoch = epochAt(log.epochs, fetchOffset - 1);
  return judgeClaimed({
    log: name,
    follower,
    currentLeaderEpoch,
    fetchOffset,
    lastFetchedEpoch,
    ownEpoch,
    latestEpoch,
  });
}
