/** What the broker's tests ask of a node, in few words. */
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import type { FetchRequest } from '../../core/protocol/messages/01-fetch.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { type BatchOptions, encodeBatch, readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import type { ToyConnection, ToyWorld } from './toy-world.ts';

/** API keys by name. */
export const KEY = { produce: 0, fetch: 1, listOffsets: 2, metadata: 3, apiVersions: 18, initProducerId: 22 } as const;

const codecs = realCodecs();

/** One batch that holds these values. */
export function batchOf(values: readonly string[], options: BatchOptions & { timestampMs?: number } = {}): Uint8Array {
  const timestampMs = options.timestampMs ?? 1_700_000_000_000;
  const records = values.map((value) => ({ timestampMs, key: null, value: new TextEncoder().encode(value) }));
  return encodeBatch(records, options);
}

/** The body of a Produce request to one partition. */
export function produceBody(
  partition: number,
  records: Uint8Array | null,
  options: { topic?: string; acks?: number; timeoutMs?: number; topicId?: string } = {},
): RequestInputOf<0> {
  const { topic = 'orders', acks = -1, timeoutMs = 1000, topicId = ZERO_UUID } = options;
  const topicData = [{ name: topic, topicId, partitionData: [{ index: partition, records }] }];
  return { transactionalId: null, acks, timeoutMs, topicData };
}

/** Produces one batch and takes the answer for its partition. */
export function produce(
  world: ToyWorld,
  connection: ToyConnection,
  partition: number,
  values: readonly string[],
  options: Parameters<typeof produceBody>[2] & BatchOptions = {},
): ResponseOf<0>['responses'][number]['partitionResponses'][number] {
  const answer = world.ask(connection, KEY.produce, 9, produceBody(partition, batchOf(values, options), options));
  return answer.responses[0]!.partitionResponses[0]!;
}

/** One partition in a Fetch request. */
export function wanted(
  partition: number,
  fetchOffset: number,
  changes: Partial<FetchRequest['topics'][number]['partitions'][number]> = {},
): FetchRequest['topics'][number]['partitions'][number] {
  return {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset,
    lastFetchedEpoch: -1,
    logStartOffset: -1,
    partitionMaxBytes: 1_000_000,
    replicaDirectoryId: ZERO_UUID,
    highWatermark: Number.MAX_SAFE_INTEGER,
    ...changes,
  };
}

/** The body of a Fetch request. */
export function fetchBody(
  partitions: FetchRequest['topics'][number]['partitions'],
  changes: Partial<RequestInputOf<1>> & { topic?: string } = {},
): RequestInputOf<1> {
  const { topic = 'orders', ...rest } = changes;
  return {
    replicaId: -1,
    maxWaitMs: 500,
    minBytes: 1,
    maxBytes: 50_000_000,
    isolationLevel: 0,
    sessionId: 0,
    sessionEpoch: -1,
    topics: partitions.length === 0 ? [] : [{ topic, topicId: ZERO_UUID, partitions }],
    forgottenTopicsData: [],
    rackId: '',
    ...rest,
  };
}

/** All values in the answers of a Fetch, as `partition:offset=value`. */
export function valuesOf(response: ResponseOf<1>): string[] {
  const values: string[] = [];
  for (const { partitions } of response.responses) {
    for (const { partitionIndex, records } of partitions) {
      for (const { offset, value } of records === null ? [] : recordsOf(records)) {
        values.push(`${partitionIndex}:${offset}=${new TextDecoder().decode(value ?? undefined)}`);
      }
    }
  }
  return values;
}

function recordsOf(bytes: Uint8Array): ReturnType<typeof readRecords> {
  const records: ReturnType<typeof readRecords> = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += view.getInt32(at + 8) + 12) {
    records.push(...readRecords(bytes.subarray(at, at + view.getInt32(at + 8) + 12), codecs));
  }
  return records;
}
