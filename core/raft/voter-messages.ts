/**
 * The messages that change who votes (KIP-853, KIP-1186), built and taken apart. Pure, no state.
 *
 * Operators read the sentences of refusals through Kafka's tools, so they are Kafka's where Kafka has one.
 */
import { versionsRequest } from '../channel/negotiation.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestInputOf, RequestOf, ResponseInputOf, ResponseOf } from '../protocol/messages/index.ts';
import { knownLeader, type Raft } from './state.ts';
import { endpointOf, type Voter, type VoterEndpoint } from './voters.ts';

/** AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter. */
export type VoterKey = 80 | 81 | 82;

/** The feature whose levels say whether voters can change at all. */
const KRAFT_VERSION = 'kraft.version';
/** Listeners of one voter, at most. */
const LISTENERS_MAX = 16;

/** Why a request is refused. The sentence is null where the error says it all. */
export interface Refusal {
  readonly errorCode: ErrorCode;
  readonly message: string | null;
}

/** The answer to a request that changes the voters, or why it does not. */
export function voterResponse(raft: Raft, apiKey: VoterKey, refusal: Refusal | null): ResponseInputOf<VoterKey> {
  const errorCode = refusal?.errorCode ?? ErrorCode.NONE;
  if (apiKey !== 82) return { throttleTimeMs: 0, errorCode, errorMessage: refusal?.message ?? null };
  const leaderId = knownLeader(raft);
  const endpoint = leaderId < 0 ? null : endpointOf(raft, leaderId);
  const currentLeader = { leaderId, leaderEpoch: raft.epoch, host: endpoint?.host ?? '', port: endpoint?.port ?? 0 };
  return { throttleTimeMs: 0, errorCode, currentLeader };
}

/** The node and the directory that a request is about; null if it names none. */
export function voterKeyOf(body: RequestOf<VoterKey>): { readonly id: number; readonly directoryId: string } | null {
  const { voterId: id, voterDirectoryId: directoryId } = body;
  return id < 0 || directoryId === ZERO_UUID ? null : { id, directoryId };
}

/** A voter's listeners, that of `name` first; null if that is not among them, or if there are too many. */
export function listenersOf(body: RequestOf<80 | 82>, name: string): readonly VoterEndpoint[] | null {
  const { listeners } = body;
  const first = listeners.find((one) => one.name === name);
  if (first === undefined || listeners.length > LISTENERS_MAX) return null;
  return [first, ...listeners.filter((one) => one !== first)];
}

/** Listeners as messages to operators show them. */
export function listenersText(listeners: readonly VoterEndpoint[]): string {
  return `Endpoints(endpoints={${listeners.map(({ name, host, port }) => `${name}=${host}:${port}`).join(', ')}})`;
}

/** Asks a node that is to become a voter what it supports, and whether it is the one that is meant. */
export function supportRequest(raft: Raft, nodeId: number): RequestInputOf<18> {
  const { clusterId } = raft.peers;
  return clusterId === null ? versionsRequest() : { ...versionsRequest(), clusterId, nodeId };
}

/** The levels of kraft.version that a node supports; those of a node that does not say are none but 0. */
export function supportOf(response: ResponseOf<18>): { readonly min: number; readonly max: number } {
  const found = response.supportedFeatures.find(({ name }) => name === KRAFT_VERSION);
  return { min: found?.minVersion ?? 0, max: found?.maxVersion ?? 0 };
}

/** Asks the leader to say where this voter is reached by now, and what it supports. */
export function updateRequest(raft: Raft, own: Voter): RequestInputOf<82> {
  return {
    clusterId: raft.peers.clusterId,
    currentLeaderEpoch: raft.epoch,
    voterId: own.id,
    voterDirectoryId: own.directoryId,
    listeners: [...own.endpoints],
    kRaftVersionFeature: { minSupportedVersion: own.versionMin, maxSupportedVersion: own.versionMax },
  };
}

/** Asks the leader to make this member a voter. It answers when that is in the log, which this member must fetch. */
export function joinRequest(raft: Raft, own: Voter): RequestInputOf<80> {
  return {
    clusterId: raft.peers.clusterId,
    timeoutMs: raft.peers.times.requestTimeoutMs,
    voterId: own.id,
    voterDirectoryId: own.directoryId,
    listeners: [...own.endpoints],
    ackWhenCommitted: false,
  };
}

/** Asks the leader to remove a voter: an earlier directory of this node, which it will not see again. */
export function leaveRequest(raft: Raft, voter: Voter): RequestInputOf<81> {
  return { clusterId: raft.peers.clusterId, voterId: voter.id, voterDirectoryId: voter.directoryId };
}
