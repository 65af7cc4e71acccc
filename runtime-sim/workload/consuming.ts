/**
 * A process that consumes in a group, through the consumer that serves real programs too: it polls, commits in its way,
 * gives partitions up when it is told to, and writes what it saw into the history of its group.
 *
 * Now and then it stalls: it lives on and is not polled for longer than it may. Or its process stands still, heartbeats
 * and all, and goes on as a zombie. Or it leaves, by unsubscribing or closing, and comes back. A crash
 * forgets the consumer; its next life is another member, or the same again if it is a static one.
 *
 * Asked to stop it does none of that any more, and goes on as a member. A listener may take its time: what it was told
 * is called off a little later.
 */
import {
  checkConsumer,
  closeConsumer,
  consumerDeadlineMs,
  pollConsumer,
  stepConsumer,
} from '../../core/client/consumer.ts';
import { askCommittedOffsets, commitOffsets } from '../../core/client/consumer-offsets.ts';
import type { ConsumerEvent, ConsumerInput, ConsumerOptions } from '../../core/client/consumer-options.ts';
import { ackRebalance } from '../../core/client/consumer-rebalance.ts';
import { type Consumer, createConsumer } from '../../core/client/consumer-state.ts';
import { subscribe, unsubscribe } from '../../core/client/consumer-topics.ts';
import { isSettled, whoIs } from '../../core/client/member.ts';
import { createIds, type Ids } from '../../core/lib/ids.ts';
import { uuidFromBytes } from '../../core/lib/uuid.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { addDelivery, type GroupHistory } from '../../core/verify/group-history.ts';
import { complain } from '../../core/verify/history.ts';
import { asAnyMachine } from '../actor.ts';
import {
  beginMember,
  endMember,
  indexOf,
  type MemberNotes,
  noteAssigned,
  noteCalls,
  noteGivenUp,
  noteOutcome,
} from './group-notes.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** How a consuming process behaves. */
export interface ConsumingOptions {
  readonly observer: Observer;
  readonly group: GroupHistory;
  readonly consumer: Omit<ConsumerOptions, 'ids' | 'seed' | 'memberId'>;
  readonly to: { readonly topics: readonly string[] } | { readonly pattern: string };
  /** How it commits, beside what the consumer does by itself. */
  readonly commits: 'sync' | 'async' | 'none';
  /** Between two polls, on average. */
  readonly pollEveryMs: number;
  /** Between two of its own troubles, on average; Infinity for none. */
  readonly troubleEveryMs: number;
  /** How long a process stands still at most: beyond its session. */
  readonly frozenMsMax: number;
}

/** What a listener was told and has not called off. */
interface Owed {
  readonly rebalance: number;
  readonly atMs: number;
  /** It commits first, and waits for that; 0 for no more. */
  ticket: number;
}

/** Its state. */
export interface Consuming {
  readonly options: ConsumingOptions;
  /** Of one life of the process. */
  ids: Ids;
  consumer: Consumer;
  dice: Jitter;
  notes: MemberNotes;
  nextPollMs: number;
  nextTroubleMs: number;
  nextLookupMs: number;
  /** When it comes back, having left; Infinity while it has not. */
  backAtMs: number;
  isBack: 'subscribe' | 'anew';
  /** Until then its process stands still, and what it hears waits. */
  frozenUntilMs: number;
  readonly inbox: ConsumerInput[];
  owed: Owed | null;
  /** Questions for committed offsets, with when they were asked. */
  readonly lookups: Map<number, number>;
  isStopped: boolean;
}

const POLL_BYTES = 20_000;
const LISTENER_MS_MAX = 60;
const LOOKUP_EVERY_MS = 900;
const CLOSE_MS = 2_000;
const CLOSING_LOOK_MS = 20;

const NEVER = Number.POSITIVE_INFINITY;

function newConsumer({ consumer }: ConsumingOptions, ids: Ids, seed: number): Consumer {
  const dice = createJitter(seed);
  const bytes = Uint8Array.from({ length: 16 }, () => jitter(dice, 256));
  return createConsumer({ ...consumer, ids, seed, memberId: uuidFromBytes(bytes, 0) });
}

