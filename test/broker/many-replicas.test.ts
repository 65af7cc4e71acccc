/**
 * A thousand partitions that one node leads and two follow: what moves is named, and what rests costs nothing. Looked
 * at where it shows, in the bytes between the nodes.
 */
import { describe, expect, it } from 'vitest';
import type { Input } from '../../core/lib/world.ts';
import { decodeRequest, decodeResponse, peekResponse } from '../../core/protocol/codec.ts';
import type { RequestOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { METADATA_TOPIC_ID } from '../../core/raft/names.ts';
import { ToyCluster } from './cluster.ts';
import { frames, join } from './frames.ts';
import { batchOf, KEY, produceBody } from './speaking.ts';
import type { ToyWorld } from './toy-world.ts';

const LEADER = 1;
const FOLLOWERS = [2, 3];
const CREATE = 19;
const READY_MS = 5_000;
/** After so long nobody asks any more whether a replica that was in sync from the start has ever fetched. */
const SETTLED_MS = 40_000;
const REST_MS = 10_000;

/** The Fetch requests of those who follow, and what they were answered, as they crossed the wire. */
interface Heard {
  readonly requests: RequestOf<1>[];
  readonly answers: ResponseOf<1>[];
  /** Bytes that all nodes have sent. */
  sentBytes: number;
}

function clear(heard: Heard): void {
  heard.requests.length = 0;
  heard.answers.length = 0;
  heard.sentBytes = 0;
}

/** Listens to all that nodes say to each other. */
function listen(cluster: ToyCluster): Heard {
  const heard: Heard = { requests: [], answers: [], sentBytes: 0 };
  for (const world of cluster.worlds.values()) {
    const versions = new Map<string, number>();
    const take: ToyWorld['link'] = {
      take: (from, effect) => {
        if (effect.kind === 'send') {
          const bytes = join(effect.parts);
          heard.sentBytes += bytes.length;
          if (effect.connection < 0) for (const frame of frames(bytes)) hear(effect.connection, frame);
        }
        return cluster.take(from, effect);
      },
    };
    const hear = (connection: number, frame: Uint8Array): void => {
      const view = new DataView(frame.buffer, frame.byteOffset);
      if (view.getInt16(0) !== KEY.fetch) return;
      const version = view.getInt16(2);
      const request = decodeRequest(KEY.fetch, version, frame).body;
      // The metadata log is fetched by voters, which are no brokers there.
      if (request.topics.some(({ topicId }) => topicId === METADATA_TOPIC_ID)) return;
      versions.set(`${connection}/${view.getInt32(4)}`, version);
      heard.requests.push(request);
    };
    world.link = take;
    const queue = world.queue.bind(world);
    world.queue = (input: Input): void => {
      if (input.kind === 'frame' && input.connection < 0) {
        const version = versions.get(`${input.connection}/${peekResponse(input.bytes)}`);
        if (version !== undefined) heard.answers.push(decodeResponse(KEY.fetch, version, input.bytes).body);
      }
      queue(input);
    };
  }
  return heard;
}

/** Three nodes, and a topic of which the first leads every partition. */
function led(partitions: number): { readonly cluster: ToyCluster; readonly heard: Heard } {
  const cluster = new ToyCluster(3);
  for (const world of cluster.worlds.values()) world.stepsPerCheck = 10 * partitions;
  cluster.start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), READY_MS);
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const heard = listen(cluster);
  const brokerIds = [LEADER, ...FOLLOWERS];
  const assignments = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, brokerIds }));
  const topics = [{ name: 'orders', numPartitions: -1, replicationFactor: -1, assignments }];
  const answer = cluster.ask(1, cluster.connect(1), CREATE, 7, { topics, timeoutMs: 30_000 }, 30_000);
  expect(answer.topics.map(({ errorCode }) => errorCode)).toEqual([0]);
  cluster.pass(SETTLED_MS);
  return { cluster, heard };
}

function named(bodies: readonly { readonly topics: RequestOf<1>['topics'] }[]): number[] {
  return bodies.flatMap(({ topics }) =>
    topics.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)),
  );
}

function told(answers: readonly ResponseOf<1>[]): ResponseOf<1>['responses'][number]['partitions'] {
  return answers.flatMap(({ responses }) => responses.flatMap(({ partitions }) => partitions));
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

describe('of a thousand partitions', () => {
  it('three that have moved are named, in requests and answers, and no other', { timeout: 60_000 }, () => {
    const { cluster, heard } = led(1_000);
    clear(heard);
    const connection = cluster.connect(LEADER);
    const moved = [7, 400, 993];
    for (const partition of moved) {
      const body = produceBody(partition, batchOf([`to ${partition}`]), { timeoutMs: 5_000 });
      const answer = cluster.ask(LEADER, connection, KEY.produce, 9, body);
      expect(answer.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
    }
    cluster.pass(2_000);
    const withRecords = told(heard.answers).filter(({ records }) => records !== null && records.length > 0);
    // Each of the three, once to each follower.
    expect(withRecords.map(({ partitionIndex }) => partitionIndex).sort((a, b) => a - b)).toEqual(
      moved.flatMap((partition) => FOLLOWERS.map(() => partition)),
    );
    expect(ascending(told(heard.answers).map(({ partitionIndex }) => partitionIndex))).toEqual(moved);
    expect(ascending(named(heard.requests))).toEqual(moved);
    expect(heard.requests.every(({ sessionEpoch }) => sessionEpoch > 0)).toBe(true);
    for (const id of FOLLOWERS) {
      const { partitions } = cluster.node(id).topics.byName.get('orders')!;
      expect(moved.map((index) => partitions[index]?.followed?.highWatermark)).toEqual([1, 1, 1]);
    }
  });

  it('those at rest cost no step, no byte and no deadline', { timeout: 60_000 }, () => {
    const [one, thousand] = [led(1), led(1_000)].map(({ cluster, heard }) => {
      clear(heard);
      const before = cluster.living.map((id) => cluster.world(id).steps);
      cluster.pass(REST_MS);
      expect(heard.requests.length).toBeGreaterThan(0);
      expect(named(heard.requests)).toEqual([]);
      expect(told(heard.answers)).toEqual([]);
      for (const id of cluster.living) {
        for (const partition of cluster.node(id).topics.byName.get('orders')!.partitions) {
          expect(partition?.deadlineMs).toBe(Number.POSITIVE_INFINITY);
        }
      }
      const steps = cluster.living.map((id, index) => cluster.world(id).steps - (before[index] ?? 0));
      return { steps: steps.reduce((sum, count) => sum + count), sentBytes: heard.sentBytes };
    });
    // Heartbeats and long polls, which do not fall on the very same moments.
    expect(thousand!.steps).toBeLessThan(one!.steps * 1.1);
    expect(thousand!.sentBytes).toBeLessThan(one!.sentBytes * 1.1);
  });
});
