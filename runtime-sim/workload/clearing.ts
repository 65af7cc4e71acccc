/**
 * A process that has a group forgotten, as operators do: at drawn moments it asks that all of the group goes, or one
 * offset of it. It knows nothing of the group: while members are there that must be refused, and leave everything as it
 * is; else it must be done, once and for good. A crash forgets what was open, which may have been done.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
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

/** Its state. */
interface Clearing {
  readonly options: ClearingOptions;
  admin: Admin;
  dice: Jitter;
  /** Infinity once it was asked to stop. */
  nextMs: number;
  /** What it has asked for and not heard of: its ticket, its attempts so far, and what the history says of it. */
  open: { readonly ticket: number; attempts: number; readonly deletions: readonly OffsetCommit[] } | null;
}

const NEVER = Number.POSITIVE_INFINITY;
/** One in so many requests is about the whole group. */
const WHOLE = 3;

function create(options: ClearingOptions): Clearing {
  return { options, admin: newAdmin(options.admin, 1), dice: createJitter(1), nextMs: NEVER, open: null };
}

function step(state: Clearing, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.admin = newAdmin(state.options.admin, input.seed);
      state.open = null;
      state.nextMs = env.nowMs + jitter(state.dice, 2 * state.options.everyMs);
      break;
    case 'stop':
      state.nextMs = NEVER;
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, event);
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs >= state.nextMs) act(state, env);
  });
  noteAttempts(state);
}

function act(state: Clearing, env: Env): void {
  const { options, dice, admin } = state;
  const { observer, group, partitions, everyMs } = options;
  state.nextMs = env.nowMs + 1 + jitter(dice, 2 * everyMs);
  if (state.open !== null) return;
  const { groupId } = group;
  const isWhole = jitter(dice, WHOLE) === 0;
  const chosen = isWhole ? partitions : [jitter(dice, partitions.length)];
  const [first = 0] = chosen;
  const topic = observer.history.partitions[first]?.topic ?? '';
  const ticket = isWhole
    ? askAdmin(admin, env, { kind: 'deleteGroup', groupId })
    : askAdmin(admin, env, { kind: 'deleteOffset', groupId, topic, partition: first });
  group.members += 1;
  const { members: member } = group;
  const { nowUs: sentUs } = observer.time;
  const deletions = chosen.map((partition): OffsetCommit => {
    const common = { generation: -1, sentUs, lastSentUs: sentUs, doneUs: NEVER };
    return { member, partition, offset: -1, ...common, isRepeated: false, outcome: 'unknown' };
  });
  group.commits.push(...deletions);
  state.open = { ticket, attempts: 0, deletions };
}

/** When the attempt that is out was sent. */
function noteAttempts({ open, admin, options }: Clearing): void {
  const attempts = admin.tasks.get(open?.ticket ?? 0)?.attempts ?? 0;
  if (open === null || attempts <= open.attempts) return;
  open.attempts = attempts;
  for (const deletion of open.deletions) deletion.lastSentUs = options.observer.time.nowUs;
}

function settle(state: Clearing, { ticket, request, error, unsureAttempts }: AdminEvent): void {
  const { open, options } = state;
  const { observer, group } = options;
  if (open?.ticket !== ticket) throw new Error('a ticket was answered that was not given');
  state.open = null;
  observer.reached(`sim.group.${request.kind}_${error === ErrorCode.NONE ? group.kind : errorName(error)}`);
  for (const deletion of open.deletions) {
    deletion.doneUs = observer.time.nowUs;
    deletion.isRepeated = unsureAttempts > 0;
    if (error === ErrorCode.NONE) deletion.outcome = 'acknowledged';
  }
  if (error === ErrorCode.NONE || unsureAttempts > 0) return;
  // It was refused each time: nothing has come of it, nor will.
  const [first] = open.deletions;
  if (first !== undefined) group.commits.splice(group.commits.indexOf(first), open.deletions.length);
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
