/**
 * Two or three nodes, a toy controller that keeps the rules, and everything that can go wrong between them: links that
 * lose or cut, nodes that crash or lose power at any effect, metadata that comes late. What must hold is checked after
 * every step; the rest once all is well again.
 *
 * The controller elects from the in-sync set only; leader and partition epochs ascend; a fenced broker leaves the set
 * unless it is the last of it.
 */
import { expect } from 'vitest';
import { readLog } from '../../core/log/log.ts';
import type { LogFound } from '../../core/log/types.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { FetchRequest } from '../../core/protocol/messages/01-fetch.ts';
import type { ListOffsetsRequest } from '../../core/protocol/messages/02-list-offsets.ts';
import type { AlterPartitionRequest, AlterPartitionResponse } from '../../core/protocol/messages/56-alter-partition.ts';
import { setController } from '../../core/replication/alter-partition.ts';
import type { Call, CallOutcome } from '../../core/replication/calls.ts';
import type { BrokerState } from '../../core/replication/in-sync.ts';
import { appendToLeader, type ProduceAnswer } from '../../core/replication/leader.ts';
import { carryOut, crashProcess, type Dice, losePower } from '../log/disk.ts';
import { batchOf, concat, createDice, FOUND, valuesOf } from '../log/world.ts';
import { breakConnection, createNetwork, deliverOne, generationOf, type Network, send } from './network.ts';
import {
  createNode,
  lowerOne,
  nodeDeadlineMs,
  type PartState,
  type Producer,
  type TestNode,
  takeCallAnswer,
  takeDisk,
  takeView,
  type View,
  wakeNode,
  watermarkOf,
} from './node.ts';
import { serveFetch, serveListOffsets } from './server.ts';

/** The controller's place in the network. */
export const CONTROLLER = 0;
const PARTS = 2;

interface Outstanding {
  readonly node: TestNode;
  readonly call: Call;
  readonly untilMs: number;
}

/** A record that a producer was told is kept. */
export interface Acked {
  readonly part: number;
  readonly offset: number;
  readonly value: string;
}

/** All of it. */
export interface Cluster {
  readonly dice: Dice;
  readonly network: Network;
  readonly nodes: TestNode[];
  readonly outstanding: Map<string, Outstanding>;
  /** Every version of the metadata; nodes hear them in order, each at its own pace. */
  readonly views: View[];
  readonly heard: Map<number, number>;
  readonly acked: Acked[];
  /** What readers have seen, by partition and offset. */
  readonly seen: Map<string, string>;
  /** Errors that producers were told. */
  readonly refused: number[];
  readonly reached: Set<string>;
  readonly inSyncMin: number;
  nowMs: number;
  sent: number;
  lives: number;
}

/** A cluster of `size` nodes, all of them in sync, whose first node leads. */
export function createCluster(seed: number, size: number, inSyncMin: number): Cluster {
  const ids = Array.from({ length: size }, (_, i) => i + 1);
  const part: PartState = {
    leader: -1,
    leaderEpoch: 0,
    partitionEpoch: 0,
    replicas: ids,
    isr: ids,
    leaderRecoveryState: 0,
  };
  const cluster: Cluster = {
    dice: createDice(seed),
    network: createNetwork(),
    nodes: [],
    outstanding: new Map(),
    views: [{ parts: Array.from({ length: PARTS }, () => part), brokers: new Map() }],
    heard: new Map(),
    acked: [],
    seen: new Map(),
    refused: [],
    reached: new Set(),
    inSyncMin,
    nowMs: 1000,
    sent: 0,
    lives: 0,
  };
  for (const id of ids) start(cluster, id, null);
  return cluster;
}

/** The latest metadata. */
export function truth(cluster: Cluster): View {
  return cluster.views[cluster.views.length - 1] as View;
}

/** The node with this id. */
export function nodeOf(cluster: Cluster, id: number): TestNode {
  return cluster.nodes[id - 1] as TestNode;
}

