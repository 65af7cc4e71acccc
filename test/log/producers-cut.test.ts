/** What a log knows of its producers when its tail is cut: also of epochs that later ones had followed. */
import { expect, it } from 'vitest';
import { appendAsFollower, checkLog, truncateTo } from '../../core/log/log.ts';
import { EPOCHS_KEPT_MAX } from '../../core/log/producers.ts';
import { decodeSnapshot, encodeSnapshot } from '../../core/log/snapshot.ts';
import { appendParts } from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { append, batchOf, concat, createWorld, type LogWorld, open, post, settleAll } from './world.ts';

const PRODUCER = 5;

/** A batch of one record of the producer, as a leader of epoch 1 has numbered it. */
function follow(world: LogWorld, base: number, producerEpoch: number, baseSequence: number): void {
  const batch = batchOf(['x'], { producerId: PRODUCER, producerEpoch, baseSequence });
  const bytes = concat(appendParts(batch, base, 1));
  expect(appendAsFollower(world.log, world.env, bytes, 1, world.out)).toMatchObject({ error: 0 });
  checkLog(world.log);
  post(world);
}

function cut(world: LogWorld, offset: number): void {
  truncateTo(world.log, world.env, offset, world.out);
  post(world);
  settleAll(world);
  expect(world.log.end).toBe(offset);
}

it('knows the epoch of a producer that is left again, where later ones began in what went', () => {
  const world = createWorld({});
  open(world);
  for (let i = 0; i < 3; i++) follow(world, i, 0, i);
  follow(world, 3, 1, 0);
  follow(world, 4, 1, 1);
  follow(world, 5, 2, 0);
  settleAll(world);
  cut(world, 4);
  expect(world.log.producers?.get(PRODUCER)).toMatchObject({ epoch: 1, lastSequence: 0, knownRecords: 1 });
  cut(world, 3);
  expect(world.log.producers?.get(PRODUCER)).toMatchObject({ epoch: 0, lastSequence: 2, knownRecords: 3 });
  const again = batchOf(['x'], { producerId: PRODUCER, producerEpoch: 0, baseSequence: 2 });
  expect(append(world, again, 2)).toMatchObject({ error: 0, duplicate: true, baseOffset: 2 });
});

it('knows so many epochs of a producer and no more, however many there were', () => {
  const world = createWorld({});
  open(world);
  const count = EPOCHS_KEPT_MAX + 4;
  for (let epoch = 0; epoch < count; epoch++) follow(world, epoch, epoch, 0);
  settleAll(world);
  cut(world, count - EPOCHS_KEPT_MAX + 1);
  expect(world.log.producers?.get(PRODUCER)).toMatchObject({ epoch: count - EPOCHS_KEPT_MAX, earlier: null });
  cut(world, count - EPOCHS_KEPT_MAX);
  // Earlier ones have written here, and what comes of them is refused for its epoch.
  const forgotten = { epoch: count - EPOCHS_KEPT_MAX, lastSequence: -1, batches: [], earlier: null };
  expect(world.log.producers?.get(PRODUCER)).toMatchObject(forgotten);
});

it('lets no batch in twice whose epoch a snapshot did not tell of, where the one after it went', () => {
  const world = createWorld({});
  open(world);
  follow(world, 0, 0, 0);
  follow(world, 1, 1, 0);
  settleAll(world);
  const bytes = encodeSnapshot(world.log.producers ?? new Map(), world.env.crc32c);
  world.log.producers = decodeSnapshot(bytes, world.env.crc32c, world.env.nowMs);
  cut(world, 1);
  const again = batchOf(['x'], { producerId: PRODUCER, producerEpoch: 0, baseSequence: 0 });
  expect(append(world, again, 2)).toMatchObject({ error: ErrorCode.INVALID_PRODUCER_EPOCH });
  const next = batchOf(['x'], { producerId: PRODUCER, producerEpoch: 1, baseSequence: 0 });
  expect(append(world, next, 2)).toMatchObject({ error: 0, duplicate: false, baseOffset: 1 });
});
