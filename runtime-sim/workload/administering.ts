/**
 * A process that administers: at drawn moments it creates, deletes, enlarges, alters, cuts and describes the topics of
 * its slots, through the administrator that serves real programs too. Producers and readers use the same topics
 * meanwhile, and so may other administrators. What was asked and what became of it goes into the history.
 *
 * A topic that was created is looked at once: each partition must answer at once, unless the node went down or somebody
 * began to delete the topic meanwhile. When it is asked to stop, the process waits until all administrators have their
 * answers and every node has surely heard of what was done, and describes every topic for the last time: that is what
 * the final readers read. A crash forgets it; what was open is in doubt.
 */
import { type Admin, type AdminEvent, adminDeadlineMs, askAdmin, checkAdmin } from '../../core/client/admin.ts';
import { type AdminRequest, ConfigOperation, ConfigResource } from '../../core/client/admin-calls.ts';
import type { Env, Input, Outbox } from '../../core/lib/world.ts';
import { ErrorCode, errorName } from '../../core/protocol/errors.ts';
import {
  type CutRecords,
  isHeardOfAll,
  isQuestion,
  type TopicAction,
  type TopicAnswer,
  type TopicOperation,
  tellingAnswer,
} from '../../core/verify/administration.ts';
import { complain } from '../../core/verify/history.ts';
import { asAnyMachine } from '../actor.ts';
import { type AskingOptions, newAdmin, stepAsking } from './asking.ts';
import { createJitter, type Jitter, jitter } from './jitter.ts';
import { noteOperation, type Observer, setBoard, slotOf } from './observer.ts';

/** A topic that comes and goes. */
export interface AdministeredTopic {
  readonly topic: string;
  /** It is deleted so many times in a hundred actions. */
  readonly deletePercent: number;
}

/** How an administering process behaves. */
export interface AdministeringOptions {
  readonly observer: Observer;
  readonly admin: AskingOptions;
  readonly topics: readonly AdministeredTopic[];
  /** A topic that is always there: only its settings are changed. */
  readonly constant: string;
  readonly partitionsMax: number;
  /** Of a topic that it creates. */
  readonly replicas: number;
  /** Between two actions, on average. */
  readonly everyMs: number;
}

/** What a question is about. */
type Purpose =
  | { readonly kind: 'operation'; readonly operation: TopicOperation }
  | { readonly kind: 'probe'; readonly creation: TopicOperation; readonly downs: number }
  | { readonly kind: 'end'; readonly slot: number }
  | { readonly kind: 'cut'; readonly cut: CutRecords }
  | { readonly kind: 'other' };

/** Its state. */
interface Administering {
  readonly options: AdministeringOptions;
  admin: Admin;
  dice: Jitter;
  /** When it acts next, or once it was asked to stop, looks again whether it may conclude. */
  nextMs: number;
  readonly open: Map<number, Purpose>;
  /** Topics that are still to be described for the last time, and by which operation; null before the stop. */
  final: Map<string, TopicOperation | null> | null;
}

/** Questions that one process has open, at most. */
const OPEN_MAX = 12;
/** What may be set on a topic: settings that act on every append, roll or read, and one that does not yet. */
const SETTINGS: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['segment.ms', ['400', '3000', '604800000']],
  ['segment.bytes', ['1048576', '2097152']],
  ['max.message.bytes', ['900', '1048588']],
  ['index.interval.bytes', ['64', '4096']],
  ['compression.type', ['producer', 'gzip', 'uncompressed']],
  ['message.timestamp.type', ['CreateTime', 'LogAppendTime']],
  ['flush.messages', ['1']],
  ['retention.ms', ['604800000', '-1']],
];

function create(options: AdministeringOptions): Administering {
  return {
    options,
    admin: newAdmin(options.admin, 1),
    dice: createJitter(1),
    nextMs: Number.POSITIVE_INFINITY,
    open: new Map(),
    final: null,
  };
}

function step(state: Administering, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.dice = createJitter(input.seed);
      state.admin = newAdmin(state.options.admin, input.seed);
      state.nextMs = env.nowMs + jitter(state.dice, state.options.everyMs);
      break;
    case 'stop':
      state.nextMs = Number.POSITIVE_INFINITY;
      state.final ??= new Map(state.options.topics.map(({ topic }) => [topic, null]));
      break;
    case 'wake':
      if (state.final === null && env.nowMs >= state.nextMs) act(state, env);
      break;
    default:
  }
  const settled = (event: AdminEvent): void => settle(state, env, event);
  stepAsking(state.admin, env, input, out, settled, () => conclude(state, env));
}

