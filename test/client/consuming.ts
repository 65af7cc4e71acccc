/**
 * A consumer inside a toy cluster with an application on top: it polls, takes its time with what it is handed, calls
 * rebalances done, and writes down what it was given, what it owned and when.
 */
import { expect } from 'vitest';
import type { TopicPartitions } from '../../core/assignors/client-shapes.ts';
import {
  checkConsumer,
  consumerDeadlineMs,
  hasRecords,
  pollConsumer,
  stepConsumer,
} from '../../core/client/consumer.ts';
import type { ConsumerEvent, ConsumerOptions } from '../../core/client/consumer-options.ts';
import { ackRebalance } from '../../core/client/consumer-rebalance.ts';
import { type Consumer, createConsumer } from '../../core/client/consumer-state.ts';
import { isSettled } from '../../core/client/member.ts';
import { createIds, type Ids } from '../../core/lib/ids.ts';
import type { Env } from '../../core/lib/world.ts';
import { encodeBatch, readRecords } from '../../core/protocol/records.ts';
import { at, env, later, PORT, type Toy } from './toy-cluster.ts';
import { append, codecs, endOf, type ToyPartition } from './toy-log.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export interface Consuming {
  readonly name: string;
  readonly consumer: Consumer;
  readonly events: ConsumerEvent[];
  /** `topic-partition offset value`, in the order of being handed out. */
  readonly records: { readonly where: string; readonly offset: number; readonly value: string }[];
  /** How many of them the application has done with: it came back for more. */
  done: number;
  /** The next offset of each partition that is owned, once something of it was handed out. */
  readonly next: Map<string, number>;
  readonly owned: Set<string>;
  generation: number;
  /** How the application behaves: whether it polls at all, how long it works on what it got, and on a rebalance. */
  polls: boolean;
  workMs: number;
  ackMs: number;
  isWorking: boolean;
  readonly machine: number;
  hasPolled: boolean;
}

/** Who owns what, over all consumers of a test; null where a test has zombies and looks for itself. */
export interface Board {
  readonly owners: Map<string, Consuming>;
  /** Shared, because the toy knows connections by their numbers alone. */
  readonly ids: Ids;
  readonly isStrict: boolean;
}

export function newBoard(isStrict = true): Board {
  return { owners: new Map(), ids: createIds(), isStrict };
}

function keysOf(partitions: readonly TopicPartitions[]): string[] {
  return partitions.flatMap((one) => one.partitions.map((partition) => `${one.topic}-${partition}`));
}

let uuids = 0;

/** A consumer of group g, at once under way; it subscribes to nothing yet. */
export function startConsuming(
  toy: Toy,
  board: Board,
  options: Partial<ConsumerOptions> = {},
  name = `c${++uuids}`,
): Consuming {
  const memberId = `AAAAAAAAAAAAAAAAAA${String(uuids % 100).padStart(2, '0')}AA`;
  const consumer = createConsumer({
    clientId: name,
    ids: board.ids,
    bootstrap: [...toy.up].map((n) => ({ host: 'toy', port: PORT + n })),
    seed: uuids,
    groupId: 'g',
    memberId,
    reset: 'earliest',
    sessionTimeoutMs: 6000,
    heartbeatIntervalMs: 500,
    maxPollIntervalMs: 8000,
    autoCommitIntervalMs: 500,
    maxWaitMs: 200,
    requestTimeoutMs: 1500,
    apiTimeoutMs: 5000,
    metadataMaxAgeMs: 2000,
    ...options,
  });
  const app = { polls: true, workMs: 0, ackMs: 0, isWorking: false, hasPolled: false };
  const consuming: Consuming = {
    name,
    consumer,
    events: [],
    records: [],
    done: 0,
    next: new Map(),
    owned: new Set(),
    generation: -1,
    machine: toy.machines.length,
    ...app,
  };
  let seen = 0;
  toy.machines.push({
    step: (e, input, out) => {
      if (!('connection' in input) && input.kind !== 'wake') return;
      stepConsumer(consumer, e, input as never, out, consuming.events);
      for (; seen < consuming.events.length; seen++)
        take(toy, board, consuming, consuming.events[seen] as ConsumerEvent);
      work(toy, consuming, e);
    },
    deadlineMs: () => consumerDeadlineMs(consumer),
    check: () => checkConsumer(consumer),
  });
  return consuming;
}

