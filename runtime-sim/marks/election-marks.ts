/**
 * Notes how leaders came to lead: from the in-sync set as a rule, and rarely otherwise. Each kind is a mark, so that a
 * sweep says whether it has seen it. Looks at images as the nodes apply them, and changes nothing. What it sees of
 * partitions that move is in `move-marks.ts`.
 *
 * Which leads began by an unclean election is remembered, for whoever judges what was lost by it. Nothing was lost by
 * the election of the last known leader: it was in sync, and what it had acknowledged was on its disk.
 */
import type { MetadataImage, PartitionImage } from '../../core/metadata/image.ts';
import { topicById } from '../../core/metadata/image.ts';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { moveMarks } from './move-marks.ts';

/** The newest image that was looked at. */
export interface ElectionNotes {
  image: MetadataImage | null;
  /** Topics allow unclean elections, or an operator has asked for one: then they may lose something. */
  isUncleanAllowed: boolean;
  /** Leads that began by one: see `leadKey`. */
  readonly unclean: Set<string>;
}

/** Nothing was seen. */
export function createElectionNotes(isUncleanAllowed: boolean): ElectionNotes {
  return { image: null, isUncleanAllowed, unclean: new Set() };
}

/** Names a lead of a partition. */
export function leadKey(topicId: string, partition: number, leaderEpoch: number): string {
  return `${topicId}-${partition}/${leaderEpoch}`;
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
      for (const move of moveMarks(earlier, partition)) reached(move);
      if (mark === null) continue;
      reached(mark);
      if (mark === UNCLEAN) notes.unclean.add(leadKey(id, index, partition.leaderEpoch));
    }
  }
}

const UNCLEAN = 'sim.elected.unclean';

function markOf(before: PartitionImage, { leader, leaderRecoveryState }: PartitionImage): string | null {
  if (leader < 0 || leader === before.leader || before.isr.includes(leader)) return null;
  if (before.elr.includes(leader)) return 'sim.elected.eligible';
  if (leaderRecoveryState === 0) return null; // More than one change at once.
  return before.lastKnownElr.includes(leader) ? 'sim.elected.last_known' : UNCLEAN;
}
