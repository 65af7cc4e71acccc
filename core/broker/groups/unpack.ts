/**
 * Takes in what was read of a log of groups, so many records at a time: batch by batch, record by record, without
 * making anything for a record that is a committed offset. Control batches say nothing of groups. What lies in a batch
 * that is compressed is inflated as a whole, and then taken in as the others. Malformed bytes raise ProtocolError.
 */
import type { Place } from '../../coordination/machine.ts';
import { isOffsetKey, loadOffset } from '../../group/offset-load.ts';
import type { GroupState } from '../../group/state.ts';
import { joinParts } from '../../lib/bytes.ts';
import { Reader } from '../../lib/cursor.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import * as batch from '../../protocol/batch.ts';
import type { Codecs } from '../../protocol/compression.ts';
import type { KeyedBytes } from '../../protocol/group-records.ts';
import { plainRecords } from '../../protocol/records.ts';

/** Whole batches, and how far they were taken in. */
export interface Portion {
  readonly bytes: Uint8Array;
  /** Where the batch at hand begins. */
  at: number;
  /** The records of the batch at hand, which is not done; null: none was begun. */
  records: Records | null;
}

interface Records {
  readonly bytes: Uint8Array;
  readonly end: number;
  position: number;
  left: number;
}

/** Who takes records in. */
export interface Taker {
  readonly state: GroupState;
  /** A record that is no committed offset; its bytes are its own. */
  readonly other: (entry: KeyedBytes, place: Place) => void;
}

/** What reads gave, to be taken in from the start. */
export function portionOf(parts: readonly Uint8Array[]): Portion {
  return { bytes: joinParts(parts), at: 0, records: null };
}

/** How far it went. `place`: of the last batch that is done; null for none. */
export interface Taken {
  /** Records. */
  readonly count: number;
  readonly place: Place | null;
}

/** Takes in `countMax` records, each batch counting as one more. Done when `portion.at` is the end of its bytes. */
export function takeIn(portion: Portion, codecs: Codecs, countMax: number, taker: Taker): Taken {
  const { bytes } = portion;
  const view = batch.dataViewOf(bytes);
  let count = 0;
  let batches = 0;
  let done = -1;
  while (count + batches < countMax && portion.at < bytes.length) {
    const { at } = portion;
    const end = batch.batchEnd(view, at, bytes.length);
    if (end < 0 || batch.magic(view, at) !== batch.MAGIC) {
      throw new ProtocolError('badLength', 'the bytes are not whole batches of the current format');
    }
    if (!batch.isControl(view, at)) {
      portion.records ??= recordsOf(portion, view, end, codecs);
      const { records } = portion;
      const before = records.left;
      takeRecords(records, view, at, countMax - count - batches, taker);
      count += before - records.left;
      if (records.left > 0) break;
      portion.records = null;
    }
    batches += 1;
    done = at;
    portion.at = end;
  }
  return { count, place: done < 0 ? null : placeOf(view, done) };
}

function placeOf(view: DataView, at: number): Place {
  return {
    baseOffset: batch.baseOffset(view, at),
    nextOffset: batch.nextOffset(view, at),
    leaderEpoch: batch.leaderEpoch(view, at),
    timestampMs: batch.maxTimestamp(view, at),
  };
}

function recordsOf({ bytes, at }: Portion, view: DataView, end: number, codecs: Codecs): Records {
  const left = batch.recordsCount(view, at);
  if (batch.codecId(view, at) === 0) return { bytes, end, position: at + batch.BATCH_HEADER_BYTES, left };
  const plain = plainRecords(bytes.subarray(at, end), codecs);
  return { bytes: plain, end: plain.length, position: 0, left };
}

/** Takes in records of one batch, at most `countMax`. */
function takeRecords(records: Records, view: DataView, at: number, countMax: number, taker: Taker): void {
  const { bytes, end } = records;
  const reader = new Reader(bytes, records.position, end);
  const value = new Reader(bytes, 0, 0);
  for (let count = 0; count < countMax && records.left > 0; count++) {
    reader.end = end;
    const sizeBytes = reader.varint();
    if (sizeBytes < 0 || sizeBytes > reader.left()) {
      throw new ProtocolError('badLength', 'a record is longer than its batch');
    }
    const next = reader.position + sizeBytes;
    reader.end = next;
    reader.int8();
    reader.varlong();
    const offsetDelta = reader.varint();
    const keyBytes = reader.varint();
    const keyAt = reader.position;
    if (keyBytes > 0) reader.skip(keyBytes);
    const valueBytes = reader.varint();
    value.position = reader.position;
    if (valueBytes > 0) reader.skip(valueBytes);
    value.end = reader.position;
    if (isOffsetKey(bytes, keyAt, keyBytes)) {
      reader.position = keyAt;
      reader.end = keyAt + keyBytes;
      loadOffset(taker.state, reader, valueBytes < 0 ? null : value);
    } else if (keyBytes >= 0) {
      const entry = {
        key: bytes.slice(keyAt, keyAt + keyBytes),
        value: valueBytes < 0 ? null : bytes.slice(value.position, value.end),
      };
      const offset = batch.baseOffset(view, at) + offsetDelta;
      taker.other(entry, { ...placeOf(view, at), baseOffset: offset, nextOffset: offset + 1 });
    }
    reader.position = next;
    records.left -= 1;
  }
  records.position = reader.position;
  if (records.left === 0 && records.position !== end) {
    throw new ProtocolError('leftover', 'bytes remain after the last record of a batch');
  }
}
