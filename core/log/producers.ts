/**
 * Idempotent producers: what a log remembers of each, so that a retry lands once and a gap is refused (KIP-98,
 * KIP-360).
 *
 * An entry is never changed, only replaced: an append that fails puts the entry of before back. Entries include
 * batches that are not durable yet. Sequence numbers count records and wrap to 0 after 2^31 - 1. The rules are
 * those of Apache Kafka 4.4, with two holes closed that its rules leave (see `checkSequence` and `undoAppend`). A
 * crash loses the entries; they come back from the newest snapshot and the batches after it.
 */
import { baseOffset, baseSequence, lastOffset, lastSequence, maxTimestamp } from '../protocol/batch.ts';
import { ErrorCode } from '../protocol/errors.ts';

/** A batch that was appended. */
export interface ProducerBatch {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  /** Its largest timestamp, ms. */
  readonly timestampMs: number;
}

/** The batch that lies at `at` in the bytes of a log. */
export function producerBatchAt(view: DataView, at: number): ProducerBatch {
  return {
    firstSequence: baseSequence(view, at),
    lastSequence: lastSequence(view, at),
    baseOffset: baseOffset(view, at),
    lastOffset: lastOffset(view, at),
    timestampMs: maxTimestamp(view, at),
  };
}

/** What is known of one producer. */
export interface Producer {
  readonly epoch: number;
  /** Sequence of the last record; -1 when none of this epoch is known. */
  readonly lastSequence: number;
  /** The last batches, oldest first; at most BATCHES_KEPT_MAX. */
  readonly batches: readonly ProducerBatch[];
  /** So many records up to `lastSequence` are known to be in the log, batches that are kept no more included. */
  readonly knownRecords: number;
  /** `env.nowMs` of the last append; of the start for what was loaded. */
  readonly usedAtMs: number;
  /** Epoch of the coordinator that wrote the last marker, -1 for none: for transactions. */
  readonly coordinatorEpoch: number;
  /** First offset of the open transaction, -1 for none: for transactions. */
  readonly transactionFirstOffset: number;
  /** What was known before its first batch of this epoch, which may be cut off again; null for nothing. */
  readonly earlier: Producer | null;
}

/** Epochs of one producer that are remembered: a leader that is cut off takes batches of some that are never kept. */
export const EPOCHS_KEPT_MAX = 16;

/** Batches that are remembered of each producer: as many as a client may have in flight. */
export const BATCHES_KEPT_MAX = 5;
/**
 * Producers of one log that are remembered; beyond that the one that came first is forgotten. Their snapshot stays
 * below what a small file may hold (LOAD_BYTES_MAX).
 */
export const PRODUCERS_MAX = 50_000;

const SEQUENCES = 2147483648; // Sequence numbers are taken modulo this.

/** The verdict on a batch: to be appended, a duplicate of one that is in the log, or refused. */
export type SequenceCheck =
  | { readonly kind: 'append' }
  | { readonly kind: 'duplicate'; readonly batch: ProducerBatch }
  | { readonly kind: 'refuse'; readonly error: number; readonly message: string };

const APPEND: SequenceCheck = { kind: 'append' };

/** How many sequence numbers lie from `from` up to `to`, wrapping. */
function sequenceDistance(from: number, to: number): number {
  return to >= from ? to - from : to + SEQUENCES - from;
}

/**
 * Decides on the batch of a producer. One of which nothing is known may start anywhere, since its state may have
 * expired; a new epoch must start at 0. Kafka answers a duplicate that is older than the kept batches like a gap,
 * which makes its client write it again; where we know that it is in the log we say DUPLICATE_SEQUENCE_NUMBER, which
 * clients take for a success.
 */
export function checkSequence(
  known: Producer | undefined,
  epoch: number,
  firstSequence: number,
  lastSequence: number,
): SequenceCheck {
  if (known === undefined) return APPEND;
  if (epoch < known.epoch) {
    return refuse(ErrorCode.INVALID_PRODUCER_EPOCH, 'a later epoch of this producer has written here');
  }
  if (epoch > known.epoch) {
    if (firstSequence === 0) return APPEND;
    return refuse(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 'a new epoch of a producer starts at sequence 0');
  }
  for (const batch of known.batches) {
    if (batch.firstSequence === firstSequence && batch.lastSequence === lastSequence) {
      return { kind: 'duplicate', batch };
    }
  }
  const expected = known.lastSequence === SEQUENCES - 1 ? 0 : known.lastSequence + 1;
  if (firstSequence === expected) return APPEND;
  if (known.lastSequence >= 0) {
    const back = sequenceDistance(firstSequence, known.lastSequence) + 1;
    const isWithin = sequenceDistance(lastSequence, known.lastSequence) < back;
    if (back <= known.knownRecords && isWithin && !overlapsKept(known, back)) {
      return refuse(ErrorCode.DUPLICATE_SEQUENCE_NUMBER, 'these records are in the log, too long ago to say where');
    }
  }
  return refuse(
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    `sequence ${firstSequence} does not follow ${known.lastSequence}`,
  );
}

/** Whether a batch that begins `back` records before the end begins within the kept batches. */
function overlapsKept(known: Producer, back: number): boolean {
  const oldest = known.batches[0];
  return oldest === undefined || back <= sequenceDistance(oldest.firstSequence, known.lastSequence) + 1;
}

