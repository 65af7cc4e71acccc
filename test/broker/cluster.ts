/**
 * Several nodes over one toy network, each with a toy disk of its own: for tests of what nodes do together. Time moves
 * only when a test says so; between two moments everything that is under way arrives, in order. A node that is stopped
 * or killed leaves ports that refuse; one that is cut off hears nothing and is not heard.
 */
import { type Node, nodeDeadlineMs } from '../../core/broker/node.ts';
import type { NetworkEffect } from '../../core/lib/world.ts';
import type { ApiKey, RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { frames, join, type Loose } from './frames.ts';
import { type Changes, type ToyConnection, type ToyLink, ToyWorld } from './toy-world.ts';

/** Steps without time passing: more is a loop. */
const STEPS_MAX = 200_000;
const CLUSTER_ID = 'Tidemark-cluster-0000A';

/** One end of a connection between two nodes. */
interface End {
  readonly world: ToyWorld;
  readonly connection: number;
  other: End | null;
  rest: Uint8Array;
  isPaused: boolean;
  /** Frames that wait for the end to be read again. */
  readonly held: Uint8Array[];
}

/** Nodes numbered from 1, of both roles unless `changes` says otherwise. */
export class ToyCluster implements ToyLink {
  readonly worlds = new Map<number, ToyWorld>();
  /** Nodes whose process is dead. */
  readonly dead = new Set<number>();
  /** Nodes that are cut off from all others. */
  readonly alone = new Set<number>();
  nowMs = 1000;
  private readonly ends = new Map<string, End>();

  constructor(count: number, changes: (id: number) => Changes = () => ({})) {
    const ids = Array.from({ length: count }, (_, i) => i + 1);
    const voters = ids.map((id) => `${id}@node${id}:9093`).join(',');
    for (const id of ids) {
      const world = new ToyWorld({
        'node.id': String(id),
        'cluster.id': CLUSTER_ID,
        listeners: `PLAINTEXT://node${id}:9092,CONTROLLER://node${id}:9093`,
        'controller.listener.names': 'CONTROLLER',
        'controller.quorum.voters': voters,
        'tidemark.topics': '',
        ...changes(id),
      });
      world.link = this;
      world.salt = id;
      this.worlds.set(id, world);
    }
  }

  /** Starts the nodes, all at once. */
  start(...ids: number[]): this {
    for (const id of ids.length > 0 ? ids : this.worlds.keys()) {
      this.dead.delete(id);
      this.world(id).queue({ kind: 'start', seed: 100 + id });
    }
    this.settle();
    return this;
  }

  world(id: number): ToyWorld {
    const world = this.worlds.get(id);
    if (world === undefined) throw new Error(`there is no node ${id}`);
    return world;
  }

  node(id: number): Node {
    return this.world(id).node;
  }

  /** The nodes that run. */
  get living(): number[] {
    return [...this.worlds.keys()].filter((id) => !this.dead.has(id));
  }

  /** The process of a node dies, and its port refuses. Whoever was connected to it hears that the connection ended. */
  kill(id: number, kind: 'process' | 'power' = 'process'): void {
    const world = this.world(id);
    this.dead.add(id);
    for (const end of [...this.ends.values()]) if (end.world === world) this.drop(end);
    world.crash(kind, false);
    this.settle();
  }

  /** The operator asks a node to stop; it goes on until it has. */
  stop(id: number, withinMs = 20_000): void {
    this.world(id).queue({ kind: 'stop' });
    this.settle();
    this.until(() => this.world(id).exit !== null, withinMs);
    const world = this.world(id);
    const exit = world.exit;
    this.dead.add(id);
    for (const end of [...this.ends.values()]) if (end.world === world) this.drop(end);
    world.crash('process', false);
    world.exit = exit;
    this.settle();
  }

  /** Lets time pass until something holds. */
  until(holds: () => boolean, withinMs = 10_000): void {
    const endMs = this.nowMs + withinMs;
    while (!holds()) {
      if (this.nowMs >= endMs) throw new Error(`it does not hold after ${withinMs} ms`);
      this.pass(10);
    }
  }

  /** Time passes for all nodes. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    this.settle();
    for (;;) {
      const nextMs = Math.min(...this.living.map((id) => nodeDeadlineMs(this.node(id))));
      if (nextMs > untilMs) break;
      this.moveTo(Math.max(nextMs, this.nowMs));
      for (const id of this.living) {
        if (nodeDeadlineMs(this.node(id)) <= this.nowMs) this.world(id).queue({ kind: 'wake' });
      }
      this.settle();
    }
    this.moveTo(untilMs);
  }

  private moveTo(nowMs: number): void {
    for (const world of this.worlds.values()) {
      world.wallMs += nowMs - this.nowMs;
      world.nowMs = nowMs;
    }
    this.nowMs = nowMs;
  }

  /** Runs all nodes until nothing moves. */
  settle(): void {
    for (let steps = 0; ; steps++) {
      if (steps > STEPS_MAX) throw new Error('the nodes never come to rest');
      const id = this.living.find((one) => this.world(one).isMoving);
      if (id === undefined) return;
      this.world(id).run();
    }
  }

  /** A client of a node, through its first listener: of both roles, 0 is for clients and 1 for controllers. */
  connect(id: number, listener = 0): ToyConnection {
    return this.world(id).connect(listener);
  }

  /** Asks, and lets time pass until the answer has come. */
  ask<K extends ApiKey>(
    id: number,
    connection: ToyConnection,
    apiKey: K,
    version: number,
    body: Loose<RequestInputOf<K>>,
    withinMs = 10_000,
  ): ResponseOf<K> {
    const world = this.world(id);
    world.send(connection, apiKey, version, body);
    this.settle();
    this.until(() => world.pending(connection).length > 0, withinMs);
    return world.take(connection, apiKey, version);
  }

  take(world: ToyWorld, effect: NetworkEffect): boolean {
    switch (effect.kind) {
      case 'connect':
        this.dial(world, effect);
        return true;
      case 'send':
      case 'pause':
      case 'resume':
      case 'close': {
        const end = this.ends.get(endKey(world, effect.connection));
        if (end !== undefined) this.act(end, effect);
        return end !== undefined || effect.connection < 0;
      }
      default:
        return false;
    }
  }

  private dial(world: ToyWorld, effect: Extract<NetworkEffect, { kind: 'connect' }>): void {
    const { connection, host, port } = effect;
    const id = Number(host.replace('node', ''));
    const target = this.worlds.get(id);
    const listener = target?.node.listeners.findIndex((one) => one.port === port && one.boundPort !== 0) ?? -1;
    if (this.isCut(world) || (target !== undefined && this.isCut(target))) {
      world.queue({ kind: 'connectFailed', connection, reason: 'timedOut' });
    } else if (target === undefined || this.dead.has(id) || listener < 0) {
      world.queue({ kind: 'connectFailed', connection, reason: 'refused' });
    } else {
      const own = this.end(world, connection);
      const other = this.end(target, target.connectionNext++);
      own.other = other;
      other.other = own;
      world.queue({ kind: 'connected', connection });
      const from = { peerHost: '10.0.0.2', peerPort: 40_000, localHost: host, localPort: port };
      target.queue({ kind: 'accepted', connection: other.connection, listener, ...from });
    }
  }

  private end(world: ToyWorld, connection: number): End {
    const end: End = { world, connection, other: null, rest: new Uint8Array(0), isPaused: false, held: [] };
    this.ends.set(endKey(world, connection), end);
    return end;
  }

  private act(end: End, effect: Exclude<NetworkEffect, { kind: 'listen' | 'unlisten' | 'connect' }>): void {
    switch (effect.kind) {
      case 'send': {
        const bytes = join(effect.parts);
        end.world.queue({ kind: 'sent', connection: end.connection, sizeBytes: bytes.length });
        if (end.other !== null && !this.isCut(end.world) && !this.isCut(end.other.world)) deliver(end.other, bytes);
        break;
      }
      case 'pause':
        end.isPaused = true;
        break;
      case 'resume':
        end.isPaused = false;
        for (const frame of end.held.splice(0)) hand(end, frame);
        break;
      case 'close':
        this.drop(end);
        end.world.queue({ kind: 'closed', connection: end.connection, reason: 'asked', detail: '' });
        break;
    }
  }

  /** The connection is over; the other side hears of it. */
  private drop(end: End): void {
    const { other } = end;
    this.ends.delete(endKey(end.world, end.connection));
    if (other === null || !this.ends.delete(endKey(other.world, other.connection))) return;
    other.world.queue({ kind: 'closed', connection: other.connection, reason: 'reset', detail: '' });
  }

  private isCut(world: ToyWorld): boolean {
    return this.alone.has(world.node.nodeId);
  }
}

function endKey(world: ToyWorld, connection: number): string {
  return `${world.node.nodeId}/${connection}`;
}

function deliver(end: End, bytes: Uint8Array): void {
  end.rest = join([end.rest, bytes]);
  const whole = frames(end.rest);
  let used = 0;
  for (const frame of whole) {
    used += 4 + frame.length;
    hand(end, frame.slice());
  }
  end.rest = end.rest.slice(used);
}

function hand(end: End, frame: Uint8Array): void {
  if (end.isPaused) end.held.push(frame);
  else end.world.queue({ kind: 'frame', connection: end.connection, bytes: frame });
}
