/** Brokers that leave for good, and shutdowns that outlive a controller. */
import { describe, expect, it } from 'vitest';
import { createController } from '../../core/controller/state.ts';
import {
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  createTopic,
  fence,
  partitionOf,
  register,
  startBrokers,
} from './cluster.ts';

function three(): [Cluster, number, number, number] {
  const cluster = createCluster();
  startBrokers(cluster, 3);
  createTopic(cluster, 't', 1, 3, [['min.insync.replicas', '2']]);
  const [first, second, third] = partitionOf(cluster).replicas as [number, number, number];
  return [cluster, first, second, third];
}

describe('a broker that is unregistered', () => {
  it('is forgotten, and leads and follows nothing any more', () => {
    const [cluster, first, second, third] = three();
    expect(ask(cluster, 64, 0, { brokerId: first })).toMatchObject({ errorCode: 0, errorMessage: null });
    expect(cluster.controller.image.cluster.brokers.has(first)).toBe(false);
    expect(cluster.controller.sessions.has(first)).toBe(false);
    expect(briefOf(cluster)).toEqual([second, [second, third], [], [], 0]);
    expect(beat(cluster, first, { epoch: 5 }).errorCode).toBe(77);
    expect(register(cluster, first, { life: 1 })).toBeGreaterThan(0);
  });

  it('is not eligible any more, for nobody knows what it will bring when it comes back', () => {
    const [cluster, first, second, third] = three();
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
    const [cluster] = three();
    expect(ask(cluster, 64, 0, { brokerId: 9 })).toMatchObject({
      errorCode: 102,
      errorMessage: 'Broker ID 9 is not currently registered',
    });
  });
});

describe('a shutdown that a new controller finds', () => {
  it('is not over before the others have heard of everything that the old one wrote', () => {
    const [before, first, second, third] = three();
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
