/** Where members of a group begin, and offsets that were seen to go, in histories that lie and in sound ones. */
import { expect, test } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import {
  addDelivery,
  createGroupHistory,
  type GroupHistory,
  type OffsetCommit,
} from '../../core/verify/group-history.ts';
import { createHistory, type History } from '../../core/verify/history.ts';

const FOREVER = Number.POSITIVE_INFINITY;

/** A member has read three records and committed that; another comes to own the partition. */
function scene(): { history: History; group: GroupHistory } {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  const group = createGroupHistory('g', 'classic');
  history.groups.push(group);
  own(group, 1, 100, 200);
  for (const offset of [0, 1, 2]) addDelivery(group, { holding: 0, partition: 0, offset, atUs: 110 });
  commit(group, 3, 120);
  own(group, 2, 300, FOREVER);
  return { history, group };
}

function own(group: GroupHistory, member: number, fromUs: number, toUs: number): void {
  group.holdings.push({ member, partition: 0, fromUs, askedUs: -1, toUs });
  group.assignments.push({ member, instanceId: null, generation: member, atUs: fromUs, partitions: [0] });
}

function commit(group: GroupHistory, offset: number, sentUs: number, changes: Partial<OffsetCommit> = {}): void {
  const common = { member: 1, generation: 1, partition: 0, isRepeated: false, outcome: 'acknowledged' } as const;
  group.commits.push({ ...common, offset, sentUs, lastSentUs: sentUs, doneUs: sentUs + 10, ...changes });
}

function found(history: History): string[] {
  return [...new Set(judge(history).violations.map(({ checker }) => checker))];
}

test('offsets are found until they are seen to go, and again when one is committed since', () => {
  const { history, group } = scene();
  group.lookups.push({ partition: 0, offset: -1, askedUs: 220, doneUs: 230 });
  expect(found(history)).toEqual(['offset-regression']);
  group.expirations.push({ partition: 0, atUs: 225 });
  expect(found(history)).toEqual([]);
  commit(group, 3, 240, { member: 2, generation: 2 });
  group.lookups.push({ partition: 0, offset: -1, askedUs: 260, doneUs: 270 });
  expect(found(history)).toEqual(['offset-regression']);
});

test('who comes to own a partition goes on where its group stood', () => {
  const { history, group } = scene();
  addDelivery(group, { holding: 1, partition: 0, offset: 2, atUs: 310 });
  expect(found(history)).toEqual(['group-restart']);
  commit(group, 2, 305, { generation: -1, outcome: 'unknown', doneUs: FOREVER });
  expect(found(history)).toEqual([]);
  group.commits.pop();
  group.expirations.push({ partition: 0, atUs: 290 });
  expect(found(history)).toEqual([]);
});

test('who speaks the classic protocol in a group of both commits nothing that is the next one of these since', () => {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  const group = createGroupHistory('g', 'both');
  history.groups.push(group);
  own(group, 1, 100, FOREVER);
  own(group, 2, 300, FOREVER);
  addDelivery(group, { holding: 0, partition: 0, offset: 0, atUs: 110 });
  commit(group, 1, 290);
  commit(group, 1, 310);
  expect(found(history)).toEqual([]);
  for (const one of group.assignments) Object.assign(one, { askedUs: one.atUs - 20 });
  expect(found(history)).toEqual(['zombie-commit']);
});

test('of a coordinator that did not know that it had been replaced older offsets may be heard', () => {
  const { history, group } = scene();
  commit(group, 2, 90);
  group.lookups.push({ partition: 0, offset: 2, askedUs: 220, doneUs: 230 });
  expect(found(history)).toEqual(['offset-regression']);
  group.unaware.push({ fromUs: 200, toUs: 225 });
  expect(found(history)).toEqual([]);
  group.lookups.push({ partition: 0, offset: 2, askedUs: 226, doneUs: 230 });
  expect(found(history)).toEqual(['offset-regression']);
});
