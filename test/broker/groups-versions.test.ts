/** Every version of the APIs of groups, on one node. */
import { describe, expect, it, test } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { commitBody, errorsOf, GROUP_KEY, groupsOf, joinBody, withTopic } from './grouping.ts';

const { offsetCommit, offsetFetch, joinGroup, heartbeat } = GROUP_KEY;

describe('a node without the topic of groups', () => {
  test.each<[keyof typeof GROUP_KEY, number, object, (body: never) => unknown]>([
    [
      'offsetCommit',
      2,
      commitBody('g', [1]),
      (body: { topics: { partitions: { errorCode: number }[] }[] }) => body.topics[0]?.partitions[0]?.errorCode,
    ],
    [
      'offsetFetch',
      1,
      { groupId: 'g', topics: [{ name: 'orders', partitionIndexes: [0] }] },
      (body: { topics: { partitions: { errorCode: number; committedOffset: number }[] }[] }) =>
        body.topics[0]?.partitions[0]?.errorCode,
    ],
    ['offsetFetch', 7, { groupId: 'g', topics: null }, (body: { errorCode: number }) => body.errorCode],
    [
      'offsetFetch',
      10,
      { groups: [{ groupId: 'g', topics: null }] },
      (body: { groups: { errorCode: number }[] }) => body.groups[0]?.errorCode,
    ],
    ['joinGroup', 0, joinBody('g'), (body: { errorCode: number }) => body.errorCode],
    ['joinGroup', 9, joinBody('g'), (body: { errorCode: number }) => body.errorCode],
    ['heartbeat', 4, { groupId: 'g' }, (body: { errorCode: number }) => body.errorCode],
    ['leaveGroup', 5, { groupId: 'g' }, (body: { errorCode: number }) => body.errorCode],
    ['syncGroup', 5, { groupId: 'g' }, (body: { errorCode: number }) => body.errorCode],
    ['describeGroups', 6, { groups: ['g'] }, (body: { groups: { errorCode: number }[] }) => body.groups[0]?.errorCode],
    [
      'deleteGroups',
      3,
      { groupsNames: ['g'] },
      (body: { results: { errorCode: number }[] }) => body.results[0]?.errorCode,
    ],
    ['offsetDelete', 0, { groupId: 'g' }, (body: { errorCode: number }) => body.errorCode],
    ['consumerGroupHeartbeat', 1, { groupId: 'g' }, (body: { errorCode: number }) => body.errorCode],
    [
      'consumerGroupDescribe',
      1,
      { groupIds: ['g'] },
      (body: { groups: { errorCode: number }[] }) => body.groups[0]?.errorCode,
    ],
  ])('is no coordinator: %s v%i', (name, version, body, errorOf) => {
    const { world, client } = groupsOf();
    expect(errorOf(world.ask(client, GROUP_KEY[name], version, body) as never)).toBe(ErrorCode.NOT_COORDINATOR);
  });

  it('has no groups to list', () => {
    const { world, client } = groupsOf();
    expect(world.ask(client, GROUP_KEY.listGroups, 5, {})).toMatchObject({ errorCode: 0, groups: [] });
  });
});

describe('the life of a member of a classic group', () => {
  const lives = Array.from({ length: 10 }, (_, i) => i);
  const upTo = (version: number, max: number): number => Math.min(version, max);

  it.each(lives)('goes through all APIs in version %i, or the highest below', (version) => {
    const { world, client } = withTopic();
    const join = (memberId: string): { errorCode: number; memberId: string; generationId: number } => {
      world.send(client, joinGroup, version, joinBody('g', memberId));
      world.pass(5);
      return world.take(client, joinGroup, version);
    };
    let joined = join('');
    expect(joined.errorCode).toBe(version < 4 ? 0 : ErrorCode.MEMBER_ID_REQUIRED);
    if (version >= 4) joined = join(joined.memberId);
    const { memberId, generationId } = joined;
    const member = { groupId: 'g', memberId, generationId };
    const assignments = [{ memberId, assignment: new Uint8Array([1, 2, 3]) }];
    const protocol = version >= 5 ? { protocolType: 'consumer', protocolName: 'range' } : {};
    const synced = world.ask(client, 14, upTo(version, 5), { ...member, ...protocol, assignments });
    expect([synced.errorCode, ...synced.assignment]).toEqual([0, 1, 2, 3]);
    expect(world.ask(client, heartbeat, upTo(version, 4), member).errorCode).toBe(0);
    const topicId = world.node.topics.byName.get('orders')!.id;
    const topics = [{ name: 'orders', topicId, partitions: [{ partitionIndex: 0, committedOffset: 3 }] }];
    const commitVersion = 2 + upTo(version, 8);
    const owner = { groupId: 'g', memberId, generationIdOrMemberEpoch: generationId };
    expect(errorsOf(world.ask(client, offsetCommit, commitVersion, { ...owner, topics }))).toEqual([0]);
    const fetchVersion = 1 + version;
    const byId = fetchVersion < 8 ? {} : { topicId };
    const wants = [{ name: 'orders', ...byId, partitionIndexes: [0, 1] }];
    const fetchBody =
      fetchVersion < 8 ? { groupId: 'g', topics: wants } : { groups: [{ groupId: 'g', topics: wants }] };
    const fetched = world.ask(client, offsetFetch, fetchVersion, fetchBody);
    const [topic] = fetchVersion < 8 ? fetched.topics : (fetched.groups[0]?.topics ?? []);
    expect(topic?.partitions.map(({ committedOffset }) => committedOffset)).toEqual([3, -1]);
    const [described] = world.ask(client, 15, upTo(version, 6), { groups: ['g'] }).groups;
    expect(described).toMatchObject({ errorCode: 0, groupState: 'Stable', protocolType: 'consumer' });
    expect(world.ask(client, 16, upTo(version, 5), {}).groups).toMatchObject([{ groupId: 'g' }]);
    const leaving = version < 3 ? { memberId } : { members: [{ memberId }] };
    const left = world.ask(client, 13, upTo(version, 5), { groupId: 'g', ...leaving });
    expect(left.errorCode).toBe(0);
    const deleted = world.ask(client, 42, upTo(version, 3), { groupsNames: ['g', 'nobody'] });
    expect(deleted.results.map(({ errorCode }) => errorCode)).toEqual([0, ErrorCode.GROUP_ID_NOT_FOUND]);
    expect(world.ask(client, 16, 0, {}).groups).toEqual([]);
  });
});

describe('what a client may do with a group', () => {
  it('is said to those who ask', () => {
    const { world, client } = withTopic();
    world.ask(client, offsetCommit, 7, commitBody('g', [1]));
    const ask = (includeAuthorizedOperations: boolean): number | undefined =>
      world.ask(client, 15, 3, { groups: ['g'], includeAuthorizedOperations }).groups[0]?.authorizedOperations;
    expect([ask(true), ask(false)]).toEqual([3400, -2147483648]);
  });
});
