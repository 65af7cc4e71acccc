/** The logs of the toy cluster, and Kafka's rules for sequence numbers. */
import { crc32c } from '../../core/lib/crc32c.ts';
import * as batch from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';

/** Compression for the toy and its clients. */
export const codecs = realCodecs();

export interface Stored {
  readonly bytes: Uint8Array;
  readonly baseOffset: number;
  readonly count: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly sequence: number;
  readonly leaderEpoch: number;
}

export interface ToyPartition {
  leader: number;
  leaderEpoch: number;
  startOffset: number;
  log: Stored[];
  /** What producers are known; a test may clear it. */
  producers: Map<number, { epoch: number; last: Stored[] }>;
}

export function endOf(partition: ToyPartition): number {
  const last = partition.log.at(-1);
  return last === undefined ? partition.startOffset : last.baseOffset + last.count;
}

/** Kafka's rules: the last five batches of a producer are known, a gap is refused, any first number is taken. */
export function append(partition: ToyPartition, bytes: Uint8Array): { errorCode: number; baseOffset: number } {
  const error = batch.validateBatch(bytes, 'client', crc32c);
  if (error !== null) return { errorCode: error, baseOffset: -1 };
  const view = batch.dataViewOf(bytes);
  const stored: Stored = {
    bytes: join(batch.appendParts(bytes, endOf(partition), partition.leaderEpoch)),
    baseOffset: endOf(partition),
    count: batch.recordsCount(view, 0),
    producerId: batch.producerId(view, 0),
    producerEpoch: batch.producerEpoch(view, 0),
    sequence: batch.baseSequence(view, 0),
    leaderEpoch: partition.leaderEpoch,
  };
  if (stored.producerId >= 0) {
    const known = partition.producers.get(stored.producerId);
    if (known !== undefined && stored.producerEpoch < known.epoch) {
      return { errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, baseOffset: -1 };
    }
    if (known !== undefined && stored.producerEpoch === known.epoch) {
      const twin = known.last.find((item) => item.sequence === stored.sequence && item.count === stored.count);
      if (twin !== undefined) return { errorCode: 0, baseOffset: twin.baseOffset };
      const last = known.last.at(-1);
      if (last !== undefined && stored.sequence !== last.sequence + last.count) {
        return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 };
      }
      known.last = [...known.last, stored].slice(-5);
    } else {
      if (known !== undefined && stored.sequence !== 0) {
        return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 };
      }
      partition.producers.set(stored.producerId, { epoch: stored.producerEpoch, last: [stored] });
    }
  }
  partition.log.push(stored);
  return { errorCode: 0, baseOffset: stored.baseOffset };
}

/** All parts in one buffer. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The values in a partition's log, as text, in order. */
export function valuesOf(partition: ToyPartition): string[] {
  const decoder = new TextDecoder();
  return partition.log.flatMap(({ bytes }) =>
    readRecords(bytes, codecs).map(({ value }) => (value === null ? '' : decoder.decode(value))),
  );
}
