/**
 * Two brokers that are asked the same: Apache Kafka and our daemon, with the same settings, over plain sockets and our
 * own codecs. Whatever must differ between two brokers (ids, ports, the wording of messages) is put into one form
 * before answers are compared; the rest is compared field by field.
 */
import { connect, type Socket } from 'node:net';
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import { decodeResponse, encodeRequest } from '../../../core/protocol/codec.ts';
import { type ApiKey, apiOf } from '../../../core/protocol/messages/index.ts';
import { defaultsOf, type Fields, inRange, isPlaced, isTagged } from '../../../core/protocol/schema.ts';
import { startKafka } from '../../../tools/peers/kafka-broker.ts';
import { startTidemark } from '../../../tools/peers/tidemark.ts';
import { fill, join } from '../../broker/frames.ts';

/** What a request came to when it was not answered. */
export type NoAnswer = 'closed' | 'silent';

/** A connection that asks one thing after the other. */
export interface Wire {
  /** The decoded answer. Fields of the body that are left out are at their defaults. */
  readonly ask: (key: number, version: number, body: object) => Promise<Answer | NoAnswer>;
  /** Sends bytes as they are and resolves to the frame that has the correlation id. */
  readonly raw: (id: number, bytes: Uint8Array, waitMs?: number) => Promise<Uint8Array | NoAnswer>;
  readonly close: () => void;
}

/** A decoded body, as untyped as parsed JSON: two brokers are compared, and no type says what either answers. */
export type Answer = ReturnType<typeof JSON.parse>;

/** One of the two brokers. */
export interface Peer {
  readonly name: 'kafka' | 'tidemark';
  readonly port: number;
  /** A fresh connection. */
  readonly connect: () => Promise<Wire>;
  /** The connection that most cases share; a new one after it was closed. */
  readonly wire: () => Promise<Wire>;
  /** Topic ids by name, of topics that `topic` has made. */
  readonly ids: Map<string, string>;
  readonly stop: () => Promise<void>;
}

/** No answer within this is none: a busy machine, on which a broker has just started, takes seconds for its first. */
const SILENCE_MS = 20_000;
/** How long a broker may take for what it does in the background, and how often it is asked meanwhile. */
const PATIENCE_MS = 60_000;
const ASK_INTERVAL_MS = 20;
const LIST_OFFSETS = 2;
const METADATA = 3;

/** Starts both with the same settings. */
export async function startPeers(settings: ReadonlyMap<string, string>): Promise<readonly [Peer, Peer]> {
  const ours = new Map([['node.id', '1'], ...settings]);
  const [kafka, tidemark] = await Promise.all([
    startKafka({ heap: '512m', settings }),
    startTidemark({ settings: ours }),
  ]);
  const stopTidemark = async (): Promise<void> => void (await tidemark.service.stop('SIGKILL'));
  return [peer('kafka', kafka.port, kafka.stop), peer('tidemark', tidemark.port, stopTidemark)];
}

function peer(name: Peer['name'], port: number, stop: () => Promise<void>): Peer {
  let shared: (Wire & { isOpen: () => boolean }) | null = null;
  const wire = async (): Promise<Wire> => {
    if (shared === null || !shared.isOpen()) shared = await open(port);
    return shared;
  };
  return { name, port, connect: () => open(port), wire, ids: new Map(), stop };
}

/** The versions of an API that both serve. */
export function versionsOf(key: number, from = 0): number[] {
  const item = apiOf(key);
  if (item === undefined) throw new Error(`no API ${key}`);
  const versions: number[] = [];
  for (let version = from; version <= item.advertised.until; version++) {
    if (inRange(version, item.request.versions)) versions.push(version);
  }
  return versions;
}

/** Makes a topic as a client would, by asking for it, until it can be used. Resolves to its id. */
export async function topic(peer: Peer, name: string): Promise<string> {
  const known = peer.ids.get(name);
  if (known !== undefined) return known;
  const id = await inTime(`${peer.name} to make topic ${name}`, async () => {
    const wire = await peer.wire();
    const body = { topics: [{ name, topicId: ZERO_UUID }], allowAutoTopicCreation: true };
    const found: Answer | NoAnswer = await wire.ask(METADATA, 12, body);
    if (typeof found === 'string') return null;
    const [first] = found.topics;
    const isUsable = first.errorCode === 0 && (await leads(wire, name, first.partitions));
    return isUsable ? (first.topicId as string) : null;
  });
  peer.ids.set(name, id);
  return id;
}

/** Asks again and again until there is something; throws an Error that says what was awaited. */
export async function inTime<T>(what: string, ask: () => Promise<T | null>, patienceMs = PATIENCE_MS): Promise<T> {
  const untilMs = performance.now() + patienceMs;
  while (performance.now() < untilMs) {
    const found = await ask();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
  }
  throw new Error(`waited in vain for ${what}`);
}

/** Whether the broker leads the partitions: metadata may say so a little before it is so. */
async function leads(wire: Wire, name: string, partitions: readonly Answer[]): Promise<boolean> {
  const asked = partitions.map(({ partitionIndex }) => ({ partitionIndex, timestamp: -1, currentLeaderEpoch: -1 }));
  const answer: Answer = await wire.ask(LIST_OFFSETS, 5, { replicaId: -1, topics: [{ name, partitions: asked }] });
  return typeof answer !== 'string' && answer.topics[0].partitions.every(({ errorCode }: Answer) => errorCode === 0);
}

