/** A log, its disk and its clock: what the tests of the log drive. */
import { expect } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, nextOwner } from '../../core/lib/ids.ts';
import type { Effect, Env, Outbox } from '../../core/lib/world.ts';
import {
  appendAsLeader,
  checkLog,
  createLog,
  type Log,
  openLog,
  type ReadRequest,
  readLog,
  recoveryPoint,
  stepLog,
} from '../../core/log/log.ts';
import type { AppendOutcome, LogConfig, LogEvent, LogFound, ReadOutcome } from '../../core/log/types.ts';
import type { Codecs } from '../../core/protocol/compression.ts';
import { type BatchOptions, encodeBatch, readRecords } from '../../core/protocol/records.ts';
import { carryOut, crashProcess, createTestDisk, type Dice, losePower, type TestDisk } from './disk.ts';

/** Codecs that only say that they were there: the bytes with one byte in front. */
export const FAKE_CODECS: Codecs = {
  compress: (codec, bytes) => new Uint8Array([codec, ...bytes]),
  decompress: (codec, bytes, bytesMax) =>
    bytes[0] !== codec ? 'corrupt' : bytes.length - 1 > bytesMax ? 'tooLarge' : bytes.slice(1),
};

/** Small numbers, so that everything that is rare comes soon. */
export const CONFIG: LogConfig = {
  segmentBytes: 4096,
  segmentMs: Infinity,
  indexBytesMax: 10 * 1024 * 1024,
  indexIntervalBytes: 256,
  messageBytesMax: 2048,
  compressionType: 'producer',
  timestampType: 'CreateTime',
  timestampBeforeMaxMs: Infinity,
  timestampAfterMaxMs: 3_600_000,
  flushMessages: 1,
  flushMs: Infinity,
  producerIdExpirationMs: 86_400_000,
  isCompacted: false,
  fileDeleteDelayMs: 60_000,
  ringBytesMax: 1024,
};

/** Nothing found: a new log, or one after a crash before the first checkpoint. */
export const FOUND: LogFound = { clean: false, recoveryPoint: 0, highWatermark: 0, logStartOffset: 0 };

/** Everything that one log's test holds. */
export interface LogWorld {
  disk: TestDisk;
  log: Log;
  out: Outbox;
  events: LogEvent[];
  said: Effect[];
  reached: Set<string>;
  nowMs: number;
  wallMs: number;
  env: Env;
  dice: Dice;
  config: LogConfig;
}

/** A seeded random number generator (mulberry32), for tests only. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A world whose log has not been opened. */
export function createWorld(config: Partial<LogConfig> = {}, dice: Dice = () => 0): LogWorld {
  const reached = new Set<string>();
  const world: LogWorld = {
    disk: createTestDisk(),
    log: undefined as unknown as Log,
    out: [],
    events: [],
    said: [],
    reached,
    nowMs: 1000,
    wallMs: 1_700_000_000_000,
    env: undefined as unknown as Env,
    dice,
    config: { ...CONFIG, ...config },
  };
  world.env = {
    get nowMs() {
      return world.nowMs;
    },
    get wallMs() {
      return world.wallMs;
    },
    crc32c,
    codecs: FAKE_CODECS,
    reached: (mark) => reached.add(mark),
  };
  world.log = newLog(world);
  return world;
}

function newLog(world: LogWorld): Log {
  const ids = createIds();
  const options = { owner: nextOwner(ids), ids, topic: 'orders', partition: 0, folder: '/data/orders-0' };
  return createLog({ ...options, config: world.config });
}

/** Hands what the log asked for to the disk. */
export function post(world: LogWorld): void {
  for (const effect of world.out) {
    if (effect.kind === 'say') world.said.push(effect);
    else world.disk.queue.push(effect as never);
  }
  world.out.length = 0;
}

