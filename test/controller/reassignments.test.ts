/** Partitions that move: begun, turned elsewhere, ended by the in-sync set, taken back; and what is refused. */
import { describe, expect, it } from 'vitest';
import { idOf } from '../metadata/cluster.ts';
import {
  alter,
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  createTopic,
  elect,
  fence,
  move,
  partitionOf,
  placeOf,
  startBrokers,
} from './cluster.ts';

const DONE = { errorCode: 0, errorMessage: null };

/** Six brokers, and a topic `t` of one partition on some of them. */
function moving(replicas: readonly number[], configs: readonly (readonly [string, string])[] = []): Cluster {
  const cluster = createCluster();
  startBrokers(cluster, 6);
  const topic = {
    name: 't',
    numPartitions: -1,
    replicationFactor: -1,
    assignments: [{ partitionIndex: 0, brokerIds: replicas }],
    configs: configs.map(([name, value]) => ({ name, value })),
  };
  expect(ask(cluster, 19, 7, { topics: [topic] }).topics[0]?.errorCode).toBe(0);
  return cluster;
}

describe('a move', () => {
  it('adds the target in front, and ends when all of it is in sync: then who is to go has gone', () => {
    const cluster = moving([1, 2, 3]);
    const { leaderEpoch } = partitionOf(cluster);
    expect(move(cluster, [4, 5, 6])).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([
      [4, 5, 6, 1, 2, 3],
      [4, 5, 6],
      [1, 2, 3],
      [1, 2, 3],
    ]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 1, leaderEpoch });
    alter(cluster, [4, 5, 1, 2, 3]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 1, leaderEpoch });
    // The leader is not to stay: it hears that from the metadata.
    expect(alter(cluster, [4, 5, 6, 1, 2, 3]).errorCode).toBe(108);
    expect(placeOf(cluster)).toEqual([[4, 5, 6], [], [], [4, 5, 6]]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 4, leaderEpoch: leaderEpoch + 1 });
  });

  it('puts new replicas where their brokers have room, and keeps where the others are', () => {
    const cluster = moving([1, 2]);
    move(cluster, [2, 3]);
    expect(partitionOf(cluster)).toMatchObject({
      replicas: [2, 3, 1],
      directories: [2, 3, 1].map((id) => idOf(6000 + id)),
    });
    alter(cluster, [1, 2, 3]);
    expect(partitionOf(cluster).directories).toEqual([2, 3].map((id) => idOf(6000 + id)));
  });

  it('keeps its leader where that stays, under another epoch, so that who is gone hears of it', () => {
    const cluster = moving([1, 2]);
    const { leaderEpoch } = partitionOf(cluster);
    move(cluster, [1, 3]);
    alter(cluster, [1, 2, 3]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 1, leaderEpoch: leaderEpoch + 1, replicas: [1, 3] });
  });

  it('to more replicas ends without another epoch; to fewer it ends at once', () => {
    const cluster = moving([1, 2]);
    const { leaderEpoch } = partitionOf(cluster);
    expect(move(cluster, [1, 2, 3, 4])).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[1, 2, 3, 4], [3, 4], [], [1, 2]]);
    alter(cluster, [1, 2, 3, 4]);
    expect(placeOf(cluster)).toEqual([[1, 2, 3, 4], [], [], [1, 2, 3, 4]]);
    expect(partitionOf(cluster).leaderEpoch).toBe(leaderEpoch);
    expect(move(cluster, [3])).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[3], [], [], [3]]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 3, leaderEpoch: leaderEpoch + 1 });
  });

  it('to the same replicas in another order only changes who is preferred', () => {
    const cluster = moving([1, 2, 3]);
    expect(move(cluster, [3, 2, 1])).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[3, 2, 1], [], [], [1, 2, 3]]);
    expect(briefOf(cluster)[0]).toBe(1);
    expect(elect(cluster, 0)).toEqual([0]);
    expect(briefOf(cluster)[0]).toBe(3);
  });

  it('that is asked for again, or for where the partition is, writes nothing', () => {
    const cluster = moving([1, 2]);
    move(cluster, [3, 4]);
    const { length } = cluster.log;
    expect(move(cluster, [3, 4])).toEqual(DONE);
    expect(cluster.log.length).toBe(length);
  });

  it('waits for a target that is dead, and not for a source that is', () => {
    const cluster = moving([1, 2]);
    fence(cluster, 4);
    move(cluster, [3, 4]);
    fence(cluster, 2);
    alter(cluster, [1, 3]);
    expect(placeOf(cluster)).toEqual([
      [3, 4, 1, 2],
      [3, 4],
      [1, 2],
      [1, 3],
    ]);
    beat(cluster, 4);
    alter(cluster, [1, 3, 4]);
    expect(placeOf(cluster)).toEqual([[3, 4], [], [], [3, 4]]);
  });

  it('goes on although its leader dies: who has come already leads', () => {
    const cluster = moving([1, 2], [['min.insync.replicas', '2']]);
    move(cluster, [3, 4]);
    fence(cluster, 2);
    alter(cluster, [1, 3]);
    fence(cluster, 1);
    expect(briefOf(cluster)).toEqual([3, [3], [1], [], 0]);
    alter(cluster, [3, 4]);
    expect(placeOf(cluster)).toEqual([[3, 4], [], [], [3, 4]]);
    expect(partitionOf(cluster).elr).toEqual([]);
  });

  it('ends when the last that is out of sync leaves the target', () => {
    const cluster = moving([1, 2]);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    expect(move(cluster, [3])).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[3], [], [], [3]]);
  });

  it('that is turned elsewhere gives up who is not wanted any more, and knows where it began', () => {
    const cluster = moving([1, 2]);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    move(cluster, [5, 2]);
    expect(placeOf(cluster)).toEqual([
      [5, 2, 1, 3, 4],
      [3, 4, 5],
      [1, 3, 4],
      [1, 2, 3],
    ]);
    expect(move(cluster, null)).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[2, 1], [], [], [1, 2]]);
    move(cluster, [3, 4]);
    move(cluster, [1, 2]);
    expect(placeOf(cluster)).toEqual([[1, 2], [], [], [1, 2]]);
  });
});

