/**
 * Judges what administrators were told of topics: some order of their operations, each within its time, explains every
 * answer (linearizability, a topic at a time). A crash is no excuse: what was acknowledged holds in every later answer.
 *
 * The search keeps all states that the topic may be in, with the operations under way that have taken effect in each.
 * An operation that was answered takes effect once, between its start and its end; an attempt that nobody answered
 * once or never, between its start and the time when it can be carried out no more. Of several nodes, what changes
 * nothing may be told late: it takes effect at any time since its node has surely heard of the others. Of two ways to
 * one state the one that has used up fewer of such attempts is kept: it can do all that the other can. A topic id that
 * was never told stands for itself until a description names it.
 */
import { ErrorCode } from '../protocol/errors.ts';
import {
  type ConfigText,
  expiryUs,
  type TopicAction,
  type TopicAnswer,
  type TopicOperation,
  toldUs,
} from './administration.ts';
import type { Complaint, History } from './history.ts';

/** States that are followed at once; a topic with more is not judged: too much of it was lost at one time. */
export const STATES_MAX = 20_000;

/** What a topic is; null where there is none. */
interface TopicState {
  /** Begins with '?' and the number of its creation where it was never told. */
  readonly id: string;
  readonly partitions: number;
  readonly configs: ReadonlyMap<string, string>;
}

/** One operation, or one attempt of it, as the search sees it. */
interface Move {
  readonly move: number;
  /** Another attempt of the same operation, which is to come first; -1 for none. */
  readonly twin: number;
  readonly action: TopicAction;
  readonly startUs: number;
  readonly endUs: number;
  /** Null: it may take effect or not. */
  readonly answer: TopicAnswer | null;
}

/** A state that is possible, and which moves under way have taken effect in it: answered ones, and attempts. */
interface Possible {
  readonly state: TopicState | null;
  readonly applied: ReadonlySet<number>;
  readonly tried: ReadonlySet<number>;
}

const NONE: ReadonlySet<number> = new Set();

/** Promise 1 for metadata. One finding a topic, at most. */
export function findMetadataBreaks(history: History): Complaint[] {
  const found: Complaint[] = [];
  const topics = new Map<string, TopicOperation[]>();
  for (const operation of history.operations) {
    const known = topics.get(operation.topic);
    if (known === undefined) topics.set(operation.topic, [operation]);
    else known.push(operation);
  }
  for (const [topic, operations] of topics) {
    const sentence = judgeTopic(history, topic, operations);
    if (sentence !== null) found.push({ checker: 'metadata', promise: 1, partition: -1, sentence });
  }
  return found;
}

function movesOf(history: History, operations: readonly TopicOperation[]): Move[] {
  const moves: Move[] = [];
  for (const operation of operations) {
    const { action, doneUs, answer, unsureAttempts } = operation;
    const startUs = toldUs(history, operation);
    if (answer !== null) moves.push({ move: moves.length, twin: -1, action, startUs, endUs: doneUs, answer });
    const endUs = doneUs < 0 ? Number.POSITIVE_INFINITY : expiryUs(history, operation.startUs, doneUs);
    for (let i = 0; i < unsureAttempts; i++) {
      const twin = i === 0 ? -1 : moves.length - 1;
      moves.push({ move: moves.length, twin, action, startUs: operation.startUs, endUs, answer: null });
    }
  }
  return moves;
}