/** One action, drawn by what the topic is believed to be. */
function act(state: Administering, env: Env): void {
  const { options, dice } = state;
  state.nextMs = env.nowMs + 1 + jitter(dice, 2 * options.everyMs);
  if (state.open.size >= OPEN_MAX) return;
  if (jitter(dice, 12) === 0) {
    alter(state, env, options.constant, true);
    return;
  }
  const chosen = options.topics[jitter(dice, options.topics.length)];
  if (chosen === undefined) return;
  const { topic, deletePercent } = chosen;
  const count = options.observer.board.get(topic)?.partitions ?? 0;
  const die = jitter(dice, 100);
  if (count === 0) {
    if (die < 80) createTopic(state, env, topic);
    else if (die < 84) operate(state, env, topic, { kind: 'delete' }, { kind: 'deleteTopic', topic });
    else describe(state, env, topic);
    return;
  }
  if (die < deletePercent) {
    operate(state, env, topic, { kind: 'delete' }, { kind: 'deleteTopic', topic });
    // Whoever wants an empty topic makes it anew at once: it is committed while the old one is on its way out.
    if (jitter(dice, 2) === 0) createTopic(state, env, topic);
  } else if (die < deletePercent + 25) cutSomewhere(state, env, topic, count);
  else if (die < deletePercent + 45) alter(state, env, topic, false);
  else if (die < deletePercent + 52) createTopic(state, env, topic);
  else if (die < deletePercent + 60) grow(state, env, topic, count);
  else if (die < deletePercent + 75) describe(state, env, topic);
  else describeConfigs(state, env, topic);
}

function operate(
  state: Administering,
  env: Env,
  topic: string,
  action: TopicAction,
  request: AdminRequest,
): TopicOperation {
  const { observer } = state.options;
  const startUs = observer.time.nowUs;
  const operation: TopicOperation = { topic, action, startUs, doneUs: -1, answer: null, unsureAttempts: 0 };
  observer.history.operations.push(operation);
  state.open.set(askAdmin(state.admin, env, request), { kind: 'operation', operation });
  observer.openAdministrations += 1;
  return operation;
}

function ask(state: Administering, env: Env, request: AdminRequest, purpose: Purpose, attemptsMax?: number): void {
  state.open.set(askAdmin(state.admin, env, request, attemptsMax), purpose);
  state.options.observer.openAdministrations += 1;
}

function createTopic(state: Administering, env: Env, topic: string): void {
  const { dice, options } = state;
  const partitions = 1 + jitter(dice, options.partitionsMax);
  const configs = jitter(dice, 3) === 0 ? [drawSetting(dice)] : [];
  const action: TopicAction = { kind: 'create', partitions, configs };
  const replicationFactor = options.replicas;
  operate(state, env, topic, action, { kind: 'createTopic', topic, partitions, replicationFactor, configs });
}

function drawSetting(dice: Jitter): readonly [name: string, value: string] {
  const [name, values] = SETTINGS[jitter(dice, SETTINGS.length)] as (typeof SETTINGS)[number];
  return [name, values[jitter(dice, values.length)] as string];
}

function grow(state: Administering, env: Env, topic: string, count: number): void {
  const wanted = Math.min(state.options.partitionsMax, count + 1);
  operate(state, env, topic, { kind: 'grow', count: wanted }, { kind: 'createPartitions', topic, count: wanted });
}

function alter(state: Administering, env: Env, topic: string, isConstant: boolean): void {
  const { dice } = state;
  const [name, text] = drawSetting(dice);
  const value = jitter(dice, 4) === 0 ? null : text;
  const operation = value === null ? ConfigOperation.DELETE : ConfigOperation.SET;
  const changes = [{ name, operation, value }];
  // What producers send to the constant topic must always fit it.
  if (isConstant && name === 'max.message.bytes') return;
  const resource = { resourceType: ConfigResource.TOPIC, resourceName: topic };
  const request: AdminRequest = { kind: 'alterConfigs', ...resource, changes };
  if (isConstant) ask(state, env, request, { kind: 'other' });
  else operate(state, env, topic, { kind: 'alter', changes: [[name, value]] }, request);
}

