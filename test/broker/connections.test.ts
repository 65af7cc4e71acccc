/** Connections: the order of answers, limits, hostile frames, and ends. */
import { describe, expect, it } from 'vitest';
import { RESPONSE_WINDOW_BYTES } from '../../core/broker/connections.ts';
import { COMPLAINTS_MAX } from '../../core/broker/say.ts';
import { batchOf, fetchBody, KEY, produce, produceBody, valuesOf, wanted } from './speaking.ts';
import { ToyWorld } from './toy-world.ts';

describe('answers', () => {
  it('leave in the order of their requests, though the work behind a long poll is done meanwhile', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const poll = world.send(client, KEY.fetch, 11, fetchBody([wanted(1, 0)], { maxWaitMs: 1000 }));
    const write = world.send(client, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    const names = world.send(client, KEY.metadata, 9, { topics: null });
    expect(world.pending(client)).toEqual([]);
    expect(valuesOf(world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 0)])))).toEqual(['0:0=a']);
    world.pass(1000);
    expect(world.pending(client)).toEqual([poll, write, names]);
  });

  it('to requests of other connections do not wait', () => {
    const world = new ToyWorld().start();
    world.holdsSyncs = true;
    const first = world.connect();
    world.send(first, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    expect(world.ask(world.connect(), KEY.metadata, 9, { topics: null }).topics).toHaveLength(1);
    expect(world.pending(first)).toEqual([]);
  });
});

describe('a client that does not read', () => {
  it('is not read either once its window is full, and goes on when it has read', () => {
    const world = new ToyWorld().start();
    const big = 'x'.repeat(900_000);
    for (let i = 0; i < 3; i++) produce(world, world.connect(), 0, [big]);
    const client = world.connect();
    world.holdsSent = true;
    let asked = 0;
    while (!client.paused && asked < 100) {
      world.send(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxBytes: 1 }));
      asked += 1;
    }
    expect(client.unsent).toBeGreaterThanOrEqual(RESPONSE_WINDOW_BYTES);
    expect(client.unsent).toBeLessThan(RESPONSE_WINDOW_BYTES + 1_000_000);
    expect(world.pending(client)).toHaveLength(asked);
    world.holdsSent = false;
    world.confirm(client);
    world.push({ kind: 'wake' });
    expect(client.paused).toBe(false);
    expect(world.pending(client)).toHaveLength(asked);
  });

  it('is not read at all meanwhile, so that what it sends does not spend the budget of requests', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    produce(world, client, 0, ['x'.repeat(900_000)]);
    world.holdsSent = true;
    const fetch = fetchBody([wanted(0, 0)], { maxBytes: 1 });
    while (client.unsent < RESPONSE_WINDOW_BYTES) world.send(client, KEY.fetch, 11, fetch);
    expect(client.paused).toBe(true);
    expect(world.node.requestBytes).toBe(0);
  });

  it('leaves the others one answer each while the budget of responses is spent', () => {
    const world = new ToyWorld({ 'tidemark.responses.max.bytes': '1048576' }).start();
    const [greedy, other] = [world.connect(), world.connect()];
    produce(world, greedy, 0, ['x'.repeat(900_000)]);
    world.holdsSent = true;
    for (let i = 0; i < 3; i++) world.send(greedy, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxBytes: 1 }));
    expect(world.pending(greedy)).toHaveLength(2);
    for (let i = 0; i < 2; i++) world.send(other, KEY.metadata, 4, { topics: [], allowAutoTopicCreation: false });
    expect(world.pending(other)).toHaveLength(1);
    world.holdsSent = false;
    world.confirm(other);
    world.push({ kind: 'wake' });
    expect(world.pending(other)).toHaveLength(2);
  });

  it('and goes away gives back all that it held', () => {
    const world = new ToyWorld().start();
    produce(world, world.connect(), 0, ['x'.repeat(900_000)]);
    const client = world.connect();
    world.holdsSent = true;
    for (let i = 0; i < 20; i++) world.send(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxBytes: 1 }));
    expect(world.node.responseBytes).toBeGreaterThan(RESPONSE_WINDOW_BYTES);
    world.disconnect(client);
    expect([world.node.responseBytes, world.node.requestBytes]).toEqual([0, 0]);
  });
});

