#!/usr/bin/env node
/**
 * A broker that answers everything and stores nothing: what a client reaches against it is the client's own limit.
 *
 *   node dist/tools/bench/null-broker.js --port 9092
 *
 * Every topic exists with one partition, every record lands at offset 0, every fetch is empty and answered at once.
 * It reads requests with the product's decoders and never looks at records. Nothing survives it: there is nothing.
 */
import { createServer, type Socket } from 'node:net';
import { Command } from 'commander';
import { Reader } from '../../core/lib/cursor.ts';
import { UUID_BYTES, uuidFromBytes, uuidToBytes } from '../../core/lib/uuid.ts';
import { isServed, requestHeaderVersion, responseHeaderVersion } from '../../core/protocol/api.ts';
import { bodyBytes, readBody } from '../../core/protocol/compile.ts';
import { RequestHeader, ResponseHeader } from '../../core/protocol/headers.ts';
import { ApiVersions } from '../../core/protocol/messages/18-api-versions.ts';
import { InitProducerId } from '../../core/protocol/messages/22-init-producer-id.ts';
import { apiOf, type RequestOf, type ResponseInputOf } from '../../core/protocol/messages/index.ts';

/** Bytes of a length prefix. */
const PREFIX_BYTES = 4;
const UNSUPPORTED_VERSION = 35;
const NODE_ID = 1;
/** What Kafka sends for authorized operations that nobody asked for. */
const UNASKED = -2147483648;

type Answer = (version: number, reader: Reader) => object;

let port = 0;
let producerIdNext = 1;

const ANSWERS: ReadonlyMap<number, Answer> = new Map<number, Answer>([
  [0, (version, reader) => produced(body(0, version, reader))],
  [1, (version, reader) => fetched(body(1, version, reader))],
  [2, (version, reader) => offsets(body(2, version, reader))],
  [3, (version, reader) => metadata(body(3, version, reader))],
  [ApiVersions.key, () => versions(0)],
  [InitProducerId.key, () => ({ throttleTimeMs: 0, errorCode: 0, producerId: producerIdNext++, producerEpoch: 0 })],
]);

function body<K extends 0 | 1 | 2 | 3>(key: K, version: number, reader: Reader): RequestOf<K> {
  const api = apiOf(key);
  if (api === undefined) throw new Error(`no API has the key ${key}`);
  return readBody(api.request, version, reader) as RequestOf<K>;
}

function versions(errorCode: number): ResponseInputOf<18> {
  const apiKeys = [...ANSWERS.keys()].flatMap((key) => {
    const api = apiOf(key);
    return api === undefined
      ? []
      : [{ apiKey: key, minVersion: api.advertised.since, maxVersion: api.advertised.until }];
  });
  return { errorCode, apiKeys, throttleTimeMs: 0, supportedFeatures: [], finalizedFeatures: [] };
}

function produced(request: RequestOf<0>): ResponseInputOf<0> {
  return {
    responses: request.topicData.map(({ name, topicId, partitionData }) => ({
      name,
      topicId,
      partitionResponses: partitionData.map(({ index }) => ({
        index,
        errorCode: 0,
        baseOffset: 0,
        recordErrors: [],
      })),
    })),
    nodeEndpoints: [],
  };
}

function fetched(request: RequestOf<1>): ResponseInputOf<1> {
  return {
    throttleTimeMs: 0,
    errorCode: 0,
    responses: request.topics.map(({ topic, topicId, partitions }) => ({
      topic,
      topicId,
      partitions: partitions.map(({ partition }) => ({
        partitionIndex: partition,
        errorCode: 0,
        highWatermark: 0,
        lastStableOffset: 0,
        logStartOffset: 0,
        abortedTransactions: null,
        records: new Uint8Array(0),
      })),
    })),
  };
}

