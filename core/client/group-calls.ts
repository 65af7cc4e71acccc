/** Calls of an administrator about groups of consumers: what of them is to be forgotten. Pure, no state. */
import { type Answer, answerBody, type Channel, callPeer } from '../channel/channel.ts';
import type { Env, Outbox } from '../lib/world.ts';
import type { AdminAnswer } from './admin-calls.ts';

/** What an administrator may want of a group. Only its coordinator does that; brokers are asked until one does. */
export type GroupRequest =
  /** Refused while the group has members. */
  | { readonly kind: 'deleteGroup'; readonly groupId: string }
  /** Refused while a member reads the topic. */
  | {
      readonly kind: 'deleteOffset';
      readonly groupId: string;
      readonly topic: string;
      readonly partition: number;
    };

/** The keys of the calls. */
export const GROUP_KEYS = { deleteGroup: 42, deleteOffset: 47 } as const;

/** Makes the call; its ticket. */
export function callGroups(
  channel: Channel,
  env: Env,
  peer: string,
  version: number,
  request: GroupRequest,
  out: Outbox,
): number {
  const { groupId } = request;
  if (request.kind === 'deleteGroup') {
    const body = { groupsNames: [groupId] };
    return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.deleteGroup, version, body }, out);
  }
  const { topic: name, partition: partitionIndex } = request;
  const body = { groupId, topics: [{ name, partitions: [{ partitionIndex }] }] };
  return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.deleteOffset, version, body }, out);
}

/** What an answer says; undefined where it leaves out what was asked. */
export function readGroupAnswer({ kind }: GroupRequest, event: Answer): AdminAnswer | undefined {
  if (kind === 'deleteGroup') {
    const result = answerBody(event, GROUP_KEYS.deleteGroup).results[0];
    if (result === undefined) return undefined;
    return { error: result.errorCode, message: result.errorMessage, result: {} };
  }
  const { errorCode, topics } = answerBody(event, GROUP_KEYS.deleteOffset);
  const error = errorCode || topics[0]?.partitions[0]?.errorCode;
  return error === undefined ? undefined : { error, message: null, result: {} };
}
