/** The administrator against the real node machine: every call comes back, and doubt is told where there is doubt. */
import { describe, expect, it } from 'vitest';
import {
  type AdminEvent,
  type AdminOptions,
  adminDeadlineMs,
  askAdmin,
  checkAdmin,
  createAdmin,
  stepAdmin,
  stopAdmin,
} from '../../core/client/admin.ts';
import { type AdminRequest, ConfigOperation, ConfigResource } from '../../core/client/admin-calls.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env, NetworkInput, Outbox } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { realCodecs } from '../../runtime-real/codecs.ts';
import { commitBody, fetchAllBody, GROUP_KEY, offsetsIn } from '../broker/grouping.ts';
import { produce } from '../broker/speaking.ts';
import { type ToyConnection, ToyWorld } from '../broker/toy-world.ts';

const codecs = realCodecs();

/** One administrator and one node; frames are passed by hand. */
class Scene {
  readonly world = new ToyWorld({ 'tidemark.topics': '' }).start();
  readonly events: AdminEvent[] = [];
  readonly admin;
  readonly #connections = new Map<number, ToyConnection>();
  /** Answers to that many requests are lost with their connection, before they arrive. */
  losses = 0;

  constructor(changes: Partial<AdminOptions> = {}) {
    const usual = { clientId: 'admin', bootstrap: [{ host: 'node', port: 9092 }], seed: 3, retryBackoffMs: 20 };
    const times = { requestTimeoutMs: 2_000, timeoutMs: 9_000, attemptsMax: 3 };
    this.admin = createAdmin({ ids: createIds(), ...usual, ...times, ...changes });
  }

  #step(input: NetworkInput | { readonly kind: 'wake' }): void {
    const { world } = this;
    const env: Env = { nowMs: world.nowMs, wallMs: world.wallMs, crc32c, codecs, reached: () => {} };
    const out: Outbox = [];
    stepAdmin(this.admin, env, input, out, this.events);
    checkAdmin(this.admin);
    for (const effect of out) {
      if (effect.kind === 'connect') {
        this.#connections.set(effect.connection, world.connect());
        this.#step({ kind: 'connected', connection: effect.connection });
      } else if (effect.kind === 'send') {
        const connection = this.#connections.get(effect.connection);
        const whole = Uint8Array.from(effect.parts.flatMap((part) => [...part]));
        if (connection !== undefined) world.sendRaw(connection, whole.subarray(4));
      }
    }
  }

  #deliver(): boolean {
    for (const [id, connection] of this.#connections) {
      const { received } = connection;
      if (received.length < 4) continue;
      const size = new DataView(received.buffer, received.byteOffset).getInt32(0);
      connection.received = received.slice(4 + size);
      const isAnswer = this.admin.tasks.size > 0 && [...this.admin.tasks.values()].some(({ call }) => call !== 0);
      if (isAnswer && this.losses > 0) {
        this.losses -= 1;
        this.#connections.delete(id);
        this.world.disconnect(connection);
        this.#step({ kind: 'closed', connection: id, reason: 'reset', detail: '' });
      } else {
        this.#step({ kind: 'frame', connection: id, bytes: received.slice(4, 4 + size) });
      }
      return true;
    }
    return false;
  }

  /** Asks, and waits for the event. */
  ask(request: AdminRequest, attemptsMax?: number): AdminEvent {
    const { world } = this;
    const env: Env = { nowMs: world.nowMs, wallMs: world.wallMs, crc32c, codecs, reached: () => {} };
    const ticket = askAdmin(this.admin, env, request, attemptsMax);
    for (let turn = 0; turn < 2_000; turn++) {
      const event = this.events.find((one) => one.ticket === ticket);
      if (event !== undefined) return event;
      if (adminDeadlineMs(this.admin) <= world.nowMs) this.#step({ kind: 'wake' });
      else if (!this.#deliver()) world.pass(10);
    }
    throw new Error('the question was never answered');
  }
}

const TOPIC = { resourceType: ConfigResource.TOPIC, resourceName: 'a' };

