/** What DescribeQuorum says of a quorum of one. */
import { expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { describeQuorum } from '../../core/raft/describe.ts';
import { ask, createQuorumWorld, DIRECTORY, format, open, type QuorumWorld, SELF } from '../coordination/world.ts';

const QUORUM = { topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] };

function describeOf(world: QuorumWorld, topics: readonly (typeof QUORUM)[]) {
  return describeQuorum(world.quorum.raft, world.env, { topics: [...topics] });
}

it('names the leader, its epoch, the high watermark and the voters with their listeners', () => {
  const world = format(createQuorumWorld());
  open(world);
  ask(world, {});
  const { raft } = world.quorum;
  const body = describeOf(world, [QUORUM]);
  const replicaId = 1;
  const voter = { replicaId, replicaDirectoryId: DIRECTORY, logEndOffset: raft.log.end };
  const times = { lastFetchTimestamp: world.env.wallMs, lastCaughtUpTimestamp: world.env.wallMs };
  expect(body.topics[0]?.partitions[0]).toMatchObject({
    errorCode: 0,
    leaderId: 1,
    leaderEpoch: 1,
    highWatermark: raft.log.end,
    currentVoters: [{ ...voter, ...times }],
    observers: [],
  });
  expect(body.nodes).toEqual([{ nodeId: 1, listeners: SELF.endpoints }]);
});

it('refers elsewhere while this node does not lead, and knows no other partitions', () => {
  const world = format(createQuorumWorld());
  const other = { topicName: 'orders', partitions: [{ partitionIndex: 0 }] };
  const third = { ...QUORUM, partitions: [{ partitionIndex: 1 }] };
  const codes = describeOf(world, [QUORUM, other, third]).topics.map(({ partitions }) => partitions[0]?.errorCode);
  const unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION;
  expect(codes).toEqual([ErrorCode.NOT_LEADER_OR_FOLLOWER, unknown, unknown]);
});
