/**
 * A process that has a group forgotten, as operators do: at drawn moments it asks that all of the group goes, or one
 * offset of it. It knows nothing of the group: while members are there that must be refused, and leave everything as it
 * is; else it must be done, once and for good. As often it asks what the group is, or which there are; told that nobody
 * is in it, it soon has it deleted. A crash forgets what was open, which may have been done.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
import type { GroupRequest } from '../../core/client/group-calls.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode, errorName } from '../../core/protocol/errors.ts';
import type { GroupHistory, OffsetCommit } from '../../core/verify/group-history.ts';
import { asAnyMachine } from '../actor.ts';
import { type AskingOptions, newAdmin, stepAsking } from './asking.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** How such a process behaves. */
export interface ClearingOptions {
  readonly observer: Observer;
  readonly group: GroupHistory;
  readonly admin: AskingOptions;
  /** All of the constant topic: in the history their indexes are their numbers. */
  readonly partitions: readonly number[];
  /** Between two attempts, on average. */
  readonly everyMs: number;
}

/** What it has asked for and not heard of. */
interface Open {
  readonly ticket: number;
  attempts: number;
  /** When the last of them was sent. */
  lastSentUs: number;
  /** What the history says of it; empty of a question. */
  readonly deletions: readonly OffsetCommit[];
}

/** Its state. */
interface Clearing {
  readonly options: ClearingOptions;
  admin: Admin;
  dice: Jitter;
  /** Infinity once it was asked to stop. */
  nextMs: number;
  /** The group was empty when it was described last. */
  isEmpty: boolean;
  open: Open | null;
}

const NEVER = Number.POSITIVE_INFINITY;
/** Of so many requests half are questions, and one is about the whole group. */
const REQUESTS = 6;
/** Who has found a group empty has it deleted within this. */
const SOON_MS = 100;

function create(options: ClearingOptions): Clearing {
  return {
    options,
    admin: newAdmin(options.admin, 1),
    dice: createJitter(1),
    nextMs: NEVER,
    isEmpty: false,
    open: null,
  };
}

function step(state: Clearing, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.admin = newAdmin(state.options.admin, input.seed);
      state.open = null;
      state.isEmpty = false;
      state.nextMs = env.nowMs + jitter(state.dice, 2 * state.options.everyMs);
      break;
    case 'stop':
      state.nextMs = NEVER;
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, env, event);
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs >= state.nextMs) act(state, env);
  });
  noteAttempts(state);
}

function act(state: Clearing, env: Env): void {
  const { options, dice, admin } = state;
  const { observer, partitions, everyMs } = options;
  state.nextMs = env.nowMs + 1 + jitter(dice, 2 * everyMs);
  if (state.open !== null) return;
  const request = drawRequest(state);
  const { nowUs: lastSentUs } = observer.time;
  const ticket = askAdmin(admin, env, request);
  const deletions =
    request.kind === 'deleteGroup'
      ? noteDeletions(state, partitions, true)
      : request.kind === 'deleteOffset'
        ? noteDeletions(state, [request.partition], false)
        : [];
  state.open = { ticket, attempts: 0, lastSentUs, deletions };
}

function drawRequest(state: Clearing): GroupRequest {
  const { options, dice, isEmpty } = state;
  const { observer, group, partitions } = options;
  const { groupId, kind } = group;
  const die = jitter(dice, REQUESTS);
  state.isEmpty = false;
  if (die === 0 || isEmpty) return { kind: 'deleteGroup', groupId };
  if (die < REQUESTS / 2) {
    const partition = partitions[jitter(dice, partitions.length)] ?? 0;
    return { kind: 'deleteOffset', groupId, topic: observer.history.partitions[partition]?.topic ?? '', partition };
  }
  if (jitter(dice, 3) === 0) return { kind: 'listGroups' };
  const isConsumer = kind === 'consumer' || (kind === 'both' && jitter(dice, 2) === 0);
  return { kind: isConsumer ? 'describeConsumerGroup' : 'describeGroup', groupId };
}

