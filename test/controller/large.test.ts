/**
 * A hundred thousand partitions on fifty brokers, three replicas each: placed, a broker fails, it comes back. Figures
 * are printed, and held only to bounds far above what was measured, because machines are shared; what is asserted of
 * the images is exact.
 */
import { describe, expect, it } from 'vitest';
import { fenceBroker } from '../../core/controller/brokers.ts';
import { nextDuty } from '../../core/controller/duties.ts';
import { CONTROLLER } from '../../core/controller/machine.ts';
import { placeReplicas } from '../../core/controller/placement.ts';
import { type Controller, createController, replayRecords } from '../../core/controller/state.ts';
import { BATCH_RECORDS_MAX } from '../../core/coordination/coordinator.ts';
import { applyRecord, draftImage, publishDraft } from '../../core/metadata/draft.ts';
import { bootstrapRecords } from '../../core/metadata/features.ts';
import type { MetadataImage } from '../../core/metadata/image.ts';
import { createLoader, loadBatch } from '../../core/metadata/loader.ts';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataRecord,
  metadataRecord,
} from '../../core/metadata/records.ts';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { imageFromRecords, snapshotRecords } from '../../core/metadata/snapshot.ts';
import { heapBytes } from '../../tools/peers/process.ts';
import { brokerRecordOf, idOf } from '../metadata/cluster.ts';
import { least } from '../metadata/least.ts';

const TOPICS = 1000;
const PARTITIONS = 100;
const BROKERS = 50;
const RACKS = 5;
const AT = { offset: 1, epoch: 1, timestampMs: 0 };
const CONFIG = {
  nodeId: 0,
  clusterId: 'c',
  given: new Map<string, string>(),
  numPartitions: 1,
  replicationFactor: 3,
  sessionTimeoutMs: 3000,
  balanceIntervalMs: 1000,
};

/** The image that a broker makes of the bytes of the log, and what it keeps of the heap, MB. */
function followed(values: readonly Uint8Array[]): { readonly image: MetadataImage; readonly heapMb: number } {
  const before = heapBytes();
  const loader = createLoader();
  for (let from = 0; from < values.length; from += BATCH_RECORDS_MAX) {
    const records = values.slice(from, from + BATCH_RECORDS_MAX).map((value) => {
      const decoded = decodeMetadataRecord(value);
      return 'record' in decoded ? decoded.record : expect.fail(decoded.problem.sentence);
    });
    const loaded = loadBatch(loader, records, AT);
    if ('problem' in loaded) expect.fail(loaded.problem);
  }
  return { image: loader.image, heapMb: (heapBytes() - before) / 1024 / 1024 };
}

function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}

function brokers(): MetadataRecord[] {
  const ids = Array.from({ length: BROKERS }, (_, index) => index + 1);
  return [...bootstrapRecords(2), ...ids.map((id) => brokerRecordOf(id, id, false, `rack-${id % RACKS}`))];
}

/** All topics, placed by the controller. */
function cluster(): { readonly image: MetadataImage; readonly placingMs: number } {
  const first = imageFromRecords(brokers(), AT);
  if (typeof first === 'string') throw new Error(first);
  const controller = createController(CONFIG, first, 7, 0);
  const records: MetadataRecord[] = [];
  const start = process.cpuUsage();
  for (let topic = 0; topic < TOPICS; topic++) {
    const topicId = idOf(topic);
    records.push(metadataRecord('TopicRecord', 0, { name: `topic-${topic}`, topicId }));
    const placed = placeReplicas(controller, PARTITIONS, 3);
    if ('errorCode' in placed) throw new Error(String(placed.errorMessage));
    for (const [partitionId, replicas] of placed.entries()) {
      const directories = replicas.map((id) => idOf(8000 + id));
      const head = { topicId, partitionId, replicas, directories, isr: replicas, leader: replicas[0] ?? -1 };
      const tail = { removingReplicas: [], addingReplicas: [], leaderEpoch: 0, partitionEpoch: 0 };
      records.push(metadataRecord('PartitionRecord', 2, { ...head, ...tail }));
    }
  }
  const { user, system } = process.cpuUsage(start);
  replayRecords(controller, records, AT);
  return { image: controller.image, placingMs: (user + system) / 1000 };
}