describe('clients that read from files', () => {
  const BUDGET_BYTES = 1_048_576;
  const BATCH_BYTES = 300_000;

  /** Records that are in files only, and a disk that does not answer. */
  function cold(): ToyWorld {
    const world = new ToyWorld({ 'tidemark.responses.max.bytes': `${BUDGET_BYTES}` }).start();
    const client = world.connect();
    for (let i = 0; i < 4; i++) produce(world, client, 0, ['x'.repeat(BATCH_BYTES)]);
    world.crash('process');
    world.holdsReads = true;
    return world;
  }

  const fetch = fetchBody([wanted(0, 0, { partitionMaxBytes: BATCH_BYTES * 2 })], { maxWaitMs: 0 });

  it('spend the budget of answers before the bytes come, and each connection may read one batch beyond it', () => {
    const world = cold();
    const clients = Array.from({ length: 6 }, () => world.connect());
    for (let round = 0; round < 10; round++) for (const client of clients) world.send(client, KEY.fetch, 11, fetch);
    const batchMax = 1_048_588;
    expect(world.node.readingBytes).toBeGreaterThan(BUDGET_BYTES);
    expect(world.node.readingBytes).toBeLessThanOrEqual(clients.length * batchMax);
    expect(clients.map(({ paused }) => paused)).toEqual(clients.map(() => true));
    expect(world.node.topics.byName.get('orders')!.partitions[0]!.reads?.size).toBe(clients.length);
    world.releaseReads();
    for (const client of clients) {
      expect(world.pending(client)).toHaveLength(10);
      expect(valuesOf(world.take(client, KEY.fetch, 11)).length).toBeGreaterThanOrEqual(1);
    }
    expect([world.node.readingBytes, world.node.responseBytes]).toEqual([0, 0]);
  });

  it('and go away give back what their reads were charged, as soon as the disk has answered', () => {
    const world = cold();
    const client = world.connect();
    world.send(client, KEY.fetch, 11, fetch);
    world.disconnect(client);
    expect(world.node.readingBytes).toBeGreaterThan(0);
    world.releaseReads();
    expect(world.node.readingBytes).toBe(0);
  });

  it('wait for many batches together, and a second one of them is not read beyond the budget', () => {
    const world = new ToyWorld({ 'tidemark.responses.max.bytes': `${BUDGET_BYTES}`, 'tidemark.ring.max.bytes': '0' });
    world.start();
    const client = world.connect();
    const poll = fetchBody([wanted(0, 0)], { maxWaitMs: 10_000, minBytes: 1 });
    for (let i = 0; i < 20; i++) world.send(client, KEY.fetch, 11, poll);
    world.holdsSent = true;
    produce(world, world.connect(), 0, ['x'.repeat(900_000)]);
    world.pass(10_000);
    expect(world.pending(client)).toHaveLength(20);
    expect(client.unsent).toBeLessThan(2 * BUDGET_BYTES);
    expect(client.unsent).toBeGreaterThan(900_000);
    expect(world.node.readingBytes).toBe(0);
  });
});

describe('a client that sends too much at once', () => {
  it('is not read beyond its requests in flight', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    world.holdsSyncs = true;
    for (let i = 0; i < 200; i++) world.send(client, KEY.produce, 9, produceBody(0, batchOf([`v${i}`])));
    expect(client.paused).toBe(true);
    world.releaseSyncs();
    expect(client.paused).toBe(false);
    expect(world.pending(client)).toHaveLength(200);
  });

  it('is not read while the budget of the node is spent, and neither are others who send', () => {
    const world = new ToyWorld({ 'queued.max.request.bytes': '1048576' }).start();
    const [first, second] = [world.connect(), world.connect()];
    world.holdsSyncs = true;
    for (let i = 0; i < 2; i++) world.send(first, KEY.produce, 9, produceBody(0, batchOf(['x'.repeat(600_000)])));
    expect(first.paused).toBe(true);
    world.send(second, KEY.produce, 9, produceBody(1, batchOf(['y'])));
    expect(second.paused).toBe(true);
    world.releaseSyncs();
    expect([first.paused, second.paused]).toEqual([false, false]);
    expect([world.pending(first).length, world.pending(second).length]).toEqual([2, 1]);
    expect(world.node.requestBytes).toBe(0);
  });

  it('does not spend the budget by long polls', () => {
    const world = new ToyWorld().start();
    world.send(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 0)], { maxWaitMs: 10_000 }));
    expect(world.node.requestBytes).toBe(0);
    world.pass(10_000);
    expect(world.node.requestBytes).toBe(0);
  });

  it('by connecting more often than is allowed is turned away', () => {
    const world = new ToyWorld({ 'max.connections': '2' }).start();
    const three = [world.connect(), world.connect(), world.connect()];
    expect(three.map(({ closed }) => closed)).toEqual([false, false, true]);
  });
});

