/**
 * One question to one node, over a connection of its own: for whoever wants to know how a cluster stands and needs no
 * client for that. Nothing is tried again: no answer in time rejects, and so does one that cannot be read.
 */
import { connect } from 'node:net';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import { decodeResponse, encodeRequest } from '../../core/protocol/codec.ts';
import { createFramer, push } from '../../core/protocol/frame.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';

/** Where a node listens. */
export interface AskedNode {
  readonly host?: string;
  readonly port: number;
}

const FRAME_BYTES_MAX = 64 * 1024 * 1024;
const ANSWER_TIMEOUT_MS = 5_000;

/** Asks, and resolves to the answer. */
export function ask<K extends ApiKey>(
  { host = '127.0.0.1', port }: AskedNode,
  apiKey: K,
  version: number,
  body: RequestInputOf<K>,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<ResponseOf<K>> {
  const framer = createFramer(FRAME_BYTES_MAX);
  const frames: Uint8Array[] = [];
  return new Promise((resolve, reject) => {
    const socket = connect(port, host);
    const timer = setTimeout(() => end(new Error(`${host}:${port} did not answer within ${timeoutMs} ms`)), timeoutMs);
    const end = (failed: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(failed);
    };
    socket.on('connect', () => socket.write(Buffer.concat(encodeRequest(apiKey, version, 1, 'ask', body))));
    socket.on('data', (chunk) => {
      push(framer, chunk, frames);
      const [frame] = frames;
      if (frame === undefined) return;
      try {
        resolve(decodeResponse(apiKey, version, frame).body);
        end(new Error('answered'));
      } catch (error) {
        end(error as Error);
      }
    });
    socket.on('error', end);
    socket.on('close', () => end(new Error(`${host}:${port} hung up`)));
  });
}

/** A partition as a node describes it. */
export interface PartitionStanding {
  readonly topic: string;
  readonly index: number;
  /** -1 for nobody. */
  readonly leader: number;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

/** All partitions of these topics, or of all topics, as one node knows them. */
export async function askPartitions(node: AskedNode, topics: readonly string[] | null): Promise<PartitionStanding[]> {
  const answer = await ask(node, 3, 9, {
    topics: topics?.map((name) => ({ name, topicId: ZERO_UUID })) ?? null,
    allowAutoTopicCreation: false,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  });
  return answer.topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, leaderId, leaderEpoch, replicaNodes, isrNodes }) => {
      return {
        topic: name ?? '',
        index: partitionIndex,
        leader: leaderId,
        leaderEpoch,
        replicas: replicaNodes,
        inSync: isrNodes,
      };
    }),
  );
}

/** Who leads the quorum of the metadata, as one node knows; -1 for nobody. */
export async function askController(node: AskedNode): Promise<number> {
  const topics = [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }];
  const answer = await ask(node, 55, 0, { topics });
  return answer.topics[0]?.partitions[0]?.leaderId ?? -1;
}
