/**
 * Promises over the consumer machine: poll for records, commit, and hear of partitions that come and go.
 *
 * One caller at a time polls; while it waits for records the time between polls (`max.poll.interval.ms`) does not run.
 * Listeners are called as soon as the consumer is between two polls, not only from within one, and the rebalance goes
 * on when their promise is settled; one that throws is no reason to keep what was to be given up. Records of aborted
 * transactions are not told apart yet: read committed waits for transactions to exist.
 */
import { randomBytes } from 'node:crypto';
import { type Gathered, gather, inOrder, type TopicPartitions } from '../../core/assignors/client-shapes.ts';
import {
  closeConsumer,
  consumerDeadlineMs,
  hasRecords,
  pollConsumer,
  stepConsumer,
} from '../../core/client/consumer.ts';
import {
  askCommittedOffsets,
  commitOffsets,
  consumerLag,
  positionOf,
  seek,
  setPaused,
} from '../../core/client/consumer-offsets.ts';
import type { ConsumerEvent, ConsumerOptions, PartitionOf } from '../../core/client/consumer-options.ts';
import { ackRebalance } from '../../core/client/consumer-rebalance.ts';
import { type Consumer, createConsumer } from '../../core/client/consumer-state.ts';
import { assignPartitions, subscribe, unsubscribe } from '../../core/client/consumer-topics.ts';
import type { FetchedBatch } from '../../core/client/fetcher.ts';
import type { OffsetMark } from '../../core/client/offsets.ts';
import { allTracks } from '../../core/client/tracks.ts';
import { createIds } from '../../core/lib/ids.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import type { Env } from '../../core/lib/world.ts';
import { ErrorCode, errorName } from '../../core/protocol/errors.ts';
import { type LogRecord, readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../codecs.ts';
import { parseBootstrap } from './addresses.ts';
import { type Loop, startLoop } from './loop.ts';

/** Hears of partitions that come and go; what it returns is awaited. */
export interface RebalanceListener {
  readonly onPartitionsAssigned?: (partitions: readonly TopicPartitions[]) => void | Promise<void>;
  /** Commits are still good until it has returned. */
  readonly onPartitionsRevoked?: (partitions: readonly TopicPartitions[]) => void | Promise<void>;
  /** Others may own these already. */
  readonly onPartitionsLost?: (partitions: readonly TopicPartitions[]) => void | Promise<void>;
}

/** Settings of a consumer client; what is left out has the default of Kafka's consumer. */
export type ConsumerClientOptions = Partial<Omit<ConsumerOptions, 'ids' | 'bootstrap' | 'memberId'>> & {
  /** `host:port[,host:port]…` */
  readonly bootstrap: string;
  readonly groupId: string | null;
  readonly listener?: RebalanceListener;
  /** Of what one poll hands out, about; default 1 MiB. */
  readonly pollBytesMax?: number;
};

/** A record and where it lies. */
export interface ConsumedRecord extends LogRecord {
  readonly topic: string;
  readonly partition: number;
}

/** An offset to be committed: the next one to be read. */
export interface OffsetToCommit extends PartitionOf {
  readonly offset: number;
  /** Of the record before it; -1, the default, where it is not known. */
  readonly leaderEpoch?: number;
  readonly metadata?: string;
}

/** The consumer cannot do what it was asked, or cannot go on. */
export class ConsumeError extends Error {
  /** A Kafka error code. */
  readonly code: number;
  /** Null where it is about the membership, or about all. */
  readonly at: PartitionOf | null;

  constructor(code: number, message: string, at: PartitionOf | null) {
    super(`${errorName(code)}: ${message}${at === null ? '' : ` (${at.topic}-${at.partition})`}`);
    this.name = 'ConsumeError';
    this.code = code;
    this.at = at;
  }
}

/** A consumer with promises. */
export interface ConsumerClient {
  /** Subscribes to topics, or to all that a pattern means, in the place of what was subscribed to before. */
  subscribe(to: { readonly topics: readonly string[] } | { readonly pattern: string }): void;
  /** Reads these partitions without the group's help. */
  assign(partitions: readonly PartitionOf[]): void;
  unsubscribe(): void;
  /** What it owns now. */
  assignment(): readonly PartitionOf[];
  /** Records, as soon as there are some; none after `timeoutMs`. Rejects with a ConsumeError when it cannot go on. */
  poll(timeoutMs: number): Promise<ConsumedRecord[]>;
  /** Stores offsets, all positions if none are given, and tries again for a while: commitSync. */
  commit(offsets?: readonly OffsetToCommit[]): Promise<void>;
  /** The same without trying again: commitAsync. */
  commitOnce(offsets?: readonly OffsetToCommit[]): Promise<void>;
  /** The stored offsets; -1 for none. */
  committed(partitions: readonly PartitionOf[]): Promise<readonly OffsetMark[]>;
  /** The next offset that a poll hands out; -1 where it is not known. */
  position(at: PartitionOf): number;
  /** Records before the end; -1 where it is not known. */
  lag(at: PartitionOf): number;
  /** False where the partition is not ours. */
  seek(at: PartitionOf, to: number | 'earliest' | 'latest'): boolean;
  pause(at: PartitionOf): boolean;
  resume(at: PartitionOf): boolean;
  /** Commits if it does that by itself, gives up its partitions, leaves the group and closes its connections. */
  close(timeoutMs?: number): Promise<void>;
}

const POLL_BYTES_MAX = 1024 * 1024;
const CLOSE_TIMEOUT_MS = 30_000;

interface Asked {
  readonly resolve: (marks: readonly OffsetMark[]) => void;
  readonly reject: (error: ConsumeError) => void;
}

interface State {
  readonly consumer: Consumer;
  readonly options: ConsumerClientOptions;
  readonly events: ConsumerEvent[];
  /** By ticket. */
  readonly asked: Map<number, Asked>;
  /** Errors that polls have yet to throw. */
  readonly errors: ConsumeError[];
  /** Called when a poll may have something to do. */
  notify: (() => void) | null;
  onClosed: (() => void) | null;
  /** Of the first call of close; null before that. */
  closing: Promise<void> | null;
  loop: Loop | null;
}

/** A consumer over real sockets. It connects at once, and joins its group when it subscribes. */
export function createConsumerClient(options: ConsumerClientOptions): ConsumerClient {
  const { bootstrap, listener: _listener, pollBytesMax: _pollBytesMax, ...rest } = options;
  const consumer = createConsumer({
    clientId: 'tidemark-consumer',
    seed: Math.floor(Math.random() * 2 ** 32),
    ...rest,
    memberId: uuidFromBytes(randomBytes(16), 0),
    ids: createIds(),
    bootstrap: parseBootstrap(bootstrap),
  });
  const state: State = {
    consumer,
    options,
    events: [],
    asked: new Map(),
    errors: [],
    notify: null,
    onClosed: null,
    closing: null,
    loop: null,
  };
  const loop = startLoop({
    step: (env, input, out) => stepConsumer(consumer, env, input, out, state.events),
    deadlineMs: () => consumerDeadlineMs(consumer),
    afterwards: () => takeEvents(state),
  });
  state.loop = loop;
  return clientOf(state, loop);
}

function clientOf(state: State, loop: Loop): ConsumerClient {
  const { consumer } = state;
  return {
    subscribe: (to) =>
      loop.act((env) => {
        if (!subscribe(consumer, env, to)) throw new TypeError('the pattern is no regular expression');
      }),
    assign: (partitions) => loop.act((env) => assignPartitions(consumer, env, partitions)),
    unsubscribe: () => loop.act((env) => unsubscribe(consumer, env)),
    assignment: () => assignmentOf(consumer),
    poll: (timeoutMs) => poll(state, loop, timeoutMs),
    commit: (offsets) => commit(state, loop, offsets, true),
    commitOnce: (offsets) => commit(state, loop, offsets, false),
    committed: (partitions) => {
      const wanted: Gathered = new Map();
      for (const { topic, partition } of partitions) gather(wanted, topic, partition);
      return ask(state, loop, (env) => askCommittedOffsets(consumer, env, inOrder(wanted)));
    },
    position: (at) => positionOf(consumer, at),
    lag: (at) => consumerLag(consumer, at),
    seek: (at, to) => doing(loop, () => seek(consumer, at, to)),
    pause: (at) => doing(loop, () => setPaused(consumer, at, true)),
    resume: (at) => doing(loop, () => setPaused(consumer, at, false)),
    close: (timeoutMs = CLOSE_TIMEOUT_MS) => {
      state.closing ??= close(state, loop, timeoutMs);
      return state.closing;
    },
  };
}

function doing(loop: Loop, work: () => boolean): boolean {
  let isDone = false;
  loop.act(() => {
    isDone = work();
  });
  return isDone;
}

function assignmentOf({ fetcher }: Consumer): PartitionOf[] {
  const owned = [...allTracks(fetcher.tracks)].filter(({ isHeld }) => !isHeld);
  return owned.map(({ topic, partition }) => ({ topic, partition }));
}

function takeEvents(state: State): void {
  for (const event of state.events.splice(0)) {
    switch (event.kind) {
      case 'assigned':
      case 'revoked':
      case 'lost':
        void rebalanced(state, event);
        break;
      case 'committed':
      case 'offsets':
        settle(state, event);
        break;
      case 'error':
        if (event.isFatal) state.errors.push(new ConsumeError(event.error, event.message, event.at));
        break;
      case 'closed':
        state.onClosed?.();
        break;
      case 'left':
        break;
    }
  }
  if (state.notify === null) return;
  if (hasRecords(state.consumer) || state.errors.length > 0 || state.consumer.life === 'closed') wakePoll(state);
}

function wakePoll(state: State): void {
  const { notify } = state;
  state.notify = null;
  notify?.();
}

async function rebalanced(
  state: State,
  event: Extract<ConsumerEvent, { readonly kind: 'assigned' | 'revoked' | 'lost' }>,
): Promise<void> {
  const { listener = {} } = state.options;
  try {
    if (event.kind === 'assigned') await listener.onPartitionsAssigned?.(event.partitions);
    else if (event.kind === 'revoked') await listener.onPartitionsRevoked?.(event.partitions);
    else await listener.onPartitionsLost?.(event.partitions);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    state.errors.push(new ConsumeError(-1, `a listener failed: ${message}`, null));
  }
  state.loop?.act((env) => ackRebalance(state.consumer, env, event.rebalance));
}

function settle(state: State, event: Extract<ConsumerEvent, { readonly kind: 'committed' | 'offsets' }>): void {
  const asked = state.asked.get(event.ticket);
  state.asked.delete(event.ticket);
  if (event.error === 0) asked?.resolve(event.marks);
  else asked?.reject(new ConsumeError(event.error, 'offsets could not be stored or read', null));
}

async function poll(state: State, loop: Loop, timeoutMs: number): Promise<ConsumedRecord[]> {
  const { consumer, options } = state;
  const { pollBytesMax = POLL_BYTES_MAX } = options;
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const error = state.errors.shift();
    if (error !== undefined) {
      // The caller has come, and waits no more.
      loop.act((env) => void pollConsumer(consumer, env, 0));
      throw error;
    }
    const leftMs = untilMs - performance.now();
    let batches: FetchedBatch[] = [];
    loop.act((env) => {
      batches = pollConsumer(consumer, env, pollBytesMax, leftMs > 0);
    });
    const records = recordsOf(batches);
    if (records.length > 0 || leftMs <= 0 || consumer.life !== 'open') return records;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => wakePoll(state), Math.ceil(leftMs));
      state.notify = () => {
        clearTimeout(timer);
        resolve();
      };
      if (hasRecords(consumer) || state.errors.length > 0) wakePoll(state);
    });
  }
}

