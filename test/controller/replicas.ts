/**
 * One partition of three replicas under a controller, and beside it a model of the logs: what brokers have written,
 * lost and acknowledged while they die, stop, come back, while requests of leaders arrive late, and while the partition
 * moves. Who is no replica any more has no log; who was dead at that time finds the old one when it comes again.
 */
import { expect } from 'vitest';
import { nextDuty } from '../../core/controller/duties.ts';
import { CONTROLLER } from '../../core/controller/machine.ts';
import { createController } from '../../core/controller/state.ts';
import { topicByName } from '../../core/metadata/image.ts';
import { idOf } from '../metadata/cluster.ts';
import {
  append,
  ask,
  beat,
  type Cluster,
  createCluster,
  createTopic,
  elect,
  epochOf,
  fence,
  move,
  partitionOf,
  register,
} from './cluster.ts';

/** Their ids. */
export const BROKERS = [1, 2, 3];
/** Of those among which a partition moves. */
export const MORE_BROKERS = [1, 2, 3, 4, 5];

/** A broker's replica of the one partition. */
interface Replica {
  isUp: boolean;
  isCleanlyStopped: boolean;
  life: number;
  dir: number;
  /** Numbers of records. */
  log: number[];
  /** The leader epoch in which it last fetched: its log is a beginning of that leader's. */
  fetchedIn: number;
}

/** A request of a leader that is under way. */
interface Proposal {
  readonly body: Parameters<typeof ask<56>>[3];
  readonly isr: readonly number[];
  readonly leaderEpoch: number;
  readonly partitionEpoch: number;
}

/** A cluster of one partition, and what its records are. */
export interface World {
  cluster: Cluster;
  readonly minInsync: number;
  readonly allowsLoss: boolean;
  readonly replicas: Map<number, Replica>;
  proposals: Proposal[];
  /** All that was acknowledged and that no unclean election has given up. */
  acknowledged: number[];
  nextRecord: number;
  /** Where the log ended when the present leader began. */
  epochStart: number;
}

/** Brokers that take part, and a topic of one partition on three of them. */
export function createWorld(minInsync: number, allowsLoss: boolean, seed: number, brokers = BROKERS): World {
  const cluster = createCluster({ balanceIntervalMs: 1 }, seed);
  const replicas = new Map<number, Replica>();
  for (const id of brokers) {
    register(cluster, id, { dirs: [id] });
    beat(cluster, id);
    replicas.set(id, { isUp: true, isCleanlyStopped: false, life: 0, dir: id, log: [], fetchedIn: 0 });
  }
  createTopic(cluster, 't', 1, 3, [
    ['min.insync.replicas', String(minInsync)],
    ['unclean.leader.election.enable', String(allowsLoss)],
  ]);
  return { cluster, minInsync, allowsLoss, replicas, proposals: [], acknowledged: [], nextRecord: 0, epochStart: 0 };
}

/** The replica of a broker. */
export function replicaOf(world: World, id: number): Replica {
  return world.replicas.get(id) ?? expect.fail(`no broker ${id}`);
}

/** The replica that leads and is there to do so. */
function leaderOf(world: World): Replica | null {
  const { leader } = partitionOf(world.cluster);
  const replica = world.replicas.get(leader);
  return replica?.isUp === true ? replica : null;
}

/** The leader asks for a set; the request may arrive much later. */
function propose(world: World, isr: readonly number[]): void {
  const { leader, leaderEpoch, partitionEpoch, leaderRecoveryState } = partitionOf(world.cluster);
  const partition = {
    partitionIndex: 0,
    leaderEpoch,
    partitionEpoch,
    newIsr: [],
    newIsrWithEpochs: isr.map((id) => ({ brokerId: id, brokerEpoch: epochOf(world.cluster, id) })),
    leaderRecoveryState: isr.length > 1 ? 0 : leaderRecoveryState,
  };
  const topicId = topicByName(world.cluster.controller.image, 't')?.id ?? '';
  const body = {
    brokerId: leader,
    brokerEpoch: epochOf(world.cluster, leader),
    topics: [{ topicId, partitions: [partition] }],
  };
  world.proposals.push({ body, isr, leaderEpoch, partitionEpoch });
}

function isReplica(world: World, id: number): boolean {
  return partitionOf(world.cluster).replicas.includes(id);
}

