/** Committed offsets: who may commit, what is fetched, deleted and described, and how it survives. */
import { describe, expect, it } from 'vitest';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { EMPTY_IMAGE } from '../../core/metadata/image.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { idOf, imageOf, topicRecordsOf } from '../metadata/cluster.ts';
import { beat, commit, committed, enter, join, settle, share, subscriptionOf } from './classic.ts';
import {
  advance,
  answered,
  ask,
  awaited,
  type Coordinator,
  call,
  compacted,
  createCoordinator,
  failOver,
  TOPICS,
} from './coordinator.ts';

type Fetched = ResponseOf<9>['groups'][number];

function fetchAll(coordinator: Coordinator, version = 9, groupId = 'g'): Fetched {
  const groups = [{ groupId, topics: null }];
  const response = ask(coordinator, 9, version, { groupId: '', topics: [], groups });
  return response.groups[0] ?? expect.fail();
}

/** Offsets by topic and partition, as text. */
function shown({ topics }: Fetched): string[] {
  return topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset, metadata }) =>
      [`${name}-${partitionIndex}@${committedOffset}`, metadata].join(' ').trim(),
    ),
  );
}

describe('an offset without a group', () => {
  it('makes one, that only keeps offsets', () => {
    const coordinator = createCoordinator();
    expect(commit(coordinator, 0, 7, { metadata: 'seven' })).toBe(ErrorCode.NONE);
    expect(commit(coordinator, 2, 9)).toBe(ErrorCode.NONE);
    expect(shown(fetchAll(coordinator))).toEqual(['orders-0@7 seven', 'orders-2@9']);
    failOver(coordinator);
    expect(shown(fetchAll(coordinator))).toEqual(['orders-0@7 seven', 'orders-2@9']);
    expect(ask(coordinator, 16, 5, { statesFilter: [], typesFilter: [] }).groups).toEqual([
      { groupId: 'g', protocolType: '', groupState: 'Empty', groupType: 'classic' },
    ]);
  });

  it('may go back: whoever asks for it gets it', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    commit(coordinator, 0, 3);
    expect(committed(coordinator, 0)).toBe(3);
  });

  it('is refused with a generation: there is none', () => {
    const coordinator = createCoordinator();
    const of = (version: number) => commit(coordinator, 0, 1, { generationIdOrMemberEpoch: 3, memberId: 'm', version });
    expect(of(8)).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(of(9)).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
    expect(coordinator.state.groups.size).toBe(0);
  });

  it('may be one of the group without a name, as old clients have it', () => {
    const coordinator = createCoordinator();
    expect(commit(coordinator, 0, 1, { groupId: '' })).toBe(ErrorCode.NONE);
    expect(shown(fetchAll(coordinator, 9, ''))).toEqual(['orders-0@1']);
    expect(commit(coordinator, 0, 1, { groupId: 'g'.repeat(40_000) })).toBe(ErrorCode.INVALID_GROUP_ID);
  });
});

