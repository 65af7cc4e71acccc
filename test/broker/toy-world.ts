/**
 * A world for one node, in memory and in one thread: effects are carried out in order, at once, and answered through
 * a queue. Tests can hold the answers of syncs, let effects fail, cut the power, and speak to the node in frames.
 *
 * A crash keeps what was synced and what `replace` put in place; `crash('process')` keeps everything written.
 */
import { checkNode } from '../../core/broker/check.ts';
import { createNode, type Node, nodeDeadlineMs, stepNode } from '../../core/broker/node.ts';
import { parseSettings } from '../../core/config/parse.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import type { DiskError, Effect, Env, Input, NetworkEffect } from '../../core/lib/world.ts';
import { decodeResponse, encodeRequest, peekResponse } from '../../core/protocol/codec.ts';
import { type ApiKey, apiOf, type RequestInputOf, type ResponseOf } from '../../core/protocol/messages/index.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import { fill, frames, join, type Loose } from './frames.ts';
import type { Changes, DiskEffect, ToyConnection, ToyFile, ToyLink } from './toy-shapes.ts';
import * as shapes from './toy-shapes.ts';

export type { Changes, ToyConnection, ToyLink } from './toy-shapes.ts';

const DATA = '/data/node';

/** A world with one node. */
export class ToyWorld {
  node: Node;
  nowMs = 1000;
  wallMs = 1_700_000_000_000;
  readonly files = new Map<string, ToyFile>();
  readonly folders = new Set<string>(['/', '/data']);
  readonly opened = new Map<number, string>();
  /** Memory that was lent and has not been sent. */
  readonly lent = new Set<ArrayBufferLike>();
  readonly connections = new Map<number, ToyConnection>();
  readonly said: string[] = [];
  exit: { code: number; reason: string } | null = null;
  isReady = false;
  /** While true, syncs are not answered; of paths that hold `holdsOn` only. */
  holdsSyncs = false;
  holdsOn = '';
  /** While true, reads of files are not answered. */
  holdsReads = false;
  /** While true, 'sent' is not told. */
  holdsSent = false;
  /** Effects of this kind, on paths that hold this text, fail. */
  fault: { kind: Effect['kind']; on: string; error: DiskError } | null = null;
  /** After so many effects the node is dead: nothing is carried out any more until `crash`. */
  effectsLeft = Number.POSITIVE_INFINITY;
  /** After the first effect with this line in `log` the node is dead likewise. */
  diesAfter = '';
  /** Keeps the identities of worlds apart. */
  salt = 0;
  /** Where this world is one of several. */
  link: ToyLink | null = null;
  /** Ports are in use. */
  refusesToListen = false;
  /** Every effect since the start, by kind and path. */
  readonly log: string[] = [];
  readonly config: ReturnType<typeof parseSettings>['config'];
  private readonly inputs: Input[] = [];
  private readonly held: Input[] = [];
  private entropyNext = 1;
  /** Of the next accepted connection. */
  connectionNext = 1;
  private correlationNext = 1;
  /** Steps that the node has taken, and after how many the whole of it is checked: with much in it, not after each. */
  steps = 0;
  stepsPerCheck = 1;

  constructor(changes: Changes = {}) {
    const entries = new Map<string, string>([
      ['log.dirs', DATA],
      ['tidemark.topics', 'orders:2'],
      ...Object.entries(changes),
    ]);
    const { config, problems } = parseSettings(entries);
    if (problems.some(({ severity }) => severity === 'error')) throw new Error(JSON.stringify(problems));
    this.config = config;
    this.node = createNode(config);
  }

  /** Starts the node and runs until nothing moves. */
  start(): this {
    this.push({ kind: 'start', seed: 7 });
    return this;
  }

  /** The node dies. 'power': what was not synced is lost. Then a fresh node starts on what is left. */
  crash(kind: 'process' | 'power', restart = true): this {
    if (kind === 'power') {
      for (const file of this.files.values()) file.bytes = file.bytes.slice(0, file.syncedBytes);
    }
    this.inputs.length = 0;
    this.held.length = 0;
    this.opened.clear();
    this.connections.clear();
    this.exit = null;
    this.isReady = false;
    this.holdsSyncs = false;
    this.holdsOn = '';
    this.holdsReads = false;
    this.holdsSent = false;
    this.fault = null;
    this.effectsLeft = Number.POSITIVE_INFINITY;
    this.diesAfter = '';
    this.log.length = 0;
    this.said.length = 0;
    this.node = createNode(this.config);
    return restart ? this.start() : this;
  }

  /** Gives the node an input, to be taken by the next `run`. */
  queue(input: Input): void {
    this.inputs.push(input);
  }

  /** Whether the node has inputs to take. */
  get isMoving(): boolean {
    return this.inputs.length > 0;
  }

  /** Gives the node an input and runs until nothing moves. */
  push(input: Input): void {
    this.inputs.push(input);
    this.run();
  }

