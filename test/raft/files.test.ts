/** The bytes of a quorum's own files, held to those that Apache Kafka 4.4 writes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { decodeUtf8, encodeUtf8 } from '../../core/lib/utf8.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import type { Env } from '../../core/lib/world.ts';
import { bootstrapCheckpoint, readBatch, snapshotFoot, snapshotHead, valuesBatch } from '../../core/raft/batches.ts';
import { createCheckpointReader, isWhole, takeCheckpoint } from '../../core/raft/checkpoint-read.ts';
import { BOOTSTRAP_ID, checkpointName, checkpointOf, isLeftover, partName } from '../../core/raft/names.ts';
import { decodeQuorumState, encodeQuorumState } from '../../core/raft/quorum-state.ts';
import { majorityOffset } from '../../core/raft/voters.ts';
import { SELF } from '../coordination/world.ts';
import { FAKE_CODECS } from '../log/world.ts';

/** A directory formatted with --standalone, its controller at 127.0.0.1:28093. */
const FORMATTED = [
  '00000000000000000000009a00000000024c1c345e002000000002000001a2287c7b19000001a2287c7b19ffffffffffffff',
  'ffffffffffffff000000032a0000000800000003160000000001a2287c790300001e00000208000000050a00000001000082',
  '0100000408000000066e000002000000012985492b2dde40f4a345960f9780baeb020b434f4e54524f4c4c45520a3132372e',
  '302e302e316dbd0000000001000000000000000000000003000000f10000000002d180e2f4000000000005000001a2287c7d',
  '10000001a2287c7d10ffffffffffffffffffffffffffff000000063a000000012e010c00116d657461646174612e76657273',
  '696f6e002100005a000002014e010c0021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00',
  '010000340000040128010c000e67726f75702e76657273696f6e00010000340000060128010c000e73686172652e76657273',
  '696f6e0002000038000008012c010c001073747265616d732e76657273696f6e000100004000000a0134010c00147472616e',
  '73616374696f6e2e76657273696f6e0002000000000000000000090000003f0000000002229f31c3002000000000000001a2',
  '287c7d25000001a2287c7d25ffffffffffffffffffffffffffff000000011a00000008000000040600000000',
].join('');

const env: Env = { nowMs: 0, wallMs: 0, crc32c, codecs: FAKE_CODECS, reached: () => {} };
const VOTER = { ...SELF, endpoints: [{ name: 'CONTROLLER', host: '127.0.0.1', port: 28093 }] };

function formatted(): Uint8Array {
  return Uint8Array.from(FORMATTED.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Reads a snapshot in pieces of so many bytes; null if it does not hold together. */
function readWhole(bytes: Uint8Array, pieceBytes: number): Uint8Array[] | null {
  const reader = createCheckpointReader(BOOTSTRAP_ID, 1);
  reader.sizeBytes = bytes.length;
  reader.wantedBytes = pieceBytes;
  const batches: Uint8Array[] = [];
  for (let i = 0; i < 1000 && !isWhole(reader); i++) {
    const more = takeCheckpoint(reader, env, bytes.slice(reader.position, reader.position + reader.wantedBytes));
    if (more === null) return null;
    batches.push(...more);
  }
  return isWhole(reader) ? batches : null;
}

describe('a bootstrap snapshot', () => {
  it('of Kafka is what we write, batch by batch, but for the moments at which they were made', () => {
    const bytes = formatted();
    const at = (timestampMs: number, baseOffset: number) => ({ timestampMs, baseOffset, leaderEpoch: 0 });
    expect(snapshotHead(1795975575811, [VOTER], at(1795975576345, 0))).toEqual(bytes.slice(0, 166));
    const { values } = readBatch(bytes.slice(166, 419), env);
    expect(values).toHaveLength(6);
    expect(valuesBatch(values, at(1795975576848, 3))).toEqual(bytes.slice(166, 419));
    expect(snapshotFoot(at(1795975576869, 9))).toEqual(bytes.slice(419));
    expect(bootstrapCheckpoint([VOTER], values, 1795975576345)).toHaveLength(bytes.length);
  });

  it('is read in pieces of any size, and refused with any bit turned or any byte cut', () => {
    const bytes = formatted();
    for (const pieceBytes of [61, 100, 166, 10_000]) expect(readWhole(bytes, pieceBytes)).toHaveLength(1);
    // The leader epoch of a batch is under no checksum, and means nothing in a snapshot.
    const isLoose = (index: number): boolean => [0, 166, 419].some((from) => index >= from + 12 && index < from + 16);
    for (let index = 0; index < bytes.length; index++) {
      const turned = bytes.slice();
      turned[index] = (turned[index] as number) ^ 4;
      if (!isLoose(index)) expect(readWhole(turned, 10_000), `byte ${index}`).toBeNull();
      expect(readWhole(bytes.slice(0, index), 10_000)).toBeNull();
    }
    expect(readWhole(Uint8Array.from([...bytes, 0]), 10_000)).toBeNull();
  });
});

describe('quorum-state', () => {
  const elected = { leaderId: 1, leaderEpoch: 2, votedId: -1, votedDirectoryId: ZERO_UUID };

  it('is written as Kafka writes it, at either level of kraft.version', () => {
    const text = (kraftVersion: number): string => {
      const bytes = encodeQuorumState(elected, kraftVersion, [1]);
      return decodeUtf8(bytes, 0, bytes.length);
    };
    const directory = '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"';
    expect(text(1)).toBe(`{"leaderId":1,"leaderEpoch":2,"votedId":-1,${directory},"data_version":1}`);
    const rest = '"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0';
    expect(text(0)).toBe(`{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,${rest}}`);
  });

  it('is read back as it was written', () => {
    const id = fc.integer({ min: -1, max: 0x7fffffff });
    const state = fc.record({
      leaderId: id,
      leaderEpoch: fc.nat(),
      votedId: id,
      votedDirectoryId: fc.constantFrom(ZERO_UUID, SELF.directoryId),
    });
    fc.assert(
      fc.property(state, (one) => {
        expect(decodeQuorumState(encodeQuorumState(one, 1, []))).toEqual(one);
      }),
    );
  });

  it('is refused with a sentence where a field is missing or no number', () => {
    for (const text of ['null', '[]', '{"data_version":0}', '{"data_version":1,"leaderId":"1"}']) {
      expect(decodeQuorumState(encodeUtf8(text)), text).toEqual(expect.any(String));
    }
  });
});

describe('names', () => {
  it('of snapshots sort as their offsets do, and are told from others', () => {
    const id = { endOffset: 63, epoch: 1 };
    expect(checkpointName(id)).toBe('00000000000000000063-0000000001.checkpoint');
    expect(checkpointOf(checkpointName(id))).toEqual(id);
    expect(isLeftover(partName(id))).toBe(true);
    expect(isLeftover(checkpointName(id))).toBe(false);
    for (const other of ['1-1.checkpoint', 'bootstrap.checkpoint', partName(id), '00000000000000000063.log']) {
      expect(checkpointOf(other)).toBeNull();
    }
  });
});

describe('a majority', () => {
  it('has reached an offset when more than half of one to five voters have, and no larger one', () => {
    const ends = fc.array(fc.nat(20), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(ends, (all) => {
        const offset = majorityOffset(all);
        const count = (least: number): number => all.filter((end) => end >= least).length;
        expect(count(offset) * 2).toBeGreaterThan(all.length);
        expect(count(offset + 1) * 2).toBeLessThanOrEqual(all.length);
      }),
    );
  });
});
