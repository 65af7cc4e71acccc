/** Log directories: who is told where replicas are, what happens when one fails, and when a disk was swapped. */
import { describe, expect, it } from 'vitest';
import { topicByName } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { idOf } from '../metadata/cluster.ts';
import {
  alter,
  append,
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  createTopic,
  epochOf,
  fence,
  partitionOf,
  register,
} from './cluster.ts';

const UNASSIGNED = 'AAAAAAAAAAAAAAAAAAAAAQ';
const LOST = 'AAAAAAAAAAAAAAAAAAAAAg';
const INELIGIBLE_REPLICA = 107;
const ELIGIBLE_LEADERS_NOT_AVAILABLE = 83;

/** Three brokers of two directories each: of broker 2 they are 20 and 21. */
function three(): [Cluster, number, number, number] {
  const cluster = createCluster();
  for (const id of [1, 2, 3]) {
    register(cluster, id, { dirs: [id * 10, id * 10 + 1] });
    beat(cluster, id);
  }
  createTopic(cluster, 't', 1, 3, [['min.insync.replicas', '2']]);
  for (const id of [1, 2, 3]) assign(cluster, id, id * 10);
  const [first, second, third] = partitionOf(cluster).replicas as [number, number, number];
  return [cluster, first, second, third];
}

/** A broker says that its replica of `t` is in a directory; gives the code. */
function assign(cluster: Cluster, brokerId: number, dir: number | string, index = 0): number {
  const topicId = topicByName(cluster.controller.image, 't')?.id ?? idOf(1);
  const id = typeof dir === 'string' ? dir : idOf(6000 + dir);
  const answer = ask(cluster, 73, 0, {
    brokerId,
    brokerEpoch: epochOf(cluster, brokerId),
    directories: [{ id, topics: [{ topicId, partitions: [{ partitionIndex: index }] }] }],
  });
  return answer.errorCode || (answer.directories[0]?.topics[0]?.partitions[0]?.errorCode ?? -2);
}

/** A heartbeat that names a failed directory. */
function failing(cluster: Cluster, brokerId: number, dir: number): void {
  ask(cluster, 63, 1, {
    brokerId,
    brokerEpoch: epochOf(cluster, brokerId),
    currentMetadataOffset: cluster.log.length - 1,
    wantFence: false,
    wantShutDown: false,
    offlineLogDirs: [idOf(6000 + dir)],
  });
}

function directoryOf(cluster: Cluster, id: number): string | undefined {
  const { replicas, directories } = partitionOf(cluster);
  return directories[replicas.indexOf(id)];
}

describe('a replica', () => {
  it('is put where its broker says, in the same leader epoch', () => {
    const [cluster, first] = three();
    expect(directoryOf(cluster, first)).toBe(idOf(6000 + first * 10));
    const { partitionEpoch } = partitionOf(cluster);
    expect(assign(cluster, first, first * 10 + 1)).toBe(0);
    expect(partitionOf(cluster)).toMatchObject({ leaderEpoch: 0, partitionEpoch: partitionEpoch + 1 });
    expect(directoryOf(cluster, first)).toBe(idOf(6001 + first * 10));
    const length = cluster.log.length;
    expect(assign(cluster, first, first * 10 + 1)).toBe(0);
    expect(cluster.log).toHaveLength(length);
  });

  it('is not put anywhere by a stranger, in another life, or in a cluster of an old version', () => {
    const [cluster, first] = three();
    expect(assign(cluster, first, 10, 4)).toBe(3);
    register(cluster, 4, { dirs: [40] });
    beat(cluster, 4);
    expect(assign(cluster, 4, 40)).toBe(6);
    expect(assign(cluster, 9, 40)).toBe(77);
    append(cluster, [metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel: 16 })]);
    expect(assign(cluster, first, 11)).toBe(35);
  });
});

