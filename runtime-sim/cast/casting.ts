/**
 * Who takes part in a run beside the nodes: its producers, administrators and readers, as the plan has drawn them, and
 * the partitions that they use. Each client knows all nodes from the start, in an order of its own.
 */
import { OFFSETS_TOPIC } from '../../core/broker/groups/names.ts';
import type { Address } from '../../core/channel/channel.ts';
import type { AdminRequest } from '../../core/client/admin-calls.ts';
import { silenceMs } from '../../core/client/cluster.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { HistoryPartition } from '../../core/verify/history.ts';
import type { Actor } from '../actor.ts';
import type { Family, Plan } from '../scenario.ts';
import { ADMINISTERING, type AdministeringOptions } from '../workload/administering.ts';
import { MOVING, type MovingOptions } from '../workload/moving.ts';
import type { Observer } from '../workload/observer.ts';
import { PREPARING, type PreparingOptions } from '../workload/preparing.ts';
import { PRODUCING, type ProducingOptions } from '../workload/producing.ts';
import { READING, type ReadingOptions } from '../workload/reading.ts';
import { REPEATING, type RepeatingOptions } from '../workload/repeating.ts';
import { VOTING, type VotingOptions } from '../workload/voting.ts';
import { addActor, startAt, type World } from '../world.ts';

/** The nodes' names, by number less one; a run has no more nodes than these. */
export const NODE_NAMES: readonly string[] = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5'];
/** Where nodes of a cluster listen for each other's controllers. */
export const CONTROLLER_PORT = 9093;
/** Where each listens for clients. */
export const PORT = 9092;
/** The topic that is always there. */
export const TOPIC = 'orders';
/** A client gives up a request after so long. */
export const REQUEST_TIMEOUT_MS = 2_000;
/** And asks again first after about this. */
export const RETRY_BACKOFF_MS = 50;
/** And a question of an administrator after so long, attempts and all. */
export const ADMIN_TIMEOUT_MS = 6_000;
/** What nodes that are well need for all that a send takes. */
const SERVICE_MS = 1_000;
/** What alters bytes on their way to a reader, once; and how often in a row that may come about. */
const ALTERING: readonly Family[] = ['flip', 'headerFlip', 'misdirectedRead'];
const UNSOUND_MAX = 5;
/** Topics that come and go; the first of them is never deleted. */
const COMING_TOPICS: readonly string[] = ['coming-0', 'coming-1', 'coming-2', 'coming-3'];

/** How much time whoever sends must have to be served for sure; with a node that keeps silent for good. */
export function serviceMs(isOneSilent: boolean): number {
  const options = { requestTimeoutMs: REQUEST_TIMEOUT_MS, retryBackoffMs: RETRY_BACKOFF_MS };
  return isOneSilent ? silenceMs(options) + SERVICE_MS : SERVICE_MS;
}

/** Where a node stands, in plans that have racks. */
export function rackOf({ cluster }: Plan, nodeId: number): string {
  return `rack-${((nodeId - 1) % cluster.racks) + 1}`;
}

/** All nodes, another one first for each client. */
export function bootstrapOf({ cluster }: Plan, client: number): Address[] {
  const { nodes } = cluster;
  return Array.from({ length: nodes }, (_, index) => {
    return { host: NODE_NAMES[(client + index) % nodes] as string, port: PORT };
  });
}

/** The partitions of the constant topic, and a slot for each that may come and go. */
export function partitionsOf({ partitions, administration }: Plan): HistoryPartition[] {
  const list = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const constant = list(partitions).map((partition): HistoryPartition => ({ topic: TOPIC, partition }));
  if (administration === null) return constant;
  const topics = COMING_TOPICS.slice(0, administration.topics);
  const slots = topics.flatMap((topic) => {
    return list(administration.partitionsMax).map((partition) => ({ topic, partition, isSlot: true }) as const);
  });
  return [...constant, ...slots];
}

/** Adds one who makes the constant topic in a cluster, and starts it. */
export function addPreparer(world: World, plan: Plan, atUs: number): Actor {
  const { partitions, cluster } = plan;
  const request: AdminRequest = {
    kind: 'createTopic',
    topic: TOPIC,
    partitions,
    replicationFactor: cluster.replicas,
    configs: cluster.allowsUnclean ? [['unclean.leader.election.enable', 'true']] : [],
  };
  return addAsker(world, plan, 'preparer', request, ErrorCode.TOPIC_ALREADY_EXISTS, atUs);
}

