/**
 * The network between the members of a quorum in a test. Requests and answers go through the wire formats. It loses
 * them, or ends their connection, delays some for long, repeats some late, and cuts ways, one way and both: then
 * nothing gets through and nobody is told. Where nobody is up, the port refuses.
 */
import { takeQuorumAnswer, takeQuorumRequest } from '../../core/coordination/quorum.ts';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import type { CallKey, CallOutcome, PeerEvent, PeerKey } from '../../core/raft/raft.ts';
import { TALLY } from '../coordination/tally.ts';
import { concat } from '../log/world.ts';
import { act, CLUSTER_ID, later } from './cluster.ts';
import type { Cluster, Member, Reply } from './cluster-state.ts';

/** The versions that members speak. */
const VERSIONS = new Map<CallKey, number>([
  [1, 18],
  [18, 5],
  [52, 2],
  [53, 1],
  [54, 1],
  [59, 1],
  [80, 1],
  [81, 0],
  [82, 0],
]);

/** One frame without its length. */
function frameBytes(parts: readonly Uint8Array[]): Uint8Array {
  return concat(parts).subarray(4);
}

function isCut(cluster: Cluster, from: Member, to: Member): boolean {
  return cluster.network.cuts.has(`${from.id}>${to.id}`);
}

function delayMs(cluster: Cluster): number {
  const most = cluster.network.delayMs;
  // A long tail: one in thirty takes twenty times as long.
  const factor = cluster.dice() < 0.03 ? 20 : 1;
  return Math.ceil(cluster.dice() * most * factor);
}

function isLost(cluster: Cluster): boolean {
  return cluster.dice() * 100 < cluster.network.lossPercent;
}

/** Carries a call to its member, and what comes of it back. */
export function call(cluster: Cluster, from: Member, event: Extract<PeerEvent, { readonly kind: 'call' }>): void {
  const { ticket, nodeId, apiKey, timeoutMs } = event;
  const to = cluster.members[nodeId < 0 ? -1 - nodeId : nodeId - 1] as Member;
  cluster.sent.push({ from: from.id, to: to.id, apiKey, body: event.body });
  const version = VERSIONS.get(apiKey) as number;
  const frame = frameBytes(encodeRequest(apiKey, version, 1, null, event.body as RequestInputOf<CallKey>));
  let isOver = false;
  const { life } = from;
  const finish = (outcome: CallOutcome): void => {
    if (isOver || from.life !== life) return;
    isOver = true;
    act(cluster, from, (quorum, env, out, events) =>
      takeQuorumAnswer(quorum, TALLY, env, ticket, outcome, out, events),
    );
  };
  later(cluster, timeoutMs, from, () => finish({ failure: 'timedOut' }));
  if (isLost(cluster)) {
    if (cluster.dice() < 0.5) later(cluster, delayMs(cluster), from, () => finish({ failure: 'closed' }));
    return;
  }
  if (isCut(cluster, from, to)) return;
  const end = (outcome: Reply | 'closed'): void => {
    if (isCut(cluster, to, from) || isLost(cluster)) return;
    later(cluster, delayMs(cluster), from, () => {
      if (outcome === 'closed') finish({ failure: 'closed' });
      else finish({ response: decodeResponse(apiKey, version, outcome.bytes).body as never });
    });
  };
  const arrive = (isFirst: boolean): void => {
    if (isCut(cluster, from, to)) return;
    if (to.quorum === null) {
      if (isFirst && !isCut(cluster, to, from)) {
        later(cluster, delayMs(cluster), from, () => finish({ failure: 'refused' }));
      }
      return;
    }
    const { body } = decodeRequest(apiKey, version, frame);
    if (apiKey === 18) {
      if (isFirst) end({ bytes: frameOf(apiKey, version, supportOf(to, body as RequestOf<18>)) });
      return;
    }
    const waiter = cluster.nextWaiter++;
    cluster.waiters.set(waiter, { member: to, version, body, end: isFirst ? end : () => {} });
    const request = { apiKey, version, body: body as never, waiter };
    act(cluster, to, (quorum, env, out, events) => takeQuorumRequest(quorum, TALLY, env, request, out, events));
  };
  deliver(cluster, to, delayMs(cluster), () => arrive(true));
  if (cluster.dice() * 100 < cluster.network.repeatPercent) {
    deliver(cluster, to, Math.floor(cluster.dice() * 3000), () => arrive(false));
  }
}

/** What a node says that it supports, if it is the one that is meant. */
function supportOf(member: Member, { clusterId, nodeId }: RequestOf<18>): ResponseInputOf<18> {
  const isMeant = clusterId === CLUSTER_ID && nodeId === member.id;
  const errorCode = isMeant ? ErrorCode.NONE : ErrorCode.REBOOTSTRAP_REQUIRED;
  const supportedFeatures = [{ name: 'kraft.version', minVersion: 0, maxVersion: 1 }];
  return { errorCode, apiKeys: [], throttleTimeMs: 0, supportedFeatures };
}

/** What is on its way to a member reaches whatever life it has by then, and waits while it is paused. */
function deliver(cluster: Cluster, to: Member, ms: number, run: () => void): void {
  later(cluster, ms, null, () => {
    if (to.pausedUntilMs > cluster.nowMs) deliver(cluster, to, to.pausedUntilMs - cluster.nowMs, run);
    else run();
  });
}

/** What a member answers to a request of another, or of a stranger; null until it does. */
export function request<K extends PeerKey>(
  cluster: Cluster,
  to: Member,
  apiKey: K,
  given: RequestInputOf<K>,
  version = VERSIONS.get(apiKey) as number,
): { response: ResponseOf<K> | null } {
  const frame = frameBytes(encodeRequest(apiKey, version, 1, null, given));
  const { body } = decodeRequest(apiKey, version, frame);
  const answer: { response: ResponseOf<K> | null } = { response: null };
  const waiter = cluster.nextWaiter++;
  const end = (outcome: Reply | 'closed'): void => {
    if (outcome !== 'closed') answer.response = decodeResponse(apiKey, version, outcome.bytes).body;
  };
  cluster.waiters.set(waiter, { member: to, version, body, end });
  act(cluster, to, (quorum, env, out, events) =>
    takeQuorumRequest(quorum, TALLY, env, { apiKey, version, body: body as never, waiter }, out, events),
  );
  return answer;
}

/** Cuts the way from one set of members to another, one way. */
export function cut(cluster: Cluster, from: readonly number[], to: readonly number[]): void {
  for (const a of from) for (const b of to) if (a !== b) cluster.network.cuts.add(`${a}>${b}`);
}

/** An answer as it goes over the wire. */
export function frameOf(apiKey: CallKey, version: number, response: ResponseInputOf<CallKey>): Uint8Array {
  return frameBytes(encodeResponse(apiKey, version, 1, response as never));
}
