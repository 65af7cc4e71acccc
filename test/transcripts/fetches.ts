/** Fetches and batches of records as transcripts show them. */
import { baseOffset, dataViewOf, leaderEpoch, nextOffset } from '../../core/protocol/batch.ts';
import { errorName } from '../../core/protocol/errors.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { splitBatches } from '../../core/raft/batches.ts';

type Asked = RequestInputOf<1>['topics'][number]['partitions'][number];
/** As it is read, or as it is given to be written: then records are in parts. */
type Found = Omit<ResponseOf<1>['responses'][number]['partitions'][number], 'records'> & {
  readonly records: Uint8Array | readonly Uint8Array[] | null;
};

/** What is fetched. */
export function fetchText({ fetchOffset, lastFetchedEpoch, currentLeaderEpoch }: Asked): string {
  const behind = lastFetchedEpoch === undefined || lastFetchedEpoch < 0 ? '' : ` behind epoch ${lastFetchedEpoch}`;
  return `Fetch from ${fetchOffset}${behind}, in epoch ${currentLeaderEpoch}`;
}

/** What the fetch is answered with. */
export function fetchedText({ errorCode, currentLeader, divergingEpoch, snapshotId, records, ...rest }: Found): string {
  if (errorCode !== 0) {
    const { leaderId, leaderEpoch: epoch } = currentLeader;
    return `${errorName(errorCode)}${leaderId < 0 ? '' : `: ${leaderId} leads epoch ${epoch}`}`;
  }
  if (divergingEpoch.endOffset >= 0)
    return `diverging: epoch ${divergingEpoch.epoch} ends at ${divergingEpoch.endOffset}`;
  if (snapshotId.endOffset >= 0) return `the snapshot ${snapshotId.endOffset}-${snapshotId.epoch} comes first`;
  const batches = splitBatches(records === null ? [] : 'buffer' in records ? [records] : records);
  const texts = batches.map((batch) => `${offsetsOf(batch)} of epoch ${epochOf(batch)}`);
  return `${texts.length === 0 ? '' : `records ${texts.join(', ')}; `}high watermark ${rest.highWatermark}`;
}

/** The offsets of one batch: `5` or `5-7`. */
export function offsetsOf(batch: Uint8Array): string {
  const view = dataViewOf(batch);
  const [first, last] = [baseOffset(view, 0), nextOffset(view, 0) - 1];
  return first === last ? `${first}` : `${first}-${last}`;
}

/** The leader epoch of one batch. */
export function epochOf(batch: Uint8Array): number {
  return leaderEpoch(dataViewOf(batch), 0);
}
