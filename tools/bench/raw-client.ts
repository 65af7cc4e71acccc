/** One connection that sends a request and waits for its answer, in the project's own codec: for what is measured. */
import { connect, type Socket } from 'node:net';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { decodeResponse, encodeRequest } from '../../core/protocol/codec.ts';
import { createFramer, push } from '../../core/protocol/frame.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { pause } from '../peers/process.ts';

/** A connection. */
export interface RawClient {
  /** One request after the other. Rejects when the connection ends. */
  readonly ask: <K extends ApiKey>(key: K, version: number, body: RequestInputOf<K>) => Promise<ResponseOf<K>>;
  readonly close: () => void;
}

const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const CLOSED = 'the broker closed the connection';
const OFFSET_COMMIT = 8;
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
  const framer = createFramer(FRAME_BYTES_MAX);
  const frames: Uint8Array[] = [];
  let waiting: { readonly resolve: (frame: Uint8Array) => void; readonly reject: (error: Error) => void } | null = null;
  socket.on('data', (chunk) => {
    push(framer, chunk, frames);
    for (const frame of frames.splice(0)) waiting?.resolve(frame);
  });
  socket.on('error', () => {});
  socket.on('close', () => waiting?.reject(new Error(CLOSED)));
  return {
    ask: async (key, version, body) => {
      if (socket.destroyed) throw new Error(CLOSED);
      const answer = new Promise<Uint8Array>((resolve, reject) => {
        waiting = { resolve, reject };
      });
      socket.write(Buffer.concat(encodeRequest(key, version, 1, 'bench', body)));
      return decodeResponse(key, version, await answer).body;
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

/** Commits an offset of partitions 0, 1, ... of a topic in one request, as no member: whether all were taken. */
export async function commit(
  client: RawClient,
  groupId: string,
  topic: string,
  partitionCount: number,
  committedOffset: number,
): Promise<boolean> {
  const partitions = Array.from({ length: partitionCount }, (_, partitionIndex) => {
    return { partitionIndex, committedOffset, committedMetadata: '' };
  });
  const topics = [{ name: topic, topicId: ZERO_UUID, partitions }];
  const answer = await client.ask(OFFSET_COMMIT, 7, { groupId, memberId: '', topics });
  return answer.topics[0]?.partitions.every(({ errorCode }) => errorCode === 0) === true;
}