function describe(state: Administering, env: Env, topic: string): TopicOperation {
  return operate(state, env, topic, { kind: 'describe' }, { kind: 'describeTopic', topic });
}

function describeConfigs(state: Administering, env: Env, topic: string): void {
  const resource = { resourceType: ConfigResource.TOPIC, resourceName: topic };
  operate(state, env, topic, { kind: 'describeConfigs' }, { kind: 'describeConfigs', ...resource, names: [] });
}

/** Finds out where a partition ends; what is below some offset goes then, mostly before that end. */
function cutSomewhere(state: Administering, env: Env, topic: string, count: number): void {
  const partition = jitter(state.dice, count);
  const slot = slotOf(state.options.observer, topic, partition);
  const request: AdminRequest = { kind: 'listOffset', topic, partition, at: 'latest' };
  ask(state, env, request, { kind: 'end', slot });
}

function cut(state: Administering, env: Env, slot: number, end: number): void {
  const { observer } = state.options;
  const named = observer.history.partitions[slot];
  if (named === undefined || end <= 0) return;
  const past = jitter(state.dice, 4) === 0 ? Math.max(0, jitter(state.dice, 24) - 12) : -jitter(state.dice, 40);
  const offset = Math.max(1, end + past);
  const startUs = observer.time.nowUs;
  const one: CutRecords = { partition: slot, offset, startUs, doneUs: -1, lowWatermark: -1, isUnsure: false };
  observer.history.cuts.push(one);
  const { topic, partition } = named;
  ask(state, env, { kind: 'deleteRecords', topic, partition, offset }, { kind: 'cut', cut: one });
}

function settle(state: Administering, env: Env, event: AdminEvent): void {
  const { observer } = state.options;
  const purpose = state.open.get(event.ticket);
  if (purpose === undefined) throw new Error('a ticket was answered twice, or was never given');
  state.open.delete(event.ticket);
  observer.openAdministrations -= 1;
  switch (purpose.kind) {
    case 'operation':
      settleOperation(state, env, purpose.operation, event);
      break;
    case 'probe':
      judgeProbe(state, purpose, event);
      break;
    case 'end':
      if (event.error === ErrorCode.NONE && state.final === null)
        cut(state, env, purpose.slot, event.result.offset ?? 0);
      break;
    case 'cut':
      purpose.cut.doneUs = observer.time.nowUs;
      purpose.cut.isUnsure = event.unsureAttempts > 0;
      if (event.error === ErrorCode.NONE) purpose.cut.lowWatermark = event.result.offset ?? -1;
      break;
    case 'other':
  }
}

function settleOperation(state: Administering, env: Env, operation: TopicOperation, event: AdminEvent): void {
  const { observer } = state.options;
  operation.doneUs = observer.time.nowUs;
  operation.answer = tellingAnswer(answerOf(operation.action, event));
  operation.unsureAttempts = event.unsureAttempts;
  noteOperation(observer, operation);
  const { answer, action, topic } = operation;
  if (state.final?.get(topic) === operation) {
    if (answer === null) state.final.set(topic, null);
    else state.final.delete(topic);
  }
  if (answer === null) return;
  const isGone = answer.error === ErrorCode.NONE && action.kind === 'delete';
  if (isGone || answer.error === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) setBoard(observer, topic, null);
  if (answer.error !== ErrorCode.NONE) {
    // It is there, who knows how large.
    if (action.kind === 'create') describe(state, env, topic);
    return;
  }
  const topicId = answer.topicId ?? '';
  if (action.kind === 'create') {
    setBoard(observer, topic, { topicId, partitions: action.partitions });
    probe(state, env, operation, action.partitions);
  } else if (action.kind === 'describe') setBoard(observer, topic, { topicId, partitions: answer.partitions ?? 0 });
  else if (action.kind === 'grow') {
    const known = observer.board.get(topic);
    if (known !== undefined) setBoard(observer, topic, { ...known, partitions: action.count });
  }
}

function answerOf(action: TopicAction, { error, result }: AdminEvent): TopicAnswer {
  const { topicId, partitions, configs } = result;
  if (error !== ErrorCode.NONE) return { error };
  if (action.kind === 'create') return topicId === undefined ? { error } : { error, topicId };
  if (action.kind === 'describe') return { error, topicId: topicId ?? '', partitions: partitions?.length ?? 0 };
  if (action.kind !== 'describeConfigs') return { error };
  const own = (configs ?? []).filter(({ source }) => source === OF_TOPIC);
  return { error, configs: own.map(({ name, value }) => [name, value ?? ''] as const) };
}

