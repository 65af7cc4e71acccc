/**
 * A process that changes who votes in the quorum: at drawn moments it asks who votes, and while all nodes do, takes one
 * of them out, whichever, the leader too; else it adds one that follows, unless that has asked for it itself by then,
 * or takes out one more, as long as three are left. Of several such processes only one takes voters out. Sometimes it
 * names a directory that nobody has.
 *
 * What it is told when others change the same, or nobody leads, is no matter: it goes by what it knew before, or lets
 * it be, or insists. Who insists asks for the same again within milliseconds until it is done, refused for good, or has
 * taken too long: a leader that has just come is asked before it has committed anything.
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
  /** It takes voters out; else it only adds some. */
  readonly mayRemove: boolean;
}

/** Who votes, and who only follows. */
interface Members {
  readonly voters: readonly QuorumMember[];
  readonly observers: readonly QuorumMember[];
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
  /** What it was told last; null before. */
  known: Members | null;
  /** The change that it insists on, and until when, on the monotonic clock; null for none. */
  wanted: { readonly request: AdminRequest; readonly untilMs: number } | null;
}

/** Between two looks at the end. */
const REST_MS = 200;
/** It never leaves fewer. */
const VOTERS_MIN = 3;
/** For how long it insists: in half of the changes not at all. */
const INSISTS_MS: readonly number[] = [0, 0, 1_000, 3_000];
/** And how often, on average. */
const AGAIN_MS = 8;
/** Errors that pass: nobody leads, the leader is not ready, or what came of it is not known. */
const PASSING: readonly number[] = [
  ErrorCode.NOT_CONTROLLER,
  ErrorCode.REQUEST_TIMED_OUT,
  ErrorCode.BROKER_NOT_AVAILABLE,
  ErrorCode.NETWORK_EXCEPTION,
];
const NO_DIRECTORY = 'dGhlcmUtaXMtbm9uZS1ubw';

function create(options: VotingOptions): Voting {
  const admin = newAdmin(options.admin, 1);
  const nothing = { nextMs: Number.POSITIVE_INFINITY, open: -1, known: null, wanted: null };
  return { options, admin, dice: createJitter(1), stage: 'working', ...nothing };
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
      state.wanted = null;
      state.nextMs = Math.min(state.nextMs, env.nowMs);
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, env, event);
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs < state.nextMs) return;
    state.nextMs = Number.POSITIVE_INFINITY;
    if (state.open < 0 && state.stage !== 'done') ask(state, env, state.wanted?.request ?? { kind: 'describeQuorum' });
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
  const { stage, dice, wanted } = state;
  if (event.request.kind === 'describeQuorum') {
    if (decide(state, env, event)) return;
  } else if (wanted !== null && env.nowMs < wanted.untilMs && PASSING.includes(event.error)) {
    state.nextMs = env.nowMs + 1 + jitter(dice, 2 * AGAIN_MS);
    return;
  }
  state.wanted = null;
  state.nextMs = env.nowMs + (stage === 'working' ? 1 + jitter(dice, 2 * everyMs) : REST_MS);
}

/** Asks for a change, if there is one to ask for: by what it is told, or, where nobody tells, by what it knew. */
function decide(state: Voting, env: Env, { error, result }: AdminEvent): boolean {
  const { dice, stage } = state;
  const { voters = [], observers = [] } = result;
  const isTold = error === ErrorCode.NONE && voters.length > 0;
  if (isTold) state.known = { voters, observers };
  else if (stage !== 'working' || jitter(dice, 2) === 0) return false;
  if (state.known === null) return false;
  if (isTold && stage !== 'working' && isWhole(state, state.known)) {
    state.stage = 'done';
    return false;
  }
  const request = drawChange(state, state.known);
  if (request === null) return false;
  const untilMs = env.nowMs + (INSISTS_MS[jitter(dice, INSISTS_MS.length)] ?? 0);
  if (stage === 'working') state.wanted = { request, untilMs };
  ask(state, env, request);
  return true;
}

function isWhole({ options }: Voting, { voters }: Members): boolean {
  return voters.length === options.listeners.size;
}

function drawChange(state: Voting, { voters, observers }: Members): AdminRequest | null {
  const { dice, options, stage } = state;
  const isOneMore = voters.length > VOTERS_MIN && jitter(dice, 100) < 25;
  const mayRemove = options.mayRemove && stage === 'working';
  if (mayRemove && (isOneMore || isWhole(state, { voters, observers }))) {
    const voter = voters[jitter(dice, voters.length)] as QuorumMember;
    const isMistaken = jitter(dice, 100) < 5;
    return { kind: 'removeVoter', voter: isMistaken ? { ...voter, directoryId: NO_DIRECTORY } : voter };
  }
  const outside = observers.filter(({ id }) => !voters.some((voter) => voter.id === id));
  const voter = outside[jitter(dice, Math.max(1, outside.length))];
  const listener = options.listeners.get(voter?.id ?? -1);
  return voter === undefined || listener === undefined ? null : { kind: 'addVoter', voter, listener };
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
