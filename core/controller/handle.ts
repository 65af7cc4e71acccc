/**
 * The door of the controller: one request in, records and a response out. Which handler serves which API is a table.
 *
 * The caller (coordination) asks `idsNeeded`, gets so many uuids from the world, calls `handle`, appends the records,
 * replays them, and answers once they are committed. A response without records waits for what the handler saw.
 */
import { metadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { alterConfigs, incrementalAlterConfigs } from './alter-configs.ts';
import { alterPartition } from './alter-partition.ts';
import { heartbeat, registerBroker, registerController } from './brokers.ts';
import { createPartitions } from './create-partitions.ts';
import { createTopics } from './create-topics.ts';
import { deleteTopics } from './delete-topics.ts';
import { assignReplicasToDirs } from './directories.ts';
import { electLeaders } from './elect-leaders.ts';
import { alterPartitionReassignments, listReassignments } from './reassignments.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX } from './state.ts';
import { unregisterBroker, unregisterController } from './unregister.ts';
import { updateFeatures } from './update-features.ts';

/** The APIs that the controller serves, by key. */
export type ControllerKey = 19 | 20 | 33 | 37 | 43 | 44 | 45 | 46 | 56 | 57 | 62 | 63 | 64 | 67 | 70 | 73 | 94;

type Handler<K extends ControllerKey> = (
  controller: Controller,
  context: Context,
  request: RequestOf<K>,
  version: number,
) => Handled<ResponseInputOf<K>>;

const HANDLERS: { readonly [K in ControllerKey]: Handler<K> } = {
  19: createTopics,
  20: deleteTopics,
  33: alterConfigs,
  37: createPartitions,
  43: electLeaders,
  44: incrementalAlterConfigs,
  45: alterPartitionReassignments,
  46: listReassignments,
  56: alterPartition,
  57: updateFeatures,
  62: registerBroker,
  63: heartbeat,
  64: unregisterBroker,
  67: allocateProducerIds,
  70: registerController,
  73: assignReplicasToDirs,
  94: unregisterController,
};

/** How many uuids a request may use at most. */
export function idsNeeded<K extends ControllerKey>(apiKey: K, request: RequestOf<K>): number {
  // A request for more topics is refused before it takes an id for each.
  return apiKey === 19 ? Math.min((request as RequestOf<19>).topics.length, RECORDS_PER_REQUEST_MAX) : 0;
}

/** Decides about one request. Changes no metadata; may roll dice and note that a broker was heard of. */
export function handle<K extends ControllerKey>(
  controller: Controller,
  context: Context,
  apiKey: K,
  version: number,
  request: RequestOf<K>,
): Handled<ResponseInputOf<K>> {
  return HANDLERS[apiKey](controller, context, request, version);
}

/** Producer ids in one block. */
export const PRODUCER_IDS_PER_BLOCK = 1000;

/** AllocateProducerIds: a broker gets a block that no one else ever gets. */
function allocateProducerIds(
  controller: Controller,
  _context: Context,
  request: RequestOf<67>,
): Handled<ResponseInputOf<67>> {
  const { brokerId, brokerEpoch } = request;
  const broker = controller.image.cluster.brokers.get(brokerId);
  const refuse = (errorCode: number): Handled<ResponseInputOf<67>> => ({
    records: [],
    response: { throttleTimeMs: 0, errorCode, producerIdStart: 0, producerIdLen: 0 },
    isAtomic: true,
  });
  if (broker === undefined || broker.epoch !== brokerEpoch) return refuse(ErrorCode.STALE_BROKER_EPOCH);
  const start = controller.image.producerIds.nextProducerId;
  const nextProducerId = start + PRODUCER_IDS_PER_BLOCK;
  if (nextProducerId > Number.MAX_SAFE_INTEGER) return refuse(ErrorCode.UNKNOWN_SERVER_ERROR);
  return {
    records: [metadataRecord('ProducerIdsRecord', 0, { brokerId, brokerEpoch, nextProducerId })],
    response: {
      throttleTimeMs: 0,
      errorCode: ErrorCode.NONE,
      producerIdStart: start,
      producerIdLen: PRODUCER_IDS_PER_BLOCK,
    },
    isAtomic: true,
  };
}
