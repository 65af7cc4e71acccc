/** Elections that an operator asks for, and those that the controller holds by itself. */
import { describe, expect, it } from 'vitest';
import { dutiesDeadlineMs, nextDuty } from '../../core/controller/duties.ts';
import { ELECTIONS_MAX } from '../../core/controller/elect-leaders.ts';
import { CONTROLLER } from '../../core/controller/machine.ts';
import { createController } from '../../core/controller/state.ts';
import { topicByName } from '../../core/metadata/image.ts';
import {
  alter,
  append,
  ask,
  beat,
  briefOf,
  type Cluster,
  createCluster,
  createTopic,
  elect,
  fence,
  partitionOf,
  register,
  startBrokers,
  threeReplicas,
} from './cluster.ts';

const PREFERRED = 0;
const UNCLEAN = 1;

/** Leads are given back every five minutes. */
function three(): [Cluster, number, number, number] {
  return threeReplicas({ config: { balanceIntervalMs: 300_000 } });
}

/** The preferred leader dies and comes back in sync, and does not lead. */
function displaced(): [Cluster, number, number, number] {
  const [cluster, first, second, third] = three();
  fence(cluster, first);
  beat(cluster, first);
  alter(cluster, [second, third, first]);
  expect(briefOf(cluster)[0]).toBe(second);
  return [cluster, first, second, third];
}

/** Carries out what is due; gives its kind. */
function duty(cluster: Cluster): string {
  const due = nextDuty(cluster.controller, cluster.nowMs);
  if (due === null) return 'none';
  const context = { nowMs: cluster.nowMs, nextOffset: cluster.log.length };
  const { records, response } = CONTROLLER.handle(cluster.controller, context, due);
  expect(response).toBe(null);
  append(cluster, records);
  return `${due.kind} ${records.length}`;
}

describe('a preferred election', () => {
  it('gives the lead back, once', () => {
    const [cluster, first] = displaced();
    const { leaderEpoch } = partitionOf(cluster);
    expect(elect(cluster, PREFERRED)).toEqual([0]);
    expect(partitionOf(cluster)).toMatchObject({ leader: first, leaderEpoch: leaderEpoch + 1 });
    expect(elect(cluster, PREFERRED)).toEqual([84]);
  });

  it('is not held for one who is not in sync, or not there', () => {
    const [cluster, first, second] = three();
    fence(cluster, first);
    expect(elect(cluster, PREFERRED)).toEqual([80]);
    beat(cluster, first);
    expect(elect(cluster, PREFERRED)).toEqual([80]);
    expect(briefOf(cluster)[0]).toBe(second);
  });

  it('is answered for each partition: what is missing, and what is asked twice', () => {
    const [cluster] = displaced();
    expect(elect(cluster, PREFERRED, [0, 0, 7])).toEqual([0, 3]);
    expect(elect(cluster, PREFERRED, [0], 'no')).toEqual([3]);
  });

  it('for all topics names those that needed it only', () => {
    const [cluster] = displaced();
    createTopic(cluster, 'fine', 2, 3);
    const { replicaElectionResults } = ask(cluster, 43, 2, { electionType: PREFERRED, topicPartitions: null });
    expect(
      Object.fromEntries(replicaElectionResults.map(({ topic, partitionResult }) => [topic, partitionResult])),
    ).toEqual({ fine: [], t: [{ partitionId: 0, errorCode: 0, errorMessage: null }] });
  });

  it('of an unknown kind is refused, each partition with it', () => {
    const [cluster] = three();
    const answer = ask(cluster, 43, 2, { electionType: 5, topicPartitions: [{ topic: 't', partitions: [0] }] });
    expect(answer).toMatchObject({ errorCode: 42 });
    expect(answer.replicaElectionResults[0]?.partitionResult[0]).toMatchObject({ partitionId: 0, errorCode: 42 });
  });
});

