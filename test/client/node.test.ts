/**
 * Producer and reader against the real node machine, in one thread: bytes are passed by hand, the disk is in memory,
 * and the power goes out.
 */
import { describe, expect, it } from 'vitest';
import { throwDice } from '../../core/channel/backoff.ts';
import {
  checkProducer,
  createProducer,
  type Producer,
  type ProducerEvent,
  produce,
  producerDeadlineMs,
  stepProducer,
} from '../../core/client/producer.ts';
import { checkReader, createReader, type ReaderEvent, readerDeadlineMs, stepReader } from '../../core/client/reader.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../../core/lib/world.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import { type ToyConnection, ToyWorld } from '../broker/toy-world.ts';

type ClientInput = NetworkInput | { readonly kind: 'wake' };

interface Client {
  readonly step: (env: Env, input: ClientInput, out: Outbox) => void;
  readonly deadlineMs: () => number;
  /** Our number of the connection to the node's side of it. */
  readonly connections: Map<number, ToyConnection>;
}

const codecs = realCodecs();

function env(world: ToyWorld): Env {
  return { nowMs: world.nowMs, wallMs: world.wallMs, crc32c, codecs, reached: () => {} };
}

function step(world: ToyWorld, client: Client, input: ClientInput): void {
  const out: Outbox = [];
  client.step(env(world), input, out);
  carryOut(world, client, out);
}

function carryOut(world: ToyWorld, client: Client, out: Outbox): void {
  for (const effect of out) {
    if (effect.kind === 'connect') {
      if (!world.isReady) {
        step(world, client, { kind: 'connectFailed', connection: effect.connection, reason: 'refused' });
        continue;
      }
      client.connections.set(effect.connection, world.connect());
      step(world, client, { kind: 'connected', connection: effect.connection });
    } else if (effect.kind === 'send') {
      const whole = Uint8Array.from(effect.parts.flatMap((part) => [...part]));
      step(world, client, { kind: 'sent', connection: effect.connection, sizeBytes: whole.length });
      const connection = client.connections.get(effect.connection);
      if (connection !== undefined) world.sendRaw(connection, whole.subarray(4));
    } else if (effect.kind === 'close') {
      const connection = client.connections.get(effect.connection);
      client.connections.delete(effect.connection);
      if (connection !== undefined) world.disconnect(connection);
    }
  }
}

/** Hands the client what the node has sent; true if there was anything. */
function deliver(world: ToyWorld, client: Client): boolean {
  let any = false;
  for (const [id, connection] of client.connections) {
    for (;;) {
      const { received } = connection;
      if (received.length < 4) break;
      const size = new DataView(received.buffer, received.byteOffset).getInt32(0);
      if (received.length < 4 + size) break;
      connection.received = received.slice(4 + size);
      any = true;
      step(world, client, { kind: 'frame', connection: id, bytes: received.slice(4, 4 + size) });
    }
    if (!connection.closed) continue;
    client.connections.delete(id);
    step(world, client, { kind: 'closed', connection: id, reason: 'end', detail: '' });
  }
  return any;
}

/** One small stretch of time. */
function pass(world: ToyWorld, clients: readonly Client[], ms: number): void {
  world.pass(ms);
  for (let rounds = 0; rounds < 1000; rounds++) {
    let any = false;
    for (const client of clients) {
      if (client.deadlineMs() <= world.nowMs) step(world, client, { kind: 'wake' });
      if (deliver(world, client)) any = true;
    }
    if (!any) return;
  }
  throw new Error('clients and node never come to rest');
}

function cutPower(world: ToyWorld, clients: readonly Client[]): void {
  world.crash('power');
  for (const client of clients) {
    const ids = [...client.connections.keys()];
    client.connections.clear();
    for (const connection of ids) step(world, client, { kind: 'closed', connection, reason: 'reset', detail: '' });
  }
}

const BOOTSTRAP = [{ host: 'node', port: 9092 }];
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const COMMON = { clientId: 'scene', bootstrap: BOOTSTRAP, seed: 3, requestTimeoutMs: 2000 };

