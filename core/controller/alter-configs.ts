/** AlterConfigs and IncrementalAlterConfigs: each resource changes as a whole or not at all. */
import type { MetadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { ConfigOp, configRecords, type ResourceChanges } from './config-changes.ts';
import type { Context, Controller, Handled } from './state.ts';

/** AlterConfigs: what is not named loses its value. */
export function alterConfigs(
  controller: Controller,
  _context: Context,
  request: RequestOf<33>,
): Handled<ResponseInputOf<33>> {
  const wanted = request.resources.map(
    ({ resourceType, resourceName, configs }): ResourceChanges => ({
      type: resourceType,
      name: resourceName,
      changes: configs.map(({ name, value }) => ({ name, operation: ConfigOp.SET, value })),
      replacesAll: true,
    }),
  );
  return alter(controller, wanted, request.validateOnly);
}

/** IncrementalAlterConfigs: keys are set, deleted, and lists added to and taken from. */
export function incrementalAlterConfigs(
  controller: Controller,
  _context: Context,
  request: RequestOf<44>,
): Handled<ResponseInputOf<44>> {
  const wanted = request.resources.map(
    ({ resourceType, resourceName, configs }): ResourceChanges => ({
      type: resourceType,
      name: resourceName,
      changes: configs.map(({ name, configOperation, value }) => ({ name, operation: configOperation, value })),
      replacesAll: false,
    }),
  );
  return alter(controller, wanted, request.validateOnly);
}

function alter(
  controller: Controller,
  wanted: readonly ResourceChanges[],
  validateOnly: boolean,
): Handled<ResponseInputOf<44>> {
  const records: MetadataRecord[] = [];
  const responses = wanted.map((resource) => {
    const head = { resourceType: resource.type, resourceName: resource.name };
    const count = wanted.filter(({ type, name }) => type === resource.type && name === resource.name).length;
    if (count > 1) {
      const errorMessage = 'Each resource must appear at most once.';
      return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage, ...head };
    }
    const outcome = configRecords(controller.image, resource);
    if ('errorCode' in outcome) return { ...outcome, ...head };
    records.push(...outcome);
    return { errorCode: ErrorCode.NONE, errorMessage: null, ...head };
  });
  return { records: validateOnly ? [] : records, response: { throttleTimeMs: 0, responses }, isAtomic: true };
}
