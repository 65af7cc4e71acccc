/** Images: what a batch does not touch stays the same object, and what it changes is told. */
import { describe, expect, it } from 'vitest';
import { applyRecord, draftImage, type MetadataDelta, publishDraft } from '../../core/metadata/draft.ts';
import { configOf, EMPTY_IMAGE, type MetadataImage, topicById, topicByName } from '../../core/metadata/image.ts';
import { createLoader, loadBatch } from '../../core/metadata/loader.ts';
import { type MetadataRecord, metadataRecord, partitionChange } from '../../core/metadata/records.ts';
import { mapEntries } from '../../core/metadata/sharded-map.ts';
import { brokerRecordOf, idOf, imageOf, topicRecordsOf } from './cluster.ts';

const AT = { offset: 100, epoch: 1, timestampMs: 5 };

function deltaOf(image: MetadataImage, ...records: MetadataRecord[]): MetadataDelta {
  const draft = draftImage(image);
  for (const record of records) expect(applyRecord(draft, record)).toBeNull();
  const delta = publishDraft(draft, AT);
  if (typeof delta === 'string') throw new Error(delta);
  return delta;
}

function setting(name: string, value: string | null, topic = 'a'): MetadataRecord {
  return metadataRecord('ConfigRecord', 0, { resourceType: 2, resourceName: topic, name, value });
}

const [A, B] = [idOf(1), idOf(2)];
const base = imageOf([
  brokerRecordOf(1, 1),
  brokerRecordOf(2, 2),
  ...topicRecordsOf('a', A, 3, [1, 2]),
  ...topicRecordsOf('b', B, 1, [2, 1]),
  setting('retention.ms', '1'),
]);

function change(partition: number, fields: Partial<ReturnType<typeof partitionChange>['value']>): MetadataRecord {
  const record = partitionChange(2, A, partition);
  Object.assign(record.value, fields);
  return record;
}