/** The answer with everything that differs between any two brokers in one form. */
export function plain(peer: Peer, value: unknown, field = ''): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return inOrder(value.map((one) => plain(peer, one, field)));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(peer, one, name)]));
  }
  switch (field) {
    case 'clusterId':
      return value === null || value === '' ? value : 'CLUSTER';
    case 'topicId':
      return [...peer.ids].find(([, id]) => id === value)?.[0] ?? value;
    case 'port':
      return value === peer.port ? 'PORT' : value;
    case 'errorMessage':
    case 'batchIndexErrorMessage':
      return value === null ? null : 'TEXT';
    case 'sessionId':
      return value === 0 ? 0 : 'SESSION';
    case 'logAppendTimeMs':
      return value === -1 ? -1 : 'TIME';
    default:
      return value;
  }
}

/** Topics and partitions by name and number: brokers answer in whatever order. */
function inOrder(values: unknown[]): unknown[] {
  const place = (value: unknown): string => {
    if (!isObject(value)) return '';
    const { name, topic, topicId, index, partition, partitionIndex } = value;
    const number = index ?? partition ?? partitionIndex;
    return `${name ?? topic ?? ''}/${topicId ?? ''}/${typeof number === 'number' ? number : ''}`;
  };
  return values.sort((first, second) => (place(first) < place(second) ? -1 : place(first) > place(second) ? 1 : 0));
}

/** Where two answers differ, a line each: `path: Kafka's, ours`. Versions stand in front where there are several. */
export function differences(kafka: unknown, ours: unknown, path = ''): string[] {
  if (Array.isArray(kafka) && Array.isArray(ours) && kafka.length === ours.length) {
    const isVersion = kafka.length === 2 && typeof kafka[0] === 'number' && kafka[0] === ours[0];
    if (isVersion) return differences(kafka[1], ours[1], `v${kafka[0]} `);
    return kafka.flatMap((one, i) => differences(one, ours[i], `${path}[${i}]`));
  }
  if (isObject(kafka) && isObject(ours)) {
    const names = new Set([...Object.keys(kafka), ...Object.keys(ours)]);
    return [...names].flatMap((name) => differences(kafka[name], ours[name], `${path}.${name}`));
  }
  const [first, second] = [JSON.stringify(kafka), JSON.stringify(ours)];
  return first === second ? [] : [`${path}: ${first}, ${second}`];
}

function isObject(value: unknown): value is { [name: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The body without what the version cannot carry: each such field is at its default. */
function carried(fields: Fields, body: { [name: string]: unknown }, version: number): { [name: string]: unknown } {
  const fitted: { [name: string]: unknown } = defaultsOf(fields);
  for (const [name, item] of Object.entries(fields)) {
    if (!isPlaced(item, version) && !isTagged(item, version)) continue;
    const value = body[name];
    const inner = item.fields;
    if (inner === undefined || value === null) fitted[name] = value;
    else if (Array.isArray(value)) fitted[name] = value.map((one) => carried(inner, one, version));
    else fitted[name] = carried(inner, value as { [name: string]: unknown }, version);
  }
  return fitted;
}

async function open(port: number): Promise<Wire & { isOpen: () => boolean }> {
  const socket = await connected(port);
  /** By correlation id. */
  const waiting = new Map<number, (frame: Uint8Array | NoAnswer) => void>();
  let chunks = Buffer.alloc(0);
  let isOpen = true;
  let correlation = 0;
  socket.on('data', (chunk: Buffer) => {
    chunks = Buffer.concat([chunks, chunk]);
    while (chunks.length >= 8 && chunks.length >= 4 + chunks.readInt32BE(0)) {
      const end = 4 + chunks.readInt32BE(0);
      const frame = new Uint8Array(chunks.subarray(4, end));
      const id = chunks.readInt32BE(4);
      chunks = chunks.subarray(end);
      waiting.get(id)?.(frame);
    }
  });
  socket.on('close', () => {
    isOpen = false;
    for (const resolve of waiting.values()) resolve('closed');
  });
  const raw = (id: number, bytes: Uint8Array, waitMs = SILENCE_MS): Promise<Uint8Array | NoAnswer> => {
    if (!isOpen) return Promise.resolve('closed');
    const answer = new Promise<Uint8Array | NoAnswer>((resolve) => {
      const timer = setTimeout(() => {
        // Whatever comes after an answer that does not come would have to wait for it.
        isOpen = false;
        resolve('silent');
      }, waitMs);
      waiting.set(id, (frame) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(frame);
      });
    });
    socket.write(bytes);
    return answer;
  };
  const ask = async (key: number, version: number, body: object): Promise<Answer | NoAnswer> => {
    const item = apiOf(key);
    if (item === undefined) throw new Error(`no API ${key}`);
    correlation += 1;
    const whole = fill(item.request.fields, body) as { [name: string]: unknown };
    const fitted = carried(item.request.fields, whole, version) as never;
    const bytes = join(encodeRequest(key as ApiKey, version, correlation, 'differential', fitted));
    const frame = await raw(correlation, bytes);
    return typeof frame === 'string' ? frame : decodeResponse(key as ApiKey, version, frame).body;
  };
  return { ask, raw, close: () => socket.destroy(), isOpen: () => isOpen };
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.off('error', reject);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.setNoDelay(true);
    socket.once('error', reject);
  });
}
