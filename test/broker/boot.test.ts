/** How a node starts: on nothing, on its own directory, on somebody else's, after a clean stop and after a crash. */
import { describe, expect, it } from 'vitest';
import { batchOf, fetchBody, KEY, produce, produceBody, valuesOf, wanted } from './speaking.ts';
import { ToyWorld } from './toy-world.ts';

function text(world: ToyWorld, path: string): string {
  return new TextDecoder().decode(world.files.get(path)?.bytes);
}

function put(world: ToyWorld, path: string, content: string): void {
  const bytes = new TextEncoder().encode(content);
  world.files.set(path, { bytes, syncedBytes: bytes.length });
}

function readAll(world: ToyWorld, partition = 0): string[] {
  return valuesOf(world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(partition, 0)], { maxWaitMs: 0 })));
}

describe('a first start', () => {
  it('formats a missing directory, makes the configured topics and serves', () => {
    const world = new ToyWorld().start();
    expect(world.exit).toBe(null);
    expect(world.isReady).toBe(true);
    expect(text(world, '/data/node/meta.properties')).toMatch(/^#\ncluster.id=.{22}\ndirectory.id=.{22}\nnode.id=1\n/);
    const id = text(world, '/data/node/orders-0/partition.metadata');
    expect(id).toMatch(/^version: 0\ntopic_id: .{22}$/);
    expect(text(world, '/data/node/orders-1/partition.metadata')).toBe(id);
    expect(world.said.join('\n')).toContain('not there yet: retention');
  });

  it('awaits meta.properties before anything else is made', () => {
    const world = new ToyWorld().start();
    const first = world.log.findIndex((line) => line.startsWith('makeFolder /data/node/orders'));
    expect(world.log.indexOf('replace /data/node/meta.properties')).toBeLessThan(first);
  });

  it('begins a metadata log, and writes meta.properties last of what makes a directory', () => {
    const world = new ToyWorld().start();
    const at = (line: string) => world.log.indexOf(line);
    const bootstrap = '/data/node/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint';
    expect(at(`replace ${bootstrap}`)).toBeGreaterThan(0);
    expect(at(`replace ${bootstrap}`)).toBeLessThan(at('syncFolder /data/node'));
    expect(at('syncFolder /data/node')).toBeLessThan(at('replace /data/node/meta.properties'));
  });

  it('formats anew what a crash left half formatted', () => {
    const world = new ToyWorld();
    world.fault = { kind: 'replace', on: 'meta.properties', error: 'io' };
    world.start();
    expect(world.exit?.code).toBe(1);
    expect(world.crash('process').isReady).toBe(true);
  });

  it('takes the cluster id of the configuration', () => {
    const world = new ToyWorld({ 'cluster.id': 'our-cluster' }).start();
    expect(text(world, '/data/node/meta.properties')).toContain('cluster.id=our-cluster\n');
  });

  it('says in one sentence that a port is in use', () => {
    const world = new ToyWorld();
    world.refusesToListen = true;
    world.start();
    expect(world.exit).toEqual(expect.objectContaining({ code: 1 }));
    expect(world.exit?.reason).toBe('cannot listen on PLAINTEXT://127.0.0.1:9092: the port is in use');
  });
});

describe('a directory that is not ours is refused and not touched', () => {
  it.each([
    ['another node', '#\ncluster.id=a\nnode.id=7\nversion=1\n', 'belongs to node 7, and this is node 1'],
    ['a higher version', '#\ncluster.id=a\nnode.id=1\nversion=2\n', 'has version 2'],
    ['a text that makes no sense', 'hello', 'is not name=value'],
  ])('%s', (_title, meta, reason) => {
    const world = new ToyWorld();
    world.folders.add('/data/node');
    put(world, '/data/node/meta.properties', meta);
    const before = [...world.files.keys()];
    world.start();
    expect(world.exit?.code).toBe(1);
    expect(world.exit?.reason).toContain(reason);
    expect([...world.files.keys()]).toEqual(before);
    expect(world.log.filter((line) => !/^(list|load) /.test(line))).toEqual([]);
  });

  it('another cluster', () => {
    const world = new ToyWorld({ 'cluster.id': 'b' });
    world.folders.add('/data/node');
    put(world, '/data/node/meta.properties', 'cluster.id=a\nnode.id=1\nversion=1\n');
    expect(world.start().exit?.reason).toContain('belongs to cluster a, not to b');
  });

  it('files without meta.properties', () => {
    const world = new ToyWorld();
    world.folders.add('/data/node');
    put(world, '/data/node/photo.jpg', 'x');
    expect(world.start().exit?.reason).toContain("is not Tidemark's: it holds photo.jpg but no meta.properties");
  });

  it('topics without a metadata log', () => {
    const world = new ToyWorld();
    world.folders.add('/data/node').add('/data/node/orders-0');
    put(world, '/data/node/meta.properties', 'cluster.id=a\nnode.id=1\nversion=1\n');
    expect(world.start().exit?.reason).toContain('holds no __cluster_metadata-0: an earlier, unpublished version');
  });

  it('a metadata log without meta.properties', () => {
    const world = new ToyWorld().start();
    world.crash('process', false);
    world.files.delete('/data/node/meta.properties');
    for (const name of [...world.folders]) if (name.includes('orders')) world.folders.delete(name);
    for (const name of [...world.files.keys()]) if (!name.includes('__cluster')) world.files.delete(name);
    expect(world.start().exit?.reason).toContain('it holds __cluster_metadata-0 but no meta.properties');
  });

  it('a lock file alone is no reason to refuse', () => {
    const world = new ToyWorld();
    world.folders.add('/data/node');
    put(world, '/data/node/.lock', '');
    expect(world.start().isReady).toBe(true);
  });
});

describe('a restart', () => {
  it('after a clean stop finds every record, and the marker was there', () => {
    const world = new ToyWorld().start();
    produce(world, world.connect(), 0, ['a', 'b']);
    world.push({ kind: 'stop' });
    expect(world.exit).toEqual(expect.objectContaining({ code: 0 }));
    expect(text(world, '/data/node/.kafka_cleanshutdown')).toMatch(/^\{"version":0,"brokerEpoch":[1-9][0-9]*\}$/);
    expect(text(world, '/data/node/replication-offset-checkpoint')).toBe('0\n2\norders 0 2\norders 1 0\n');
    world.crash('power');
    expect(world.isReady).toBe(true);
    expect(world.files.has('/data/node/.kafka_cleanshutdown')).toBe(false);
    expect(readAll(world)).toEqual(['0:0=a', '0:1=b']);
  });

  it('removes the marker of the clean stop, durably, before anything is written', () => {
    const world = new ToyWorld().start();
    world.push({ kind: 'stop' });
    world.crash('process');
    const writes = world.log.filter((line) => !/^(list|load) /.test(line));
    expect(writes.slice(0, 3)).toEqual([
      'remove /data/node/.kafka_cleanshutdown',
      'remove /data/node/.tidemark-logs-at-rest',
      'syncFolder /data/node',
    ]);
  });

  it.each(['process', 'power'] as const)('after a %s crash finds every record that was acknowledged', (kind) => {
    const world = new ToyWorld().start();
    const connection = world.connect();
    for (let i = 0; i < 20; i++) expect(produce(world, connection, i % 2, [`v${i}`]).errorCode).toBe(0);
    world.crash(kind);
    expect(world.exit).toBe(null);
    expect(readAll(world, 0)).toEqual(Array.from({ length: 10 }, (_, i) => `0:${i}=v${2 * i}`));
    expect(readAll(world, 1)).toHaveLength(10);
  });

  it('leads under a new epoch', () => {
    const world = new ToyWorld().start();
    const epoch = () => {
      const body = { topics: [{ topicId: '', name: 'orders' }] };
      return world.ask(world.connect(), KEY.metadata, 7, body).topics[0]?.partitions[0]?.leaderEpoch;
    };
    const before = epoch();
    produce(world, world.connect(), 0, ['a']);
    world.crash('process');
    expect(epoch()).toBeGreaterThan(before ?? 0);
  });

  it('keeps topic ids and topics that were created by a client', () => {
    const world = new ToyWorld().start();
    const body = { topics: [{ topicId: '', name: 'mine' }], allowAutoTopicCreation: true };
    const id = world.ask(world.connect(), KEY.metadata, 10, {
      ...body,
      topics: [{ name: 'mine', topicId: 'AAAAAAAAAAAAAAAAAAAAAA' }],
    }).topics[0]?.topicId;
    world.crash('power');
    const all = world.ask(world.connect(), KEY.metadata, 10, { topics: null });
    expect(all.topics.map(({ name }) => name)).toEqual(['mine', 'orders']);
    expect(all.topics[0]?.topicId).toBe(id);
  });

  it('passes over a checkpoint that makes no sense, and says so', () => {
    const world = new ToyWorld().start();
    produce(world, world.connect(), 0, ['a']);
    world.crash('process', false);
    put(world, '/data/node/recovery-point-offset-checkpoint', 'nonsense');
    world.start();
    expect(world.said.join('\n')).toContain('a file makes no sense and is passed over');
    expect(readAll(world)).toEqual(['0:0=a']);
  });
});

describe('what a crash in the making of a topic leaves', () => {
  it('a folder of no topic that holds no records is taken away', () => {
    const world = new ToyWorld({ 'tidemark.topics': '' }).start();
    world.crash('process', false);
    world.folders.add('/data/node/half-1').add('/data/node/half-2');
    put(world, '/data/node/half-2/partition.metadata', 'version: 0\ntopic_id: Rb7sP1xVQ2uQWm0jvW5b4A');
    world.start();
    expect(world.isReady).toBe(true);
    expect([...world.folders].filter((name) => name.includes('half'))).toEqual([]);
    expect(world.ask(world.connect(), KEY.metadata, 4, { topics: null, allowAutoTopicCreation: false }).topics).toEqual(
      [],
    );
  });

  it('a lost folder of a complete topic is made anew, loudly, under the same id', () => {
    const world = new ToyWorld({ 'tidemark.topics': 'orders:3' }).start();
    produce(world, world.connect(), 1, ['a', 'b']);
    world.pass(10_000);
    world.crash('process', false);
    for (const name of [...world.files.keys()]) if (name.includes('orders-1')) world.files.delete(name);
    world.folders.delete('/data/node/orders-1');
    world.start();
    expect(world.isReady).toBe(true);
    expect(world.said.join('\n')).toContain('error: a partition has lost its folder and its records');
    const id = text(world, '/data/node/orders-0/partition.metadata');
    expect(text(world, '/data/node/orders-1/partition.metadata')).toBe(id);
    // The offsets that were given out are never given out again.
    expect(produce(world, world.connect(), 1, ['c'])).toMatchObject({ errorCode: 0, baseOffset: 2 });
  });

  it('a folder with records of another topic is set aside, loudly, and its name begins anew', () => {
    const world = new ToyWorld().start();
    produce(world, world.connect(), 1, ['of another topic']);
    world.crash('process', false);
    put(world, '/data/node/orders-1/partition.metadata', 'version: 0\ntopic_id: Rb7sP1xVQ2uQWm0jvW5b4A');
    world.start();
    expect(world.isReady).toBe(true);
    expect(world.said.join('\n')).toContain('warn: a folder belongs to no topic and is set aside folder=orders-1');
    expect([...world.folders].filter((name) => name.endsWith('-stray'))).toEqual([
      '/data/node/orders-1.45beec3f5c55436b905a6d23bd6e5be0-stray',
    ]);
    expect(readAll(world, 1)).toEqual([]);
  });
});

describe('a clean stop', () => {
  it('waits for the syncs of what was produced, answers, and closes the connection behind the answer', () => {
    const world = new ToyWorld().start();
    const connection = world.connect();
    world.holdsSyncs = true;
    const asked = world.send(connection, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    world.push({ kind: 'stop' });
    expect(connection.closed).toBe(false);
    world.releaseSyncs();
    expect(world.pending(connection)).toEqual([asked]);
    expect(connection.closed).toBe(true);
    expect(world.exit?.code).toBe(0);
  });

  it('answers a parked fetch at once', () => {
    const world = new ToyWorld().start();
    const connection = world.connect();
    const asked = world.send(connection, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxWaitMs: 30_000 }));
    expect(world.pending(connection)).toEqual([]);
    world.push({ kind: 'stop' });
    expect(world.pending(connection)).toEqual([asked]);
    expect(world.exit?.code).toBe(0);
  });

  it('is given up after its limit when a disk does not answer', () => {
    const world = new ToyWorld().start();
    world.holdsSyncs = true;
    world.send(world.connect(), KEY.produce, 9, produceBody(0, batchOf(['a']), { timeoutMs: 600_000 }));
    world.push({ kind: 'stop' });
    world.pass(40_000);
    expect(world.exit?.code).toBe(1);
    expect(world.exit?.reason).toContain('could not stop cleanly');
    expect(world.files.has('/data/node/.kafka_cleanshutdown')).toBe(false);
  });
});
