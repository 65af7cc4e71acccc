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
 * Where members read different topics it goes another way: `uniform-level.ts`. Pure, no state.
 */
import type { AssignmentAnswer, AssignmentQuestion } from './server-shapes.ts';
import { answerOf, type Board, createBoard, hasRacks, isNear, NOBODY } from './uniform-board.ts';
import { level } from './uniform-level.ts';

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
