/** Reading ahead of clients: what is charged for it, who gets it, and that all of it is given back. */
import { describe, expect, it } from 'vitest';
import { AHEAD_IDLE_MS } from '../../core/log/ahead.ts';
import { batchOf, fetchBody, KEY, produceBody, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

const COUNT = 24;
const MOST_BYTES = 40_000;

/** Records that are in files only, and no more than `budgetBytes` for answers. */
function cold(budgetBytes = 1_048_576): ToyWorld {
  const world = new ToyWorld({ 'tidemark.responses.max.bytes': `${budgetBytes}` }).start();
  const client = world.connect();
  for (let i = 0; i < COUNT; i++) {
    world.ask(client, KEY.produce, 9, produceBody(0, batchOf([`${i}-${'x'.repeat(10_000)}`])));
  }
  return world.crash('process');
}

function fetch(world: ToyWorld, client: ToyConnection, offset: number, partitionMaxBytes = MOST_BYTES): string[] {
  const body = fetchBody([wanted(0, offset, { partitionMaxBytes })], { maxWaitMs: 0 });
  return valuesOf(world.ask(client, KEY.fetch, 11, body)).map((value) => value.split('-')[0] ?? '');
}

function readsOf(world: ToyWorld): number {
  return world.log.filter((line) => line.startsWith('read ') && line.endsWith('.log')).length;
}

describe('a client that reads files in sequence', () => {
  it('is read ahead of from its third fetch on, and gets every record once', () => {
    const world = cold();
    const client = world.connect();
    const seen: string[] = [];
    while (seen.length < COUNT) {
      const before = readsOf(world);
      const some = fetch(world, client, seen.length);
      // The one read that a fetch may still cause is the next one's.
      if (seen.length > 6) expect(readsOf(world)).toBeLessThanOrEqual(before + 1);
      seen.push(...some);
      if (seen.length > 6 && seen.length < COUNT) expect(world.node.aheadBytes).toBe(MOST_BYTES);
    }
    expect(seen).toEqual(Array.from({ length: COUNT }, (_, i) => `0:${i}=${i}`));
    expect(world.node.aheadBytes).toBe(0);
  });

  it('has its answer before the next range is asked of the disk', () => {
    const world = cold();
    const client = world.connect();
    for (const offset of [0, 3, 6]) fetch(world, client, offset);
    world.effectsLeft = 1;
    const body = fetchBody([wanted(0, 9, { partitionMaxBytes: MOST_BYTES })], { maxWaitMs: 0 });
    world.send(client, KEY.fetch, 11, body);
    expect(valuesOf(world.take(client, KEY.fetch, 11)).length).toBe(3);
  });

  it('and goes away leaves nothing behind', () => {
    const world = cold();
    const client = world.connect();
    for (const offset of [0, 3, 6]) fetch(world, client, offset);
    expect(world.node.aheadBytes).toBe(MOST_BYTES);
    world.disconnect(client);
    world.pass(AHEAD_IDLE_MS);
    expect([world.node.aheadBytes, world.node.readingBytes]).toEqual([0, 0]);
  });

  it('takes no part of the budget that answers need', () => {
    const world = cold();
    const client = world.connect();
    for (const offset of [0, 3, 6]) fetch(world, client, offset, 300_000);
    expect(world.node.aheadBytes).toBe(0);
  });

  it('waits for a read ahead that is under way, as for one of its own', () => {
    const world = cold();
    const client = world.connect();
    for (const offset of [0, 3]) fetch(world, client, offset);
    world.pass(AHEAD_IDLE_MS);
    world.holdsReads = true;
    const body = fetchBody([wanted(0, 6, { partitionMaxBytes: MOST_BYTES })], { maxWaitMs: 0 });
    world.send(client, KEY.fetch, 11, body);
    world.releaseReads();
    world.holdsReads = true;
    world.take(client, KEY.fetch, 11);
    const reads = readsOf(world);
    const next = fetchBody([wanted(0, 9, { partitionMaxBytes: MOST_BYTES })], { maxWaitMs: 0 });
    world.send(client, KEY.fetch, 11, next);
    expect(world.pending(client)).toEqual([]);
    expect(readsOf(world)).toBeLessThanOrEqual(reads + 1);
    world.releaseReads();
    expect(valuesOf(world.take(client, KEY.fetch, 11)).length).toBe(3);
  });

  it('of a topic that is deleted leaves nothing behind', () => {
    const world = cold();
    const client = world.connect();
    for (const offset of [0, 3, 6]) fetch(world, client, offset);
    expect(world.node.aheadBytes).toBe(MOST_BYTES);
    world.ask(client, 20, 4, { topicNames: ['orders'], timeoutMs: 1000 });
    expect(world.node.aheadBytes).toBe(0);
  });
});
