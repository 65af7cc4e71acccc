/**
 * Posting: which batches go to which leader in which request.
 *
 * A request to a leader takes one batch of every line that may give one out, as many as fit, the line that was served
 * longest ago first. Encoding happens here, once a batch and epoch; retries send the same bytes.
 */
import { callPeer, canCall, openPeer, versionFor } from '../channel/channel.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { encodeBatch } from '../protocol/records.ts';
import { markStale } from './cluster.ts';
import { acknowledged, adopt, type Batch, giveOut, type Line, nextBatch, refused } from './lines.ts';
import { type Leader, leaderOf } from './metadata.ts';
import { type Posted, produceBody, TOPIC_IDS_SINCE } from './produce-call.ts';
import type { Producer, ProducerEvent } from './producer.ts';

/** Default of `requestBytesMax`, as Kafka's `max.request.size`. */
export const REQUEST_BYTES_MAX = 1024 * 1024;
const PRODUCE = 0;

/** Posts batches to every leader that has room, until no more may go. */
export function post(producer: Producer, env: Env, out: Outbox, events: ProducerEvent[]): void {
  const { channel, view } = producer.cluster;
  const groups = new Map<string, { leader: Leader; lines: Line[] }>();
  for (const line of producer.active) {
    const leader = leaderOf(view, line.topic, line.partition);
    if (leader === null) {
      markStale(producer.cluster);
      continue;
    }
    const group = groups.get(leader.peer);
    if (group === undefined) groups.set(leader.peer, { leader, lines: [line] });
    else group.lines.push(line);
  }
  for (const [peer, { leader, lines }] of groups) {
    if (!lines.some((line) => canGo(producer, env, line, peer) !== null)) continue;
    openPeer(channel, env, leader.address, out);
    while (canCall(channel, peer)) {
      const posted = collect(producer, env, peer, lines, events);
      if (posted.length === 0) break;
      send(producer, env, peer, posted, out, events);
    }
  }
}

function canGo(producer: Producer, env: Env, line: Line, peer: string): Batch | null {
  if (producer.isIdempotent) {
    const { identity } = producer;
    if (identity.state !== 'known') return null;
    if (line.sent.length === 0 && line.producerId !== identity.producerId) {
      if (line.isBroken) return null;
      adopt(line, identity.producerId, identity.producerEpoch);
    }
  }
  return nextBatch(line, producer, env.nowMs, peer);
}

/** The batches of one request: one a line, in the order of `active`, as many as fit. */
function collect(
  producer: Producer,
  env: Env,
  peer: string,
  lines: readonly Line[],
  events: ProducerEvent[],
): Posted[] {
  const { requestBytesMax = REQUEST_BYTES_MAX, compression } = producer.options;
  const posted: Posted[] = [];
  let sizeBytes = 0;
  for (const line of lines) {
    const batch = canGo(producer, env, line, peer);
    if (batch === null || (posted.length > 0 && sizeBytes + batch.sizeBytes > requestBytesMax)) continue;
    giveOut(line, producer, batch, peer);
    const { producerId, producerEpoch } = line;
    const identity = producer.isIdempotent ? { producerId, producerEpoch, baseSequence: batch.sequence } : {};
    try {
      batch.bytes ??= encodeBatch(batch.records, { codec: compression, codecs: env.codecs, ...identity });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const why = { error: ErrorCode.INVALID_RECORD, message: error.message };
      refused(line, producer, batch, why, events);
      continue;
    }
    sizeBytes += batch.sizeBytes;
    posted.push({ line, batch, topicId: producer.cluster.view.topics.get(line.topic)?.id ?? ZERO_UUID });
  }
  return posted;
}

function send(
  producer: Producer,
  env: Env,
  peer: string,
  posted: Posted[],
  out: Outbox,
  events: ProducerEvent[],
): void {
  const { channel } = producer.cluster;
  const { acks, requestTimeoutMs } = producer.options;
  const hasIds = posted.every(({ topicId }) => topicId !== ZERO_UUID);
  const version = versionFor(channel, peer, PRODUCE, hasIds ? undefined : TOPIC_IDS_SINCE - 1);
  if (version < 0) {
    const why = { error: ErrorCode.UNSUPPORTED_VERSION, message: 'the broker speaks no version of Produce that we do' };
    for (const { line, batch } of posted) refused(line, producer, batch, why, events);
    return;
  }
  // The broker gives up a little before we do, so that its answer is not lost with the connection.
  const body = produceBody(acks, requestTimeoutMs - Math.floor(requestTimeoutMs / 10), posted);
  const ticket = callPeer(channel, env, peer, { apiKey: PRODUCE, version, body, isOneWay: acks === 0 }, out);
  for (const { line, batch } of posted) {
    batch.request = ticket;
    // The line goes to the end, so that none starves where not all fit.
    producer.active.delete(line);
    producer.active.add(line);
    if (acks === 0) acknowledged(line, producer, batch, { baseOffset: -1, timeMs: -1 }, events);
  }
  if (acks !== 0) producer.requests.set(ticket, posted);
}
