/**
 * A process that asks for one thing until it is told that it is done: for the topic that is always there, in a cluster
 * whose nodes are just coming up, or for the election of a leader. A crash forgets that it has; the next life asks
 * again.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
import type { AdminRequest } from '../../core/client/admin-calls.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { asAnyMachine } from '../actor.ts';
import { type AskingOptions, newAdmin, stepAsking } from './asking.ts';

/** What is asked for. */
export interface PreparingOptions {
  readonly request: AdminRequest;
  /** The error that says that it was done before. */
  readonly doneError: number;
  readonly admin: AskingOptions;
}

/** Its state. */
interface Preparing {
  readonly options: PreparingOptions;
  admin: Admin;
  /** When it asks next; Infinity while it waits for an answer, and when it is done. */
  askAtMs: number;
  isDone: boolean;
}

/** Between a refusal and the next question. */
const REST_MS = 100;

function create(options: PreparingOptions): Preparing {
  const admin = newAdmin(options.admin, 1);
  return { options, admin, askAtMs: Number.POSITIVE_INFINITY, isDone: false };
}

function step(state: Preparing, env: Env, input: Input, out: Outbox): void {
  if (input.kind === 'start') {
    state.admin = newAdmin(state.options.admin, input.seed);
    state.askAtMs = env.nowMs;
  }
  const settled = ({ error }: AdminEvent): void => {
    if (error === ErrorCode.NONE || error === state.options.doneError) state.isDone = true;
    else state.askAtMs = env.nowMs + REST_MS;
  };
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs < state.askAtMs) return;
    state.askAtMs = Number.POSITIVE_INFINITY;
    askAdmin(state.admin, env, state.options.request);
  });
}

/** Whether it is known to be done. */
export function isPrepared(state: unknown): boolean {
  return (state as Preparing).isDone;
}

/** The machine of a preparing process. */
export const PREPARING = asAnyMachine<Preparing, PreparingOptions>({
  create,
  step,
  deadlineMs: ({ admin, askAtMs }) => Math.min(askAtMs, adminDeadlineMs(admin)),
  check: ({ admin }) => checkAdmin(admin),
});
