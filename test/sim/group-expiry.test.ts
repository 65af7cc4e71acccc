/** Who watches what coordinators forget knows what was due, and what was not. */
import { describe, expect, test } from 'vitest';
import type { Node } from '../../core/broker/node.ts';
import { createGroupHistory } from '../../core/verify/group-history.ts';
import { createHistory, type History } from '../../core/verify/history.ts';
import type { Actor } from '../../runtime-sim/actor.ts';
import { TOPIC } from '../../runtime-sim/cast/casting.ts';
import { createClock } from '../../runtime-sim/clock.ts';
import type { Plan } from '../../runtime-sim/scenario.ts';
import { createExpiryNotes, watchExpiry } from '../../runtime-sim/watch/group-expiry.ts';

const MINUTE_US = 60_000_000;

/** A coordinator of a classic group with one offset, of which this says after each step who is in it. */
class Stage {
  readonly history: History = createHistory([{ topic: TOPIC, partition: 0 }]);
  readonly group = createGroupHistory('g', 'classic');
  private readonly offsets = new Map([['g', new Map([[TOPIC, new Map([[0, {}]])]])]]);
  /** What its generation reads; of one that gathers its first members nothing is known. */
  read = new Set([TOPIC]);
  private readonly groups = new Map<string, object>();
  private readonly notes;
  private readonly node: Node;

  constructor(minutes: number) {
    this.history.groups.push(this.group);
    this.notes = createExpiryNotes({ settings: [['offsets.retention.minutes', minutes]] } as unknown as Plan);
    const coordinator = { state: { groups: this.groups, offsets: this.offsets } };
    this.node = { groups: { hosts: new Set([{ stage: 'active', coordinator }]) } } as unknown as Node;
  }

  /** So many members are in the group at a time; null: there is none any more. */
  see(members: number | null, atUs: number): this {
    const list = new Map(Array.from({ length: members ?? 0 }, (_, at) => [String(at), {}]));
    if (members === null) this.groups.delete('g');
    else this.groups.set('g', { kind: 'classic', members: list, subscribedTopics: this.read });
    watchExpiry(this.notes, this.history, { clock: createClock() } as Actor, this.node, atUs);
    return this;
  }

  /** The offset goes in the next step. */
  forget(): this {
    this.offsets.delete('g');
    return this;
  }

  get found(): string[] {
    return this.history.complaints.map(({ checker }) => checker);
  }
}

describe('an offset', () => {
  test('goes when its group has been empty for its time, and that is told', () => {
    const stage = new Stage(1).see(1, 100).see(0, 200);
    stage.forget().see(0, 200 + MINUTE_US);
    expect(stage.found).toEqual([]);
    expect(stage.group.expirations).toEqual([{ partition: 0, atUs: 200 + MINUTE_US }]);
    expect(stage.see(null, 300 + MINUTE_US).group.endsUs).toEqual([300 + MINUTE_US]);
  });

  test('does not go before', () => {
    const stage = new Stage(1).see(1, 100).see(0, 50 * MINUTE_US);
    expect(stage.forget().see(0, 50 * MINUTE_US + 1_000).found).toEqual(['expired-early']);
  });

  test('does not go while somebody is there', () => {
    const stage = new Stage(1).see(0, 100).see(1, 3 * MINUTE_US);
    expect(stage.forget().see(1, 4 * MINUTE_US).found).toEqual(['expired-early']);
  });

  test('goes when somebody asks for that, but not while anybody is there', () => {
    const asked = { member: 9, generation: -1, partition: 0, offset: -1, sentUs: 150, lastSentUs: 150 } as const;
    const deletion = { ...asked, doneUs: Number.POSITIVE_INFINITY, isRepeated: false, outcome: 'unknown' } as const;
    const empty = new Stage(10_080).see(0, 100);
    empty.group.commits.push({ ...deletion });
    expect(empty.forget().see(null, 200).found).toEqual([]);
    const used = new Stage(10_080).see(1, 100);
    used.group.commits.push({ ...deletion });
    expect(used.forget().see(null, 200).found).toEqual(['deleted-in-use']);
    const gathering = new Stage(10_080);
    gathering.read.clear();
    gathering.see(1, 100).group.commits.push({ ...deletion });
    expect(gathering.forget().see(1, 200).found).toEqual([]);
  });

  test('does not go where offsets are kept for longer than any date is wrong', () => {
    const stage = new Stage(10_080).see(0, 100);
    expect(stage.forget().see(0, 3 * MINUTE_US).found).toEqual(['expired-early']);
  });
});
