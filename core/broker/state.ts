/**
 * What a node remembers: the shapes of its machines and how they point at each other. Plain data; the behaviour is
 * in the files beside this one. A crash forgets all of it.
 *
 * Machines that ask the world have an owner number, under which `Node.machines` finds them when the answer comes; a
 * machine that is gone is no longer in the map, and its answers are dropped. Machines that want to be woken are in
 * `Node.deadlines`.
 */
import type { NodeConfig } from '../config/settings.ts';
import type { DeadlineHeap, Timed } from '../lib/heap.ts';
import type { Ids } from '../lib/ids.ts';
import type { Queue } from '../lib/queue.ts';
import type { ConnectionId } from '../lib/world.ts';
import type { Log } from '../log/log.ts';
import type { LogEvent } from '../log/types.ts';
import type { MetadataImage } from '../metadata/image.ts';
import type { Fetcher } from '../replication/fetcher.ts';
import type { Followed } from '../replication/followed.ts';
import type { Leader } from '../replication/leader.ts';
import type { ProduceWait } from './api/00-produce.ts';
import type { Lookup } from './api/02-list-offsets.ts';
import type { Boot } from './boot/boot.ts';
import type { Checkpoints } from './checkpoints/checkpoints.ts';
import type { Removal } from './checkpoints/removal.ts';
import type { ControllerCalls } from './control/controller-calls.ts';
import type { ControllerHost } from './control/controller-host.ts';
import type { Lifecycle } from './control/lifecycle.ts';
import type { Peers } from './control/peers.ts';
import type { ProducerIds } from './control/producer-ids.ts';
import type { Gather, GroupHost, Groups } from './groups/state.ts';
import type { Unapplied } from './partitions/applied.ts';
import type { Contact } from './partitions/contact.ts';
import type { WantedAhead } from './partitions/fetch-ahead.ts';
import type { Fetch, FetchSlot, Sessions, Subscription } from './partitions/fetch-sessions.ts';
import type { Followers } from './partitions/followers.ts';
import type { InSyncHost } from './partitions/in-sync.ts';
import type { Mend } from './partitions/mending.ts';
import type { Topics, TopicWait } from './partitions/topics.ts';
import type { Stop } from './stop.ts';

/** One topic of the committed image, with what this node keeps of it. */
export interface Topic {
  readonly name: string;
  /** As in the image, and in `partition.metadata` of each partition. */
  readonly id: string;
  /** It belongs to the brokers: clients do not write to it. */
  readonly isInternal: boolean;
  /** The paths of its folders, without the numbers at their ends: shared, for there may be 100,000. */
  readonly stem: string;
  /** By partition number, as many as the image has; null where no replica is here. */
  readonly partitions: (Partition | null)[];
  /** Partitions of this node whose logs are not open yet. */
  opening: number;
  /** Those who want to know when none is. */
  readonly waits: TopicWait[];
}

/**
 * How far a partition has come: waiting (for its name to be free, or its turn), folder (being made), folderSync (its
 * name is being made durable), log (the log has its files; it may still be opening), gone (its topic was deleted, or
 * its replica is elsewhere).
 */
export type PartitionPhase = 'waiting' | 'folder' | 'folderSync' | 'log' | 'gone';

/**
 * What the checkpoints may say of a partition at most. cut: its log will end at `offset`. reset: its log will begin at
 * `offset` and hold nothing, which the file of starts says once both others say 0. correction: they claim a start that
 * the log does not have, and the others say no more than `most` as long as they do.
 */
export type Lowered =
  | { readonly kind: 'cut'; readonly offset: number }
  | { readonly kind: 'reset'; readonly offset: number; isStartDue: boolean }
  | { readonly kind: 'correction'; readonly most: number };

