/**
 * What it costs a controller to fence a broker that leads a third of all partitions: records are made, replayed, and
 * encoded for the log. In this process; the first time, as it would be in a life of a node, and warmed up.
 */
import { fenceBroker } from '../../core/controller/brokers.ts';
import { createController, replayRecords } from '../../core/controller/state.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import { bootstrapRecords } from '../../core/metadata/features.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { encodeMetadataRecord, type MetadataRecord, metadataRecord } from '../../core/metadata/records.ts';
import { imageFromRecords } from '../../core/metadata/snapshot.ts';
import { ownProcessorMs } from '../peers/process.ts';

/** Processor time, ms. */
export interface Fencing {
  /** Partitions that the broker led. */
  readonly partitions: number;
  readonly firstMs: number;
  /** The least of several runs, and of its parts. */
  readonly warmMs: number;
  readonly makeMs: number;
  readonly replayMs: number;
  readonly encodeMs: number;
}

const RUNS = 12;
const BROKERS = [1, 2, 3, 4, 5, 6];
const AT = { offset: 1, epoch: 1, timestampMs: 0 };

/** Measures it. */
export function measureFencing(topics: number, partitions: number): Fencing {
  const image = imageFromRecords(clusterRecords(topics, partitions), AT);
  if (typeof image === 'string') throw new Error(image);
  const runs = Array.from({ length: RUNS }, () => fence(image));
  const [first] = runs;
  if (first === undefined) throw new Error('there is a first run');
  const least = (of: (run: Run) => number): number => Math.min(...runs.map(of));
  return {
    partitions: first.records - 1,
    firstMs: totalMs(first),
    warmMs: least(totalMs),
    makeMs: least(({ makeMs }) => makeMs),
    replayMs: least(({ replayMs }) => replayMs),
    encodeMs: least(({ encodeMs }) => encodeMs),
  };
}

interface Run {
  readonly records: number;
  readonly makeMs: number;
  readonly replayMs: number;
  readonly encodeMs: number;
}

function totalMs({ makeMs, replayMs, encodeMs }: Run): number {
  return makeMs + replayMs + encodeMs;
}

function fence(image: MetadataImage): Run {
  const config = { nodeId: 1, clusterId: 'c', given: new Map<string, string>(), numPartitions: 1 };
  const controller = createController({ ...config, replicationFactor: 1, sessionTimeoutMs: 1 }, image, 1, 0);
  let records: readonly MetadataRecord[] = [];
  const makeMs = ownProcessorMs(() => {
    records = fenceBroker(controller, 1);
  });
  const replayMs = ownProcessorMs(() => replayRecords(controller, records, AT));
  const encodeMs = ownProcessorMs(() => {
    for (const record of records) encodeMetadataRecord(record);
  });
  return { records: records.length, makeMs, replayMs, encodeMs };
}

function idOf(kind: number, number: number): string {
  const bytes = new Uint8Array(16);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(12, number);
  return uuidFromBytes(bytes, 0);
}

/** Six brokers; the first leads a third of all partitions and follows nowhere. */
function* clusterRecords(topics: number, partitions: number): Generator<MetadataRecord> {
  yield* bootstrapRecords(1);
  for (const id of BROKERS) {
    yield metadataRecord('RegisterBrokerRecord', 3, {
      brokerId: id,
      incarnationId: idOf(3, id),
      brokerEpoch: id,
      endPoints: [],
      features: [],
      rack: null,
      fenced: false,
      logDirs: [idOf(2, id)],
    });
  }
  for (let topic = 0; topic < topics; topic++) {
    const topicId = idOf(1, topic);
    yield metadataRecord('TopicRecord', 0, { name: `topic-${topic}`, topicId });
    for (let partitionId = 0; partitionId < partitions; partitionId++) {
      const replicas = (topic + partitionId) % 3 === 0 ? [1, 2, 3] : [4, 5, 6];
      const state = { leader: replicas[0] ?? -1, leaderEpoch: 0, partitionEpoch: 0 };
      const directories = replicas.map((id) => idOf(2, id));
      const lists = { replicas, isr: replicas, removingReplicas: [], addingReplicas: [], directories };
      yield metadataRecord('PartitionRecord', 2, { partitionId, topicId, ...state, ...lists });
    }
  }
}
