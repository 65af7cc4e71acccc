/**
 * The calls of an administrator that are about groups of consumers: what of them is to be forgotten, what they are, and
 * which there are. Pure, no state.
 */
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
    }
  /** Of the classic protocol, or without members; others are answered as if they were not there. */
  | { readonly kind: 'describeGroup'; readonly groupId: string }
  /** Of the consumer protocol. */
  | { readonly kind: 'describeConsumerGroup'; readonly groupId: string }
  /** Those that whichever broker is asked coordinates. */
  | { readonly kind: 'listGroups' };

/** What is said of a group. */
export interface DescribedGroup {
  readonly state: string;
  /** Of the group in the consumer protocol; -1 in the classic one. */
  readonly epoch: number;
  /** The client ids of its members. */
  readonly clientIds: readonly string[];
}

/** The keys of the calls. */
export const GROUP_KEYS = {
  deleteGroup: 42,
  deleteOffset: 47,
  describeGroup: 15,
  describeConsumerGroup: 69,
  listGroups: 16,
} as const;

/** Makes the call; its ticket. */
export function callGroups(
  channel: Channel,
  env: Env,
  peer: string,
  version: number,
  request: GroupRequest,
  out: Outbox,
): number {
  switch (request.kind) {
    case 'deleteGroup': {
      const body = { groupsNames: [request.groupId] };
      return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.deleteGroup, version, body }, out);
    }
    case 'deleteOffset': {
      const { groupId, topic: name, partition: partitionIndex } = request;
      const body = { groupId, topics: [{ name, partitions: [{ partitionIndex }] }] };
      return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.deleteOffset, version, body }, out);
    }
    case 'describeGroup': {
      const body = { groups: [request.groupId], includeAuthorizedOperations: false };
      return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.describeGroup, version, body }, out);
    }
    case 'describeConsumerGroup': {
      const body = { groupIds: [request.groupId], includeAuthorizedOperations: false };
      return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.describeConsumerGroup, version, body }, out);
    }
    case 'listGroups': {
      const body = { statesFilter: [], typesFilter: [] };
      return callPeer(channel, env, peer, { apiKey: GROUP_KEYS.listGroups, version, body }, out);
    }
  }
}

/** What an answer says; undefined where it leaves out what was asked. */
export function readGroupAnswer({ kind }: GroupRequest, event: Answer): AdminAnswer | undefined {
  switch (kind) {
    case 'deleteGroup': {
      const result = answerBody(event, GROUP_KEYS.deleteGroup).results[0];
      if (result === undefined) return undefined;
      return { error: result.errorCode, message: result.errorMessage, result: {} };
    }
    case 'deleteOffset': {
      const { errorCode, topics } = answerBody(event, GROUP_KEYS.deleteOffset);
      const error = errorCode || topics[0]?.partitions[0]?.errorCode;
      return error === undefined ? undefined : { error, message: null, result: {} };
    }
    case 'describeGroup': {
      const group = answerBody(event, GROUP_KEYS.describeGroup).groups[0];
      if (group === undefined) return undefined;
      const { errorCode: error, errorMessage: message, groupState: state, members } = group;
      const clientIds = members.map(({ clientId }) => clientId);
      return { error, message, result: { group: { state, epoch: -1, clientIds } } };
    }
    case 'describeConsumerGroup': {
      const group = answerBody(event, GROUP_KEYS.describeConsumerGroup).groups[0];
      if (group === undefined) return undefined;
      const { errorCode: error, errorMessage: message, groupState: state, groupEpoch: epoch, members } = group;
      const clientIds = members.map(({ clientId }) => clientId);
      return { error, message, result: { group: { state, epoch, clientIds } } };
    }
    case 'listGroups': {
      const { errorCode: error, groups } = answerBody(event, GROUP_KEYS.listGroups);
      return { error, message: null, result: { groupIds: groups.map(({ groupId }) => groupId) } };
    }
  }
}
