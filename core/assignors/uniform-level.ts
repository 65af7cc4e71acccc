/**
 * `uniform` where members read different topics, so that balance to within one may be impossible: everybody keeps what
 * it had, the rest goes to whoever has least, and single partitions are moved from one who has at least two more to one
 * who reads the topic, until no such move is left. Each move makes the sum of the squares smaller, so it ends.
 *
 * A round over a topic costs as much as it has partitions and readers, and each move as much as it has readers. Pure.
 */
import { type Board, type BoardTopic, isNear, NOBODY } from './uniform-board.ts';

/** Rounds over all topics in search of moves, at most: it has always ended long before. */
const ROUNDS_MAX = 1_000;

/** Deals out what is on the board. */
export function level(board: Board): void {
  for (const { owners, before } of board.topics) {
    for (let p = 0; p < owners.length; p++) {
      const m = before[p] as number;
      if (m !== NOBODY) give(board, owners, p, m);
    }
  }
  // Topics that few read come first: their readers have no choice.
  const fewFirst = [...board.topics].sort((a, b) => a.readers.length - b.readers.length);
  for (const one of fewFirst) {
    for (let p = 0; p < one.owners.length; p++) {
      if (one.owners[p] === NOBODY) give(board, one.owners, p, leastReader(board, one, p));
    }
  }
  for (let round = 0; round < ROUNDS_MAX && !isLevel(board); round++) {
    let moves = 0;
    for (const one of fewFirst) moves += levelTopic(board, one);
    if (moves === 0) return;
  }
}

/** Whether no two members differ by more than one. */
function isLevel({ counts }: Board): boolean {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let m = 0; m < counts.length; m++) {
    least = Math.min(least, counts[m] as number);
    most = Math.max(most, counts[m] as number);
  }
  return most - least < 2;
}

function give(board: Board, owners: Int32Array, p: number, m: number): void {
  const from = owners[p] as number;
  if (from !== NOBODY) board.counts[from] = (board.counts[from] as number) - 1;
  owners[p] = m;
  board.counts[m] = (board.counts[m] as number) + 1;
}

/** The reader that has least; of several, one that is near. */
function leastReader(board: Board, one: BoardTopic, p: number): number {
  const { counts } = board;
  const { readers, topic } = one;
  const hasRacks = topic.racks !== null;
  let least = readers[0] as number;
  for (let i = 1; i < readers.length; i++) {
    const m = readers[i] as number;
    const difference = (counts[m] as number) - (counts[least] as number);
    if (difference < 0) least = m;
    else if (hasRacks && difference === 0 && isNear(board, one, p, m) && !isNear(board, one, p, least)) least = m;
  }
  return least;
}

/** What one member has of a topic, the lowest number last: what it did not have before goes before the rest. */
interface Hand {
  readonly fresh: number[];
  readonly kept: number[];
}

/** Moves partitions of one topic while a reader has at least two fewer than one that has any. The number of moves. */
function levelTopic(board: Board, one: BoardTopic): number {
  const { owners, before } = one;
  if (!isUneven(board, one)) return 0;
  const hands = new Map<number, Hand>();
  for (let p = owners.length - 1; p >= 0; p--) put(hands, owners[p] as number, p, before);
  let moves = 0;
  for (; moves < owners.length; moves++) {
    const from = mostHand(board, hands);
    const hand = hands.get(from);
    const which = hand?.fresh.pop() ?? hand?.kept.pop();
    if (hand === undefined || which === undefined) return moves;
    const to = leastReader(board, one, which);
    if ((board.counts[from] as number) - (board.counts[to] as number) < 2) return moves;
    give(board, owners, which, to);
    if (hand.fresh.length + hand.kept.length === 0) hands.delete(from);
    put(hands, to, which, before);
  }
  return moves;
}

function put(hands: Map<number, Hand>, m: number, p: number, before: Int32Array): void {
  let hand = hands.get(m);
  if (hand === undefined) {
    hand = { fresh: [], kept: [] };
    hands.set(m, hand);
  }
  if (before[p] === m) hand.kept.push(p);
  else hand.fresh.push(p);
}

/** Whether any owner of the topic has at least two more than any reader. */
function isUneven({ counts }: Board, { owners, readers }: BoardTopic): boolean {
  let most = 0;
  for (let p = 0; p < owners.length; p++) most = Math.max(most, counts[owners[p] as number] as number);
  for (let i = 0; i < readers.length; i++) if ((counts[readers[i] as number] as number) <= most - 2) return true;
  return false;
}

/** The member with a hand that has most of all topics; of equals the first. */
function mostHand({ counts }: Board, hands: ReadonlyMap<number, Hand>): number {
  let most = NOBODY;
  for (const m of hands.keys()) {
    const difference = most === NOBODY ? 1 : (counts[m] as number) - (counts[most] as number);
    if (difference > 0 || (difference === 0 && m < most)) most = m;
  }
  return most;
}