describe('a commit', () => {
  it('of a member counts in its generation only', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 2);
    const of = (memberId: string, generationIdOrMemberEpoch: number) =>
      commit(coordinator, 0, 5, { memberId, generationIdOrMemberEpoch });
    expect(of(ids[0] ?? '', generation)).toBe(ErrorCode.NONE);
    expect(of(ids[0] ?? '', generation - 1)).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(of(ids[0] ?? '', -1)).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(of('nobody', generation)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(of('', -1)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });

  it('is taken while a rebalance is prepared, and not while the assignment is made', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 1);
    const id = ids[0] ?? '';
    const of = (generationIdOrMemberEpoch: number) =>
      commit(coordinator, 0, 5, { memberId: id, generationIdOrMemberEpoch });
    const { joining } = enter(coordinator);
    expect(of(generation)).toBe(ErrorCode.NONE);
    const again = join(coordinator, { memberId: id });
    expect(of(generation)).toBe(ErrorCode.ILLEGAL_GENERATION);
    expect(of(generation + 1)).toBe(ErrorCode.REBALANCE_IN_PROGRESS);
    share(coordinator, [again, joining]);
    expect(of(generation + 1)).toBe(ErrorCode.NONE);
  });

  it('shows that the member lives', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 1);
    advance(coordinator, 9000);
    commit(coordinator, 0, 5, { memberId: ids[0] ?? '', generationIdOrMemberEpoch: generation });
    advance(coordinator, 9000);
    expect(beat(coordinator, generation, ids[0] ?? '')).toBe(ErrorCode.NONE);
  });

  it('of an operator is taken once the members are gone', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1);
    expect(commit(coordinator, 0, 5)).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    advance(coordinator, 10_000);
    expect(commit(coordinator, 0, 5)).toBe(ErrorCode.NONE);
  });

  it('with too long a text is refused for that partition alone', () => {
    const coordinator = createCoordinator({ offsetMetadataSizeMax: 10 });
    const partition = (partitionIndex: number, committedMetadata: string) => ({
      partitionIndex,
      committedOffset: 1,
      committedMetadata,
    });
    const topics = [
      { name: 'orders', topicId: ZERO_UUID, partitions: [partition(0, 'x'.repeat(11)), partition(1, 'x'.repeat(10))] },
    ];
    const response = ask(coordinator, 8, 9, { groupId: 'g', memberId: '', topics });
    expect(response.topics[0]?.partitions).toEqual([
      { partitionIndex: 0, errorCode: ErrorCode.OFFSET_METADATA_TOO_LARGE },
      { partitionIndex: 1, errorCode: ErrorCode.NONE },
    ]);
    expect(shown(fetchAll(coordinator))).toEqual([`orders-1@1 ${'x'.repeat(10)}`]);
  });

  it('of what is not there is refused for it alone, and asks nothing of the group', () => {
    const coordinator = createCoordinator();
    const one = { partitionIndex: 0, committedOffset: 1, committedMetadata: null };
    const topics = [
      { name: 'nothing', topicId: ZERO_UUID, partitions: [one] },
      { name: 'payments', topicId: ZERO_UUID, partitions: [one, { ...one, partitionIndex: 2 }] },
    ];
    const errorsOf = (body: object) =>
      ask(coordinator, 8, 9, { groupId: 'g', memberId: '', topics, ...body }).topics.flatMap(({ partitions }) =>
        partitions.map(({ errorCode }) => errorCode),
      );
    expect(errorsOf({})).toEqual([3, 0, 3]);
    expect(errorsOf({ memberId: 'm', generationIdOrMemberEpoch: 1 })).toEqual([3, 25, 3]);
    expect(errorsOf({ topics: topics.slice(0, 1), memberId: 'm', generationIdOrMemberEpoch: 1 })).toEqual([3]);
  });
});

describe('topics with ids', () => {
  const partitions = [{ partitionIndex: 0, committedOffset: 4, committedMetadata: null }];

  it('commit and fetch by them from version 10 on', () => {
    const coordinator = createCoordinator();
    const topics = [TOPICS.orders, idOf(99)].map((topicId) => ({ name: '', topicId, partitions }));
    const response = ask(coordinator, 8, 10, { groupId: 'g', memberId: '', topics });
    expect(response.topics).toMatchObject([
      { topicId: TOPICS.orders, partitions: [{ errorCode: ErrorCode.NONE }] },
      { topicId: idOf(99), partitions: [{ errorCode: ErrorCode.UNKNOWN_TOPIC_ID }] },
    ]);
    const asked = [TOPICS.orders, idOf(99)].map((topicId) => ({ name: '', topicId, partitionIndexes: [0, 1] }));
    const groups = [{ groupId: 'g', topics: asked }];
    const fetched = ask(coordinator, 9, 10, { groupId: '', topics: [], groups }).groups[0] ?? expect.fail();
    const offsets = fetched.topics.map((topic) =>
      topic.partitions.map(({ committedOffset, errorCode }) => [committedOffset, errorCode]),
    );
    expect(offsets).toEqual([
      [
        [4, 0],
        [-1, 0],
      ],
      [
        [-1, ErrorCode.UNKNOWN_TOPIC_ID],
        [-1, ErrorCode.UNKNOWN_TOPIC_ID],
      ],
    ]);
    expect(fetchAll(coordinator, 10).topics).toMatchObject([{ topicId: TOPICS.orders, partitions: [{}] }]);
  });

  it('that are gone cannot be named, and are left out of all', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    coordinator.image = EMPTY_IMAGE;
    expect(fetchAll(coordinator, 10).topics).toEqual([]);
    expect(shown(fetchAll(coordinator, 9))).toEqual(['orders-0@7']);
  });

  it('lose their offsets when they are deleted, in all groups', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    commit(coordinator, 1, 8, { groupId: 'h' });
    // The topic is there again, and read, before the coordinator hears that the former one is gone.
    coordinator.image = imageOf(topicRecordsOf('orders', idOf(77), 3, [1]));
    expect(fetchAll(coordinator, 10).topics).toEqual([]);
    commit(coordinator, 2, 1);
    call(coordinator, -1, { kind: 'topicsDeleted', topics: [{ name: 'orders', id: TOPICS.orders }] });
    expect([shown(fetchAll(coordinator)), shown(fetchAll(coordinator, 9, 'h'))]).toEqual([['orders-2@1'], []]);
  });

  it('lose their offsets also where more are deleted than anybody has counted', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    commit(coordinator, 1, 8, { groupId: 'h' });
    coordinator.image = imageOf(topicRecordsOf('orders', idOf(77), 3, [1]));
    commit(coordinator, 2, 1);
    call(coordinator, -1, { kind: 'topicsDeleted', topics: null });
    expect([shown(fetchAll(coordinator)), shown(fetchAll(coordinator, 9, 'h'))]).toEqual([['orders-2@1'], []]);
    coordinator.image = EMPTY_IMAGE;
    call(coordinator, -1, { kind: 'topicsDeleted', topics: null });
    expect(shown(fetchAll(coordinator))).toEqual([]);
  });
});

