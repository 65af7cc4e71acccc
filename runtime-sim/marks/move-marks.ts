/**
 * Notes how partitions have moved, each kind as a mark, so that a sweep says whether it has seen it. Looks at images as
 * the nodes apply them, and changes nothing.
 */
import type { PartitionImage } from '../../core/metadata/image.ts';

function isMoving({ addingReplicas, removingReplicas }: PartitionImage): boolean {
  return addingReplicas.length > 0 || removingReplicas.length > 0;
}

/** What has become of the moves of a partition between two images. */
export function moveMarks(before: PartitionImage, after: PartitionImage): string[] {
  if (before.replicas === after.replicas && before.addingReplicas === after.addingReplicas) return [];
  const marks: string[] = [];
  const [was, is] = [isMoving(before), isMoving(after)];
  if (!was && is) marks.push('sim.move.begun');
  if (was && is) marks.push('sim.move.turned');
  const lost = before.replicas.filter((id) => !after.replicas.includes(id));
  if (was && !is) marks.push(isCancel(before, after) ? 'sim.move.cancelled' : 'sim.move.ended');
  if (!was && !is && lost.length > 0) marks.push('sim.move.ended_at_once');
  if (!is) marks.push(...factorMarks(originOf(before).length, after.replicas.length));
  if (before.leader >= 0 && lost.includes(before.leader)) marks.push('sim.move.leader_left');
  return marks;
}

/** Where a partition was when its move began: those that are to come are among its replicas already. */
function originOf({ replicas, addingReplicas }: PartitionImage): readonly number[] {
  return replicas.filter((id) => !addingReplicas.includes(id));
}

/** A partition that rests has more replicas than it had when it last rested, or fewer. */
function factorMarks(before: number, after: number): readonly string[] {
  if (after === before) return [];
  return [after > before ? 'sim.move.grown' : 'sim.move.shrunk'];
}

/** Whether those left that were to come. */
function isCancel({ addingReplicas, removingReplicas }: PartitionImage, { replicas }: PartitionImage): boolean {
  const hasLeft = addingReplicas.some((id) => !removingReplicas.includes(id) && !replicas.includes(id));
  return hasLeft || removingReplicas.some((id) => !addingReplicas.includes(id) && replicas.includes(id));
}
