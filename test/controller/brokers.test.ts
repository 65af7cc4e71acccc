/** Brokers come, are fenced, shut down and come back; what becomes of the partitions they hold. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { controllerDeadlineMs, expiredBroker } from '../../core/controller/brokers.ts';
import { placeReplicas } from '../../core/controller/placement.ts';
import { createController } from '../../core/controller/state.ts';
import { type PartitionImage, topicByName } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { idOf } from '../metadata/cluster.ts';
import {
  append,
  ask,
  beat,
  type Cluster,
  createCluster,
  createTopic,
  fence,
  register,
  startBrokers,
} from './cluster.ts';

function three(minInsync = '1', more: readonly (readonly [string, string])[] = []): Cluster {
  const cluster = createCluster();
  startBrokers(cluster, 3);
  createTopic(cluster, 't', 1, 3, [['min.insync.replicas', minInsync], ...more]);
  return cluster;
}

function partition(cluster: Cluster): PartitionImage {
  const found = topicByName(cluster.controller.image, 't')?.partitions[0];
  if (found === undefined) throw new Error('no partition');
  return found;
}

/** The partition in short: leader, in sync, eligible, last known, recovering. */
function brief(cluster: Cluster): unknown[] {
  const { leader, isr, elr, lastKnownElr, leaderRecoveryState } = partition(cluster);
  return [leader, isr, elr, lastKnownElr, leaderRecoveryState];
}

describe('a broker that registers', () => {
  it('is fenced until it has caught up with its registration', () => {
    const cluster = createCluster();
    const epoch = register(cluster, 1);
    expect(epoch).toBe(cluster.log.length - 1);
    expect(beat(cluster, 1, { offset: epoch - 1 })).toMatchObject({ isCaughtUp: false, isFenced: true });
    expect(beat(cluster, 1, { fence: true })).toMatchObject({ isCaughtUp: true, isFenced: true });
    expect(beat(cluster, 1)).toMatchObject({ errorCode: 0, isFenced: false, shouldShutDown: false });
    expect(cluster.log.at(-1)).toMatchObject({
      kind: 'BrokerRegistrationChangeRecord',
      version: 0,
      value: { fenced: -1 },
    });
    const length = cluster.log.length;
    expect(beat(cluster, 1)).toMatchObject({ isFenced: false });
    expect(cluster.log).toHaveLength(length);
  });

  it('keeps its epoch if it registers again in the same life', () => {
    const cluster = createCluster();
    const epoch = register(cluster, 1);
    beat(cluster, 1);
    expect(register(cluster, 1)).toBe(epoch);
    expect(cluster.controller.image.cluster.brokers.get(1)?.fenced).toBe(false);
  });

  it('is refused while another of its id is alive, and not after', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    expect(register(cluster, 1, { life: 1 })).toBe(-101);
    cluster.nowMs += 1000;
    expect(register(cluster, 1, { life: 1 })).toBeGreaterThan(0);
  });

  it('need not wait for its own earlier life where the controller shares its process', () => {
    const cluster = createCluster();
    startBrokers(cluster, 2);
    const { image, config } = cluster.controller;
    const restarted: Cluster = { ...cluster, controller: createController(config, image, 1, 0) };
    expect(register(restarted, 2, { life: 1 })).toBe(-101);
    expect(register(restarted, 1, { life: 1 })).toBeGreaterThan(0);
  });

  it('is refused for what it cannot be', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    expect(register(cluster, 2, { dirs: [] })).toBe(-119);
    expect(register(cluster, 2, { dirs: [2, 2] })).toBe(-119);
    expect(register(cluster, 2, { dirs: [1] })).toBe(-119);
    expect(register(cluster, 2, { maxLevel: 30 })).toBe(-35);
    const other = { brokerId: 2, clusterId: 'other', incarnationId: idOf(1), listeners: [], features: [], rack: null };
    expect(ask(cluster, 62, 4, { ...other, logDirs: [] }).errorCode).toBe(104);
  });

  it('must know its epoch', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    expect(beat(cluster, 1, { epoch: 0 }).errorCode).toBe(77);
    expect(beat(cluster, 9).errorCode).toBe(77);
    const block = (brokerEpoch: number) => ask(cluster, 67, 0, { brokerId: 1, brokerEpoch });
    expect(block(0).errorCode).toBe(77);
    const epoch = cluster.controller.image.cluster.brokers.get(1)?.epoch ?? -1;
    expect([block(epoch), block(epoch)]).toMatchObject([
      { errorCode: 0, producerIdStart: 0, producerIdLen: 1000 },
      { errorCode: 0, producerIdStart: 1000, producerIdLen: 1000 },
    ]);
  });
});

