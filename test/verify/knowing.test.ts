/** Who should be known to have everything, whatever the controller says of it. */
import { expect, test } from 'vitest';
import { type Known, knownAfter, knownWithout, type PartitionTold } from '../../core/verify/knowing.ts';

const IN_SYNC_MIN = 2;

function told(fields: Partial<PartitionTold>): PartitionTold {
  return { incarnation: 'first', partitionEpoch: 5, replicas: [1, 2, 3], isr: [1], elr: [], ...fields };
}

function after(before: Known, fields: Partial<PartitionTold>, unsure = -1): readonly number[] {
  return knownAfter(before, told(fields), IN_SYNC_MIN, (id) => id !== unsure).ids;
}

const BEFORE: Known = { incarnation: 'first', partitionEpoch: 4, ids: [1, 2] };

test('who was in sync stays known while too few are, though the controller forgets it', () => {
  expect(after(BEFORE, { elr: [2] })).toEqual([1, 2]);
  expect(after(BEFORE, { elr: [] })).toEqual([1, 2]);
  expect(after(BEFORE, { isr: [] })).toEqual([1, 2]);
});

test('once enough are in sync, more is committed without those who are not', () => {
  expect(after(BEFORE, { isr: [1, 3] })).toEqual([1, 3]);
});

test.each([
  ['was shut down uncleanly', {}, 2],
  ['is no replica any more', { replicas: [1, 3] }, -1],
  ['was known of a topic that is gone', { incarnation: 'second' }, -1],
  ['was known before a state that nobody saw', { partitionEpoch: 6 }, -1],
])('nobody is known who %s', (_, fields, unsure) => {
  expect(after(BEFORE, fields, unsure)).toEqual([1]);
  expect(knownWithout(BEFORE, 2).ids).toEqual([1]);
});
