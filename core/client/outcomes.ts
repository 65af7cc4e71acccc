/**
 * What the errors of brokers mean to a client: was it written, is the leader another one, is the producer id of use.
 *
 * Sorted by what a broker can know when it gives them; where it cannot know, the answer is the careful one. No state.
 */
import { ErrorCode } from '../protocol/errors.ts';

/** Errors that brokers give before they append, and never after. */
const NOT_WRITTEN: ReadonlySet<number> = new Set([
  ErrorCode.CORRUPT_MESSAGE,
  ErrorCode.MESSAGE_TOO_LARGE,
  ErrorCode.RECORD_LIST_TOO_LARGE,
  ErrorCode.INVALID_TOPIC_EXCEPTION,
  ErrorCode.NOT_ENOUGH_REPLICAS,
  ErrorCode.INVALID_REQUIRED_ACKS,
  ErrorCode.TOPIC_AUTHORIZATION_FAILED,
  ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
  ErrorCode.INVALID_TIMESTAMP,
  ErrorCode.UNSUPPORTED_VERSION,
  ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
  ErrorCode.POLICY_VIOLATION,
  ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
  ErrorCode.INVALID_PRODUCER_EPOCH,
  ErrorCode.INVALID_TXN_STATE,
  ErrorCode.INVALID_PRODUCER_ID_MAPPING,
  ErrorCode.UNKNOWN_PRODUCER_ID,
  ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
  ErrorCode.INVALID_RECORD,
  ErrorCode.UNKNOWN_TOPIC_ID,
]);

/** Errors that say, or may mean, that another broker is to be asked. */
const LEADER_ERRORS: ReadonlySet<number> = new Set([
  ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
  ErrorCode.LEADER_NOT_AVAILABLE,
  ErrorCode.NOT_LEADER_OR_FOLLOWER,
  ErrorCode.REPLICA_NOT_AVAILABLE,
  ErrorCode.NETWORK_EXCEPTION,
  ErrorCode.KAFKA_STORAGE_ERROR,
  ErrorCode.LISTENER_NOT_FOUND,
  ErrorCode.FENCED_LEADER_EPOCH,
  ErrorCode.UNKNOWN_LEADER_EPOCH,
  ErrorCode.UNKNOWN_TOPIC_ID,
  ErrorCode.INCONSISTENT_TOPIC_ID,
  ErrorCode.NOT_COORDINATOR,
]);

/** Whether an attempt that ended in this error is known not to be in the log. */
export function leavesUnwritten(error: number): boolean {
  return NOT_WRITTEN.has(error);
}

/** Whether what we know of the partition's leader is to be doubted. */
export function doubtsLeader(error: number): boolean {
  return LEADER_ERRORS.has(error);
}

/** Whether the broker's sequence numbers and ours differ. */
export function isSequenceError(error: number): boolean {
  return error === ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER || error === ErrorCode.UNKNOWN_PRODUCER_ID;
}

/** Whether the producer id itself is of no more use. */
export function isIdentityError(error: number): boolean {
  return (
    error === ErrorCode.INVALID_PRODUCER_EPOCH ||
    error === ErrorCode.PRODUCER_FENCED ||
    error === ErrorCode.INVALID_PRODUCER_ID_MAPPING
  );
}
