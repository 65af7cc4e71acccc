/**
 * What the members of the quorum say to each other, carried between the member of this process and the connections:
 * its calls go out through `peers.ts`, what others ask comes in through the controller's listener. No state but the
 * requests that wait in the host.
 */
import { CONTROLLER } from '../../controller/machine.ts';
import { takeQuorumAnswer, takeQuorumRequest } from '../../coordination/quorum.ts';
import { nextTicket } from '../../lib/ids.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import type { RequestOf } from '../../protocol/messages/index.ts';
import type { CallOutcome, PeerKey } from '../../raft/raft.ts';
import { controllerAddress } from '../addresses.ts';
import { answer, finish } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import { type ControllerHost, type HostEvent, takeEvents } from './controller-host.ts';
import { callPeer, type PeerOutcome } from './peers.ts';

/** The lowest versions that members speak among themselves. */
const VERSIONS: ReadonlyMap<number, number> = new Map([
  [1, 17],
  [52, 2],
  [53, 1],
  [54, 1],
  [59, 1],
  [18, 4],
  [80, 1],
  [81, 0],
  [82, 0],
]);

/** The member of this process wants something of another one. What is fetched may be long in coming. */
export function sendToMember(node: Node, env: Env, event: Extract<HostEvent, { kind: 'call' }>, out: Outbox): void {
  const { ticket, nodeId, apiKey, body, timeoutMs } = event;
  const purpose = apiKey === 1 || apiKey === 59 ? 'quorumFetch' : 'quorum';
  const call = { to: controllerAddress(node, nodeId), purpose, apiKey, body, timeoutMs } as const;
  callPeer(node, env, { ...call, versionMin: VERSIONS.get(apiKey) ?? 0 }, { kind: 'quorum', ticket }, out);
}

/** What came of it. */
export function takeMemberAnswer(node: Node, env: Env, ticket: number, outcome: PeerOutcome, out: Outbox): void {
  const { controller } = node;
  if (controller === null) return;
  const events: HostEvent[] = [];
  takeQuorumAnswer(controller.quorum, CONTROLLER, env, ticket, outcome as CallOutcome, out, events);
  takeEvents(node, env, controller, events, out);
}

/** Another member wants something of the one of this process. */
export function takeMemberRequest<K extends PeerKey>(
  node: Node,
  env: Env,
  request: Request,
  apiKey: K,
  body: RequestOf<K>,
  out: Outbox,
): void {
  const { controller } = node;
  if (controller === null) {
    finish(node, request);
    return;
  }
  const waiter = nextTicket(node.ids);
  controller.members.set(waiter, request);
  const asked = { apiKey, version: request.version, body, waiter };
  const events: HostEvent[] = [];
  takeQuorumRequest(controller.quorum, CONTROLLER, env, asked, out, events);
  takeEvents(node, env, controller, events, out);
}

/** Its answer. */
export function replyToMember(node: Node, host: ControllerHost, event: Extract<HostEvent, { kind: 'reply' }>): void {
  const request = host.members.get(event.waiter);
  host.members.delete(event.waiter);
  if (request !== undefined) answer(node, request, event.apiKey, event.response);
}