describe('an unclean election', () => {
  /** Two are gone for good; the third is there and may have lost something. */
  function deserted(): [Cluster, number, number] {
    const [cluster, first, second, third] = three();
    for (const id of [third, second, first]) fence(cluster, id);
    expect(briefOf(cluster)).toEqual([-1, [], [second, first], [first], 0]);
    beat(cluster, third);
    expect(briefOf(cluster)[0]).toBe(-1);
    return [cluster, first, third];
  }

  it('ends the silence when an operator asks, and is marked', () => {
    const [cluster, , third] = deserted();
    expect(elect(cluster, UNCLEAN)).toEqual([0]);
    expect(briefOf(cluster)).toEqual([third, [third], [], [], 1]);
    expect(elect(cluster, UNCLEAN)).toEqual([84]);
  });

  it('is not needed while somebody leads, and impossible while nobody is there', () => {
    const [cluster, first, second, third] = three();
    expect(elect(cluster, UNCLEAN)).toEqual([84]);
    for (const id of [third, second, first]) fence(cluster, id);
    expect(elect(cluster, UNCLEAN)).toEqual([83]);
  });

  it('prefers who holds everything', () => {
    const [cluster, first] = deserted();
    register(cluster, first, { life: 0 });
    fence(cluster, first);
    // The broker is back, but the image still has it fenced: nobody may lead but the third.
    expect(briefOf(cluster)[0]).toBe(-1);
    beat(cluster, first);
    expect(briefOf(cluster)).toEqual([first, [first], expect.any(Array), [], 0]);
  });

  it('is held by the controller itself once the topic allows it', () => {
    const [cluster, , third] = deserted();
    while (duty(cluster) !== 'none');
    const configs = [{ name: 'unclean.leader.election.enable', value: 'true', configOperation: 0 }];
    ask(cluster, 44, 1, { resources: [{ resourceType: 2, resourceName: 't', configs }], validateOnly: false });
    expect(dutiesDeadlineMs(cluster.controller)).toBe(-Infinity);
    expect(duty(cluster)).toBe('electUncleanly 1');
    expect(briefOf(cluster)).toEqual([third, [third], [], [], 1]);
    expect([duty(cluster), duty(cluster)]).toEqual(['electUncleanly 0', 'none']);
  });

  it('is looked for by a new controller', () => {
    const [cluster] = deserted();
    while (duty(cluster) !== 'none');
    const { config, image } = cluster.controller;
    const next = createController(config, image, 1, cluster.nowMs);
    expect(nextDuty(next, cluster.nowMs)).toEqual({ kind: 'electUncleanly' });
  });
});

describe('leads', () => {
  it('are given back from time to time', () => {
    const [cluster, first] = displaced();
    while (duty(cluster) !== 'none');
    for (const id of [1, 2, 3]) beat(cluster, id);
    cluster.nowMs += 300_000;
    for (const id of [1, 2, 3]) beat(cluster, id);
    expect(dutiesDeadlineMs(cluster.controller)).toBe(300_000);
    expect(duty(cluster)).toBe('balance 1');
    expect(briefOf(cluster)[0]).toBe(first);
    expect([duty(cluster), duty(cluster)]).toEqual(['balance 0', 'none']);
    expect(cluster.controller.balanceAtMs).toBe(600_000);
  });

  it('are given back in rounds of a bounded size, one after the other', () => {
    const cluster = createCluster({ balanceIntervalMs: 1000 });
    startBrokers(cluster, 3);
    createTopic(cluster, 't', 4500, 3);
    fence(cluster, 1);
    beat(cluster, 1);
    const topic = topicByName(cluster.controller.image, 't');
    for (const [index, partition] of topic?.partitions.entries() ?? []) {
      alter(cluster, [...partition.isr, 1], { index });
    }
    while (duty(cluster) !== 'none');
    cluster.nowMs = 1000;
    for (const id of [1, 2, 3]) beat(cluster, id);
    expect([duty(cluster), duty(cluster), duty(cluster)]).toEqual([
      `balance ${ELECTIONS_MAX}`,
      'balance 500',
      'balance 0',
    ]);
    const after = topicByName(cluster.controller.image, 't');
    expect(after?.partitions.every(({ leader, replicas }) => leader === replicas[0])).toBe(true);
  });

  it('are never given back where that is turned off', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    expect(cluster.controller.balanceAtMs).toBe(Infinity);
  });
});

describe('a silent broker', () => {
  it('is fenced before anything else, one at a time', () => {
    const [cluster] = displaced();
    cluster.nowMs = 1000;
    expect([duty(cluster), duty(cluster), duty(cluster)].map((text) => text.split(' ')[0])).toEqual([
      'fence',
      'fence',
      'fence',
    ]);
    expect([...cluster.controller.image.cluster.brokers.values()].every(({ fenced }) => fenced)).toBe(true);
    expect(briefOf(cluster)[0]).toBe(-1);
  });

  it('is not fenced in the life that came after', () => {
    const [cluster] = three();
    cluster.nowMs = 1000;
    const due = nextDuty(cluster.controller, 1000);
    expect(due).toMatchObject({ kind: 'fence' });
    const broker = due?.kind === 'fence' ? due.broker : -1;
    register(cluster, broker, { life: 1 });
    beat(cluster, broker);
    const context = { nowMs: 1000, nextOffset: cluster.log.length };
    expect(CONTROLLER.handle(cluster.controller, context, due as NonNullable<typeof due>).records).toEqual([]);
  });
});
