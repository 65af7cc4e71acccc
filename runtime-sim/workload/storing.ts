/**
 * A process that stores offsets for a group without being a member of it, as operators' tools and simple consumers do:
 * at drawn moments it asks for another place to go on from, mostly a little before the furthest that was handed out,
 * sometimes anywhere. It stores nothing beyond that, so that whatever is committed was handed to somebody. Or it asks
 * what is stored, which a coordinator must know that may have been replaced by another; some do nothing else.
 *
 * It speaks through the consumer that serves real programs too, which subscribes to nothing. A tool is run anew for
 * each of this, so that it asks for the coordinator each time, whichever node it reaches; others go on with the one
 * that they know. A crash forgets it; what was open may have been stored.
 */
import { checkConsumer, closeConsumer, consumerDeadlineMs, stepConsumer } from '../../core/client/consumer.ts';
import { askCommittedOffsets, commitOffsets } from '../../core/client/consumer-offsets.ts';
import type { ConsumerEvent, ConsumerInput, ConsumerOptions } from '../../core/client/consumer-options.ts';
import { type Consumer, createConsumer } from '../../core/client/consumer-state.ts';
import type { OffsetMark } from '../../core/client/offsets.ts';
import { createIds, type Ids } from '../../core/lib/ids.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { type GroupHistory, nextToHand } from '../../core/verify/group-history.ts';
import { asAnyMachine } from '../actor.ts';
import { beginMember, endMember, type MemberNotes, noteCalls, noteFound, noteOutcome } from './group-notes.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** How such a process behaves. */
export interface StoringOptions {
  readonly observer: Observer;
  readonly group: GroupHistory;
  readonly consumer: Omit<ConsumerOptions, 'ids' | 'seed' | 'memberId'>;
  /** All of the constant topic: in the history their indexes are their numbers. */
  readonly partitions: readonly number[];
  /** Between two attempts, on average. */
  readonly everyMs: number;
  /** Each attempt is another process. */
  readonly isTool: boolean;
  /** It only asks, as those do who watch how far a group has come. */
  readonly isWatcher: boolean;
}

/** Its state. */
interface Storing {
  readonly options: StoringOptions;
  /** Of one life of whoever runs it. */
  ids: Ids;
  consumer: Consumer;
  dice: Jitter;
  notes: MemberNotes;
  /** Infinity once it was asked to stop. */
  nextMs: number;
  /** What it has asked for and not heard of, by ticket: when, and whether that sets anything back. */
  readonly open: Map<number, { readonly askedUs: number; readonly isBack: boolean }>;
}

/** It goes back so far, mostly. */
const BACK_MAX = 20;
const NEVER = Number.POSITIVE_INFINITY;

function newConsumer({ consumer }: StoringOptions, ids: Ids, seed: number): Consumer {
  return createConsumer({ ...consumer, ids, seed, memberId: ZERO_UUID });
}

function create(options: StoringOptions): Storing {
  const ids = createIds();
  return {
    options,
    ids,
    consumer: newConsumer(options, ids, 1),
    dice: createJitter(1),
    notes: beginMember(options.observer, options.group, null),
    nextMs: NEVER,
    open: new Map(),
  };
}

function step(state: Storing, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.ids = createIds();
      state.consumer = newConsumer(state.options, state.ids, input.seed);
      state.nextMs = env.nowMs + jitter(state.dice, 2 * state.options.everyMs);
      feed(state, env, { kind: 'wake' }, out);
      return;
    case 'stop':
      state.nextMs = NEVER;
      return;
    case 'wake':
    case 'connected':
    case 'connectFailed':
    case 'frame':
    case 'sent':
    case 'closed':
      if (env.nowMs >= state.nextMs) act(state, env, out);
      feed(state, env, input, out);
      return;
    default:
  }
}

function act(state: Storing, env: Env, out: Outbox): void {
  const { options, dice, open } = state;
  const { observer, partitions, everyMs, isTool, isWatcher } = options;
  state.nextMs = env.nowMs + 1 + jitter(dice, 2 * everyMs);
  if (open.size > 0) return;
  if (isTool) runAnew(state, env, out);
  const { consumer } = state;
  if (!isWatcher && jitter(dice, 2) === 0) {
    store(state, env);
    return;
  }
  const [first] = observer.history.partitions;
  const asked = [{ topic: first?.topic ?? '', partitions: [...partitions] }];
  open.set(askCommittedOffsets(consumer, env, asked), { askedUs: observer.time.nowUs, isBack: false });
}

/** The process before has ended, and with it its connections. */
function runAnew(state: Storing, env: Env, out: Outbox): void {
  closeConsumer(state.consumer, env, 0);
  feed(state, env, { kind: 'wake' }, out);
  endMember(state.notes);
  state.notes = beginMember(state.options.observer, state.options.group, null);
  state.consumer = newConsumer(state.options, state.ids, (jitter(state.dice, 0x7fffffff) + 1) >>> 0);
}

function store(state: Storing, env: Env): void {
  const { options, dice, consumer, open } = state;
  const { observer, group, partitions } = options;
  const marks: OffsetMark[] = [];
  let isBack = false;
  for (const index of partitions) {
    const named = observer.history.partitions[index];
    const next = nextToHand(group, index);
    if (named === undefined || next === 0 || jitter(dice, 2) === 0) continue;
    const offset = jitter(dice, 4) === 0 ? jitter(dice, next + 1) : Math.max(0, next - jitter(dice, BACK_MAX));
    isBack ||= offset < next;
    const { topic, partition } = named;
    marks.push({ topic, partition, offset, leaderEpoch: -1, metadata: '', error: 0 });
  }
  if (marks.length === 0) return;
  const isPatient = jitter(dice, 2) === 0;
  open.set(commitOffsets(consumer, env, marks, isPatient), { askedUs: observer.time.nowUs, isBack });
}

function feed(state: Storing, env: Env, input: ConsumerInput, out: Outbox): void {
  const events: ConsumerEvent[] = [];
  stepConsumer(state.consumer, env, input, out, events);
  noteCalls(state.notes, state.consumer);
  for (const event of events) if (event.kind === 'committed' || event.kind === 'offsets') take(state, event);
}

function take(state: Storing, event: Extract<ConsumerEvent, { kind: 'committed' | 'offsets' }>): void {
  const { notes, consumer, open } = state;
  const asked = open.get(event.ticket);
  open.delete(event.ticket);
  if (event.kind === 'committed') noteOutcome(notes, consumer, event);
  if (asked === undefined || event.error !== 0) return;
  if (event.kind === 'offsets') {
    noteFound(notes, asked.askedUs, event);
    return;
  }
  const { observer, group } = state.options;
  observer.reached(`sim.offsets.stored_${group.kind}`);
  if (asked.isBack) observer.reached('sim.offsets.set_back');
}

/** A life of the process is over. */
export function forgetStoring(state: unknown): void {
  endMember((state as Storing).notes);
}

/** Whether a process that was asked to stop has heard of all that it asked. */
export function isStoringDone(state: unknown): boolean {
  const { nextMs, open } = state as Storing;
  return nextMs === NEVER && open.size === 0;
}

/** The machine of a process that stores offsets. */
export const STORING = asAnyMachine<Storing, StoringOptions>({
  create,
  step,
  deadlineMs: ({ nextMs, consumer }) => Math.min(nextMs, consumerDeadlineMs(consumer)),
  check: ({ consumer }) => checkConsumer(consumer),
});