function sceneProducer(outcomes: ProducerEvent[]): { producer: Producer; client: Client } {
  const producer = createProducer({
    ...COMMON,
    ids: createIds(),
    acks: -1,
    idempotent: true,
    lingerMs: 0,
    batchBytesMax: 600,
    inFlightMax: 5,
    deliveryTimeoutMs: 600_000,
    retryBackoffMs: 20,
    compression: 0,
  });
  const client: Client = {
    step: (e, input, out) => {
      stepProducer(producer, e, input, out, outcomes);
      checkProducer(producer);
    },
    deadlineMs: () => producerDeadlineMs(producer),
    connections: new Map(),
  };
  return { producer, client };
}

function sceneReader(told: ReaderEvent[]): Client {
  const reader = createReader({
    ...COMMON,
    ids: createIds(),
    topic: 'orders',
    partition: 0,
    from: 'earliest',
    isolation: 'readUncommitted',
    maxWaitMs: 50,
    minBytes: 1,
    maxBytes: 1_000_000,
  });
  return {
    step: (e, input, out) => {
      stepReader(reader, e, input, out, told);
      checkReader(reader);
    },
    deadlineMs: () => readerDeadlineMs(reader),
    connections: new Map(),
  };
}

/** A producer and a reader of one partition at one node. */
function scene() {
  const world = new ToyWorld().start();
  const outcomes: ProducerEvent[] = [];
  const told: ReaderEvent[] = [];
  const { producer, client: producing } = sceneProducer(outcomes);
  const give = (value: string): number => {
    const out: Outbox = [];
    const record = { topic: 'orders', partition: 0, key: null, value: encoder.encode(value) };
    const ticket = produce(producer, env(world), record, out);
    carryOut(world, producing, out);
    return ticket;
  };
  const read = (): { offset: number; value: string }[] =>
    told.flatMap((event) =>
      event.kind !== 'batch'
        ? []
        : readRecords(event.bytes, codecs)
            .filter(({ offset }) => offset >= event.fromOffset)
            .map(({ offset, value }) => ({ offset, value: decoder.decode(value ?? undefined) })),
    );
  return { world, clients: [producing, sceneReader(told)], give, outcomes, told, read };
}

describe('producer, node and reader', () => {
  it('pass records from end to end, at the offsets that were acknowledged', () => {
    const { world, clients, give, outcomes, read } = scene();
    const tickets = Array.from({ length: 200 }, (_, i) => give(`v${i}`));
    for (let i = 0; i < 100 && (outcomes.length < 200 || read().length < 200); i++) pass(world, clients, 10);
    expect(outcomes.map(({ ticket }) => ticket)).toEqual(tickets);
    const offsets = outcomes.map((event) => (event.kind === 'acknowledged' ? event.offset : -1));
    expect(offsets).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(read()).toEqual(Array.from({ length: 200 }, (_, i) => ({ offset: i, value: `v${i}` })));
  });

  it('keep every record once and in order when the power goes out again and again', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const { world, clients, give, outcomes, told, read } = scene();
      const dice = { dice: seed };
      let given = 0;
      let cuts = 0;
      for (let round = 0; round < 400 && (given < 600 || outcomes.length < given || read().length < given); round++) {
        if (given < 600) for (let i = throwDice(dice, 8); i > 0; i--) give(`${given++}`);
        const luck = throwDice(dice, 12);
        if (luck === 0) world.holdsSyncs = true;
        if (luck === 1) world.releaseSyncs();
        if (luck === 2 && cuts < 15) {
          cutPower(world, clients);
          cuts += 1;
        }
        if (given >= 600 && world.holdsSyncs) world.releaseSyncs();
        pass(world, clients, 1 + throwDice(dice, 60));
      }
      expect(cuts, `seed ${seed}`).toBeGreaterThan(3);
      expect(
        outcomes.every(({ kind }) => kind === 'acknowledged'),
        `seed ${seed}`,
      ).toBe(true);
      expect(new Set(outcomes.map(({ ticket }) => ticket)).size, `seed ${seed}`).toBe(given);
      expect(outcomes.length, `seed ${seed}`).toBe(given);
      const values = read();
      expect(
        values.map(({ value }) => Number(value)),
        `seed ${seed}`,
      ).toEqual(Array.from({ length: given }, (_, i) => i));
      expect(
        values.map(({ offset }) => offset),
        `seed ${seed}`,
      ).toEqual(Array.from({ length: given }, (_, i) => i));
      expect(
        told.filter(({ kind }) => kind === 'error'),
        `seed ${seed}`,
      ).toEqual([]);
    }
  });
});
