// @platformatic/kafka as a member of a group, of either protocol. A stream that fails is over, so another is begun.
import { setTimeout as pause } from 'node:timers/promises';
import { Consumer } from '@platformatic/kafka';
import * as shared from './members.mjs';

const LOOK_INTERVAL_MS = 500;

/** Shares out as Kafka does, by the ids of the members: its own assigner goes by who it heard of first. */
function assignerOf(name) {
  return (_current, members, topics, metadata) => {
    const [topic] = topics;
    const parts = shared.share(name, members.keys(), metadata.topics.get(topic).partitionsCount);
    return [...parts].map(([memberId, partitions]) => ({
      memberId,
      assignments: new Map([[topic, { topic, partitions }]]),
    }));
  };
}

function protocolOf(assignor) {
  if (assignor === 'consumer') return { groupProtocol: 'consumer' };
  if (assignor === 'cooperative-sticky') return { protocols: [{ name: assignor, version: 3 }] };
  return { protocols: [{ name: assignor, version: 0 }], partitionAssigner: assignerOf(assignor) };
}

function consumerOf({ brokers, group, assignor }) {
  const timeouts = {
    sessionTimeout: shared.SESSION_TIMEOUT_MS,
    rebalanceTimeout: shared.REBALANCE_TIMEOUT_MS,
    heartbeatInterval: shared.HEARTBEAT_INTERVAL_MS,
  };
  return new Consumer({
    clientId: 'interop',
    bootstrapBrokers: brokers,
    groupId: group,
    maxWaitTime: shared.FETCH_WAIT_MS,
    autocommit: shared.COMMIT_INTERVAL_MS,
    retryDelay: shared.RETRY_INTERVAL_MS,
    ...(assignor === 'consumer' ? {} : timeouts),
    ...protocolOf(assignor),
  });
}

/** Ends the stream of a member that has stopped to beat: 1.x does, without a word, once a beat has met a dead node. */
function watch(consumer, stream) {
  const look = () => {
    const silentMs = Date.now() - (consumer.lastHeartbeat?.getTime() ?? Date.now());
    if (silentMs > shared.SESSION_TIMEOUT_MS) stream.destroy(new Error(`no heartbeat for ${silentMs} ms`));
  };
  const timer = setInterval(look, LOOK_INTERVAL_MS);
  stream.once('close', () => clearInterval(timer));
}

/** Reads until it is told to end. */
export async function beMember(words) {
  const membership = shared.membershipOf(words);
  let isOver = false;
  let stream = null;
  shared.told.then(() => {
    isOver = true;
    stream?.close();
  });
  while (!isOver) {
    const consumer = consumerOf(membership);
    try {
      stream = await consumer.consume({ topics: [membership.topic], mode: 'committed', fallbackMode: 'earliest' });
      watch(consumer, stream);
      if (isOver) stream.close();
      for await (const { value } of stream) console.log(value.toString());
    } catch (error) {
      console.error(error);
    }
    await consumer.close(true).catch(console.error);
    if (!isOver) await pause(shared.RETRY_INTERVAL_MS);
  }
  // A consumer that could not leave, because its coordinator was dead, is not closed: its connections would keep us.
  process.exit();
}
