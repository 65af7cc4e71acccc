/** One node coordinates groups: how it begins to, what it answers when, and what survives. */
import { describe, expect, it, test } from 'vitest';
import { noteTopics } from '../../core/broker/groups/image-changes.ts';
import { partitionOfGroup } from '../../core/broker/groups/names.ts';
import { encodeRequest } from '../../core/protocol/codec.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { encodeBatch } from '../../core/protocol/records.ts';
import { join } from './frames.ts';
import {
  commitBody,
  errorsOf,
  fetchAllBody,
  GROUP_KEY,
  groupsOf,
  hostsOf,
  joinBody,
  OFFSETS,
  offsetsIn,
  withTopic,
} from './grouping.ts';
import { KEY, produce, produceBody } from './speaking.ts';
import type { ToyConnection, ToyWorld } from './toy-world.ts';

const { offsetCommit, offsetFetch, findCoordinator, joinGroup, heartbeat } = GROUP_KEY;

function holdOffsets(world: ToyWorld): void {
  world.holdsSyncs = true;
  world.holdsOn = OFFSETS;
}

function commit(world: ToyWorld, client: ToyConnection, groupId: string, offsets: readonly number[]): number[] {
  return errorsOf(world.ask(client, offsetCommit, 7, commitBody(groupId, offsets)));
}

function fetchAll(world: ToyWorld, client: ToyConnection, groupId: string): ReturnType<typeof offsetsIn> {
  return offsetsIn(world.ask(client, offsetFetch, 8, fetchAllBody(groupId)));
}

describe('the partition of a group', () => {
  test.each([
    ['', 50, 0],
    ['g1', 50, 42],
    ['gj', 50, 49],
    ['a', 4, 1],
    ['polygenelubricants', 50, 0], // Its hash is the smallest integer.
  ])('%s of %i is %i, as in Kafka', (groupId, count, partition) => {
    expect(partitionOfGroup(groupId, count)).toBe(partition);
  });
});

describe('FindCoordinator', () => {
  test.each([0, 1, 2, 3, 4, 5, 6])(
    'v%i makes the topic of groups and names its leader in the first answer',
    (version) => {
      const { world, client } = groupsOf();
      const body = version < 4 ? { key: 'g' } : { coordinatorKeys: ['g', 'h'] };
      const answer = world.ask(client, findCoordinator, version, body);
      const here = { nodeId: 1, host: '10.0.0.1', port: 9092, errorCode: 0 };
      if (version < 4) {
        expect(answer).toMatchObject({ ...here, ...(version > 0 && { errorMessage: 'NONE' }) });
      } else {
        expect(answer.coordinators).toEqual([
          { key: 'g', ...here, errorMessage: '' },
          { key: 'h', ...here, errorMessage: '' },
        ]);
      }
      expect(world.node.topics.byName.get(OFFSETS)?.partitions).toHaveLength(4);
      expect(hostsOf(world.node).map(({ stage }) => stage)).toEqual(['active', 'active', 'active', 'active']);
    },
  );

  it('answers everybody who asked while the topic was being made', () => {
    const { world, client } = groupsOf();
    world.holdsSyncs = true;
    const others = [client, world.connect(), world.connect()];
    for (const one of others) world.send(one, findCoordinator, 2, { key: 'g' });
    expect(others.map((one) => world.pending(one))).toEqual([[], [], []]);
    world.releaseSyncs();
    for (const one of others) expect(world.take(one, findCoordinator, 2)).toMatchObject({ errorCode: 0, nodeId: 1 });
  });

  it('does not wait for ever: then it says that there is none yet, and asking again goes on', () => {
    const { world, client } = groupsOf({ 'broker.session.timeout.ms': '60000' });
    world.holdsSyncs = true;
    world.send(client, findCoordinator, 2, { key: 'g' });
    world.pass(6_000);
    const late = world.take(client, findCoordinator, 2);
    expect(late).toMatchObject({ errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE, nodeId: -1, port: -1 });
    world.send(client, findCoordinator, 2, { key: 'g' });
    world.releaseSyncs();
    expect(world.take(client, findCoordinator, 2)).toMatchObject({ errorCode: 0 });
  });

  it('finds nobody where there are fewer brokers than replicas are wanted, and the log says so', () => {
    const { world, client } = groupsOf({ 'offsets.topic.replication.factor': '3' });
    const answer = world.ask(client, findCoordinator, 1, { key: 'g' });
    expect(answer).toMatchObject({
      errorCode: ErrorCode.COORDINATOR_NOT_AVAILABLE,
      errorMessage: 'The coordinator is not available.',
    });
    expect(world.said.some((line) => line.includes('cannot be made; groups wait for it'))).toBe(true);
  });

  it('of transactions and share groups is not available, and any other type makes no sense', () => {
    const { world, client } = groupsOf();
    const errors = (version: number, keyType: number, keys: string[]): number[] =>
      world
        .ask(client, findCoordinator, version, { keyType, coordinatorKeys: keys })
        .coordinators.map(({ errorCode }) => errorCode);
    const share = `a:${'A'.repeat(22)}:0`;
    expect(errors(4, 1, ['t'])).toEqual([ErrorCode.COORDINATOR_NOT_AVAILABLE]);
    expect(errors(6, 2, [share, 'a'])).toEqual([ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST]);
    expect(errors(5, 2, [share])).toEqual([ErrorCode.INVALID_REQUEST]);
    expect(errors(4, 9, ['x'])).toEqual([ErrorCode.INVALID_REQUEST]);
    expect(world.node.topics.byName.has(OFFSETS)).toBe(false);
  });
});

