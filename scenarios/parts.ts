/** Pieces that several scenarios share. Data only. */
import type {
  AdministrationRange,
  ClusterRange,
  GroupsRange,
  SettingChoice,
  TroubleRange,
  WorkloadRange,
} from '../runtime-sim/scenario.ts';

/** An administrator now and then, in a third of the seeds: he must not disturb anybody. */
export const SOME_ADMINISTRATION: AdministrationRange = {
  percent: 35,
  administrators: [1, 1],
  topics: [1, 3],
  partitionsMax: [1, 2],
  everyMs: [300, 900],
  deletePercent: [5, 15],
};

/** Three or so processes that keep three nodes busy without drowning them: some 2,000 batches in a minute. */
export const STEADY_LOAD_ON_THREE: WorkloadRange = {
  producers: [2, 4],
  partitions: [1, 3],
  idempotentPercent: 70,
  acks: [-1, -1, 1, 0],
  everyMs: [40, 90],
  burstMax: [1, 6],
  valueBytesMax: [8, 700],
  codecs: [0, 0, 0, 0, 0, 0, 0, 1, 2, 4],
};

/** As much for a node that is alone, and an administrator now and then. */
export const STEADY_LOAD: WorkloadRange = { ...STEADY_LOAD_ON_THREE, administration: SOME_ADMINISTRATION };

/** Administrators who never rest, beside a lighter load than usual. */
export const BUSY_ADMINISTRATION: WorkloadRange = {
  ...STEADY_LOAD,
  producers: [2, 3],
  partitions: [1, 1],
  everyMs: [50, 120],
  administration: {
    percent: 100,
    administrators: [1, 2],
    topics: [2, 3],
    partitionsMax: [1, 3],
    everyMs: [60, 250],
    deletePercent: [5, 20],
  },
};

/** The settings that decide how often the metadata log is cut under a checkpoint, small enough that it often is. */
export const SMALL_METADATA: readonly SettingChoice[] = [
  { name: 'metadata.log.max.record.bytes.between.snapshots', values: [300, 1_500, 6_000, 20_971_520] },
  { name: 'metadata.log.segment.bytes', values: [3_000, 10_000, 1_073_741_824] },
];

/** The same, so small that the log is cut under a checkpoint every second or so. */
export const OFTEN_CUT_METADATA: readonly SettingChoice[] = [
  { name: 'metadata.log.max.record.bytes.between.snapshots', values: [300, 1_000] },
  { name: 'metadata.log.segment.bytes', values: [500, 1_500] },
];

/** The settings that decide how files are cut, small enough that a minute sees everything roll. */
export const SMALL_FILES: readonly SettingChoice[] = [
  { name: 'log.segment.bytes', values: [8_192, 32_768, 131_072, 1_048_576] },
  { name: 'log.index.interval.bytes', values: [256, 1_024, 4_096] },
  { name: 'tidemark.ring.partition.max.bytes', values: [0, 4_096, 65_536, 1_048_576] },
  { name: 'replica.high.watermark.checkpoint.interval.ms', values: [100, 1_000, 5_000] },
  { name: 'log.flush.offset.checkpoint.interval.ms', values: [100, 1_000, 60_000] },
];

/** How long a follower may lag and still count as in sync: a run is shorter than what is usual. */
export const SMALL_LAGS: readonly SettingChoice[] = [
  { name: 'replica.lag.time.max.ms', values: [1_500, 30_000] },
  { name: 'replica.fetch.wait.max.ms', values: [100, 500] },
];

/**
 * How soon nodes give each other up and give leads back: in a run of some seconds leads change hands often, most of the
 * time between nodes that live on.
 */
export const QUICK_TURNS: readonly SettingChoice[] = [
  { name: 'broker.session.timeout.ms', values: [1_200, 3_000] },
  { name: 'broker.heartbeat.interval.ms', values: [200, 500] },
  { name: 'leader.imbalance.check.interval.seconds', values: [1, 2, 300] },
  { name: 'controller.quorum.fetch.timeout.ms', values: [600, 1_000] },
  { name: 'controller.quorum.election.timeout.ms', values: [300, 1_000] },
  { name: 'controller.quorum.election.backoff.max.ms', values: [100, 1_000] },
];

/** What groups of consumers need in a run that is shorter than their usual time-outs. */
export const QUICK_GROUPS: readonly SettingChoice[] = [
  { name: 'group.initial.rebalance.delay.ms', values: [0, 400, 1_000] },
  { name: 'group.consumer.session.timeout.ms', values: [6_000] },
  { name: 'group.consumer.min.session.timeout.ms', values: [1_000] },
  { name: 'group.consumer.heartbeat.interval.ms', values: [300, 1_000] },
  { name: 'group.consumer.min.heartbeat.interval.ms', values: [100] },
  { name: 'group.consumer.assignment.interval.ms', values: [0, 500] },
  { name: 'offsets.retention.check.interval.ms', values: [200, 200, 1_000, 600_000] },
  { name: 'offsets.topic.num.partitions', values: [1, 2, 5] },
  { name: 'offsets.topic.segment.bytes', values: [1_048_576] },
  { name: 'offsets.retention.minutes', values: [1, 1, 10_080] },
];

