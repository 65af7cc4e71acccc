/** Checkpoint lines of a deleted topic: none is believed of the next topic of its name. */
import { describe, expect, it } from 'vitest';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { recoveryPoint } from '../../core/log/log.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { fetchBody, KEY, produce, valuesOf, wanted } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

const FILES = ['recovery-point-offset-checkpoint', 'replication-offset-checkpoint', 'log-start-offset-checkpoint'];
const TOPIC = { name: 'a', numPartitions: 1, replicationFactor: -1, assignments: [], configs: [] };

/** A node with a topic `a` of three records that starts at offset 2, and lines that say so in every file. */
function started(): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld({ 'tidemark.topics': '' }).start();
  const client = world.connect();
  askFor(world, client);
  expect(world.take(client, 19, 7).topics[0]!.errorCode).toBe(0);
  world.pass(61_000);
  for (const value of ['x', 'y', 'z']) produce(world, client, 0, [value], { topic: 'a' });
  const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset: 2 }] }];
  expect(world.ask(client, 21, 2, { topics, timeoutMs: 9 }).topics[0]!.partitions[0]!.errorCode).toBe(0);
  world.pass(6_000);
  expect(FILES.map((name) => linesOf(world, name))).toEqual([['a 0 3'], ['a 0 3'], ['a 0 2']]);
  return { world, client };
}

function askFor(world: ToyWorld, client: ToyConnection): void {
  world.send(client, 19, 7, { topics: [TOPIC], timeoutMs: 600_000, validateOnly: false });
}

function remove(world: ToyWorld, client: ToyConnection): void {
  const body = { topics: [{ name: 'a', topicId: ZERO_UUID }], timeoutMs: 9 };
  expect(world.ask(client, 20, 6, body).responses[0]!.errorCode).toBe(0);
}

/** The lines about `a`. */
function linesOf(world: ToyWorld, name: string): string[] {
  const bytes = world.files.get(`/data/node/${name}`)?.bytes ?? new Uint8Array(0);
  return new TextDecoder()
    .decode(bytes)
    .split('\n')
    .filter((line) => line.startsWith('a '));
}

function readAll(world: ToyWorld): string[] {
  const body = fetchBody([wanted(0, 0)], { maxWaitMs: 0, topic: 'a' });
  return valuesOf(world.ask(world.connect(), KEY.fetch, 11, body));
}

describe('the lines of a deleted topic', () => {
  it('are gone from every file before the name is used again', () => {
    const { world, client } = started();
    world.log.length = 0;
    remove(world, client);
    askFor(world, client);
    expect(world.take(client, 19, 7).topics[0]!.errorCode).toBe(0);
    const made = world.log.indexOf('makeFolder /data/node/a-0');
    for (const name of FILES) {
      const at = world.log.indexOf(`replace /data/node/${name}`);
      expect(at, name).toBeGreaterThanOrEqual(0);
      expect(at, name).toBeLessThan(made);
    }
  });

  it('are not waited for where there are none', () => {
    const world = new ToyWorld({ 'tidemark.topics': '' }).start();
    const client = world.connect();
    askFor(world, client);
    world.take(client, 19, 7);
    world.log.length = 0;
    remove(world, client);
    expect(world.log.filter((line) => line.endsWith('offset-checkpoint'))).toEqual([]);
  });

  it.each(FILES)('keep the name taken while the disk has no room for %s, which is tried again, not at once', (name) => {
    const { world, client } = started();
    world.fault = { kind: 'replace', on: name, error: 'noSpace' };
    world.log.length = 0;
    remove(world, client);
    askFor(world, client);
    world.pass(10_500);
    expect(world.pending(client)).toEqual([]);
    const tries = world.log.filter((line) => line === `replace /data/node/${name}`).length;
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(12);
    // What was set aside may be what fills the disk: it is emptied. Its name tells a start of the lines that are left.
    const setAsides = (): string[] => [...world.folders].filter((folder) => folder.endsWith('-delete'));
    const [setAside] = setAsides() as [string];
    const left = [...world.files.keys()].filter((path) => path.startsWith(`${setAside}/`));
    expect(left).toEqual([`${setAside}/partition.metadata`]);
    world.fault = null;
    world.pass(2_000);
    expect(setAsides()).toEqual([]);
    expect(world.take(client, 19, 7).topics[0]!.errorCode).toBe(0);
    expect(produce(world, client, 0, ['new'], { topic: 'a' })).toMatchObject({ errorCode: 0, baseOffset: 0 });
    world.crash('process');
    expect(readAll(world)).toEqual(['0:0=new']);
  });

  it.each([
    ['the disk had room for again', false],
    ['the disk still has no room for', true],
  ])('that a crash left are left out by the next start, in files that %s', (_, isFull) => {
    const { world, client } = started();
    world.fault = { kind: 'replace', on: 'log-start-offset-checkpoint', error: 'noSpace' };
    remove(world, client);
    world.crash('process', false);
    expect(linesOf(world, 'log-start-offset-checkpoint')).toEqual(['a 0 2']);
    if (isFull) world.fault = { kind: 'replace', on: 'log-start-offset-checkpoint', error: 'noSpace' };
    world.start();
    expect(world.isReady).toBe(true);
    const again = world.connect();
    askFor(world, again);
    expect(world.pending(again)).toHaveLength(isFull ? 0 : 1);
    world.fault = null;
    world.pass(2_000);
    expect(world.take(again, 19, 7).topics[0]!.errorCode).toBe(0);
    for (const value of ['n', 'm', 'o']) produce(world, again, 0, [value], { topic: 'a' });
    world.crash('process');
    expect(readAll(world)).toEqual(['0:0=n', '0:1=m', '0:2=o']);
  });

  it.each([
    ['at once, of log starts', 0, 'log-start-offset-checkpoint'],
    ['when what was set aside was emptied, of log starts', 3_000, 'log-start-offset-checkpoint'],
    ['when what was set aside was emptied, of watermarks', 3_000, 'replication-offset-checkpoint'],
  ])('are left out where the next topic of the name was committed and has no folder, %s', (_, afterMs, name) => {
    const { world, client } = started();
    world.fault = { kind: 'replace', on: name, error: 'noSpace' };
    remove(world, client);
    askFor(world, client);
    world.pass(afterMs);
    world.crash('process');
    expect(linesOf(world, name)).toEqual([]);
    const again = world.connect();
    for (const value of ['n', 'm', 'o']) {
      expect(produce(world, again, 0, [value], { topic: 'a' }).errorCode).toBe(0);
    }
    world.crash('power');
    expect(readAll(world)).toEqual(['0:0=n', '0:1=m', '0:2=o']);
  });
});

