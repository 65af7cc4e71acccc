/** Nodes that leave for good, and shutdowns that outlive a controller. */
import { describe, expect, it } from 'vitest';
import { createController } from '../../core/controller/state.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { idOf } from '../metadata/cluster.ts';
import {
  append,
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  fence,
  partitionOf,
  register,
  threeReplicas,
} from './cluster.ts';

describe('a broker that is unregistered', () => {
  it('is forgotten, and leads and follows nothing any more', () => {
    const [cluster, first, second, third] = threeReplicas();
    expect(ask(cluster, 64, 0, { brokerId: first })).toMatchObject({ errorCode: 0, errorMessage: null });
    expect(cluster.controller.image.cluster.brokers.has(first)).toBe(false);
    expect(cluster.controller.sessions.has(first)).toBe(false);
    expect(briefOf(cluster)).toEqual([second, [second, third], [], [], 0]);
    expect(beat(cluster, first, { epoch: 5 }).errorCode).toBe(77);
    expect(register(cluster, first, { life: 1 })).toBeGreaterThan(0);
  });

  it('is not eligible any more, for nobody knows what it will bring when it comes back', () => {
    const [cluster, first, second, third] = threeReplicas();
    for (const id of [third, second, first]) fence(cluster, id);
    expect(briefOf(cluster)).toEqual([-1, [], [second, first], [first], 0]);
    ask(cluster, 64, 0, { brokerId: second });
    expect(briefOf(cluster)).toEqual([-1, [], [first], [first], 0]);
    register(cluster, second, { life: 1 });
    beat(cluster, second);
    expect(briefOf(cluster)[0]).toBe(-1);
    beat(cluster, first);
    expect(briefOf(cluster)[0]).toBe(first);
  });

  it('must have been registered', () => {
    const [cluster] = threeReplicas();
    expect(ask(cluster, 64, 0, { brokerId: 9 })).toMatchObject({
      errorCode: 102,
      errorMessage: 'Broker ID 9 is not currently registered',
    });
  });
});

describe('a controller', () => {
  const endPoint = { name: 'CONTROLLER', host: 'h', port: 9093, securityProtocol: 0 };
  const features = [
    { name: 'metadata.version', minSupportedVersion: 7, maxSupportedVersion: 33 },
    { name: 'eligible.leader.replicas.version', minSupportedVersion: 0, maxSupportedVersion: 1 },
    { name: 'group.version', minSupportedVersion: 0, maxSupportedVersion: 1 },
  ];
  const body = { controllerId: 8, incarnationId: idOf(1), zkMigrationReady: false, listeners: [endPoint], features };
  const setLevel = (cluster: Cluster, featureLevel: number): void =>
    append(cluster, [metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel })]);

  it('is registered, and unregistered once', () => {
    const cluster = createCluster();
    expect(ask(cluster, 70, 0, body).errorCode).toBe(0);
    expect(cluster.controller.image.cluster.controllers.has(8)).toBe(true);
    expect(ask(cluster, 94, 0, { controllerId: 8 }).errorCode).toBe(0);
    expect(cluster.controller.image.cluster.controllers.has(8)).toBe(false);
    expect(ask(cluster, 94, 0, { controllerId: 8 })).toMatchObject({ errorCode: 136 });
  });

  it('is not, in a cluster of a version that has no record of it', () => {
    const cluster = createCluster();
    setLevel(cluster, 32);
    expect(ask(cluster, 70, 0, body).errorCode).toBe(0);
    expect(ask(cluster, 94, 0, { controllerId: 8 }).errorCode).toBe(35);
    setLevel(cluster, 14);
    expect(ask(cluster, 70, 0, body).errorCode).toBe(35);
  });
});

describe('a broker that shuts down', () => {
  it('gets no new replicas while it does, and gets them like any that is fenced when it has', () => {
    const [cluster, first, second, third] = threeReplicas();
    const create = (name: string): number | undefined => {
      const topics = [{ name, numPartitions: 1, replicationFactor: 3, assignments: [], configs: [] }];
      return ask(cluster, 19, 7, { topics }).topics[0]?.errorCode;
    };
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: false });
    expect(create('during')).toBe(38);
    for (const id of [second, third]) beat(cluster, id);
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: true, isFenced: true });
    expect(create('after')).toBe(0);
    const { replicas, isr } = partitionOf(cluster, 'after');
    expect([...replicas].sort()).toEqual([first, second, third].sort());
    expect([...isr].sort()).toEqual([second, third].sort());
  });
});

describe('a shutdown that a new controller finds', () => {
  it('is not over before the others have heard of everything that the old one wrote', () => {
    const [before, first, second, third] = threeReplicas();
    beat(before, first, { shutDown: true });
    const { config, image } = before.controller;
    const cluster: Cluster = { ...before, controller: createController(config, image, 1, 0) };
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: false });
    for (const id of [second, third]) beat(cluster, id, { offset: cluster.log.length - 2 });
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: false });
    for (const id of [second, third]) beat(cluster, id);
    expect(beat(cluster, first, { shutDown: true })).toMatchObject({ shouldShutDown: true });
  });
});