/** Adds those who ask for a leader of each partition of the constant topic, whoever it may be. */
export function addElectors(world: World, plan: Plan, atUs: number): void {
  for (let partition = 0; partition < plan.partitions; partition++) {
    const request: AdminRequest = { kind: 'electLeader', topic: TOPIC, partition, isUnclean: true };
    addAsker(world, plan, `elector-${partition}`, request, ErrorCode.ELECTION_NOT_NEEDED, atUs);
  }
}

function addAsker(
  world: World,
  plan: Plan,
  clientId: string,
  request: AdminRequest,
  doneError: number,
  atUs: number,
): Actor {
  const admin = {
    clientId,
    bootstrap: bootstrapOf(plan, 0),
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    timeoutMs: ADMIN_TIMEOUT_MS,
    attemptsMax: 3,
    retryBackoffMs: RETRY_BACKOFF_MS,
  };
  const options: PreparingOptions = { request, doneError, admin };
  const actor = addActor(world, clientId, 'client', PREPARING, options);
  startAt(world, actor, atUs);
  return actor;
}

/** Adds those who produce, from `fromUs` on. */
export function addProducers(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  const partitions = observer.history.partitions.map((_, partition) => partition);
  plan.producers.forEach((producer, index) => {
    const clientId = `producer-${index + 1}`;
    const producing: ProducingOptions = {
      observer,
      partitions,
      ...(plan.cluster.nodes > 1 ? { resting: plan.partitions - 1 } : {}),
      everyMs: producer.everyMs,
      burstMax: producer.burstMax,
      valueBytesMax: producer.valueBytesMax,
      isRepeated: producer.isIdempotent && plan.repeatEveryMs !== null,
      producer: {
        clientId,
        bootstrap: bootstrapOf(plan, index),
        acks: producer.acks,
        idempotent: producer.isIdempotent,
        lingerMs: producer.lingerMs,
        batchBytesMax: 4_096,
        inFlightMax: producer.inFlightMax,
        requestTimeoutMs: producer.requestTimeoutMs,
        deliveryTimeoutMs: producer.deliveryTimeoutMs,
        retryBackoffMs: RETRY_BACKOFF_MS,
        compression: producer.codec,
        createsTopics: false,
      },
    };
    startAt(world, addActor(world, clientId, 'client', PRODUCING, producing), fromUs + 20_000 + index * 1_000);
  });
}

/** Adds one who repeats requests of producers, if the plan has any. */
export function addRepeater(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  const { repeatEveryMs, repeatBetweenEveryMs } = plan;
  const bootstrap = bootstrapOf(plan, 0);
  if (repeatEveryMs !== null) {
    const options: RepeatingOptions = { observer, bootstrap, between: null, everyMs: repeatEveryMs };
    startAt(world, addActor(world, 'repeater', 'client', REPEATING, options), fromUs + 50_000);
  }
  if (repeatBetweenEveryMs === null) return;
  world.network.kept = [];
  const options = { observer, bootstrap, between: world.network.kept, everyMs: repeatBetweenEveryMs };
  startAt(world, addActor(world, 'between', 'client', REPEATING, options), fromUs + 50_000);
}

/** Adds those who move partitions, if the plan has any. */
export function addMovers(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  const { moveEveryMs, moveGroupsEveryMs, partitions, settings } = plan;
  const atUs = fromUs + 60_000;
  const add = (name: string, what: Moved): void => {
    startAt(world, addActor(world, name, 'client', MOVING, movingOptions(observer, plan, name, what)), atUs);
  };
  if (moveEveryMs !== null) add('mover', { everyMs: moveEveryMs, constant: TOPIC, partitions, isSole: false });
  if (moveGroupsEveryMs === null) return;
  const count = Number(new Map(settings).get('offsets.topic.num.partitions'));
  add('mover-of-groups', { everyMs: moveGroupsEveryMs, constant: OFFSETS_TOPIC, partitions: count, isSole: true });
}

