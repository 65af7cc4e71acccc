/**
 * Producer ids: handed out from a block that was written down, durably, before its first id was given away.
 *
 * The file holds the first id that was never promised to anyone, so a crash loses the rest of a block and never
 * gives an id twice. Until the metadata log exists this file is the node's own.
 */
import { assert } from '../lib/assert.ts';
import type { Timed } from '../lib/heap.ts';
import { nextTicket } from '../lib/ids.ts';
import { encodeUtf8 } from '../lib/utf8.ts';
import type { DiskInput, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { answer } from './answers.ts';
import { exitNode } from './exit.ts';
import { formatNumber, PRODUCER_IDS } from './files.ts';
import { say } from './say.ts';
import type { Node, Request } from './state.ts';

/** Ids in a block, as many as with Kafka. */
export const BLOCK_IDS = 1000;
/** Requests that may wait for a block; one more is asked to come again. */
export const WAITING_MAX = 10_000;

const KEY = 22;

/** The state of the ids. Invariant: `next <= promised`; ids from `promised` on were never given away. */
export interface ProducerIds extends Timed {
  readonly kind: 'producerIds';
  readonly owner: number;
  /** The next id to give. */
  next: number;
  /** What the file says, durably. */
  promised: number;
  /** The ticket of the file's replacement, 0 when none is under way. */
  ticket: number;
  readonly waiting: Request[];
}

/** No ids: the first request brings a block. */
export function createProducerIds(owner: number): ProducerIds {
  const timed = { deadlineMs: Number.POSITIVE_INFINITY, heapIndex: -1 };
  return { kind: 'producerIds', ...timed, owner, next: 0, promised: 0, ticket: 0, waiting: [] };
}

/** What was found at start: ids from `next` on were never promised. */
export function restoreProducerIds(ids: ProducerIds, next: number): void {
  assert(ids.next === 0, 'producer ids are restored once');
  ids.next = next;
  ids.promised = next;
}

/** Answers with a fresh id, now or when the next block is durable. */
export function takeProducerId(node: Node, request: Request, out: Outbox): void {
  const { producerIds } = node;
  if (producerIds.next < producerIds.promised) {
    give(node, request);
  } else if (producerIds.waiting.length >= WAITING_MAX) {
    refuseProducerId(node, request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
  } else {
    producerIds.waiting.push(request);
    promise(node, out);
  }
}

/** Answers with an error. */
export function refuseProducerId(node: Node, request: Request, error: ErrorCode): void {
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: error, producerId: -1, producerEpoch: -1 });
}

/** The file has been replaced, or could not be. */
export function stepProducerIds(node: Node, input: DiskInput, out: Outbox): void {
  const { producerIds } = node;
  if (input.ticket !== producerIds.ticket) return;
  producerIds.ticket = 0;
  const waiting = producerIds.waiting.splice(0);
  if (input.kind === 'diskFailed') {
    if (input.error === 'io') exitNode(node, 1, `the log directory ${node.folder} failed: ${input.detail}`);
    say(out, 'error', `no producer ids: ${PRODUCER_IDS} could not be written: ${input.error} (${input.detail})`);
    for (const request of waiting) refuseProducerId(node, request, ErrorCode.COORDINATOR_NOT_AVAILABLE);
    return;
  }
  producerIds.promised += BLOCK_IDS;
  for (const request of waiting) takeProducerId(node, request, out);
}

function give(node: Node, request: Request): void {
  const { producerIds } = node;
  const producerId = producerIds.next;
  producerIds.next += 1;
  assert(producerIds.next <= producerIds.promised, 'a producer id was given that was not promised');
  answer(node, request, KEY, { throttleTimeMs: 0, errorCode: ErrorCode.NONE, producerId, producerEpoch: 0 });
}

function promise(node: Node, out: Outbox): void {
  const { producerIds } = node;
  if (producerIds.ticket !== 0) return;
  producerIds.ticket = nextTicket(node.ids);
  const bytes = encodeUtf8(formatNumber(producerIds.promised + BLOCK_IDS));
  const { owner, ticket } = producerIds;
  out.push({ kind: 'replace', path: `${node.folder}/${PRODUCER_IDS}`, bytes, owner, ticket });
}
