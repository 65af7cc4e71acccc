/**
 * Classic groups under whatever clients and time may do to them. After every call the state is checked and the replay
 * of the log is the live state (`coordinator.ts`); in every generation a partition has one owner.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Crowd, checkOffsets, createCrowd, type Happening, happen, settleCrowd } from './classic-crowd.ts';
import { advance } from './coordinator.ts';

const who = fc.nat(3);
const protocols = fc.constantFrom(['range', 'sticky'], ['sticky', 'range'], ['range'], ['sticky']);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('step' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('rejoin', 'leave', 'zombie', 'commit', 'operator'), who }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), who, keepsId: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      who,
      topic: fc.constantFrom('orders', 'payments'),
      protocols,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), timeMs: fc.integer({ min: 0, max: 4000 }) }),
  },
  { weight: 8, arbitrary: fc.constant({ kind: 'round' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'failOver' as const }) },
);

const story = fc.array(happening, { maxLength: 120, size: 'max' });

function play(happenings: readonly Happening[]): Crowd {
  const crowd = createCrowd();
  for (const one of happenings) {
    happen(crowd, one);
    checkOffsets(crowd);
  }
  return crowd;
}

describe('a classic group', () => {
  it('settles once nothing goes wrong any more, with every partition once', () => {
    fc.assert(
      fc.property(story, (happenings) => {
        const crowd = play(happenings);
        // Only a common protocol lets all be in one group.
        for (const client of crowd.clients) client.protocols = ['range', 'sticky'];
        settleCrowd(crowd);
        checkOffsets(crowd);
      }),
      { numRuns: 100 },
    );
  });

  it('lets nobody wait for ever, though all fall silent', () => {
    fc.assert(
      fc.property(story, (happenings) => {
        const { coordinator } = play(happenings);
        // Longer than a new member is waited for, and a rebalance after that.
        advance(coordinator, 5 * 60_000 + 30_000);
        for (const { response } of coordinator.asked.values()) expect(response).not.toBeNull();
        for (const group of coordinator.state.groups.values()) {
          if (group.kind === 'classic') expect([group.state, group.members.size]).toEqual(['Empty', 0]);
        }
      }),
      { numRuns: 100 },
    );
  });
});
