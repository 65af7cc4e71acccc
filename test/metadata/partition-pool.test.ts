/** What is equal in images of one writer is one object, and nobody can tell but by how much they hold. */
import { expect, it } from 'vitest';
import { topicById } from '../../core/metadata/image.ts';
import { createLoader, type Loader, loadBatch } from '../../core/metadata/loader.ts';
import { createPartitionPool, rememberPartition } from '../../core/metadata/partition-pool.ts';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataRecord,
  partitionChange,
} from '../../core/metadata/records.ts';
import { brokerRecordOf, idOf, topicRecordsOf } from './cluster.ts';

const AT = { offset: 1, epoch: 1, timestampMs: 0 };
const [A, B] = [idOf(1), idOf(2)];

/** As the log has them: nothing in one record is the same object as in another. */
function reread(record: MetadataRecord): MetadataRecord {
  const decoded = decodeMetadataRecord(encodeMetadataRecord(record));
  if ('problem' in decoded) throw new Error(decoded.problem.sentence);
  return decoded.record;
}

function load(loader: Loader, records: readonly MetadataRecord[]): readonly (readonly number[])[] {
  const loaded = loadBatch(loader, records.map(reread), AT);
  if ('problem' in loaded) throw new Error(loaded.problem);
  return loaded.deltas.flatMap(({ topics }) => topics.map(({ partitions }) => partitions));
}

function shrunk(topic: string, partition: number): MetadataRecord {
  const change = partitionChange(2, topic, partition);
  change.value.isr = [2, 3];
  change.value.leader = 2;
  return change;
}

function twoTopics(): Loader {
  const loader = createLoader();
  load(
    loader,
    [1, 2, 3].map((id) => brokerRecordOf(id, id)),
  );
  load(loader, topicRecordsOf('a', A, 3, [1, 2, 3]));
  load(loader, topicRecordsOf('b', B, 2, [1, 2, 3]));
  return loader;
}

it('equal partitions are one object, whichever batch they came with', () => {
  const { image } = twoTopics();
  const all = [A, B].flatMap((id) => topicById(image, id)?.partitions ?? []);
  expect(all).toHaveLength(5);
  expect(new Set(all).size).toBe(1);
});

it('what a change makes of them is one object again, and those it spared stay what they were', () => {
  const loader = twoTopics();
  const before = topicById(loader.image, A)?.partitions[0];
  expect(load(loader, [shrunk(A, 1), shrunk(B, 0)])).toEqual([[1], [0]]);
  const [a, b] = [A, B].map((id) => topicById(loader.image, id)?.partitions ?? []);
  expect(a?.[1]).toEqual({ ...before, isr: [2, 3], leader: 2, leaderEpoch: 1, partitionEpoch: 1 });
  expect(b?.[0]).toBe(a?.[1]);
  expect(a?.[1]?.replicas).toBe(before?.replicas);
  expect([a?.[0], a?.[2], b?.[1]]).toEqual([before, before, before]);
});

it('a partition that is set to what it was is listed as changed, once', () => {
  const loader = twoTopics();
  const [, again] = topicRecordsOf('a', A, 1, [1, 2, 3]);
  if (again === undefined) throw new Error('a topic has a partition');
  const before = topicById(loader.image, A);
  expect(load(loader, [again, again])).toEqual([[0]]);
  expect(topicById(loader.image, A)).toEqual(before);
});

it('what is remembered has an end, however many differ', () => {
  const pool = createPartitionPool();
  const partition = topicById(twoTopics().image, A)?.partitions[0];
  if (partition === undefined) throw new Error('a topic has a partition');
  for (let partitionEpoch = 0; partitionEpoch < 100_000; partitionEpoch++) {
    rememberPartition(pool, { ...partition, partitionEpoch });
  }
  expect(pool.partitions.slots.length).toBe(16_384);
});
