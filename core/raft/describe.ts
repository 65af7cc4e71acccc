/**
 * The answer to DescribeQuorum, from what a leader knows of its quorum. Pure, no state.
 *
 * Only the leader knows how far the others are; everyone else refers to it. The leader itself is always caught up,
 * and what counts as its end is what it has synced; the ends of others are those of their last sound fetch.
 */
import type { Env } from '../lib/world.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { voterReplica } from './leading.ts';
import { METADATA_PARTITION, METADATA_TOPIC } from './names.ts';
import type { Lead, Replica } from './role-state.ts';
import type { Raft } from './state.ts';
import { isVoter } from './voters.ts';

type Topic = ResponseInputOf<55>['topics'][number];
type Partition = Topic['partitions'][number];

/** Answers for each partition that the request names; the quorum has one. */
export function describeQuorum(raft: Raft, env: Env, request: RequestOf<55>): ResponseInputOf<55> {
  let isAsked = false;
  const topics = request.topics.map(({ topicName, partitions }): Topic => {
    const answers = partitions.map(({ partitionIndex }) => {
      const isQuorum = topicName === METADATA_TOPIC && partitionIndex === METADATA_PARTITION;
      isAsked ||= isQuorum;
      if (!isQuorum) return refusal(partitionIndex, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
      if (raft.lead === null) return refusal(partitionIndex, ErrorCode.NOT_LEADER_OR_FOLLOWER);
      return describe(raft, raft.lead, env);
    });
    return { topicName, partitions: answers };
  });
  const nodes = raft.quorum.voters.map(({ id, endpoints }) => ({ nodeId: id, listeners: [...endpoints] }));
  const isKnown = isAsked && raft.lead !== null;
  return { errorCode: ErrorCode.NONE, errorMessage: null, topics, nodes: isKnown ? nodes : [] };
}

type ReplicaState = Partition['currentVoters'][number];

function describe(raft: Raft, lead: Lead, env: Env): Partition {
  const { quorum, log, leaderId, epoch, highWatermark, nodeId } = raft;
  const own = { end: log.durable, fetchedWallMs: env.wallMs, caughtUpWallMs: env.wallMs };
  const votes = ({ id, directoryId }: Replica): boolean =>
    quorum.voters.some((voter) => isVoter(voter, id, directoryId));
  const observers = [...lead.replicas.values()].filter((replica) => !votes(replica));
  return {
    partitionIndex: METADATA_PARTITION,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    leaderId,
    leaderEpoch: epoch,
    highWatermark,
    currentVoters: quorum.voters.map((voter) =>
      stateOf(voter.id, voter.directoryId, voter.id === nodeId ? own : voterReplica(lead, voter)),
    ),
    observers: observers.map((replica) => stateOf(replica.id, replica.directoryId, replica)),
  };
}

function stateOf(
  replicaId: number,
  replicaDirectoryId: string,
  known: Pick<Replica, 'end' | 'fetchedWallMs' | 'caughtUpWallMs'> | null,
): ReplicaState {
  return {
    replicaId,
    replicaDirectoryId,
    logEndOffset: known?.end ?? -1,
    lastFetchTimestamp: known?.fetchedWallMs ?? -1,
    lastCaughtUpTimestamp: known?.caughtUpWallMs ?? -1,
  };
}

function refusal(partitionIndex: number, errorCode: ErrorCode): Partition {
  return {
    partitionIndex,
    errorCode,
    errorMessage: null,
    leaderId: -1,
    leaderEpoch: -1,
    highWatermark: -1,
    currentVoters: [],
    observers: [],
  };
}