function countsOf(image: MetadataImage): { leads: number[]; follows: number[]; racks: number } {
  const leads = new Array<number>(BROKERS + 1).fill(0);
  const follows = new Array<number>(BROKERS + 1).fill(0);
  let racks = RACKS;
  for (const topic of mapValues(image.topics.byId)) {
    for (const { leader, isr, replicas } of topic.partitions) {
      if (leader >= 0) leads[leader] = (leads[leader] ?? 0) + 1;
      for (const id of isr) follows[id] = (follows[id] ?? 0) + 1;
      racks = Math.min(racks, new Set(replicas.map((id) => id % RACKS)).size);
    }
  }
  return { leads, follows, racks };
}

describe('100,000 partitions on 50 brokers', () => {
  const { image, placingMs } = cluster();

  it('are spread over brokers and racks', () => {
    const { leads, follows, racks } = countsOf(image);
    const [least, most] = [Math.min(...leads.slice(1)), Math.max(...leads.slice(1))];
    say(`placed and made into records in ${placingMs.toFixed(0)} ms; a broker leads ${least} to ${most}`);
    expect(racks).toBe(3);
    expect(most - least).toBeLessThan(200);
    expect(Math.max(...follows.slice(1)) - Math.min(...follows.slice(1))).toBeLessThan(600);
  });

  it('fit into 2 GB fifty times, once for each broker', () => {
    const values = [...snapshotRecords(image)].map((record) => encodeMetadataRecord(record));
    const one = followed(values);
    say(`the image of one broker: ${one.heapMb.toFixed(1)} MB; of ${BROKERS}: ${(one.heapMb * BROKERS).toFixed(0)} MB`);
    expect(one.image.topics.byId.size).toBe(TOPICS);
    expect(one.heapMb * BROKERS).toBeLessThan(2048);
  });

  it('are led by others once a broker has failed, in some records and one image', () => {
    let records: readonly MetadataRecord[] = [];
    let controller: Controller = createController(CONFIG, image, 1, 0);
    const making = least(7, () => {
      controller = createController(CONFIG, image, 1, 0);
      records = fenceBroker(controller, 17);
    });
    const replaying = least(7, () => {
      controller.image = image;
      replayRecords(controller, records, AT);
    });
    let bytes = 0;
    const encoding = least(5, () => {
      bytes = 0;
      for (const record of records) bytes += encodeMetadataRecord(record).length;
    });
    const following = least(7, () => {
      const draft = draftImage(image);
      for (const record of records) applyRecord(draft, record);
      publishDraft(draft, AT);
    });
    const batches = Math.ceil(records.length / BATCH_RECORDS_MAX);
    say(`a broker fails: ${records.length} records, ${bytes} bytes, ${batches} batches`);
    say(`  the controller: made in ${making.toFixed(1)} ms, encoded in ${encoding.toFixed(1)} ms`);
    say(`  its image in ${replaying.toFixed(1)} ms; a broker's image in ${following.toFixed(1)} ms`);
    const { leads, follows } = countsOf(controller.image);
    expect([leads[17], follows[17]]).toEqual([0, 0]);
    expect(leads.reduce((sum, count) => sum + count)).toBe(TOPICS * PARTITIONS);
    expect(records.length).toBe((countsOf(image).follows[17] ?? 0) + 1);
    // No other broker is given more than a part of what the failed one led.
    const gained = leads.map((count, id) => count - (countsOf(image).leads[id] ?? 0));
    say(`  the most that another broker leads in its place: ${Math.max(...gained)}`);
    expect(Math.max(...gained)).toBeLessThan((countsOf(image).leads[17] ?? 0) / 4);
    expect(making + replaying).toBeLessThan(1000);
  });

  it('are looked over for leads to give back', () => {
    const controller = createController(CONFIG, image, 1, 0);
    controller.mayElectUncleanly = false;
    for (const session of controller.sessions.values()) session.heardMs = 1000;
    const duty = nextDuty(controller, 1000);
    expect(duty).toEqual({ kind: 'balance' });
    const looking = least(5, () => {
      CONTROLLER.handle(controller, { nowMs: 1000, nextOffset: 0 }, { kind: 'balance' });
    });
    say(`looked over for leads to give back in ${looking.toFixed(1)} ms`);
    expect(controller.balanceAtMs).toBe(2000);
  });
});