/** Whoever is there and no replica any more deletes what it had. */
function tidyUp(world: World): void {
  for (const [id, replica] of world.replicas) {
    if (!replica.isUp || isReplica(world, id)) continue;
    replica.log = [];
    replica.fetchedIn = -1;
  }
}

function isCaughtUp(world: World, id: number): boolean {
  const { leaderEpoch } = partitionOf(world.cluster);
  const { isUp, log, fetchedIn } = replicaOf(world, id);
  return isUp && fetchedIn === leaderEpoch && log.length >= Math.max(world.acknowledged.length, world.epochStart);
}

/** What is on all in sync, and on all that may be in sync already, is acknowledged. */
export function acknowledge(world: World): void {
  const leader = leaderOf(world);
  const { isr, leaderEpoch, partitionEpoch, leader: id, replicas } = partitionOf(world.cluster);
  if (leader === null || isr.length < Math.min(world.minInsync, replicas.length)) return;
  const members = new Set(isr);
  for (const proposal of world.proposals) {
    const mayCount = proposal.leaderEpoch === leaderEpoch && proposal.partitionEpoch === partitionEpoch;
    if (mayCount) for (const member of proposal.isr) members.add(member);
  }
  let end = leader.log.length;
  for (const member of members) {
    const { log, fetchedIn } = replicaOf(world, member);
    end = Math.min(end, member === id ? end : fetchedIn === leaderEpoch ? log.length : 0);
  }
  if (end > world.acknowledged.length) world.acknowledged = leader.log.slice(0, end);
}

function restart(world: World, id: number): void {
  const { cluster } = world;
  const replica = replicaOf(world, id);
  if (replica.isUp) return;
  replica.life += 1;
  const previousEpoch = replica.isCleanlyStopped ? epochOf(cluster, id) : -1;
  const life = { life: replica.life % 10, dirs: [replica.dir], previousEpoch };
  if (register(cluster, id, life) < 0) {
    fence(cluster, id);
    expect(register(cluster, id, life)).toBeGreaterThan(0);
  }
  replica.isUp = true;
  replica.isCleanlyStopped = false;
  replica.fetchedIn = -1;
}

/** A broker that lost its disk tells the controller where its replica is now. */
function assign(world: World, id: number): void {
  const { cluster } = world;
  const { dir } = replicaOf(world, id);
  const topicId = topicByName(cluster.controller.image, 't')?.id ?? '';
  const directories = [{ id: idOf(6000 + dir), topics: [{ topicId, partitions: [{ partitionIndex: 0 }] }] }];
  ask(cluster, 73, 0, { brokerId: id, brokerEpoch: epochOf(cluster, id), directories });
}

function stop(world: World, id: number): void {
  const replica = replicaOf(world, id);
  if (!replica.isUp || !beat(world.cluster, id, { shutDown: true }).shouldShutDown) return;
  replica.isUp = false;
  replica.isCleanlyStopped = true;
}

/** A process that is not there loses its disk, and gets an empty one. */
function lose(replica: Replica): void {
  replica.log = [];
  replica.dir += 10;
}

/** A broker that was restarted asks to take part, and says where its replica is. */
function comeBack(world: World, id: number): void {
  restart(world, id);
  beat(world.cluster, id);
  assign(world, id);
}

/** A broker dies, and comes back with another disk: after a clean stop, or not. */
function swap(world: World, id: number, isClean: boolean): void {
  const replica = replicaOf(world, id);
  for (let tries = 0; isClean && tries < 2; tries++) stop(world, id);
  if (replica.isUp && isClean) return;
  if (!isClean) crash(replica);
  lose(replica);
  comeBack(world, id);
}

function crash(replica: Replica): void {
  if (replica.isUp) replica.isCleanlyStopped = false;
  replica.isUp = false;
}

function duties(world: World): void {
  const { cluster } = world;
  cluster.nowMs += 100;
  for (let rounds = 0; rounds < 10; rounds++) {
    const duty = nextDuty(cluster.controller, cluster.nowMs);
    if (duty === null) return;
    const context = { nowMs: cluster.nowMs, nextOffset: cluster.log.length };
    append(cluster, CONTROLLER.handle(cluster.controller, context, duty).records);
  }
}

