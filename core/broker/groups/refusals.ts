/**
 * What a coordinator answers when it is none, or cannot answer now: an error in the shape of each API. Which errors
 * clients hear for those of the log is Kafka's choice. Pure, no state.
 */
import type { GroupAnswerBodies } from '../../group/shapes.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import { NO_OPERATIONS } from '../api/03-metadata.ts';
import type { AnswerBody, ClientCall } from './state.ts';

/** The body that says `errorCode` to a call. */
export function refusalOf(call: ClientCall, errorCode: ErrorCode): AnswerBody {
  switch (call.kind) {
    case 'joinGroup':
      return refusedJoin(call.body.memberId, errorCode);
    case 'syncGroup':
      return { throttleTimeMs: 0, errorCode, protocolType: null, protocolName: null, assignment: new Uint8Array(0) };
    case 'heartbeat':
      return { throttleTimeMs: 0, errorCode };
    case 'leaveGroup':
      return { throttleTimeMs: 0, errorCode, members: [] };
    case 'listGroups':
      return { throttleTimeMs: 0, errorCode, groups: [] };
    case 'offsetDelete':
      return { throttleTimeMs: 0, errorCode, topics: [] };
    case 'deleteGroup':
      return { groupId: call.body.groupId, errorCode, errorMessage: null };
    case 'offsetFetch':
      return { groupId: call.body.groupId, topics: [], errorCode };
    case 'offsetCommit':
      return refusedCommit(call.body, errorCode);
    case 'describeGroup':
      return refusedDescription(call.body.groupId, errorCode);
    case 'consumerGroupHeartbeat':
      return refusedHeartbeat(errorCode, null);
    case 'consumerGroupDescribe':
      return refusedConsumerDescription(call.body.groupId, errorCode, null);
  }
}

function refusedJoin(memberId: string, errorCode: ErrorCode): GroupAnswerBodies['joinGroup'] {
  return {
    throttleTimeMs: 0,
    errorCode,
    generationId: -1,
    protocolType: null,
    protocolName: null,
    leader: '',
    skipAssignment: false,
    memberId,
    members: [],
  };
}

function refusedCommit(
  { topics }: Extract<ClientCall, { kind: 'offsetCommit' }>['body'],
  errorCode: ErrorCode,
): GroupAnswerBodies['offsetCommit'] {
  return {
    throttleTimeMs: 0,
    topics: topics.map(({ name, topicId, partitions }) => ({
      name,
      topicId,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
    })),
  };
}

function refusedDescription(groupId: string, errorCode: ErrorCode): GroupAnswerBodies['describeGroup'] {
  return {
    errorCode,
    errorMessage: null,
    groupId,
    groupState: '',
    protocolType: '',
    protocolData: '',
    members: [],
    authorizedOperations: NO_OPERATIONS,
  };
}

/** The answer to a heartbeat of the consumer protocol that is refused. */
export function refusedHeartbeat(
  errorCode: ErrorCode,
  errorMessage: string | null,
): GroupAnswerBodies['consumerGroupHeartbeat'] {
  return {
    throttleTimeMs: 0,
    errorCode,
    errorMessage,
    memberId: null,
    memberEpoch: 0,
    heartbeatIntervalMs: 0,
    assignment: null,
  };
}

/** A consumer group that cannot be described. */
export function refusedConsumerDescription(
  groupId: string,
  errorCode: ErrorCode,
  errorMessage: string | null,
): GroupAnswerBodies['consumerGroupDescribe'] {
  return {
    errorCode,
    errorMessage,
    groupId,
    groupState: '',
    groupEpoch: 0,
    assignmentEpoch: 0,
    assignorName: '',
    members: [],
    authorizedOperations: NO_OPERATIONS,
  };
}