/** A sentence about what cannot be explained; null if all can. */
function judgeTopic(history: History, topic: string, operations: readonly TopicOperation[]): string | null {
  const moves = movesOf(history, operations);
  const seen = firstSeen(operations);
  // At one time starts come first: whoever touches is concurrent.
  const moments = moves.flatMap((move) => [
    { us: move.startUs, isEnd: false, move },
    { us: move.endUs, isEnd: true, move },
  ]);
  moments.sort((a, b) => a.us - b.us || Number(a.isEnd) - Number(b.isEnd) || a.move.move - b.move.move);
  const underWay = new Map<number, Move>();
  let possible: Possible[] = [{ state: null, applied: NONE, tried: NONE }];
  let last = 'it was never there';
  for (const { us, isEnd, move } of moments) {
    if (us === Number.POSITIVE_INFINITY) break;
    if (!isEnd) {
      underWay.set(move.move, move);
      continue;
    }
    const reached = closure(possible, underWay, moves, seen);
    if (reached === null) return null;
    underWay.delete(move.move);
    possible = settle(reached, move);
    if (possible.length === 0) {
      return `${topic}: ${textOf(move)} at ${us} us fits nothing that may have been; before, ${last}`;
    }
    if (move.answer !== null) last = `${textOf(move)} at ${us} us`;
  }
  return null;
}

/** Ids that were told, and when that was first: a later creation cannot have made them. */
function firstSeen(operations: readonly TopicOperation[]): ReadonlyMap<string, number> {
  const seen = new Map<string, number>();
  for (const { answer, doneUs } of operations) {
    const id = answer?.topicId;
    if (id !== undefined && answer?.error === ErrorCode.NONE) seen.set(id, Math.min(seen.get(id) ?? doneUs, doneUs));
  }
  return seen;
}

/** Possible states, none of which can do all that another one can. */
interface Frontier {
  readonly byKey: Map<string, Possible[]>;
  size: number;
}

function keyOf({ state, applied }: Possible): string {
  const moves = [...applied].sort((a, b) => a - b).join();
  if (state === null) return `-|${moves}`;
  const configs = [...state.configs].map(([name, value]) => `${name}=${value}`).sort();
  return `${state.id} ${state.partitions} ${configs.join()}|${moves}`;
}

/** Adds a state unless another one there can do as much; those that can do less leave. True if it was added. */
function addTo(frontier: Frontier, one: Possible): boolean {
  const key = keyOf(one);
  const others = frontier.byKey.get(key) ?? [];
  if (others.some(({ tried }) => isWithin(tried, one.tried))) return false;
  const kept = others.filter(({ tried }) => !isWithin(one.tried, tried));
  frontier.size += 1 + kept.length - others.length;
  kept.push(one);
  frontier.byKey.set(key, kept);
  return true;
}

function isWithin(small: ReadonlySet<number>, large: ReadonlySet<number>): boolean {
  if (small.size > large.size) return false;
  for (const one of small) if (!large.has(one)) return false;
  return true;
}

/** All that is possible when moves under way take effect in any order, or do not; null if it is too much. */
function closure(
  possible: readonly Possible[],
  underWay: ReadonlyMap<number, Move>,
  moves: readonly Move[],
  seen: ReadonlyMap<string, number>,
): Possible[] | null {
  const frontier: Frontier = { byKey: new Map(), size: 0 };
  const queue: Possible[] = [];
  const add = (state: TopicState | null, applied: ReadonlySet<number>, tried: ReadonlySet<number>): void => {
    // What was answered and changes nothing is best done at once: it asks for nothing later.
    let done = applied;
    for (const [number, move] of underWay) {
      if (move.answer === null || applied.has(number)) continue;
      if (take(state, move, moves, seen) === state) done = plus(done, number);
    }
    const one = { state, applied: done, tried };
    if (addTo(frontier, one)) queue.push(one);
  };
  for (const { state, applied, tried } of possible) add(state, applied, tried);
  for (let at = 0; at < queue.length; at++) {
    const { state, applied, tried } = queue[at] as Possible;
    for (const [number, move] of underWay) {
      if (applied.has(number) || tried.has(number)) continue;
      if (move.twin >= 0 && underWay.has(move.twin) && !tried.has(move.twin)) continue;
      const next = take(state, move, moves, seen);
      if (next === undefined) continue;
      const isSure = move.answer !== null;
      add(next, isSure ? plus(applied, number) : applied, isSure ? tried : plus(tried, number));
      if (frontier.size > STATES_MAX) return null;
    }
  }
  return [...frontier.byKey.values()].flat();
}