/** Starts a node on the disk of its last life. */
export function start(cluster: Cluster, id: number, last: TestNode | null): void {
  cluster.lives++;
  const node = createNode({
    id,
    disk: last?.disk ?? null,
    checkpoints: last?.checkpoints ?? Array.from({ length: PARTS }, (): LogFound => FOUND),
    dice: cluster.dice,
    nowMs: () => cluster.nowMs,
    reached: (mark) => cluster.reached.add(mark),
    inSyncMin: cluster.inSyncMin,
    sessionBase: cluster.lives * 1000,
    call: (from, call) => post(cluster, from, call),
    opened: (from) => register(cluster, from),
  });
  cluster.nodes[id - 1] = node;
  cluster.heard.set(id, -1);
  setController(node.alterer, CONTROLLER, -1);
}

/** A crash: of the process, or of the machine. The controller finds out later. */
export function crash(cluster: Cluster, id: number, how: 'process' | 'power'): void {
  const node = nodeOf(cluster, id);
  if (!node.isAlive) return;
  node.isAlive = false;
  if (how === 'power') losePower(node.disk, cluster.dice);
  else crashProcess(node.disk);
  for (const [key, { node: caller }] of cluster.outstanding) if (caller === node) cluster.outstanding.delete(key);
  for (let other = 0; other <= cluster.nodes.length; other++) if (other !== id) cutOff(cluster, id, other);
}

/** The connection between two nodes ends; whoever waits on it is told. */
export function cutOff(cluster: Cluster, a: number, b: number): void {
  breakConnection(cluster.network, a, b);
  for (const [me, peer] of [[a, b] as const, [b, a] as const]) {
    if (me > 0) nodeOf(cluster, me).server.lines.delete(peer);
    for (const [key, { node, call }] of [...cluster.outstanding]) {
      if (node.id !== me || call.nodeId !== peer) continue;
      cluster.outstanding.delete(key);
      if (node.isAlive) takeCallAnswer(node, call, { failure: 'closed' });
    }
  }
}

function keyOf(node: TestNode, call: Call): string {
  return `${node.id} ${call.ticket} ${cluster_lives(node)}`;
}

const livesOf = new WeakMap<TestNode, number>();
let lives = 0;
function cluster_lives(node: TestNode): number {
  const known = livesOf.get(node) ?? ++lives;
  livesOf.set(node, known);
  return known;
}

function post(cluster: Cluster, from: TestNode, call: Call): void {
  const { network } = cluster;
  const to = call.nodeId;
  const key = keyOf(from, call);
  cluster.outstanding.set(key, { node: from, call, untilMs: cluster.nowMs + call.timeoutMs });
  send(network, from.id, to, () => {
    const generation = generationOf(network, from.id, to);
    const reply = (response: object): void => {
      if (generationOf(network, from.id, to) !== generation) return;
      send(network, to, from.id, () => answer(cluster, key, { response } as CallOutcome));
    };
    if (to === CONTROLLER) {
      reply(alter(cluster, call.body as AlterPartitionRequest));
      return;
    }
    const node = nodeOf(cluster, to);
    if (!node.isAlive) return;
    if (call.apiKey === 1) serveFetch(node, from.id, call.body as FetchRequest, reply);
    else reply(serveListOffsets(node, call.body as ListOffsetsRequest));
  });
}

function answer(cluster: Cluster, key: string, outcome: CallOutcome): void {
  const waiting = cluster.outstanding.get(key);
  if (waiting === undefined) return;
  cluster.outstanding.delete(key);
  if (waiting.node.isAlive) takeCallAnswer(waiting.node, waiting.call, outcome);
}

/** A new version of the metadata. */
export function change(cluster: Cluster, parts: readonly PartState[], brokers: ReadonlyMap<number, BrokerState>): void {
  const before = truth(cluster);
  for (const [i, part] of parts.entries()) {
    const old = before.parts[i] as PartState;
    if (part === old) continue;
    expect(part.leaderEpoch).toBeGreaterThanOrEqual(old.leaderEpoch);
    expect(part.partitionEpoch).toBe(old.partitionEpoch + 1);
    expect(part.leader < 0 || part.isr.includes(part.leader)).toBe(true);
  }
  cluster.views.push({ parts, brokers });
}

