/**
 * Who leads a partition that a client has asked this node for, as far as this node knows, and where that is (KIP-951);
 * whom it should rather read from (KIP-392).
 * No state: the committed image.
 */
import { aliveEndPoint } from '../../metadata/describe-topics.ts';
import { type PartitionImage, type TopicImage, topicById, topicByName } from '../../metadata/image.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { preferredReplica } from '../../replication/serve.ts';
import { addressFor, listenerName } from '../addresses.ts';
import type { Connection, Node, Partition } from '../state.ts';
import { lingeringBrokers } from './absent.ts';

/** The end of Kafka's name for the selector of replicas by rack. */
const RACK_AWARE = 'RackAwareReplicaSelector';

/** A topic, by whichever name the client uses. */
export type TopicKey = { readonly topicId: string } | { readonly name: string };

/** The address of a node, as answers tell it. */
export interface NodeEndpoint {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

function topicOf({ image }: Node, key: TopicKey): TopicImage | undefined {
  return 'topicId' in key ? topicById(image, key.topicId) : topicByName(image, key.name);
}

function partitionOf(node: Node, key: TopicKey, index: number): PartitionImage | undefined {
  return topicOf(node, key)?.partitions[index];
}

/** Why a partition is not found here: its replicas are elsewhere, or it does not exist. */
export function missingError(node: Node, key: TopicKey, index: number): ErrorCode {
  const topic = topicOf(node, key);
  if (topic === undefined && 'topicId' in key) return ErrorCode.UNKNOWN_TOPIC_ID;
  return topic?.partitions[index] === undefined
    ? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    : ErrorCode.NOT_LEADER_OR_FOLLOWER;
}

/** Who leads, under which epoch; -1 for nobody, or unknown. */
export function currentLeader(node: Node, key: TopicKey, index: number): { leaderId: number; leaderEpoch: number } {
  const partition = partitionOf(node, key, index);
  return { leaderId: partition?.leader ?? -1, leaderEpoch: partition?.leaderEpoch ?? -1 };
}

/** A replica in the client's rack that it should rather read from than from the leader here; -1 for none. */
export function nearerReplica(node: Node, { leader }: Partition, rackId: string, offset: number): number {
  const selector = node.config['replica.selector.class'];
  if (leader.inSync === null || selector?.endsWith(RACK_AWARE) !== true) return -1;
  return preferredReplica(leader, node.image.cluster.brokers, rackId, offset);
}

/** Where the client behind `connection` reaches a broker; null when it cannot. */
function endpointFor(node: Node, connection: Connection | null, nodeId: number): NodeEndpoint | null {
  if (nodeId === node.nodeId) {
    const { host, port } = addressFor(node, connection);
    return { nodeId, host, port, rack: node.config['broker.rack'] };
  }
  const endPoint = aliveEndPoint(node.image, nodeId, listenerName(node, connection));
  if (endPoint === null) return null;
  const rack = node.image.cluster.brokers.get(nodeId)?.rack ?? null;
  return { nodeId, host: endPoint.host, port: endPoint.port, rack };
}

/** Where the client behind `connection` reaches these brokers, as far as it can. */
export function endpointsOf(node: Node, connection: Connection | null, nodeIds: Iterable<number>): NodeEndpoint[] {
  const endpoints: NodeEndpoint[] = [];
  for (const nodeId of nodeIds) {
    const endpoint = endpointFor(node, connection, nodeId);
    if (endpoint !== null) endpoints.push(endpoint);
  }
  return endpoints;
}

/** Where the client behind `connection` reached brokers that it should leave alone now, but may still know. */
export function lingeringEndpoints(node: Node, connection: Connection | null, nowMs: number): NodeEndpoint[] {
  const listener = listenerName(node, connection);
  return lingeringBrokers(node, nowMs).flatMap(({ id: nodeId, endPoints, rack }) => {
    const endPoint = endPoints.find(({ name }) => name === listener);
    return endPoint === undefined ? [] : [{ nodeId, host: endPoint.host, port: endPoint.port, rack }];
  });
}

/** The brokers that the client behind `connection` may use, this one first. */
export function liveEndpoints(node: Node, connection: Connection | null): NodeEndpoint[] {
  const others = [...node.image.cluster.brokers.keys()].filter((id) => id !== node.nodeId);
  return endpointsOf(node, connection, [node.nodeId, ...others.sort((a, b) => a - b)]);
}
