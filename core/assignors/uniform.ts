/**
 * The server's assignor `uniform`: every member gets as many partitions as every other, to within one, and keeps what
 * it had as far as that goes.
 *
 * Where all members read the same topics, each may have the same number, and as many as the division leaves over may
 * have one more. Then three rounds, each within these quotas: members keep what they had, near ones first; partitions
 * that are left go to members in a rack where they have a replica; the rest goes back to whoever had it, or round the
 * members. Balance comes before nearness, nearness before staying. Asked again with its own answer, it answers the
 * same: whoever still had room after the second round found nothing near to take, and finds nothing the next time.
 *
 * Where members read different topics, balance to within one may be impossible: there everybody keeps what it had, the
 * rest goes to whoever has least, and single partitions are moved from one who has at least two more to one who reads
 * the topic, until no such move is left. Each move makes the sum of the squares smaller, so it ends. Pure, no state.
 */
import type { AssignmentAnswer, AssignmentQuestion } from './server-shapes.ts';
import { answerOf, type Board, type BoardTopic, createBoard, hasRacks, isNear, NOBODY } from './uniform-board.ts';

/** Rounds over all topics in search of moves, at most: it has always ended long before. */
const ROUNDS_MAX = 1_000;

/** What may still be given away where all read the same. */
interface Quota {
  /** What everybody gets. */
  readonly each: number;
  /** How many may still get one more. */
  extras: number;
}

/** Assigns evenly. */
export function assignUniform(question: AssignmentQuestion): AssignmentAnswer {
  const board = createBoard(question);
  if (board.isEven) spread(board);
  else level(board);
  return answerOf(board);
}

function spread(board: Board): void {
  const memberCount = board.members.length;
  if (memberCount === 0) return;
  let total = 0;
  for (const { owners } of board.topics) total += owners.length;
  const quota = { each: Math.floor(total / memberCount), extras: total % memberCount };
  const isRackAware = hasRacks(board);
  keep(board, quota, isRackAware, false);
  keep(board, quota, isRackAware, true);
  if (isRackAware) {
    giveNear(board, quota);
    keep(board, quota, false, false);
    keep(board, quota, false, true);
  }
  goRound(board, quota);
}

/** Gives a partition to a member if its quota allows; `withExtra`: also if it needs one of those left over. */
function take(board: Board, quota: Quota, owners: Int32Array, p: number, m: number, withExtra: boolean): boolean {
  const count = board.counts[m] as number;
  if (count > quota.each) return false;
  if (count === quota.each) {
    if (!withExtra || quota.extras === 0) return false;
    quota.extras -= 1;
  }
  owners[p] = m;
  board.counts[m] = count + 1;
  return true;
}

/** Members keep what they had; with `nearOnly`, if it is near or if nothing of it could be. */
function keep(board: Board, quota: Quota, nearOnly: boolean, withExtra: boolean): void {
  for (const one of board.topics) {
    const { owners, before, topic } = one;
    for (let p = 0; p < owners.length; p++) {
      const m = before[p] as number;
      if (m === NOBODY || owners[p] !== NOBODY) continue;
      if (nearOnly && !isNear(board, one, p, m) && canBeNear(board, topic.racks?.[p], m)) continue;
      take(board, quota, owners, p, m, withExtra);
    }
  }
}

/** Whether nearness means anything for a partition with such racks and the member. */
function canBeNear(board: Board, racks: ReadonlySet<string> | undefined, m: number): boolean {
  return racks !== undefined && racks.size > 0 && board.members[m]?.rackId !== null;
}

/** Partitions that are left go to the member that has least of those in their racks. */
function giveNear(board: Board, quota: Quota): void {
  const inRack = new Map<string, number[]>();
  board.members.forEach(({ rackId }, m) => {
    if (rackId === null) return;
    const list = inRack.get(rackId);
    if (list === undefined) inRack.set(rackId, [m]);
    else list.push(m);
  });
  for (const { topic, owners } of board.topics) {
    for (let p = 0; p < owners.length; p++) {
      if (owners[p] !== NOBODY) continue;
      let least = NOBODY;
      for (const rack of topic.racks?.[p] ?? []) {
        for (const m of inRack.get(rack) ?? []) if (isLess(board, m, least)) least = m;
      }
      if (least !== NOBODY) take(board, quota, owners, p, least, true);
    }
  }
}

/** Whether a member has fewer partitions than another, or as many and comes first. */
function isLess(board: Board, m: number, than: number): boolean {
  if (than === NOBODY) return true;
  const difference = (board.counts[m] as number) - (board.counts[than] as number);
  return difference < 0 || (difference === 0 && m < than);
}

/** What is left goes round the members, so that the partitions of one topic are spread. */
function goRound(board: Board, quota: Quota): void {
  let turn = 0;
  const memberCount = board.members.length;
  for (const { owners } of board.topics) {
    for (let p = 0; p < owners.length; p++) {
      if (owners[p] !== NOBODY) continue;
      // The quotas add up to all partitions, so somebody has room within one round; at first without the extra ones.
      for (let tries = 0; tries < 2 * memberCount; tries++) {
        const m = turn;
        turn = (turn + 1) % memberCount;
        if (take(board, quota, owners, p, m, tries >= memberCount)) break;
      }
    }
  }
}

/** Where members read different topics. */
function level(board: Board): void {
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
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let moves = 0;
    for (const one of fewFirst) moves += levelTopic(board, one);
    if (moves === 0) return;
  }
}

function give(board: Board, owners: Int32Array, p: number, m: number): void {
  const from = owners[p] as number;
  if (from !== NOBODY) board.counts[from] = (board.counts[from] as number) - 1;
  owners[p] = m;
  board.counts[m] = (board.counts[m] as number) + 1;
}

/** The reader that has least; of several, one that is near. */
function leastReader(board: Board, one: BoardTopic, p: number): number {
  let least = one.readers[0] as number;
  for (const m of one.readers) {
    const difference = (board.counts[m] as number) - (board.counts[least] as number);
    if (difference < 0) least = m;
    else if (difference === 0 && !isNear(board, one, p, least) && isNear(board, one, p, m)) least = m;
  }
  return least;
}

/** Moves partitions of one topic while a reader has at least two fewer than one that has any. The number of moves. */
function levelTopic(board: Board, one: BoardTopic): number {
  const { owners, before } = one;
  let moves = 0;
  for (; moves < owners.length; moves++) {
    let from = NOBODY;
    let which = NOBODY;
    for (let p = 0; p < owners.length; p++) {
      const m = owners[p] as number;
      const more = from === NOBODY ? 1 : (board.counts[m] as number) - (board.counts[from] as number);
      // Of one member's partitions one that it did not have before goes first.
      const isFresher = more === 0 && m === from && before[p] !== m && before[which] === m;
      if (more <= 0 && !isFresher) continue;
      from = m;
      which = p;
    }
    if (which === NOBODY) return moves;
    const to = leastReader(board, one, which);
    if ((board.counts[from] as number) - (board.counts[to] as number) < 2) return moves;
    give(board, owners, which, to);
  }
  return moves;
}
