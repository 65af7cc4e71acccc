/**
 * From batches of records to images: one image a batch, save that what stands between the records that begin and end a
 * transaction (KIP-868) shows as one change, however many batches it spans, or not at all.
 *
 * State: the last image, and the draft of an open transaction. A crash loses both; the log gives them back.
 */
import { applyRecord, draftImage, type MetadataDelta, type MetadataDraft, publishDraft } from './draft.ts';
import { EMPTY_IMAGE, type MetadataImage, type Provenance } from './image.ts';
import { createPartitionPool, type PartitionPool } from './partition-pool.ts';
import type { MetadataRecord } from './records.ts';

/** What has been loaded so far. */
export interface Loader {
  image: MetadataImage;
  /** The draft of a transaction that has begun and not ended. */
  transaction: MetadataDraft | null;
  /** Of all its drafts. */
  readonly pool: PartitionPool;
}

/** A loader that stands at an image: of a snapshot, or of the empty log. */
export function createLoader(image: MetadataImage = EMPTY_IMAGE): Loader {
  return { image, transaction: null, pool: createPartitionPool() };
}

/** What a batch changed, or why it does not fit. */
export type Loaded = { readonly deltas: readonly MetadataDelta[] } | { readonly problem: string };

/**
 * Replays one committed batch. `provenance` names its last record. Usually one delta comes of it: none inside of a
 * transaction, more if one begins or ends in the middle. After a problem the loader is of no use: the node stops.
 */
export function loadBatch(loader: Loader, records: Iterable<MetadataRecord>, provenance: Provenance): Loaded {
  const deltas: MetadataDelta[] = [];
  let draft = loader.transaction ?? draftImage(loader.image, loader.pool);
  let hasPlain = false;
  let isEmpty = true;
  const publish = (): string | null => {
    const delta = publishDraft(draft, provenance);
    if (typeof delta === 'string') return delta;
    deltas.push(delta);
    loader.image = delta.after;
    return null;
  };
  for (const record of records) {
    let problem: string | null = null;
    isEmpty = false;
    if (record.kind === 'BeginTransactionRecord') {
      if (loader.transaction !== null) return { problem: 'A metadata transaction begins inside of another.' };
      if (hasPlain) problem = publish();
      draft = draftImage(loader.image, loader.pool);
      loader.transaction = draft;
      hasPlain = false;
    } else if (record.kind === 'EndTransactionRecord' || record.kind === 'AbortTransactionRecord') {
      if (loader.transaction === null) return { problem: 'A metadata transaction ends that has not begun.' };
      if (record.kind === 'EndTransactionRecord') problem = publish();
      loader.transaction = null;
      draft = draftImage(loader.image, loader.pool);
      hasPlain = record.kind === 'AbortTransactionRecord';
    } else {
      problem = applyRecord(draft, record);
      hasPlain = true;
    }
    if (problem !== null) return { problem };
  }
  if (loader.transaction === null && (hasPlain || isEmpty)) {
    const problem = publish();
    if (problem !== null) return { problem };
  }
  return { deltas };
}
