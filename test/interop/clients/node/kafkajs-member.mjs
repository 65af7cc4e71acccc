// kafkajs as a member of a group. Its own assigner goes by a name that no other client knows; the ones here go by
// Kafka's names and speak Kafka's format, so that it can share a group with other clients.
import kafkajs from 'kafkajs';
import * as shared from './members.mjs';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;

function assignerOf(name) {
  return ({ cluster }) => ({
    name,
    version: 0,
    protocol: ({ topics }) => {
      return { name, metadata: MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }) };
    },
    assign: async ({ members, topics: [topic] }) => {
      const memberIds = members.map(({ memberId }) => memberId);
      const parts = shared.share(name, memberIds, cluster.findTopicPartitionMetadata(topic).length);
      return [...parts].map(([memberId, partitions]) => {
        const assignment = { [topic]: partitions };
        const encoded = MemberAssignment.encode({ version: 0, assignment, userData: Buffer.alloc(0) });
        return { memberId, memberAssignment: encoded };
      });
    },
  });
}

/** Reads until it is told to end. */
export async function beMember(words) {
  const { brokers, topic, group, assignor } = shared.membershipOf(words);
  const kafka = new kafkajs.Kafka({ clientId: 'interop', brokers, logLevel: kafkajs.logLevel.WARN });
  const consumer = kafka.consumer({
    groupId: group,
    partitionAssigners: [assignerOf(assignor)],
    sessionTimeout: shared.SESSION_TIMEOUT_MS,
    rebalanceTimeout: shared.REBALANCE_TIMEOUT_MS,
    heartbeatInterval: shared.HEARTBEAT_INTERVAL_MS,
    maxWaitTimeInMs: shared.FETCH_WAIT_MS,
    retry: { initialRetryTime: shared.RETRY_INTERVAL_MS, maxRetryTime: 1_000 },
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommitInterval: shared.COMMIT_INTERVAL_MS,
    eachMessage: async ({ message }) => console.log(message.value.toString()),
  });
  await shared.told;
  await consumer.disconnect();
}