describe('a frame that makes no sense ends its connection with one line, and the node goes on', () => {
  it.each([
    ['shorter than a head', [0, 18, 0]],
    ['an unknown API', [3, 232, 0, 0, 0, 0, 0, 1, 255, 255]],
    ['a version that is not served', [0, 0, 0, 2, 0, 0, 0, 1, 255, 255]],
    ['an API that is not served yet', [0, 11, 0, 0, 0, 0, 0, 1, 255, 255]],
    ['a body that ends too early', [0, 0, 0, 9, 0, 0, 0, 1, 255, 255, 0]],
    ['an array longer than the frame', [0, 3, 0, 1, 0, 0, 0, 1, 255, 255, 127, 255, 255, 255]],
    ['a negative length', [0, 3, 0, 1, 0, 0, 0, 1, 255, 255, 0, 0, 0, 1, 255, 254]],
    ['a varint without end', [0, 3, 0, 9, 0, 0, 0, 1, 255, 255, 0, 255, 255, 255, 255, 255, 255]],
  ])('%s', (_title, bytes) => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const before = world.said.length;
    world.sendRaw(client, Uint8Array.from(bytes));
    expect(client.closed).toBe(true);
    expect(world.said.length - before).toBe(1);
    expect(world.said.at(-1)).toContain('warn: connection closed peer=10.0.0.9');
    expect(world.exit).toBe(null);
    expect(world.node.requestBytes).toBe(0);
    expect(world.ask(world.connect(), KEY.metadata, 9, { topics: null }).topics).toHaveLength(1);
  });

  it("but a client id that is not UTF-8 is nobody's fault any more: the request is answered", () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    world.sendRaw(client, Uint8Array.from([0, 3, 0, 1, 0, 0, 0, 1, 0, 2, 74, 252, 0, 0, 0, 0]));
    expect(world.take(client, KEY.metadata, 1).brokers).toHaveLength(1);
    expect(client.closed).toBe(false);
  });

  it('many of them are said at a bounded rate, with a count of the rest', () => {
    const world = new ToyWorld().start();
    const before = world.said.length;
    for (let i = 0; i < 100; i++) world.sendRaw(world.connect(), new Uint8Array(2));
    expect(world.said.length - before).toBe(COMPLAINTS_MAX);
    world.nowMs += 10_000;
    world.sendRaw(world.connect(), new Uint8Array(2));
    expect(world.said.at(-2)).toContain(`more such faults than are shown count=${100 - COMPLAINTS_MAX}`);
  });
});

describe('a connection that ends', () => {
  it('in the middle of a produce leaves the batch where it is', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    world.holdsSyncs = true;
    world.send(client, KEY.produce, 9, produceBody(0, batchOf(['a'])));
    world.disconnect(client);
    world.releaseSyncs();
    expect(valuesOf(world.ask(world.connect(), KEY.fetch, 11, fetchBody([wanted(0, 0)])))).toEqual(['0:0=a']);
    expect(world.node.requestBytes).toBe(0);
  });

  it('ends its parked fetch, and the session of it can be used from another connection', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const first = world.ask(client, KEY.fetch, 11, fetchBody([wanted(0, 0)], { sessionEpoch: 0, maxWaitMs: 0 }));
    const next = (epoch: number) => fetchBody([], { sessionId: first.sessionId, sessionEpoch: epoch, maxWaitMs: 9000 });
    world.send(client, KEY.fetch, 11, next(1));
    world.disconnect(client);
    expect(world.node.requestBytes).toBe(0);
    produce(world, world.connect(), 0, ['a']);
    expect(valuesOf(world.ask(world.connect(), KEY.fetch, 11, next(2)))).toEqual(['0:0=a']);
  });
});
