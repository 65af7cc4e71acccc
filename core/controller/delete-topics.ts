/** DeleteTopics, by name or by id. A deleted topic is gone when the record is; its name is free at once. */
import { ZERO_UUID } from '../lib/uuid.ts';
import { topicById, topicByName } from '../metadata/image.ts';
import { type MetadataRecord, metadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX } from './state.ts';

type Result = ResponseInputOf<20>['responses'][number];

const ID_VERSION = 6;
const DISABLED_VERSION = 3;

/** DeleteTopics. */
export function deleteTopics(
  controller: Controller,
  _context: Context,
  request: RequestOf<20>,
  version: number,
): Handled<ResponseInputOf<20>> {
  const asked =
    version >= ID_VERSION ? request.topics : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
  const refusal = wholeRefusal(controller, asked.length, version);
  if (refusal !== null) {
    const responses = asked.map(({ name, topicId }): Result => ({ name, topicId, ...refusal }));
    return { records: [], response: { throttleTimeMs: 0, responses }, isAtomic: true };
  }
  const records: MetadataRecord[] = [];
  const responses: Result[] = [];
  const names = counted(asked.flatMap(({ name, topicId }) => (topicId === ZERO_UUID && name !== null ? [name] : [])));
  const ids = counted(asked.flatMap(({ name, topicId }) => (name === null && topicId !== ZERO_UUID ? [topicId] : [])));
  const refuse = (name: string | null, topicId: string, errorCode: number, errorMessage: string | null): void => {
    responses.push({ name, topicId, errorCode, errorMessage });
  };
  const remove = (name: string, topicId: string): void => {
    records.push(metadataRecord('RemoveTopicRecord', 0, { topicId }));
    responses.push({ name, topicId, errorCode: ErrorCode.NONE, errorMessage: null });
  };
  for (const { name, topicId } of asked) {
    const isNone = name === null && topicId === ZERO_UUID;
    const isBoth = name !== null && topicId !== ZERO_UUID;
    if (isNone) refuse(null, ZERO_UUID, ErrorCode.INVALID_REQUEST, 'Neither topic name nor id were specified.');
    if (isBoth) {
      refuse(name, topicId, ErrorCode.INVALID_REQUEST, 'You may not specify both topic name and topic id.');
    }
  }
  for (const [id, count] of ids) {
    const topic = topicById(controller.image, id);
    if (count > 1) refuse(null, id, ErrorCode.INVALID_REQUEST, 'Duplicate topic id.');
    else if (topic === undefined) refuse(null, id, ErrorCode.UNKNOWN_TOPIC_ID, null);
    else if (names.has(topic.name)) refuse(topic.name, id, ErrorCode.INVALID_REQUEST, SAME_TOPIC);
    else remove(topic.name, id);
  }
  for (const [name, count] of names) {
    const topic = topicByName(controller.image, name);
    if (count > 1) refuse(name, ZERO_UUID, ErrorCode.INVALID_REQUEST, 'Duplicate topic name.');
    else if (topic === undefined) refuse(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, null);
    else if (!ids.has(topic.id)) remove(name, topic.id); // Else it was answered with its id.
  }
  return { records, response: { throttleTimeMs: 0, responses }, isAtomic: true };
}

const SAME_TOPIC = 'The provided topic name maps to an ID that was already supplied.';

function counted(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function wholeRefusal(
  controller: Controller,
  count: number,
  version: number,
): { readonly errorCode: number; readonly errorMessage: string | null } | null {
  if (controller.config.given.get('delete.topic.enable')?.trim().toLowerCase() === 'false') {
    if (version >= DISABLED_VERSION) return { errorCode: ErrorCode.TOPIC_DELETION_DISABLED, errorMessage: null };
    return { errorCode: ErrorCode.INVALID_REQUEST, errorMessage: 'Topic deletion is disabled.' };
  }
  if (count <= RECORDS_PER_REQUEST_MAX) return null;
  const errorMessage = 'Unable to perform excessively large batch operation.';
  return { errorCode: ErrorCode.POLICY_VIOLATION, errorMessage };
}