/** How soon brokers give each other up: coordinators are replaced by others while they still live. */
export const QUICK_SESSIONS: readonly SettingChoice[] = [
  { name: 'broker.session.timeout.ms', values: [1_200, 1_200, 3_000, 9_000] },
  { name: 'broker.heartbeat.interval.ms', values: [200, 500] },
];

/** A few groups of a few members each, who now and then leave, stall or stand still. */
export const SOME_GROUPS: GroupsRange = {
  groups: [1, 3],
  simple: [0, 1],
  bothPercent: 30,
  storedPercent: 50,
  clearedPercent: 35,
  twinPercent: 60,
  passingPercent: 40,
  restingPercent: 40,
  watchedPercent: 60,
  members: [1, 4],
  troubleEveryMs: [2_000, 15_000],
};

/** Topics that come and go under groups that choose by expression, in half of the seeds. */
export const FICKLE_TOPICS: AdministrationRange = {
  ...SOME_ADMINISTRATION,
  percent: 50,
  topics: [2, 3],
  deletePercent: [20, 40],
};

/** Three nodes of both roles, and every topic on all of them. */
export const THREE_NODES: ClusterRange = { nodes: 3, replicas: 3, inSyncMin: 2, tailPpm: [0, 200, 3_000] };

/** Three nodes, and every topic on two of them, either of which may acknowledge alone. */
export const TWO_REPLICAS: ClusterRange = { nodes: 3, replicas: 2, inSyncMin: 1, tailPpm: [0, 200, 3_000] };

/** Five nodes of both roles, and every topic on three of them. */
export const FIVE_NODES: ClusterRange = { nodes: 5, replicas: 3, inSyncMin: 2, tailPpm: [0, 200, 3_000] };

/** Topics that are made, filled, cut and deleted all the time on three nodes: most happens where logs begin. */
export const YOUNG_TOPICS_ON_THREE: WorkloadRange = {
  ...STEADY_LOAD_ON_THREE,
  partitions: [1, 1],
  administration: {
    percent: 100,
    administrators: [1, 1],
    topics: [2, 3],
    partitionsMax: [1, 2],
    everyMs: [100, 250],
    deletePercent: [5, 20],
  },
};

/** What five nodes are kept busy with while their partitions move, and some topics come and go. */
export const MOVED_LOAD_ON_FIVE: WorkloadRange = {
  ...STEADY_LOAD_ON_THREE,
  partitions: [1, 2],
  moveEveryMs: [100, 900],
  administration: { ...SOME_ADMINISTRATION, percent: 40, topics: [1, 2] },
};

/** What three nodes are kept busy with, and an administrator now and then. */
export const SELDOM_ADMINISTERED_LOAD_ON_THREE: WorkloadRange = {
  ...STEADY_LOAD_ON_THREE,
  administration: SOME_ADMINISTRATION,
};

/** Three nodes with administrators in most seeds, who make topics of many replicas, cut them and delete them. */
export const ADMINISTERED_LOAD_ON_THREE: WorkloadRange = {
  ...STEADY_LOAD_ON_THREE,
  partitions: [1, 2],
  administration: { ...SOME_ADMINISTRATION, percent: 70, administrators: [1, 2] },
};

/** A swarm: no family strikes in every seed, so that each is met with and without each other one. */
export const SWARM: readonly TroubleRange[] = [
  { family: 'crash', every: [1_500, 12_000] },
  { family: 'crash', every: [3_000, 12_000], on: 'leader' },
  { family: 'crash', every: [3_000, 12_000], on: 'controller' },
  { family: 'powerLoss', every: [2_000, 12_000] },
  { family: 'recoveryCrash', every: [10, 60] },
  { family: 'blackout', every: [6_000, 25_000] },
  { family: 'cleanStop', every: [4_000, 20_000] },
  { family: 'pause', every: [3_000, 15_000] },
  { family: 'pairCut', every: [1_500, 12_000] },
  { family: 'isolation', every: [3_000, 15_000] },
  { family: 'isolation', every: [4_000, 15_000], on: 'leader' },
  { family: 'keyCut', every: [2_000, 12_000] },
  { family: 'clog', every: [2_000, 12_000] },
  { family: 'cut', every: [3_000, 12_000] },
  { family: 'reset', every: [1_000, 8_000] },
  { family: 'clockJump', every: [3_000, 15_000] },
  { family: 'slowDisk', every: [3_000, 12_000] },
  { family: 'fullDisk', every: [4_000, 20_000] },
  { family: 'failedSync', every: [5_000, 25_000] },
  { family: 'failedAppend', every: [6_000, 25_000] },
];
