/** Clients of the classic protocol, for tests: what each sends, with as little said as may be. */
import { expect } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { concat } from '../log/world.ts';
import { type Asked, answered, ask, awaited, type Coordinator, send } from './coordinator.ts';

/** Text as bytes. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Bytes as text. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** A subscription as Java's consumer begins it: version 1, topics, no user data. */
export function subscriptionOf(topics: readonly string[]): Uint8Array {
  const head = new Uint8Array(6);
  new DataView(head.buffer).setUint16(0, 1);
  new DataView(head.buffer).setUint32(2, topics.length);
  const names = topics.flatMap((topic) => [new Uint8Array([0, topic.length]), bytesOf(topic)]);
  return concat([head, ...names, new Uint8Array([255, 255, 255, 255])]);
}

/** What a test says of a member that joins. */
export type Joining = Partial<RequestInputOf<11>> & { readonly version?: number; readonly clientId?: string };

/** JoinGroup of group 'g'; version 9 and the protocol 'range' if not said otherwise. */
export function join(coordinator: Coordinator, said: Joining = {}): Asked<11> {
  const { version = 9, clientId, ...body } = said;
  const request = {
    groupId: 'g',
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    memberId: '',
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata: subscriptionOf(['orders']) }],
    ...body,
  };
  return send(coordinator, 11, version, request, clientId);
}

/** Joins as a dynamic member does: is given an id, and comes again with it. The second JoinGroup may wait. */
export function enter(coordinator: Coordinator, said: Joining = {}): { id: string; joining: Asked<11> } {
  const first = answered(join(coordinator, said));
  expect(first.errorCode).toBe(ErrorCode.MEMBER_ID_REQUIRED);
  return { id: first.memberId, joining: join(coordinator, { ...said, memberId: first.memberId }) };
}

/** SyncGroup of group 'g' in a generation. */
export function sync(
  coordinator: Coordinator,
  generationId: number,
  memberId: string,
  assignments: readonly (readonly [memberId: string, assignment: string])[] = [],
  more: Partial<RequestInputOf<14>> = {},
): Asked<14> {
  return send(coordinator, 14, 5, {
    groupId: 'g',
    generationId,
    memberId,
    protocolType: 'consumer',
    protocolName: 'range',
    assignments: assignments.map(([id, text]) => ({ memberId: id, assignment: bytesOf(text) })),
    ...more,
  });
}

/** What a Heartbeat of group 'g' hears. */
export function beat(coordinator: Coordinator, generationId: number, memberId: string, instance?: string): number {
  const body = { groupId: 'g', generationId, memberId, groupInstanceId: instance ?? null };
  return ask(coordinator, 12, 4, body).errorCode;
}

/** LeaveGroup of group 'g'; the errors of its members. */
export function leave(
  coordinator: Coordinator,
  ...members: readonly { memberId: string; groupInstanceId?: string | null }[]
): number[] {
  const response = ask(coordinator, 13, 5, { groupId: 'g', memberId: '', members });
  expect(response.errorCode).toBe(ErrorCode.NONE);
  return response.members.map(({ errorCode }) => errorCode);
}

/** A stable group 'g' of so many dynamic members, the first of which leads; what each is assigned is 'a0', 'a1' … */
export function settle(
  coordinator: Coordinator,
  count: number,
  said: Joining = {},
): { ids: string[]; generation: number } {
  const entered = Array.from({ length: count }, () => enter(coordinator, said));
  for (const { joining } of entered) awaited(coordinator, joining);
  return share(
    coordinator,
    entered.map(({ joining }) => joining),
  );
}

/** All of these have joined one generation: the leader shares out, and everybody is answered. */
export function share(coordinator: Coordinator, joining: readonly Asked<11>[]): { ids: string[]; generation: number } {
  const responses = joining.map(answered);
  const ids = responses.map(({ memberId }) => memberId);
  const generation = responses[0]?.generationId ?? -1;
  for (const response of responses) expect(response).toMatchObject({ errorCode: 0, generationId: generation });
  const leader = responses.find(({ leader, memberId }) => leader === memberId) as ResponseOf<11>;
  const parts = ids.map((id, i): [string, string] => [id, `a${i}`]);
  const syncs = ids.map((id) => sync(coordinator, generation, id, id === leader.memberId ? parts : []));
  for (const [i, one] of syncs.entries()) {
    expect(answered(one)).toMatchObject({ errorCode: 0, protocolName: 'range', protocolType: 'consumer' });
    expect(textOf(answered(one).assignment)).toBe(`a${i}`);
  }
  return { ids, generation };
}

/** The state of group 'g' as DescribeGroups has it. */
export function stateOf(coordinator: Coordinator): string {
  return ask(coordinator, 15, 6, { groups: ['g'], includeAuthorizedOperations: false }).groups[0]?.groupState ?? '';
}

/** Commits an offset of a partition of 'orders'; what it hears. */
export function commit(
  coordinator: Coordinator,
  partition: number,
  offset: number,
  said: Partial<RequestInputOf<8>> & { readonly version?: number; readonly metadata?: string | null } = {},
): number {
  const { version = 9, metadata = null, ...body } = said;
  const response = ask(coordinator, 8, version, {
    groupId: 'g',
    memberId: '',
    topics: [
      {
        name: 'orders',
        topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
        partitions: [{ partitionIndex: partition, committedOffset: offset, committedMetadata: metadata }],
      },
    ],
    ...body,
  });
  return response.topics[0]?.partitions[0]?.errorCode ?? -1;
}

/** The committed offset of a partition of 'orders'; -1: none. */
export function committed(coordinator: Coordinator, partition: number): number {
  const group = {
    groupId: 'g',
    topics: [{ name: 'orders', topicId: 'AAAAAAAAAAAAAAAAAAAAAA', partitionIndexes: [partition] }],
  };
  const response = ask(coordinator, 9, 9, { groupId: '', topics: [], groups: [group] });
  return response.groups[0]?.topics[0]?.partitions[0]?.committedOffset ?? -2;
}
