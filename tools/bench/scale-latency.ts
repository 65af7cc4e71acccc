/**
 * How long a producer waits that sends one record and waits for its answer, acks=all: of two nodes in turn, so that
 * what else the machine does meets both.
 */
import { connect, type Socket } from 'node:net';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { encodeRequest } from '../../core/protocol/codec.ts';
import { encodeBatch } from '../../core/protocol/records.ts';

/** Waiting times, ms. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

/** One record is sent so often before it is the other node's turn. */
const TURN_RECORDS = 50;
const VALUE_BYTES = 100;
const PRODUCE = 0;
const VERSION = 9;
const LENGTH_BYTES = 4;
const TIMEOUT_MS = 30_000;

/** Produces to partition 0 of a topic on every port in turn for a while; the waits of each, in the order of ports. */
export async function measureWaits(ports: readonly number[], topic: string, lengthMs: number): Promise<Waits[]> {
  const clients = await Promise.all(ports.map(open));
  const waits = ports.map((): number[] => []);
  const frame = produceFrame(topic);
  for (const client of clients) for (let i = 0; i < TURN_RECORDS; i++) await client.ask(frame); // Warms both up.
  const untilMs = performance.now() + lengthMs;
  while (performance.now() < untilMs) {
    for (const [i, client] of clients.entries()) {
      for (let left = TURN_RECORDS; left > 0; left--) waits[i]?.push(await client.ask(frame));
    }
  }
  for (const client of clients) client.close();
  return waits.map(summary);
}

function summary(waits: number[]): Waits {
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(share * waits.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1), count: waits.length };
}

function produceFrame(topic: string): Buffer {
  const records = encodeBatch([{ timestampMs: Date.now(), key: null, value: new Uint8Array(VALUE_BYTES) }]);
  const topicData = [{ name: topic, topicId: ZERO_UUID, partitionData: [{ index: 0, records }] }];
  const body = { transactionalId: null, acks: -1, timeoutMs: TIMEOUT_MS, topicData };
  return Buffer.concat(encodeRequest(PRODUCE, VERSION, 1, 'bench', body));
}

interface Client {
  /** Sends a request and waits for its answer, ms. */
  readonly ask: (frame: Buffer) => Promise<number>;
  readonly close: () => void;
}

function open(port: number): Promise<Client> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.on('error', reject);
    socket.on('connect', () => resolve(clientOf(socket)));
  });
}

function clientOf(socket: Socket): Client {
  let received = Buffer.alloc(0);
  let answered: ((frame: Buffer) => void) | null = null;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (received.length < LENGTH_BYTES || received.length < LENGTH_BYTES + received.readInt32BE(0)) return;
    const frame = received;
    received = Buffer.alloc(0);
    answered?.(frame);
  });
  return {
    ask: async (frame) => {
      const sentMs = performance.now();
      const answer = new Promise<Buffer>((resolve, reject) => {
        answered = resolve;
        socket.once('close', () => reject(new Error('the node closed the connection')));
      });
      socket.write(frame);
      await answer;
      socket.removeAllListeners('close');
      return performance.now() - sentMs;
    },
    close: () => socket.destroy(),
  };
}