describe('an image', () => {
  it('keeps every part that a batch did not touch, and names what it did', () => {
    const delta = deltaOf(base, change(1, { leader: 2 }));
    const { after } = delta;
    expect(after.cluster).toBe(base.cluster);
    expect(after.configs).toBe(base.configs);
    expect(after.features).toBe(base.features);
    expect(after.topics.idByName).toBe(base.topics.idByName);
    expect(topicById(after, B)).toBe(topicById(base, B));
    const [before, now] = [topicById(base, A), topicById(after, A)];
    expect(now?.partitions[0]).toBe(before?.partitions[0]);
    expect(now?.partitions[1]).toEqual({ ...before?.partitions[1], leader: 2, leaderEpoch: 1, partitionEpoch: 1 });
    expect(delta.topics).toEqual([{ before, after: now, partitions: [1] }]);
    expect(delta.brokers).toEqual([]);
  });

  it('is the same in every part after records that say nothing', () => {
    const { after } = deltaOf(base, metadataRecord('NoOpRecord', 0, {}));
    expect({ ...after, provenance: null }).toEqual({ ...base, provenance: null });
    expect(after.topics).toBe(base.topics);
    expect(after.provenance).toBe(AT);
  });

  it('leaves the image that it began from alone', () => {
    const text = JSON.stringify([...(topicById(base, A)?.partitions ?? [])]);
    deltaOf(base, change(0, { isr: [2], leader: 2 }), metadataRecord('RemoveTopicRecord', 0, { topicId: B }));
    expect(JSON.stringify([...(topicById(base, A)?.partitions ?? [])])).toBe(text);
    expect(topicByName(base, 'b')?.id).toBe(B);
  });

  it('takes the settings of a topic away with the topic, and a new one of the name starts empty', () => {
    const again = idOf(3);
    const delta = deltaOf(
      base,
      metadataRecord('RemoveTopicRecord', 0, { topicId: A }),
      ...topicRecordsOf('a', again, 1, [1]),
    );
    expect(configOf(delta.after, 2, 'a').size).toBe(0);
    expect(topicByName(delta.after, 'a')?.id).toBe(again);
    expect(topicById(delta.after, A)).toBeUndefined();
    expect(delta.topics.map(({ before, after }) => [before?.id, after?.id])).toEqual([
      [A, undefined],
      [undefined, again],
    ]);
  });

  it('says nothing of a topic that came and went within a batch', () => {
    const id = idOf(4);
    const delta = deltaOf(
      base,
      ...topicRecordsOf('c', id, 2, [1]),
      setting('retention.ms', '5', 'c'),
      metadataRecord('RemoveTopicRecord', 0, { topicId: id }),
    );
    expect(delta.topics).toEqual([]);
    expect([...mapEntries(delta.after.configs)].map(([key]) => key)).toEqual(['2:a']);
  });

  it('begins a leader epoch when the leader is set, even to who it is, and a partition epoch always', () => {
    const same = topicById(deltaOf(base, change(0, { leader: 1 })).after, A)?.partitions[0];
    expect([same?.leader, same?.leaderEpoch, same?.partitionEpoch]).toEqual([1, 1, 1]);
    const shrunk = topicById(deltaOf(base, change(0, { isr: [1] })).after, A)?.partitions[0];
    expect([shrunk?.isr, shrunk?.leaderEpoch, shrunk?.partitionEpoch]).toEqual([[1], 0, 1]);
  });

  it('forgets eligible replicas of one topic or of all, and only where there are some', () => {
    const marked = deltaOf(base, change(0, { eligibleLeaderReplicas: [2] }), change(2, { lastKnownElr: [1] })).after;
    for (const topicName of ['a', '']) {
      const delta = deltaOf(marked, metadataRecord('ClearElrRecord', 0, { topicName }));
      expect(delta.topics.map(({ after, partitions }) => [after?.name, partitions])).toEqual([['a', [0, 2]]]);
      expect(topicById(delta.after, A)?.partitions[0]).toMatchObject({ elr: [], lastKnownElr: [], partitionEpoch: 2 });
    }
  });

  it('follows a broker through its life', () => {
    const fields = { brokerId: 1, brokerEpoch: 1 };
    const registration = (more: object): MetadataRecord =>
      metadataRecord('BrokerRegistrationChangeRecord', 3, { ...fields, ...more });
    const fenced = deltaOf(base, registration({ fenced: 1 }));
    expect(fenced.after.cluster.brokers.get(1)?.fenced).toBe(true);
    expect(fenced.after.cluster.brokers.get(2)).toBe(base.cluster.brokers.get(2));
    expect([fenced.brokers, fenced.after.topics === base.topics]).toEqual([[1], true]);
    const back = deltaOf(fenced.after, registration({ fenced: -1, inControlledShutdown: 1, cordonedLogDirs: [] }));
    expect(back.after.cluster.brokers.get(1)).toMatchObject({
      fenced: false,
      inControlledShutdown: true,
      cordonedLogDirs: [],
      logDirs: [idOf(8001)],
    });
    const gone = deltaOf(back.after, metadataRecord('UnregisterBrokerRecord', 0, fields));
    expect([...gone.after.cluster.brokers.keys()]).toEqual([2]);
  });

  it.each<[string, MetadataRecord, string]>([
    ['a partition of no topic', change(0, {}), ''],
    ['a change of no partition', partitionChange(2, A, 9), 'Partition 9 of topic a is changed, but does not exist.'],
    ['a topic twice', metadataRecord('TopicRecord', 0, { name: 'a', topicId: idOf(7) }), 'a second time'],
    ['an id twice', metadataRecord('TopicRecord', 0, { name: 'z', topicId: A }), 'A second topic'],
    ['a removal of nothing', metadataRecord('RemoveTopicRecord', 0, { topicId: idOf(9) }), 'does not exist'],
    ['an old epoch', metadataRecord('FenceBrokerRecord', 0, { id: 1, epoch: 0 }), 'registered in epoch 1'],
    ['no broker', metadataRecord('UnfenceBrokerRecord', 0, { id: 5, epoch: 0 }), 'not registered'],
    ['no controller', metadataRecord('UnregisterControllerRecord', 0, { controllerId: 5 }), 'not registered'],
    ['no rule', metadataRecord('RemoveAccessControlEntryRecord', 0, { id: A }), 'does not exist'],
  ])('refuses %s', (_title, record, part) => {
    const draft = draftImage(part === '' ? EMPTY_IMAGE : base);
    expect(applyRecord(draft, record)).toContain(part);
  });

  it('takes partitions in any order, but not with a gap', () => {
    const [topic, first, second, third] = topicRecordsOf('c', idOf(5), 3, [1]) as [
      MetadataRecord,
      MetadataRecord,
      MetadataRecord,
      MetadataRecord,
    ];
    const { after, topics } = deltaOf(base, topic, third, first, second);
    expect(topicByName(after, 'c')?.partitions).toHaveLength(3);
    expect(topics[0]?.partitions).toEqual([2, 0, 1]);
    const draft = draftImage(base);
    for (const record of [topic, third, first]) applyRecord(draft, record);
    expect(publishDraft(draft, AT)).toBe('The topic c lacks partition 1.');
    // Nor does it matter what a topic lacked that is gone.
    expect(deltaOf(base, topic, third, metadataRecord('RemoveTopicRecord', 0, { topicId: idOf(5) })).topics).toEqual(
      [],
    );
  });
});

describe('a metadata transaction', () => {
  const begin = metadataRecord('BeginTransactionRecord', 0, {});
  const end = metadataRecord('EndTransactionRecord', 0, {});
  const abort = metadataRecord('AbortTransactionRecord', 0, {});
  const load = (...batches: MetadataRecord[][]): [number[], MetadataImage] => {
    const loader = createLoader(base);
    const counts = batches.map((records) => {
      const loaded = loadBatch(loader, records, AT);
      if ('problem' in loaded) throw new Error(loaded.problem);
      return loaded.deltas.length;
    });
    return [counts, loader.image];
  };

  it('shows as one change when it ends, over however many batches', () => {
    const [counts, image] = load([begin, setting('a', '1')], [setting('b', '2')], [setting('c', '3'), end]);
    expect(counts).toEqual([0, 0, 1]);
    expect([...configOf(image, 2, 'a').keys()]).toEqual(['retention.ms', 'a', 'b', 'c']);
  });

  it('leaves nothing when it is taken back', () => {
    const [counts, image] = load([begin, setting('a', '1')], [abort], [setting('b', '2')]);
    expect(counts).toEqual([0, 1, 1]);
    expect([...configOf(image, 2, 'a').keys()]).toEqual(['retention.ms', 'b']);
  });

  it('does not swallow what stands before and behind it in a batch', () => {
    const [counts, image] = load([setting('a', '1'), begin, setting('b', '2'), end, setting('c', '3')]);
    expect(counts).toEqual([3]);
    expect([...configOf(image, 2, 'a').values()]).toEqual(['1', '1', '2', '3']);
  });

  it('may neither begin twice nor end without a beginning', () => {
    expect(() => load([begin], [begin])).toThrow('begins inside of another');
    expect(() => load([end])).toThrow('has not begun');
  });
});
