/** The controller on the log of a quorum: its image comes back equal from log and snapshots, and from Kafka's rules. */
import { describe, expect, it } from 'vitest';
import type { ControllerKey } from '../../core/controller/handle.ts';
import { CONTROLLER, type ControllerShapes, controllerRequest } from '../../core/controller/machine.ts';
import { createController } from '../../core/controller/state.ts';
import {
  checkQuorum,
  createQuorum,
  openQuorum,
  type Quorum,
  type QuorumEvent,
  stepQuorum,
  submitToQuorum,
} from '../../core/coordination/quorum.ts';
import { crc32c } from '../../core/lib/crc32c.ts';
import { createIds, nextOwner } from '../../core/lib/ids.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import type { Env, Outbox } from '../../core/lib/world.ts';
import { SUPPORTED_FEATURES } from '../../core/metadata/features.ts';
import { EMPTY_IMAGE, type MetadataImage, topicByName } from '../../core/metadata/image.ts';
import { encodeMetadataRecord, type MetadataRecord, metadataRecord } from '../../core/metadata/records.ts';
import { snapshotRecords } from '../../core/metadata/snapshot.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { bootstrapCheckpoint } from '../../core/raft/batches.ts';
import { BOOTSTRAP_ID, checkpointName } from '../../core/raft/names.ts';
import { CONFIG } from '../controller/cluster.ts';
import { carryOut, crashProcess, createTestDisk, type TestDisk } from '../log/disk.ts';
import { FAKE_CODECS, CONFIG as LOG } from '../log/world.ts';
import { idOf } from '../metadata/cluster.ts';
import { DIRECTORY, FOLDER, SELF } from './world.ts';

interface ControllerWorld {
  readonly disk: TestDisk;
  quorum: Quorum<ControllerShapes, string>;
  readonly events: QuorumEvent<ControllerShapes, string>[];
  readonly out: Outbox;
  ids: number;
}

const ENV: Env = { nowMs: 5, wallMs: 1_700_000_000_000, crc32c, codecs: FAKE_CODECS, reached: () => {} };

function newQuorum(): Quorum<ControllerShapes, string> {
  const ids = createIds();
  const config = { log: { ...LOG, segmentBytes: 1_000_000 }, snapshotBytes: 2500, snapshotIntervalMs: Infinity };
  const place = { owner: nextOwner(ids), ids, folder: '/data', nodeId: 1, directoryId: DIRECTORY, staticVoters: [] };
  return createQuorum({ ...place, config }, CONFIG, 3);
}

function started(bootstrap: readonly MetadataRecord[]): ControllerWorld {
  const disk = createTestDisk();
  const bytes = bootstrapCheckpoint([SELF], bootstrap.map(encodeMetadataRecord), ENV.wallMs);
  disk.folders.add(FOLDER);
  disk.names.set(`${FOLDER}/${checkpointName(BOOTSTRAP_ID)}`, { bytes, synced: bytes });
  const world: ControllerWorld = { disk, quorum: newQuorum(), events: [], out: [], ids: 1 };
  openQuorum(world.quorum, { clean: false, recoveryPoint: 0 }, world.out);
  settle(world);
  return world;
}

function settle(world: ControllerWorld): void {
  for (;;) {
    for (const effect of world.out.splice(0)) if (effect.kind !== 'say') world.disk.queue.push(effect as never);
    const input = carryOut(world.disk, () => 0);
    if (input === null) return;
    stepQuorum(world.quorum, CONTROLLER, ENV, input, world.out, world.events);
    checkQuorum(world.quorum, CONTROLLER);
  }
}

function restart(world: ControllerWorld): void {
  crashProcess(world.disk);
  world.events.length = 0;
  world.quorum = newQuorum();
  openQuorum(world.quorum, { clean: false, recoveryPoint: 0 }, world.out);
  settle(world);
}

function ask<K extends ControllerKey>(world: ControllerWorld, apiKey: K, version: number, body: RequestOf<K>): unknown {
  const request = controllerRequest(apiKey, version, body, [idOf(world.ids++)]);
  const submission = submitToQuorum(world.quorum, CONTROLLER, ENV, request, 'me', world.out);
  if (submission.kind === 'answered') return submission.response;
  settle(world);
  const answer = world.events.splice(0).find((event) => event.kind === 'answered');
  return answer?.kind === 'answered' ? answer.response : expect.fail('no answer');
}

function imageOf(world: ControllerWorld): MetadataImage {
  return world.quorum.coordinator.state?.image ?? EMPTY_IMAGE;
}

function createTopic(world: ControllerWorld, name: string): unknown {
  const topic = { name, numPartitions: 3, replicationFactor: 1, assignments: [], configs: [] };
  return ask(world, 19, 7, { topics: [topic], timeoutMs: 1000, validateOnly: false });
}

function deleteTopic(world: ControllerWorld, name: string): unknown {
  return ask(world, 20, 6, { topics: [{ name, topicId: ZERO_UUID }], topicNames: [], timeoutMs: 1000 });
}

function register(world: ControllerWorld): void {
  const head = { brokerId: 1, clusterId: CONFIG.clusterId, incarnationId: idOf(900), rack: null };
  const rest = { listeners: [], isMigratingZkBroker: false, logDirs: [DIRECTORY], previousBrokerEpoch: -1 };
  const answer = ask(world, 62, 4, { ...head, ...rest, features: [...SUPPORTED_FEATURES] });
  const { brokerEpoch } = answer as { brokerEpoch: number };
  const beat = { brokerId: 1, brokerEpoch, currentMetadataOffset: brokerEpoch, wantFence: false, wantShutDown: false };
  ask(world, 63, 1, { ...beat, offlineLogDirs: [], cordonedLogDirs: null });
}