describe('a directory that fails', () => {
  it('takes its replicas out of sync, and the lead from them; the broker lives on', () => {
    const [cluster, first, second, third] = three();
    failing(cluster, first, first * 10);
    expect(briefOf(cluster)).toEqual([second, [second, third], [], [], 0]);
    expect(cluster.controller.image.cluster.brokers.get(first)).toMatchObject({
      fenced: false,
      logDirs: [idOf(6001 + first * 10)],
    });
    const length = cluster.log.length;
    failing(cluster, first, first * 10);
    expect(cluster.log).toHaveLength(length);
  });

  it('does not touch what is in the other one', () => {
    const [cluster, first, second, third] = three();
    failing(cluster, first, first * 10 + 1);
    expect(briefOf(cluster)).toEqual([first, [first, second, third], [], [], 0]);
  });

  it('is the last one: the broker says so until it stops', () => {
    const [cluster, first, second, third] = three();
    failing(cluster, first, first * 10);
    const length = cluster.log.length;
    for (let beats = 0; beats < 2; beats++) failing(cluster, first, first * 10 + 1);
    expect(briefOf(cluster)).toEqual([second, [second, third], [], [], 0]);
    // No record can say that none is left.
    expect(cluster.log).toHaveLength(length);
    expect(cluster.controller.image.cluster.brokers.get(first)?.logDirs).toEqual([idOf(6001 + first * 10)]);
  });

  it('is known only by a replica that arrives there', () => {
    const [cluster, first, second, third] = three();
    failing(cluster, first, first * 10 + 1);
    expect(assign(cluster, first, first * 10 + 1)).toBe(0);
    expect(briefOf(cluster)).toEqual([second, [second, third], [], [], 0]);
  });

  it('leaves its replicas eligible while few are in sync, but they do not lead without it', () => {
    const [cluster, first, second, third] = three();
    alter(cluster, [first]);
    failing(cluster, first, first * 10);
    expect(briefOf(cluster)).toEqual([second, [second], [third, first], [], 0]);
  });
});

describe('a disk that was swapped for an empty one', () => {
  it('holds nothing: its replica is neither eligible nor remembered as the last leader', () => {
    const [cluster, first, second, third] = three();
    alter(cluster, [first]);
    for (const id of [second, third]) {
      fence(cluster, id);
      register(cluster, id, { life: 1, dirs: [id * 10, id * 10 + 1] });
    }
    expect(briefOf(cluster)).toEqual([first, [first], [], [], 0]);
    const previousEpoch = epochOf(cluster, first);
    fence(cluster, first);
    expect(briefOf(cluster)).toEqual([-1, [], [first], [first], 0]);
    // A clean stop, and then the disk is another.
    register(cluster, first, { life: 1, dirs: [first * 10 + 1, 99], previousEpoch });
    beat(cluster, first);
    expect(briefOf(cluster)).toEqual([-1, [], [first], [first], 0]);
    expect(assign(cluster, first, 99)).toBe(0);
    expect(briefOf(cluster)).toEqual([-1, [], [], [], 0]);
  });

  it('is not mistaken for a replica that was copied between directories, or that had none yet', () => {
    const [cluster, first, second, third] = three();
    alter(cluster, [first]);
    assign(cluster, second, second * 10 + 1);
    assign(cluster, third, UNASSIGNED);
    assign(cluster, third, third * 10 + 1);
    expect(briefOf(cluster)).toEqual([first, [first], [second, third], [], 0]);
  });
});

describe('a replica that its broker calls lost', () => {
  it('gives up its lead, and comes into sync only once it is in a directory again', () => {
    const [cluster, first, second, third] = three();
    expect(assign(cluster, first, LOST)).toBe(0);
    expect(partitionOf(cluster)).toMatchObject({ leader: second, isr: [second, third], elr: [] });
    expect(alter(cluster, [first, second, third]).errorCode).toBe(INELIGIBLE_REPLICA);
    expect(assign(cluster, first, first * 10)).toBe(0);
    expect(alter(cluster, [first, second, third]).errorCode).toBe(0);
  });

  it('leads on where it is the last one in sync', () => {
    const [cluster, first, second, third] = three();
    fence(cluster, second);
    fence(cluster, third);
    expect(partitionOf(cluster).isr).toEqual([first]);
    expect(assign(cluster, first, LOST)).toBe(ELIGIBLE_LEADERS_NOT_AVAILABLE);
    expect(partitionOf(cluster)).toMatchObject({ leader: first, isr: [first] });
  });
});
