/**
 * DescribeCluster: v0–2. The brokers of the cluster, for administrators (KIP-700).
 *
 * Version 1 says which kind of endpoint is meant; this listener is for brokers, so controllers are refused (KIP-919).
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeClusterRequest, DescribeClusterResponse } from '../../protocol/messages/60-describe-cluster.ts';
import { listenerName } from '../addresses.ts';
import { answer } from '../answers.ts';
import { liveEndpoints } from '../leaders.ts';
import type { Node, Request } from '../state.ts';
import { CLUSTER_OPERATIONS, NO_OPERATIONS } from './03-metadata.ts';

const KEY = 60;
const BROKERS = 1;
const CONTROLLERS = 2;

/** Answers at once. */
export function handleDescribeCluster(node: Node, _env: Env, request: Request, body: DescribeClusterRequest): void {
  if (body.endpointType !== BROKERS) {
    const isKnown = body.endpointType === CONTROLLERS;
    answer(node, request, KEY, {
      throttleTimeMs: 0,
      errorCode: isKnown ? ErrorCode.MISMATCHED_ENDPOINT_TYPE : ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
      errorMessage: isKnown ? 'this listener is for brokers' : 'there is no such type of endpoint',
      endpointType: BROKERS,
      clusterId: '',
      brokers: [],
    });
    return;
  }
  const brokers = liveEndpoints(node, request.connection).map(({ nodeId, ...address }) => {
    return { brokerId: nodeId, ...address, isFenced: false };
  });
  if (body.includeFencedBrokers) addFenced(node, listenerName(node, request.connection), brokers);
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    endpointType: BROKERS,
    clusterId: node.clusterId,
    controllerId: node.nodeId,
    brokers,
    clusterAuthorizedOperations: body.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : NO_OPERATIONS,
  });
}

/** Brokers that are registered and do not take part (KIP-1073). */
function addFenced(node: Node, listener: string, brokers: DescribeClusterResponse['brokers']): void {
  for (const { id, fenced, endPoints, rack } of node.image.cluster.brokers.values()) {
    const endPoint = endPoints.find(({ name }) => name === listener);
    if (!fenced || endPoint === undefined || brokers.some(({ brokerId }) => brokerId === id)) continue;
    brokers.push({ brokerId: id, host: endPoint.host, port: endPoint.port, rack, isFenced: true });
  }
}
