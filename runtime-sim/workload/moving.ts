/**
 * A process that moves partitions: at drawn moments it asks for other replicas of one of them, more, fewer, elsewhere
 * or in another order, takes a move back, or bounds the rate at which replicas are copied. It knows neither where a
 * partition is nor whether a move is under way: whatever a cluster is asked, it must do or refuse. Another one does so
 * with the partitions of the topic of groups alone, and gives their leads back: coordinators go elsewhere so.
 *
 * Asked to stop, it puts things in order, as an operator does: rates go, each partition of the constant topic is sent
 * to as many replicas as it should have, and it looks until it is told that nothing moves any more. A crash forgets
 * what was open; the next life goes on.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
import {
  type AdminRequest,
  type ConfigChange,
  ConfigOperation,
  ConfigResource,
} from '../../core/client/admin-calls.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { asAnyMachine } from '../actor.ts';
import { type AskingOptions, newAdmin, stepAsking } from './asking.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import type { Observer } from './observer.ts';

/** How a moving process behaves. */
export interface MovingOptions {
  readonly observer: Observer;
  readonly admin: AskingOptions;
  /** The topic that is always there, and how many partitions it has. */
  readonly constant: string;
  readonly partitions: number;
  /** No other topic is touched, and no rates are set; but leads are given back to whom they are preferred at. */
  readonly isSole: boolean;
  /** Brokers are numbered from 1. */
  readonly nodes: number;
  /** As many as a partition has when all is in order, and never fewer than `replicasMin`. */
  readonly replicas: number;
  readonly replicasMin: number;
  /** Between two requests, on average. */
  readonly everyMs: number;
}

/** What is put in order at the end: rates, then replicas, then it is looked whether both are so. */
type Stage = 'working' | 'lifting' | 'placing' | 'looking' | 'done';

/** Its state. */
interface Moving {
  readonly options: MovingOptions;
  admin: Admin;
  dice: Jitter;
  stage: Stage;
  /** When it asks next; Infinity while it waits for answers at the end. */
  nextMs: number;
  readonly open: Set<number>;
  /** Whether an answer of this stage was not what it is to be. */
  hasFailed: boolean;
  /** Whether something was still on its way when it was looked at last. */
  isUnderWay: boolean;
}

/** Replicas that outlive any one node. */
const OUTLIVING = 2;
/** Requests that one process has open, at most. */
const OPEN_MAX = 6;
/** Between two looks, and after a failure. */
const REST_MS = 200;
const RATES = ['leader.replication.throttled.rate', 'follower.replication.throttled.rate'] as const;
const LISTS = ['leader.replication.throttled.replicas', 'follower.replication.throttled.replicas'] as const;
/** Bytes in a second. */
const RATE_VALUES = [2_000, 20_000, 1_000_000];
const AMPLE_RATE = 1_000_000_000;

function create(options: MovingOptions): Moving {
  return {
    options,
    admin: newAdmin(options.admin, 1),
    dice: createJitter(1),
    stage: 'working',
    nextMs: Number.POSITIVE_INFINITY,
    open: new Set(),
    hasFailed: false,
    isUnderWay: false,
  };
}

function step(state: Moving, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.admin = newAdmin(state.options.admin, input.seed);
      state.nextMs = env.nowMs + jitter(state.dice, state.options.everyMs);
      break;
    case 'stop':
      if (state.stage === 'working') enter(state, state.options.isSole ? 'placing' : 'lifting', env.nowMs);
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, env, event);
  stepAsking(state.admin, env, input, out, settled, () => {
    if (env.nowMs >= state.nextMs) act(state, env);
  });
}

function enter(state: Moving, stage: Stage, atMs: number): void {
  state.stage = stage;
  state.nextMs = stage === 'done' ? Number.POSITIVE_INFINITY : atMs;
  state.hasFailed = false;
  state.isUnderWay = false;
}

function ask(state: Moving, env: Env, request: AdminRequest): void {
  state.open.add(askAdmin(state.admin, env, request));
  state.options.observer.openAdministrations += 1;
}

function act(state: Moving, env: Env): void {
  if (state.stage === 'working') {
    work(state, env);
    return;
  }
  // What was asked before must have its answers, or it would undo what is put in order.
  state.nextMs = state.open.size > 0 ? env.nowMs + REST_MS : Number.POSITIVE_INFINITY;
  if (state.open.size > 0) return;
  const { constant: topic, partitions: count, replicas } = state.options;
  const partitions = Array.from({ length: count }, (_, index) => index);
  switch (state.stage) {
    case 'lifting':
      bound(state, env, drawLifted(state));
      break;
    case 'placing':
      for (const partition of partitions) {
        ask(state, env, { kind: 'movePartition', topic, partition, replicas: drawReplicas(state, replicas) });
      }
      break;
    default:
      ask(state, env, { kind: 'listMoves', topic, partitions });
      ask(state, env, { kind: 'describeTopic', topic });
  }
}

