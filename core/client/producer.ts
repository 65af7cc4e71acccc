/**
 * A producer: records go in by ticket, batches leave by partition, and every ticket gets exactly one event, ever.
 *
 * A skeleton of the signatures that others build against; the machine follows.
 */
import type { Ids } from '../lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../lib/world.ts';
import type { Codec } from '../protocol/compression.ts';
import type { RecordHeader } from '../protocol/records.ts';

/** Where a broker listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** How a producer behaves; all of it plain data. */
export interface ProducerOptions {
  readonly clientId: string;
  /** Shared by all machines of one node or client process. */
  readonly ids: Ids;
  readonly bootstrap: readonly Address[];
  /** 0: never answered; 1: the leader wrote it; -1: every in-sync replica has it. */
  readonly acks: 0 | 1 | -1;
  /** Asks for a producer id and numbers its batches; only with acks -1. */
  readonly idempotent: boolean;
  readonly lingerMs: number;
  readonly batchBytesMax: number;
  /** Unanswered requests on one connection; at most 5 when idempotent. */
  readonly inFlightMax: number;
  readonly requestTimeoutMs: number;
  /** From `produce` to the event, at most. */
  readonly deliveryTimeoutMs: number;
  readonly retryBackoffMs: number;
  readonly compression: Codec;
  /** An unsigned 32-bit integer: jitter of back-offs. */
  readonly seed: number;
  /** Bytes of records waiting for their event, at most; default 32 MiB. */
  readonly bufferBytesMax?: number;
}

/** A record to be sent. */
export interface ProducerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers?: readonly RecordHeader[];
  /** Ms since 1970; the wall clock if absent. */
  readonly timestampMs?: number;
}

/** What became of a record. */
export type ProducerEvent =
  /** `offset` is -1 where it is not known: acks 0, or a duplicate that the broker no longer remembers exactly. */
  | {
      readonly kind: 'acknowledged';
      readonly ticket: number;
      readonly topic: string;
      readonly partition: number;
      readonly offset: number;
      /** The broker's time for topics that it stamps, else the record's. */
      readonly timestampMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly ticket: number;
      readonly topic: string;
      readonly partition: number;
      /** A Kafka error code. */
      readonly error: number;
      readonly message: string;
      /** The record may be in the log all the same. */
      readonly maybeWritten: boolean;
    };

/** What a producer is told. */
export type ProducerInput = NetworkInput | { readonly kind: 'wake' };

/** A producer's state: plain data. */
export interface Producer {
  readonly options: ProducerOptions;
}

/** A producer that has not connected yet. */
export function createProducer(options: ProducerOptions): Producer {
  return { options };
}

/** Takes a record: its ticket, or -1 when the buffer is full and the caller must wait for events. */
export function produce(_producer: Producer, _env: Env, _record: ProducerRecord, _out: Outbox): number {
  return -1;
}

/** Handles one input. Inputs for connections of others are ignored. */
export function stepProducer(
  _producer: Producer,
  _env: Env,
  _input: ProducerInput,
  _out: Outbox,
  _events: ProducerEvent[],
): void {}

/** Sends what waits without lingering further. */
export function flushProducer(_producer: Producer, _env: Env): void {}

/** Ends: connections are closed and every open ticket fails. */
export function stopProducer(_producer: Producer, _env: Env, _out: Outbox, _events: ProducerEvent[]): void {}

/** When the producer next wants a 'wake', on the monotonic clock; Infinity for never. */
export function producerDeadlineMs(_producer: Producer): number {
  return Number.POSITIVE_INFINITY;
}

/** Invariants between any two steps. */
export function checkProducer(_producer: Producer): void {}
