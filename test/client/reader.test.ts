/** The reader against brokers that move, forget, truncate and break off. */
import { describe, expect, it } from 'vitest';
import { pauseReader, resumeReader, seekReader } from '../../core/client/reader.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import * as batch from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { type BatchOptions, encodeBatch } from '../../core/protocol/records.ts';
import { startReading } from './reading.ts';
import { forgetSessions } from './toy-broker.ts';
import { at, createToy, type Mishap, partitionOf, roll, run } from './toy-cluster.ts';
import { append, endOf, type ToyPartition } from './toy-log.ts';

const NONE: Mishap = { kind: 'none' };
const encoder = new TextEncoder();

/** Appends one batch of values. */
function put(partition: ToyPartition, values: string[], options: BatchOptions = {}): void {
  const records = values.map((value) => ({ timestampMs: 1, key: null, value: encoder.encode(value) }));
  expect(append(partition, encodeBatch(records, options)).errorCode).toBe(0);
}

/** Stores a batch as it is, without the checks for clients. */
function putRaw(partition: ToyPartition, bytes: Uint8Array, count: number): void {
  const { leaderEpoch } = partition;
  const stored = { baseOffset: endOf(partition), count, producerId: -1, producerEpoch: -1, sequence: -1, leaderEpoch };
  partition.log.push({ ...stored, bytes: joined(batch.appendParts(bytes, stored.baseOffset, leaderEpoch)) });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function names(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, i) => `v${first + i}`);
}

function fill(partition: ToyPartition, batches: number, size = 3): void {
  for (let i = 0; i < batches; i++) put(partition, names(size, endOf(partition)));
}

describe('a reader with nothing in its way', () => {
  it('reads from the earliest record, in sessions that name the partition only when something changed', () => {
    const toy = createToy();
    fill(partitionOf(toy), 10);
    const { values, reader } = startReading(toy);
    run(toy, 5000);
    expect(values).toEqual(names(30));
    expect(reader.position).toBe(30);
    expect(reader.highWatermark).toBe(30);
    const fetches = toy.requests.filter(({ apiKey }) => apiKey === 1).map(({ body }) => body as RequestOf<1>);
    expect(fetches[0]).toMatchObject({ sessionId: 0, sessionEpoch: 0 });
    expect(fetches.slice(1).every(({ sessionId }) => sessionId === fetches[1]?.sessionId)).toBe(true);
    expect(fetches.slice(1).map(({ sessionEpoch }) => sessionEpoch)).toEqual(fetches.slice(1).map((_, i) => i + 1));
    expect(fetches.at(-1)?.topics).toEqual([]);
  });

  it('reads from the latest record only what comes after', () => {
    const toy = createToy();
    fill(partitionOf(toy), 3);
    const { values } = startReading(toy, { from: 'latest' });
    run(toy, 2000);
    put(partitionOf(toy), ['new']);
    run(toy, 4000);
    expect(values).toEqual(['new']);
  });

  it('starts in the middle of a batch and says from which offset on', () => {
    const toy = createToy();
    put(partitionOf(toy), names(10));
    const { values, events } = startReading(toy, { from: 4 });
    run(toy, 2000);
    expect(values).toEqual(names(6, 4));
    expect(events).toMatchObject([{ kind: 'batch', fromOffset: 4, highWatermark: 10 }]);
  });

  it('moves over control batches and empty batches without handing them out', () => {
    const toy = createToy();
    const partition = partitionOf(toy);
    fill(partition, 1);
    putRaw(partition, encodeBatch([{ timestampMs: 1, key: new Uint8Array(4), value: null }], { isControl: true }), 1);
    const emptied = encodeBatch([{ timestampMs: 1, key: null, value: null }]).slice(0, batch.BATCH_HEADER_BYTES);
    const view = batch.dataViewOf(emptied);
    view.setInt32(batch.BATCH_LENGTH_AT, batch.BATCH_HEADER_BYTES - batch.BATCH_OVERHEAD_BYTES);
    view.setInt32(batch.RECORDS_COUNT_AT, 0);
    view.setInt32(batch.LAST_OFFSET_DELTA_AT, 2);
    view.setUint32(batch.CRC_AT, crc32c(emptied, batch.ATTRIBUTES_AT));
    putRaw(partition, emptied, 3);
    put(partition, ['after']);
    const { values, reader } = startReading(toy);
    run(toy, 3000);
    expect(values).toEqual([...names(3), 'after']);
    expect(reader.position).toBe(8);
  });

  it('stops fetching while paused, and goes on where it was', () => {
    const toy = createToy();
    fill(partitionOf(toy), 2);
    const { values, reader } = startReading(toy);
    run(toy, 2000);
    pauseReader(reader);
    run(toy, 4000);
    fill(partitionOf(toy), 2);
    run(toy, 8000);
    expect(values).toEqual(names(6));
    resumeReader(reader);
    run(toy, 9000);
    expect(values).toEqual(names(12));
  });

  it('reads by topic name, without sessions, from a broker that knows no more', () => {
    const versions = new Map([
      [1, { min: 4, max: 4 }],
      [2, { min: 1, max: 1 }],
      [3, { min: 0, max: 5 }],
    ]);
    const toy = createToy({ versions });
    fill(partitionOf(toy), 5);
    const { values } = startReading(toy, { isolation: 'readCommitted' });
    run(toy, 3000);
    expect(values).toEqual(names(15));
  });
});

