/**
 * A process that consumes in a group, through the consumer that serves real programs too: it polls, commits in its way,
 * gives partitions up when it is told to, and writes what it saw into the history of its group. Or it has chosen its
 * partitions itself, and the group only keeps its offsets.
 *
 * Now and then it stalls: it lives on and is not polled for longer than it may. Or its process stands still, heartbeats
 * and all, and goes on: as a zombie, if that was for longer than its session, which commits first. Or it leaves, by
 * unsubscribing or closing, and comes back, perhaps with the other protocol. A crash forgets the consumer; its next
 * life is another member, or the same again if it is a static one.
 *
 * Asked to stop it does none of that any more, and goes on as a member; or it is one of those that go then, for good,
 * or have gone before without a word.
 * A listener may take its time: what it was told is called off a little later, or, of some, so late that the member has
 * been given up meanwhile.
 */
import {
  checkConsumer,
  closeConsumer,
  consumerDeadlineMs,
  pollConsumer,
  stepConsumer,
} from '../../core/client/consumer.ts';
import { askCommittedOffsets, commitOffsets } from '../../core/client/consumer-offsets.ts';
import type { ConsumerEvent, ConsumerInput } from '../../core/client/consumer-options.ts';
import { ackRebalance } from '../../core/client/consumer-rebalance.ts';
import { assignPartitions, subscribe, unsubscribe } from '../../core/client/consumer-topics.ts';
import { whoIs } from '../../core/client/member.ts';
import { createIds } from '../../core/lib/ids.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode, errorName } from '../../core/protocol/errors.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { addDelivery } from '../../core/verify/group-history.ts';
import { complain } from '../../core/verify/history.ts';
import { asAnyMachine } from '../actor.ts';
import {
  CLOSE_MS,
  type Consuming,
  type ConsumingOptions,
  createConsuming,
  frozenMs,
  renew,
  sessionMsOf,
  ZOMBIE_MS_MAX,
} from './consuming-state.ts';
import {
  beginMember,
  endMember,
  indexOf,
  noteAssigned,
  noteCalls,
  noteFound,
  noteGivenUp,
  noteOutcome,
} from './group-notes.ts';
import { createJitter, jitter } from './jitter.ts';
import { planRest, rest } from './resting.ts';

/** What a listener takes at most when all is to settle. */
const LISTENER_MS_MAX = 60;
/** One in so many times a listener takes long, from half of its time on. */
const SLOW_LISTENER = 3;
const LOOKUP_EVERY_MS = 900;
const CLOSING_LOOK_MS = 20;
/** Whoever goes for good goes so late at most, beside the time that others take to come back. */
const PASSING_MS_MAX = 4_000;
/** Of two processes of one instance the one that was refused stays away for so long at most. */
const TWIN_AWAY_MS_MAX = 6_000;

const NEVER = Number.POSITIVE_INFINITY;

function step(state: Consuming, env: Env, input: Input, out: Outbox): void {
  if (state.isGone && input.kind !== 'start') return;
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.ids = createIds();
      state.isGone = false;
      renew(state, input.seed);
      begin(state, env);
      state.nextPollMs = env.nowMs;
      state.nextLookupMs = env.nowMs + jitter(state.dice, LOOKUP_EVERY_MS);
      planTrouble(state, env);
      planRest(state, env);
      feed(state, env, { kind: 'wake' }, out);
      return;
    case 'stop':
      state.isStopped = true;
      if (state.options.isVanishing) {
        vanish(state);
        return;
      }
      state.nextTroubleMs = NEVER;
      state.resting.atMs = NEVER;
      state.nextPollMs = Math.min(state.nextPollMs, env.nowMs + state.options.pollEveryMs);
      if (state.owed !== null) state.owed.atMs = Math.min(state.owed.atMs, env.nowMs + LISTENER_MS_MAX);
      if (state.backAtMs !== NEVER) state.backAtMs = Math.min(state.backAtMs, env.nowMs);
      if (state.options.isPassing) state.passAtMs = env.nowMs + CLOSE_MS + jitter(state.dice, PASSING_MS_MAX);
      else if (state.protocol !== state.options.lastProtocol) turn(state, env);
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
      if (!state.isGone) feed(state, env, input, out);
      return;
    default:
  }
}

