/**
 * A proxy that records what clients and a Kafka broker say to each other. Nothing on the way is changed.
 *
 * The broker listens on one port and advertises the proxy's, so that clients always come through here:
 * `node record.js --listen 9092 --broker 19092 --client kcat --out FILE`. How to record anew: README.md beside
 * this file. Of each (API, version) a few exchanges of different lengths are kept; large frames are left out.
 * Each exchange is added to the file at once; any signal ends the proxy.
 */
import { appendFileSync } from 'node:fs';
import * as net from 'node:net';
import { parseArgs } from 'node:util';
import { peekRequest } from '../../core/protocol/codec.ts';
import { createFramer, type Framer, push } from '../../core/protocol/frame.ts';
import { apiOf } from '../../core/protocol/messages/index.ts';
import { type Exchange, formatExchange } from './golden.ts';

const FRAME_BYTES_MAX = 100 * 1024 * 1024;

/** What the proxy needs to know. */
export interface RecordOptions {
  readonly listenPort: number;
  readonly brokerPort: number;
  readonly client: string;
  /** Exchanges kept of one (API, version). */
  readonly keepMax: number;
  /** Longer frames are forwarded but not kept. Bytes. */
  readonly frameBytesMax: number;
  readonly onExchange: (exchange: Exchange) => void;
}

interface Pending {
  readonly key: number;
  readonly version: number;
  readonly correlationId: number;
  readonly frame: Uint8Array;
}

/** Chooses what is kept: exchanges of lengths that have not been seen, a few for each API and version. */
class Selection {
  private readonly seen = new Map<string, Set<string>>();
  private readonly options: RecordOptions;

  constructor(options: RecordOptions) {
    this.options = options;
  }

  offer(request: Pending, response: Uint8Array): void {
    const api = apiOf(request.key);
    const { frameBytesMax, keepMax, client, onExchange } = this.options;
    if (api === undefined || request.frame.length > frameBytesMax || response.length > frameBytesMax) return;
    const name = `${request.key}/${request.version}`;
    const lengths = this.seen.get(name) ?? new Set<string>();
    this.seen.set(name, lengths);
    const shape = `${request.frame.length}/${response.length}`;
    if (lengths.size >= keepMax || lengths.has(shape)) return;
    lengths.add(shape);
    onExchange({
      client,
      api: api.name,
      key: request.key,
      version: request.version,
      request: Buffer.from(request.frame).toString('base64'),
      response: Buffer.from(response).toString('base64'),
    });
  }
}

function carry(client: net.Socket, options: RecordOptions, selection: Selection): void {
  const broker = net.connect(options.brokerPort, '127.0.0.1');
  const pending: Pending[] = [];
  const up = createFramer(FRAME_BYTES_MAX);
  const down = createFramer(FRAME_BYTES_MAX);
  client.on('data', (chunk) => {
    broker.write(chunk);
    for (const frame of framesIn(up, chunk)) {
      const head = peekRequest(frame);
      if (head === null) continue;
      pending.push({ key: head.apiKey, version: head.apiVersion, correlationId: head.correlationId, frame });
    }
  });
  broker.on('data', (chunk) => {
    client.write(chunk);
    for (const frame of framesIn(down, chunk)) {
      const correlationId = Buffer.from(frame.subarray(0, 4)).readInt32BE(0);
      // A request without a response (acks=0) is passed over.
      const index = pending.findIndex((request) => request.correlationId === correlationId);
      if (index < 0) continue;
      const [request] = pending.splice(0, index + 1).slice(-1);
      if (request !== undefined) selection.offer(request, frame);
    }
  });
  const end = (): void => {
    client.destroy();
    broker.destroy();
  };
  for (const socket of [client, broker]) socket.on('close', end).on('error', end);
}

function framesIn(framer: Framer, chunk: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  push(framer, chunk, frames);
  return frames;
}

/** Starts the proxy on 127.0.0.1. */
export function startRecording(options: RecordOptions): net.Server {
  const selection = new Selection(options);
  const server = net.createServer((client) => carry(client, options, selection));
  server.listen(options.listenPort, '127.0.0.1');
  return server;
}

function main(): void {
  const { values } = parseArgs({
    options: {
      listen: { type: 'string' },
      broker: { type: 'string' },
      client: { type: 'string' },
      out: { type: 'string' },
      keep: { type: 'string', default: '3' },
      max: { type: 'string', default: '2500' },
    },
  });
  const { listen, broker, client, out } = values;
  if (listen === undefined || broker === undefined || client === undefined || out === undefined) {
    process.stderr.write(
      'usage: record --listen PORT --broker PORT --client NAME --out FILE [--keep N] [--max BYTES]\n',
    );
    process.exit(2);
  }
  startRecording({
    listenPort: Number(listen),
    brokerPort: Number(broker),
    client,
    keepMax: Number(values.keep),
    frameBytesMax: Number(values.max),
    onExchange: (exchange) => appendFileSync(out, formatExchange(exchange)),
  });
}

if (process.argv[1] !== undefined && /record\.js$/.test(process.argv[1])) main();
