/** A cut that comes to damage which nobody knew of: what would go with it may be committed, and counted on. */
import { expect, test } from 'vitest';
import { truncateTo } from '../../core/log/log.ts';
import type { LogEvent } from '../../core/log/types.ts';
import { BATCH_HEADER_BYTES } from '../../core/protocol/batch.ts';
import { append, batchOf, createWorld, type LogWorld, open, readAll, settleAll } from './world.ts';

/** Ten batches of three records, one of whose headers is gone; where that lies in the file. */
function damaged(): { readonly world: LogWorld; readonly position: number } {
  const world = createWorld({ ringBytesMax: 0, segmentBytes: 100_000, indexIntervalBytes: 100_000 });
  open(world);
  for (let i = 0; i < 10; i++) append(world, batchOf(['a', 'b', 'c']));
  settleAll(world);
  world.events.length = 0;
  const inode = [...world.disk.names].find(([path]) => path.endsWith('.log'))?.[1];
  if (inode === undefined) throw new Error('no log file');
  const position = (inode.bytes.length / 10) * 4;
  inode.bytes.fill(0, position, position + BATCH_HEADER_BYTES);
  return { world, position };
}

function cut(world: LogWorld, offset: number): LogEvent[] {
  truncateTo(world.log, world.env, offset, world.out);
  settleAll(world);
  return world.events.splice(0).filter(({ kind }) => kind !== 'durable');
}

test('nothing is cut, and the damage is out of service from then on', () => {
  const { world, position } = damaged();
  expect(cut(world, 24)).toEqual([{ kind: 'cutRefused', offset: 12, isNewlyDamaged: true }]);
  expect(world.log).toMatchObject({ end: 30, durable: 30, damaged: [{ start: 12, end: 30, position }] });
});

test('whoever asks once more is not told that it is new, and may cut where it begins', () => {
  const { world } = damaged();
  cut(world, 24);
  expect(cut(world, 24)).toEqual([{ kind: 'cutRefused', offset: 12, isNewlyDamaged: false }]);
  expect(cut(world, 12)).toEqual([{ kind: 'truncated', offset: 12 }]);
  expect(world.log.damaged).toEqual([]);
  expect(readAll(world, 0)).toHaveLength(12);
});
