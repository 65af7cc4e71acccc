/**
 * Committed offsets as they lie in the log, straight into the state of a coordinator that loads.
 *
 * A log may hold a million of them, most of which later ones replace. The general way of a record (`records.ts`,
 * `replay.ts`) makes half a dozen objects for each; here one that replaces another is read in place and makes none.
 * Both ways come to the same, which `test/group/offset-load.test.ts` holds against any records. Malformed records
 * raise ProtocolError. No state of its own.
 */
import type { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { UUID_BYTES, uuidOf, ZERO_UUID } from '../lib/uuid.ts';
import { dropOffset, setOffset } from './replay.ts';
import { type CommittedOffset, committedOffset, type GroupState } from './state.ts';

/** The types of keys of committed offsets: that of old brokers, and that of today. */
const LEGACY_TYPE = 0;
const TYPE = 1;
/** The newest version of a value; it is the first one with tagged fields. */
const VERSION_MAX = 4;
/** The version whose offsets say when they expire, and the first one with leader epochs. */
const EXPIRING_VERSION = 1;
const LEADER_EPOCH_SINCE = 3;
/** The tag of the topic's id. */
const TOPIC_ID_TAG = 0;

/** An offset while nobody but the loader has it. */
type Loading = { -readonly [K in keyof CommittedOffset]: CommittedOffset[K] };

/** Whether a key of `bytes` at `at` is that of a committed offset. */
export function isOffsetKey(bytes: Uint8Array, at: number, sizeBytes: number): boolean {
  return sizeBytes >= 2 && bytes[at] === 0 && (bytes[at + 1] as number) <= TYPE;
}

/** Takes in one record: `key` and `value` begin and end with it; no value, that the offset is gone. */
export function loadOffset(state: GroupState, key: Reader, value: Reader | null): void {
  const type = key.int16();
  const groupId = key.string();
  const topic = key.string();
  const partition = key.int32();
  key.finish();
  if (value === null) {
    dropOffset(state, groupId, topic, partition);
    return;
  }
  const known = committedOffset(state, groupId, topic, partition);
  if (known !== undefined) {
    readValue(value, type, known as Loading);
    return;
  }
  const offset = blank();
  readValue(value, type, offset);
  setOffset(state, groupId, topic, partition, offset);
}

function blank(): Loading {
  return {
    offset: 0,
    leaderEpoch: -1,
    metadata: '',
    commitTimestampMs: 0,
    expireTimestampMs: -1,
    topicId: ZERO_UUID,
  };
}

function readValue(reader: Reader, type: number, into: Loading): void {
  const version = reader.int16();
  if (version < 0 || version > (type === LEGACY_TYPE ? 0 : VERSION_MAX)) {
    throw new ProtocolError('unsupported', `there is no version ${version} of a committed offset`);
  }
  into.offset = reader.int64();
  into.leaderEpoch = version >= LEADER_EPOCH_SINCE ? reader.int32() : -1;
  into.metadata = version === VERSION_MAX ? reader.compactString() : reader.string();
  into.commitTimestampMs = reader.timestamp();
  into.expireTimestampMs = version === EXPIRING_VERSION ? reader.timestamp() : -1;
  into.topicId = ZERO_UUID;
  if (version === VERSION_MAX) readTags(reader, into);
  reader.finish();
}

function readTags(reader: Reader, into: Loading): void {
  for (let left = reader.tagCount(); left > 0; left--) {
    const tag = reader.unsignedVarint();
    const sizeBytes = reader.unsignedVarint();
    const at = reader.position;
    reader.skip(sizeBytes);
    if (tag !== TOPIC_ID_TAG) continue;
    if (sizeBytes !== UUID_BYTES) throw new ProtocolError('badLength', 'the id of a topic is not as long as a uuid');
    into.topicId = uuidOf(reader.bytes, at);
  }
}
