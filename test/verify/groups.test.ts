/** Every checker of groups finds what it is for in a history that lies, and nothing in a sound one. */
import { describe, expect, it } from 'vitest';
import { judge } from '../../core/verify/checkers.ts';
import {
  addDelivery,
  createGroupHistory,
  type GroupHistory,
  type OffsetCommit,
} from '../../core/verify/group-history.ts';
import { SETTLED_MAX_MS } from '../../core/verify/groups.ts';
import { addRead, beginSession, createHistory, type History } from '../../core/verify/history.ts';

const FOREVER = Number.POSITIVE_INFINITY;

/** A partition whose log holds values 0 to 5, and a group without anything. */
function scene(kind: GroupHistory['kind'] = 'classic'): { history: History; group: GroupHistory } {
  const history = createHistory([{ topic: 't', partition: 0 }]);
  const session = beginSession(history, { reader: 1, partition: 0, startedUs: 0, isFinal: true });
  for (let value = 0; value < 6; value++) {
    const common = { producer: 1, partition: 0, isIdempotent: true, patienceMs: FOREVER, sentUs: 0, doneUs: 1 };
    history.sends.push({ ...common, value, acks: -1, outcome: 'acknowledged', offset: value, error: 0 });
    addRead(history, session, { offset: value, value, highWatermark: 6, atUs: 900 });
  }
  const group = createGroupHistory('g', kind);
  history.groups.push(group);
  return { history, group };
}

function found(history: History): string[] {
  return [...new Set(judge(history).violations.map(({ checker }) => checker))];
}

/** A member comes to own the partition; the index of its holding. */
function own(
  group: GroupHistory,
  member: number,
  generation: number,
  fromUs: number,
  toUs = FOREVER,
  askedUs = fromUs - 5,
): number {
  group.holdings.push({ member, partition: 0, fromUs, askedUs, toUs });
  group.assignments.push({ member, instanceId: null, generation, atUs: fromUs, partitions: [0] });
  return group.holdings.length - 1;
}

function hand(group: GroupHistory, holding: number, offsets: readonly number[], atUs: number): void {
  for (const offset of offsets) addDelivery(group, { holding, partition: 0, offset, atUs });
}

function commit(group: GroupHistory, offset: number, sentUs: number, changes: Partial<OffsetCommit> = {}): void {
  const common = { member: 1, generation: 1, partition: 0, isRepeated: false } as const;
  const times = { sentUs, lastSentUs: changes.sentUs ?? sentUs, doneUs: sentUs + 10 };
  group.commits.push({ ...common, offset, ...times, outcome: 'acknowledged', ...changes });
}

function look(group: GroupHistory, offset: number, askedUs: number): void {
  group.lookups.push({ partition: 0, offset, askedUs, doneUs: askedUs + 10 });
}

/** A member reads half, commits, and gives way to another that reads the rest. */
function sound(kind: GroupHistory['kind'] = 'classic'): { history: History; group: GroupHistory } {
  const { history, group } = scene(kind);
  hand(group, own(group, 1, 1, 100, 200), [0, 1, 2], 110);
  commit(group, 3, 120);
  look(group, 3, 140);
  hand(group, own(group, 2, 2, 210), [3, 4, 5], 220);
  commit(group, 6, 230, { member: 2, generation: 2 });
  look(group, 6, 250);
  return { history, group };
}

describe('a sound history', () => {
  it.each(['classic', 'consumer', 'both'] as const)('is found sound: %s', (protocol) => {
    const { history, group } = sound(protocol);
    Object.assign(group, { calmUs: 300, calmMembers: 1, settledUs: 400 });
    expect(judge(history)).toEqual({ violations: [], excused: [] });
  });
});