/** The move is over: if it was answered, it has taken effect. */
function settle(reached: readonly Possible[], { move, answer }: Move): Possible[] {
  const frontier: Frontier = { byKey: new Map(), size: 0 };
  for (const one of reached) {
    if (answer !== null && !one.applied.has(move)) continue;
    addTo(frontier, { ...one, applied: without(one.applied, move), tried: without(one.tried, move) });
  }
  return [...frontier.byKey.values()].flat();
}

function plus(moves: ReadonlySet<number>, move: number): ReadonlySet<number> {
  return new Set([...moves, move]);
}

function without(moves: ReadonlySet<number>, move: number): ReadonlySet<number> {
  if (!moves.has(move)) return moves;
  const rest = new Set(moves);
  rest.delete(move);
  return rest;
}

/** The state behind a move; undefined where it cannot be, or would change nothing that nobody was told of. */
function take(
  state: TopicState | null,
  move: Move,
  moves: readonly Move[],
  seen: ReadonlyMap<string, number>,
): TopicState | null | undefined {
  const { action, answer } = move;
  if (answer === null) return state === null && action.kind !== 'create' ? undefined : change(state, move);
  switch (answer.error) {
    case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
      return state === null ? null : undefined;
    case ErrorCode.TOPIC_ALREADY_EXISTS:
      return state === null ? undefined : state;
    case ErrorCode.INVALID_PARTITIONS:
      return state !== null && action.kind === 'grow' && state.partitions >= action.count ? state : undefined;
    default:
      break;
  }
  if (action.kind === 'create') return change(state, move);
  if (state === null) return undefined;
  if (action.kind === 'describe') return describe(state, answer, moves, seen);
  if (action.kind === 'describeConfigs') return hasConfigs(state, answer.configs ?? []) ? state : undefined;
  return change(state, move);
}

/** What a change that succeeds makes of the topic; undefined where it cannot succeed. */
function change(state: TopicState | null, { action, move, answer }: Move): TopicState | null | undefined {
  if (action.kind === 'create') {
    if (state !== null) return undefined;
    return { id: answer?.topicId ?? `?${move}`, partitions: action.partitions, configs: new Map(action.configs) };
  }
  if (state === null) return undefined;
  switch (action.kind) {
    case 'delete':
      return null;
    case 'grow':
      return state.partitions < action.count ? { ...state, partitions: action.count } : undefined;
    case 'alter': {
      const configs = new Map(state.configs);
      for (const [name, value] of action.changes) {
        if (value === null) configs.delete(name);
        else configs.set(name, value);
      }
      return { ...state, configs };
    }
    default:
      return state;
  }
}

function describe(
  state: TopicState,
  { topicId = '', partitions }: TopicAnswer,
  moves: readonly Move[],
  seen: ReadonlyMap<string, number>,
): TopicState | undefined {
  if (partitions !== state.partitions) return undefined;
  if (topicId === state.id) return state;
  if (!state.id.startsWith('?')) return undefined;
  const creation = moves[Number(state.id.slice(1))];
  // An id that was told before this creation began belongs to an earlier topic.
  if (creation === undefined || (seen.get(topicId) ?? 0) < creation.startUs) return undefined;
  return { ...state, id: topicId };
}

function hasConfigs(state: TopicState, configs: readonly ConfigText[]): boolean {
  return configs.length === state.configs.size && configs.every(([name, value]) => state.configs.get(name) === value);
}

function textOf({ action, answer }: Move): string {
  const what = action.kind === 'grow' ? `grow to ${action.count}` : action.kind;
  if (answer === null) return `${what} (unanswered)`;
  if (answer.error !== ErrorCode.NONE) return `${what} (error ${answer.error})`;
  const parts = [answer.topicId, answer.partitions, answer.configs?.map(([name, value]) => `${name}=${value}`).join()];
  return `${what} (${parts.filter((part) => part !== undefined).join(' ')})`;
}
