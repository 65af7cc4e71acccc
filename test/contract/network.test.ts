/** Every network keeps every promise of `core/lib/world.ts`, towards well-behaved peers and towards hostile ones. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionId, NetworkEffect, NetworkInput } from '../../core/lib/world.ts';
import type { EndUnderTest, NetworkUnderTest } from './world-under-test.ts';
import { WORLDS } from './worlds.ts';

type Of<K extends NetworkInput['kind']> = Extract<NetworkInput, { kind: K }>;

const FRAME_MAX = 1024 * 1024;
const BUDGET = 1024 * 1024;

/** A frame with its length before it. */
function framed(payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + payload.length);
  new DataView(bytes.buffer).setInt32(0, payload.length);
  bytes.set(payload, 4);
  return bytes;
}

function announce(length: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, length);
  return bytes;
}

function payload(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 0xff);
}

function all<K extends NetworkInput['kind']>(end: EndUnderTest, kind: K, connection?: ConnectionId): Of<K>[] {
  return end.inputs.filter(
    (input): input is Of<K> =>
      input.kind === kind && (connection === undefined || ('connection' in input && input.connection === connection)),
  );
}

/** Equality byte by byte, without the generic comparison's cost. */
function expectFrames(actual: readonly Uint8Array[], expected: readonly Uint8Array[]): void {
  expect(actual.map((frame) => frame.length)).toEqual(expected.map((frame) => frame.length));
  expect(Buffer.concat(actual).equals(Buffer.concat(expected))).toBe(true);
}

