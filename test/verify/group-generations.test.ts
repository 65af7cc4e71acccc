/** The generations of a classic group are counted on as long as it lasts; in each a member owns anew what it has. */
import { expect, test } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import { createGroupHistory, type GroupHistory } from '../../core/verify/group-history.ts';
import { createHistory, type History } from '../../core/verify/history.ts';

function scene(kind: GroupHistory['kind'] = 'classic'): { history: History; group: GroupHistory } {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  const group = createGroupHistory('g', kind);
  history.groups.push(group);
  return { history, group };
}

function join(group: GroupHistory, member: number, generation: number, askedUs: number, atUs: number): void {
  group.assignments.push({ member, instanceId: null, generation, askedUs, atUs, partitions: [] });
}

function found({ history }: { history: History }): string[] {
  return judge(history).violations.map(({ checker }) => checker);
}

test('whoever joins after a generation comes into that one or a later one', () => {
  const one = scene();
  join(one.group, 1, 5, 10, 20);
  join(one.group, 2, 5, 30, 40);
  join(one.group, 3, 6, 50, 60);
  // It asked before anybody had heard of the sixth.
  join(one.group, 4, 5, 55, 90);
  expect(found(one)).toEqual([]);
  join(one.group, 5, 4, 100, 110);
  expect(found(one)).toEqual(['generation-regression']);
});

test('a group that has ended begins to count anew, and one of both protocols is not judged by it', () => {
  const ended = scene();
  join(ended.group, 1, 5, 10, 20);
  ended.group.endsUs.push(25);
  join(ended.group, 2, 1, 30, 40);
  expect(found(ended)).toEqual([]);
  const both = scene('both');
  join(both.group, 1, 5, 10, 20);
  join(both.group, 2, 1, 30, 40);
  expect(found(both)).toEqual([]);
});

test('who has missed generations may be told to keep what another owned meanwhile, and not what another owns', () => {
  const one = scene();
  const { group } = one;
  const own = (member: number, fromUs: number, toUs: number): void => {
    group.holdings.push({ member, partition: 0, fromUs, askedUs: -1, toUs });
  };
  own(1, 100, Number.POSITIVE_INFINITY);
  join(group, 1, 1, 90, 100);
  own(2, 200, 300);
  join(group, 2, 2, 190, 200);
  join(group, 1, 3, 390, 400);
  group.proofs.push({ member: 2, sentUs: 250 }, { member: 1, sentUs: 450 });
  expect(found(one)).toEqual([]);
  own(3, 500, Number.POSITIVE_INFINITY);
  group.proofs.push({ member: 1, sentUs: 510 }, { member: 3, sentUs: 520 });
  expect(found(one)).toEqual(['two-owners']);
});

test('who has missed a generation may have to give up what another was given in it, not what one is given now', () => {
  /** Member 1 has the partition in generation 3, is not in 5, and gives it up in 6; member 2 is given it before. */
  const gaveTo = (generation: number): { history: History; group: GroupHistory } => {
    const one = scene('both');
    const { group } = one;
    group.holdings.push({ member: 1, partition: 0, fromUs: 100, askedUs: -1, toUs: 500 });
    join(group, 1, 3, 90, 100);
    group.holdings.push({ member: 2, partition: 0, fromUs: 300, askedUs: -1, toUs: Number.POSITIVE_INFINITY });
    join(group, 2, generation, 290, 300);
    group.proofs.push({ member: 2, sentUs: 350, generation }, { member: 1, sentUs: 450, generation: 6 });
    const common = { sentUs: 460, lastSentUs: 460, doneUs: 470, isRepeated: false, outcome: 'acknowledged' } as const;
    group.commits.push({ member: 1, generation: 6, partition: 0, offset: 0, ...common });
    return one;
  };
  const rightly = ['two-owners', 'zombie-commit'];
  expect(found(gaveTo(5)).filter((checker) => rightly.includes(checker))).toEqual([]);
  expect(found(gaveTo(6))).toEqual(expect.arrayContaining(rightly));
});

/** Two processes of one instance: the second takes the place of the first, in the same generation. */
function twins(): { history: History; group: GroupHistory } {
  const one = scene();
  const common = { instanceId: 'i', generation: 1, partitions: [] };
  one.group.assignments.push({ member: 1, askedUs: 10, joinedUs: 15, atUs: 20, ...common });
  one.group.assignments.push({ member: 2, askedUs: 30, joinedUs: 35, atUs: 40, ...common });
  return one;
}

test('whoever takes its place back has it from when that is answered, however late it is told what it owns', () => {
  const lost = twins();
  lost.group.proofs.push({ member: 1, sentUs: 60, generation: 1 });
  expect(found(lost)).toEqual(['zombie-heard']);
  const back = twins();
  const common = { member: 1, instanceId: 'i', generation: 1, partitions: [] };
  back.group.assignments.push({ ...common, askedUs: 50, joinedUs: 55, atUs: 90 });
  back.group.proofs.push({ member: 1, sentUs: 60, generation: 1 });
  expect(found(back)).toEqual([]);
  // And loses it again before it was told.
  back.group.assignments.push({ ...common, member: 2, askedUs: 65, joinedUs: 68, atUs: 70 });
  back.group.proofs.push({ member: 1, sentUs: 80, generation: 1 });
  expect(found(back)).toEqual(['zombie-heard']);
});