/** It takes what it is there for: as a member, or by its own choice. */
function begin(state: Consuming, env: Env): void {
  const { consumer, notes, options } = state;
  const { to } = options;
  if (!('assigned' in to)) {
    subscribe(consumer, env, to);
    return;
  }
  const partitions = to.assigned.flatMap(({ topic, partitions: numbers }) => {
    return numbers.map((partition) => ({ topic, partition }));
  });
  assignPartitions(consumer, env, partitions);
  noteAssigned(notes, consumer, -1, to.assigned);
}

/** Its group is to end in the other protocol: it leaves, and comes back with that. */
function turn(state: Consuming, env: Env): void {
  closeConsumer(state.consumer, env, CLOSE_MS);
  state.isBack = 'anew';
  state.backAtMs = env.nowMs + CLOSE_MS;
}

/** It goes for good, and leaves what it has to the others; its place, where that has two processes, to the other. */
function pass(state: Consuming, env: Env): void {
  state.passAtMs = NEVER;
  state.backAtMs = NEVER;
  state.nextPollMs = NEVER;
  state.nextLookupMs = NEVER;
  closeConsumer(state.consumer, env, CLOSE_MS);
}

/** Its process stands still for good, and nobody is told. */
function vanish(state: Consuming): void {
  state.isGone = true;
  state.options.observer.reached('sim.consumer.vanished');
  endMember(state.notes);
}

/** It goes on. Its owner may come for records, and commit, before it hears of anything that has happened meanwhile. */
function thaw(state: Consuming, env: Env, out: Outbox): void {
  state.frozenUntilMs = 0;
  const comesForMore = jitter(state.dice, 2) === 0;
  if (state.isZombie) {
    state.isZombie = false;
    if (comesForMore) poll(state, env);
    const ticket = commitOffsets(state.consumer, env, null, true);
    const isMember = !('assigned' in state.options.to) && state.notes.holdings.size > 0;
    if (ticket > 0 && isMember) state.options.observer.reached('sim.consumer.zombie');
  } else if (comesForMore) {
    act(state, env);
    commitOffsets(state.consumer, env, null, true);
  }
  for (const waiting of state.inbox.splice(0)) feed(state, env, waiting, out);
}

/** All that it does of its own accord. */
function act(state: Consuming, env: Env): void {
  const { consumer, owed } = state;
  if (env.nowMs >= state.passAtMs) pass(state, env);
  if (env.nowMs >= state.backAtMs) comeBack(state, env);
  rest(state, env);
  if (env.nowMs >= state.nextTroubleMs) cause(state, env);
  if (state.isGone) return;
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
  if (options.isVanishing && jitter(dice, 3) === 0) {
    vanish(state);
    return;
  }
  switch (jitter(dice, 6)) {
    case 0:
      reached('sim.consumer.stalled');
      state.nextPollMs = env.nowMs + jitter(dice, 2 * (consumer.options.maxPollIntervalMs ?? 0));
      break;
    case 1:
      reached('sim.consumer.frozen');
      state.frozenUntilMs = env.nowMs + frozenMs(state);
      break;
    case 2:
      state.isZombie = true;
      state.frozenUntilMs = env.nowMs + sessionMsOf(state) + jitter(dice, ZOMBIE_MS_MAX);
      break;
    case 3:
      reached('sim.consumer.unsubscribed');
      if ('assigned' in options.to) noteGivenUp(state.notes, options.to.assigned);
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
    renew(state, (jitter(dice, 0x7fffffff) + 1) >>> 0);
    state.owed = null;
    state.lookups.clear();
  }
  begin(state, env);
  state.nextPollMs = env.nowMs;
}