function create(options: ConsumingOptions): Consuming {
  const ids = createIds();
  return {
    options,
    ids,
    consumer: newConsumer(options, ids, 1),
    dice: createJitter(1),
    notes: beginMember(options.observer, options.group, options.consumer.instanceId ?? null),
    nextPollMs: NEVER,
    nextTroubleMs: NEVER,
    nextLookupMs: NEVER,
    backAtMs: NEVER,
    isBack: 'subscribe',
    frozenUntilMs: 0,
    inbox: [],
    owed: null,
    lookups: new Map(),
    isStopped: false,
  };
}

function step(state: Consuming, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.ids = createIds();
      state.consumer = newConsumer(state.options, state.ids, input.seed);
      subscribe(state.consumer, env, state.options.to);
      state.nextPollMs = env.nowMs;
      state.nextLookupMs = env.nowMs + jitter(state.dice, LOOKUP_EVERY_MS);
      planTrouble(state, env);
      feed(state, env, { kind: 'wake' }, out);
      return;
    case 'stop':
      state.isStopped = true;
      state.nextTroubleMs = NEVER;
      state.nextPollMs = Math.min(state.nextPollMs, env.nowMs + state.options.pollEveryMs);
      if (state.backAtMs !== NEVER) state.backAtMs = Math.min(state.backAtMs, env.nowMs);
      return;
    case 'wake':
    case 'connected':
    case 'connectFailed':
    case 'frame':
    case 'sent':
    case 'closed':
      if (env.nowMs < state.frozenUntilMs && !state.isStopped) {
        if (input.kind !== 'wake') state.inbox.push(input);
        return;
      }
      if (state.frozenUntilMs !== 0) thaw(state, env, out);
      if (input.kind === 'wake') act(state, env);
      feed(state, env, input, out);
      return;
    default:
  }
}

/** It goes on. Its owner may come for records, and commit, before it hears of anything that has happened meanwhile. */
function thaw(state: Consuming, env: Env, out: Outbox): void {
  state.frozenUntilMs = 0;
  if (jitter(state.dice, 2) === 0) act(state, env);
  for (const waiting of state.inbox.splice(0)) feed(state, env, waiting, out);
}

/** All that it does of its own accord. */
function act(state: Consuming, env: Env): void {
  const { consumer, owed } = state;
  if (env.nowMs >= state.backAtMs) comeBack(state, env);
  if (env.nowMs >= state.nextTroubleMs) cause(state, env);
  if (owed !== null && owed.ticket === 0 && env.nowMs >= owed.atMs) {
    state.owed = null;
    ackRebalance(consumer, env, owed.rebalance);
  }
  if (env.nowMs >= state.nextPollMs) poll(state, env);
  if (env.nowMs >= state.nextLookupMs) {
    state.nextLookupMs = env.nowMs + LOOKUP_EVERY_MS;
    lookUp(state, env);
  }
}

function planTrouble(state: Consuming, env: Env): void {
  const { troubleEveryMs } = state.options;
  state.nextTroubleMs = troubleEveryMs === NEVER ? NEVER : env.nowMs + 1 + jitter(state.dice, 2 * troubleEveryMs);
}

function cause(state: Consuming, env: Env): void {
  const { consumer, dice, options } = state;
  const { reached } = options.observer;
  planTrouble(state, env);
  if (state.backAtMs !== NEVER) return;
  switch (jitter(dice, 5)) {
    case 0:
      reached('sim.consumer.stalled');
      state.nextPollMs = env.nowMs + jitter(dice, 2 * (consumer.options.maxPollIntervalMs ?? 0));
      break;
    case 1:
      reached('sim.consumer.frozen');
      state.frozenUntilMs = env.nowMs + jitter(dice, options.frozenMsMax);
      break;
    case 2:
      reached('sim.consumer.unsubscribed');
      unsubscribe(consumer, env);
      state.isBack = 'subscribe';
      state.backAtMs = env.nowMs + jitter(dice, 3_000);
      break;
    default:
      reached('sim.consumer.closed');
      closeConsumer(consumer, env, CLOSE_MS);
      state.isBack = 'anew';
      state.backAtMs = env.nowMs + CLOSE_MS + jitter(dice, 3_000);
  }
}

