/** A classic member comes to a group of the other protocol that nobody is in any more. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { commit, committed, enter, join, share, stateOf } from './classic.ts';
import { answered, ask, awaited, createCoordinator, failOver } from './coordinator.ts';

/** A consumer group 'g' that was left by its only member, with an offset. */
function leftBehind() {
  const coordinator = createCoordinator();
  const beat = (memberEpoch: number) =>
    ask(coordinator, 68, 1, {
      groupId: 'g',
      memberId: 'AAAAAAAAAAAAAAAAAAAAAQ',
      memberEpoch,
      rebalanceTimeoutMs: 60_000,
      subscribedTopicNames: ['orders'],
      topicPartitions: [],
    });
  const { memberEpoch } = beat(0);
  const said = { memberId: 'AAAAAAAAAAAAAAAAAAAAAQ', generationIdOrMemberEpoch: memberEpoch };
  expect(commit(coordinator, 0, 7, said)).toBe(ErrorCode.NONE);
  expect(beat(-1).errorCode).toBe(ErrorCode.NONE);
  return coordinator;
}

const kinds = (coordinator: ReturnType<typeof leftBehind>) =>
  ask(coordinator, 16, 5, { statesFilter: [], typesFilter: [] }).groups.map(({ groupType }) => groupType);

describe('an empty consumer group', () => {
  it('becomes a classic one when a classic member asks for an id, and keeps its offsets', () => {
    const coordinator = leftBehind();
    expect(kinds(coordinator)).toEqual(['consumer']);
    const { joining } = enter(coordinator);
    expect(kinds(coordinator)).toEqual(['classic']);
    awaited(coordinator, joining);
    share(coordinator, [joining]);
    failOver(coordinator);
    expect([stateOf(coordinator), kinds(coordinator)]).toEqual(['Stable', ['classic']]);
    expect(committed(coordinator, 0)).toBe(7);
  });

  it('stays what it is for one that comes with an id that nobody gave', () => {
    const coordinator = leftBehind();
    expect(answered(join(coordinator, { memberId: 'm' })).errorCode).toBe(ErrorCode.UNKNOWN_MEMBER_ID);
    expect(kinds(coordinator)).toEqual(['consumer']);
  });

  it('becomes a classic one at once for a member of an old version, that need not come twice', () => {
    const coordinator = leftBehind();
    const joining = join(coordinator, { version: 2 });
    expect(joining.response).toBeNull();
    expect(awaited(coordinator, joining)).toMatchObject({ errorCode: 0, generationId: 1 });
  });
});