function offsets(request: RequestOf<2>): ResponseInputOf<2> {
  return {
    throttleTimeMs: 0,
    topics: request.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: 0, offset: 0, leaderEpoch: 0 })),
    })),
  };
}

function metadata(request: RequestOf<3>): ResponseInputOf<3> {
  const names = (request.topics ?? []).map(({ name, topicId }) => name ?? nameOf(topicId));
  return {
    brokers: [{ nodeId: NODE_ID, host: '127.0.0.1', port }],
    clusterId: 'null-broker',
    controllerId: NODE_ID,
    throttleTimeMs: 0,
    errorCode: 0,
    clusterAuthorizedOperations: UNASKED,
    topics: names.map((name) => ({
      errorCode: 0,
      isInternal: false,
      topicAuthorizedOperations: UNASKED,
      name,
      // The characters of the name are the id, so that nothing needs to be remembered.
      topicId: idOf(name),
      partitions: [
        {
          errorCode: 0,
          partitionIndex: 0,
          leaderId: NODE_ID,
          leaderEpoch: 0,
          replicaNodes: [1],
          isrNodes: [1],
          offlineReplicas: [],
        },
      ],
    })),
  };
}

function idOf(name: string): string {
  const id = new Uint8Array(UUID_BYTES).fill(32);
  id.set(Buffer.from(name, 'latin1').subarray(0, UUID_BYTES));
  return uuidFromBytes(id, 0);
}

function nameOf(id: string): string {
  const bytes = Buffer.alloc(UUID_BYTES);
  uuidToBytes(id, bytes, 0);
  return bytes.toString('latin1').trimEnd();
}

/** The whole answer to one frame, prefix included; null where the client expects none. */
function answer(frame: Buffer): Buffer | null {
  const key = frame.readInt16BE(0);
  const version = frame.readInt16BE(2);
  const api = apiOf(key);
  const make = ANSWERS.get(key);
  if (api === undefined || make === undefined) throw new Error(`asked for the API ${key}, which was not offered`);
  if (!isServed(api, version))
    return reply(frame.readInt32BE(4), 0, bodyBytes(ApiVersions.response, 0, versions(UNSUPPORTED_VERSION)));
  const reader = new Reader(frame);
  const header = readBody(RequestHeader, requestHeaderVersion(api, version), reader);
  if (key === 0 && body(0, version, new Reader(frame, reader.position)).acks === 0) return null;
  const bytes = bodyBytes(api.response, version, make(version, reader) as never);
  return reply(header.correlationId, responseHeaderVersion(api, version), bytes);
}

function reply(correlationId: number, headerVersion: number, bytes: Uint8Array): Buffer {
  const head = bodyBytes(ResponseHeader, headerVersion, { correlationId });
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.writeInt32BE(head.length + bytes.length);
  return Buffer.concat([prefix, head, bytes]);
}

/** Cuts the stream of one connection into frames and answers them in order. */
function attend(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  const answerAll = (chunk: Buffer): void => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const out: Buffer[] = [];
    while (bytes.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + bytes.readInt32BE(0);
      if (bytes.length < end) break;
      const made = answer(bytes.subarray(PREFIX_BYTES, end));
      if (made !== null) out.push(made);
      bytes = bytes.subarray(end);
    }
    rest = bytes;
    if (out.length > 0) socket.write(out.length === 1 ? (out[0] ?? '') : Buffer.concat(out));
  };
  socket.setNoDelay(true);
  socket.on('data', (chunk: Buffer) => {
    try {
      answerAll(chunk);
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      socket.destroy();
    }
  });
  socket.on('error', () => socket.destroy());
}

const program = new Command('null-broker')
  .description('a broker that answers everything and stores nothing')
  .option('--port <number>', 'the port on 127.0.0.1; 0 for a free one', Number, 0)
  .parse();
const server = createServer(attend);
server.listen(program.opts<{ port: number }>().port, '127.0.0.1', () => {
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`the null broker listens on 127.0.0.1:${port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
