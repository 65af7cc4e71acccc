/** A reader in a rack: it reads where the leader sends it, and goes back when that comes to nothing. */
import { expect, test } from 'vitest';
import type { ReaderOptions } from '../../core/client/reader.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { encodeBatch } from '../../core/protocol/records.ts';
import { type Reading, startReading } from './reading.ts';
import { createToy, partitionOf, run, type Toy, takeDown } from './toy-cluster.ts';
import { append, endOf } from './toy-log.ts';

const FETCH = 1;
const encoder = new TextEncoder();

/** A reader in the rack of the second broker. */
function readNearby(toy: Toy, options: Partial<ReaderOptions> = {}): Reading {
  return startReading(toy, { maxWaitMs: 100, rack: 'near', ...options });
}

function fill(toy: Toy, count: number): void {
  const partition = partitionOf(toy);
  for (let i = 0; i < count; i++) {
    const value = encoder.encode(`v${endOf(partition)}`);
    append(partition, encodeBatch([{ timestampMs: 1, key: null, value }]));
  }
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `v${i}`);
}

function fetchesAt(toy: Toy, broker: number): RequestOf<1>[] {
  return toy.requests.flatMap((one) => {
    return one.apiKey === FETCH && one.broker === broker ? [one.body as RequestOf<1>] : [];
  });
}

test('a reader that says its rack is sent to the replica there, and reads on from it', () => {
  const toy = createToy({ brokers: 2, nearby: { broker: 1, rack: 'near', end: 1_000 } });
  fill(toy, 12);
  const { values } = readNearby(toy);
  run(toy, 3_000);
  fill(toy, 3);
  run(toy, 6_000);
  expect(values).toEqual(names(15));
  expect(fetchesAt(toy, 0).map(({ rackId }) => rackId)).toEqual(['near']);
  expect(fetchesAt(toy, 1).length).toBeGreaterThan(5);
});

test('a reader elsewhere, or nowhere, reads from the leader', () => {
  const toy = createToy({ brokers: 2, nearby: { broker: 1, rack: 'near', end: 1_000 } });
  fill(toy, 12);
  const { values } = readNearby(toy, { rack: '' });
  run(toy, 3_000);
  expect(values).toEqual(names(12));
  expect(fetchesAt(toy, 1)).toEqual([]);
});

test('what the nearby replica does not have is asked of the leader again, without haste', () => {
  const toy = createToy({ brokers: 2, nearby: { broker: 1, rack: 'near', end: 3 } });
  fill(toy, 12);
  const { reader, values, events } = readNearby(toy, { from: 6 });
  run(toy, 3_000);
  expect(values).toEqual([]);
  expect(events.filter(({ kind }) => kind === 'error')).toEqual([]);
  expect(fetchesAt(toy, 0).length).toBeLessThan(40);
  expect(toy.reached.get('reader.nearbyLeft')).toBeGreaterThan(3);
  if (toy.options.nearby !== undefined) toy.options.nearby.end = 1_000;
  run(toy, 5_000);
  expect(values).toEqual(names(12).slice(6));
  expect(reader.position).toBe(12);
});

test('a nearby replica that dies is left for the leader at once', () => {
  const toy = createToy({ brokers: 2, nearby: { broker: 1, rack: 'near', end: 1_000 } });
  fill(toy, 4);
  const { reader, values } = readNearby(toy);
  run(toy, 2_000);
  expect(reader.nearby).not.toBeNull();
  takeDown(toy, 1);
  fill(toy, 4);
  run(toy, 6_000);
  expect(values).toEqual(names(8));
  expect(reader.nearby).toBeNull();
});

test('a leader of an earlier epoch than the caller has heard of is not asked', () => {
  const toy = createToy({ brokers: 2 });
  fill(toy, 12);
  partitionOf(toy).leaderEpoch = 3;
  const { values, events } = readNearby(toy, { from: 6, fromEpoch: 4 });
  run(toy, 3_000);
  expect(fetchesAt(toy, 0)).toEqual([]);
  expect([values, events]).toEqual([[], []]);
  partitionOf(toy).leaderEpoch = 4;
  run(toy, 5_000);
  expect(values).toEqual(names(12).slice(6));
});
