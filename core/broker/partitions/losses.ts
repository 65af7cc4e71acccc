/**
 * Says, loudly and where it happens, what a cluster has lost or may have lost: nothing else would tell the operator.
 *
 * A replica that comes to lead without having been in sync, or eligible, says from which offset on its log may lack
 * what had been committed. One that then cuts committed records to follow it says which (`replication/fetcher.ts`),
 * and a node on another disk than the cluster knows that its replicas begin anew
 * (`broker/control/directories.ts`). No state: the image.
 */
import type { Outbox } from '../../lib/world.ts';
import type { TopicDelta } from '../../metadata/draft-topics.ts';
import type { PartitionImage } from '../../metadata/image.ts';
import { partitionName } from '../checkpoints/files.ts';
import { type Fields, say } from '../say.ts';
import type { Node } from '../state.ts';

/** Looks for leads of this node that it came to by an unclean election. Costs nothing for other partitions. */
export function sayUncleanLeads(node: Node, { before, after, partitions }: TopicDelta, out: Outbox): void {
  if (before === null || after === null) return;
  for (const index of partitions) {
    const [was, is] = [before.partitions[index], after.partitions[index]];
    if (was === undefined || is === undefined || !isUncleanLead(node.nodeId, was, is)) continue;
    const partition = node.topics.byId.get(after.id)?.partitions[index];
    const fields: Fields = new Map<string, string | number>([
      ['partition', partitionName(after.name, index)],
      ['leaderEpoch', is.leaderEpoch],
      ['offset', partition?.log.state === 'open' ? partition.log.end : -1],
      ['inSyncBefore', was.isr.join(' ')],
      ['eligibleBefore', was.elr.join(' ')],
    ]);
    const isLastKnown = was.lastKnownElr.includes(node.nodeId);
    const text = isLastKnown
      ? 'who led last leads again, though it may have lost its tail: what was committed from this offset on may be lost'
      : 'an unclean election: this replica was not in sync, and what was committed from this offset on is lost';
    say(out, 'error', text, fields);
  }
}

function isUncleanLead(id: number, was: PartitionImage, is: PartitionImage): boolean {
  if (is.leader !== id || is.leaderEpoch === was.leaderEpoch || is.leaderRecoveryState === 0) return false;
  return !was.isr.includes(id) && !was.elr.includes(id);
}