describe('one owner', () => {
  it('in a generation, but that a static member may take its own place again', () => {
    const { history, group } = sound();
    const again = { generation: 2, partitions: [0] };
    group.assignments.push({ ...again, member: 2, instanceId: null, atUs: 240 });
    expect(found(history)).toEqual([]);
    group.assignments.push({ ...again, generation: 3, member: 3, instanceId: 'i', atUs: 250 });
    group.assignments.push({ ...again, generation: 3, member: 4, instanceId: 'i', atUs: 260 });
    expect(found(history)).toEqual([]);
    group.assignments.push({ ...again, generation: 3, member: 5, instanceId: 'j', atUs: 270 });
    expect(found(history)).toEqual(['two-owners']);
  });

  it('in a generation, unless the group has ended in between and counts anew', () => {
    const { history, group } = sound();
    const again = { generation: 5, partitions: [0], instanceId: null };
    group.assignments.push({ ...again, member: 3, atUs: 240 }, { ...again, member: 4, atUs: 300 });
    group.endsUs.push(270);
    expect(found(history)).toEqual([]);
    group.assignments.push({ ...again, member: 5, atUs: 310 });
    expect(found(history)).toEqual(['two-owners']);
  });

  it('at a time, as far as the coordinator has confirmed it', () => {
    const { history, group } = scene('consumer');
    own(group, 1, 1, 100, 500);
    own(group, 2, 2, 300);
    group.proofs.push({ member: 1, sentUs: 290 }, { member: 1, sentUs: 510 }, { member: 2, sentUs: 400 });
    expect(found(history)).toEqual([]);
    group.proofs.push({ member: 1, sentUs: 310 });
    expect(found(history)).toEqual(['two-owners']);
  });

  it('at a time, though whoever stood still hears late of what it was given', () => {
    const { history, group } = scene('consumer');
    own(group, 1, 2, 300);
    own(group, 2, 1, 400, 500, 250);
    group.proofs.push({ member: 2, sentUs: 250 }, { member: 1, sentUs: 410 });
    expect(found(history)).toEqual([]);
    group.proofs.push({ member: 2, sentUs: 450 });
    expect(found(history)).toEqual(['two-owners']);
  });
});

describe('two processes of one instance', () => {
  /** The second takes the place of the first in the same generation. */
  function twins(): { history: History; group: GroupHistory } {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100), [0, 1], 110);
    own(group, 2, 1, 200);
    for (const one of group.assignments) Object.assign(one, { instanceId: 'i' });
    group.proofs.push({ member: 1, sentUs: 190 }, { member: 2, sentUs: 250 });
    return { history, group };
  }

  it('own a partition one after the other', () => {
    const { history, group } = twins();
    expect(found(history)).toEqual([]);
    group.proofs.push({ member: 1, sentUs: 210 });
    expect(found(history)).toEqual(['two-owners']);
  });

  it('commit one after the other', () => {
    const { history, group } = twins();
    commit(group, 2, 190);
    commit(group, 2, 210, { outcome: 'unknown' });
    expect(found(history)).toEqual([]);
    commit(group, 2, 210);
    expect(found(history)).toEqual(['zombie-commit']);
    // The second asked before the first was told, and has only heard late of a place that it had lost.
    for (const one of group.assignments) Object.assign(one, { askedUs: one.atUs - 110 });
    expect(found(history)).toEqual([]);
  });
});

describe('a heartbeat', () => {
  it('of an earlier generation is not answered well', () => {
    const { history, group } = sound();
    group.proofs.push({ member: 1, generation: 1, sentUs: 205 }, { member: 2, generation: 2, sentUs: 260 });
    expect(found(history)).toEqual([]);
    group.proofs.push({ member: 1, generation: 1, sentUs: 220 });
    expect(found(history)).toEqual(['zombie-heard']);
  });
});

describe('a partition of a topic that was made anew', () => {
  it('may have another owner, as soon as somebody began to delete the topic', () => {
    const { history, group } = scene('consumer');
    history.partitions.push({ topic: 'coming', partition: 0, isSlot: true });
    for (const [member, fromUs] of [
      [1, 100],
      [2, 200],
    ] as const) {
      group.holdings.push({ member, partition: 1, fromUs, askedUs: fromUs - 5, toUs: FOREVER });
      group.proofs.push({ member, sentUs: 300 });
    }
    expect(found(history)).toEqual(['two-owners']);
    const deletion = { topic: 'coming', action: { kind: 'delete' }, doneUs: 180, answer: { error: 0 } } as const;
    history.operations.push({ ...deletion, startUs: 150, unsureAttempts: 0 });
    expect(found(history)).not.toContain('two-owners');
  });
});

