/** Lookups by time against a model, before and after a restart, and leader epochs. */
import { describe, expect, it } from 'vitest';
import {
  assignEpoch,
  closeLog,
  endOffsetForEpoch,
  findTimestamp,
  latestEpoch,
  maxTimestamp,
} from '../../core/log/log.ts';
import type { TimestampFound } from '../../core/log/types.ts';
import { encodeBatch } from '../../core/protocol/records.ts';
import {
  append,
  batchOf,
  createDice,
  createWorld,
  FAKE_CODECS,
  type LogWorld,
  open,
  post,
  restart,
  settleAll,
  stepOnce,
} from './world.ts';

const START_MS = 1_600_000_000_000;

function wait(world: LogWorld, outcome: ReturnType<typeof findTimestamp>): TimestampFound {
  post(world);
  if (outcome.kind === 'found') return outcome.found;
  for (;;) {
    const event = world.events.find((one) => one.kind === 'timestampFound' && one.ticket === outcome.ticket);
    if (event?.kind === 'timestampFound') return event.found;
    if (!stepOnce(world)) throw new Error('never answered');
  }
}

function find(world: LogWorld, timestampMs: number, upTo = world.log.end): TimestampFound {
  return wait(world, findTimestamp(world.log, world.env, timestampMs, upTo, world.out));
}

/** What a scan over all records finds. */
function model(times: readonly number[], timestampMs: number): number {
  return times.findIndex((time) => time >= timestampMs);
}

function compare(world: LogWorld, times: readonly number[], seed: number): void {
  const dice = createDice(seed + 1);
  for (let i = 0; i < 40; i++) {
    const target = START_MS - 10 + Math.floor(dice() * 1200);
    const offset = model(times, target);
    const found = find(world, target);
    expect(found.offset, `seed ${seed} target ${target - START_MS}`).toBe(offset);
    expect(found.timestampMs).toBe(offset < 0 ? -1 : times[offset]);
  }
  const max = Math.max(...times);
  const latest = wait(world, maxTimestamp(world.log, world.env, world.log.end, world.out));
  expect(latest).toMatchObject({ offset: times.indexOf(max), timestampMs: max });
}

describe('a lookup by time', () => {
  it('finds the first record that reaches it, whatever the order of times, and the latest of all', () => {
    for (let seed = 0; seed < 12; seed++) {
      const dice = createDice(seed);
      const world = createWorld(
        { indexIntervalBytes: 1 + Math.floor(dice() * 300), segmentBytes: 900, ringBytesMax: 500 },
        dice,
      );
      open(world);
      const times: number[] = [];
      for (let i = 0; i < 60; i++) {
        const records = Array.from({ length: 1 + Math.floor(dice() * 4) }, () => {
          const timestampMs = START_MS + i * 10 + Math.floor(dice() * dice() * 500);
          times.push(timestampMs);
          return { timestampMs, key: null, value: new Uint8Array(Math.floor(dice() * 40)) };
        });
        const codec = dice() < 0.5 ? 0 : 1;
        append(world, encodeBatch(records, { codec, codecs: FAKE_CODECS }));
        if (dice() < 0.3) settleAll(world);
      }
      settleAll(world);
      compare(world, times, seed);
      const end = world.log.end;
      const isClean = dice() < 0.5;
      if (isClean) closeLog(world.log, world.env, world.out);
      settleAll(world);
      restart(world, 'power');
      open(world, { clean: isClean, recoveryPoint: end, highWatermark: end });
      compare(world, times, seed);
    }
  });

  it('sees nothing at or above the end that it is given, and nothing in an empty log', () => {
    const world = createWorld();
    open(world);
    expect(find(world, 0)).toMatchObject({ error: 0, offset: -1, timestampMs: -1 });
    expect(wait(world, maxTimestamp(world.log, world.env, 0, world.out))).toMatchObject({ offset: -1 });
    append(world, batchOf(['a'], { timestampMs: START_MS }), 4);
    append(world, batchOf(['b'], { timestampMs: START_MS + 1 }), 4);
    settleAll(world);
    expect(find(world, START_MS + 1)).toMatchObject({ offset: 1, leaderEpoch: 4 });
    expect(find(world, START_MS + 1, 1)).toMatchObject({ offset: -1 });
    expect(find(world, START_MS + 2)).toMatchObject({ offset: -1 });
  });

  it('takes the time of the broker where it stamped the batch', () => {
    const world = createWorld({ timestampType: 'LogAppendTime' });
    open(world);
    append(world, batchOf(['a', 'b']));
    world.wallMs += 50;
    append(world, batchOf(['c', 'd']));
    settleAll(world);
    expect(find(world, world.wallMs)).toMatchObject({ offset: 2, timestampMs: world.wallMs });
    expect(find(world, world.wallMs - 50)).toMatchObject({ offset: 0, timestampMs: world.wallMs - 50 });
  });
});

describe('leader epochs', () => {
  it('are noted with the first batch of each, end where the next begins, and survive', () => {
    const world = createWorld();
    open(world);
    expect(latestEpoch(world.log)).toBe(-1);
    append(world, batchOf(['a', 'b']), 2);
    append(world, batchOf(['c']), 5);
    assignEpoch(world.log, 8, 3);
    settleAll(world);
    for (const how of ['now', 'later']) {
      if (how === 'later') {
        restart(world, 'power');
        open(world, { recoveryPoint: 3, highWatermark: 3 });
      }
      expect(endOffsetForEpoch(world.log, 2)).toEqual({ leaderEpoch: 2, endOffset: 2 });
      expect(endOffsetForEpoch(world.log, 4)).toEqual({ leaderEpoch: 2, endOffset: 2 });
      expect(endOffsetForEpoch(world.log, 1)).toEqual({ leaderEpoch: 1, endOffset: 0 });
      expect(endOffsetForEpoch(world.log, 9)).toEqual({ leaderEpoch: -1, endOffset: -1 });
    }
    expect(new TextDecoder().decode(world.disk.names.get('/data/orders-0/leader-epoch-checkpoint')?.bytes)).toMatch(
      /^0\n[23]\n2 0\n5 2\n/,
    );
  });
});