for (const world of WORLDS) {
  const { createNetwork } = world;
  if (createNetwork === undefined) continue;

  describe(`the ${world.name} network`, () => {
    let network: NetworkUnderTest;
    let server: EndUnderTest;
    let client: EndUnderTest;

    beforeEach(async () => {
      network = await createNetwork({ frameBudgetBytes: BUDGET });
      server = network.server;
      client = network.client;
    });
    afterEach(() => network.dispose());

    async function listen(changes: Partial<Extract<NetworkEffect, { kind: 'listen' }>> = {}): Promise<number> {
      const listener = changes.listener ?? 1;
      const before = all(server, 'listening').length;
      server.execute({
        kind: 'listen',
        listener,
        host: network.host,
        port: 0,
        frameBytesMax: FRAME_MAX,
        idleMs: 600_000,
        ...changes,
      });
      await network.until('it listens', () => all(server, 'listening').length > before);
      return (all(server, 'listening').at(-1) as Of<'listening'>).port;
    }

    function connect(port: number, connection = -1, timeoutMs = 5_000): void {
      const { host } = network;
      client.execute({ kind: 'connect', connection, host, port, timeoutMs, frameBytesMax: FRAME_MAX });
    }

    /** Makes a connection; its id at the server. */
    async function pair(port: number, connection = -1): Promise<ConnectionId> {
      const before = all(server, 'accepted').length;
      connect(port, connection);
      await network.until(
        'it is connected',
        () => all(client, 'connected', connection).length === 1 && all(server, 'accepted').length === before + 1,
      );
      return (all(server, 'accepted').at(-1) as Of<'accepted'>).connection;
    }

    const send = (end: EndUnderTest, connection: ConnectionId, ...parts: Uint8Array[]): void =>
      end.execute({ kind: 'send', connection, parts });
    const close = (end: EndUnderTest, connection: ConnectionId, abort = false): void =>
      end.execute({ kind: 'close', connection, abort });
    const closed = (end: EndUnderTest, connection: ConnectionId): Promise<void> =>
      network.until(`${connection} is closed`, () => all(end, 'closed', connection).length > 0);
    const frames = (end: EndUnderTest, connection: ConnectionId): Uint8Array[] =>
      all(end, 'frame', connection).map((input) => Uint8Array.from(input.bytes));
    const received = (end: EndUnderTest, connection: ConnectionId, count: number): Promise<void> =>
      network.until(`${count} frames have come`, () => all(end, 'frame', connection).length >= count);

    test('port 0 asks for a free one, and an accepted connection says who came where', async () => {
      const port = await listen();
      expect(port).toBeGreaterThan(0);
      await pair(port);
      const accepted = all(server, 'accepted')[0];
      expect(accepted).toMatchObject({ listener: 1, localPort: port, localHost: network.host });
      expect(accepted?.connection).toBeGreaterThan(0);
      expect(accepted?.peerPort).toBeGreaterThan(0);
    });

    test('a port in use is a failed listen', async () => {
      const port = await listen();
      server.execute({ kind: 'listen', listener: 2, host: network.host, port, frameBytesMax: FRAME_MAX, idleMs: 1e9 });
      await network.until('it fails', () => all(server, 'listenFailed').length === 1);
      expect(all(server, 'listenFailed')[0]).toMatchObject({ listener: 2, reason: 'inUse' });
    });

    test('a port on which nobody listens refuses, and that is the last word', async () => {
      connect(await network.freePort());
      await network.until('it fails', () => all(client, 'connectFailed').length === 1);
      expect(all(client, 'connectFailed')[0]?.reason).toBe('refused');
      await network.rest();
      expect(client.inputs.length).toBe(1);
    });

    test('an unlistened port refuses, its connections stay', async () => {
      const port = await listen();
      const id = await pair(port);
      server.execute({ kind: 'unlisten', listener: 1 });
      await network.rest();
      connect(port, -2);
      await network.until('it fails', () => all(client, 'connectFailed', -2).length === 1);
      send(server, id, framed(payload(3, 1)));
      await received(client, -1, 1);
    });

    test('frames arrive whole and in order, whatever their size and however they were cut', async () => {
      const id = await pair(await listen());
      const sizes = [0, 1, 5, 1000, 65_536, 3, 300_000, 2];
      const payloads = sizes.map((size, i) => payload(size, i));
      const stream = Buffer.concat(payloads.map(framed));
      const cuts = [1, 2, 3, 4, 7, 11, 500, 70_000, 70_001, 200_000, stream.length];
      for (let from = 0, i = 0; from < stream.length; i++) {
        const end = Math.max(from + 1, cuts[i] ?? stream.length);
        send(client, -1, stream.subarray(from, end));
        if (i % 3 === 0) await network.rest();
        from = end;
      }
      await received(server, id, sizes.length);
      expectFrames(frames(server, id), payloads);
    });

    test('many parts of many sends arrive in order', async () => {
      const id = await pair(await listen());
      const expected: Uint8Array[] = [];
      for (let i = 0; i < 500; i++) {
        const body = payload(i % 3 === 0 ? 4000 : i % 50, i);
        expected.push(body);
        send(server, id, announce(body.length), body);
      }
      await received(client, -1, 500);
      expectFrames(frames(client, -1), expected);
    });

    test('sends before the connection is made are kept', async () => {
      const port = await listen();
      connect(port);
      send(client, -1, framed(payload(10, 0)));
      await network.until('it has come', () => all(server, 'frame').length === 1);
      expect(client.inputs[0]?.kind).toBe('connected');
    });

    test('what was sent is told, to the byte', async () => {
      const id = await pair(await listen());
      let sizeBytes = 0;
      for (let i = 0; i < 50; i++) {
        const part = framed(payload(i * 100, i));
        sizeBytes += part.length;
        send(server, id, part);
      }
      const told = (): number => all(server, 'sent', id).reduce((sum, input) => sum + input.sizeBytes, 0);
      await network.until('all is told', () => told() >= sizeBytes);
      await network.rest();
      expect(told()).toBe(sizeBytes);
    });

    test('a peer that does not read holds back what is told to be sent', async () => {
      const port = await listen();
      const id = await pair(port);
      client.execute({ kind: 'pause', connection: -1 });
      const body = framed(new Uint8Array(FRAME_MAX - 4));
      for (let i = 0; i < 32; i++) send(server, id, body);
      await network.rest();
      const told = (): number => all(server, 'sent', id).reduce((sum, input) => sum + input.sizeBytes, 0);
      expect(told()).toBeLessThan(32 * body.length);
      client.execute({ kind: 'resume', connection: -1 });
      await received(client, -1, 32);
      await network.until('all is told', () => told() === 32 * body.length);
    });

    test('a paused connection gives no frames until it is resumed', async () => {
      const id = await pair(await listen());
      server.execute({ kind: 'pause', connection: id });
      await network.rest();
      for (let i = 0; i < 5; i++) send(client, -1, framed(payload(100, i)));
      await network.rest();
      expect(frames(server, id).length).toBe(0);
      server.execute({ kind: 'resume', connection: id });
      await received(server, id, 5);
    });

    test('a close lets through what was queued before it', async () => {
      const id = await pair(await listen());
      for (let i = 0; i < 40; i++) send(server, id, framed(payload(50_000, i)));
      close(server, id);
      await closed(client, -1);
      expect(frames(client, -1).length).toBe(40);
      expect(all(client, 'closed', -1)[0]?.reason).toBe('end');
      await closed(server, id);
      expect(all(server, 'closed', id)[0]?.reason).toBe('asked');
    });

    test('an abort ends it for both, and closed is the last word', async () => {
      const id = await pair(await listen());
      send(client, -1, framed(payload(10, 0)));
      close(server, id, true);
      await closed(server, id);
      await closed(client, -1);
      send(server, id, framed(payload(10, 0)));
      close(server, id);
      await network.rest();
      for (const end of [server, client]) {
        expect(all(end, 'closed').length).toBe(1);
        expect(end.inputs.at(-1)?.kind).toBe('closed');
      }
      expect(all(server, 'closed')[0]?.reason).toBe('asked');
      expect(all(client, 'closed')[0]?.reason).toBe('reset');
    });

    test('frames that came before the end are given before it', async () => {
      const id = await pair(await listen());
      for (let i = 0; i < 20; i++) send(client, -1, framed(payload(10_000, i)));
      close(client, -1);
      await closed(server, id);
      expect(frames(server, id).length).toBe(20);
      expect(all(server, 'closed', id)[0]?.reason).toBe('end');
    });

    test.each([-1, -2147483648, FRAME_MAX + 1, 2147483647])(
      'an announced length of %i is a bad frame',
      async (length) => {
        const id = await pair(await listen());
        send(client, -1, framed(payload(7, 0)), announce(length), payload(100, 0));
        await closed(server, id);
        expect(all(server, 'closed', id)[0]?.reason).toBe('badFrame');
        expect(frames(server, id).length).toBe(1);
        await closed(client, -1);
      },
    );

    test('silence both ways ends a connection as idle, traffic keeps it', async () => {
      const port = await listen({ idleMs: 150 });
      const quiet = await pair(port, -1);
      const busy = await pair(port, -2);
      let sent = 0;
      await network.until('the quiet one is closed', () => {
        if (sent < 400) send(client, -2, framed(payload(1, sent++)));
        return all(server, 'closed', quiet).length === 1;
      });
      expect(all(server, 'closed', quiet)[0]?.reason).toBe('idle');
      expect(all(server, 'closed', busy).length).toBe(0);
    });

    test('half-sent frames beyond the budget cost the slowest peer its connection', async () => {
      const port = await listen();
      const slow = await pair(port, -1);
      send(client, -1, announce(FRAME_MAX), new Uint8Array(200));
      await network.rest();
      const quick: ConnectionId[] = [];
      for (let i = 2; i <= 3; i++) {
        quick.push(await pair(port, -i));
        send(client, -i, announce(FRAME_MAX), new Uint8Array(600_000));
      }
      await closed(server, slow);
      expect(all(server, 'closed', slow)[0]?.reason).toBe('budget');
      for (const id of quick.slice(1))
        expect(all(server, 'closed', id).filter((c) => c.reason !== 'budget')).toEqual([]);
    });

    test('hundreds of connections at once are told apart', async () => {
      const port = await listen();
      const count = 300;
      for (let i = 1; i <= count; i++) {
        connect(port, -i);
        send(client, -i, framed(Uint8Array.of(i & 0xff, i >> 8)));
      }
      await network.until('all frames have come', () => all(server, 'frame').length === count);
      for (const { connection, bytes } of all(server, 'frame')) send(server, connection, framed(bytes));
      await network.until('all frames are back', () => all(client, 'frame').length === count);
      for (const { connection, bytes } of all(client, 'frame')) {
        expect((bytes[0] as number) + (bytes[1] as number) * 256).toBe(-connection);
      }
    });
  });
}
