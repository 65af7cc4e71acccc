/** What an image says of topics, quotas and access rules. */
import { describe, expect, it } from 'vitest';
import {
  describeAcls,
  describeClientQuotas,
  describeTopicPartitions,
  listPartitionReassignments,
} from '../../core/metadata/describe-topics.ts';
import { EMPTY_IMAGE } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { brokerRecordOf, idOf, imageOf, topicRecordsOf } from './cluster.ts';

const image = imageOf([
  brokerRecordOf(1, 1),
  brokerRecordOf(2, 2, true),
  ...topicRecordsOf('c', idOf(3), 2, [1]),
  ...topicRecordsOf('a', idOf(1), 3, [1, 2]),
  ...topicRecordsOf('b', idOf(2), 1, [2]),
]);

function ask(
  topics: readonly string[],
  limit: number,
  cursor: { topicName: string; partitionIndex: number } | null = null,
): unknown {
  const request = { topics: topics.map((name) => ({ name })), responsePartitionLimit: limit, cursor };
  const response = describeTopicPartitions(image, 'PLAINTEXT', request);
  if (typeof response === 'string') return response;
  const seen = response.topics.map(({ name, partitions, errorCode }) => [
    name,
    partitions.map(({ partitionIndex }) => partitionIndex),
    errorCode,
  ]);
  return [seen, response.nextCursor];
}

describe('DescribeTopicPartitions', () => {
  it('goes through all topics by name, page by page, and misses nothing', () => {
    const pages: unknown[] = [];
    let cursor: { topicName: string; partitionIndex: number } | null = null;
    for (let page = 0; page < 10; page++) {
      const [seen, next] = ask([], 2, cursor) as [unknown[], typeof cursor];
      pages.push(...seen);
      cursor = next;
      if (next === null) break;
    }
    expect(pages).toEqual([
      ['a', [0, 1], 0],
      ['a', [2], 0],
      ['b', [0], 0],
      ['c', [0, 1], 0],
    ]);
    expect(cursor).toBeNull();
  });

  it('points to the next topic where a page ends with the last partition of one', () => {
    expect(ask([], 3)).toEqual([[['a', [0, 1, 2], 0]], { topicName: 'b', partitionIndex: 0 }]);
  });

  it('names topics that are missing or cannot be', () => {
    expect(ask(['a b', 'z', 'b'], 10)).toEqual([
      [
        ['a b', [], 17],
        ['b', [0], 0],
        ['z', [], 3],
      ],
      null,
    ]);
  });

  it('refuses a cursor that leads nowhere', () => {
    expect(ask(['b'], 10, { topicName: 'a', partitionIndex: 0 })).toBe(
      'DescribeTopicPartitionsRequest topic list should contain the cursor topic: a',
    );
    expect(ask(['a'], 10, { topicName: 'a', partitionIndex: -1 })).toContain('cursor partition must be valid');
  });

  it('says who leads, and who is away', () => {
    const response = describeTopicPartitions(image, 'PLAINTEXT', {
      topics: [{ name: 'a' }, { name: 'b' }],
      responsePartitionLimit: 10,
      cursor: null,
    });
    if (typeof response === 'string') throw new Error(response);
    expect(response.topics[0]?.partitions[0]).toMatchObject({ leaderId: 1, offlineReplicas: [2], isrNodes: [1, 2] });
    expect(response.topics[1]?.partitions[0]).toMatchObject({ leaderId: -1, offlineReplicas: [2] });
  });
});

describe('ListPartitionReassignments', () => {
  it('is empty where nothing moves, and names what does', () => {
    const none = { throttleTimeMs: 0, errorCode: 0, errorMessage: null, topics: [] };
    expect(listPartitionReassignments(image, { timeoutMs: 1, topics: null })).toEqual(none);
    const change = { topicId: idOf(1), partitionId: 1, addingReplicas: [3], replicas: [1, 2, 3] };
    const moving = imageOf([metadataRecord('PartitionChangeRecord', 2, change)], image);
    const partitions = [{ partitionIndex: 1, replicas: [1, 2, 3], addingReplicas: [3], removingReplicas: [] }];
    const topics = [{ name: 'a', partitions }];
    expect(listPartitionReassignments(moving, { timeoutMs: 1, topics: null }).topics).toEqual(topics);
    const asked = (name: string, index: number) =>
      listPartitionReassignments(moving, { timeoutMs: 1, topics: [{ name, partitionIndexes: [index] }] }).topics;
    expect([asked('a', 1), asked('a', 0), asked('z', 1)]).toEqual([topics, [], []]);
  });
});

describe('quotas and access rules', () => {
  const quota = (name: string | null, value: number) =>
    metadataRecord('ClientQuotaRecord', 0, {
      entity: [{ entityType: 'user', entityName: name }],
      key: 'producer_byte_rate',
      value,
      remove: false,
    });
  const limited = imageOf([quota('u', 5), quota(null, 7)]);

  it.each([
    [0, 'u', [5]],
    [0, 'v', []],
    [1, null, [7]],
    [2, null, [5, 7]],
  ])('a filter of kind %i for %j finds %j', (matchType, match, values) => {
    const { entries } = describeClientQuotas(limited, {
      components: [{ entityType: 'user', matchType, match }],
      strict: true,
    });
    expect(entries?.map((entry) => entry.values[0]?.value)).toEqual(values);
  });

  it('are none where nothing was set', () => {
    expect(describeClientQuotas(EMPTY_IMAGE, { components: [], strict: false })).toMatchObject({
      errorCode: 0,
      entries: [],
    });
    expect(describeAcls()).toMatchObject({ errorCode: 54, errorMessage: 'No Authorizer is configured on the broker' });
  });
});
