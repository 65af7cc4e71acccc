/**
 * What a scenario is: a named story as data, from which a seed draws one plan. No functions, so that a plan can be
 * printed, stored and, one day, edited.
 */

import type { GroupKind } from '../core/verify/group-history.ts';

/** A family of troubles. `trouble/fire.ts` says what each does. */
export type Family =
  | 'crash'
  | 'powerLoss'
  | 'ambush'
  | 'slowElection'
  | 'recoveryCrash'
  | 'cleanStop'
  | 'fullDisk'
  | 'failedSync'
  | 'failedAppend'
  | 'failedRead'
  | 'rot'
  | 'indexRot'
  | 'checkpointRot'
  | 'reset'
  | 'cut'
  | 'slowDisk'
  | 'clockJump'
  | 'clientCrash'
  | 'pause'
  | 'standstill'
  | 'blackout'
  | 'pairCut'
  | 'isolation'
  | 'keyCut'
  | 'answerCut'
  | 'split'
  | 'clog'
  | 'narrow'
  | 'halfClose'
  | DiskFamily
  | 'flip'
  | 'headerFlip';

/** A family in which a disk breaks its word. `trouble/disks.ts` says what each does. */
export type DiskFamily =
  | 'diskLoss'
  | 'diskRestore'
  | 'misdirectedWrite'
  | 'misdirectedRead'
  | 'lostWrite'
  | 'lyingSync'
  | 'rotAnywhere'
  | 'ruin';

/**
 * Which node a trouble strikes: whichever, the leader of the first partition, the active controller, or the coordinator
 * of some group.
 */
export type Target = 'any' | 'leader' | 'controller' | 'coordinator';

/** From the smallest to the largest value that a seed may draw, both included. */
export type Range = readonly [low: number, high: number];

/** A family in a scenario. */
export interface TroubleRange {
  readonly family: Family;
  /** Between two of them, on average. For 'recoveryCrash': how many in a hundred starts are struck. */
  readonly every: Range;
  /** In every seed; otherwise about half of the seeds are spared it. */
  readonly always?: boolean;
  /** Of a family that strikes one node of several; absent for whichever. */
  readonly on?: Target;
}

/**
 * Whom a step of a story strikes: a node, all that stand in the rack of the leader of the first partition, or all other
 * replicas of that partition.
 */
export type Cast = Target | number | 'rackOfLeader' | 'followers';

/**
 * A step of a story that is told in order. crash, powerLoss, stop: the node goes down and stays down until 'start';
 * cutOff: no other node hears it, nor it them, until 'heal'. `as` is what later steps call it. wait: the run goes on
 * for so long. await: it goes on until something is so; that it is not so in time is a promise broken. Of the nodes
 * that are neither down nor cut off:
 * led: one of them leads each partition; acknowledged: something that was sent since is; inSync: each partition has all
 * its replicas on them in sync; preferred: each is led by the first of its replicas; spread: each has its replicas in
 * different racks; leaderless: nobody leads the first partition. electUncleanly: an operator asks for a leader of each
 * partition that has none, whatever is lost with that.
 */
export type ScriptStep =
  | { readonly act: 'crash' | 'powerLoss' | 'stop' | 'cutOff'; readonly who: Cast; readonly as: string }
  | { readonly act: 'start' | 'heal'; readonly as: string }
  | { readonly act: 'wait'; readonly ms: number }
  | { readonly act: 'electUncleanly' }
  | {
      readonly act: 'await';
      readonly what: 'led' | 'acknowledged' | 'inSync' | 'preferred' | 'spread' | 'leaderless';
      readonly withinMs: number;
    };

/** Several nodes in a scenario. */
export interface ClusterRange {
  readonly nodes: number;
  /** Of every topic. */
  readonly replicas: number;
  /** min.insync.replicas. */
  readonly inSyncMin: number;
  /** In half of the seeds the voters are in the log, each with the id of its directory (KIP-853); absent: in none. */
  readonly mayNameDirectories?: true;
  /** In how many racks the nodes stand, in turn; absent: half of the seeds give each node a rack of its own. */
  readonly racks?: number;
  /** The topic that is always there may be led by any replica when no other is left; default false. */
  readonly allowsUnclean?: boolean;
  /** How often something on the wire takes many times as long, in a million: drawn from these. */
  readonly tailPpm: readonly number[];
}

/** A setting of the nodes, and the values among which a seed draws. */
export interface SettingChoice {
  readonly name: string;
  readonly values: readonly (number | string)[];
}

