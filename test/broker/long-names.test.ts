/** Names and values that fill a request: what is said about them fits the answer, and the node goes on. */
import { describe, expect, it } from 'vitest';
import { ERROR_MESSAGE_CHARS_MAX } from '../../core/broker/answers.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { KEY, produce } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

const LONG = 'n'.repeat(32_760);
/** Its characters take two units each, and the cut falls between two of them. */
const LONG_PAIRS = `n${'\u{1f30a}'.repeat(8_000)}`;
const LONG_LIST = Array.from({ length: 9_000 }, () => '0:0').join(',');
const TOPIC = 2;
const BROKER = 4;

interface Told {
  readonly errorCode: number;
  readonly errorMessage?: string | null;
}

function expectRefused(world: ToyWorld, client: ToyConnection, told: readonly Told[]): void {
  expect(told.map(({ errorCode }) => errorCode)).not.toContain(0);
  for (const { errorMessage } of told) {
    expect(errorMessage?.length ?? 0).toBeLessThanOrEqual(ERROR_MESSAGE_CHARS_MAX);
  }
  expectServing(world, client);
}

function expectServing(world: ToyWorld, client: ToyConnection): void {
  expect(world.exit).toBeNull();
  expect(client.closed).toBe(false);
  expect(produce(world, client, 0, ['a']).errorCode).toBe(0);
}

describe.each([
  ['of one byte a character', LONG],
  ['of surrogate pairs', LONG_PAIRS],
])('a text %s that fills a request', (_title, text) => {
  const started = () => {
    const world = new ToyWorld().start();
    return { world, client: world.connect() };
  };

  it.each([2, 3, 4, 7])('as the name of a new topic is refused in version %i of CreateTopics', (version) => {
    const { world, client } = started();
    const topics = [{ name: text, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }];
    const body = { topics, timeoutMs: 1000, validateOnly: false };
    const told = world.ask(client, 19, version, body).topics;
    expect(told[0]!.errorMessage).toHaveLength(ERROR_MESSAGE_CHARS_MAX);
    expectRefused(world, client, told);
  });

  it.each([
    ['name', { name: text, value: '1' }],
    ['value', { name: 'retention.ms', value: text }],
  ])('as the %s of a setting of a new topic is refused', (_what, config) => {
    const { world, client } = started();
    const topics = [{ name: 'new', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [config] }];
    expectRefused(world, client, world.ask(client, 19, 4, { topics, timeoutMs: 1000, validateOnly: false }).topics);
  });

  it.each([
    ['topic', TOPIC, text, { name: 'retention.ms', value: '1' }],
    ['broker', BROKER, text, { name: 'log.retention.ms', value: '1' }],
    ['setting', TOPIC, 'orders', { name: text, value: '1' }],
    ['value', TOPIC, 'orders', { name: 'retention.ms', value: text }],
    ['value of a list', TOPIC, 'orders', { name: 'cleanup.policy', value: text }],
  ])('as a %s whose configuration is altered is refused', (_what, resourceType, resourceName, config) => {
    const { world, client } = started();
    const incremental = [{ resourceType, resourceName, configs: [{ ...config, configOperation: 0 }] }];
    const whole = [{ resourceType, resourceName, configs: [config] }];
    for (const version of [0, 1]) {
      const body = { resources: incremental, validateOnly: false };
      expectRefused(world, client, world.ask(client, 44, version, body).responses);
    }
    for (const version of [0, 1, 2]) {
      const body = { resources: whole, validateOnly: false };
      expectRefused(world, client, world.ask(client, 33, version, body).responses);
    }
  });

  it.each([
    ['topic', TOPIC],
    ['broker', BROKER],
  ])('as a %s whose configuration is described is refused', (_what, resourceType) => {
    const { world, client } = started();
    const resources = [{ resourceType, resourceName: text, configurationKeys: null }];
    for (const version of [1, 2, 3, 4]) {
      expectRefused(world, client, world.ask(client, 32, version, { resources }).results);
    }
  });

  it('as a topic that gets partitions or goes, and as one that is asked for, is refused', () => {
    const { world, client } = started();
    const topics = [{ name: text, count: 3, assignments: null }];
    const grown = world.ask(client, 37, 0, { topics, timeoutMs: 1000, validateOnly: false });
    expectRefused(world, client, grown.results);
    expectRefused(world, client, world.ask(client, 20, 1, { topicNames: [text], timeoutMs: 1000 }).responses);
    const body = { topics: [{ name: text }], allowAutoTopicCreation: true };
    expectRefused(world, client, world.ask(client, KEY.metadata, 4, body).topics);
  });
});

describe('a value that only newer versions can say', () => {
  it('is kept, described in those, and in older ones refused with a sentence', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const configs = [{ name: 'follower.replication.throttled.replicas', value: LONG_LIST, configOperation: 0 }];
    const resources = [{ resourceType: TOPIC, resourceName: 'orders', configs }];
    const altered = world.ask(client, 44, 1, { resources, validateOnly: false });
    expect(altered.responses[0]).toMatchObject({ errorCode: 0 });
    const asked = ['orders', 'other'].map((resourceName) => ({
      resourceType: TOPIC,
      resourceName,
      configurationKeys: null,
    }));
    for (const version of [1, 2, 3]) {
      const [told] = world.ask(client, 32, version, { resources: asked }).results;
      expect(told).toMatchObject({ errorCode: ErrorCode.UNKNOWN_SERVER_ERROR, resourceName: 'orders', configs: [] });
      expect(told!.errorMessage).toContain('ask in version 4');
    }
    const [whole] = world.ask(client, 32, 4, { resources: asked }).results;
    expect(whole!.configs.find(({ name }) => name === configs[0]!.name)?.value).toBe(LONG_LIST);
    expectServing(world, client);
  });
});

describe('a name that is no UTF-8', () => {
  const BROKEN = Uint8Array.of(0xff, 0x28);

  /** Metadata version 1 for one topic, its name as bytes. */
  function askFor(world: ToyWorld, client: ToyConnection, name: Uint8Array) {
    const frame = new Uint8Array(16 + name.length);
    const view = new DataView(frame.buffer);
    view.setInt16(0, KEY.metadata);
    view.setInt16(2, 1);
    view.setInt32(4, 99);
    view.setInt16(8, -1);
    view.setInt32(10, 1);
    view.setInt16(14, name.length);
    frame.set(name, 16);
    world.push({ kind: 'frame', connection: client.id, bytes: frame });
    expect(client.closed).toBe(false);
    return world.take(client, KEY.metadata, 1).topics;
  }

  it('is read as Java reads it, and no topic can have it', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const [topic] = askFor(world, client, BROKEN);
    expect(topic).toMatchObject({ name: '\ufffd(', errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION });
    expectServing(world, client);
  });

  it('and grows beyond what the version can say comes back cut', () => {
    const world = new ToyWorld().start();
    const client = world.connect();
    const [topic] = askFor(world, client, new Uint8Array(32_767).fill(0xff));
    expect(topic).toMatchObject({ name: '\ufffd'.repeat(10_922), errorCode: ErrorCode.INVALID_TOPIC_EXCEPTION });
    expectServing(world, client);
  });
});