/** One partition that this node keeps: its log, its leader, and those who wait for it. */
export interface Partition extends Timed {
  readonly kind: 'partition';
  readonly topic: Topic;
  readonly index: number;
  readonly log: Log;
  readonly leader: Leader<ProduceWait>;
  /** While another node leads: how far this one follows, and through which fetcher. Both are null, or neither. */
  followed: Followed | null;
  fetcher: Fetcher | null;
  /** The leader epoch of the image that this node has acted on last; -1 before the log is open. */
  leaderEpoch: number;
  /** It is to lead once a reset that has gone too far has ended. */
  wantsLead: boolean;
  /** Null unless its log is being cut. */
  lowered: Lowered | null;
  /** Null unless bytes of it are damaged, and another replica has them. */
  mend: Mend | null;
  /** How often its log was cut to be mended: what it shows as committed begins anew then. */
  mends: number;
  /** Bytes appended that replicas have not been told of, or that are not committed here yet; of several replicas. */
  appendedBytes: number;
  /** Where that ends which replicas have been told of, while this node leads. */
  toldEnd: number;
  /** Whether the topic has this node's replica throttled: what it sends as a leader, what it fetches as a follower. */
  isSendThrottled: boolean;
  isFetchThrottled: boolean;
  phase: PartitionPhase;
  /** The fetch sessions that read it; each knows its place here. */
  readonly subscriptions: Subscription[];
  /** Reads from files that a fetch waits for, by ticket; null for none. */
  reads: Map<number, FetchSlot> | null;
  /** Searches by timestamp that ListOffsets waits for, by ticket; null for none. */
  lookups: Map<number, Lookup> | null;
  /** Whether it is in `Node.touched`. */
  isTouched: boolean;
  /** Bytes of recent batches that its log keeps in memory, as last counted. */
  recentBytes: number;
  /** Bytes that its log has read ahead or may read ahead, as last counted. */
  aheadBytes: number;
  /** Whether it is in `Node.recent`. */
  isRecent: boolean;
  /** Bytes that became durable since its recovery point was last written down. */
  uncheckpointedBytes: number;
  /** Where DeleteRecords wants the log to start, until that is written down; -1 for nowhere. */
  wantedStart: number;
  /** The coordinator of the groups that are kept in it, while this node leads it; null for any other partition. */
  host: GroupHost | null;
}

/** What a connection's client asked, from its arrival until its answer has been handed to the network. */
export interface Request {
  /** Null once the connection is gone: the work ends as it can, and the answer is dropped. */
  connection: Connection | null;
  /** The frame, until the request is handled. */
  frame: Uint8Array | null;
  /** Of the frame and what comes with it, charged to the node's budget; 0 once the frame is no longer held. */
  sizeBytes: number;
  state: 'received' | 'working' | 'done';
  apiKey: number;
  version: number;
  correlationId: number;
  clientId: string | null;
  /** The answer while it waits for its turn; null before, and for a request that has none. */
  parts: Uint8Array[] | null;
  /** The fetch that works on it, to be ended with the connection. */
  fetch: Fetch | null;
  /** What it waits for of coordinators of groups; null for nothing. */
  gather: Gather | null;
}

/** One accepted connection. */
export interface Connection {
  readonly id: ConnectionId;
  /** Index in `Node.listeners`. */
  readonly listener: number;
  readonly peerHost: string;
  readonly peerPort: number;
  /** The address that the peer reached, for advertising. */
  readonly localHost: string;
  /** In order of arrival; answers leave in this order. */
  readonly requests: Queue<Request>;
  /** How many of `requests`, from the front, have been taken up. */
  taken: number;
  /** Bytes of answers that are made and have not left. */
  unsentBytes: number;
  /** Bytes that reads of files for its fetches may still bring. */
  readingBytes: number;
  /** Why it has to end, from the moment that an answer could not be written until it is pumped; null for no reason. */
  fault: string | null;
  isPaused: boolean;
  /** Whether it waits in `Node.starved` for the budget of the node. */
  isStarved: boolean;
  /** Whether it is in `Node.pumping`. */
  isPumping: boolean;
  /** We have closed it: what still comes is passed over. */
  isClosing: boolean;
}

/** One address that the node listens on. */
export interface ListenerState {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** It is for controllers and brokers, not for clients. */
  readonly isForControllers: boolean;
  /** Null: clients are told the address that they reached. */
  readonly advertised: { readonly host: string; readonly port: number } | null;
  /** 0 until the world says which. */
  boundPort: number;
}