describe('a reader in trouble', () => {
  it('waits for a topic that does not exist yet', () => {
    const toy = createToy({ topics: { other: 1 } });
    const { values } = startReading(toy);
    at(toy, 3000, () => {
      toy.topics.set('t', { id: 'BBBBBBBBBBBBBBBBBBBBBA', partitions: [{ ...partitionOf(toy, 'other') }] });
      put(partitionOf(toy), ['a']);
    });
    run(toy, 8000);
    expect(values).toEqual(['a']);
  });

  it('never hands out a batch whose checksum is wrong, says so, and tries again', () => {
    const toy = createToy();
    const partition = partitionOf(toy);
    fill(partition, 3);
    const good = partition.log[1];
    if (good === undefined) throw new Error('no batch');
    const bad = good.bytes.slice();
    bad[bad.length - 2] = (bad[bad.length - 2] ?? 0) ^ 1;
    partition.log[1] = { ...good, bytes: bad };
    const { values, events, reader } = startReading(toy);
    run(toy, 3000);
    expect(values).toEqual(names(3));
    expect(reader.position).toBe(3);
    const complaints = events.filter(({ kind }) => kind === 'error');
    expect(complaints[0]).toMatchObject({ error: ErrorCode.CORRUPT_MESSAGE, fatal: false });
    expect(complaints.length).toBeLessThan(10);
    partition.log[1] = good;
    run(toy, 8000);
    expect(values).toEqual(names(9));
  });

  it('stops with a fatal error when its position is outside of the log and no reset is asked for', () => {
    const toy = createToy();
    fill(partitionOf(toy), 1);
    const { events, reader, values } = startReading(toy, { from: 50 });
    run(toy, 3000);
    expect(events).toMatchObject([{ kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE, fatal: true }]);
    const asked = toy.requests.length;
    run(toy, 10_000);
    expect(toy.requests.length).toBe(asked);
    seekReader(reader, 1);
    run(toy, 12_000);
    expect(values).toEqual(names(2, 1));
  });

  it('goes on at the earliest record when that is the reset', () => {
    const toy = createToy();
    fill(partitionOf(toy), 1);
    const { events, values } = startReading(toy, { from: 50, reset: 'earliest' });
    run(toy, 3000);
    expect(events[0]).toMatchObject({ kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE, fatal: false });
    expect(values).toEqual(names(3));
  });

  it('follows a new leader after asking where its epoch ended, and reads on', () => {
    const toy = createToy({ brokers: 2 });
    const partition = partitionOf(toy);
    fill(partition, 2);
    const { values, events } = startReading(toy);
    run(toy, 2000);
    Object.assign(partition, { leader: 1, leaderEpoch: 2 });
    fill(partition, 2);
    run(toy, 6000);
    expect(values).toEqual(names(12));
    expect(toy.requests.some(({ apiKey, broker }) => apiKey === 23 && broker === 1)).toBe(true);
    expect(events.every(({ kind }) => kind === 'batch')).toBe(true);
  });

  it('notices that the new leader lacks records that it has delivered', () => {
    const toy = createToy({ brokers: 2 });
    const partition = partitionOf(toy);
    fill(partition, 4);
    const { events, reader, values } = startReading(toy);
    run(toy, 2000);
    partition.log = partition.log.slice(0, 2);
    Object.assign(partition, { leader: 1, leaderEpoch: 2 });
    for (let i = 0; i < 4; i++) put(partition, ['x', 'y', 'z']);
    run(toy, 6000);
    expect(values).toEqual(names(12));
    expect(reader.position).toBe(12);
    expect(events.at(-1)).toMatchObject({ kind: 'error', error: ErrorCode.OFFSET_OUT_OF_RANGE, fatal: true });
    expect(toy.reached.get('reader.truncated')).toBe(1);
  });

  it('opens another session when the broker has forgotten it', () => {
    const toy = createToy();
    fill(partitionOf(toy), 2);
    const { values } = startReading(toy);
    run(toy, 2000);
    forgetSessions();
    fill(partitionOf(toy), 2);
    run(toy, 4000);
    expect(values).toEqual(names(12));
    expect(toy.reached.get('reader.sessionLost')).toBe(1);
  });

  it('stops when it may not read the topic', () => {
    const error = ErrorCode.TOPIC_AUTHORIZATION_FAILED;
    const toy = createToy({ mishap: (_, { apiKey }) => (apiKey === 1 ? { kind: 'error', error, acts: false } : NONE) });
    const { events } = startReading(toy);
    run(toy, 5000);
    expect(events).toMatchObject([{ kind: 'error', error, fatal: true }]);
  });

  it('hands out every record once and in order under resets, silence, garbage, errors and moving leaders', () => {
    const errors = [
      ErrorCode.NOT_LEADER_OR_FOLLOWER,
      ErrorCode.KAFKA_STORAGE_ERROR,
      ErrorCode.UNKNOWN_LEADER_EPOCH,
      ErrorCode.OFFSET_NOT_AVAILABLE,
    ];
    for (let seed = 1; seed <= 40; seed++) {
      const toy = createToy({
        seed,
        brokers: 2,
        delayMaxMs: 20,
        mishap: (t) => {
          if (t.nowMs > 20_000) return NONE;
          const kind = roll(t, 30);
          if (kind === 0) return { kind: 'resetBefore' };
          if (kind === 1) return { kind: 'resetAfter' };
          if (kind === 2) return { kind: 'silentAfter' };
          if (kind === 3) return { kind: 'garbage' };
          if (kind === 4) return { kind: 'wrongCorrelation' };
          if (kind > 7) return NONE;
          return { kind: 'error', error: errors[roll(t, errors.length)] ?? 6, acts: false };
        },
      });
      const partition = partitionOf(toy);
      const { values, events } = startReading(toy);
      for (let i = 0; i < 60; i++) at(toy, 1000 + i * 300 + roll(toy, 300), () => fill(partition, 1 + roll(toy, 3)));
      for (let i = 0; i < 5; i++) {
        at(toy, 1000 + roll(toy, 18_000), () => {
          partition.leader = 1 - partition.leader;
          partition.leaderEpoch += 1;
        });
      }
      run(toy, 60_000, () => toy.nowMs > 20_000 && values.length === endOf(partition));
      expect(values, `seed ${seed}`).toEqual(names(endOf(partition)));
      expect(
        events.every(({ kind }) => kind === 'batch'),
        `seed ${seed}`,
      ).toBe(true);
    }
  });
});
