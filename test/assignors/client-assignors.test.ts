/** What all assignors of clients keep to, and what range and round-robin do with racks, shares and turns. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAssignor } from '../../core/assignors/client-assignors.ts';
import { clientRange } from '../../core/assignors/client-range.ts';
import { clientRoundRobin } from '../../core/assignors/client-round-robin.ts';
import type { ClientAssignor } from '../../core/assignors/client-shapes.ts';
import { anyGroup, loadsOf, member, ownersOf } from './client-arbitrary.ts';

const NAMES = ['range', 'roundrobin', 'sticky', 'cooperative-sticky'];

function assignorOf(name: string): ClientAssignor {
  const assignor = clientAssignor(name);
  if (assignor === null) throw new Error(`no assignor is called ${name}`);
  return assignor;
}

describe.each(NAMES)('%s', (name) => {
  const assignor = assignorOf(name);

  it('is called what it says', () => {
    expect(assignor.name).toBe(name);
  });

  it('gives every partition that somebody wants to one member that wants it, and nothing else', () => {
    fc.assert(
      fc.property(anyGroup, ({ members, topics }) => {
        const assignment = assignor.assign(members, topics);
        expect([...assignment.keys()].sort()).toEqual(members.map(({ memberId }) => memberId).sort());
        const owners = ownersOf(assignment);
        for (const { topic, partitionsCount } of topics) {
          const takers = members.filter((one) => one.topics.includes(topic)).map(({ memberId }) => memberId);
          for (let partition = 0; partition < partitionsCount; partition++) {
            const given = owners.get(`${topic}-${partition}`) ?? [];
            expect(given.length).toBe(takers.length === 0 ? 0 : 1);
            expect(takers).toEqual(expect.arrayContaining(given));
            owners.delete(`${topic}-${partition}`);
          }
        }
        expect([...owners.keys()]).toEqual([]);
      }),
    );
  });

  it('does not mind the order of its input', () => {
    fc.assert(
      fc.property(anyGroup, ({ members, topics }) => {
        const one = assignor.assign(members, topics);
        const other = assignor.assign([...members].reverse(), [...topics].reverse());
        expect(new Map(other)).toEqual(new Map(one));
      }),
    );
  });
});

describe('range', () => {
  const two = [member('m0', { topics: ['a', 'b'] }), member('m1', { topics: ['a', 'b'] })];

  it('gives the first members of each topic the one partition more', () => {
    const topics = [
      { topic: 'a', partitionsCount: 3 },
      { topic: 'b', partitionsCount: 3 },
    ];
    const assignment = clientRange.assign(two, topics);
    expect(assignment.get('m0')).toEqual([
      { topic: 'a', partitions: [0, 1] },
      { topic: 'b', partitions: [0, 1] },
    ]);
    expect(assignment.get('m1')).toEqual([
      { topic: 'a', partitions: [2] },
      { topic: 'b', partitions: [2] },
    ]);
  });

  it('serves static members first, by instance id', () => {
    const members = [member('m0'), member('m1', { instanceId: 'z' }), member('m2', { instanceId: 'y' })];
    const assignment = clientRange.assign(members, [{ topic: 'a', partitionsCount: 4 }]);
    expect([...assignment.keys()]).toEqual(['m2', 'm1', 'm0']);
    expect([...loadsOf(assignment).values()]).toEqual([2, 1, 1]);
  });

  it('gives nobody less because of racks: shares of a topic differ by one at most', () => {
    fc.assert(
      fc.property(anyGroup, ({ members, topics }) => {
        for (const topic of topics) {
          const loads = loadsOf(clientRange.assign(members, [topic]));
          const counts = members
            .filter((one) => one.topics.includes(topic.topic))
            .map(({ memberId }) => loads.get(memberId) ?? 0);
          if (counts.length > 0) expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it('gives members what has a replica in their rack', () => {
    const members = [member('m0', { rack: 'r1' }), member('m1', { rack: 'r0' })];
    const racks = [['r0'], ['r0'], ['r1'], ['r1']];
    const assignment = clientRange.assign(members, [{ topic: 'a', partitionsCount: 4, racks }]);
    expect(assignment.get('m0')).toEqual([{ topic: 'a', partitions: [2, 3] }]);
    expect(assignment.get('m1')).toEqual([{ topic: 'a', partitions: [0, 1] }]);
  });

  it('keeps partitions of the same number of two topics together where racks of both allow it', () => {
    const members = two.map((one, index) => ({ ...one, rack: index === 0 ? 'r1' : 'r0' }));
    const racks = [['r0'], ['r1']];
    const topics = ['a', 'b'].map((topic) => ({ topic, partitionsCount: 2, racks }));
    const assignment = clientRange.assign(members, topics);
    expect(assignment.get('m0')).toEqual([
      { topic: 'a', partitions: [1] },
      { topic: 'b', partitions: [1] },
    ]);
  });

  it('does as without racks where every rack has everything, or nobody says where it stands', () => {
    const plain = clientRange.assign(two, [{ topic: 'a', partitionsCount: 4 }]);
    const racks = Array.from({ length: 4 }, () => ['r0', 'r1']);
    const placed = two.map((one) => ({ ...one, rack: 'r1' }));
    expect(clientRange.assign(placed, [{ topic: 'a', partitionsCount: 4, racks }])).toEqual(plain);
    const mixed = [['r0'], ['r1'], ['r0'], ['r1']];
    expect(clientRange.assign(two, [{ topic: 'a', partitionsCount: 4, racks: mixed }])).toEqual(plain);
  });
});

describe('roundrobin', () => {
  it('deals partitions across topics', () => {
    const members = ['m0', 'm1'].map((id) => member(id, { topics: ['a', 'b'] }));
    const topics = ['a', 'b'].map((topic) => ({ topic, partitionsCount: 3 }));
    expect(clientRoundRobin.assign(members, topics).get('m0')).toEqual([
      { topic: 'a', partitions: [0, 2] },
      { topic: 'b', partitions: [1] },
    ]);
  });

  it('passes over whoever does not subscribe to the topic', () => {
    const members = [member('m0'), member('m1', { topics: ['a', 'b'] }), member('m2', { topics: ['a', 'b', 'c'] })];
    const topics = ['a', 'b', 'c'].map((topic, index) => ({ topic, partitionsCount: index + 1 }));
    const assignment = clientRoundRobin.assign(members, topics);
    expect(assignment.get('m0')).toEqual([{ topic: 'a', partitions: [0] }]);
    expect(assignment.get('m1')).toEqual([{ topic: 'b', partitions: [0] }]);
    expect(assignment.get('m2')).toEqual([
      { topic: 'b', partitions: [1] },
      { topic: 'c', partitions: [0, 1, 2] },
    ]);
  });
});
