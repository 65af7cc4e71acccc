/** What all client processes of a run share: the history that they write, and what an onlooker counts and knows. */
import { ErrorCode } from '../../core/protocol/errors.ts';
import { isQuestion, type TopicOperation } from '../../core/verify/administration.ts';
import type { History, Send } from '../../core/verify/history.ts';

/** A topic as administrators were last told of it. */
export interface BoardTopic {
  readonly topicId: string;
  readonly partitions: number;
}

/** Shared by all clients of one run. */
export interface Observer {
  readonly history: History;
  /** The world, as far as an observer looks at it. */
  readonly time: { readonly nowUs: number };
  /** Says that a rare path was taken. */
  readonly reached: (mark: string) => void;
  /** Says that a send is acknowledged. */
  readonly acknowledged: (send: Send) => void;
  /** Producers so far: each life of a producing client is another one. */
  producers: number;
  /** Batches that final readers saw and that held an acknowledged record. */
  acknowledgedBatches: number;
  /** Sends that are not answered. */
  openSends: number;
  /** Questions of administrators that are not answered. */
  openAdministrations: number;
  /** Topics that come and go, as far as they are believed to be there: where producers send. */
  readonly board: Map<string, BoardTopic>;
  /** Produce requests that were sent, with their lengths in front, where somebody repeats them (`repeating.ts`). */
  readonly requests: Uint8Array[];
}

/** An observer of nothing yet. */
export function createObserver(
  history: History,
  time: { readonly nowUs: number },
  reached: (mark: string) => void,
  acknowledged: (send: Send) => void = () => {},
): Observer {
  return {
    history,
    time,
    reached,
    acknowledged,
    producers: 0,
    acknowledgedBatches: 0,
    openSends: 0,
    openAdministrations: 0,
    board: new Map(),
    requests: [],
  };
}

/** Notes what a topic is believed to be; null for absent. */
export function setBoard(observer: Observer, topic: string, known: BoardTopic | null): void {
  if (known === null) observer.board.delete(topic);
  else observer.board.set(topic, known);
}

/** The slot of a partition that comes and goes. */
export function slotOf({ history }: Observer, topic: string, partition: number): number {
  return history.partitions.findIndex(
    (one) => one.isSlot === true && one.topic === topic && one.partition === partition,
  );
}

/** An operation was answered, or given up: marks what is rare about it. */
export function noteOperation({ history, reached }: Observer, operation: TopicOperation): void {
  const { topic, action, answer, startUs, doneUs } = operation;
  if (answer === null) return;
  const { operations } = history;
  const isDownBetween = (from: number, to: number): boolean => history.downsUs.some((us) => us >= from && us <= to);
  if (action.kind === 'create' && answer.error === ErrorCode.NONE) {
    const deletion = operations.findLast((one) => {
      return one.topic === topic && one.action.kind === 'delete' && one.answer?.error === ErrorCode.NONE;
    });
    if (deletion !== undefined && isDownBetween(deletion.startUs, doneUs)) reached('sim.admin.recreated_across_crash');
  }
  if (!isQuestion(action)) return;
  const lost = operations.findLast((one) => one.topic === topic && !isQuestion(one.action));
  const isLost = lost !== undefined && lost.unsureAttempts > 0 && lost.answer === null;
  if (isLost && lost.doneUs >= 0 && lost.doneUs < startUs && isDownBetween(lost.startUs, lost.doneUs)) {
    reached('sim.admin.lost_and_found');
  }
}