describe('who is no member', () => {
  const OUTSIDE = { member: 9, generation: -1 };

  it.each(['classic', 'consumer', 'both'] as const)('commits nothing while there is one: %s', (kind) => {
    const { history, group } = sound(kind);
    commit(group, 1, 300, OUTSIDE);
    expect(found(history)).toEqual([]);
    // The member was there before, and is taken for the same one after.
    group.proofs.push({ member: 2, sentUs: 305 });
    expect(found(history)).toEqual([]);
    group.proofs.push({ member: 2, sentUs: 320 });
    expect(found(history)).toEqual(['outsider-commit']);
  });

  it('commits while the member that was there has heard that it is none', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100, 330), [0, 1], 110);
    commit(group, 1, 300, OUTSIDE);
    group.proofs.push({ member: 1, sentUs: 340 });
    expect(found(history)).toEqual([]);
  });

  it('commits as it likes where nobody ever is one', () => {
    const { history, group } = scene('simple');
    hand(group, own(group, 1, -1, 100), [0, 1], 110);
    commit(group, 1, 300, OUTSIDE);
    group.proofs.push({ member: 1, sentUs: 340 });
    expect(found(history)).toEqual([]);
  });
});

describe('commits', () => {
  it('of an earlier generation are refused', () => {
    const { history, group } = sound();
    commit(group, 6, 205);
    expect(found(history)).not.toContain('zombie-commit');
    commit(group, 6, 240, { outcome: 'unknown' });
    expect(found(history)).not.toContain('zombie-commit');
    commit(group, 6, 240);
    expect(found(history)).toContain('zombie-commit');
  });

  it('of a group that was gone and began to count anew are none of an earlier generation', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 2, 100, 150), [0, 1], 110);
    own(group, 1, 1, 200);
    commit(group, 2, 240);
    expect(found(history)).toEqual([]);
    own(group, 2, 2, 250);
    commit(group, 2, 260);
    expect(found(history)).toContain('zombie-commit');
  });

  it('of a group that began to count anew may come late', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 2, 100, 150), [0, 1], 110);
    commit(group, 1, 120, { generation: 2 });
    own(group, 1, 1, 200);
    commit(group, 2, 240, { outcome: 'unknown', doneUs: FOREVER });
    look(group, 2, 300);
    expect(found(history)).toEqual([]);
  });

  it('of one partition hide none of another', () => {
    const { history, group } = sound();
    for (let i = 0; i < 20; i++) commit(group, 6, 240);
    commit(group, 6, 240, { partition: 1 });
    const zombies = judge(history).violations.filter(({ checker }) => checker === 'zombie-commit');
    expect(new Set(zombies.map(({ partition }) => partition))).toEqual(new Set([0, 1]));
  });

  it("of what is another member's since are refused", () => {
    const { history, group } = scene('consumer');
    hand(group, own(group, 1, 1, 100, 150), [0, 1, 2], 110);
    own(group, 2, 2, 300);
    commit(group, 3, 290);
    expect(found(history)).toEqual([]);
    commit(group, 3, 310, { outcome: 'unknown' });
    expect(found(history)).toEqual([]);
    commit(group, 3, 310);
    expect(found(history)).toEqual(['zombie-commit']);
  });

  it('are not lost', () => {
    const { history, group } = sound();
    look(group, -1, 260);
    expect(found(history)).toEqual(['offset-regression']);
  });

  it('do not go back to what was there before', () => {
    const { history, group } = sound();
    look(group, 3, 260);
    expect(found(history)).toEqual(['offset-regression']);
    // What was committed is in another log than the records.
    history.damaged.add(0);
    expect(found(history)).toEqual(['offset-regression']);
  });

  it('do not go back behind what was found, though nobody heard that it was stored', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100), [0, 1, 2, 3], 110);
    commit(group, 2, 120);
    commit(group, 4, 140, { outcome: 'unknown', doneUs: FOREVER });
    look(group, 2, 200);
    look(group, 4, 220);
    expect(found(history)).toEqual([]);
    look(group, 2, 240);
    expect(found(history)).toEqual(['offset-regression']);
  });

  it('go back where a client says so, or an attempt comes late', () => {
    const { history, group } = sound();
    commit(group, 1, 260, { member: 2, generation: 2 });
    look(group, 1, 280);
    expect(found(history)).toEqual([]);
    commit(group, 6, 300, { member: 2, generation: 2 });
    look(group, 1, 320);
    expect(found(history)).toEqual(['offset-regression']);
    group.commits.push({ ...(group.commits[2] as OffsetCommit), isRepeated: true });
    expect(found(history)).toEqual([]);
    history.calmUs = 290;
    expect(found(history)).toEqual(['offset-regression']);
  });

  it.each(['classic', 'consumer'] as const)('come late only while nobody else has come: %s', (kind) => {
    const { history, group } = sound(kind);
    // An attempt of the first member of which nobody heard; the second has come to own the partition since.
    commit(group, 2, 130, { outcome: 'unknown', doneUs: FOREVER });
    look(group, 2, 205);
    expect(found(history)).toEqual([]);
    look(group, 2, 260);
    expect(found(history)).toEqual(['offset-regression']);
  });

  it('of who gives a partition up in good order are of all that it was handed', () => {
    const { history, group } = scene();
    const first = own(group, 1, 1, 100, 150);
    hand(group, first, [0, 1, 2], 110);
    commit(group, 2, 120);
    hand(group, own(group, 2, 2, 160), [2, 3], 170);
    // Who fails, or does not commit by itself, leaves some to be handed out once more.
    expect(found(history)).toEqual([]);
    Object.assign(group.holdings[first] ?? {}, { isCommitted: true });
    expect(found(history)).toEqual(['group-uncommitted']);
    commit(group, 3, 140, { outcome: 'unknown' });
    expect(found(history)).toEqual([]);
  });

  it('are of what somebody committed', () => {
    const { history, group } = sound();
    look(group, 5, 260);
    expect(found(history)).toEqual(['offset-regression']);
  });

  it('are of what was handed out before', () => {
    const { history, group } = scene();
    const holding = own(group, 1, 1, 100);
    hand(group, holding, [0, 1], 110);
    commit(group, 2, 120);
    expect(found(history)).toEqual([]);
    commit(group, 3, 130);
    hand(group, holding, [2], 140);
    expect(found(history)).toEqual(['group-skip']);
  });
});