describe('a broker that is silent', () => {
  it('is found when its session ends, and not before', () => {
    const cluster = createCluster();
    startBrokers(cluster, 2);
    cluster.nowMs = 400;
    beat(cluster, 2);
    expect([controllerDeadlineMs(cluster.controller), expiredBroker(cluster.controller, 999)]).toEqual([1000, -1]);
    expect(expiredBroker(cluster.controller, 1000)).toBe(1);
    fence(cluster, 1);
    expect([expiredBroker(cluster.controller, 1000), controllerDeadlineMs(cluster.controller)]).toEqual([-1, 1400]);
    fence(cluster, 2);
    expect(controllerDeadlineMs(cluster.controller)).toBe(Infinity);
  });
});

describe('partitions of brokers that go', () => {
  it('are led by the next in sync, in the order of preference', () => {
    const cluster = three();
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    fence(cluster, first);
    expect(brief(cluster)).toEqual([second, [second, third], [], [], 0]);
    expect(partition(cluster)).toMatchObject({ leaderEpoch: 1, partitionEpoch: 1 });
    expect(cluster.log.at(-1)).toMatchObject({ kind: 'BrokerRegistrationChangeRecord', value: { fenced: 1 } });
  });

  it('keep the leader if a follower goes, in the same leader epoch', () => {
    const cluster = three();
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    fence(cluster, third);
    expect(brief(cluster)).toEqual([first, [first, second], [], [], 0]);
    expect(partition(cluster)).toMatchObject({ leaderEpoch: 0, partitionEpoch: 1 });
  });

  it('remember who holds everything committed once too few are in sync, and one of them may lead', () => {
    const cluster = three('2');
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    fence(cluster, third);
    expect(brief(cluster)).toEqual([first, [first, second], [], [], 0]);
    fence(cluster, second);
    expect(brief(cluster)).toEqual([first, [first], [second], [], 0]);
    fence(cluster, first);
    expect(brief(cluster)).toEqual([-1, [], [second, first], [first], 0]);
    beat(cluster, third);
    expect(brief(cluster)).toEqual([-1, [], [second, first], [first], 0]);
    beat(cluster, second);
    expect(brief(cluster)).toEqual([second, [second], [first], [], 0]);
  });

  it('that lost their disks after all are led by who led last, and that is marked', () => {
    const cluster = three('1');
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    for (const id of [third, second, first]) fence(cluster, id);
    expect(brief(cluster)).toEqual([-1, [], [first], [first], 0]);
    register(cluster, first, { life: 1, previousEpoch: -1 });
    expect(brief(cluster)).toEqual([-1, [], [], [first], 0]);
    beat(cluster, second);
    expect(brief(cluster)).toEqual([-1, [], [], [first], 0]);
    beat(cluster, first);
    expect(brief(cluster)).toEqual([first, [first], [], [], 1]);
  });

  it('that were shut down cleanly are led again without loss', () => {
    const cluster = three('1');
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    for (const id of [third, second, first]) fence(cluster, id);
    const previousEpoch = cluster.controller.image.cluster.brokers.get(first)?.epoch ?? -1;
    register(cluster, first, { life: 1, previousEpoch });
    expect(brief(cluster)).toEqual([-1, [], [first], [first], 0]);
    beat(cluster, first);
    expect(brief(cluster)).toEqual([first, [first], [], [], 0]);
  });

  it('may be led by anyone where the topic allows loss', () => {
    const cluster = three('1', [['unclean.leader.election.enable', 'true']]);
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    fence(cluster, third);
    fence(cluster, second);
    beat(cluster, third);
    fence(cluster, first);
    expect(brief(cluster)).toEqual([third, [third], [], [], 1]);
  });

  it('without eligible replicas keep the last in the set, and wait for it', () => {
    const cluster = three();
    append(cluster, [
      metadataRecord('FeatureLevelRecord', 0, { name: 'eligible.leader.replicas.version', featureLevel: 0 }),
    ]);
    const [first, second, third] = partition(cluster).replicas as [number, number, number];
    for (const id of [third, second, first]) fence(cluster, id);
    expect(brief(cluster)).toEqual([-1, [first], [], [], 0]);
    beat(cluster, second);
    expect(brief(cluster)).toEqual([-1, [first], [], [], 0]);
    beat(cluster, first);
    expect(brief(cluster)).toEqual([first, [first], [], [], 0]);
  });
});