describe('a move that is cancelled', () => {
  it('leaves what had come, and gives the lead back to who stays', () => {
    const cluster = moving([1, 2, 3]);
    move(cluster, [4, 5, 6]);
    alter(cluster, [4, 1, 2, 3]);
    elect(cluster, 0);
    const { leaderEpoch } = partitionOf(cluster);
    expect(partitionOf(cluster).leader).toBe(4);
    expect(move(cluster, null)).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[1, 2, 3], [], [], [1, 2, 3]]);
    expect(partitionOf(cluster)).toMatchObject({ leader: 1, leaderEpoch: leaderEpoch + 1 });
  });

  it('is refused while only those are in sync that would leave', () => {
    const cluster = moving([1, 2]);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    for (const id of [2, 1]) fence(cluster, id);
    expect(placeOf(cluster)[3]).toEqual([3]);
    const errorMessage =
      'Unable to revert partition assignment for t:0 because it would require an unclean leader election.';
    expect(move(cluster, null)).toEqual({ errorCode: 39, errorMessage });
    expect(placeOf(cluster)[3]).toEqual([3]);
  });

  it('admits loss where the topic does, and says so in the record', () => {
    const cluster = moving([1, 2], [['unclean.leader.election.enable', 'true']]);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    for (const id of [2, 1]) fence(cluster, id);
    beat(cluster, 2);
    expect(move(cluster, null)).toEqual(DONE);
    expect(placeOf(cluster)).toEqual([[1, 2], [], [], [2]]);
    expect(briefOf(cluster)).toEqual([2, [2], [], [], 1]);
  });

  it('admits it although nobody is there: whoever comes first leads, and never who left', () => {
    const cluster = moving([1, 2], [['unclean.leader.election.enable', 'true']]);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    for (const id of [2, 1]) fence(cluster, id);
    expect(move(cluster, null)).toEqual(DONE);
    expect(briefOf(cluster)).toEqual([-1, [], [], [], 0]);
    move(cluster, [1, 2, 3]);
    beat(cluster, 2);
    expect(briefOf(cluster)).toEqual([2, [2], [], [], 1]);
  });

  it('in a cluster without eligible replicas hands the set to one who stays', () => {
    const cluster = moving([1, 2], [['unclean.leader.election.enable', 'true']]);
    const feature = 'eligible.leader.replicas.version';
    const update = { feature, maxVersionLevel: 0, allowDowngrade: false, upgradeType: 2 };
    expect(ask(cluster, 57, 1, { featureUpdates: [update] }).errorCode).toBe(0);
    move(cluster, [3, 4]);
    alter(cluster, [1, 2, 3]);
    for (const id of [2, 1]) fence(cluster, id);
    beat(cluster, 2);
    expect(move(cluster, null)).toEqual(DONE);
    expect(briefOf(cluster)).toEqual([2, [2], [], [], 1]);
    expect(placeOf(cluster)[0]).toEqual([1, 2]);
  });
});