function create(topic = 'a', partitions = 1): AdminRequest {
  return { kind: 'createTopic', topic, partitions, replicationFactor: 1, configs: [['segment.ms', '5000']] };
}

describe('an administrator', () => {
  it('makes, describes, changes, cuts and deletes a topic', () => {
    const scene = new Scene();
    const made = scene.ask(create());
    expect(made).toMatchObject({ error: 0, unsureAttempts: 0 });
    const described = scene.ask({ kind: 'describeTopic', topic: 'a' });
    expect(described.result.topicId).toBe(made.result.topicId);
    expect(described.result.partitions).toMatchObject([{ error: 0, leader: scene.world.node.nodeId }]);
    expect(scene.ask({ kind: 'createPartitions', topic: 'a', count: 2 }).error).toBe(0);
    expect(scene.ask({ kind: 'describeTopic', topic: 'a' }).result.partitions).toHaveLength(2);
    const changes = [{ name: 'max.message.bytes', operation: ConfigOperation.SET, value: '900' }];
    expect(scene.ask({ kind: 'alterConfigs', ...TOPIC, changes }).error).toBe(0);
    const names = ['max.message.bytes', 'segment.ms'];
    const configs = scene.ask({ kind: 'describeConfigs', ...TOPIC, names }).result.configs ?? [];
    expect(configs.map(({ name, value, source }) => [name, value, source]).sort()).toEqual([
      ['max.message.bytes', '900', 1],
      ['segment.ms', '5000', 1],
    ]);
    for (const value of ['x', 'y', 'z']) produce(scene.world, scene.world.connect(), 0, [value], { topic: 'a' });
    const end: AdminRequest = { kind: 'listOffset', topic: 'a', partition: 0, at: 'latest' };
    expect(scene.ask(end).result.offset).toBe(3);
    const cut: AdminRequest = { kind: 'deleteRecords', topic: 'a', partition: 0, offset: 2 };
    expect(scene.ask(cut)).toMatchObject({ error: 0, result: { offset: 2 } });
    expect(scene.ask({ ...end, at: 'earliest' }).result.offset).toBe(2);
    expect(scene.ask({ kind: 'deleteTopic', topic: 'a' }).error).toBe(0);
  });

  it('moves a partition, takes a move back, and lists what is on its way', () => {
    const scene = new Scene();
    scene.ask(create());
    const { nodeId } = scene.world.node;
    const move = (replicas: readonly number[] | null) =>
      scene.ask({ kind: 'movePartition', topic: 'a', partition: 0, replicas });
    expect(move([nodeId])).toMatchObject({ error: 0, unsureAttempts: 0 });
    expect(move([nodeId + 1])).toMatchObject({ error: ErrorCode.INVALID_REPLICA_ASSIGNMENT });
    expect(move(null)).toMatchObject({ error: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS });
    const listed = scene.ask({ kind: 'listMoves', topic: 'a', partitions: [0] });
    expect(listed).toMatchObject({ error: 0, result: { moving: [] } });
    expect(scene.ask({ kind: 'describeTopic', topic: 'a' }).result.partitions?.[0]?.replicas).toEqual([nodeId]);
  });

  it('lists, describes and deletes groups and offsets of them', () => {
    const scene = new Scene({ attemptsMax: 9 });
    const { world } = scene;
    scene.ask({ kind: 'createTopic', topic: 'orders', partitions: 2, replicationFactor: 1, configs: [] });
    const client = world.connect();
    world.ask(client, GROUP_KEY.findCoordinator, 0, { key: 'g' });
    world.ask(client, GROUP_KEY.offsetCommit, 7, commitBody('g', [5, 7]));
    const stored = (): unknown => offsetsIn(world.ask(client, GROUP_KEY.offsetFetch, 8, fetchAllBody('g')));
    expect(scene.ask({ kind: 'listGroups' }).result.groupIds).toEqual(['g']);
    const described = scene.ask({ kind: 'describeGroup', groupId: 'g' });
    expect(described).toMatchObject({ error: 0, result: { group: { state: 'Empty', epoch: -1, clientIds: [] } } });
    expect(scene.ask({ kind: 'describeConsumerGroup', groupId: 'g' }).error).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
    const offset = { kind: 'deleteOffset', groupId: 'g', topic: 'orders' } as const;
    expect(scene.ask({ ...offset, partition: 0 })).toMatchObject({ error: 0, unsureAttempts: 0 });
    expect(stored()).toEqual(new Map([['orders-1', 7]]));
    expect(scene.ask({ ...offset, partition: 9 }).error).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    expect(scene.ask({ kind: 'deleteGroup', groupId: 'g' }).error).toBe(0);
    expect(stored()).toEqual(new Map());
    expect(scene.ask({ kind: 'listGroups' }).result.groupIds).toEqual([]);
    expect(scene.ask({ kind: 'deleteGroup', groupId: 'g' }).error).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
  });

  it('takes the absence of a topic for an answer, not for an error of the moment', () => {
    const scene = new Scene();
    for (const kind of ['describeTopic', 'deleteTopic'] as const) {
      const event = scene.ask({ kind, topic: 'a' });
      expect(event).toMatchObject({ error: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unsureAttempts: 0 });
    }
  });

  it('says that a change may have been made when its answer was lost, and finds its own doing later', () => {
    const scene = new Scene();
    scene.ask({ kind: 'describeTopic', topic: 'a' });
    scene.losses = 1;
    expect(scene.ask(create())).toMatchObject({
      error: ErrorCode.TOPIC_ALREADY_EXISTS,
      unsureAttempts: 1,
      lostAttempts: 1,
    });
    scene.losses = 1;
    const lost = scene.ask({ kind: 'deleteTopic', topic: 'a' }, 1);
    expect(lost).toMatchObject({ error: ErrorCode.NETWORK_EXCEPTION, unsureAttempts: 1 });
    scene.losses = 1;
    const question = scene.ask({ kind: 'describeTopic', topic: 'a' });
    expect(question).toMatchObject({ error: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unsureAttempts: 0 });
  });

  it('doubts a deletion of records that somebody refuses who may have begun it while he led', () => {
    const scene = new Scene();
    scene.ask(create());
    const partition = scene.world.node.topics.byName.get('a')?.partitions[0];
    if (partition == null) throw new Error('the partition is not there');
    partition.leader.epoch = -1;
    const cut: AdminRequest = { kind: 'deleteRecords', topic: 'a', partition: 0, offset: 0 };
    const refused = scene.ask(cut, 1);
    expect(refused).toMatchObject({ error: ErrorCode.NOT_LEADER_OR_FOLLOWER, unsureAttempts: 1 });
  });

  it('asks for a leader, preferred or not, and hears of partitions that have one', () => {
    const scene = new Scene();
    const made = { kind: 'createTopic', topic: 'x', partitions: 1, replicationFactor: 1, configs: [] } as const;
    expect(scene.ask(made).error).toBe(ErrorCode.NONE);
    for (const isUnclean of [true, false]) {
      const elect = { kind: 'electLeader', topic: 'x', partition: 0, isUnclean } as const;
      expect(scene.ask(elect).error).toBe(ErrorCode.ELECTION_NOT_NEEDED);
      expect(scene.ask({ ...elect, topic: 'y' }).error).toBe(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION);
    }
  });

  it('ends every open question when it is stopped', () => {
    const scene = new Scene();
    const { admin, events, world } = scene;
    const env: Env = { nowMs: world.nowMs, wallMs: world.wallMs, crc32c, codecs, reached: () => {} };
    const ticket = askAdmin(admin, env, create());
    stopAdmin(admin, [], events);
    expect(events).toMatchObject([{ ticket, error: ErrorCode.NETWORK_EXCEPTION, unsureAttempts: 0 }]);
    expect(adminDeadlineMs(admin)).toBe(Number.POSITIVE_INFINITY);
  });
});
