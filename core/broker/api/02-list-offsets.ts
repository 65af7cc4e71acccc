/**
 * ListOffsets: v1–11. The offset of the first record that is not older than a timestamp, or of a special place.
 *
 * Special timestamps: -1 the end that readers see, -2 the start, -3 the record with the largest timestamp (v7,
 * KIP-734), -4 the start of what is local (v8, KIP-405), -5 the end of what is tiered (v9, KIP-1005), -6 the first
 * that is not tiered yet (v11, KIP-1023). Nothing is tiered here, so -5 and -6 have no offset, as with a Kafka that
 * has no remote storage. A search that has to read files answers when they have been read.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import { epochAt } from '../../log/epochs.ts';
import { findTimestamp, latestEpoch, maxTimestamp } from '../../log/log.ts';
import type { TimestampFound } from '../../log/types.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ListOffsetsRequest, ListOffsetsResponse } from '../../protocol/messages/02-list-offsets.ts';
import { fence } from '../../replication/fencing.ts';
import { answer } from '../answers.ts';
import { missingError } from '../partitions/leaders.ts';
import { touch } from '../partitions/partitions.ts';
import type { Node, Partition, Request } from '../state.ts';

const KEY = 2;
const LATEST = -1;
const EARLIEST = -2;
const MAX_TIMESTAMP = -3;
const EARLIEST_LOCAL = -4;
const LATEST_TIERED = -5;
const EARLIEST_PENDING_UPLOAD = -6;
/** The first version whose answers have a leader epoch. */
const LEADER_EPOCH_SINCE = 4;
/** The first version whose clients know OFFSET_NOT_AVAILABLE (KIP-207). */
const OFFSET_NOT_AVAILABLE_SINCE = 5;
/** The first version that knows each special timestamp, by its negative. */
const SINCE: readonly number[] = [0, 1, 1, 7, 8, 9, 11];

type Asked = ListOffsetsRequest['topics'][number]['partitions'][number];
type PartitionAnswer = ListOffsetsResponse['topics'][number]['partitions'][number];

/** A ListOffsets request while searches are under way. */
interface Listing {
  readonly request: Request;
  readonly response: ListOffsetsResponse;
  /** Searches that have not ended. */
  remaining: number;
}

/** One search by timestamp. */
export interface Lookup {
  readonly listing: Listing;
  readonly reply: PartitionAnswer;
}

/** Answers at once, or when the last search has ended. */
export function handleListOffsets(node: Node, env: Env, request: Request, body: ListOffsetsRequest, out: Outbox): void {
  const listing: Listing = { request, response: { throttleTimeMs: 0, topics: [] }, remaining: 1 };
  const byTopic = new Map<string, PartitionAnswer[]>();
  const counts = countAsked(body);
  for (const { name, partitions } of body.topics) {
    let replies = byTopic.get(name);
    if (replies === undefined) {
      replies = [];
      byTopic.set(name, replies);
      listing.response.topics.push({ name, partitions: replies });
    }
    for (const asked of partitions) {
      // What is asked twice is refused once.
      const key = `${name}/${asked.partitionIndex}`;
      const count = counts.get(key) ?? 0;
      if (count === 0) continue;
      counts.set(key, 0);
      const reply: PartitionAnswer = {
        partitionIndex: asked.partitionIndex,
        errorCode: ErrorCode.NONE,
        timestamp: -1,
        offset: -1,
        leaderEpoch: -1,
      };
      replies.push(reply);
      if (count > 1) reply.errorCode = ErrorCode.INVALID_REQUEST;
      else search(node, env, listing, name, asked, reply, body.replicaId, out);
    }
  }
  finishOne(node, listing);
}

