/** A small cluster as records, for tests: brokers, topics, and an image of them. */
import { EMPTY_IMAGE, type MetadataImage } from '../../core/metadata/image.ts';
import { createLoader, loadBatch } from '../../core/metadata/loader.ts';
import { type MetadataRecord, metadataRecord } from '../../core/metadata/records.ts';

/** The n-th uuid of a test. */
export function idOf(n: number): string {
  const digits = String(n).padStart(6, '0');
  return `Id${digits}AAAAAAAAAAAAAA`.slice(0, 21).concat('A');
}

/** A broker that has registered, in `epoch`, with one log directory. */
export function brokerRecordOf(id: number, epoch: number, fenced = false, rack: string | null = null): MetadataRecord {
  return metadataRecord('RegisterBrokerRecord', 4, {
    brokerId: id,
    incarnationId: idOf(9000 + id),
    brokerEpoch: epoch,
    endPoints: [{ name: 'PLAINTEXT', host: '127.0.0.1', port: 9090 + id, securityProtocol: 0 }],
    features: [{ name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 33 }],
    rack,
    fenced,
    logDirs: [idOf(8000 + id)],
  });
}

/** A topic with so many partitions on these replicas, led by the first. */
export function topicRecordsOf(
  name: string,
  id: string,
  partitions: number,
  replicas: readonly number[],
): MetadataRecord[] {
  const records = [metadataRecord('TopicRecord', 0, { name, topicId: id })];
  for (let partitionId = 0; partitionId < partitions; partitionId++) {
    records.push(
      metadataRecord('PartitionRecord', 2, {
        partitionId,
        topicId: id,
        replicas,
        isr: replicas,
        removingReplicas: [],
        addingReplicas: [],
        leader: replicas[0] ?? -1,
        leaderEpoch: 0,
        partitionEpoch: 0,
        directories: replicas.map((replica) => idOf(8000 + replica)),
      }),
    );
  }
  return records;
}

/** The image that one batch makes of another; throws for a record that does not fit. */
export function imageOf(records: readonly MetadataRecord[], before: MetadataImage = EMPTY_IMAGE): MetadataImage {
  const loader = createLoader(before);
  const offset = before.provenance.offset + records.length;
  const loaded = loadBatch(loader, records, { offset, epoch: 1, timestampMs: 0 });
  if ('problem' in loaded) throw new Error(loaded.problem);
  return loader.image;
}
