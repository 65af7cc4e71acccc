/**
 * Judging the records of a batch whose header cannot be believed, or whose topic asks for it.
 *
 * A producer's batch is trusted by its header. Its records are read where the header contradicts itself or says a time
 * that is out of range, where the topic is compacted (each record must have a key), and where it bounds how old they
 * may be. As in Apache Kafka the header's largest time is then set right by the records; what is wrong with single
 * records is said of each. Pure.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import type { Env } from '../lib/world.ts';
import * as batch from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { plainRecords } from '../protocol/records.ts';
import type { LogConfig, RecordFault } from './types.ts';

/** Records of one batch that are complained about; the answer names no more. */
export const FAULTS_MAX = 100;

const LONG_MAX = 9223372036854775807n;
const NO_TIMESTAMP = -1;

/** The batch to append, or why it is refused. */
export type Judged =
  | { readonly bytes: Uint8Array }
  | { readonly error: ErrorCode; readonly message: string; readonly faults: readonly RecordFault[] };

/** Whether the records of a batch must be read before it is appended. `view` is of one sound batch. */
export function isDoubtful(config: LogConfig, env: Env, view: DataView): boolean {
  if (config.isCompacted) return true;
  if (config.timestampType === 'LogAppendTime') return false;
  const first = batch.baseTimestamp(view, 0);
  const max = batch.maxTimestamp(view, 0);
  if (max < first || max < NO_TIMESTAMP || batch.isLogAppendTime(view, 0)) return true;
  return isAhead(config, env, max) || config.timestampBeforeMaxMs !== Infinity;
}

function isAhead(config: LogConfig, env: Env, timestampMs: number): boolean {
  return timestampMs !== NO_TIMESTAMP && timestampMs - env.wallMs > config.timestampAfterMaxMs;
}

function isBehind(config: LogConfig, env: Env, timestampMs: number): boolean {
  return timestampMs !== NO_TIMESTAMP && env.wallMs - timestampMs > config.timestampBeforeMaxMs;
}

/** Reads the records of a batch. `partition` is its name, for people. */
export function judgeRecords(config: LogConfig, env: Env, bytes: Uint8Array, partition: string): Judged {
  const view = batch.dataViewOf(bytes);
  const count = batch.recordsCount(view, 0);
  const baseMs = batch.baseTimestamp(view, 0);
  const isStamped = config.timestampType === 'LogAppendTime';
  const faults: RecordFault[] = [];
  let faultsCount = 0;
  let isUntimely = false;
  let maxMs = NO_TIMESTAMP;
  try {
    const reader = new Reader(plainRecords(bytes, env.codecs));
    for (let index = 0; index < count; index++) {
      const { timestampMs, hasKey } = readHead(reader, index, baseMs);
      maxMs = Math.max(maxMs, timestampMs);
      const isLate = !isStamped && (isAhead(config, env, timestampMs) || isBehind(config, env, timestampMs));
      const isKeyless = config.isCompacted && !hasKey;
      if (!isKeyless && !isLate) continue;
      isUntimely ||= !isKeyless;
      faultsCount += 1;
      if (faults.length >= FAULTS_MAX) continue;
      const batchIndexErrorMessage = isKeyless
        ? `Compacted topic cannot accept message without key in topic partition ${partition}`
        : timeMessage(config, env, timestampMs, index);
      faults.push({ batchIndex: index, batchIndexErrorMessage });
    }
    reader.finish();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { error: ErrorCode.INVALID_RECORD, message: `the records cannot be read: ${error.message}`, faults: [] };
  }
  if (faultsCount > 0) return refusal(isUntimely, faults, faultsCount);
  if (isStamped) return { bytes }; // The header is written anew anyway.
  const isRight = maxMs === batch.maxTimestamp(view, 0) && !batch.isLogAppendTime(view, 0);
  return { bytes: isRight ? bytes : batch.withMaxTimestamp(bytes, maxMs, env.crc32c) };
}

/** Reads past one record. */
function readHead(reader: Reader, index: number, baseMs: number): { timestampMs: number; hasKey: boolean } {
  const size = reader.varint();
  if (size < 0 || size > reader.left()) throw new ProtocolError('badLength', 'a record is longer than its batch');
  const end = reader.position + size;
  reader.int8();
  const timestampMs = baseMs + reader.varlong();
  if (reader.varint() !== index) throw new ProtocolError('badValue', 'the offsets of the records have gaps');
  const hasKey = reader.varint() >= 0;
  if (reader.position > end) throw new ProtocolError('badLength', 'a record is not as long as it says');
  reader.position = end;
  return { timestampMs, hasKey };
}

function timeMessage(config: LogConfig, env: Env, timestampMs: number, index: number): string {
  const bound = (limitMs: number): bigint => (limitMs === Infinity ? LONG_MAX : BigInt(limitMs));
  const lowest = BigInt(env.wallMs) - bound(config.timestampBeforeMaxMs);
  const highest = BigInt(env.wallMs) + bound(config.timestampAfterMaxMs);
  const range = `[${lowest}, ${highest}]`;
  const what = `Timestamp ${timestampMs} of message with offset ${index} is out of range`;
  return `${what}. The timestamp should be within ${range}`;
}

function refusal(isUntimely: boolean, faults: readonly RecordFault[], count: number): Judged {
  if (isUntimely) {
    const message = 'One or more records have been rejected due to invalid timestamp';
    return { error: ErrorCode.INVALID_TIMESTAMP, message, faults };
  }
  const shown = faults
    .slice(0, 3)
    .map((fault) => `RecordError(batchIndex=${fault.batchIndex}, message='${fault.batchIndexErrorMessage}')`);
  const head = `One or more records have been rejected due to ${count} record errors in total`;
  const message = `${head}, and only showing the first three errors at most: [${shown.join(', ')}]`;
  return { error: ErrorCode.INVALID_RECORD, message, faults };
}