const METADATA_VERSION = metadataRecord('FeatureLevelRecord', 0, { name: 'metadata.version', featureLevel: 33 });

describe('the controller on the log of a quorum', () => {
  it('has the same image after a restart, from snapshots and the log behind them', () => {
    const world = started([METADATA_VERSION]);
    register(world);
    for (let i = 0; i < 30; i++) {
      createTopic(world, `topic-${i}`);
      if (i % 3 === 0) deleteTopic(world, `topic-${i}`);
    }
    const before = imageOf(world);
    expect(topicByName(before, 'topic-29')?.partitions).toHaveLength(3);
    expect(world.quorum.raft.snapshots.length).toBe(2);
    restart(world);
    const after = imageOf(world);
    expect(after).not.toBe(before);
    expect(CONTROLLER.isEqual(before, after)).toBe(true);
    expect(after.provenance).toEqual(before.provenance);
    expect(after.cluster.brokers.get(1)?.fenced).toBe(false);
  });

  it('is told committed changes with the very images that it has itself', () => {
    const world = started([METADATA_VERSION]);
    register(world);
    world.events.length = 0;
    const topic = { name: 't', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] };
    const body = { topics: [topic], timeoutMs: 1000, validateOnly: false };
    const request = controllerRequest(19, 7, body, [idOf(1)]);
    submitToQuorum(world.quorum, CONTROLLER, ENV, request, 'me', world.out);
    settle(world);
    expect(world.events.map(({ kind }) => kind)).toEqual(['changed', 'answered']);
    const [first] = world.events;
    expect(first?.kind === 'changed' ? first.change.after : null).toBe(imageOf(world));
  });

  it('fences a broker as a task of its own', () => {
    const world = started([METADATA_VERSION]);
    register(world);
    submitToQuorum(world.quorum, CONTROLLER, ENV, { kind: 'fence', broker: 1, epoch: -1 }, 'me', world.out);
    settle(world);
    expect(imageOf(world).cluster.brokers.get(1)?.fenced).toBe(true);
  });

  it('refuses by name what the formatted directory is to finalize and we do not serve, and writes none of it', () => {
    const alien = metadataRecord('FeatureLevelRecord', 0, { name: 'share.version', featureLevel: 2 });
    const world = started([METADATA_VERSION, alien]);
    const told = world.events.filter(({ kind }) => kind !== 'leader');
    expect(told).toMatchObject([{ kind: 'failed', detail: expect.stringContaining('share.version=2') }]);
    expect(world.quorum.raft.log.end).toBe(world.quorum.raft.highWatermark);
  });

  it('ends a transaction that an earlier controller left open', () => {
    const loading = CONTROLLER.beginLoad();
    const place = { baseOffset: 0, nextOffset: 2, leaderEpoch: 1, timestampMs: 0 };
    const begin = metadataRecord('BeginTransactionRecord', 0, { name: 'x' });
    expect(CONTROLLER.load(loading, [METADATA_VERSION, begin], place, false)).toHaveLength(1);
    expect(CONTROLLER.loaded(loading)).toBeNull();
    const given = { config: CONFIG, nowMs: 0, seed: 1, isNew: false, bootstrap: [] };
    const activation = CONTROLLER.activate(loading, given);
    expect(activation).toMatchObject({ records: [{ kind: 'AbortTransactionRecord' }] });
  });
});

describe('the records of a snapshot', () => {
  it('make one image, however they are cut and in whatever order the partitions of a topic come', () => {
    const world = started([METADATA_VERSION]);
    register(world);
    createTopic(world, 'a');
    createTopic(world, 'b');
    const records = [...snapshotRecords(imageOf(world))];
    const partitions = records.filter(({ kind }) => kind === 'PartitionRecord').reverse();
    const shuffled = [...records.filter(({ kind }) => kind !== 'PartitionRecord'), ...partitions];
    const loading = CONTROLLER.beginLoad();
    const place = { baseOffset: 8, nextOffset: 9, leaderEpoch: 1, timestampMs: 0 };
    for (const record of shuffled) expect(CONTROLLER.load(loading, [record], place, true)).toEqual([]);
    expect(CONTROLLER.load(loading, [], place, false)).toHaveLength(1);
    expect(CONTROLLER.isEqual(loading.loader.image, imageOf(world))).toBe(true);
  });

  it('are the same in slices of any size', () => {
    const world = started([METADATA_VERSION]);
    register(world);
    for (let i = 0; i < 5; i++) createTopic(world, `topic-${i}`);
    const image = imageOf(world);
    const whole = [...snapshotRecords(image)];
    for (const countMax of [1, 2, 7, whole.length, 1000]) {
      const records: MetadataRecord[] = [];
      for (let from = 0; from >= 0; ) {
        const slice = CONTROLLER.snapshot(image, from, countMax);
        records.push(...slice.records);
        from = slice.next;
      }
      expect(records).toEqual(whole);
    }
    expect(CONTROLLER.isEqual(image, createController(CONFIG, EMPTY_IMAGE, 1, 0).image)).toBe(false);
  });
});