/** One request, drawn. */
function work(state: Moving, env: Env): void {
  const { options, dice } = state;
  state.nextMs = env.nowMs + 1 + jitter(dice, 2 * options.everyMs);
  if (state.open.size >= OPEN_MAX) return;
  const die = jitter(dice, 100);
  if (options.isSole && die < 14) {
    const partition = jitter(dice, options.partitions);
    ask(state, env, { kind: 'electLeader', topic: options.constant, partition, isUnclean: false });
    return;
  }
  if (die < 8) {
    bound(state, env, { rate: RATE_VALUES[jitter(dice, RATE_VALUES.length)] ?? null, isListed: true });
    return;
  }
  if (die < 14) {
    bound(state, env, drawLifted(state));
    return;
  }
  const [topic, partition] = drawPartition(state);
  const { constant, nodes, replicas, replicasMin } = options;
  const most = Math.min(nodes, replicas + 1);
  // Those that come and go are never put in order: they have as many as it takes to outlive a node.
  const least = topic === constant ? replicasMin : Math.max(replicasMin, Math.min(replicas, OUTLIVING));
  const count = least + jitter(dice, most - least + 1);
  const target = die < 30 ? null : drawReplicas(state, count);
  ask(state, env, { kind: 'movePartition', topic, partition, replicas: target });
}

/** A partition of the constant topic as a rule, sometimes one of those that come and go. */
function drawPartition({ options, dice }: Moving): readonly [topic: string, partition: number] {
  const { observer, constant, partitions, isSole } = options;
  const coming = isSole ? [] : [...observer.board];
  const [topic, known] = coming[jitter(dice, 4 * coming.length)] ?? [constant, { partitions }];
  return [topic, jitter(dice, Math.max(1, known.partitions))];
}

/** So many brokers, in an order of chance. */
function drawReplicas({ options, dice }: Moving, count: number): number[] {
  const ids = Array.from({ length: options.nodes }, (_, index) => index + 1);
  for (let i = ids.length - 1; i > 0; i--) {
    const j = jitter(dice, i + 1);
    const other = ids[j] as number;
    ids[j] = ids[i] as number;
    ids[i] = other;
  }
  return ids.slice(0, count);
}

/** What an operator wants of the rates: bytes in a second, or none, and whether all replicas have to keep them. */
interface Bounds {
  readonly rate: number | null;
  readonly isListed: boolean;
}

/** Nothing is to be held up any more: no replica has to keep a rate, or there is none, or it is beyond any need. */
function drawLifted({ dice }: Moving): Bounds {
  const die = jitter(dice, 4);
  if (die < 2) return { rate: null, isListed: false };
  return { rate: die === 2 ? null : AMPLE_RATE, isListed: true };
}

/** Has all replicas of the constant topic on all brokers keep a rate, or lifts that. */
function bound(state: Moving, env: Env, { rate: bytesPerSecond, isListed }: Bounds): void {
  const ofTopic = { resourceType: ConfigResource.TOPIC, resourceName: state.options.constant };
  const changes = LISTS.map((name) => setTo(name, isListed ? '*' : null));
  ask(state, env, { kind: 'alterConfigs', ...ofTopic, changes });
  const rates = RATES.map((name) => setTo(name, bytesPerSecond === null ? null : String(bytesPerSecond)));
  const ofAll = { resourceType: ConfigResource.BROKER, resourceName: '' };
  ask(state, env, { kind: 'alterConfigs', ...ofAll, changes: rates });
}

function setTo(name: string, value: string | null): ConfigChange {
  return { name, operation: value === null ? ConfigOperation.DELETE : ConfigOperation.SET, value };
}

function settle(state: Moving, env: Env, event: AdminEvent): void {
  const { observer } = state.options;
  if (!state.open.delete(event.ticket)) throw new Error('a ticket was answered twice, or was never given');
  observer.openAdministrations -= 1;
  if (event.error === ErrorCode.NO_REASSIGNMENT_IN_PROGRESS) observer.reached('sim.move.nothing_to_cancel');
  if (state.stage === 'working') return;
  if (!isAsWanted(state, event)) state.hasFailed = true;
  if ((event.result.moving?.length ?? 0) > 0) state.isUnderWay = true;
  // Answers of what was asked before the end are waited for, and say nothing.
  if (state.open.size > 0 || state.nextMs !== Number.POSITIVE_INFINITY) return;
  conclude(state, env);
}

function isAsWanted({ options, stage }: Moving, { error, result }: AdminEvent): boolean {
  if (error !== ErrorCode.NONE) return false;
  if (stage !== 'looking') return true;
  if (result.moving !== undefined) return result.moving.length === 0;
  return (result.partitions ?? []).every(({ replicas }) => replicas.length === options.replicas);
}

/** All answers of a stage are there. */
function conclude(state: Moving, env: Env): void {
  const { stage, hasFailed, isUnderWay } = state;
  // A request from before the end may have come late, and have sent a partition elsewhere.
  const isMisplaced = stage === 'looking' && hasFailed && !isUnderWay;
  if (hasFailed) enter(state, isMisplaced ? 'placing' : stage, env.nowMs + REST_MS);
  else if (stage === 'lifting') enter(state, 'placing', env.nowMs);
  else if (stage === 'placing') enter(state, 'looking', env.nowMs);
  else enter(state, 'done', env.nowMs);
}

/** Whether a process that was asked to stop has put everything in order. */
export function isMovingDone(state: unknown): boolean {
  return (state as Moving).stage === 'done';
}

/** A life of the process is over: nobody will hear what became of its requests. */
export function forgetMoves(observer: Observer, state: unknown): void {
  observer.openAdministrations -= (state as Moving).open.size;
}

/** The machine of a moving process. */
export const MOVING = asAnyMachine<Moving, MovingOptions>({
  create,
  step,
  deadlineMs: (state) => Math.min(state.nextMs, adminDeadlineMs(state.admin)),
  check: (state) => checkAdmin(state.admin),
});