function refuse(error: number, message: string): SequenceCheck {
  return { kind: 'refuse', error, message };
}

/** The entry of a producer after `batch` was appended under `epoch`. */
export function afterAppend(known: Producer | undefined, epoch: number, batch: ProducerBatch, nowMs: number): Producer {
  const isSame = known !== undefined && known.epoch === epoch && known.batches.length > 0;
  const records = sequenceDistance(batch.firstSequence, batch.lastSequence) + 1;
  return {
    epoch,
    lastSequence: batch.lastSequence,
    batches: isSame ? [...known.batches.slice(1 - BATCHES_KEPT_MAX), batch] : [batch],
    knownRecords: isSame ? Math.min(known.knownRecords + records, SEQUENCES / 2) : records,
    usedAtMs: nowMs,
    coordinatorEpoch: known === undefined ? -1 : known.coordinatorEpoch,
    transactionFirstOffset: known === undefined ? -1 : known.transactionFirstOffset,
    earlier: earlierOf(known, epoch),
  };
}

function earlierOf(known: Producer | undefined, epoch: number): Producer | null {
  if (known === undefined) return null;
  return known.epoch === epoch ? known.earlier : withEpochs(known, EPOCHS_KEPT_MAX - 1);
}

/** The same with what is known of at most so many epochs. */
function withEpochs(producer: Producer, epochsMax: number): Producer {
  const { earlier } = producer;
  if (earlier === null) return producer;
  const kept = epochsMax <= 1 ? null : withEpochs(earlier, epochsMax - 1);
  return kept === earlier ? producer : { ...producer, earlier: kept };
}

/** The entry of a producer after a batch that is found in the log; the log is right, so nothing is refused. */
export function afterReplay(known: Producer | undefined, epoch: number, batch: ProducerBatch, nowMs: number): Producer {
  if (known !== undefined && known.epoch !== epoch) return afterAppend(known, epoch, batch, nowMs);
  // A gap means that the state had expired in between: what came before is forgotten, as it was then.
  const isNext = known !== undefined && sequenceDistance(known.lastSequence, batch.firstSequence) === 1;
  return afterAppend(isNext && known.lastSequence >= 0 ? known : undefined, epoch, batch, nowMs);
}

/** Puts `producer` into `producers`, forgetting the one that came first where there are too many. */
export function setProducer(producers: Map<number, Producer>, producerId: number, producer: Producer): void {
  if (producers.size >= PRODUCERS_MAX && !producers.has(producerId)) {
    for (const first of producers.keys()) {
      producers.delete(first);
      break;
    }
  }
  producers.set(producerId, producer);
}

/**
 * Takes an append back. A producer of which nothing was known before is not forgotten: what it has in flight
 * behind the failed batch would be taken for a producer whose state has expired, and land before the retry of the
 * failed one.
 */
export function undoAppend(
  producers: Map<number, Producer>,
  producerId: number,
  before: Producer | null,
  epoch: number,
  firstSequence: number,
): void {
  if (before !== null) {
    producers.set(producerId, before);
    return;
  }
  const now = producers.get(producerId);
  producers.set(producerId, {
    epoch,
    lastSequence: firstSequence === 0 ? -1 : firstSequence - 1,
    batches: [],
    knownRecords: 0,
    usedAtMs: now === undefined ? 0 : now.usedAtMs,
    coordinatorEpoch: -1,
    transactionFirstOffset: -1,
    earlier: null,
  });
}

/**
 * The log was cut and ends at `end`: forgets the batches that are gone. Where all that are kept of a producer are gone,
 * the sequence before them is taken for its last: a client has no more in flight than are kept. Where an epoch began in
 * what was cut, the one before it counts again. One that is not known may have written all the same, since snapshots
 * tell of the last epoch only: what comes late of it stays shut out by the epoch that came after.
 */
export function cutProducers(producers: Map<number, Producer>, end: number): void {
  for (const [producerId, producer] of producers) {
    const left = cutProducer(producer, end);
    if (left !== producer) producers.set(producerId, left);
  }
}

function cutProducer(producer: Producer, end: number): Producer {
  const oldest = producer.batches.find((batch) => batch.lastOffset >= end);
  if (oldest === undefined) return producer;
  const batches = producer.batches.filter((batch) => batch.lastOffset < end);
  const lost = sequenceDistance(oldest.firstSequence, producer.lastSequence) + 1;
  const knownRecords = Math.max(0, producer.knownRecords - lost);
  if (knownRecords === 0 && producer.earlier !== null) return cutProducer(producer.earlier, end);
  const wrapped = knownRecords === 0 ? -1 : SEQUENCES - 1;
  const lastSequence = oldest.firstSequence === 0 ? wrapped : oldest.firstSequence - 1;
  const isOpen = producer.transactionFirstOffset < end;
  const transactionFirstOffset = isOpen ? producer.transactionFirstOffset : -1;
  return { ...producer, lastSequence, batches, knownRecords, transactionFirstOffset };
}

/** Forgets producers that have not written for `expirationMs` and have no transaction open. */
export function expireProducers(producers: Map<number, Producer>, nowMs: number, expirationMs: number): void {
  for (const [producerId, producer] of producers) {
    if (producer.transactionFirstOffset < 0 && nowMs - producer.usedAtMs >= expirationMs) producers.delete(producerId);
  }
}
