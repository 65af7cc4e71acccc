/**
 * Who is known to have all that is committed of a partition (KIP-966), by the rule and not by what a controller has
 * made of it: whoever is in sync, or was when fewer came to be in sync than must be, for nothing is committed without
 * them since; and was not shut down uncleanly since. A controller that forgets one of these excuses nothing.
 *
 * Plain data; pure.
 */

/** Who was known, by the state of the partition that was seen last. */
export interface Known {
  /** The id of the topic. */
  readonly incarnation: string;
  readonly partitionEpoch: number;
  readonly ids: readonly number[];
}

/** A state of a partition, as the metadata has it. */
export interface PartitionTold {
  readonly incarnation: string;
  readonly partitionEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  readonly elr: readonly number[];
}

/** Who is known from this state on. Where states were missed, what the newest one says is believed. */
export function knownAfter(
  before: Known | undefined,
  told: PartitionTold,
  inSyncMin: number,
  isSure: (id: number) => boolean,
): Known {
  const { incarnation, partitionEpoch, replicas, isr, elr } = told;
  const isNext = before?.incarnation === incarnation && partitionEpoch <= before.partitionEpoch + 1;
  const stays = isNext && isr.length < inSyncMin ? before.ids : [];
  const ids = replicas.filter((id) => [...isr, ...elr, ...stays].includes(id) && isSure(id));
  return { incarnation, partitionEpoch, ids };
}

/** The same without one that was shut down uncleanly. */
export function knownWithout(known: Known, id: number): Known {
  return { ...known, ids: known.ids.filter((one) => one !== id) };
}
