/**
 * A process that changes who votes in the quorum: at drawn moments it asks who votes, and while all nodes do, takes one
 * of them out, whichever, the leader too; else it adds one that follows, unless that has asked for it itself by then.
 * Sometimes it names a directory that nobody has. What it is told when others change the same, or nobody leads, is no
 * matter.
 *
 * Asked to stop, it adds those that are out, and looks until all nodes vote. A crash forgets what was open.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
import type { AdminRequest } from '../../core/client/admin-calls.ts';
import type { QuorumMember } from '../../core/client/voter-calls.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { asAnyMachine } from '../actor.ts';
import { type AskingOptions, newAdmin, stepAsking } from './asking.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** How such a process behaves. */
export interface VotingOptions {
  readonly observer: Observer;
  readonly admin: AskingOptions;
  /** Where the controllers of the nodes listen, by node. */
  readonly listeners: ReadonlyMap<number, { readonly name: string; readonly host: string; readonly port: number }>;
  /** Between two changes, on average. */
  readonly everyMs: number;
}

/** Its state. */
interface Voting {
  readonly options: VotingOptions;
  admin: Admin;
  dice: Jitter;
  stage: 'working' | 'restoring' | 'done';
  nextMs: number;
  /** The question or the change that is not answered; -1 for none. One at a time. */
  open: number;
}

/** Between two looks at the end. */
const REST_MS = 200;
const NO_DIRECTORY = 'dGhlcmUtaXMtbm9uZS1ubw';

function create(options: VotingOptions): Voting {
  const admin = newAdmin(options.admin, 1);
  return { options, admin, dice: createJitter(1), stage: 'working', nextMs: Number.POSITIVE_INFINITY, open: -1 };
}

function step(state: Voting, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.admin = newAdmin(state.options.admin, input.seed);
      state.nextMs = env.nowMs + jitter(state.dice, state.options.everyMs);
      break;
    case 'stop':
      if (state.stage === 'working') state.stage = 'restoring';
      state.nextMs = Math.min(state.nextMs, env.nowMs);
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, env, event);
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs < state.nextMs) return;
    state.nextMs = Number.POSITIVE_INFINITY;
    if (state.open < 0 && state.stage !== 'done') ask(state, env, { kind: 'describeQuorum' });
  });
}

function ask(state: Voting, env: Env, request: AdminRequest): void {
  state.open = askAdmin(state.admin, env, request);
  state.options.observer.openAdministrations += 1;
}

function settle(state: Voting, env: Env, event: AdminEvent): void {
  const { observer, everyMs } = state.options;
  if (event.ticket !== state.open) throw new Error('a ticket was answered that is not open');
  state.open = -1;
  observer.openAdministrations -= 1;
  const { voters, observers } = event.result;
  const isTold = event.error === ErrorCode.NONE && voters !== undefined && voters.length > 0;
  if (isTold && change(state, env, voters, observers ?? [])) return;
  state.nextMs = env.nowMs + (state.stage === 'working' ? 1 + jitter(state.dice, 2 * everyMs) : REST_MS);
}

/** It is known who votes: asks for a change, if there is one to ask for. */
function change(state: Voting, env: Env, voters: readonly QuorumMember[], observers: readonly QuorumMember[]): boolean {
  const { dice, options } = state;
  const isWhole = voters.length === options.listeners.size;
  if (isWhole && state.stage !== 'working') {
    state.stage = 'done';
    return false;
  }
  if (isWhole) {
    const voter = voters[jitter(dice, voters.length)] as QuorumMember;
    const isMistaken = jitter(dice, 100) < 5;
    ask(state, env, { kind: 'removeVoter', voter: isMistaken ? { ...voter, directoryId: NO_DIRECTORY } : voter });
    return true;
  }
  const outside = observers.filter(({ id }) => !voters.some((voter) => voter.id === id));
  const voter = outside[jitter(dice, Math.max(1, outside.length))];
  const listener = options.listeners.get(voter?.id ?? -1);
  if (voter === undefined || listener === undefined) return false;
  ask(state, env, { kind: 'addVoter', voter, listener });
  return true;
}

/** Whether all nodes vote, after the process was asked to stop. */
export function isVotingDone(state: unknown): boolean {
  return (state as Voting).stage === 'done';
}

/** A life of the process is over: nobody will hear what became of its request. */
export function forgetVotes(observer: Observer, state: unknown): void {
  if ((state as Voting).open >= 0) observer.openAdministrations -= 1;
}

/** The machine of such a process. */
export const VOTING = asAnyMachine<Voting, VotingOptions>({
  create,
  step,
  deadlineMs: (state) => Math.min(state.nextMs, adminDeadlineMs(state.admin)),
  check: (state) => checkAdmin(state.admin),
});