/** A leader for a partition that has none, or whose leader is gone: from the in-sync set. */
function elect(part: PartState, brokers: ReadonlyMap<number, BrokerState>, isNew: boolean): PartState {
  const alive = (id: number): boolean => brokers.get(id)?.fenced === false;
  const kept = part.isr.filter(alive);
  const isr = kept.length === 0 ? part.isr : kept;
  const leader = !isNew && alive(part.leader) ? part.leader : (isr.find(alive) ?? -1);
  const isSame = leader === part.leader && !isNew;
  if (isSame && isr.length === part.isr.length) return part;
  const leaderEpoch = isSame ? part.leaderEpoch : part.leaderEpoch + 1;
  return {
    ...part,
    isr: kept.length === 0 ? part.isr.slice(0, 1) : isr,
    leader,
    leaderEpoch,
    partitionEpoch: part.partitionEpoch + 1,
  };
}

/** The controller takes a broker for dead. */
export function fenceNode(cluster: Cluster, id: number): void {
  const { parts, brokers } = truth(cluster);
  const broker = brokers.get(id);
  if (broker === undefined || broker.fenced) return;
  const after = new Map(brokers).set(id, { ...broker, fenced: true });
  change(
    cluster,
    parts.map((part) => elect(part, after, false)),
    after,
  );
}

/** A node whose logs are open registers: a new life, never the leader under an epoch of an earlier one. */
function register(cluster: Cluster, node: TestNode): void {
  fenceNode(cluster, node.id);
  const { parts, brokers } = truth(cluster);
  const epoch = cluster.views.length;
  const after = new Map(brokers).set(node.id, { epoch, fenced: false, inControlledShutdown: false });
  change(
    cluster,
    parts.map((part) => (part.leader < 0 || part.leader === node.id ? elect(part, after, true) : part)),
    after,
  );
  // It knows all that was decided before it was heard of, and acts on what comes from then on.
  cluster.heard.set(node.id, cluster.views.length - 2);
}

/** AlterPartition, as the controller decides it. */
function alter(cluster: Cluster, body: AlterPartitionRequest): AlterPartitionResponse {
  const { parts, brokers } = truth(cluster);
  if (brokers.get(body.brokerId)?.epoch !== body.brokerEpoch) {
    return { throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, topics: [] };
  }
  const next = [...parts];
  const topics = body.topics.map(({ topicId, partitions }) => ({
    topicId,
    partitions: partitions.map((asked) => {
      const part = next[asked.partitionIndex] as PartState;
      const errorCode = judgeAlter(cluster, part, asked, body.brokerId);
      const isr = asked.newIsrWithEpochs.map(({ brokerId }) => brokerId);
      const after = errorCode === 0 ? { ...part, isr, partitionEpoch: part.partitionEpoch + 1 } : part;
      next[asked.partitionIndex] = after;
      const { leader: leaderId, leaderEpoch, partitionEpoch, leaderRecoveryState } = after;
      const state = { leaderId, leaderEpoch, partitionEpoch, leaderRecoveryState, isr: [...after.isr] };
      return { partitionIndex: asked.partitionIndex, errorCode, ...state };
    }),
  }));
  if (next.some((part, i) => part !== parts[i])) change(cluster, next, brokers);
  return { throttleTimeMs: 0, errorCode: 0, topics };
}

type AskedChange = AlterPartitionRequest['topics'][number]['partitions'][number];

function judgeAlter(cluster: Cluster, part: PartState, asked: AskedChange, brokerId: number): number {
  const { brokers } = truth(cluster);
  if (asked.leaderEpoch > part.leaderEpoch || asked.partitionEpoch > part.partitionEpoch)
    return ErrorCode.NOT_CONTROLLER;
  if (asked.leaderEpoch < part.leaderEpoch || part.leader !== brokerId) return ErrorCode.FENCED_LEADER_EPOCH;
  if (asked.partitionEpoch < part.partitionEpoch) return ErrorCode.INVALID_UPDATE_VERSION;
  for (const { brokerId: id, brokerEpoch } of asked.newIsrWithEpochs) {
    const broker = brokers.get(id);
    const isOld = brokerEpoch >= 0 && broker?.epoch !== brokerEpoch;
    if (broker === undefined || broker.fenced || isOld) return ErrorCode.INELIGIBLE_REPLICA;
  }
  return 0;
}

/** A node hears the next version of the metadata. False when it knows the latest. */
export function hearView(cluster: Cluster, id: number): boolean {
  const node = nodeOf(cluster, id);
  const heard = cluster.heard.get(id) ?? -1;
  if (!node.isAlive || !node.parts.every(({ isOpen }) => isOpen) || heard >= cluster.views.length - 1) return false;
  cluster.heard.set(id, heard + 1);
  takeView(node, cluster.views[heard + 1] as View);
  return true;
}

