/**
 * The producer id of an idempotent producer: asked for once, and again when it is of no more use.
 *
 * Any broker may be asked. Ids are never asked for to retry a batch whose outcome is open; that is the lines' concern.
 * A crash forgets the id; the next life asks for another one.
 */
import { backoffMs } from '../channel/backoff.ts';
import { type Answer, answerBody, type ChannelEvent, callPeer, versionFor } from '../channel/channel.ts';
import { assert } from '../lib/assert.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode, errorInfo } from '../protocol/errors.ts';
import { type Cluster, findPeer, openAnother, USELESS_MAX } from './cluster.ts';

/** none: to be asked for. asked: the call is out. refused: `error` says why there will be none. */
export interface Identity {
  state: 'none' | 'asked' | 'known' | 'refused';
  producerId: number;
  /** The epoch that the broker gave; lines count up from it on their own. */
  producerEpoch: number;
  ticket: number;
  retryAtMs: number;
  failures: number;
  error: number;
}

const INIT_PRODUCER_ID = 22;
/** The longest wait between two attempts. */
const BACKOFF_MAX_MS = 1000;

/** Asks for an id if there is none and a broker is at hand. */
export function pursueIdentity(identity: Identity, cluster: Cluster, env: Env, out: Outbox): void {
  if (identity.state !== 'none' || identity.retryAtMs > env.nowMs) return;
  if (identity.failures >= USELESS_MAX) openAnother(cluster, env, out);
  const peer = findPeer(cluster, env, out);
  if (peer === null) return;
  const version = versionFor(cluster.channel, peer.key, INIT_PRODUCER_ID);
  if (version < 0) {
    identity.state = 'refused';
    identity.error = ErrorCode.UNSUPPORTED_VERSION;
    return;
  }
  const body = { transactionalId: null, transactionTimeoutMs: 0x7fffffff };
  identity.ticket = callPeer(cluster.channel, env, peer.key, { apiKey: INIT_PRODUCER_ID, version, body }, out);
  identity.state = 'asked';
}

/** Takes what became of the question. */
export function takeIdentity(
  identity: Identity,
  cluster: Cluster,
  env: Env,
  event: Answer | Extract<ChannelEvent, { readonly kind: 'lost' }>,
): void {
  identity.ticket = 0;
  const error = event.kind === 'lost' ? ErrorCode.NETWORK_EXCEPTION : accept(identity, event);
  if (error === ErrorCode.NONE) return;
  if (!errorInfo(error).retriable) {
    identity.state = 'refused';
    identity.error = error;
    return;
  }
  identity.state = 'none';
  identity.failures += 1;
  const { retryBackoffMs } = cluster.options;
  identity.retryAtMs = env.nowMs + backoffMs(cluster.channel, identity.failures, retryBackoffMs, BACKOFF_MAX_MS);
}

function accept(identity: Identity, event: Answer): number {
  const { errorCode, producerId, producerEpoch } = answerBody(event, INIT_PRODUCER_ID);
  if (errorCode !== ErrorCode.NONE) return errorCode;
  // An id below zero means "none": a broker that gives one makes no sense.
  if (producerId < 0 || producerEpoch < 0) return ErrorCode.UNKNOWN_SERVER_ERROR;
  identity.state = 'known';
  identity.producerId = producerId;
  identity.producerEpoch = producerEpoch;
  identity.failures = 0;
  return ErrorCode.NONE;
}

/** When a question that had to wait may be asked; Infinity if none waits. */
export function identityDeadlineMs(identity: Identity, drivenAtMs: number): number {
  const isWaiting = identity.state === 'none' && identity.retryAtMs > drivenAtMs;
  return isWaiting ? identity.retryAtMs : Number.POSITIVE_INFINITY;
}

/** True between any two steps. */
export function checkIdentity(identity: Identity): void {
  assert((identity.state === 'asked') === (identity.ticket !== 0), 'a producer id is awaited that was not asked for');
  assert(identity.state !== 'known' || identity.producerId >= 0, 'a producer id is known and is none');
}
