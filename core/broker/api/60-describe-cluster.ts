/**
 * DescribeCluster: v0–2. The brokers of the cluster, for administrators (KIP-700).
 *
 * Version 1 says which kind of endpoint is meant; this listener is for brokers, so controllers are refused (KIP-919).
 */
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { DescribeClusterRequest } from '../../protocol/messages/60-describe-cluster.ts';
import { addressFor } from '../addresses.ts';
import { answer } from '../answers.ts';
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
  const { host, port } = addressFor(node, request.connection);
  const rack = node.config['broker.rack'];
  answer(node, request, KEY, {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    endpointType: BROKERS,
    clusterId: node.clusterId,
    controllerId: node.nodeId,
    brokers: [{ brokerId: node.nodeId, host, port, rack, isFenced: false }],
    clusterAuthorizedOperations: body.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : NO_OPERATIONS,
  });
}