/** A producer sends a few records to a node that believes that it leads. */
export function produce(cluster: Cluster, id: number, index: number, acks = -1): string[] {
  const node = nodeOf(cluster, id);
  const part = node.parts[index];
  if (!node.isAlive || part === undefined || !part.isOpen) return [];
  const count = 1 + Math.floor(cluster.dice() * 3);
  const values = Array.from({ length: count }, () => `${cluster.sent++}${'.'.repeat(Math.floor(cluster.dice() * 60))}`);
  const reply: ProduceAnswer = {
    errorCode: 0,
    errorMessage: null,
    baseOffset: -1,
    logAppendTimeMs: -1,
    logStartOffset: -1,
  };
  const answered = (): void => {
    if (reply.errorCode !== 0) cluster.refused.push(reply.errorCode);
    else if (acks === -1) {
      for (const [i, value] of values.entries())
        cluster.acked.push({ part: index, offset: reply.baseOffset + i, value });
    }
  };
  const waiter: Producer = { remaining: 0, answered };
  const request = { records: batchOf(values), acks, untilMs: cluster.nowMs + 5000, waiter, answer: reply };
  if (appendToLeader(part.leader, node.env, request, node.out)) answered();
  node.settle();
  return values;
}

/** A reader reads below the high watermark of a replica; what it sees must be what everybody has ever seen there. */
export function look(cluster: Cluster, id: number, index: number): void {
  const node = nodeOf(cluster, id);
  const part = node.parts[index];
  if (!node.isAlive || part === undefined || !part.isOpen) return;
  const upTo = watermarkOf(part);
  if (upTo <= part.log.start) return;
  const offset = part.log.start + Math.floor(cluster.dice() * (upTo - part.log.start));
  const outcome = readLog(part.log, node.env, { offset, upTo, sizeBytesMax: 2000, minOne: true }, node.out);
  const see = (values: [number, string][]): void => {
    for (const [at, value] of values) {
      const key = `${index}/${at}`;
      expect(cluster.seen.get(key) ?? value, `record ${key} as node ${id} shows it`).toBe(value);
      cluster.seen.set(key, value);
    }
  };
  if (outcome.kind === 'batches') see(valuesOf(outcome));
  if (outcome.kind === 'pending') {
    part.reads.set(outcome.ticket, (done) => {
      if (done.kind === 'batches') see(valuesOf(done));
    });
  }
  node.settle();
}

/** Carries out one effect of a node's disk. */
export function diskOne(cluster: Cluster, id: number): boolean {
  const node = nodeOf(cluster, id);
  if (!node.isAlive) return false;
  const input = carryOut(node.disk, cluster.dice);
  if (input === null) return false;
  takeDisk(node, input);
  return true;
}

/** Something that is under way goes on: a message, an effect, the metadata. False when all is at rest. */
export function stepOne(cluster: Cluster): boolean {
  const { dice, nodes } = cluster;
  const first = Math.floor(dice() * 4);
  for (let i = 0; i < 4; i++) {
    const kind = (first + i) % 4;
    if (kind === 0 && deliverOne(cluster.network, dice)) return true;
    const from = Math.floor(dice() * nodes.length);
    for (let j = 0; j < nodes.length; j++) {
      const id = ((from + j) % nodes.length) + 1;
      if (kind === 1 && diskOne(cluster, id)) return true;
      if (kind === 2 && hearView(cluster, id)) return true;
      if (kind === 3 && nodeOf(cluster, id).isAlive && lowerOne(nodeOf(cluster, id))) return true;
    }
  }
  return false;
}

/** Time moves on to the next moment at which something happens by itself, at most `ms`. */
export function passTime(cluster: Cluster, ms: number): void {
  let untilMs = cluster.nowMs + ms;
  const alive = cluster.nodes.filter(({ isAlive }) => isAlive);
  for (const node of alive) untilMs = Math.min(untilMs, Math.max(cluster.nowMs, nodeDeadlineMs(node)));
  for (const { untilMs: callMs } of cluster.outstanding.values()) untilMs = Math.min(untilMs, callMs);
  cluster.nowMs = Math.max(untilMs, cluster.nowMs + 1);
  for (const [key, { node, call, untilMs: callMs }] of [...cluster.outstanding]) {
    if (callMs > cluster.nowMs || !cluster.outstanding.has(key)) continue;
    cluster.outstanding.delete(key);
    takeCallAnswer(node, call, { failure: 'timedOut' });
    cutOff(cluster, node.id, call.nodeId);
  }
  for (const node of alive) if (node.isAlive) wakeNode(node);
}

