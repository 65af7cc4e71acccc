/** Checkpoint files of many partitions are made in slices: each is whole, and other work comes in between. */
import { describe, expect, it } from 'vitest';
import { nodeDeadlineMs } from '../../core/broker/node.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { produce } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

const MARKS = 'replication-offset-checkpoint';
const STARTS = 'log-start-offset-checkpoint';
const POINTS = 'recovery-point-offset-checkpoint';

function linesOf(world: ToyWorld, name: string): string[] {
  const bytes = world.files.get(`/data/node/${name}`)?.bytes ?? new Uint8Array(0);
  const [version, count, ...lines] = new TextDecoder().decode(bytes).split('\n');
  expect([version, lines.pop()]).toEqual(['0', '']);
  expect(lines).toHaveLength(Number(count));
  return lines;
}

function numbered(topic: string, count: number, offsets: ReadonlyMap<number, number> = new Map()): string[] {
  return Array.from({ length: count }, (_, i) => `${topic} ${i} ${offsets.get(i) ?? 0}`);
}

/** A node with two topics whose file of high watermarks is in the making. */
function started(a: number, b: number): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld({ 'tidemark.topics': `a:${a},b:${b}` }).start();
  const client = world.connect();
  produce(world, client, 2, ['x', 'y', 'z'], { topic: 'a' });
  produce(world, client, b - 1, ['x'], { topic: 'b' });
  world.pass(4_999);
  world.log.length = 0;
  return { world, client };
}

function writesOf(world: ToyWorld, name: string): number {
  return world.log.filter((line) => line === `replace /data/node/${name}`).length;
}

function remove(world: ToyWorld, client: ToyConnection, name: string): void {
  const body = { topics: [{ name, topicId: ZERO_UUID }], timeoutMs: 9 };
  expect(world.ask(client, 20, 6, body).responses[0]!.errorCode).toBe(0);
}

describe('a checkpoint of many partitions', () => {
  it('is made over several steps a millisecond apart, and holds every partition once', () => {
    const { world } = started(50, 70);
    let steps = 0;
    for (; writesOf(world, MARKS) === 0; steps++) {
      expect(steps).toBeLessThan(10);
      expect(nodeDeadlineMs(world.node)).toBeLessThanOrEqual(world.nowMs + 1);
      world.pass(1);
    }
    expect(steps).toBeGreaterThan(3);
    const lines = [...numbered('a', 50, new Map([[2, 3]])), ...numbered('b', 70, new Map([[69, 1]]))];
    expect(linesOf(world, MARKS)).toEqual(lines);
    world.pass(60_000);
    expect(writesOf(world, MARKS)).toBe(1);
  });

  it('says of each partition what it was in the step of its slice', () => {
    const { world, client } = started(50, 70);
    world.pass(1);
    produce(world, client, 0, ['later'], { topic: 'a' });
    produce(world, client, 69, ['later'], { topic: 'b' });
    world.pass(10);
    const lines = [...numbered('a', 50, new Map([[2, 3]])), ...numbered('b', 70, new Map([[69, 2]]))];
    expect(linesOf(world, MARKS)).toEqual(lines);
    world.pass(5_000);
    expect(linesOf(world, MARKS)[0]).toBe('a 0 1');
  });

  it('leaves out a topic that is gone by its slice, and is written anew for one that went after it', () => {
    for (const [name, other, count, writes] of [
      ['b', 'a', 50, 1],
      ['a', 'b', 70, 2],
    ] as const) {
      const { world, client } = started(50, 70);
      world.pass(1);
      remove(world, client, name);
      world.pass(30);
      expect(linesOf(world, MARKS).map((line) => line.split(' ')[0])).toEqual(new Array(count).fill(other));
      expect(writesOf(world, MARKS), name).toBe(writes);
    }
  });

  it('is whole after a stop that came between two slices', () => {
    const { world } = started(50, 70);
    world.pass(1);
    world.push({ kind: 'stop' });
    expect(world.exit?.code).toBe(0);
    const lines = [...numbered('a', 50, new Map([[2, 3]])), ...numbered('b', 70, new Map([[69, 1]]))];
    expect(linesOf(world, MARKS)).toEqual(lines);
    expect(linesOf(world, POINTS).slice(0, -1)).toEqual(lines);
    expect(linesOf(world, POINTS).at(-1)).toMatch(/^__cluster_metadata 0 \d+$/);
  });

  it('can be waited for by DeleteRecords', () => {
    const { world, client } = started(50, 70);
    const topics = [{ name: 'a', partitions: [{ partitionIndex: 2, offset: 2 }] }];
    world.send(client, 21, 2, { topics, timeoutMs: 9 });
    expect(world.pending(client)).toEqual([]);
    world.pass(30);
    expect(world.take(client, 21, 2).topics[0]!.partitions[0]!.lowWatermark).toBe(2);
    expect(linesOf(world, STARTS)).toEqual(['a 2 2']);
    expect(linesOf(world, MARKS)[2]).toBe('a 2 3');
    expect(writesOf(world, POINTS)).toBe(0);
  });
});
