/** What is told of groups, and what was deleted of them, in histories that lie and in sound ones. */
import { describe, expect, test } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import {
  createGroupHistory,
  type GroupHistory,
  type GroupReading,
  type OffsetCommit,
} from '../../core/verify/group-history.ts';
import { createHistory, type History } from '../../core/verify/history.ts';

const FOREVER = Number.POSITIVE_INFINITY;

/** A group in which nothing has happened, but for what is done to it. */
class Scene {
  readonly history: History = createHistory([{ topic: 't', partition: 0 }]);
  readonly group: GroupHistory;

  constructor(kind: GroupHistory['kind']) {
    this.group = createGroupHistory('g', kind);
    this.history.groups.push(this.group);
  }

  /** An offset is stored by who is no member, from a time on and within 10 us; -1 deletes it. */
  store(offset: number, sentUs: number, changes: Partial<OffsetCommit> = {}): this {
    const common = { member: 9, generation: -1, partition: 0, isRepeated: false, outcome: 'acknowledged' } as const;
    this.group.commits.push({ ...common, offset, sentUs, lastSentUs: sentUs, doneUs: sentUs + 10, ...changes });
    return this;
  }

  /** All of the group is deleted. */
  clear(sentUs: number, changes: Partial<OffsetCommit> = {}): this {
    return this.store(-1, sentUs, { isOfGroup: true, ...changes });
  }

  /** A member owns the partition, and is taken for one whenever it asks; of the epoch of its number. */
  own(member: number, fromUs: number, askedUs: readonly number[]): this {
    const { holdings, assignments, proofs } = this.group;
    holdings.push({ member, partition: 0, fromUs, askedUs: fromUs - 5, toUs: FOREVER });
    assignments.push({ member, instanceId: null, generation: member, atUs: fromUs, partitions: [0] });
    for (const sentUs of askedUs) proofs.push({ member, sentUs });
    return this;
  }

  /** The group is told of; it is not there with members of null. */
  read(members: number | null, askedUs: number, changes: Partial<GroupReading> = {}): this {
    const told = { isThere: members !== null, members: members ?? -1, epoch: -1, countsOffsets: true };
    this.group.readings.push({ askedUs, doneUs: askedUs + 10, ...told, ...changes });
    return this;
  }

  find(offset: number, askedUs: number): this {
    this.group.lookups.push({ partition: 0, offset, askedUs, doneUs: askedUs + 10 });
    return this;
  }

  get found(): string[] {
    return [...new Set(judge(this.history).violations.map(({ checker }) => checker))];
  }
}

describe('a deletion', () => {
  test('that was acknowledged stays, until somebody stores again', () => {
    expect(new Scene('simple').store(3, 100).clear(200).find(-1, 300).found).toEqual([]);
    expect(new Scene('simple').store(3, 100).clear(200).find(3, 300).found).toEqual(['offset-regression']);
    expect(new Scene('simple').store(3, 100).clear(200).store(3, 250).find(3, 300).found).toEqual([]);
  });

  test('that was not answered may have been done, and excuses nothing else', () => {
    const lost = { outcome: 'unknown', doneUs: FOREVER } as const;
    expect(new Scene('simple').store(3, 100).store(-1, 200, lost).find(-1, 300).find(3, 400).found).toEqual([]);
    expect(new Scene('simple').store(3, 100).find(-1, 300).found).toEqual(['offset-regression']);
    expect(new Scene('simple').store(-1, 100, lost).store(3, 200).find(2, 300).found).toEqual(['offset-regression']);
  });

  test('of which all attempts were answered comes no later than that', () => {
    const over = { outcome: 'unknown', isOver: true } as const;
    expect(new Scene('simple').store(-1, 100, over).store(3, 200).find(-1, 300).found).toEqual(['offset-regression']);
    expect(new Scene('simple').store(3, 50).store(-1, 100, over).find(-1, 300).find(3, 400).found).toEqual([]);
  });

  test('is refused while somebody is there', () => {
    expect(new Scene('classic').own(1, 100, [300]).clear(200).found).toEqual(['outsider-commit']);
    expect(new Scene('classic').own(1, 100, [150]).clear(200).found).toEqual([]);
  });
});

describe('a group', () => {
  test('with members is there, and has them', () => {
    const scene = (): Scene => new Scene('consumer').own(1, 100, [300]).own(2, 100, [300]);
    const own = (one: Scene): string[] => one.found.filter((checker) => checker === 'group-misread');
    expect(own(scene().read(null, 200))).toEqual(['group-misread']);
    expect(own(scene().read(1, 200))).toEqual(['group-misread']);
    expect(own(scene().read(2, 200).read(3, 200).read(-1, 200))).toEqual([]);
    // They need not be there any more.
    expect(own(scene().read(null, 310).read(0, 90))).toEqual([]);
  });

  test('with an offset is there until that may have gone', () => {
    expect(new Scene('simple').store(3, 100).read(null, 200).found).toEqual(['group-misread']);
    expect(new Scene('simple').store(3, 100).read(null, 200, { countsOffsets: false }).found).toEqual([]);
    expect(new Scene('simple').store(3, 100).clear(205).read(null, 200).found).toEqual([]);
    expect(new Scene('simple').store(3, 100).clear(150).store(4, 170).read(null, 200).found).toEqual(['group-misread']);
    const expired = new Scene('simple').store(3, 100);
    expired.group.expirations.push({ partition: 0, atUs: 150 });
    expect(expired.read(null, 200).found).toEqual([]);
  });

  test('that was deleted is not there before somebody uses it again', () => {
    expect(new Scene('simple').store(3, 100).clear(150).read(0, 200).found).toEqual(['group-misread']);
    expect(new Scene('simple').store(3, 100).clear(150).store(3, 205).read(0, 200).found).toEqual([]);
    // One offset is not the group.
    expect(new Scene('simple').store(3, 100).store(-1, 150).read(0, 200).found).toEqual([]);
    expect(new Scene('simple').store(3, 100).read(1, 200).found).toEqual(['group-misread']);
  });

  test('does not go back to an earlier epoch, unless it ends', () => {
    const told = (epoch: number): Partial<GroupReading> => ({ epoch });
    const scene = (): Scene => new Scene('consumer').read(0, 100, told(5));
    expect(scene().read(0, 200, told(5)).read(0, 300, told(6)).found).toEqual([]);
    expect(scene().read(0, 200, told(4)).found).toEqual(['group-misread']);
    expect(scene().read(0, 105, told(4)).found).toEqual([]);
    expect(scene().clear(150).read(0, 200, told(1)).found).toEqual([]);
    expect(scene().store(-1, 150).read(0, 200, told(1)).found).toEqual(['group-misread']);
    expect(new Scene('consumer').own(7, 100, []).read(1, 200, told(6)).found).toEqual(['group-misread']);
  });
});
