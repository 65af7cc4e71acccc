/**
 * Nodes that leave for good: UnregisterBroker, UnregisterController. The operator says that they are gone; one that is
 * not gone registers anew. Pure: changes nothing.
 */
import { metadataLevel, unregistersControllers } from '../metadata/features.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { addPartitionChanges } from './elections.ts';
import type { Context, Controller, Handled } from './state.ts';

/**
 * UnregisterBroker. Nobody knows what the broker will bring if it comes back: what it held counts as gone, and it is
 * neither in sync nor eligible any more. (Apache Kafka leaves it eligible.)
 */
export function unregisterBroker(
  controller: Controller,
  _context: Context,
  request: RequestOf<64>,
): Handled<ResponseInputOf<64>> {
  const broker = controller.image.cluster.brokers.get(request.brokerId);
  if (broker === undefined) {
    const sentence = `Broker ID ${request.brokerId} is not currently registered`;
    return answer([], ErrorCode.BROKER_ID_NOT_REGISTERED, sentence);
  }
  const { id: brokerId, epoch: brokerEpoch } = broker;
  const records: MetadataRecord[] = [];
  addPartitionChanges(controller, { leaving: brokerId, joining: -1, unclean: brokerId }, records);
  records.push(metadataRecord('UnregisterBrokerRecord', 0, { brokerId, brokerEpoch }));
  return answer(records, ErrorCode.NONE, null);
}

/** UnregisterController. */
export function unregisterController(
  controller: Controller,
  _context: Context,
  request: RequestOf<94>,
): Handled<ResponseInputOf<94>> {
  const { image } = controller;
  const { controllerId } = request;
  if (!unregistersControllers(metadataLevel(image))) {
    const sentence = 'The current MetadataVersion is too old to support controller unregistration.';
    return answer([], ErrorCode.UNSUPPORTED_VERSION, sentence);
  }
  if (!image.cluster.controllers.has(controllerId)) {
    const sentence = `Controller ID ${controllerId} is not currently registered.`;
    return answer([], ErrorCode.CONTROLLER_ID_NOT_REGISTERED, sentence);
  }
  return answer([metadataRecord('UnregisterControllerRecord', 0, { controllerId })], ErrorCode.NONE, null);
}

function answer(
  records: readonly MetadataRecord[],
  errorCode: number,
  errorMessage: string | null,
): Handled<ResponseInputOf<64>> {
  return { records, response: { throttleTimeMs: 0, errorCode, errorMessage }, isAtomic: false };
}