describe('a commit', () => {
  it('is answered when it is on the disk, and what was read meanwhile waits with it', () => {
    const { world, client } = withTopic();
    const reader = world.connect();
    holdOffsets(world);
    world.send(client, offsetCommit, 7, commitBody('g', [5, 7]));
    world.send(reader, offsetFetch, 8, fetchAllBody('g'));
    expect([world.pending(client), world.pending(reader)]).toEqual([[], []]);
    world.releaseSyncs();
    expect(errorsOf(world.take(client, offsetCommit, 7))).toEqual([0, 0]);
    expect(offsetsIn(world.take(reader, offsetFetch, 8))).toEqual(
      new Map([
        ['orders-0', 5],
        ['orders-1', 7],
      ]),
    );
  });

  it('survives a power loss once it was answered', () => {
    const { world, client } = withTopic();
    expect(commit(world, client, 'g', [5])).toEqual([0]);
    expect(commit(world, client, 'h', [1, 2])).toEqual([0, 0]);
    world.crash('power');
    world.pass(10);
    const again = world.connect();
    expect(fetchAll(world, again, 'g')).toEqual(new Map([['orders-0', 5]]));
    expect(fetchAll(world, again, 'h')).toEqual(
      new Map([
        ['orders-0', 1],
        ['orders-1', 2],
      ]),
    );
  });

  it('that the disk does not take in time is answered by an error, though it may still happen', () => {
    const { world, client } = withTopic();
    holdOffsets(world);
    world.send(client, offsetCommit, 7, commitBody('g', [5]));
    world.pass(4_900);
    expect(world.pending(client)).toEqual([]);
    world.pass(200);
    expect(errorsOf(world.take(client, offsetCommit, 7))).toEqual([ErrorCode.COORDINATOR_NOT_AVAILABLE]);
    world.releaseSyncs();
    expect(world.pending(client)).toEqual([]);
    expect(fetchAll(world, client, 'g')).toEqual(new Map([['orders-0', 5]]));
  });

  it('that is too large for the log is refused, and members of other groups go on', () => {
    const { world, client } = withTopic({ 'tidemark.topics': 'orders:300', 'offsets.topic.num.partitions': '1' });
    world.stepsPerCheck = 50;
    const member = world.connect();
    world.send(member, joinGroup, 2, joinBody('others'));
    world.pass(5);
    const joined = world.take(member, joinGroup, 2);
    expect(joined.errorCode).toBe(0);
    const offsets = Array.from({ length: 300 }, () => 1);
    const answer = world.ask(client, offsetCommit, 7, commitBody('g', offsets, 'x'.repeat(4_000)));
    expect(new Set(errorsOf(answer))).toEqual(new Set([ErrorCode.UNKNOWN_SERVER_ERROR]));
    const { generationId, memberId } = joined;
    const alive = world.ask(member, heartbeat, 2, { groupId: 'others', generationId, memberId });
    expect(alive.errorCode).toBe(0);
  });
});