describe('what is refused', () => {
  it('a topic or a partition that is not there, a cancel where nothing moves', () => {
    const cluster = moving([1, 2]);
    const nowhere = { errorCode: 3, errorMessage: 'Unable to find a topic named no.' };
    expect(move(cluster, [1], { topic: 'no' })).toEqual(nowhere);
    expect(move(cluster, [1], { index: 7 })).toEqual({
      errorCode: 3,
      errorMessage: 'Unable to find partition t:7.',
    });
    const idle = { errorCode: 85, errorMessage: 'No partition reassignment is in progress.' };
    expect(move(cluster, null)).toEqual(idle);
  });

  it('replicas that are none, twice the same, or of no broker', () => {
    const cluster = moving([1, 2]);
    expect(move(cluster, [])).toMatchObject({ errorCode: 39 });
    expect(move(cluster, [1, 1])).toMatchObject({ errorCode: 39 });
    expect(move(cluster, [1, 9])).toEqual({
      errorCode: 39,
      errorMessage: 'The manual partition assignment includes broker 9, but no such broker is registered.',
    });
  });

  it('another number of replicas, if the client says that it must stay: as the move under way would have it', () => {
    const cluster = moving([1, 2]);
    expect(move(cluster, [1, 2, 3], { keepsFactor: true })).toEqual({
      errorCode: 38,
      errorMessage: 'The replication factor is changed from 2 to 3',
    });
    move(cluster, [3, 4, 5]);
    expect(move(cluster, [3, 4], { keepsFactor: true }).errorMessage).toMatch(/from 3 to 2$/);
    expect(move(cluster, [2, 3, 4], { keepsFactor: true })).toEqual(DONE);
  });

  it('a partition that is named twice: the first time counts', () => {
    const cluster = moving([1, 2]);
    const twice = [3, 4].map((id) => ({ partitionIndex: 0, replicas: [id] }));
    const answer = ask(cluster, 45, 1, { topics: [{ name: 't', partitions: twice }] });
    expect(answer.responses[0]?.partitions.map(({ errorCode }) => errorCode)).toEqual([0, 42]);
    expect(placeOf(cluster)[1]).toEqual([3]);
  });
});

describe('the list of moves', () => {
  it('has what is under way, of all topics or of those that are named', () => {
    const cluster = moving([1, 2]);
    createTopic(cluster, 'still', 2, 2);
    expect(ask(cluster, 46, 0, { topics: null }).topics).toEqual([]);
    move(cluster, [2, 3]);
    const found = [
      {
        name: 't',
        partitions: [{ partitionIndex: 0, replicas: [2, 3, 1], addingReplicas: [3], removingReplicas: [1] }],
      },
    ];
    expect(ask(cluster, 46, 0, { topics: null })).toMatchObject({ errorCode: 0, topics: found });
    expect(ask(cluster, 46, 0, { topics: [{ name: 't', partitionIndexes: [0, 9] }] }).topics).toEqual(found);
    expect(ask(cluster, 46, 0, { topics: [{ name: 'still', partitionIndexes: [0] }] }).topics).toEqual([]);
  });
});
