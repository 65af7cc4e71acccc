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
import type { FetchRequest } from '../../core/protocol/messages/01-fetch.ts';
import type { ListOffsetsRequest } from '../../core/protocol/messages/02-list-offsets.ts';
import type { AlterPartitionRequest } from '../../core/protocol/messages/56-alter-partition.ts';
import { setController } from '../../core/replication/alter-partition.ts';
import type { Call, CallOutcome } from '../../core/replication/calls.ts';
import { appendToLeader, type ProduceAnswer } from '../../core/replication/leader.ts';
import { carryOut, crashProcess, losePower } from '../log/disk.ts';
import { batchOf, concat, createDice, FOUND, valuesOf } from '../log/world.ts';
import { lowerOne } from './checkpoints.ts';
import { alter, register } from './controller.ts';
import { breakConnection, createNetwork, deliverOne, generationOf, send } from './network.ts';
import {
  createNode,
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
import { type CallResponse, type Cluster, nodeOf } from './state.ts';

/** The controller's place in the network. */
export const CONTROLLER = 0;
const PARTS = 2;

/** A cluster of `size` nodes, all of them in sync, whose first node leads. */
export function createCluster(seed: number, size: number, inSyncMin: number): Cluster {
  const ids = Array.from({ length: size }, (_, i) => i + 1);
  const part: PartState = {
    leader: -1,
    leaderEpoch: 0,
    partitionEpoch: 0,
    replicas: ids,
    isr: ids,
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
    onCall: () => {},
    onAnswer: () => {},
  };
  for (const id of ids) start(cluster, id, null);
  return cluster;
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
  return `${node.id} ${call.ticket} ${lifeOf(node)}`;
}

const livesOf = new WeakMap<TestNode, number>();
let lives = 0;
function lifeOf(node: TestNode): number {
  const known = livesOf.get(node) ?? ++lives;
  livesOf.set(node, known);
  return known;
}

function post(cluster: Cluster, from: TestNode, call: Call): void {
  const { network } = cluster;
  const to = call.nodeId;
  const key = keyOf(from, call);
  cluster.outstanding.set(key, { node: from, call, untilMs: cluster.nowMs + call.timeoutMs });
  cluster.onCall(from.id, call);
  send(network, from.id, to, () => {
    const generation = generationOf(network, from.id, to);
    const reply = (response: CallResponse): void => {
      if (generationOf(network, from.id, to) !== generation) return;
      cluster.onAnswer(call, from.id, response);
      send(network, to, from.id, () => answer(cluster, key, { response }));
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

/** A node hears the next version of the metadata. False when it knows the latest. */
export function hearView(cluster: Cluster, id: number): boolean {
  const node = nodeOf(cluster, id);
  const heard = cluster.heard.get(id) ?? -1;
  if (!node.isAlive || !node.parts.every(({ isOpen }) => isOpen) || heard >= cluster.views.length - 1) return false;
  cluster.heard.set(id, heard + 1);
  takeView(node, cluster.views[heard + 1] as View);
  return true;
}

/** A producer sends a few records, drawn if they are not given, to a node that believes that it leads. */
export function produce(cluster: Cluster, id: number, index: number, acks = -1, given?: readonly string[]): string[] {
  const node = nodeOf(cluster, id);
  const part = node.parts[index];
  if (!node.isAlive || part === undefined || !part.isOpen) return [];
  const values = given === undefined ? drawValues(cluster) : [...given];
  const reply: ProduceAnswer = {
    errorCode: 0,
    errorMessage: null,
    recordErrors: [],
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

function drawValues(cluster: Cluster): string[] {
  const count = 1 + Math.floor(cluster.dice() * 3);
  return Array.from({ length: count }, () => `${cluster.sent++}${'.'.repeat(Math.floor(cluster.dice() * 60))}`);
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