function recordsOf(batches: readonly FetchedBatch[]): ConsumedRecord[] {
  const codecs = realCodecs();
  const records: ConsumedRecord[] = [];
  for (const { topic, partition, bytes, fromOffset } of batches) {
    for (const record of readRecords(bytes, codecs)) {
      if (record.offset >= fromOffset) records.push({ topic, partition, ...record });
    }
  }
  return records;
}

async function commit(
  state: State,
  loop: Loop,
  offsets: readonly OffsetToCommit[] | undefined,
  isPatient: boolean,
): Promise<void> {
  const marks = offsets?.map((one) => ({ leaderEpoch: -1, metadata: '', ...one, error: 0 })) ?? null;
  await ask(state, loop, (env) => commitOffsets(state.consumer, env, marks, isPatient));
}

/** Asks for something whose outcome comes with a ticket. A consumer that is closed has none to give. */
function ask(state: State, loop: Loop, question: (env: Env) => number): Promise<readonly OffsetMark[]> {
  return new Promise((resolve, reject) => {
    if (state.consumer.life === 'closed') {
      reject(new ConsumeError(ErrorCode.NETWORK_EXCEPTION, 'the consumer is closed', null));
      return;
    }
    loop.act((env) => {
      state.asked.set(question(env), { resolve, reject });
    });
  });
}

async function close(state: State, loop: Loop, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    state.onClosed = resolve;
    loop.act((env) => closeConsumer(state.consumer, env, timeoutMs));
  });
  wakePoll(state);
  await loop.close();
}