/** One thing that happens; `pick` chooses among its variants. */
type Step = (world: World, broker: number, pick: number) => void;

const STEPS = {
  produce: (world) => {
    leaderOf(world)?.log.push(world.nextRecord++);
  },
  replicate: (world, broker) => {
    const leading = leaderOf(world);
    const replica = replicaOf(world, broker);
    if (leading === null || leading === replica || !replica.isUp || !isReplica(world, broker)) return;
    replica.log = leading.log.slice();
    replica.fetchedIn = partitionOf(world.cluster).leaderEpoch;
  },
  shrink: (world, broker) => {
    const { isr, leader } = partitionOf(world.cluster);
    if (leaderOf(world) === null || broker === leader) return;
    propose(
      world,
      isr.filter((id) => id !== broker),
    );
  },
  expand: (world, broker) => {
    const { isr, replicas } = partitionOf(world.cluster);
    if (leaderOf(world) === null || isr.includes(broker) || !isReplica(world, broker)) return;
    if (!isCaughtUp(world, broker)) return;
    propose(
      world,
      replicas.filter((id) => isr.includes(id) || id === broker),
    );
  },
  deliver: (world, _broker, pick) => {
    const at = pick % Math.max(1, world.proposals.length);
    const proposal = world.proposals[at];
    if (proposal !== undefined) ask(world.cluster, 56, 3, proposal.body);
    if (pick > 1) world.proposals.splice(at, 1); // Else it arrives once more.
  },
  /** A follower fetches to the end, and the leader takes it into the set at once. */
  catchUp: (world, broker) => {
    STEPS.replicate(world, broker);
    STEPS.expand(world, broker);
    const proposal = world.proposals.pop();
    if (proposal !== undefined) ask(world.cluster, 56, 3, proposal.body);
  },
  /** The leader takes a follower in that has died meanwhile, or has been dropped. */
  late: (world, broker, pick) => {
    STEPS.replicate(world, broker);
    STEPS.expand(world, broker);
    if (pick > 1) {
      crash(replicaOf(world, broker));
      lose(replicaOf(world, broker));
      restart(world, broker);
      beat(world.cluster, broker);
    } else STEPS.shrink(world, broker);
    for (const { body } of world.proposals.splice(0).reverse()) ask(world.cluster, 56, 3, body);
  },
  crash: (world, broker) => crash(replicaOf(world, broker)),
  lose: (world, broker) => {
    if (!replicaOf(world, broker).isUp) lose(replicaOf(world, broker));
  },
  fence: (world, broker) => fence(world.cluster, broker),
  fail: (world, broker) => {
    crash(replicaOf(world, broker));
    fence(world.cluster, broker);
  },
  stop: (world, broker) => stop(world, broker),
  swap: (world, broker) => swap(world, broker, true),
  reborn: (world, broker) => swap(world, broker, false),
  restart: (world, broker) => restart(world, broker),
  return: (world, broker) => comeBack(world, broker),
  beat: (world, broker) => {
    if (!replicaOf(world, broker).isUp) return;
    beat(world.cluster, broker);
    assign(world, broker);
  },
  preferred: (world) => {
    elect(world.cluster, 0);
  },
  /** To as many brokers as `pick` says, from one on. */
  move: (world, broker, pick) => {
    const ids = [...world.replicas.keys()];
    const count = 1 + (pick % 3);
    move(
      world.cluster,
      ids.flatMap((_, at) => (at < count ? [ids[(broker + at) % ids.length] ?? -1] : [])),
    );
  },
  cancel: (world) => {
    move(world.cluster, null);
  },
  unclean: (world) => {
    if (world.allowsLoss) elect(world.cluster, 1);
  },
  duty: (world) => duties(world),
  takeOver: (world, _broker, pick) => {
    const { cluster } = world;
    const { config, image } = cluster.controller;
    world.cluster = { ...cluster, controller: createController(config, image, pick, cluster.nowMs) };
  },
} satisfies { readonly [name: string]: Step };

/** What can happen. */
export type Kind = keyof typeof STEPS;

/** Lets something happen. */
export function step(world: World, kind: Kind, broker: number, pick: number): void {
  const act: Step = STEPS[kind];
  act(world, broker, pick);
  tidyUp(world);
}
