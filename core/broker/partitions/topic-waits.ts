/**
 * Answers that wait until topics can be used: whoever made a topic is told so when all of its logs are open, or when
 * the time that he gave is over. A crash forgets them with their connections.
 */
import type { ControllerKey } from '../../controller/handle.ts';
import type { Env } from '../../lib/world.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ResponseInputOf } from '../../protocol/messages/index.ts';
import { answer } from '../answers.ts';
import { answerMetadata, type MetadataWait } from '../api/03-metadata.ts';
import { bootTopicsDone } from '../boot/boot-serve.ts';
import { answerFinding } from '../groups/offsets-topic.ts';
import type { Node, Request, Topic } from '../state.ts';
import { changeApplied, type Unapplied } from './applied.ts';

/** Responses that wait at one time; beyond that they leave at once. */
const WAITS_MAX = 10_000;

/** What happens at the end. */
export type WaitEnd =
  | {
      readonly kind: 'client';
      readonly request: Request;
      readonly apiKey: ControllerKey;
      readonly response: ResponseInputOf<ControllerKey>;
    }
  | { readonly kind: 'metadata'; readonly wait: MetadataWait }
  | { readonly kind: 'start' }
  /** The topic of groups: those who look for a coordinator are answered. */
  | { readonly kind: 'offsetsTopic' }
  /** A change of the metadata is applied once the logs are open that it makes necessary here. */
  | { readonly kind: 'applied'; readonly change: Unapplied };

/** A response that waits for topics. */
export interface TopicWait {
  /** Those that were not ready when it began. */
  readonly topics: readonly Topic[];
  /** `env.nowMs`; Infinity: as long as it takes. */
  readonly untilMs: number;
  readonly end: WaitEnd;
}

/** Ends when all these topics are ready: now, or later. */
export function waitForTopics(node: Node, topics: readonly Topic[], untilMs: number, end: WaitEnd): void {
  const unready = topics.filter((topic) => topic.opening > 0);
  const wait: TopicWait = { topics: unready, untilMs, end };
  if (unready.length === 0 || node.topics.waits.size >= WAITS_MAX) {
    conclude(node, wait);
    return;
  }
  node.topics.waits.add(wait);
  node.topics.waitsUntilMs = Math.min(node.topics.waitsUntilMs, untilMs);
  for (const topic of unready) topic.waits.push(wait);
}

/** Ends at a time, or before, with `finishWait`. Whoever holds an answer bounds how many. */
export function holdAnswer(node: Node, untilMs: number, end: WaitEnd): TopicWait {
  const wait: TopicWait = { topics: [], untilMs, end };
  node.topics.waits.add(wait);
  node.topics.waitsUntilMs = Math.min(node.topics.waitsUntilMs, untilMs);
  return wait;
}

/** One of the topics is ready, or gone; or the time is over. */
export function finishWait(node: Node, wait: TopicWait): void {
  if (!node.topics.waits.has(wait)) return;
  if (wait.topics.every((topic) => topic.opening === 0)) endWait(node, wait);
}

/** Ends the waits whose time is over, and finds out when the next one is. */
export function expireWaits(node: Node, env: Env): void {
  const { topics } = node;
  let nextMs = Number.POSITIVE_INFINITY;
  for (const wait of topics.waits) {
    if (wait.untilMs <= env.nowMs) expireWait(node, wait);
    else nextMs = Math.min(nextMs, wait.untilMs);
  }
  topics.waitsUntilMs = nextMs;
}

/** The time is over: what is not ready is said to be late. */
function expireWait(node: Node, wait: TopicWait): void {
  const { end } = wait;
  if (end.kind === 'client' && end.apiKey === 19) {
    const late = new Set(wait.topics.filter((topic) => topic.opening > 0).map(({ name }) => name));
    const response = end.response as ResponseInputOf<19>;
    const topics = response.topics.map((topic) =>
      late.has(topic.name) ? { ...topic, errorCode: ErrorCode.REQUEST_TIMED_OUT, errorMessage: null } : topic,
    );
    endWait(node, { ...wait, end: { ...end, response: { ...response, topics } } }, wait);
  } else {
    endWait(node, wait);
  }
}

function endWait(node: Node, wait: TopicWait, known: TopicWait = wait): void {
  node.topics.waits.delete(known);
  for (const topic of known.topics) {
    const at = topic.waits.indexOf(known);
    if (at >= 0) topic.waits.splice(at, 1);
  }
  conclude(node, wait);
}

function conclude(node: Node, { end }: TopicWait): void {
  switch (end.kind) {
    case 'client':
      answer(node, end.request, end.apiKey, end.response);
      break;
    case 'metadata':
      answerMetadata(node, end.wait);
      break;
    case 'offsetsTopic':
      answerFinding(node);
      break;
    case 'start':
      bootTopicsDone(node);
      break;
    case 'applied':
      changeApplied(node, end.change);
      break;
  }
}