/** Kafka's number for settings that were set for the topic itself. */
const OF_TOPIC = 1;

/** Of several nodes the client asks one after the other until it meets the one that leads. */
const PROBES_MAX = 8;

/** A topic that was acknowledged can be used at once: each of its partitions says where it ends. */
function probe(state: Administering, env: Env, creation: TopicOperation, count: number): void {
  const { topic } = creation;
  const { history } = state.options.observer;
  const downs = history.downsUs.length;
  for (let partition = 0; partition < count; partition++) {
    const request: AdminRequest = { kind: 'listOffset', topic, partition, at: 'latest' };
    const purpose: Purpose = { kind: 'probe', creation, downs };
    ask(state, env, request, purpose, history.isOfSeveral ? PROBES_MAX : 1);
  }
}

function judgeProbe(
  state: Administering,
  { creation, downs }: Extract<Purpose, { kind: 'probe' }>,
  event: AdminEvent,
): void {
  const { history } = state.options.observer;
  const { topic, startUs } = creation;
  // Without an answer nothing is known; a request that was delayed may have met a later life of the node.
  if (event.error === ErrorCode.NONE || event.error === ErrorCode.NETWORK_EXCEPTION) return;
  const isDeleted = history.operations.some(
    (one) => one.topic === topic && one.action.kind === 'delete' && (one.doneUs < 0 || one.doneUs >= startUs),
  );
  const isMaybeDeleted = history.operations.some(
    (one) => one.topic === topic && one.action.kind === 'delete' && one.unsureAttempts > 0,
  );
  if (history.downsUs.length !== downs || isDeleted || isMaybeDeleted) return;
  // Of several nodes one that leads may be lost at any moment before all is well.
  if (history.isOfSeveral && (history.calmUs < 0 || startUs < history.calmUs)) return;
  const { request } = event;
  const partition = request.kind === 'listOffset' ? request.partition : -1;
  complain(history, {
    checker: 'unusable-topic',
    promise: 1,
    partition: -1,
    sentence: `${topic} was acknowledged to be made, and then ${topic}-${partition} said ${errorName(event.error)}`,
  });
}

/** Between two looks at whether every node has heard of everything. */
const LOOK_AGAIN_MS = 100;

/** After a stop: every topic is described once more, when nothing else is open and nobody tells what was before. */
function conclude(state: Administering, env: Env): void {
  if (state.final === null) return;
  state.nextMs = Number.POSITIVE_INFINITY;
  if (state.open.size > 0 || state.final.size === 0) return;
  const { history, time } = state.options.observer;
  if (!isHeardOfAll(history, time.nowUs)) {
    state.nextMs = env.nowMs + LOOK_AGAIN_MS;
    return;
  }
  for (const topic of state.final.keys()) state.final.set(topic, describe(state, env, topic));
}

/** Whether a process that was asked to stop has nothing more to say. */
export function isAdministeringDone(state: unknown): boolean {
  const { final, open } = state as Administering;
  return final !== null && final.size === 0 && open.size === 0;
}

/** A life of the process is over: nobody will hear what became of its questions. */
export function forgetAdministrations(observer: Observer, state: unknown): void {
  const { open } = state as Administering;
  for (const purpose of open.values()) {
    observer.openAdministrations -= 1;
    if (purpose.kind === 'operation') {
      purpose.operation.doneUs = observer.time.nowUs;
      // Earlier attempts are in doubt too.
      if (!isQuestion(purpose.operation.action)) purpose.operation.unsureAttempts = ATTEMPTS_FORGOTTEN;
    } else if (purpose.kind === 'cut') {
      purpose.cut.doneUs = observer.time.nowUs;
      purpose.cut.isUnsure = true;
    }
  }
  open.clear();
}

/** Attempts that a question may have had when its process died: as many as it may have. */
const ATTEMPTS_FORGOTTEN = 3;

/** The machine of an administering process. */
export const ADMINISTERING = asAnyMachine<Administering, AdministeringOptions>({
  create,
  step,
  deadlineMs: (state) => Math.min(state.nextMs, adminDeadlineMs(state.admin)),
  check: (state) => checkAdmin(state.admin),
});