/** How often each partition is asked for, by topic and number. */
function countAsked(body: ListOffsetsRequest): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name, partitions } of body.topics) {
    for (const { partitionIndex } of partitions) {
      const key = `${name}/${partitionIndex}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

/** A search has ended; `ticket` may be one that nobody waits for. */
export function finishLookup(node: Node, partition: Partition, ticket: number, found: TimestampFound): void {
  const lookup = partition.lookups?.get(ticket);
  if (lookup === undefined) return;
  partition.lookups?.delete(ticket);
  if (partition.lookups?.size === 0) partition.lookups = null;
  take(lookup.reply, found);
  finishOne(node, lookup.listing);
}

function search(
  node: Node,
  env: Env,
  listing: Listing,
  name: string,
  asked: Asked,
  reply: PartitionAnswer,
  replicaId: number,
  out: Outbox,
): void {
  const partition = node.topics.byName.get(name)?.partitions[asked.partitionIndex] ?? null;
  if (partition === null) {
    reply.errorCode = missingError(node, { name }, asked.partitionIndex);
    return;
  }
  reply.errorCode = fence(partition.leader, asked.currentLeaderEpoch);
  if (reply.errorCode !== ErrorCode.NONE) return;
  const { timestamp } = asked;
  const since = timestamp >= 0 ? 0 : (SINCE[-timestamp] ?? Number.POSITIVE_INFINITY);
  if (since > listing.request.version) {
    reply.errorCode = ErrorCode.UNSUPPORTED_VERSION;
    return;
  }
  const { log, leader } = partition;
  const isReplica = replicaId >= 0;
  if (!isReplica && timestamp !== EARLIEST && timestamp !== EARLIEST_LOCAL && isBehind(partition)) {
    const isKnown = listing.request.version >= OFFSET_NOT_AVAILABLE_SINCE;
    reply.errorCode = isKnown ? ErrorCode.OFFSET_NOT_AVAILABLE : ErrorCode.LEADER_NOT_AVAILABLE;
    return;
  }
  if (timestamp < 0 && timestamp !== MAX_TIMESTAMP) {
    special(partition, timestamp, isReplica, reply);
    return;
  }
  const outcome =
    timestamp === MAX_TIMESTAMP
      ? maxTimestamp(log, env, leader.highWatermark, out)
      : findTimestamp(log, env, timestamp, leader.highWatermark, out);
  touch(node, partition);
  if (outcome.kind === 'found') {
    take(reply, outcome.found);
  } else {
    listing.remaining += 1;
    partition.lookups ??= new Map();
    partition.lookups.set(outcome.ticket, { listing, reply });
  }
}

/**
 * A new leader that has not heard from its followers yet may know less of what is committed than the one before it
 * showed: it does not say where readers stand (KIP-207).
 */
function isBehind({ leader }: Partition): boolean {
  return leader.inSync !== null && leader.highWatermark < leader.inSync.epochStart;
}

function special({ leader, log }: Partition, timestamp: number, isReplica: boolean, reply: PartitionAnswer): void {
  switch (timestamp) {
    case LATEST:
      reply.offset = isReplica ? log.end : leader.highWatermark;
      reply.leaderEpoch = latestEpoch(log);
      break;
    case EARLIEST:
    case EARLIEST_LOCAL:
      reply.offset = log.start;
      reply.leaderEpoch = epochAt(log.epochs, log.start);
      break;
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      break;
    default:
      reply.errorCode = ErrorCode.UNSUPPORTED_VERSION;
  }
}

function take(reply: PartitionAnswer, found: TimestampFound): void {
  reply.errorCode = found.error;
  reply.timestamp = found.timestampMs;
  reply.offset = found.offset;
  reply.leaderEpoch = found.leaderEpoch;
}

function finishOne(node: Node, listing: Listing): void {
  listing.remaining -= 1;
  if (listing.remaining > 0) return;
  if (listing.request.version < LEADER_EPOCH_SINCE) {
    for (const { partitions } of listing.response.topics) for (const reply of partitions) reply.leaderEpoch = -1;
  }
  answer(node, listing.request, KEY, listing.response);
}
