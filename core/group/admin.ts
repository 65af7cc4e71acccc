/**
 * DescribeGroups, ListGroups and DeleteGroups: what people and their tools ask about groups.
 *
 * A classic group shows what its members can do only while it is stable, as in Kafka; a group that is not there is
 * described as dead. Nobody deletes a group that has members.
 */
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/consumer-protocol.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { ClassicMember } from './classic-group.ts';
import { metadataOf, NO_BYTES } from './classic-group.ts';
import { consumerState } from './consumer.ts';
import { groupTombstones } from './offset-expiry.ts';
import { tombstone } from './records.ts';
import type { GroupAnswerBodies, GroupCallOf, GroupWork } from './shapes.ts';
import { type Group, type GroupState, groupOf } from './state.ts';

/** From this version on a group that is not there is an error. */
const NOT_FOUND_SINCE = 6;
/** Nobody asked which operations are allowed. */
const NOT_ASKED = -2147483648;

/** Takes a DescribeGroups of one group. */
export function describeGroup(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  call: GroupCallOf<'describeGroup'>,
): void {
  const { groupId } = call.body;
  const group = groupOf(state, groupId);
  const head = { errorMessage: null, groupId, authorizedOperations: NOT_ASKED };
  if (group?.kind !== 'classic') {
    const isError = call.apiVersion >= NOT_FOUND_SINCE;
    const why = group === undefined ? `Group ${groupId} not found.` : `Group ${groupId} is not a classic group.`;
    const found = {
      ...head,
      errorCode: isError ? ErrorCode.GROUP_ID_NOT_FOUND : ErrorCode.NONE,
      errorMessage: isError ? why : null,
      groupState: 'Dead',
      protocolType: '',
      protocolData: '',
      members: [],
    };
    work.answers.push({ waiter, body: found });
    return;
  }
  const isStable = group.state === 'Stable';
  const members = [...group.members.values()].map((member) =>
    describeMember(member, isStable ? metadataOf(member, group.protocolName) : NO_BYTES),
  );
  const body: GroupAnswerBodies['describeGroup'] = {
    ...head,
    errorCode: ErrorCode.NONE,
    groupState: group.state,
    protocolType: group.protocolType,
    protocolData: isStable ? (group.protocolName ?? '') : '',
    members,
  };
  work.answers.push({ waiter, body });
}

function describeMember(
  { memberId, groupInstanceId, clientId, clientHost, assignment }: ClassicMember,
  memberMetadata: Uint8Array,
): GroupAnswerBodies['describeGroup']['members'][number] {
  return { memberId, groupInstanceId, clientId, clientHost, memberMetadata, memberAssignment: assignment };
}

/** Takes a ListGroups: the groups of this partition that pass both filters; an empty filter lets all pass. */
export function listGroups(state: GroupState, work: GroupWork, waiter: number, call: GroupCallOf<'listGroups'>): void {
  const states = new Set(call.body.statesFilter.map((one) => one.trim().toLowerCase()));
  const types = new Set(call.body.typesFilter.map((one) => one.toLowerCase()));
  const groups: GroupAnswerBodies['listGroups']['groups'] = [];
  for (const group of state.groups.values()) {
    const groupState = stateName(group);
    if (states.size > 0 && !states.has(groupState.toLowerCase())) continue;
    if (types.size > 0 && !types.has(group.kind)) continue;
    const protocolType = group.kind === 'classic' ? group.protocolType : CONSUMER_PROTOCOL_TYPE;
    groups.push({ groupId: group.groupId, protocolType, groupState, groupType: group.kind });
  }
  work.answers.push({ waiter, body: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, groups } });
}

/** The state of a group of either protocol, as it is called to clients. */
export function stateName(group: Group): string {
  return group.kind === 'classic' ? group.state : consumerState(group);
}

/** Takes a DeleteGroups of one group: its offsets go, then the group. */
export function deleteGroup(
  state: GroupState,
  work: GroupWork,
  waiter: number,
  call: GroupCallOf<'deleteGroup'>,
): void {
  const { groupId } = call.body;
  const group = groupOf(state, groupId);
  const answer = (errorCode: number): void => {
    work.answers.push({ waiter, body: { groupId, errorCode, errorMessage: null } });
  };
  if (group === undefined) {
    answer(ErrorCode.GROUP_ID_NOT_FOUND);
    return;
  }
  if (stateName(group) !== 'Empty') {
    answer(ErrorCode.NON_EMPTY_GROUP);
    return;
  }
  work.isAtomic = false;
  for (const [topic, partitions] of state.offsets.get(groupId) ?? []) {
    for (const partition of partitions.keys()) {
      work.records.push(tombstone('OffsetCommit', { group: groupId, topic, partition }));
    }
  }
  work.records.push(...groupTombstones(group));
  answer(ErrorCode.NONE);
}
