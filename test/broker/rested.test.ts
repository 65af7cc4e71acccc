/** Logs at rest in a node: a start after a clean stop looks into no folder, and believes nothing that may be stale. */
import { describe, expect, it } from 'vitest';
import { RESTED } from '../../core/broker/boot/rested.ts';
import { fetchBody, KEY, produce, valuesOf, wanted } from './speaking.ts';
import { ToyWorld } from './toy-world.ts';

const FILE = `/data/node/${RESTED}`;
const MARKER = '/data/node/.kafka_cleanshutdown';

function stopped(records: readonly string[] = ['a']): ToyWorld {
  const world = new ToyWorld().start();
  const connection = world.connect();
  for (const value of records) produce(world, connection, 0, [value]);
  world.push({ kind: 'stop' });
  expect(world.exit?.code).toBe(0);
  return world;
}

function readAll(world: ToyWorld, partition = 0): string[] {
  const fetch = fetchBody([wanted(partition, 0)], { maxWaitMs: 0 });
  return valuesOf(world.ask(world.connect(), KEY.fetch, 11, fetch)).map((value) => value.slice(value.indexOf('=') + 1));
}

/** Effects of the start that concern a partition's folder. */
function looks(world: ToyWorld): string[] {
  return world.log.filter((line) => line.includes('/orders-'));
}

describe('a start after a clean stop', () => {
  it('looks into no folder, and serves what there was', () => {
    const world = stopped(['a', 'b']);
    world.crash('power');
    expect(world.isReady).toBe(true);
    expect(looks(world)).toEqual([]);
    expect(readAll(world)).toEqual(['a', 'b']);
    expect(produce(world, world.connect(), 0, ['c'])).toBeDefined();
    expect(readAll(world)).toEqual(['a', 'b', 'c']);
  });

  it('removes the file with the marker, durably, before anything is written; a crash then recovers', () => {
    const world = stopped();
    world.crash('power');
    expect(world.files.has(FILE)).toBe(false);
    expect(world.files.has(MARKER)).toBe(false);
    world.crash('power');
    expect(looks(world)).not.toEqual([]);
    expect(readAll(world)).toEqual(['a']);
  });

  it.each([
    ['its marker is of another life', (world: ToyWorld) => put(world, MARKER, '{"version":0,"brokerEpoch":1}')],
    ['its marker names no life', (world: ToyWorld) => put(world, MARKER, '')],
    ['there is no marker', (world: ToyWorld) => void world.files.delete(MARKER)],
    ['a bit has flipped', flip],
    ['it is torn', (world: ToyWorld) => cut(world, 40)],
    ['it is empty', (world: ToyWorld) => cut(world, 0)],
  ])('looks into every folder where %s', (_title, spoil) => {
    const world = stopped();
    spoil(world);
    world.crash('process');
    expect(world.isReady).toBe(true);
    expect(world.files.has(FILE)).toBe(false);
    expect(looks(world).some((line) => line.startsWith('list /data/node/orders-1'))).toBe(true);
    expect(readAll(world)).toEqual(['a']);
  });

  it('is not fooled by the file of an earlier stop', () => {
    const world = stopped();
    const old = world.files.get(FILE);
    world.crash('process');
    produce(world, world.connect(), 0, ['b']);
    world.push({ kind: 'stop' });
    if (old !== undefined) world.files.set(FILE, old);
    world.crash('process');
    expect(world.said.join('\n')).toContain('logs at rest are not believed');
    expect(readAll(world)).toEqual(['a', 'b']);
  });

  it('makes a folder that has gone meanwhile, and says so', () => {
    const world = stopped();
    world.folders.delete('/data/node/orders-0');
    for (const path of [...world.files.keys()]) if (path.startsWith('/data/node/orders-0/')) world.files.delete(path);
    world.crash('process');
    expect(world.said.join('\n')).toContain('a partition has lost its folder and its records');
    expect(world.isReady).toBe(true);
  });

  it('does without where the disk has no room for the file', () => {
    const world = new ToyWorld().start();
    world.fault = { kind: 'replace', on: RESTED, error: 'noSpace' };
    world.push({ kind: 'stop' });
    expect(world.exit?.code).toBe(0);
    expect(world.crash('process').isReady).toBe(true);
  });
});

function put(world: ToyWorld, path: string, content: string): void {
  const bytes = new TextEncoder().encode(content);
  world.files.set(path, { bytes, syncedBytes: bytes.length });
}

function cut(world: ToyWorld, length: number): void {
  const bytes = (world.files.get(FILE)?.bytes ?? new Uint8Array()).slice(0, length);
  world.files.set(FILE, { bytes, syncedBytes: length });
}

function flip(world: ToyWorld): void {
  const bytes = (world.files.get(FILE)?.bytes ?? new Uint8Array()).slice();
  bytes[bytes.length - 2] = (bytes[bytes.length - 2] ?? 0) ^ 4;
  world.files.set(FILE, { bytes, syncedBytes: bytes.length });
}
