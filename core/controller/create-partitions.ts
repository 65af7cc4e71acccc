/** CreatePartitions: a topic grows; it never shrinks, and the partitions it has are left alone. */
import { topicByName } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import { firstInSync, newPartition } from './new-partitions.ts';
import { assignmentProblem, placeReplicas } from './placement.ts';
import { type Context, type Controller, type Handled, RECORDS_PER_REQUEST_MAX, type Refusal } from './state.ts';

type Wanted = RequestOf<37>['topics'][number];

/** CreatePartitions. */
export function createPartitions(
  controller: Controller,
  _context: Context,
  request: RequestOf<37>,
): Handled<ResponseInputOf<37>> {
  const records: MetadataRecord[] = [];
  const counts = new Map<string, number>();
  for (const { name } of request.topics) counts.set(name, (counts.get(name) ?? 0) + 1);
  const wanted = request.topics.filter(({ name }) => counts.get(name) === 1);
  let additional = 0;
  for (const { name, count } of wanted) {
    additional += Math.max(0, count - (topicByName(controller.image, name)?.partitions.length ?? count));
  }
  const isTooMany = additional > RECORDS_PER_REQUEST_MAX;
  const tooMany: Refusal = {
    errorCode: ErrorCode.POLICY_VIOLATION,
    errorMessage: 'Excessively large number of additional partitions per request.',
  };
  const results = wanted.map((topic) => {
    const refusal = isTooMany ? tooMany : grow(controller, topic, records);
    return { name: topic.name, ...(refusal ?? { errorCode: ErrorCode.NONE, errorMessage: null }) };
  });
  for (const [name, count] of counts) {
    const errorMessage = 'Duplicate topic name.';
    if (count > 1) results.push({ name, errorCode: ErrorCode.INVALID_REQUEST, errorMessage });
  }
  return { records: request.validateOnly ? [] : records, response: { throttleTimeMs: 0, results }, isAtomic: true };
}

/** Adds the records of a topic's new partitions; or refuses and adds nothing. */
function grow(controller: Controller, wanted: Wanted, records: MetadataRecord[]): Refusal | null {
  const { image } = controller;
  const topic = topicByName(image, wanted.name);
  if (topic === undefined) return { errorCode: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: null };
  const before = topic.partitions.length;
  const { count } = wanted;
  const invalid = (errorMessage: string): Refusal => ({ errorCode: ErrorCode.INVALID_PARTITIONS, errorMessage });
  if (count === before) return invalid(`Topic already has ${before} partition(s).`);
  if (count < before) {
    return invalid(`The topic ${wanted.name} currently has ${before} partition(s); ${count} would not be an increase.`);
  }
  const factor = topic.partitions[0]?.replicas.length ?? 1;
  const replicas =
    wanted.assignments === null
      ? placeReplicas(controller, count - before, factor)
      : assigned(controller, wanted, count - before, factor);
  if ('errorCode' in replicas) return replicas;
  const added: MetadataRecord[] = [];
  for (const [index, ids] of replicas.entries()) {
    const isr = firstInSync(image, ids);
    if (isr.length === 0) {
      const why =
        `Unable to replicate the partition ${factor} time(s): ` +
        'All brokers are currently fenced or in controlled shutdown.';
      return { errorCode: ErrorCode.INVALID_REPLICATION_FACTOR, errorMessage: why };
    }
    added.push(newPartition(image, topic.id, before + index, ids, isr));
  }
  for (const record of added) records.push(record);
  return null;
}

/** The replicas that the client chose. */
function assigned(
  controller: Controller,
  wanted: Wanted,
  additional: number,
  factor: number,
): readonly (readonly number[])[] | Refusal {
  const invalid = (errorMessage: string): Refusal => ({
    errorCode: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    errorMessage,
  });
  const assignments = wanted.assignments ?? [];
  if (assignments.length !== additional) {
    return invalid(
      `Attempted to add ${additional} additional partition(s), but only ${assignments.length} ` +
        'assignment(s) were specified.',
    );
  }
  const first = wanted.count - additional;
  for (const [index, { brokerIds }] of assignments.entries()) {
    const problem = assignmentProblem(controller.image, brokerIds, factor);
    if (problem !== null) return invalid(problem);
    if (firstInSync(controller.image, brokerIds).length === 0) {
      return invalid(
        `All brokers specified in the manual partition assignment for partition ${first + index} ` +
          'are fenced or in controlled shutdown.',
      );
    }
  }
  return assignments.map(({ brokerIds }) => brokerIds);
}
