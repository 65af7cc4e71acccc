/**
 * What many groups cost one coordinator, simulated: its machine alone, with the records that it decides on, in this
 * process. Memory by group, and processor time of a heartbeat among few groups and among many: it is to be the same.
 */
import { GROUP_DEFAULTS } from '../../core/group/defaults.ts';
import { GROUP_MACHINE } from '../../core/group/machine.ts';
import type { GroupCall } from '../../core/group/shapes.ts';
import type { GroupState } from '../../core/group/state.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import { EMPTY_IMAGE, type MetadataImage } from '../../core/metadata/image.ts';
import { metadataRecord } from '../../core/metadata/records.ts';
import { imageFromRecords } from '../../core/metadata/snapshot.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { heapBytes, ownProcessorMs } from '../peers/process.ts';
import type { Row } from './figures.ts';

const GROUPS = 5_000;
/** Among which a step is to cost as much. */
const FEW_GROUPS = 500;
const MEMBERS = 4;
const PARTITIONS = 8;
const TOPIC = 'bench-crowd';
const HEARTBEATS = 200_000;
/** Rounds of heartbeats in which a group comes to rest. */
const ROUNDS = 6;
const KIB = 1024;

/** One coordinator. */
interface Crowd {
  readonly state: GroupState;
  readonly image: MetadataImage;
  nowMs: number;
  end: number;
  readonly epochs: Map<string, number>;
}

/** Builds both crowds and measures them. */
export function measureCrowd(say: (line: string) => void): Row[] {
  const few = createCrowd(FEW_GROUPS);
  const before = heapBytes();
  const many = createCrowd(GROUPS);
  const bytes = (heapBytes() - before) / GROUPS;
  say(`groups-crowd: ${GROUPS} groups of ${MEMBERS} members are settled`);
  // Each warms up the same code; then they take turns, so that a slow minute falls on both.
  for (const crowd of [few, many]) beatAll(crowd, HEARTBEATS);
  const micros = new Map<Crowd, number[]>([
    [few, []],
    [many, []],
  ]);
  for (let turn = 0; turn < 5; turn++) {
    for (const [crowd, values] of micros) {
      values.push((ownProcessorMs(() => beatAll(crowd, HEARTBEATS)) * 1000) / HEARTBEATS);
    }
  }
  const row = (name: string, unit: string, values: readonly number[], must?: number): Row => ({
    name,
    unit,
    higherIsBetter: false,
    values: new Map([['tidemark', values]]),
    without: ['kafka', 'null'],
    ...(must === undefined ? {} : { budget: { must, of: 'value' as const } }),
  });
  const ofFew = micros.get(few) ?? [];
  const ofMany = micros.get(many) ?? [];
  const growth = ofMany.map((value, turn) => value / (ofFew[turn] ?? Number.NaN));
  return [
    row(`memory of a group of ${MEMBERS}, of ${GROUPS}`, 'KiB', [bytes / KIB]),
    row(`a heartbeat among ${FEW_GROUPS} groups`, 'µs', ofFew),
    row(`a heartbeat among ${GROUPS} groups`, 'µs', ofMany),
    row('  by that among few', '', growth, 2),
  ];
}

function createCrowd(groups: number): Crowd {
  const topicId = uuidFromBytes(new Uint8Array(16).fill(7), 0);
  const topic = metadataRecord('TopicRecord', 0, { name: TOPIC, topicId });
  const partitions = Array.from({ length: PARTITIONS }, (_, partitionId) => {
    const alone = { replicas: [1], isr: [1], removingReplicas: [], addingReplicas: [], leader: 1 };
    const place = { leaderEpoch: 0, partitionEpoch: 0, directories: [topicId] };
    return metadataRecord('PartitionRecord', 2, { partitionId, topicId, ...alone, ...place });
  });
  const image = imageFromRecords([topic, ...partitions], { ...EMPTY_IMAGE.provenance, offset: 1 });
  if (typeof image === 'string') throw new Error(image);
  const context = { config: { config: GROUP_DEFAULTS, image }, nowMs: 0, seed: 0, isNew: true, bootstrap: [] };
  const activation = GROUP_MACHINE.activate(GROUP_MACHINE.beginLoad(), context);
  if (typeof activation === 'string') throw new Error(activation);
  const crowd: Crowd = { state: activation.state, image, nowMs: 0, end: 0, epochs: new Map() };
  for (let round = 0; round < ROUNDS; round++) {
    crowd.nowMs += GROUP_DEFAULTS.consumer.heartbeatIntervalMs;
    for (let g = 0; g < groups; g++) for (let m = 0; m < MEMBERS; m++) beat(crowd, g, m, round === 0);
  }
  return crowd;
}

/** So many heartbeats, of all members in turn: time goes on as if each sent its own in its interval. */
function beatAll(crowd: Crowd, count: number): void {
  const members = crowd.state.groups.size * MEMBERS;
  const stepMs = GROUP_DEFAULTS.consumer.heartbeatIntervalMs / members;
  const startMs = crowd.nowMs;
  for (let i = 0; i < count; i++) {
    crowd.nowMs = Math.floor(startMs + i * stepMs);
    const member = i % members;
    beat(crowd, Math.floor(member / MEMBERS), member % MEMBERS, false);
  }
}

function beat(crowd: Crowd, g: number, m: number, isJoining: boolean): void {
  const memberId = `member-${g}-${m}`;
  const body = {
    groupId: `group-${g}`,
    memberId,
    memberEpoch: isJoining ? 0 : (crowd.epochs.get(memberId) ?? 0),
    instanceId: null,
    rackId: null,
    rebalanceTimeoutMs: isJoining ? 60_000 : -1,
    subscribedTopicNames: isJoining ? [TOPIC] : null,
    subscribedTopicRegex: null,
    serverAssignor: null,
    topicPartitions: isJoining ? [] : null,
  };
  const client = { apiVersion: 1, clientId: 'bench', clientHost: '/127.0.0.1' };
  const [answer] = handle(crowd, { kind: 'consumerGroupHeartbeat', body, ...client });
  if (answer === undefined) throw new Error(`${memberId} was not answered`);
  const { errorCode, memberEpoch } = answer.body as ResponseOf<68>;
  if (errorCode !== 0) throw new Error(`${memberId} was refused with ${errorCode}`);
  crowd.epochs.set(memberId, memberEpoch);
}

function handle(crowd: Crowd, call: GroupCall) {
  const { state, image, nowMs } = crowd;
  const wallMs = 1_700_000_000_000 + nowMs;
  const request = { waiter: 1, wallMs, uuid: '', image, compilePattern: () => null, call };
  const { records, response } = GROUP_MACHINE.handle(state, { nowMs, nextOffset: crowd.end }, request);
  if (records.length > 0) {
    const nextOffset = crowd.end + records.length;
    GROUP_MACHINE.replay(state, records, { baseOffset: crowd.end, nextOffset, leaderEpoch: 0, timestampMs: wallMs });
    crowd.end = nextOffset;
  }
  return response;
}
