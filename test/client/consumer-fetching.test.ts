/** What a consumer fetches, and whose the answers are. */
import { expect, it } from 'vitest';
import { assignPartitions, subscribe, unsubscribe } from '../../core/client/consumer-topics.ts';
import { act, areSettled, fill, newBoard, put, startConsuming } from './consuming.ts';
import { createToy, partitionOf, run } from './toy-cluster.ts';
import { addGroups } from './toy-groups.ts';

it('each topic is read for itself where brokers tell no ids of topics', () => {
  const versions = new Map([
    [1, { min: 4, max: 12 }],
    [3, { min: 0, max: 9 }],
  ]);
  const toy = createToy({ topics: { t: 1, u: 1 }, versions });
  const one = startConsuming(toy, newBoard(), { groupId: null });
  for (const topic of ['t', 'u']) put(partitionOf(toy, topic), [`of ${topic}`, `of ${topic}`]);
  act(toy, one, (c, e) =>
    assignPartitions(c, e, [
      { topic: 't', partition: 0 },
      { topic: 'u', partition: 0 },
    ]),
  );
  run(toy, toy.nowMs + 3000);
  const told = one.records.map(({ where, value }) => `${where} ${value}`).sort();
  expect(told).toEqual(['t-0 of t', 't-0 of t', 'u-0 of u', 'u-0 of u']);
});

it('nothing is fetched of what its owner is giving up', () => {
  const toy = createToy({ topics: { t: 1 } });
  addGroups(toy);
  const one = startConsuming(toy, newBoard());
  act(toy, one, (c, e) => subscribe(c, e, { topics: ['t'] }));
  run(toy, toy.nowMs + 10_000, () => areSettled([one], 1));
  run(toy, toy.nowMs + 1000);
  one.ackMs = 5000;
  act(toy, one, (c, e) => unsubscribe(c, e));
  run(toy, toy.nowMs + 1000, () => one.consumer.rebalance?.stage === 'told');
  // What is out then comes to its end.
  run(toy, toy.nowMs + 500);
  const fetches = (): number => toy.requests.filter(({ apiKey }) => apiKey === 1).length;
  const before = fetches();
  fill(partitionOf(toy), 3);
  run(toy, toy.nowMs + 2000);
  expect(one.consumer.rebalance?.stage).toBe('told');
  expect(fetches()).toBe(before);
});