describe('records', () => {
  it('are handed out without gaps', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100, 120), [0, 1, 3], 110);
    hand(group, own(group, 2, 2, 130), [2], 140);
    expect(found(history)).toEqual(['group-gap']);
  });

  it('are all handed to somebody, whatever is committed', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100, 120), [0, 1], 110);
    hand(group, own(group, 2, 2, 130), [3, 4], 140);
    expect(found(history)).toEqual(['group-skip']);
  });

  it('are handed out in order', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100), [0, 1, 1], 110);
    expect(found(history)).toEqual(['group-gap']);
  });

  it('are handed out to owners', () => {
    const { history, group } = scene();
    hand(group, own(group, 1, 1, 100, 105), [0], 110);
    expect(found(history)).toEqual(['group-late-delivery']);
    const other = scene();
    hand(other.group, -1, [0], 110);
    expect(found(other.history)).toEqual(['group-late-delivery']);
  });
});

describe('the end', () => {
  it('finds everybody settled in time', () => {
    const { history, group } = sound();
    Object.assign(group, { calmUs: 300, calmMembers: 1, settledUs: 300 + SETTLED_MAX_MS * 1000 });
    expect(found(history)).toEqual([]);
    group.settledUs += 1;
    expect(found(history)).toEqual(['group-unsettled']);
    group.settledUs = -1;
    expect(found(history)).toEqual(['group-unsettled']);
  });

  it('takes a bounded number of generations', () => {
    const { history, group } = sound();
    Object.assign(group, { calmUs: 300, calmMembers: 1, settledUs: 400 });
    for (let more = 0; more < 6; more++) own(group, 2, 3 + more, 310 + more);
    expect(found(history)).toEqual([]);
    own(group, 2, 9, 330);
    expect(found(history)).toEqual(['group-restless']);
  });
});
