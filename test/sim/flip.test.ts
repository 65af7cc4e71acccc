/** Bits that flip on the wire: under the checksum of a batch, or where none is. */
import { expect, test } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createDice } from '../../runtime-sim/dice.ts';
import { type FlipPlace, flipParts } from '../../runtime-sim/network/flip.ts';
import { addHost, createNetwork, type End, makeEnd, type Network } from '../../runtime-sim/network/network.ts';

const OPTIONS = { connection: -1, frameBytesMax: 1_000_000, idleMs: Number.POSITIVE_INFINITY, isOpen: true };

/** Two hosts and an end of the first that is connected with the second. */
function rig(seed: number): { network: Network; dice: ReturnType<typeof createDice>; end: End } {
  const network = createNetwork();
  const dice = createDice(seed);
  for (const name of ['one', 'two']) addHost(network, name);
  const end = makeEnd(network, dice, 0, { ...OPTIONS, actor: 0 });
  const other = makeEnd(network, dice, 0, { ...OPTIONS, actor: 1, connection: 1 });
  end.peer = other.end;
  other.peer = end.end;
  return { network, dice, end };
}

/** A batch of version 2 with some bytes of records, whose checksum holds. */
function batch(recordBytes: number): Uint8Array {
  const bytes = new Uint8Array(61 + recordBytes).fill(7, 61);
  const view = new DataView(bytes.buffer);
  view.setInt32(8, bytes.length - 12);
  bytes[16] = 2;
  view.setUint32(17, crc32c(bytes, 21));
  return bytes;
}

const HEAD = new Uint8Array([0, 0, 1, 0, 0, 1, 0, 12]);
const TAIL = new Uint8Array([9, 9, 9]);
/** Where the batch lies among the parts, and where its checksum begins. */
const BATCH_AT = HEAD.length;
const CRC_AT = BATCH_AT + 17;

/** Where a bit was flipped; -1 for nowhere. */
function flipped(seed: number, place: FlipPlace, parts: Uint8Array[]): { at: number; network: Network } {
  const { network, dice, end } = rig(seed);
  network.flips.push({ from: 0, to: 1, place });
  const before = Buffer.concat(parts);
  const after = Buffer.concat(flipParts(network, dice, end, parts));
  expect(after.length).toBe(before.length);
  expect(Buffer.concat(parts).equals(before)).toBe(true);
  const at = after.findIndex((byte, index) => byte !== before[index]);
  if (at >= 0) expect(after.subarray(at + 1).equals(before.subarray(at + 1))).toBe(true);
  return { at, network };
}

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

test('a flip in a batch is under its checksum, wherever the batch lies', () => {
  const data = batch(50);
  for (const seed of SEEDS) {
    const { at, network } = flipped(seed, 'batch', [HEAD, data, TAIL]);
    expect(at).toBeGreaterThanOrEqual(CRC_AT);
    expect(at).toBeLessThan(BATCH_AT + data.length);
    expect(network.flipped).toEqual(['batch']);
    expect(network.flips).toEqual([]);
  }
});

test('a flip elsewhere is under no checksum', () => {
  const data = batch(50);
  const places = new Set<number>();
  for (const seed of SEEDS) {
    const { at } = flipped(seed, 'header', [HEAD, data, TAIL]);
    places.add(at);
    expect(at >= CRC_AT && at < BATCH_AT + data.length).toBe(false);
  }
  expect(places.has(BATCH_AT + data.length)).toBe(true);
  expect([...places].some((at) => at < BATCH_AT)).toBe(true);
});

test('without a batch that is sound, a flip in one waits', () => {
  const broken = batch(20);
  broken[70] = 1;
  const { at, network } = flipped(1, 'batch', [HEAD, broken]);
  expect(at).toBe(-1);
  expect(network.flips).toHaveLength(1);
  expect(network.flipped).toEqual([]);
});

test('what goes another way is left alone', () => {
  const { network, dice, end } = rig(1);
  network.flips.push({ from: 1, to: 0, place: 'header' });
  const parts = [HEAD];
  expect(flipParts(network, dice, end, parts)).toBe(parts);
});