describe('a topic that went', () => {
  const again = topicRecordsOf('orders', idOf(77), 3, [1]);

  it('leaves nothing to a newer one of its name, also for those who ask by name', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    coordinator.image = imageOf(again);
    expect(committed(coordinator, 0)).toBe(-1);
    expect(shown(fetchAll(coordinator))).toEqual([]);
    commit(coordinator, 0, 1);
    expect(committed(coordinator, 0)).toBe(1);
  });

  it('takes its offsets with it, even if it went while no coordinator was there to hear of it', () => {
    for (const records of [[], again]) {
      const coordinator = createCoordinator();
      commit(coordinator, 0, 7);
      coordinator.image = imageOf(records);
      failOver(coordinator);
      advance(coordinator, coordinator.config.offsetsRetentionCheckIntervalMs);
      expect(coordinator.state.offsets.size).toBe(0);
      expect(coordinator.log.at(-1)?.value).toBeNull();
    }
  });

  it('is looked for a few groups at a time, and what went meanwhile in the next round', () => {
    const coordinator = createCoordinator();
    const partitions = Array.from({ length: 3 }, (_, partitionIndex) => ({
      partitionIndex,
      committedOffset: 4,
      committedMetadata: null,
    }));
    const of = (name: string) => [{ name, topicId: ZERO_UUID, partitions }];
    coordinator.checksReplay = false;
    for (let i = 0; i < 1_000; i++) ask(coordinator, 8, 9, { groupId: `g${i}`, memberId: '', topics: of('orders') });
    ask(coordinator, 8, 9, { groupId: 'last', memberId: '', topics: of('payments') });
    const tell = (name: string, id: string) => call(coordinator, -1, { kind: 'topicsDeleted', topics: [{ name, id }] });
    tell('orders', TOPICS.orders);
    const left = coordinator.state.offsets.size;
    expect(left).toBeGreaterThan(400);
    tell('payments', TOPICS.payments);
    expect(coordinator.state.offsets.size).toBe(left);
    advance(coordinator, 100);
    expect(coordinator.state.offsets.size).toBe(0);
  });
});

describe('fetching', () => {
  it('of what nobody committed is no error', () => {
    const coordinator = createCoordinator();
    expect(committed(coordinator, 0)).toBe(-1);
    expect(fetchAll(coordinator)).toEqual({ groupId: 'g', topics: [], errorCode: 0 });
    commit(coordinator, 0, 7);
    expect(committed(coordinator, 1)).toBe(-1);
  });

  it('brings the leader epoch and the text that were committed', () => {
    const coordinator = createCoordinator();
    const one = { partitionIndex: 1, committedOffset: 8, committedLeaderEpoch: 4, committedMetadata: 'eight' };
    const topics = [{ name: 'orders', topicId: ZERO_UUID, partitions: [one] }];
    ask(coordinator, 8, 9, { groupId: 'g', memberId: '', topics });
    failOver(coordinator);
    expect(fetchAll(coordinator).topics[0]?.partitions).toEqual([
      { partitionIndex: 1, committedOffset: 8, committedLeaderEpoch: 4, metadata: 'eight', errorCode: 0 },
    ]);
  });
});

