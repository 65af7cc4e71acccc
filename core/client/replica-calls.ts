/**
 * The calls of an administrator that are about the replicas of a partition: where they are, and which of them leads.
 * Pure, no state.
 */
import { type Answer, answerBody, type Channel, callPeer } from '../channel/channel.ts';
import type { Env, Outbox } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { AdminAnswer } from './admin-calls.ts';

/** What an administrator may want of the replicas of a partition. */
export type ReplicaRequest =
  /** To these brokers, the preferred first; null takes a move back. */
  | {
      readonly kind: 'movePartition';
      readonly topic: string;
      readonly partition: number;
      readonly replicas: readonly number[] | null;
    }
  /** Which partitions of a topic are on their way to other brokers. */
  | { readonly kind: 'listMoves'; readonly topic: string; readonly partitions: readonly number[] }
  /** Unclean: whoever is there, though records may be lost; else the preferred replica. */
  | { readonly kind: 'electLeader'; readonly topic: string; readonly partition: number; readonly isUnclean: boolean };

/** The keys of the calls. */
export const REPLICA_KEYS = { movePartition: 45, listMoves: 46, electLeader: 43 } as const;

/** Kafka's numbers of the kinds of elections. */
const PREFERRED = 0;
const UNCLEAN = 1;

/** Makes the call; its ticket. */
export function callReplicas(
  channel: Channel,
  env: Env,
  peer: string,
  version: number,
  request: ReplicaRequest,
  timeoutMs: number,
  out: Outbox,
): number {
  const apiKey = REPLICA_KEYS[request.kind];
  switch (request.kind) {
    case 'movePartition': {
      const { topic: name, partition: partitionIndex, replicas } = request;
      const partitions = [{ partitionIndex, replicas: replicas === null ? null : [...replicas] }];
      const body = { timeoutMs, allowReplicationFactorChange: true, topics: [{ name, partitions }] };
      return callPeer(channel, env, peer, { apiKey, version, body }, out);
    }
    case 'listMoves': {
      const topics = [{ name: request.topic, partitionIndexes: [...request.partitions] }];
      return callPeer(channel, env, peer, { apiKey, version, body: { timeoutMs, topics } }, out);
    }
    case 'electLeader': {
      const topicPartitions = [{ topic: request.topic, partitions: [request.partition] }];
      const body = { electionType: request.isUnclean ? UNCLEAN : PREFERRED, topicPartitions, timeoutMs };
      return callPeer(channel, env, peer, { apiKey, version, body }, out);
    }
  }
}

const LEFT_OUT = ErrorCode.UNKNOWN_SERVER_ERROR;

/** What an answer says. Where the whole is refused the parts are left out. */
export function readReplicaAnswer({ kind }: ReplicaRequest, event: Answer): AdminAnswer {
  switch (kind) {
    case 'movePartition': {
      const { errorCode, errorMessage, responses } = answerBody(event, REPLICA_KEYS.movePartition);
      const partition = responses[0]?.partitions[0];
      const error = errorCode || (partition?.errorCode ?? LEFT_OUT);
      return { error, message: partition?.errorMessage ?? errorMessage, result: {} };
    }
    case 'listMoves': {
      const { errorCode, errorMessage, topics } = answerBody(event, REPLICA_KEYS.listMoves);
      const moving = topics.flatMap(({ partitions }) => partitions.map((one) => one.partitionIndex));
      return { error: errorCode, message: errorMessage, result: { moving } };
    }
    case 'electLeader': {
      const { errorCode, replicaElectionResults } = answerBody(event, REPLICA_KEYS.electLeader);
      const partition = replicaElectionResults[0]?.partitionResult[0];
      const error = errorCode || (partition?.errorCode ?? LEFT_OUT);
      return { error, message: partition?.errorMessage ?? null, result: {} };
    }
  }
}
