/**
 * Which partitions a checkpoint file may hold lines of, in little memory: most topics have lines of all partitions from
 * 0 on, and cost one number. Plain data; a crash forgets it, and the next start finds it in the files.
 */
import { partitionName } from './files.ts';

/** Folder names. Invariant: what `upTo` covers need not be in `others`. */
export interface LineNames {
  /** Topic -> its partitions from 0 to below this number are in. */
  readonly upTo: Map<string, number>;
  /** The rest, as their folders are called. */
  readonly others: Set<string>;
}

/** No names. */
export function createLineNames(): LineNames {
  return { upTo: new Map(), others: new Set() };
}

/** Adds a partition. Cheapest in ascending order. */
export function addLineName(names: LineNames, topic: string, partition: number): void {
  const upTo = names.upTo.get(topic) ?? 0;
  if (partition === upTo) names.upTo.set(topic, upTo + 1);
  else if (partition > upTo) names.others.add(partitionName(topic, partition));
}

/** Whether the partition whose folder is called `name` is in. */
export function hasLineName(names: LineNames, name: string): boolean {
  const dash = name.lastIndexOf('-');
  const upTo = names.upTo.get(name.slice(0, dash)) ?? 0;
  return Number(name.slice(dash + 1)) < upTo || names.others.has(name);
}

/** Adds all of `more`. */
export function addLineNames(names: LineNames, more: LineNames): void {
  for (const [topic, upTo] of more.upTo) {
    if (upTo > (names.upTo.get(topic) ?? 0)) names.upTo.set(topic, upTo);
  }
  for (const other of more.others) names.others.add(other);
}
