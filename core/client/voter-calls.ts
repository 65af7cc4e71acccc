/**
 * The calls of an administrator that are about the quorum of the controllers: who votes, and changes of that. Pure, no
 * state.
 */
import { type Answer, answerBody, type Channel, callPeer } from '../channel/channel.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ResponseOf } from '../protocol/messages/index.ts';
import type { AdminAnswer } from './admin-calls.ts';

/** A node and the directory with which it votes or follows. */
export interface QuorumMember {
  readonly id: number;
  readonly directoryId: string;
}

/** What an administrator may want of the quorum. */
export type VoterRequest =
  | { readonly kind: 'describeQuorum' }
  | {
      readonly kind: 'addVoter';
      readonly voter: QuorumMember;
      /** The voter's listener for controllers. */
      readonly listener: { readonly name: string; readonly host: string; readonly port: number };
    }
  | { readonly kind: 'removeVoter'; readonly voter: QuorumMember };

/** The keys of the calls. */
export const VOTER_KEYS = { describeQuorum: 55, addVoter: 80, removeVoter: 81 } as const;

const METADATA_TOPIC = '__cluster_metadata';

/** Makes the call; its ticket. */
export function callVoters(
  channel: Channel,
  env: Env,
  peer: string,
  version: number,
  request: VoterRequest,
  timeoutMs: number,
  out: Outbox,
): number {
  if (request.kind === 'describeQuorum') {
    const body = { topics: [{ topicName: METADATA_TOPIC, partitions: [{ partitionIndex: 0 }] }] };
    return callPeer(channel, env, peer, { apiKey: VOTER_KEYS.describeQuorum, version, body }, out);
  }
  const key = { clusterId: null, voterId: request.voter.id, voterDirectoryId: request.voter.directoryId };
  if (request.kind === 'removeVoter') {
    return callPeer(channel, env, peer, { apiKey: VOTER_KEYS.removeVoter, version, body: key }, out);
  }
  const body = { ...key, timeoutMs, listeners: [request.listener], ackWhenCommitted: true };
  return callPeer(channel, env, peer, { apiKey: VOTER_KEYS.addVoter, version, body }, out);
}

/** What an answer says. */
export function readVoterAnswer({ kind }: VoterRequest, event: Answer): AdminAnswer {
  if (kind !== 'describeQuorum') {
    const { errorCode: error, errorMessage: message } = answerBody(event, VOTER_KEYS[kind]);
    return { error, message, result: {} };
  }
  const answer = answerBody(event, VOTER_KEYS.describeQuorum);
  const partition = answer.topics[0]?.partitions[0];
  const error = answer.errorCode || (partition?.errorCode ?? ErrorCode.UNKNOWN_SERVER_ERROR);
  const [voters, observers] = [membersOf(partition?.currentVoters ?? []), membersOf(partition?.observers ?? [])];
  return { error, message: answer.errorMessage, result: { voters, observers } };
}

type ReplicaStates = ResponseOf<55>['topics'][number]['partitions'][number]['currentVoters'];

function membersOf(states: ReplicaStates): QuorumMember[] {
  return states.map(({ replicaId, replicaDirectoryId }) => ({ id: replicaId, directoryId: replicaDirectoryId }));
}