describe('OffsetDelete of a partition that is named many times', () => {
  it('writes one record', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 1);
    const before = coordinator.log.length;
    const partitions = Array.from({ length: 100 }, () => ({ partitionIndex: 0 }));
    const { topics } = ask(coordinator, 47, 0, { groupId: 'g', topics: [{ name: 'orders', partitions }] });
    expect(topics[0]?.partitions.filter(({ errorCode }) => errorCode === ErrorCode.NONE)).toHaveLength(100);
    expect(coordinator.log.length - before).toBe(1);
  });
});

describe('OffsetDelete', () => {
  const remove = (coordinator: Coordinator, groupId = 'g') =>
    ask(coordinator, 47, 0, {
      groupId,
      topics: ['orders', 'payments'].map((name) => ({
        name,
        partitions: [{ partitionIndex: 0 }, { partitionIndex: 1 }],
      })),
    });
  const errors = ({ topics }: ReturnType<typeof remove>) =>
    topics.map(({ partitions }) => partitions.map(({ errorCode }) => errorCode));

  it('removes what is there, and says nothing of what is not', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    commit(coordinator, 2, 9);
    const response = remove(coordinator);
    expect([response.errorCode, ...errors(response)]).toEqual([0, [0, 0], [0, 0]]);
    expect(shown(fetchAll(coordinator))).toEqual(['orders-2@9']);
    failOver(coordinator);
    expect(shown(fetchAll(coordinator))).toEqual(['orders-2@9']);
  });

  it('keeps what consumers read, and a group of unknown kind whole', () => {
    const coordinator = createCoordinator();
    const { ids, generation } = settle(coordinator, 1);
    commit(coordinator, 0, 7, { memberId: ids[0] ?? '', generationIdOrMemberEpoch: generation });
    const response = remove(coordinator);
    expect([response.errorCode, ...errors(response)]).toEqual([0, [86, 86], [0, 0]]);
    const said = { groupId: 'h', protocolType: 'connect' };
    awaited(coordinator, enter(coordinator, said).joining);
    expect(remove(coordinator, 'h')).toMatchObject({ errorCode: ErrorCode.NON_EMPTY_GROUP, topics: [] });
  });

  it('knows what consumers read after a change of coordinator, too', () => {
    const coordinator = createCoordinator();
    const protocols = [{ name: 'range', metadata: subscriptionOf(['payments']) }];
    settle(coordinator, 1, { protocols });
    failOver(coordinator);
    expect(errors(remove(coordinator))).toEqual([
      [0, 0],
      [86, 86],
    ]);
  });

  it('refuses what is not there', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 7);
    const partitions = [{ partitionIndex: 0 }, { partitionIndex: 9 }];
    const topics = ['orders', 'nothing'].map((name) => ({ name, partitions }));
    const response = ask(coordinator, 47, 0, { groupId: 'g', topics });
    expect([response.errorCode, ...errors(response)]).toEqual([0, [0, 3], [3, 3]]);
  });

  it('wants a group that is there', () => {
    const coordinator = createCoordinator();
    expect(remove(coordinator).errorCode).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
    expect(remove(coordinator, '').errorCode).toBe(ErrorCode.INVALID_GROUP_ID);
  });
});

describe('the log', () => {
  it('may be compacted: what is last of each key is all that counts', () => {
    const coordinator = createCoordinator();
    commit(coordinator, 0, 1);
    const { ids, generation } = settle(coordinator, 2);
    const of = (partition: number, offset: number) =>
      commit(coordinator, partition, offset, { memberId: ids[0] ?? '', generationIdOrMemberEpoch: generation });
    for (let offset = 0; offset < 5; offset++) for (const partition of [0, 1]) of(partition, offset);
    const log = compacted(coordinator.log);
    expect(log.length).toBeLessThan(coordinator.log.length);
    failOver(coordinator, log);
    expect(shown(fetchAll(coordinator))).toEqual(['orders-0@4', 'orders-1@4']);
    expect(beat(coordinator, generation, ids[1] ?? '')).toBe(ErrorCode.NONE);
  });

  it('may lose a group before its offsets: they are kept', () => {
    const coordinator = createCoordinator();
    settle(coordinator, 1);
    advance(coordinator, 10_000);
    commit(coordinator, 0, 3);
    const deleted = ask(coordinator, 42, 2, { groupsNames: ['g'] });
    expect(deleted.results).toMatchObject([{ errorCode: 0 }]);
    const withoutOffsetTombstones = coordinator.log.filter(({ key, value }) => !(key[1] === 1 && value === null));
    failOver(coordinator, withoutOffsetTombstones);
    expect(committed(coordinator, 0)).toBe(3);
    expect(answered(join(coordinator, { memberId: 'm' })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
  });
});