/** All records of a node's log, by offset; the disk carries out what that takes. */
export function recordsOf(
  cluster: Cluster,
  id: number,
  index: number,
): { bytes: Uint8Array; values: [number, string][] } {
  const node = nodeOf(cluster, id);
  const { log, reads } = node.parts[index] as TestNode['parts'][number];
  const parts: Uint8Array[] = [];
  const values: [number, string][] = [];
  for (let at = log.start; at < log.end; ) {
    let outcome = readLog(log, node.env, { offset: at, upTo: log.end, sizeBytesMax: 100_000, minOne: true }, node.out);
    if (outcome.kind === 'pending') {
      let isDone = false;
      reads.set(outcome.ticket, (done) => {
        outcome = done;
        isDone = true;
      });
      node.settle();
      while (!isDone && diskOne(cluster, id));
    }
    if (outcome.kind !== 'batches' || outcome.parts.length === 0) throw new Error(`nothing at ${at} of node ${id}`);
    parts.push(...outcome.parts);
    const some = valuesOf({ ...outcome, parts: [concat(outcome.parts)] });
    values.push(...some);
    at = (some[some.length - 1]?.[0] ?? at) + 1;
  }
  return { bytes: concat(parts), values };
}

/** What holds at every moment. */
export function check(cluster: Cluster): void {
  for (const node of cluster.nodes) {
    if (!node.isAlive) continue;
    for (const part of node.parts) {
      if (!part.isOpen) continue;
      const watermark = watermarkOf(part);
      expect(watermark, `watermark of node ${node.id}`).toBeGreaterThanOrEqual(part.seenWatermark);
      part.seenWatermark = watermark;
      checkCommitted(cluster, node, part.index);
    }
  }
}

/** What the leader of today counts as committed is synced on every replica that the controller may elect. */
function checkCommitted(cluster: Cluster, node: TestNode, index: number): void {
  const state = truth(cluster).parts[index] as PartState;
  const { leader } = node.parts[index] as TestNode['parts'][number];
  if (state.leader !== node.id || leader.epoch !== state.leaderEpoch) return;
  for (const id of state.isr) {
    const other = nodeOf(cluster, id);
    const log = other.parts[index]?.log;
    if (log?.state !== 'open' || !other.isAlive) continue;
    expect(log.durable, `node ${id} in sync with ${node.id}`).toBeGreaterThanOrEqual(leader.highWatermark);
  }
}

/** Where everybody stands, for people. */
export function describeCluster(cluster: Cluster): string {
  const lines = [JSON.stringify({ parts: truth(cluster).parts, brokers: [...truth(cluster).brokers] })];
  for (const node of cluster.nodes) {
    const heard = `${cluster.heard.get(node.id)}/${cluster.views.length - 1}`;
    lines.push(`node ${node.id} alive=${node.isAlive} heard=${heard} queue=${node.disk.queue.length}`);
    for (const { log, leader, followed, isOpen } of node.parts) {
      const { start: from, end, durable, state } = log;
      const inSync =
        leader.inSync === null ? null : { ...leader.inSync, followers: [...leader.inSync.followers.values()] };
      const follows = followed === null ? null : { ...followed, log: undefined };
      const about = { isOpen, state, from, end, durable, epochs: log.epochs, truncation: log.truncation };
      lines.push(JSON.stringify({ ...about, epoch: leader.epoch, hw: leader.highWatermark, inSync, follows }));
    }
    for (const fetcher of node.fetchers.values()) {
      const { leaderId, calls, sessionId, sessionEpoch, readyCount, retryAtMs } = fetcher;
      const about = { leaderId, calls, sessionId, sessionEpoch, readyCount, retryAtMs, now: cluster.nowMs };
      lines.push(JSON.stringify({ ...about, changed: fetcher.changed.size, gone: [...fetcher.gone.keys()] }));
    }
  }
  lines.push([...cluster.outstanding.keys()].join('; '));
  return lines.join('\n');
}