function comeBack(state: Consuming, env: Env): void {
  const { options, dice } = state;
  if (state.isBack === 'anew' && state.consumer.life !== 'closed') {
    // It has not ended yet: it stood still meanwhile.
    state.backAtMs = env.nowMs + CLOSING_LOOK_MS;
    return;
  }
  state.backAtMs = NEVER;
  if (state.isBack === 'anew') {
    endMember(state.notes);
    state.notes = beginMember(options.observer, options.group, options.consumer.instanceId ?? null);
    state.consumer = newConsumer(options, state.ids, (jitter(dice, 0x7fffffff) + 1) >>> 0);
    state.owed = null;
    state.lookups.clear();
  }
  subscribe(state.consumer, env, options.to);
  state.nextPollMs = env.nowMs;
}

function poll(state: Consuming, env: Env): void {
  const { consumer, options, dice } = state;
  const { observer, group } = options;
  state.nextPollMs = env.nowMs + 1 + jitter(dice, 2 * options.pollEveryMs);
  if (consumer.life !== 'open') return;
  // Whoever is in a listener, as a thread would be, does not poll.
  if (state.owed !== null) return;
  const batches = pollConsumer(consumer, env, POLL_BYTES);
  for (const { topic, partition, bytes, fromOffset } of batches) {
    const index = indexOf(observer, topic, partition);
    const holding = state.notes.holdings.get(index) ?? -1;
    for (const { offset } of readRecords(bytes, env.codecs)) {
      if (offset < fromOffset) continue;
      addDelivery(group, { holding, partition: index, offset, atUs: observer.time.nowUs });
    }
  }
  if (options.commits !== 'none' && batches.length > 0) commitOffsets(consumer, env, null, options.commits === 'sync');
}

function lookUp(state: Consuming, env: Env): void {
  const { consumer, options } = state;
  if (consumer.life !== 'open' || state.lookups.size > 0) return;
  const { history, time } = options.observer;
  const topic = history.partitions[0]?.topic ?? '';
  const numbers = history.partitions.flatMap(({ topic: name, partition, isSlot, slot }) => {
    return isSlot === true || slot !== undefined || name !== topic ? [] : [partition];
  });
  state.lookups.set(askCommittedOffsets(consumer, env, [{ topic, partitions: numbers }]), time.nowUs);
}

function feed(state: Consuming, env: Env, input: ConsumerInput, out: Outbox): void {
  const events: ConsumerEvent[] = [];
  stepConsumer(state.consumer, env, input, out, events);
  noteCalls(state.notes, state.consumer);
  for (const event of events) take(state, env, event);
}

function take(state: Consuming, env: Env, event: ConsumerEvent): void {
  const { notes, options, consumer, dice } = state;
  const { observer, group } = options;
  switch (event.kind) {
    case 'assigned':
      noteAssigned(notes, consumer, event.generation, event.partitions);
      state.owed = { rebalance: event.rebalance, atMs: env.nowMs + jitter(dice, LISTENER_MS_MAX), ticket: 0 };
      break;
    case 'revoked':
    case 'lost': {
      noteGivenUp(notes, event.partitions);
      const isCommitted = event.kind === 'revoked' && options.commits === 'sync';
      const ticket = isCommitted ? commitOffsets(consumer, env, null, true) : 0;
      state.owed = { rebalance: event.rebalance, atMs: env.nowMs + jitter(dice, LISTENER_MS_MAX), ticket };
      break;
    }
    case 'committed':
      noteOutcome(notes, consumer, event);
      if (state.owed !== null && state.owed.ticket === event.ticket) state.owed.ticket = 0;
      break;
    case 'offsets': {
      const askedUs = state.lookups.get(event.ticket);
      state.lookups.delete(event.ticket);
      if (askedUs === undefined || event.error !== 0) break;
      for (const { topic, partition, offset, error } of event.marks) {
        if (error !== 0) continue;
        const at = { askedUs, doneUs: observer.time.nowUs };
        group.lookups.push({ partition: indexOf(observer, topic, partition), offset, ...at });
      }
      break;
    }
    case 'error':
      if (event.isFatal) takeFatal(state, env, event);
      break;
    default:
  }
}