/** Carries out one effect and gives the answer to the log; false when nothing waits. */
export function stepOnce(world: LogWorld): boolean {
  post(world);
  const input = carryOut(world.disk, world.dice);
  if (input === null) return false;
  stepLog(world.log, world.env, input, world.out, world.events);
  checkLog(world.log);
  if (world.log.state === 'open') expect(recoveryPoint(world.log)).toBeLessThanOrEqual(world.log.durable);
  post(world);
  return true;
}

/** Carries out everything that waits. */
export function settleAll(world: LogWorld): void {
  for (let i = 0; i < 100_000; i++) if (!stepOnce(world)) return;
  throw new Error('the log does not come to rest');
}

/** Opens the log and waits for it. */
export function open(world: LogWorld, found: Partial<LogFound> = {}): void {
  openLog(world.log, world.env, { ...FOUND, ...found }, world.out);
  settleAll(world);
  expect(world.events).toContainEqual({ kind: 'opened' });
  world.events.length = 0;
}

/** A new life of the same log after the process or the machine died. */
export function restart(world: LogWorld, how: 'process' | 'power'): void {
  if (how === 'power') losePower(world.disk, world.dice);
  else crashProcess(world.disk);
  world.out.length = 0;
  world.events.length = 0;
  world.log = newLog(world);
}

/** A batch of `values`, one record each. */
export function batchOf(values: readonly string[], options: BatchOptions & { timestampMs?: number } = {}): Uint8Array {
  const timestampMs = options.timestampMs ?? 1_700_000_000_000;
  const records = values.map((value) => ({ timestampMs, key: null, value: new TextEncoder().encode(value) }));
  return encodeBatch(records, options);
}

/** Appends and hands the effects to the disk. */
export function append(world: LogWorld, bytes: Uint8Array, leaderEpoch = 0): AppendOutcome {
  const outcome = appendAsLeader(world.log, world.env, bytes, leaderEpoch, world.out);
  checkLog(world.log);
  post(world);
  return outcome;
}

/** Reads and waits for the answer. */
export function read(world: LogWorld, request: Partial<ReadRequest> & { offset: number }): ReadOutcome {
  const whole = { sizeBytesMax: 1_000_000, upTo: world.log.end, minOne: true, ...request };
  const outcome = readLog(world.log, world.env, whole, world.out);
  post(world);
  if (outcome.kind !== 'pending') return outcome;
  for (;;) {
    const done = world.events.find((event) => event.kind === 'readDone' && event.ticket === outcome.ticket);
    if (done?.kind === 'readDone') return done.outcome;
    if (!stepOnce(world)) throw new Error('a read was never answered');
  }
}

/** The values of the records that a read gave, with their offsets. */
export function valuesOf(outcome: ReadOutcome): [number, string][] {
  if (outcome.kind !== 'batches') throw new Error(`no batches but ${JSON.stringify(outcome)}`);
  const bytes = concat(outcome.parts);
  expect(bytes.length).toBe(outcome.sizeBytes);
  const values: [number, string][] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = new DataView(bytes.buffer).getInt32(at + 8) + 12;
    for (const record of readRecords(bytes.slice(at, at + size), FAKE_CODECS)) {
      values.push([record.offset, new TextDecoder().decode(record.value ?? new Uint8Array())]);
    }
    at += size;
  }
  return values;
}

/** All values from `offset` to the end, in as many reads as it takes. */
export function readAll(world: LogWorld, offset: number, sizeBytesMax = 1_000_000): [number, string][] {
  const values: [number, string][] = [];
  let next = offset;
  while (next < world.log.end) {
    const outcome = read(world, { offset: next, sizeBytesMax });
    const some = valuesOf(outcome);
    const last = some[some.length - 1];
    if (last === undefined) throw new Error(`nothing at ${next} of ${world.log.end}`);
    values.push(...some.filter(([at]) => at >= next));
    next = last[0] + 1;
  }
  return values;
}

/** One array of all parts. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