describe('a broker that wants to shut down', () => {
  it('gives away what it leads, and goes when the others know', () => {
    const cluster = three();
    const [first, second] = partition(cluster).replicas as [number, number, number];
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: false, isFenced: false });
    expect(partition(cluster).leader).toBe(second);
    const shutdownOffset = cluster.log.length - 1;
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: false });
    for (const id of [1, 2, 3]) if (id !== first) beat(cluster, id, { offset: shutdownOffset });
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: true, isFenced: true });
    expect(cluster.controller.image.cluster.brokers.get(first)?.fenced).toBe(true);
  });

  it('goes at once if it leads nothing', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    expect(beat(cluster, 1, { shutDown: true })).toMatchObject({ shouldShutDown: true, isFenced: true });
  });

  it('alone, it goes once its partitions have no leader, and leads them again when it is back', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    createTopic(cluster, 't', 1, 1);
    beat(cluster, 1, { shutDown: true });
    expect(brief(cluster)).toEqual([-1, [], [1], [1], 0]);
    expect(beat(cluster, 1, { shutDown: true })).toMatchObject({ shouldShutDown: true });
    const previousEpoch = cluster.controller.image.cluster.brokers.get(1)?.epoch ?? -1;
    register(cluster, 1, { life: 1, previousEpoch });
    beat(cluster, 1);
    expect(brief(cluster)).toEqual([1, [1], [], [], 0]);
  });
});

describe('the placement of replicas', () => {
  it('is balanced over brokers and racks, without a broker twice', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        (seed, brokers, racks) => {
          const cluster = createCluster({}, seed);
          startBrokers(
            cluster,
            brokers,
            Array.from({ length: racks }, (_, index) => `r${index}`),
          );
          const factor = 1 + (Math.abs(seed) % Math.min(3, brokers));
          const placed = placeReplicas(cluster.controller, brokers * 4, factor);
          if ('errorCode' in placed) throw new Error(String(placed.errorMessage));
          const rackOf = (id: number): number => (id - 1) % racks;
          const leads = new Map<number, number>();
          for (const replicas of placed) {
            expect(new Set(replicas).size).toBe(factor);
            const spread = new Set(replicas.map(rackOf)).size;
            expect(spread).toBe(Math.min(factor, racks, brokers));
            leads.set(replicas[0] ?? -1, (leads.get(replicas[0] ?? -1) ?? 0) + 1);
          }
          // Racks lead equally often, and so do the brokers of a rack.
          if (brokers % racks === 0) expect([...leads.values()]).toEqual(Array(brokers).fill(4));
        },
      ),
      { numRuns: 400 },
    );
  });

  it('gives nothing to brokers whose directories are cordoned or that leave', () => {
    const cluster = createCluster();
    startBrokers(cluster, 3);
    append(cluster, [
      metadataRecord('BrokerRegistrationChangeRecord', 3, {
        brokerId: 1,
        brokerEpoch: cluster.controller.image.cluster.brokers.get(1)?.epoch ?? -1,
        cordonedLogDirs: [idOf(6001)],
      }),
    ]);
    fence(cluster, 2);
    const placed = placeReplicas(cluster.controller, 6, 2);
    if ('errorCode' in placed) throw new Error(String(placed.errorMessage));
    expect(placed).toEqual(Array(6).fill([3, 2]));
    expect(placeReplicas(cluster.controller, 1, 3)).toMatchObject({ errorCode: 38 });
  });

  it('is the same for the same dice', () => {
    const run = (seed: number): unknown => {
      const cluster = createCluster({}, seed);
      startBrokers(cluster, 5);
      return placeReplicas(cluster.controller, 40, 3);
    };
    expect(run(7)).toEqual(run(7));
    expect(run(7)).not.toEqual(run(8));
  });
});