function poll(state: Consuming, env: Env): void {
  const { consumer, options, dice } = state;
  const { observer, group } = options;
  state.nextPollMs = env.nowMs + 1 + jitter(dice, 2 * options.pollEveryMs);
  if (consumer.life !== 'open') return;
  // Whoever is in a listener, as a thread would be, does not poll.
  if (state.owed !== null) return;
  const batches = pollConsumer(consumer, env, options.pollBytes);
  if (batches.length > 0) judgeMembership(state);
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

/** Who knows that it is no member any more, and has nothing else to tell its owner first, hands out nothing. */
function judgeMembership({ consumer, options }: Consuming): void {
  const { grouped, rebalance } = consumer;
  if (grouped === null || rebalance !== null || 'assigned' in options.to || whoIs(grouped.member) !== null) return;
  const { group, observer } = options;
  const what = `handed records at ${observer.time.nowUs} us, and knew that it is none`;
  const sentence = `a member of ${group.groupId} was ${what}`;
  complain(observer.history, { checker: 'group-late-delivery', promise: 5, partition: -1, sentence });
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
  const { notes, options, consumer } = state;
  switch (event.kind) {
    case 'assigned':
      noteAssigned(notes, consumer, event.generation, event.partitions);
      state.owed = { rebalance: event.rebalance, atMs: env.nowMs + listenerMs(state), ticket: 0 };
      break;
    case 'revoked':
    case 'lost': {
      noteGivenUp(notes, event.partitions, event.kind === 'revoked' && options.consumer.autoCommit === true);
      const isCommitted = event.kind === 'revoked' && options.commits === 'sync';
      const ticket = isCommitted ? commitOffsets(consumer, env, null, true) : 0;
      state.owed = { rebalance: event.rebalance, atMs: env.nowMs + listenerMs(state), ticket };
      break;
    }
    case 'committed':
      noteOutcome(notes, consumer, event);
      if (state.owed !== null && state.owed.ticket === event.ticket) state.owed.ticket = 0;
      break;
    case 'offsets': {
      const askedUs = state.lookups.get(event.ticket);
      state.lookups.delete(event.ticket);
      if (askedUs !== undefined) noteFound(notes, askedUs, event);
      break;
    }
    case 'error':
      if (event.isFatal) takeFatal(state, env, event);
      break;
    default:
  }
}

/** What its listener takes this time. */
function listenerMs({ dice, options, isStopped }: Consuming): number {
  const isSlow = jitter(dice, SLOW_LISTENER) === 0 && !isStopped;
  const halfMs = Math.floor(options.listenerMsMax / 2);
  const ms = isSlow ? halfMs + jitter(dice, halfMs + 1) : jitter(dice, LISTENER_MS_MAX);
  if (ms >= (options.consumer.maxPollIntervalMs ?? NEVER)) options.observer.reached('sim.consumer.slow_listener');
  return ms;
}

/**
 * A program would end, and be started again. That is no fault where, in the consumer protocol, the coordinator still
 * waits for an earlier life of a static member until its session is over, or where another process of its instance has
 * its place. In the classic protocol the newest life takes the place of all that were before it: of an instance with
 * one process none is ever refused.
 */
function takeFatal(
  state: Consuming,
  env: Env,
  { error, message, at }: Extract<ConsumerEvent, { kind: 'error' }>,
): void {
  const { observer, group, consumer, hasTwin, isPassing } = state.options;
  observer.reached(`sim.consumer.fatal_${errorName(error)}`);
  const { history } = observer;
  const lives = group.lives.get(consumer.instanceId ?? '') ?? 0;
  const isWaitedFor = state.protocol === 'consumer' && error === ErrorCode.UNRELEASED_INSTANCE_ID && lives > 1;
  const isReplaced = hasTwin && error === ErrorCode.FENCED_INSTANCE_ID;
  const where = at === null ? '' : ` of ${at.topic}-${at.partition}`;
  const sentence = `a member of ${group.groupId} was told ${error}${where} for good: ${message}`;
  if (!isWaitedFor && !isReplaced) {
    complain(history, { checker: 'consumer-failed', promise: 5, partition: -1, sentence });
  }
  if (state.backAtMs !== NEVER || (state.isStopped && isPassing && state.passAtMs === NEVER)) return;
  closeConsumer(state.consumer, env, CLOSE_MS);
  state.isBack = 'anew';
  const awayMs = !hasTwin || state.isStopped ? 0 : jitter(state.dice, TWIN_AWAY_MS_MAX);
  state.backAtMs = env.nowMs + CLOSE_MS + awayMs;
}

function deadlineMs(state: Consuming): number {
  if (state.isGone) return NEVER;
  const { owed } = state;
  const ownMs = Math.min(
    state.nextPollMs,
    state.nextTroubleMs,
    state.nextLookupMs,
    state.backAtMs,
    state.passAtMs,
    state.resting.atMs,
    owed !== null && owed.ticket === 0 ? owed.atMs : NEVER,
    consumerDeadlineMs(state.consumer),
  );
  return state.isStopped ? ownMs : Math.max(ownMs, state.frozenUntilMs);
}

/** A life of the process is over. */
export function forgetMember(state: unknown): void {
  endMember((state as Consuming).notes);
}

/** The machine of a consuming process. */
export const CONSUMING = asAnyMachine<Consuming, ConsumingOptions>({
  create: createConsuming,
  step,
  deadlineMs,
  check: ({ consumer }) => checkConsumer(consumer),
});
