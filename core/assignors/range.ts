/**
 * The server's assignor `range`: each topic's partitions are cut into as many runs as members read it.
 *
 * Members stand in one order for every topic: static ones first, by instance id, then the others by member id. The
 * first members get one partition more where it does not come out even. So topics of as many partitions that the same
 * members read are cut alike, and equal partition numbers of them come to the same member: what joins them needs no
 * more. What members had before and where they run counts for nothing. Pure, no state.
 */
import { readersByTopic } from './readers.ts';
import { type AssignableMember, type AssignmentAnswer, type AssignmentQuestion, compareText } from './server-shapes.ts';

/** Assigns by ranges. */
export function assignRange({ members, topics }: AssignmentQuestion): AssignmentAnswer {
  const inOrder = [...members].sort(compareMembers);
  const answer: AssignmentAnswer = new Map(inOrder.map(({ memberId }) => [memberId, new Map()]));
  const topicIds = [...topics.keys()].sort(compareText);
  const readersOf = readersByTopic(inOrder);
  for (const topicId of topicIds) {
    const readers = readersOf.get(topicId);
    const count = topics.get(topicId)?.partitionCount ?? 0;
    if (readers === undefined) continue;
    const each = Math.floor(count / readers.length);
    const extras = count % readers.length;
    let next = 0;
    readers.forEach((m, i) => {
      const { memberId } = inOrder[m] as AssignableMember;
      const length = each + (i < extras ? 1 : 0);
      if (length > 0) answer.get(memberId)?.set(topicId, runOf(next, length));
      next += length;
    });
  }
  return answer;
}

function compareMembers(a: AssignableMember, b: AssignableMember): number {
  if (a.instanceId !== null && b.instanceId !== null) return compareText(a.instanceId, b.instanceId);
  if (a.instanceId !== null) return -1;
  if (b.instanceId !== null) return 1;
  return compareText(a.memberId, b.memberId);
}

function runOf(from: number, length: number): number[] {
  const run = new Array<number>(length);
  for (let i = 0; i < length; i++) run[i] = from + i;
  return run;
}
