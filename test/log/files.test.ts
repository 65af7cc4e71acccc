/** The files of a segment, byte by byte: what Apache Kafka's own tools read. */
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { decodeEpochs, encodeEpochs } from '../../core/log/epochs.ts';
import { closeLog } from '../../core/log/log.ts';
import { nameOf, offsetOf } from '../../core/log/names.ts';
import { decodeSnapshot } from '../../core/log/snapshot.ts';
import { append, batchOf, createWorld, open, settleAll } from './world.ts';

function hex(bytes: Uint8Array | undefined): string {
  return Array.from(bytes ?? [], (byte) => byte.toString(16).padStart(2, '0')).join('');
}

describe('the files of a log', () => {
  it('are named and filled as Kafka does', () => {
    const world = createWorld({ indexIntervalBytes: 100, segmentBytes: 300 });
    open(world);
    for (let i = 0; i < 5; i++) {
      const options = { producerId: 4660, producerEpoch: 1, baseSequence: i * 2, timestampMs: 0x0102030405 + i };
      append(world, batchOf(['aaaaaaaaaaaaaaaa', 'b'], options), 6);
    }
    settleAll(world);
    closeLog(world.log, world.env, world.out);
    settleAll(world);
    const files = new Map(
      [...world.disk.names].map(([path, inode]) => [path.slice('/data/orders-0/'.length), inode.bytes]),
    );
    expect([...files.keys()].sort()).toEqual([
      '00000000000000000000.index',
      '00000000000000000000.log',
      '00000000000000000000.timeindex',
      '00000000000000000006.index',
      '00000000000000000006.log',
      '00000000000000000006.snapshot',
      '00000000000000000006.timeindex',
      '00000000000000000010.snapshot',
      'leader-epoch-checkpoint',
    ]);
    // Each batch takes 92 bytes; an entry comes with the first batch that finds more than 100 bytes before it.
    expect(files.get('00000000000000000000.log')?.length).toBe(3 * 92);
    expect(hex(files.get('00000000000000000000.index'))).toBe('00000005' + '000000b8');
    expect(hex(files.get('00000000000000000006.timeindex'))).toBe('0000000102030409' + '00000003');
    const snapshot = files.get('00000000000000000010.snapshot') ?? new Uint8Array();
    const entry = '0000000000001234' + '0001' + '00000009' + '0000000000000009' + '00000001' + '0000000102030409';
    expect(hex(snapshot.slice(0, 2))).toBe('0001');
    expect(hex(snapshot.slice(2, 6))).toBe(crc32c(snapshot, 6).toString(16).padStart(8, '0'));
    expect(hex(snapshot.slice(6))).toMatch(new RegExp(`^00000001${entry}ffffffff${'ff'.repeat(8)}`));
    expect(new TextDecoder().decode(files.get('leader-epoch-checkpoint'))).toBe('0\n1\n6 0\n');
  });

  it('index the last offset of a batch and where the batch begins', () => {
    const world = createWorld({ indexIntervalBytes: 100, segmentBytes: 10_000 });
    open(world);
    for (let i = 0; i < 6; i++) append(world, batchOf(['aaaaaaaaaaaaaaaa', 'b'], { timestampMs: 1000 + i }));
    settleAll(world);
    closeLog(world.log, world.env, world.out);
    settleAll(world);
    const index = world.disk.names.get('/data/orders-0/00000000000000000000.index')?.bytes;
    expect(hex(index)).toBe('00000005' + '000000b8' + '00000009' + '00000170');
    const times = world.disk.names.get('/data/orders-0/00000000000000000000.timeindex')?.bytes;
    expect(hex(times)).toBe('00000000000003ea00000005' + '00000000000003ec00000009' + '00000000000003ed0000000b');
  });

  it('broken ones are told from whole ones', () => {
    expect(decodeEpochs(encodeEpochs([{ epoch: 3, startOffset: 9 }]))).toEqual([{ epoch: 3, startOffset: 9 }]);
    for (const text of ['', '1\n0\n', '0\n2\n1 0\n', '0\n1\n1 x\n', '0\n2\n2 0\n1 5\n', '0\n1\n-1 0\n', 'é']) {
      expect(decodeEpochs(new TextEncoder().encode(text)), text).toBe(null);
    }
    expect(decodeSnapshot(new Uint8Array(3), crc32c, 0)).toBe(null);
    expect(decodeSnapshot(new Uint8Array(40), crc32c, 0)).toBe(null);
    expect(offsetOf(nameOf(1234, '.log'), '.log')).toBe(1234);
    for (const name of [
      '1.log',
      '0000000000000000000x.log',
      '99999999999999999999.log',
      '00000000000000000001.index',
    ]) {
      expect(offsetOf(name, '.log'), name).toBe(-1);
    }
  });
});