/**
 * A program would end, and be started again. That is no fault where, in the consumer protocol, the coordinator still
 * waits for an earlier life of a static member until its session is over. In the classic protocol the newest life takes
 * the place of all that were before it, and each instance has one process here: none is ever refused.
 */
function takeFatal(
  state: Consuming,
  env: Env,
  { error, message, at }: Extract<ConsumerEvent, { kind: 'error' }>,
): void {
  const { observer, group, consumer } = state.options;
  observer.reached(`sim.consumer.fatal_${error}`);
  const { history } = observer;
  const lives = group.lives.get(consumer.instanceId ?? '') ?? 0;
  const isExpected = group.protocol === 'consumer' && error === ErrorCode.UNRELEASED_INSTANCE_ID && lives > 1;
  const where = at === null ? '' : ` of ${at.topic}-${at.partition}`;
  const sentence = `a member of ${group.groupId} was told ${error}${where} for good: ${message}`;
  if (!isExpected) complain(history, { checker: 'consumer-failed', promise: 5, partition: -1, sentence });
  if (state.backAtMs !== NEVER) return;
  closeConsumer(state.consumer, env, CLOSE_MS);
  state.isBack = 'anew';
  state.backAtMs = env.nowMs + CLOSE_MS;
}

function deadlineMs(state: Consuming): number {
  const { owed } = state;
  const ownMs = Math.min(
    state.nextPollMs,
    state.nextTroubleMs,
    state.nextLookupMs,
    state.backAtMs,
    owed !== null && owed.ticket === 0 ? owed.atMs : NEVER,
    consumerDeadlineMs(state.consumer),
  );
  return state.isStopped ? ownMs : Math.max(ownMs, state.frozenUntilMs);
}

/** A life of the process is over. */
export function forgetMember(state: unknown): void {
  endMember((state as Consuming).notes);
}

/** What it owns and under which generation, when it has settled; null while it has not. */
export function settledAs(
  state: unknown,
): { readonly generation: number; readonly partitions: readonly number[] } | null {
  const { consumer, owed, notes, backAtMs } = state as Consuming;
  const { grouped, rebalance, life } = consumer;
  if (grouped === null || life !== 'open' || owed !== null || rebalance !== null || backAtMs !== NEVER) return null;
  if (!isSettled(grouped.member)) return null;
  return { generation: whoIs(grouped.member)?.generation ?? -1, partitions: [...notes.holdings.keys()] };
}

/** Where a member stands, for people. */
export function standingOf(state: unknown): string {
  const { consumer, owed, notes, backAtMs } = state as Consuming;
  const { grouped, rebalance, life } = consumer;
  const member = grouped?.member;
  const phase =
    member === undefined ? '' : member.protocol === 'classic' ? member.classic.phase : member.consumer.phase;
  const generation = member === undefined ? -1 : (whoIs(member)?.generation ?? -1);
  const waits = rebalance === null ? '' : ` ${rebalance.kind} ${rebalance.stage}`;
  const what = `${life}${backAtMs === NEVER ? '' : ' away'}${waits}${owed === null ? '' : ' in a listener'}`;
  return `member ${notes.member} ${what} ${phase} in ${generation} with ${[...notes.holdings.keys()]}`;
}

/** The group of a consuming process. */
export function groupOfConsuming(options: unknown): GroupHistory {
  return (options as ConsumingOptions).group;
}

/** The machine of a consuming process. */
export const CONSUMING = asAnyMachine<Consuming, ConsumingOptions>({
  create,
  step,
  deadlineMs,
  check: ({ consumer }) => checkConsumer(consumer),
});