  /** Time passes; the node is woken at each of its deadlines. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const nextMs = nodeDeadlineMs(this.node);
      if (nextMs > untilMs) break;
      if (nextMs > this.nowMs) this.nowMs = nextMs;
      this.push({ kind: 'wake' });
    }
    this.nowMs = untilMs;
  }

  /** Answers the syncs that were held, and holds no more. */
  releaseSyncs(): void {
    this.holdsSyncs = false;
    this.inputs.push(...this.held.splice(0));
    this.run();
  }

  /** Answers the reads that were held, and holds no more. */
  releaseReads(): void {
    this.holdsReads = false;
    this.inputs.push(...this.held.splice(0));
    this.run();
  }

  connect(listener = 0): ToyConnection {
    const id = this.connectionNext++;
    const connection = { id, received: new Uint8Array(0), closed: false, paused: false, unsent: 0 };
    this.connections.set(id, connection);
    const address = { peerHost: '10.0.0.9', peerPort: 40000 + id, localHost: '10.0.0.1', localPort: 9092 };
    this.push({ kind: 'accepted', connection: id, listener, ...address });
    return connection;
  }

  disconnect(connection: ToyConnection): void {
    this.push({ kind: 'closed', connection: connection.id, reason: 'reset', detail: '' });
    this.connections.delete(connection.id);
  }

  /** Sends a request and returns its correlation id. */
  send<K extends ApiKey>(
    connection: ToyConnection,
    apiKey: K,
    version: number,
    body: Loose<RequestInputOf<K>>,
  ): number {
    const correlationId = this.correlationNext++;
    const whole = fill(apiOf(apiKey)?.request.fields ?? {}, body) as RequestInputOf<K>;
    const frame = join(encodeRequest(apiKey, version, correlationId, 'toy', whole)).subarray(4);
    this.push({ kind: 'frame', connection: connection.id, bytes: frame });
    return correlationId;
  }

  /** Sends raw bytes as one frame. */
  sendRaw(connection: ToyConnection, frame: Uint8Array): void {
    this.push({ kind: 'frame', connection: connection.id, bytes: frame });
  }

  /** The correlation ids of the answers that have come and were not taken. */
  pending(connection: ToyConnection): number[] {
    return frames(connection.received).map((frame) => peekResponse(frame) ?? -1);
  }

  /** Takes the next answer. */
  take<K extends ApiKey>(connection: ToyConnection, apiKey: K, version: number): ResponseOf<K> {
    const [frame] = frames(connection.received);
    if (frame === undefined) throw new Error('no answer has come');
    connection.received = connection.received.slice(4 + frame.length);
    return decodeResponse(apiKey, version, frame).body;
  }

  /** Asks, and takes the answer, which must have come. */
  ask<K extends ApiKey>(
    connection: ToyConnection,
    apiKey: K,
    version: number,
    body: Loose<RequestInputOf<K>>,
  ): ResponseOf<K> {
    this.send(connection, apiKey, version, body);
    return this.take(connection, apiKey, version);
  }

