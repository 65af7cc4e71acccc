/**
 * DescribeCluster: v0–2. The brokers of the cluster, for administrators (KIP-700); through a listener for controllers,
 * the controllers and which of them is active (KIP-919).
 *
 * Version 1 says which kind of endpoint is meant: whoever meant the other kind has the wrong address. Before that, all
 * meant brokers.
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeClusterRequest, DescribeClusterResponse } from '../../protocol/messages/60-describe-cluster.ts';
import { addressFor, isForControllers, listenerName } from '../addresses.ts';
import { answer } from '../answers.ts';
import { activeController } from '../control/controller-calls.ts';
import { liveEndpoints } from '../partitions/leaders.ts';
import type { Connection, Node, Request } from '../state.ts';
import { CLUSTER_OPERATIONS, NO_OPERATIONS } from './03-metadata.ts';

const KEY = 60;
const BROKERS = 1;
const CONTROLLERS = 2;
const ENDPOINT_TYPES = new Map([
  [BROKERS, 'brokers'],
  [CONTROLLERS, 'controllers'],
]);

type Nodes = DescribeClusterResponse['brokers'];

/** Answers at once. */
export function handleDescribeCluster(node: Node, _env: Env, request: Request, body: DescribeClusterRequest): void {
  const { connection } = request;
  const endpointType = connection !== null && isForControllers(node, connection) ? CONTROLLERS : BROKERS;
  if (body.endpointType !== endpointType) {
    answer(node, request, KEY, mismatch(request.version, endpointType, body.endpointType));
    return;
  }
  const isOfControllers = endpointType === CONTROLLERS;
  const nodes = isOfControllers ? controllers(node, connection) : brokers(node, connection, body.includeFencedBrokers);
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    endpointType,
    clusterId: node.clusterId,
    // Clients of brokers send any of them what is for the controller.
    controllerId: isOfControllers ? activeController(node) : node.nodeId,
    brokers: nodes,
    clusterAuthorizedOperations: body.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : NO_OPERATIONS,
  });
}

function mismatch(version: number, endpointType: number, asked: number): DescribeClusterResponse {
  const isKnown = ENDPOINT_TYPES.has(asked);
  const errorCode = isKnown ? ErrorCode.MISMATCHED_ENDPOINT_TYPE : ErrorCode.UNSUPPORTED_ENDPOINT_TYPE;
  return {
    throttleTimeMs: 0,
    // Before version 1 nothing was asked for that could be a mismatch.
    errorCode: version === 0 ? ErrorCode.INVALID_REQUEST : errorCode,
    errorMessage: isKnown
      ? `this listener is for ${ENDPOINT_TYPES.get(endpointType)}`
      : 'there is no such type of endpoint',
    endpointType: BROKERS,
    clusterId: '',
    controllerId: -1,
    brokers: [],
    clusterAuthorizedOperations: NO_OPERATIONS,
  };
}

/** The controllers that have registered, this one first: where each listens for what this client speaks. */
function controllers(node: Node, connection: Connection | null): Nodes {
  const listener = listenerName(node, connection);
  const found: Nodes = [{ brokerId: node.nodeId, ...addressFor(node, connection), rack: null, isFenced: false }];
  const registered = [...node.image.cluster.controllers.values()].sort((a, b) => a.id - b.id);
  for (const { id, endPoints } of registered) {
    const endPoint = endPoints.find(({ name }) => name === listener);
    if (id === node.nodeId || endPoint === undefined) continue;
    found.push({ brokerId: id, host: endPoint.host, port: endPoint.port, rack: null, isFenced: false });
  }
  return found;
}

/** The brokers that take part, and if asked for those that are registered and do not (KIP-1073). */
function brokers(node: Node, connection: Connection | null, withFenced: boolean): Nodes {
  const found: Nodes = liveEndpoints(node, connection).map(({ nodeId, ...address }) => {
    return { brokerId: nodeId, ...address, isFenced: false };
  });
  if (!withFenced) return found;
  const listener = listenerName(node, connection);
  for (const { id, fenced, endPoints, rack } of node.image.cluster.brokers.values()) {
    const endPoint = endPoints.find(({ name }) => name === listener);
    if (!fenced || endPoint === undefined || found.some(({ brokerId }) => brokerId === id)) continue;
    found.push({ brokerId: id, host: endPoint.host, port: endPoint.port, rack, isFenced: true });
  }
  return found;
}