describe('a coordinator that loads', () => {
  it('says so, reads in portions, and lets others be served meanwhile', () => {
    const { world, client } = withTopic({ 'tidemark.topics': 'orders:200', 'offsets.topic.num.partitions': '1' });
    world.stepsPerCheck = 50;
    const offsets = Array.from({ length: 200 }, (_, i) => i);
    for (let i = 0; i < 25; i++) commit(world, client, `g${i}`, offsets);
    world.crash('process');
    world.holdsReads = true;
    world.pass(50);
    const again = world.connect();
    expect(hostsOf(world.node).map(({ stage }) => stage)).toEqual(['loading']);
    expect(fetchAll(world, again, 'g3')).toBe(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
    expect(commit(world, again, 'g3', [1])).toEqual([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]);
    expect(world.ask(again, GROUP_KEY.listGroups, 4, {}).errorCode).toBe(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS);
    expect(produce(world, again, 0, ['a']).errorCode).toBe(0);
    world.releaseReads();
    world.pass(50);
    expect(hostsOf(world.node).map(({ stage }) => stage)).toEqual(['active']);
    expect(world.said.some((line) => line.includes('groups are loaded') && line.includes('records=5000'))).toBe(true);
    const found = fetchAll(world, again, 'g24');
    expect(found).toEqual(new Map(offsets.map((offset) => [`orders-${offset}`, offset])));
    expect(world.ask(again, GROUP_KEY.listGroups, 4, {}).groups).toHaveLength(25);
  });

  it('counts no more topics that go meanwhile than it has room for, and then looks which are gone', () => {
    const { world, client } = withTopic({ 'offsets.topic.num.partitions': '1' });
    commit(world, client, 'g', [5]);
    world.crash('process');
    world.holdsReads = true;
    world.pass(50);
    const [host] = hostsOf(world.node);
    const gone = (name: string) => ({ before: { name, id: name, partitions: [] }, after: null, partitions: [] });
    noteTopics(world.node, [gone('one'), gone('two')]);
    expect(host?.deletedTopics).toHaveLength(2);
    noteTopics(
      world.node,
      Array.from({ length: 1_000 }, (_, i) => gone(`many-${i}`)),
    );
    expect(host).toMatchObject({ deletedTopics: null });
    world.releaseReads();
    world.pass(50);
    expect(host).toMatchObject({ deletedTopics: [], stage: 'active' });
    expect(fetchAll(world, world.connect(), 'g')).toEqual(new Map([['orders-0', 5]]));
  });

  it('fails by itself where its log is no log of groups, and the node serves the rest', () => {
    const { world, client } = withTopic({ 'offsets.topic.num.partitions': '1' });
    commit(world, client, 'g', [5]);
    const records = encodeBatch([{ timestampMs: 1, key: new Uint8Array([0, 1, 9]), value: null }]);
    const body = produceBody(0, records, { topic: OFFSETS });
    world.sendRaw(client, join(encodeRequest(KEY.produce, 9, 77, '__admin_client', body)).subarray(4));
    expect(world.take(client, KEY.produce, 9).responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
    world.crash('process');
    world.pass(50);
    const again = world.connect();
    expect(hostsOf(world.node).map(({ stage }) => stage)).toEqual(['failed']);
    expect(world.said.some((line) => line.startsWith('error: groups cannot be loaded'))).toBe(true);
    expect(fetchAll(world, again, 'g')).toBe(ErrorCode.NOT_COORDINATOR);
    expect(produce(world, again, 0, ['a']).errorCode).toBe(0);
  });
});

describe('whoever waits for others', () => {
  it('is forgotten with its connection', () => {
    const { world, client } = withTopic({ 'group.initial.rebalance.delay.ms': '3000' });
    world.send(client, joinGroup, 2, joinBody('g'));
    expect(world.pending(client)).toEqual([]);
    expect(world.node.groups.waitersCount).toBe(1);
    expect(world.node.groups.waitingBytes).toBeGreaterThan(0);
    expect(world.node.requestBytes).toBe(0);
    world.disconnect(client);
    expect(world.node.groups.waitersCount).toBe(0);
    expect(world.node.groups.waitingBytes).toBe(0);
    world.pass(4_000);
    const other = world.connect();
    expect(world.ask(other, GROUP_KEY.describeGroups, 3, { groups: ['g'] }).groups[0]?.members).toHaveLength(1);
  });

  it('holds up the answers to what is sent behind it on its connection, and not what that asks for', () => {
    const { world, client } = withTopic({ 'group.initial.rebalance.delay.ms': '3000', 'tidemark.topics': 'orders:2' });
    world.send(client, joinGroup, 2, joinBody('g'));
    world.send(client, offsetCommit, 7, commitBody('h', [5]));
    expect(fetchAll(world, world.connect(), 'h')).toEqual(new Map([['orders-0', 5]]));
    expect(world.pending(client)).toEqual([]);
    world.pass(3_100);
    expect(world.take(client, joinGroup, 2).errorCode).toBe(0);
    expect(errorsOf(world.take(client, offsetCommit, 7))).toEqual([0]);
  });

  it('is answered when its time has come', () => {
    const { world, client } = withTopic({ 'group.initial.rebalance.delay.ms': '3000' });
    world.send(client, joinGroup, 2, joinBody('g'));
    world.pass(2_900);
    expect(world.pending(client)).toEqual([]);
    world.pass(200);
    const joined = world.take(client, joinGroup, 2);
    expect(joined).toMatchObject({ errorCode: 0, generationId: 1, leader: joined.memberId });
  });

  it('hears that the coordinator goes when the node stops, and the stop is clean', () => {
    const { world, client } = withTopic({ 'group.initial.rebalance.delay.ms': '3000' });
    world.send(client, joinGroup, 2, joinBody('g'));
    world.push({ kind: 'stop' });
    expect(world.take(client, joinGroup, 2).errorCode).toBe(ErrorCode.NOT_COORDINATOR);
    world.pass(100);
    expect(world.exit).toMatchObject({ code: 0 });
  });

  it('hears so too when the topic of groups is deleted', () => {
    const { world, client } = withTopic({ 'group.initial.rebalance.delay.ms': '3000' });
    world.send(client, joinGroup, 2, joinBody('g'));
    world.ask(world.connect(), 20, 1, { topicNames: [OFFSETS], timeoutMs: 1_000 });
    expect(world.take(client, joinGroup, 2).errorCode).toBe(ErrorCode.NOT_COORDINATOR);
    expect(hostsOf(world.node)).toEqual([]);
    expect(world.ask(client, findCoordinator, 2, { key: 'g' }).errorCode).toBe(0);
  });
});

describe('the topic of groups', () => {
  it('is not for clients to write to, but for tools, and nobody deletes its records', () => {
    const { world, client } = withTopic({ 'offsets.topic.num.partitions': '1' });
    commit(world, client, 'g', [5]);
    expect(produce(world, client, 0, ['a'], { topic: OFFSETS })).toMatchObject({
      errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION,
    });
    const topics = [{ name: OFFSETS, partitions: [{ partitionIndex: 0, offset: -1 }] }];
    const [topic] = world.ask(client, 21, 2, { topics, timeoutMs: 1_000 }).topics;
    expect(topic?.partitions[0]).toMatchObject({ errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION, lowWatermark: -1 });
    world.crash('process');
    world.pass(50);
    expect(fetchAll(world, world.connect(), 'g')).toEqual(new Map([['orders-0', 5]]));
  });

  it('comes into being when a client asks for it by name too, and is internal', () => {
    const { world, client } = groupsOf();
    const body = { topics: [{ name: OFFSETS }], allowAutoTopicCreation: true };
    const answer = world.ask(client, KEY.metadata, 9, body);
    expect(answer.topics[0]).toMatchObject({ errorCode: 0, isInternal: true });
    expect(answer.topics[0]?.partitions).toHaveLength(4);
  });

  it('that is gone with its offsets begins anew', () => {
    const { world, client } = withTopic();
    commit(world, client, 'g', [5]);
    world.ask(client, 20, 1, { topicNames: [OFFSETS], timeoutMs: 1_000 });
    expect(fetchAll(world, client, 'g')).toBe(ErrorCode.NOT_COORDINATOR);
    world.ask(client, findCoordinator, 2, { key: 'g' });
    expect(fetchAll(world, client, 'g')).toEqual(new Map());
  });

  it('forgets the offsets of a topic that is deleted', () => {
    const { world, client } = withTopic();
    commit(world, client, 'g', [5]);
    world.ask(client, 20, 1, { topicNames: ['orders'], timeoutMs: 1_000 });
    world.pass(10);
    expect(fetchAll(world, client, 'g')).toEqual(new Map());
  });
});

describe('the consumer protocol', () => {
  const body = { groupId: 'g', memberId: 'm', memberEpoch: 0, rebalanceTimeoutMs: 1_000, topicPartitions: [] };

  it('is served where group.version is finalized', () => {
    const { world, client } = withTopic();
    const joined = world.ask(client, 68, 1, { ...body, subscribedTopicNames: ['orders'] });
    expect(joined).toMatchObject({ errorCode: 0, memberId: 'm', memberEpoch: 2 });
  });

  it('is not where the operator leaves it out', () => {
    const { world, client } = withTopic({ 'group.coordinator.rebalance.protocols': 'classic' });
    expect(world.ask(client, 68, 1, body).errorCode).toBe(ErrorCode.UNSUPPORTED_VERSION);
    expect(world.ask(client, 69, 1, { groupIds: ['g'] }).groups[0]?.errorCode).toBe(ErrorCode.UNSUPPORTED_VERSION);
  });
});

describe('a group that one request names many times', () => {
  it('is described once', () => {
    const { world, client } = withTopic();
    commit(world, client, 'g', [1]);
    const described = world.ask(client, GROUP_KEY.describeGroups, 5, { groups: ['g', 'h', 'g'] });
    expect(described.groups.map(({ groupId }) => groupId)).toEqual(['g', 'h']);
    const consumers = world.ask(client, GROUP_KEY.consumerGroupDescribe, 0, { groupIds: ['g', 'h', 'g'] });
    expect(consumers.groups.map(({ groupId }) => groupId)).toEqual(['g', 'h']);
  });

  it('has no offsets for it', () => {
    const { world, client } = withTopic();
    commit(world, client, 'g', [1]);
    const asked = { groups: [1, 2].map(() => ({ groupId: 'g', topics: null })) };
    const { groups } = world.ask(client, offsetFetch, 8, asked);
    expect(groups).toMatchObject([1, 2].map(() => ({ errorCode: ErrorCode.INVALID_REQUEST, topics: [] })));
  });
});

describe('a request about more partitions than a cluster has', () => {
  const partitionIndexes = Array.from({ length: 600_000 }, () => 0);
  const partitions = partitionIndexes.map((partitionIndex) => ({ partitionIndex }));

  it('is refused, whatever it asks for', () => {
    const { world, client } = withTopic();
    const named = ['a', 'b'].map((name) => ({ name, partitions }));
    const committed = world.ask(client, offsetCommit, 7, { groupId: 'g', topics: named });
    expect(errorsOf(committed)).toEqual([ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST]);
    const deleted = world.ask(client, GROUP_KEY.offsetDelete, 0, { groupId: 'g', topics: named });
    expect(deleted.errorCode).toBe(ErrorCode.INVALID_REQUEST);
    const topics = ['a', 'b'].map((name) => ({ name, partitionIndexes }));
    expect(offsetsIn(world.ask(client, offsetFetch, 8, { groups: [{ groupId: 'g', topics }] }))).toBe(
      ErrorCode.INVALID_REQUEST,
    );
    expect(world.ask(client, offsetFetch, 7, { groupId: 'g', topics }).errorCode).toBe(ErrorCode.INVALID_REQUEST);
  });
});