  run(): void {
    for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
      const out: Effect[] = [];
      stepNode(this.node, this.env(), input, out);
      this.steps += 1;
      if (this.steps % this.stepsPerCheck === 0) checkNode(this.node);
      for (const effect of out) {
        if (this.effectsLeft <= 0) {
          this.inputs.length = 0;
          return;
        }
        this.effectsLeft -= 1;
        this.carryOut(effect);
      }
    }
  }

  private env(): Env {
    return { nowMs: this.nowMs, wallMs: this.wallMs, crc32c, codecs: realCodecs(), reached: () => {} };
  }

  private carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'say':
        this.said.push(`${effect.level}: ${effect.text} ${[...effect.fields].map(([k, v]) => `${k}=${v}`).join(' ')}`);
        return;
      case 'ready':
        this.isReady = true;
        return;
      case 'exit':
        this.exit = effect;
        return;
      case 'entropy':
        this.inputs.push({
          kind: 'entropy',
          bytes: this.entropy(effect.length),
          owner: effect.owner,
          ticket: effect.ticket,
        });
        return;
      case 'listen':
      case 'unlisten':
      case 'connect':
      case 'send':
      case 'pause':
      case 'resume':
      case 'close':
        this.network(effect);
        return;
      default:
        this.disk(effect);
    }
  }

  private entropy(length: number): Uint8Array {
    this.entropyNext += 1;
    return Uint8Array.from(
      { length },
      (_, i) => ((this.entropyNext * 31 + i * 7) ^ (i % 16 === 3 ? this.salt : 0)) & 255,
    );
  }

  private network(effect: NetworkEffect): void {
    if (this.link?.take(this, effect) === true) return;
    switch (effect.kind) {
      case 'listen':
        if (this.refusesToListen) {
          this.inputs.push({ kind: 'listenFailed', listener: effect.listener, reason: 'inUse', detail: 'toy' });
          return;
        }
        this.inputs.push({ ...effect, kind: 'listening', port: effect.port || 4242 });
        return;
      case 'send': {
        const connection = this.connections.get(effect.connection);
        if (connection === undefined || connection.closed) return;
        const bytes = join(effect.parts);
        connection.received = join([connection.received, bytes]);
        connection.unsent += bytes.length;
        // What was lent and is sent is the world's again: nobody may look at it now.
        for (const { buffer } of effect.parts) if (this.lent.delete(buffer)) new Uint8Array(buffer).fill(0xdd);
        if (!this.holdsSent) this.confirm(connection);
        return;
      }
      case 'pause':
      case 'resume': {
        const connection = this.connections.get(effect.connection);
        if (connection) connection.paused = effect.kind === 'pause';
        return;
      }
      case 'close': {
        const connection = this.connections.get(effect.connection);
        if (connection) connection.closed = true;
        this.inputs.push({ kind: 'closed', connection: effect.connection, reason: 'asked', detail: '' });
        return;
      }
      case 'unlisten':
      case 'connect':
        return;
    }
  }

  /** Tells the node that all it sent to a connection has left. */
  confirm(connection: ToyConnection): void {
    const sizeBytes = connection.unsent;
    connection.unsent = 0;
    if (sizeBytes > 0) this.inputs.push({ kind: 'sent', connection: connection.id, sizeBytes });
  }

  private disk(effect: DiskEffect): void {
    const { owner, ticket } = effect;
    const path =
      'path' in effect ? effect.path : 'file' in effect ? (this.opened.get(effect.file) ?? '?') : effect.from;
    const line = `${effect.kind} ${path}`;
    this.log.push(line);
    if (line === this.diesAfter) this.effectsLeft = 0;
    const { fault } = this;
    const error = fault?.kind === effect.kind && path.includes(fault.on) ? fault.error : this.apply(effect, path);
    if (typeof error === 'string') {
      this.inputs.push({ kind: 'diskFailed', during: effect.kind, error, detail: 'toy', owner, ticket });
    } else if (
      (effect.kind === 'sync' && this.holdsSyncs && path.includes(this.holdsOn)) ||
      (effect.kind === 'read' && this.holdsReads)
    ) {
      this.held.push(error);
    } else {
      this.inputs.push(error);
    }
  }

  private lend({ position, length, isLent }: Extract<DiskEffect, { kind: 'read' }>, file: Uint8Array): Uint8Array {
    const bytes = file.slice(position, position + length);
    if (isLent === true) this.lent.add(bytes.buffer);
    return bytes;
  }

  private apply(effect: DiskEffect, path: string): Input | DiskError {
    const asked = { owner: effect.owner, ticket: effect.ticket };
    const file = this.files.get(path);
    switch (effect.kind) {
      case 'open':
        if (file === undefined && !effect.create) return 'notFound';
        if (file === undefined) this.files.set(path, { bytes: new Uint8Array(0), syncedBytes: 0 });
        this.opened.set(effect.file, path);
        return { kind: 'opened', sizeBytes: file?.bytes.length ?? 0, ...asked };
      case 'append':
        if (file === undefined) return 'closed';
        file.bytes = join([file.bytes, ...effect.parts]);
        return { kind: 'appended', ...asked };
      case 'sync':
        if (file === undefined) return 'closed';
        file.syncedBytes = file.bytes.length;
        return { kind: 'synced', ...asked };
      case 'read':
        if (file === undefined) return 'closed';
        return { kind: 'read', bytes: this.lend(effect, file.bytes), ...asked };
      case 'truncate':
        if (file === undefined) return 'closed';
        file.bytes = file.bytes.slice(0, effect.size);
        file.syncedBytes = Math.min(file.syncedBytes, effect.size);
        return { kind: 'changed', ...asked };
      case 'closeFile':
        this.opened.delete(effect.file);
        return { kind: 'changed', ...asked };
      case 'replace':
        this.files.set(path, { bytes: effect.bytes.slice(), syncedBytes: effect.bytes.length });
        return { kind: 'changed', ...asked };
      case 'load':
        return file === undefined ? 'notFound' : { kind: 'loaded', bytes: file.bytes.slice(), ...asked };
      case 'rename':
        if (file === undefined && !this.folders.has(path)) return 'notFound';
        if (this.folders.has(effect.to)) return 'io';
        shapes.moveAll(this.files, path, effect.to);
        if (this.folders.delete(path)) this.folders.add(effect.to);
        return { kind: 'changed', ...asked };
      case 'remove':
        for (const name of [...this.files.keys()])
          if (name === path || name.startsWith(`${path}/`)) this.files.delete(name);
        for (const name of [...this.folders])
          if (name === path || name.startsWith(`${path}/`)) this.folders.delete(name);
        return { kind: 'changed', ...asked };
      case 'makeFolder':
        this.folders.add(path);
        return { kind: 'changed', ...asked };
      case 'syncFolder':
        return this.folders.has(path) ? { kind: 'changed', ...asked } : 'notFound';
      case 'list':
        if (!this.folders.has(path)) return 'notFound';
        return { kind: 'listed', entries: shapes.entriesOf(this.files, this.folders, path), ...asked };
    }
  }
}