/** What one who moves partitions moves, and how often. */
type Moved = Pick<MovingOptions, 'everyMs' | 'constant' | 'partitions' | 'isSole'>;

function movingOptions(observer: Observer, plan: Plan, name: string, what: Moved): MovingOptions {
  const { cluster } = plan;
  return {
    observer,
    ...what,
    nodes: cluster.nodes,
    replicas: cluster.replicas,
    replicasMin: cluster.inSyncMin,
    admin: {
      clientId: name,
      bootstrap: bootstrapOf(plan, 2),
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      timeoutMs: ADMIN_TIMEOUT_MS,
      attemptsMax: 2,
      retryBackoffMs: RETRY_BACKOFF_MS,
    },
  };
}

/** Adds those who change the voters, if the plan has any. */
export function addVoterChangers(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  const { changeVotersEveryMs, voterChangers, cluster } = plan;
  if (changeVotersEveryMs === null) return;
  const names = NODE_NAMES.slice(0, cluster.nodes);
  for (let index = 0; index < voterChangers; index++) {
    const clientId = `voter-changer-${index + 1}`;
    const options: VotingOptions = {
      observer,
      listeners: new Map(names.map((host, at) => [at + 1, { name: 'CONTROLLER', host, port: CONTROLLER_PORT }])),
      everyMs: changeVotersEveryMs,
      mayRemove: index === 0,
      admin: {
        clientId,
        bootstrap: bootstrapOf(plan, index + 1),
        requestTimeoutMs: ADMIN_TIMEOUT_MS,
        timeoutMs: 2 * ADMIN_TIMEOUT_MS,
        attemptsMax: 1,
        retryBackoffMs: RETRY_BACKOFF_MS,
      },
    };
    startAt(world, addActor(world, clientId, 'client', VOTING, options), fromUs + 70_000 + index * 1_000);
  }
}

/** Adds those who administer, if the plan has any. */
export function addAdministrators(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  const { administration, cluster } = plan;
  if (administration === null) return;
  const { administrators, topics, partitionsMax, everyMs, deletePercent, attemptsMax } = administration;
  for (let index = 0; index < administrators; index++) {
    const clientId = `administrator-${index + 1}`;
    const options: AdministeringOptions = {
      observer,
      topics: COMING_TOPICS.slice(0, topics).map((topic, place) => {
        return { topic, deletePercent: place === 0 ? 0 : deletePercent };
      }),
      constant: TOPIC,
      partitionsMax,
      replicas: cluster.replicas,
      everyMs,
      admin: {
        clientId,
        bootstrap: bootstrapOf(plan, index + 1),
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        timeoutMs: ADMIN_TIMEOUT_MS,
        attemptsMax,
        retryBackoffMs: RETRY_BACKOFF_MS,
      },
    };
    startAt(world, addActor(world, clientId, 'client', ADMINISTERING, options), fromUs + 25_000 + index * 1_000);
  }
}

/** Adds one who reads everything, from `atUs` on. */
export function addReader(
  world: World,
  observer: Observer,
  plan: Plan,
  reader: number,
  mode: ReadingOptions['mode'],
  atUs: number,
): Actor {
  const clientId = `${mode}-${reader}`;
  const options: ReadingOptions = {
    observer,
    reader,
    mode,
    restMs: 2_500,
    isByTheClock: plan.areReplayersTogether,
    unsoundMax: plan.troubles.some(({ family }) => ALTERING.includes(family)) ? UNSOUND_MAX : 0,
    options: {
      clientId,
      bootstrap: bootstrapOf(plan, reader),
      isolation: 'readUncommitted',
      maxWaitMs: 250,
      minBytes: 1,
      maxBytes: mode === 'tail' ? 1_000_000 : mode === 'replay' ? plan.replayBytesMax : 30_000,
      // A last reader is to see all that is committed, which the leader knows first.
      rack: mode === 'tail' && plan.cluster.hasRacks ? rackOf(plan, 2) : '',
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      retryBackoffMs: RETRY_BACKOFF_MS,
    },
  };
  const actor = addActor(world, clientId, 'client', READING, options);
  startAt(world, actor, atUs);
  return actor;
}