/** Machines that ask the world. */
export type Machine = Partition | Removal | Boot | Topics | ControllerHost | Lifecycle | Checkpoints | Stop | Groups;

/** What is woken at its deadline. */
export type Waking = Machine | Fetch | Peers | ControllerCalls | Followers | InSyncHost | GroupHost;

/** new: not started. exited: the last effect has been pushed; every input is passed over. */
export type NodeStage = 'new' | 'booting' | 'serving' | 'stopping' | 'exited';

/** The state of one node, changed in place by `stepNode` only. */
export interface Node {
  /** What the operator wrote. */
  readonly configured: NodeConfig;
  /** The same with what was changed since for this broker, or for all. */
  config: NodeConfig;
  readonly ids: Ids;
  readonly nodeId: number;
  /** The log directory, absolute. */
  readonly folder: string;
  stage: NodeStage;
  /** From `meta.properties`; empty before it is read. */
  clusterId: string;
  /** Of the log directory, from `meta.properties`. */
  directoryId: string;
  /** What is committed in the metadata log, as far as this node has applied it. */
  image: MetadataImage;
  /** The image that `checkNode` looked at last: it is not looked at twice. */
  checkedImage: MetadataImage;
  /** Changes of the metadata whose logs are not all open here, oldest first. */
  readonly unapplied: Unapplied[];
  /** The member of the quorum that this process hosts; null before its directory is known. */
  controller: ControllerHost | null;
  /** What this node asks the active controller. */
  readonly controllerCalls: ControllerCalls;
  readonly lifecycle: Lifecycle;
  /** The connections to other nodes. */
  readonly peers: Peers;
  /** What it follows of other nodes, and what its leaders propose. */
  readonly followers: Followers;
  readonly inSync: InSyncHost;
  /** When others were heard of, on whose word its leaders depend. */
  readonly contact: Contact;
  readonly machines: Map<number, Machine>;
  readonly deadlines: DeadlineHeap<Waking>;
  readonly topics: Topics;
  readonly producerIds: ProducerIds;
  readonly groups: Groups;
  readonly checkpoints: Checkpoints;
  readonly sessions: Sessions;
  /** Null unless the node boots or stops. */
  boot: Boot | null;
  stop: Stop | null;
  readonly listeners: ListenerState[];
  readonly connections: Map<ConnectionId, Connection>;
  /** Bytes of requests that have come and are not done; above queued.max.request.bytes sockets are not read. */
  requestBytes: number;
  /** Bytes of answers made and not sent; above tidemark.responses.max.bytes fetches return less. */
  responseBytes: number;
  /** Bytes that reads of files for fetches may still bring: they are spent of the same budget before they come. */
  readingBytes: number;
  /** Bytes that were read ahead of readers or may be, of all partitions: spent of the same budget. */
  aheadBytes: number;
  /** Bytes of recent batches in memory, of all partitions; kept below tidemark.ring.max.bytes. */
  recentBytes: number;
  /** Partitions that keep recent batches: the next to give some up is at the front. */
  readonly recent: Queue<Partition>;
  /** Connections that are not read until `requestBytes` has fallen. */
  readonly starved: Connection[];
  /** What the current step has to finish: empty between steps. */
  readonly touched: Partition[];
  readonly pumping: Connection[];
  readonly ripe: Fetch[];
  readonly finished: ProduceWait[];
  readonly wantedAheads: WantedAhead[];
  readonly events: LogEvent[];
  /** How many lines about clients' faults may still be said in this interval. */
  /** Names of settings of which was said that they do not act yet. */
  readonly saidIdle: Set<string>;
  readonly complaints: { sinceMs: number; count: number; suppressed: number };
  /** Set when the node ends with this step. */
  exit: { readonly code: number; readonly reason: string } | null;
  /** Inputs taken, for the rhythm of whole-node checks. */
  stepsCount: number;
  /** The count of steps at which the node is checked next. */
  checkAt: number;
  /** On a node of very many machines: the owner of the last one that was checked; 0 before the first. */
  checkOwner: number;
}