/** What clients do in a scenario. */
export interface WorkloadRange {
  /** Producing processes. */
  readonly producers: Range;
  readonly partitions: Range;
  /** In a hundred producers, how many are idempotent. */
  readonly idempotentPercent: number;
  /** The acks of the others: drawn from these. */
  readonly acks: readonly (0 | 1 | -1)[];
  /** Between two bursts of one process, on average. */
  readonly everyMs: Range;
  readonly burstMax: Range;
  readonly valueBytesMax: Range;
  /** Codec ids: drawn for each producer. */
  readonly codecs: readonly (0 | 1 | 2 | 4)[];
  /** What administrators do; absent for none. */
  readonly administration?: AdministrationRange;
  /** Between two requests of producers that come a second time, on average, ms; absent for none. */
  readonly repeatEveryMs?: Range;
  /** The same of requests between nodes. */
  readonly repeatBetweenEveryMs?: Range;
  /** Between two requests of one who moves partitions, on average, ms; absent for nobody. */
  readonly moveEveryMs?: Range;
  /** The same of one who moves the partitions of the topic of groups, and so their coordinators. */
  readonly moveGroupsEveryMs?: Range;
  /** Between two changes of the voters by each who makes them, on average, ms; absent for nobody. */
  readonly changeVotersEveryMs?: Range;
  /** Groups of consumers; absent for none. */
  readonly groups?: GroupsRange;
}

/** Groups of consumers of the topic that is always there, and by expression of those that come and go. */
export interface GroupsRange {
  /** Groups whose members share the work. */
  readonly groups: Range;
  /** Consumers that have chosen their partitions themselves, each with a group that only keeps its offsets. */
  readonly simple: Range;
  /** In a hundred groups, how many go from one protocol to the other and back, member by member. */
  readonly bothPercent: number;
  /** In a hundred groups, of how many somebody who is no member stores offsets, where that is allowed. */
  readonly storedPercent: number;
  /** In a hundred groups, how many somebody wants to have forgotten, all of them or an offset. */
  readonly clearedPercent: number;
  /** In a hundred static members, how many are two processes of one instance. */
  readonly twinPercent: number;
  /** In a hundred groups of several members, from how many one goes for good before the others are to settle. */
  readonly passingPercent: number;
  /** In a hundred groups, of how many all members go at one moment, now and then, and come back later. */
  readonly restingPercent: number;
  /** In a hundred groups, of how many somebody does nothing but ask again and again what is stored. */
  readonly watchedPercent: number;
  /** Of each group. */
  readonly members: Range;
  /** Between two troubles that a member makes by itself, on average, ms: it stalls, stands still, leaves. */
  readonly troubleEveryMs: Range;
}

/** What administrators do in a scenario, with topics that come and go beside the constant one. */
export interface AdministrationRange {
  /** In so many of a hundred seeds; in the others there is none. */
  readonly percent: number;
  readonly administrators: Range;
  /** Topics; the first of them is never deleted. */
  readonly topics: Range;
  readonly partitionsMax: Range;
  /** Between two actions of one administrator, on average. */
  readonly everyMs: Range;
  /** In a hundred actions on a topic that may be deleted, how many delete it. */
  readonly deletePercent: Range;
}

/** A named story. */
export interface Scenario {
  readonly name: string;
  /** What a clean sweep of it shows, in a sentence. */
  readonly proves: string;
  /** How long troubles go on. */
  readonly durationMs: number;
  /** How often a seed without `--scenario` draws it, in relation to the others. */
  readonly weight: number;
  readonly workload: WorkloadRange;
  readonly settings: readonly SettingChoice[];
  readonly troubles: readonly TroubleRange[];
  /** Absent for one node. */
  readonly cluster?: ClusterRange;
  /** What happens in order, in the place of `durationMs`; troubles strike beside it. */
  readonly script?: readonly ScriptStep[];
  /** Disks and network break their word without regard to what is promised (`watch/damage.ts`); absent: within it. */
  readonly isUnlimited?: true;
  /** Checkers that do not hold here by design, with the reason in `proves`. */
  readonly without?: readonly string[];
}

/** A trouble as a seed drew it. */
export interface TroublePlan {
  readonly family: Family;
  readonly every: number;
  readonly on: Target;
}

/** The nodes of a run. With one of them there is no replication and nothing between nodes. */
export interface ClusterPlan {
  readonly nodes: number;
  readonly replicas: number;
  readonly inSyncMin: number;
  readonly allowsUnclean: boolean;
  readonly tailPpm: number;
  /** The voters are in the log, each with its directory, and whoever comes with another one joins by itself. */
  readonly namesDirectories: boolean;
  /** Nodes stand in racks, and whoever reads at the tail in that of one of them (KIP-392). */
  readonly hasRacks: boolean;
  /** How many; as many as nodes unless the scenario says otherwise. */
  readonly racks: number;
}

