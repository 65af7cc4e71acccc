/**
 * Notes how partitions have moved, each kind as a mark, so that a sweep says whether it has seen it. Looks at images as
 * the nodes apply them, and changes nothing.
 */
import type { PartitionImage } from '../core/metadata/image.ts';

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
  if (!is && after.replicas.length > before.replicas.length) marks.push('sim.move.grown');
  if (before.leader >= 0 && lost.includes(before.leader)) marks.push('sim.move.leader_left');
  return marks;
}

/** Whether those left that were to come. */
function isCancel({ addingReplicas, removingReplicas }: PartitionImage, { replicas }: PartitionImage): boolean {
  const hasLeft = addingReplicas.some((id) => !removingReplicas.includes(id) && !replicas.includes(id));
  return hasLeft || removingReplicas.some((id) => !addingReplicas.includes(id) && replicas.includes(id));
}