describe('recovery points that could not be written', () => {
  it('are written again after a while, though nothing more is produced', () => {
    const world = new ToyWorld({ 'tidemark.topics': 'a' }).start();
    const name = 'recovery-point-offset-checkpoint';
    world.pass(61_000);
    world.fault = { kind: 'replace', on: name, error: 'noSpace' };
    produce(world, world.connect(), 0, ['x'], { topic: 'a' });
    world.pass(15_000);
    expect(linesOf(world, name)).toEqual([]);
    const tries = world.log.filter((line) => line === `replace /data/node/${name}`).length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(17);
    world.fault = null;
    world.pass(2_000);
    expect(linesOf(world, name)).toEqual(['a 0 1']);
  });
});

describe('where a log starts', () => {
  it('is acknowledged once a high watermark that reaches it is written down too, or else refused', () => {
    const world = new ToyWorld({ 'tidemark.topics': 'a:1' }).start();
    const client = world.connect();
    for (const value of ['x', 'y', 'z']) produce(world, client, 0, [value], { topic: 'a' });
    const deleteAll = (): number => {
      const topics = [{ name: 'a', partitions: [{ partitionIndex: 0, offset: 3 }] }];
      return world.ask(client, 21, 2, { topics, timeoutMs: 9 }).topics[0]!.partitions[0]!.errorCode;
    };
    world.fault = { kind: 'replace', on: 'replication-offset-checkpoint', error: 'noSpace' };
    expect(deleteAll()).toBe(ErrorCode.KAFKA_STORAGE_ERROR);
    expect(linesOf(world, 'log-start-offset-checkpoint')).toEqual([]);
    world.fault = null;
    world.pass(1_000);
    expect(deleteAll()).toBe(ErrorCode.NONE);
    expect(linesOf(world, 'replication-offset-checkpoint')).toEqual(['a 0 3']);
    expect(linesOf(world, 'log-start-offset-checkpoint')).toEqual(['a 0 3']);
  });
});

describe('leader epochs that a full disk kept out of their file', () => {
  it('are scanned for after a crash, and written at a clean stop, after which nobody looks', () => {
    const world = new ToyWorld({ 'tidemark.topics': 'a' }).start();
    produce(world, world.connect(), 0, ['x'], { topic: 'a' });
    world.crash('process');
    world.fault = { kind: 'replace', on: 'leader-epoch-checkpoint', error: 'noSpace' };
    produce(world, world.connect(), 0, ['y'], { topic: 'a' });
    const { log } = world.node.topics.byName.get('a')!.partitions[0]!;
    expect(log.epochs.map(({ startOffset }) => startOffset)).toEqual([0, 1]);
    expect([log.durable, recoveryPoint(log)]).toEqual([2, 1]);
    world.fault = null;
    world.push({ kind: 'stop' });
    const bytes = world.files.get('/data/node/a-0/leader-epoch-checkpoint')!.bytes;
    expect(new TextDecoder().decode(bytes).split('\n')[1]).toBe('2');
  });
});
