/**
 * Requests of clients to coordinators of groups. A request is one call or several, each for the groups of one
 * partition; it is answered when the last of them is. A call whose groups are not here is answered so at once.
 *
 * What waits is limited in number, and what waits for other members (JoinGroup, SyncGroup) in bytes too: such a request
 * no longer counts as one that is being worked on. A client that goes is waited for by nobody. A crash loses who waits.
 */
import { nextTicket } from '../../lib/ids.ts';
import { UUID_BYTES } from '../../lib/uuid.ts';
import type { Env, HostInput, Outbox } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { finish, release } from '../answers.ts';
import { randomUuid } from '../checkpoints/files.ts';
import type { Node, Request } from '../state.ts';
import { answerGather } from './gathered.ts';
import { submitCall } from './hosting.ts';
import { OFFSETS_TOPIC, partitionOfGroup } from './names.ts';
import { refusalOf } from './refusals.ts';
import type { AnswerBody, ClientCall, Gather, GroupHost, Waiting } from './state.ts';

/** Calls that wait for an answer at one time; one more is refused. */
export const CALLS_MAX = 100_000;
/** Uuids that are drawn at a time. */
const DRAWN = 64;

/** What every call says of its client. */
export function clientOf({ version, clientId, connection }: Request): {
  readonly apiVersion: number;
  readonly clientId: string;
  readonly clientHost: string;
} {
  return { apiVersion: version, clientId: clientId ?? '', clientHost: `/${connection?.peerHost ?? ''}` };
}

/** The coordinator of a group, if it is hosted here. */
function hostOf(node: Node, groupId: string): GroupHost | null {
  const topic = node.topics.byName.get(OFFSETS_TOPIC);
  if (topic === undefined || topic.partitions.length === 0) return null;
  return topic.partitions[partitionOfGroup(groupId, topic.partitions.length)]?.host ?? null;
}

function beginGather(
  request: Request,
  kind: Gather['kind'],
  first: ClientCall | null,
  wantsOperations = false,
): Gather {
  // Beside the calls the request itself counts as one, so that nothing is answered before all have been asked.
  const gather: Gather = {
    request,
    kind,
    first,
    wantsOperations,
    bodies: [],
    remaining: 1,
    at: [],
    waitingBytes: 0,
  };
  request.gather = gather;
  return gather;
}

/** Asks the coordinator of one group; its answer is the request's. */
export function askGroup(node: Node, env: Env, request: Request, groupId: string, call: ClientCall, out: Outbox): void {
  askGroups(node, env, request, call.kind, [{ groupId, call }], out);
}

/** Asks the coordinators of several groups; `gathered.ts` makes one answer of all of theirs. */
export function askGroups(
  node: Node,
  env: Env,
  request: Request,
  kind: Gather['kind'],
  calls: readonly { readonly groupId: string; readonly call: ClientCall }[],
  out: Outbox,
  wantsOperations = false,
): void {
  const gather = beginGather(request, kind, calls[0]?.call ?? null, wantsOperations);
  for (const [slot, { groupId, call }] of calls.entries()) {
    gather.remaining += 1;
    route(node, env, { gather, slot, call }, groupId, out);
  }
  endOne(node, gather);
  if (gather.remaining > 0 && isLong(kind)) letWait(node, gather);
}

/** Asks every coordinator here. */
export function askAllHosts(node: Node, env: Env, request: Request, call: ClientCall, out: Outbox): void {
  const gather = beginGather(request, call.kind, call);
  let slot = 0;
  for (const host of [...node.groups.hosts]) {
    gather.remaining += 1;
    submitCall(node, env, host, { gather, slot, call }, '', out);
    slot += 1;
  }
  endOne(node, gather);
}

/** Whether such a request waits for other members. */
function isLong(kind: Gather['kind']): boolean {
  return kind === 'joinGroup' || kind === 'syncGroup';
}

/** What waits for other members must not keep the node from reading requests. */
function letWait(node: Node, gather: Gather): void {
  gather.waitingBytes = gather.request.sizeBytes;
  node.groups.waitingBytes += gather.waitingBytes;
  release(node, gather.request);
}

function route(node: Node, env: Env, waiting: Waiting, groupId: string, out: Outbox): void {
  const { groups, config } = node;
  const { call } = waiting;
  const host = hostOf(node, groupId);
  const isFull = groups.waitersCount + groups.undrawn.length >= CALLS_MAX;
  if (host === null) {
    endCall(node, waiting, refusalOf(call, ErrorCode.NOT_COORDINATOR));
  } else if (isFull || (isLong(call.kind) && groups.waitingBytes > config['queued.max.request.bytes'])) {
    env.reached('broker.too_many_group_calls');
    endCall(node, waiting, refusalOf(call, ErrorCode.COORDINATOR_NOT_AVAILABLE));
  } else if (!needsUuid(call)) {
    submitCall(node, env, host, waiting, '', out);
  } else {
    const uuid = groups.uuids.pop();
    if (uuid === undefined) groups.undrawn.push({ waiting, groupId });
    else submitCall(node, env, host, waiting, uuid, out);
    draw(node, out);
  }
}

/** Whether a call may make a member, which needs a name. */
function needsUuid(call: ClientCall): boolean {
  return (call.kind === 'joinGroup' || call.kind === 'consumerGroupHeartbeat') && call.body.memberId === '';
}

/** Asks for more uuids where few are left. */
function draw({ groups, ids }: Node, out: Outbox): void {
  if (groups.drawTicket !== 0 || groups.uuids.length >= DRAWN / 2) return;
  groups.drawTicket = nextTicket(ids);
  out.push({ kind: 'entropy', length: DRAWN * UUID_BYTES, owner: groups.owner, ticket: groups.drawTicket });
}

/** Entropy has come: the calls that waited for it go on. */
export function takeDrawn(node: Node, env: Env, input: Extract<HostInput, { kind: 'entropy' }>, out: Outbox): void {
  const { groups } = node;
  if (input.ticket !== groups.drawTicket) return;
  groups.drawTicket = 0;
  for (let at = 0; at < input.bytes.length; at += UUID_BYTES) groups.uuids.push(randomUuid(input.bytes, at));
  for (const { waiting, groupId } of groups.undrawn.splice(0)) {
    if (waiting.gather.remaining > 0) route(node, env, waiting, groupId, out);
  }
}

/** A call is answered. */
export function endCall(node: Node, { gather, slot }: Waiting, body: AnswerBody): void {
  if (gather.remaining <= 0) return;
  gather.bodies[slot] = body;
  endOne(node, gather);
}

function endOne(node: Node, gather: Gather): void {
  gather.remaining -= 1;
  if (gather.remaining > 0) return;
  gather.request.gather = null;
  node.groups.waitingBytes -= gather.waitingBytes;
  gather.waitingBytes = 0;
  answerGather(node, gather);
}

/** The client is gone: nobody waits for its answer. What it asked for is done all the same. */
export function cancelGather(node: Node, gather: Gather): void {
  const { groups } = node;
  for (const { host, waiter } of gather.at) if (host.waiters.delete(waiter)) groups.waitersCount -= 1;
  gather.remaining = 0;
  gather.request.gather = null;
  groups.waitingBytes -= gather.waitingBytes;
  gather.waitingBytes = 0;
  finish(node, gather.request);
}