/** A producer as a seed drew it. */
export interface ProducerPlan {
  readonly isIdempotent: boolean;
  readonly acks: 0 | 1 | -1;
  readonly codec: 0 | 1 | 2 | 4;
  readonly inFlightMax: number;
  readonly lingerMs: number;
  readonly everyMs: number;
  readonly burstMax: number;
  readonly valueBytesMax: number;
  /** A short one gives up what is still being done, and asks again. */
  readonly requestTimeoutMs: number;
  /** A short one ends records that are on their way. */
  readonly deliveryTimeoutMs: number;
}

/** A group as a seed drew it. */
export interface GroupPlan {
  readonly kind: GroupKind;
  /** Of this protocol are those of its members that stay in the end. */
  readonly lastProtocol: 'classic' | 'consumer';
  readonly members: readonly MemberPlan[];
  /** Between two attempts to store offsets by somebody who is no member, on average; null for nobody. */
  readonly storeEveryMs: number | null;
  /** How many do so, each in a process of its own. */
  readonly storers: number;
  /** They are tools that are run anew for each of it: each time the coordinator is asked for. */
  readonly areTools: boolean;
  /** Between two attempts to have it forgotten, or one offset of it, on average; null for nobody. */
  readonly clearEveryMs: number | null;
  /** Between two questions of somebody who only asks what is stored, on average; null for nobody. */
  readonly watchEveryMs: number | null;
  /** When all members are away together, in order. */
  readonly rests: readonly Rest[];
  /** Of the classic protocol: all of these are known to all members. */
  readonly assignors: readonly ('range' | 'cooperative-sticky' | 'roundrobin' | 'sticky')[];
}

/** All members of a group go at one moment, and come back later, as those of a service that is stopped. */
export interface Rest {
  /** After the members began. */
  readonly fromMs: number;
  readonly toMs: number;
  /** They say nothing of it: their processes stand still until their sessions are over. */
  readonly isSilent: boolean;
}

/** A member as a seed drew it. */
export interface MemberPlan {
  readonly isStatic: boolean;
  /** Another process has the same instance id. */
  readonly hasTwin: boolean;
  /** Which begins so long after it: into the same generation, or a later one. */
  readonly twinAfterMs: number;
  /** It leaves for good before the others are to settle. */
  readonly isPassing: boolean;
  /** And says nothing of it, now or then or never: its process stands still and does not go on. */
  readonly isVanishing: boolean;
  readonly isAuto: boolean;
  readonly commits: 'sync' | 'async' | 'none';
  /** It subscribes by an expression. */
  readonly isByPattern: boolean;
  readonly pollEveryMs: number;
  readonly maxPollIntervalMs: number;
  /** Of the classic protocol; longer than a rebalance may take, a static member may miss one and stay. */
  readonly sessionTimeoutMs: number;
  readonly troubleEveryMs: number;
  /** A poll hands out about so many bytes: with few of them much is read ahead and waits. */
  readonly pollBytes: number;
  /** What its listener takes at most to call off what it was told; it may be longer than it may stay away. */
  readonly listenerMsMax: number;
  readonly serverAssignor: 'uniform' | 'range' | null;
}

/** Administration as a seed drew it. */
export interface AdministrationPlan {
  readonly administrators: number;
  readonly topics: number;
  readonly partitionsMax: number;
  readonly everyMs: number;
  readonly deletePercent: number;
  readonly attemptsMax: number;
}

/** What one seed does: the scenario with every range drawn. Plain data. */
export interface Plan {
  readonly scenario: string;
  readonly durationMs: number;
  /** Nothing is spared: what was found wrong is held against the damages that were done. */
  readonly isUnlimited: boolean;
  readonly cluster: ClusterPlan;
  readonly partitions: number;
  readonly producers: readonly ProducerPlan[];
  /** Between two requests that come a second time, on average; null for none. */
  readonly repeatEveryMs: number | null;
  /** The same of requests between nodes; null for none. */
  readonly repeatBetweenEveryMs: number | null;
  /** Between two moves of partitions, on average; null for none. */
  readonly moveEveryMs: number | null;
  /** The same of those of the topic of groups. */
  readonly moveGroupsEveryMs: number | null;
  /** Between two changes of the voters by one process, on average; null for none. */
  readonly changeVotersEveryMs: number | null;
  /** How many do so: the first takes voters out too, the others only add some. */
  readonly voterChangers: number;
  /** Readers that begin anew again and again, beside the one at the tail. */
  readonly replayers: number;
  /** All of them begin anew at the same moments, as jobs by the clock do. */
  readonly areReplayersTogether: boolean;
  /** What each of them asks for at once: the less, the longer they go through one file. */
  readonly replayBytesMax: number;
  readonly administration: AdministrationPlan | null;
  readonly groups: readonly GroupPlan[];
  readonly settings: readonly (readonly [name: string, value: number | string])[];
  readonly troubles: readonly TroublePlan[];
  readonly chunkPpm: number;
  readonly jitterUs: number;
  readonly driftPpm: number;
}
