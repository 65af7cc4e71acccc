/** One connection that sends a request and waits for its answer, in the project's own codec: for what is measured. */
import { connect, type Socket } from 'node:net';
import { decodeResponse, encodeRequest } from '../../core/protocol/codec.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { pause } from '../peers/process.ts';

/** A connection. */
export interface RawClient {
  /** One request after the other. Rejects when the connection ends. */
  readonly ask: <K extends ApiKey>(key: K, version: number, body: RequestInputOf<K>) => Promise<ResponseOf<K>>;
  readonly close: () => void;
}

const LENGTH_BYTES = 4;
const FIND_COORDINATOR = 10;
const FIND_TIMEOUT_MS = 60_000;
const FIND_PAUSE_MS = 20;

/** Connects to a broker of this machine. */
export function openRaw(port: number): Promise<RawClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => resolve(clientOf(socket)));
  });
}

function clientOf(socket: Socket): RawClient {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let waiting: { readonly resolve: (frame: Buffer) => void; readonly reject: (error: Error) => void } | null = null;
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    bytes += chunk.length;
    const first = bytes < LENGTH_BYTES ? null : Buffer.concat(chunks);
    if (first === null) return;
    chunks = [first];
    if (bytes < LENGTH_BYTES + first.readInt32BE(0)) return;
    chunks = [];
    bytes = 0;
    waiting?.resolve(first);
  });
  socket.on('error', () => {});
  socket.on('close', () => waiting?.reject(new Error('the broker closed the connection')));
  return {
    ask: async (key, version, body) => {
      const answer = new Promise<Buffer>((resolve, reject) => {
        waiting = { resolve, reject };
      });
      socket.write(Buffer.concat(encodeRequest(key, version, 1, 'bench', body)));
      const frame = await answer;
      return decodeResponse(key, version, frame.subarray(LENGTH_BYTES)).body;
    },
    close: () => void socket.destroy(),
  };
}

/** Waits until the broker says that it coordinates a group; it makes its topic for that, if it must. */
export async function findCoordinator(client: RawClient, groupId: string): Promise<void> {
  const untilMs = performance.now() + FIND_TIMEOUT_MS;
  while (performance.now() < untilMs) {
    const { errorCode } = await client.ask(FIND_COORDINATOR, 3, { key: groupId, keyType: 0, coordinatorKeys: [] });
    if (errorCode === 0) return;
    await pause(FIND_PAUSE_MS);
  }
  throw new Error(`no coordinator was found within ${FIND_TIMEOUT_MS} ms`);
}