function take(toy: Toy, board: Board, consuming: Consuming, event: ConsumerEvent): void {
  if (event.kind !== 'assigned' && event.kind !== 'revoked' && event.kind !== 'lost') return;
  for (const key of keysOf(event.partitions)) {
    consuming.next.delete(key);
    if (event.kind === 'assigned') {
      const other = board.owners.get(key);
      if (board.isStrict) expect(other?.name, `${key} goes to ${consuming.name}`).toBeUndefined();
      if (other !== undefined) expect(event.generation, `${key} has two owners`).not.toBe(other.generation);
      board.owners.set(key, consuming);
      consuming.owned.add(key);
    } else {
      expect(consuming.owned.delete(key), `${consuming.name} gives up ${key}, which it has`).toBe(true);
      // What is being given up may not be another's before that is done.
      if (event.kind === 'lost' && board.owners.get(key) === consuming) board.owners.delete(key);
    }
  }
  if (event.kind === 'assigned') consuming.generation = event.generation;
  const { rebalance } = event;
  const given = event.kind === 'revoked' ? keysOf(event.partitions) : [];
  at(toy, toy.nowMs + consuming.ackMs, () => {
    for (const key of given) if (board.owners.get(key) === consuming) board.owners.delete(key);
    ackRebalance(consuming.consumer, env(toy), rebalance);
  });
}

/** The application: comes for records when there may be some, or when it has done with what it has. */
function work(toy: Toy, consuming: Consuming, e: Env): void {
  const { consumer } = consuming;
  if (!consuming.polls || consuming.isWorking) return;
  if (consuming.hasPolled && !consumer.isBusy && !hasRecords(consumer)) return;
  consuming.hasPolled = true;
  consuming.done = consuming.records.length;
  for (const batch of pollConsumer(consumer, e, 1_000_000, true)) {
    const where = `${batch.topic}-${batch.partition}`;
    expect(consuming.owned.has(where) || consumer.subscription.kind === 'assigned', `${where} is ours`).toBe(true);
    for (const { offset, value } of readRecords(batch.bytes, codecs)) {
      if (offset < batch.fromOffset) continue;
      expect(offset, `${where} comes in order`).toBe(consuming.next.get(where) ?? offset);
      consuming.next.set(where, offset + 1);
      consuming.records.push({ where, offset, value: value === null ? '' : decoder.decode(value) });
    }
  }
  if (!consumer.isBusy || consuming.workMs === 0) return;
  consuming.isWorking = true;
  at(toy, toy.nowMs + consuming.workMs, () => {
    consuming.isWorking = false;
    work(toy, consuming, env(toy));
  });
}

/** The process dies: nothing of it is heard any more. */
export function crash(toy: Toy, board: Board, consuming: Consuming): void {
  for (const [key, owner] of board.owners) if (owner === consuming) board.owners.delete(key);
  consuming.owned.clear();
  consuming.records.length = consuming.done;
  consuming.polls = false;
  const { cluster, grouped } = consuming.consumer;
  for (const connection of toy.connections.values()) {
    const isOurs = cluster.channel.connections.has(connection.id) && connection.machine === consuming.machine;
    const isItsCoordinators = grouped?.coordinator.channel.connections.has(connection.id) === true;
    if (connection.machine === consuming.machine && (isOurs || isItsCoordinators)) connection.isOpen = false;
  }
  consuming.consumer.life = 'closed';
}

/** Does something with a consumer now, as its application would. */
export function act(toy: Toy, consuming: Consuming, what: (consumer: Consumer, e: Env) => void): void {
  what(consuming.consumer, env(toy));
  later(toy, 0, { kind: 'do', act: () => {} });
}

/** Whether all these members own what they should, between them everything. */
export function areSettled(consumings: readonly Consuming[], partitions: number): boolean {
  let owned = 0;
  for (const { consumer, owned: mine } of consumings) {
    owned += mine.size;
    if (consumer.grouped === null || !isSettled(consumer.grouped.member) || consumer.rebalance !== null) return false;
  }
  return owned === partitions;
}

/** Appends one batch of values. */
export function put(partition: ToyPartition, values: readonly string[]): void {
  const records = values.map((value) => ({ timestampMs: 1, key: null, value: encoder.encode(value) }));
  expect(append(partition, encodeBatch(records)).errorCode).toBe(0);
}

/** Values that say where they lie. */
export function fill(partition: ToyPartition, count: number): void {
  const first = endOf(partition);
  put(
    partition,
    Array.from({ length: count }, (_, index) => `v${first + index}`),
  );
}
