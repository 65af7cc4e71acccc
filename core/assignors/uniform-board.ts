/**
 * The board on which `uniform` is played: who has which partition so far, and who had it before.
 *
 * Members and topics are numbers here, in an order of their own ids. Invariants: `counts[m]` is the number of
 * partitions that `owners` says are m's; an owner reads the topic. Lives for one assignment.
 */
import { readersByTopic } from './readers.ts';
import {
  type AssignableMember,
  type AssignableTopic,
  type AssignmentAnswer,
  type AssignmentQuestion,
  compareText,
} from './server-shapes.ts';

/** Nobody's. */
export const NOBODY = -1;

/** A topic on the board. */
export interface BoardTopic {
  readonly topic: AssignableTopic;
  /** The members that read it, ascending. */
  readonly readers: readonly number[];
  /** The member of each partition, by partition. */
  readonly owners: Int32Array;
  /** The member that each partition was with until now, if it still reads the topic. */
  readonly before: Int32Array;
}

/** The board. */
export interface Board {
  readonly members: readonly AssignableMember[];
  readonly topics: readonly BoardTopic[];
  readonly counts: Int32Array;
  /** Whether all members read the same topics. */
  readonly isEven: boolean;
}

/** Sets up the board, with nothing given away. */
export function createBoard(question: AssignmentQuestion): Board {
  const members = [...question.members].sort((a, b) => compareText(a.memberId, b.memberId));
  const readers = readersByTopic(members);
  const topics: BoardTopic[] = [];
  for (const topicId of [...question.topics.keys()].sort(compareText)) {
    const topic = question.topics.get(topicId);
    const mine = readers.get(topicId);
    if (topic === undefined || mine === undefined) continue;
    const owners = new Int32Array(topic.partitionCount).fill(NOBODY);
    topics.push({ topic, readers: mine, owners, before: before(members, mine, topic) });
  }
  const isEven = topics.every((one) => one.readers.length === members.length);
  return { members, topics, counts: new Int32Array(members.length), isEven };
}

/** Who had each partition; where two claim one, the first in order. */
function before(members: readonly AssignableMember[], readers: readonly number[], topic: AssignableTopic): Int32Array {
  const owners = new Int32Array(topic.partitionCount).fill(NOBODY);
  for (const m of readers) {
    for (const partition of members[m]?.assigned.get(topic.topicId) ?? []) {
      if (partition < owners.length && owners[partition] === NOBODY) owners[partition] = m;
    }
  }
  return owners;
}

/** Whether a member and a replica of the partition are known to be in one rack. */
export function isNear(board: Board, { topic }: BoardTopic, partition: number, m: number): boolean {
  const rackId = board.members[m]?.rackId ?? null;
  return rackId !== null && topic.racks?.[partition]?.has(rackId) === true;
}

/** Whether it matters to anybody where members run. */
export function hasRacks(board: Board): boolean {
  return board.members.some(({ rackId }) => rackId !== null) && board.topics.some(({ topic }) => topic.racks !== null);
}

/** Reads the answer off the board. */
export function answerOf(board: Board): AssignmentAnswer {
  const answer: AssignmentAnswer = new Map(board.members.map(({ memberId }) => [memberId, new Map()]));
  for (const { topic, owners } of board.topics) {
    for (let partition = 0; partition < owners.length; partition++) {
      const member = board.members[owners[partition] as number];
      const mine = member === undefined ? undefined : answer.get(member.memberId);
      if (mine === undefined) continue;
      const list = mine.get(topic.topicId);
      if (list === undefined) mine.set(topic.topicId, [partition]);
      else list.push(partition);
    }
  }
  return answer;
}
