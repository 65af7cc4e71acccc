/**
 * Figures at the size of a large cluster. They are printed, and held only to bounds far above what was measured,
 * because machines are shared; what is asserted of the images is exact.
 */
import { describe, expect, it } from 'vitest';
import { fenceBroker } from '../../core/controller/brokers.ts';
import { type Controller, createController, replayRecords } from '../../core/controller/state.ts';
import { applyRecord, draftImage, type MetadataDelta, publishDraft } from '../../core/metadata/draft.ts';
import { bootstrapRecords } from '../../core/metadata/features.ts';
import { EMPTY_IMAGE, type MetadataImage, topicById } from '../../core/metadata/image.ts';
import {
  encodeMetadataRecord,
  type MetadataRecord,
  metadataRecord,
  partitionChange,
} from '../../core/metadata/records.ts';
import { imageFromRecords, snapshotRecords } from '../../core/metadata/snapshot.ts';
import { brokerRecordOf, idOf } from './cluster.ts';
import { least } from './least.ts';

const AT = { offset: 1, epoch: 1, timestampMs: 0 };
const TOPICS = 10_000;
const PARTITIONS = 10;

function apply(image: MetadataImage, records: readonly MetadataRecord[]): MetadataDelta {
  const draft = draftImage(image);
  for (const record of records) {
    const problem = applyRecord(draft, record);
    if (problem !== null) throw new Error(problem);
  }
  const delta = publishDraft(draft, AT);
  if (typeof delta === 'string') throw new Error(delta);
  return delta;
}

/** 10,000 topics of 10 partitions on six brokers; the first leads a third of all and follows nowhere. */
function records(): MetadataRecord[] {
  const all = [...bootstrapRecords(1), ...[1, 2, 3, 4, 5, 6].map((id) => brokerRecordOf(id, id))];
  for (let topic = 0; topic < TOPICS; topic++) {
    const topicId = idOf(topic);
    all.push(metadataRecord('TopicRecord', 0, { name: `topic-${topic}`, topicId }));
    for (let partitionId = 0; partitionId < PARTITIONS; partitionId++) {
      const isFirst = (topic + partitionId) % 3 === 0;
      const replicas = isFirst ? [1, 2, 3] : [4, 5, 6];
      all.push(
        metadataRecord('PartitionRecord', 2, {
          partitionId,
          topicId,
          replicas,
          isr: replicas,
          removingReplicas: [],
          addingReplicas: [],
          leader: replicas[0] ?? -1,
          leaderEpoch: 0,
          partitionEpoch: 0,
          directories: replicas.map((id) => idOf(8000 + id)),
        }),
      );
    }
  }
  return all;
}

function say(what: string, ms: number, boundMs: number): void {
  process.stdout.write(`  ${what}: ${ms.toFixed(3)} ms\n`);
  expect(ms).toBeLessThan(boundMs);
}

describe('100,000 partitions', () => {
  const first = records();
  const image = apply(EMPTY_IMAGE, first).after;

  it('one change of one partition touches one topic', () => {
    const change = partitionChange(2, idOf(77), 3);
    change.value.leader = 2;
    say(
      'one change with 10,000 topics',
      least(200, () => apply(image, [change])),
      5,
    );
    const { after, topics } = apply(image, [change]);
    expect(topics).toHaveLength(1);
    expect(after.topics.byId.shards.filter((shard, index) => shard !== image.topics.byId.shards[index])).toHaveLength(
      1,
    );
  });

  it('40,000 changes make one image', () => {
    const changes: MetadataRecord[] = [];
    for (let index = 0; index < 40_000; index++) {
      const change = partitionChange(2, idOf(index % TOPICS), Math.floor(index / TOPICS));
      change.value.isr = [1];
      changes.push(change);
    }
    say(
      '40,000 changes in one draft',
      least(8, () => apply(image, changes)),
      1000,
    );
    const { after, topics } = apply(image, changes);
    expect(topics).toHaveLength(TOPICS);
    expect(topicById(after, idOf(5))?.partitions.map(({ partitionEpoch }) => partitionEpoch)).toEqual([
      1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
    ]);
  });

  it('a broker that leads 33,000 of them is fenced', () => {
    const config = {
      nodeId: 1,
      clusterId: 'c',
      given: new Map<string, string>(),
      numPartitions: 1,
      replicationFactor: 1,
    };
    let controller: Controller = createController({ ...config, sessionTimeoutMs: 1 }, image, 1, 0);
    let made: readonly MetadataRecord[] = [];
    let leads = 0;
    const both = least(6, () => {
      controller.image = image;
      made = fenceBroker(controller, 1);
      replayRecords(controller, made, AT);
    });
    say(`fencing, ${made.length} records made and replayed`, both, 2000);
    say(
      '  of which making the records',
      least(4, () => fenceBroker(createFresh(image, config), 1)),
      2000,
    );
    let bytes = 0;
    const encoding = least(3, () => {
      bytes = 0;
      for (const record of made) bytes += encodeMetadataRecord(record).length;
    });
    say(`  encoding them, ${bytes} bytes`, encoding, 2000);
    for (const topic of [idOf(1), idOf(2)]) {
      for (const partition of topicById(controller.image, topic)?.partitions ?? []) {
        expect(partition.leader).not.toBe(1);
        expect(partition.isr).not.toContain(1);
        leads += 1;
      }
    }
    expect(leads).toBe(2 * PARTITIONS);
    controller = createFresh(image, config);
    expect(controller.image).toBe(image);
  });

  it('a snapshot is written and read', () => {
    let all: MetadataRecord[] = [];
    say(
      'image from 110,000 records',
      least(3, () => apply(EMPTY_IMAGE, first)),
      5000,
    );
    say(
      'records of the image',
      least(3, () => {
        all = [...snapshotRecords(image)];
      }),
      5000,
    );
    const again = imageFromRecords(all, AT);
    expect(typeof again === 'string' ? again : again.topics.byId.size).toBe(TOPICS);
    expect(all).toHaveLength(first.length);
  });
});

function createFresh(
  image: MetadataImage,
  config: Omit<Parameters<typeof createController>[0], 'sessionTimeoutMs'>,
): Controller {
  return createController({ ...config, sessionTimeoutMs: 1 }, image, 1, 0);
}