/** Into the history, as commits. */
function noteDeletions(
  { options }: Clearing,
  partitions: readonly number[],
  isOfGroup: boolean,
): readonly OffsetCommit[] {
  const { observer, group } = options;
  group.members += 1;
  const { members: member } = group;
  const { nowUs: sentUs } = observer.time;
  const deletions = partitions.map((partition): OffsetCommit => {
    const common = { generation: -1, sentUs, lastSentUs: sentUs, doneUs: NEVER, ...(isOfGroup ? { isOfGroup } : {}) };
    return { member, partition, offset: -1, ...common, isRepeated: false, outcome: 'unknown' };
  });
  group.commits.push(...deletions);
  return deletions;
}

/** When the attempt that is out was sent. */
function noteAttempts({ open, admin, options }: Clearing): void {
  const attempts = admin.tasks.get(open?.ticket ?? 0)?.attempts ?? 0;
  if (open === null || attempts <= open.attempts) return;
  open.attempts = attempts;
  open.lastSentUs = options.observer.time.nowUs;
  for (const deletion of open.deletions) deletion.lastSentUs = open.lastSentUs;
}

function settle(state: Clearing, env: Env, event: AdminEvent): void {
  const { open, options } = state;
  const { ticket, request, error, unsureAttempts, lostAttempts } = event;
  const { observer, group } = options;
  if (open?.ticket !== ticket) throw new Error('a ticket was answered that was not given');
  state.open = null;
  observer.reached(`sim.group.${request.kind}_${error === ErrorCode.NONE ? group.kind : errorName(error)}`);
  noteReadings(state, event, open.lastSentUs);
  if (error === ErrorCode.NONE && event.result.group?.clientIds.length === 0 && group.kind !== 'simple') {
    state.isEmpty = true;
    if (state.nextMs !== NEVER) state.nextMs = env.nowMs + jitter(state.dice, SOON_MS);
  }
  for (const deletion of open.deletions) {
    deletion.doneUs = observer.time.nowUs;
    deletion.isRepeated = lostAttempts > 0;
    if (lostAttempts === 0) deletion.isOver = true;
    if (error === ErrorCode.NONE) deletion.outcome = 'acknowledged';
  }
  if (error === ErrorCode.NONE || unsureAttempts > 0) return;
  // It was refused each time: nothing has come of it, nor will.
  const [first] = open.deletions;
  if (first !== undefined) group.commits.splice(group.commits.indexOf(first), open.deletions.length);
}

/** What an answer says of groups, into their histories. */
function noteReadings({ options }: Clearing, { request, error, result }: AdminEvent, askedUs: number): void {
  const { observer, group } = options;
  const { history, time } = observer;
  const common = { askedUs, doneUs: time.nowUs, epoch: -1, members: -1 };
  const isMissing = error === ErrorCode.GROUP_ID_NOT_FOUND;
  switch (request.kind) {
    case 'describeGroup':
    case 'describeConsumerGroup': {
      if (error !== ErrorCode.NONE && !isMissing) return;
      // One that goes from one protocol to the other may be there in either; one that nobody has joined is classic.
      if (isMissing && group.kind === 'both') return;
      const { epoch = -1, clientIds = [] } = result.group ?? {};
      const told = isMissing ? {} : { epoch, members: clientIds.length };
      const countsOffsets = request.kind === 'describeGroup';
      group.readings.push({ ...common, ...told, isThere: !isMissing, countsOffsets });
      break;
    }
    case 'listGroups':
      if (error !== ErrorCode.NONE) return;
      for (const one of history.groups) {
        const isThere = result.groupIds?.includes(one.groupId) === true;
        // Of several brokers each lists its own.
        if (isThere || !history.isOfSeveral) one.readings.push({ ...common, isThere, countsOffsets: true });
      }
      break;
    default: {
      const hasMembers = error === ErrorCode.NON_EMPTY_GROUP || error === ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC;
      // How many there are is not told.
      const members = hasMembers && group.kind === 'simple' ? 1 : -1;
      if (isMissing || hasMembers) {
        group.readings.push({ ...common, members, isThere: hasMembers, countsOffsets: true });
      }
    }
  }
}

/** Whether a process that was asked to stop has heard of all that it asked. */
export function isClearingDone(state: unknown): boolean {
  const { nextMs, open } = state as Clearing;
  return nextMs === NEVER && open === null;
}

/** The machine of a process that has a group forgotten. */
export const CLEARING = asAnyMachine<Clearing, ClearingOptions>({
  create,
  step,
  deadlineMs: ({ nextMs, admin }) => Math.min(nextMs, adminDeadlineMs(admin)),
  check: ({ admin }) => checkAdmin(admin),
});
