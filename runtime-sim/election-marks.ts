/**
 * Notes how leaders came to lead: from the in-sync set as a rule, and rarely otherwise; and how partitions moved. Each
 * kind is a mark, so that a sweep says whether it has seen it. Looks at images as the nodes apply them, and changes
 * nothing.
 */
import type { MetadataImage, PartitionImage } from '../core/metadata/image.ts';
import { topicById } from '../core/metadata/image.ts';
import { mapValues } from '../core/metadata/sharded-map.ts';
import { moveMarks } from './move-marks.ts';

/** The newest image that was looked at. */
export interface ElectionNotes {
  image: MetadataImage | null;
}

/** Nothing was seen. */
export function createElectionNotes(): ElectionNotes {
  return { image: null };
}

/** Looks at an image that a node has come to; an older one than is known is passed over. */
export function noteElections(notes: ElectionNotes, after: MetadataImage, reached: (mark: string) => void): void {
  const before = notes.image;
  if (before === after || (before !== null && after.provenance.offset <= before.provenance.offset)) return;
  notes.image = after;
  if (before === null || before.topics === after.topics) return;
  for (const { id, partitions } of mapValues(after.topics.byId)) {
    const known = topicById(before, id)?.partitions ?? [];
    for (const [index, partition] of partitions.entries()) {
      const earlier = known[index];
      if (earlier === undefined || earlier === partition) continue;
      const mark = markOf(earlier, partition);
      if (mark !== null) reached(mark);
      for (const move of moveMarks(earlier, partition)) reached(move);
    }
  }
}

function markOf(before: PartitionImage, { leader, leaderRecoveryState }: PartitionImage): string | null {
  if (leader < 0 || leader === before.leader || before.isr.includes(leader)) return null;
  if (before.elr.includes(leader)) return 'sim.elected.eligible';
  if (leaderRecoveryState === 0) return null; // More than one change at once.
  return before.lastKnownElr.includes(leader) ? 'sim.elected.last_known' : 'sim.elected.unclean';
}
