/**
 * Partitions and lists that were met lately, so that equal ones are one object in an image.
 *
 * A cluster places its partitions by a pattern: of a hundred thousand on fifty brokers a few thousand differ, and when
 * a broker fails, what becomes of equal ones is equal again. An image is held for as long as a node lives, so each of
 * them once is a fraction of the memory. Who shares what changes no image: nothing in one is ever written to.
 *
 * A pool has one writer, who hands it from draft to draft. It is a table by hash in which the newer takes the older
 * one's place, so that it keeps no more than SLOTS_MAX of what the image may have dropped; it begins small and grows
 * while places are fought over. Who forgets it loses nothing but sharing. Plain data.
 */
import type { PartitionImage } from './image.ts';

/** One table. */
interface Table<T> {
  /** None before the first, then a power of two. */
  slots: (T | undefined)[];
  /** How often something took the place of another since the table grew last. */
  displaced: number;
}

/** What one writer has met. */
export interface PartitionPool {
  readonly partitions: Table<PartitionImage>;
  readonly brokers: Table<readonly number[]>;
  readonly directories: Table<readonly string[]>;
}

/** Slots of a table at first, and at most. */
const SLOTS_MIN = 64;
const SLOTS_MAX = 16_384;

/** Nothing was met. */
export function createPartitionPool(): PartitionPool {
  return {
    partitions: { slots: [], displaced: 0 },
    brokers: { slots: [], displaced: 0 },
    directories: { slots: [], displaced: 0 },
  };
}

/** A partition that was met and is equal to this one; undefined if none is remembered. */
export function knownPartition({ partitions }: PartitionPool, partition: PartitionImage): PartitionImage | undefined {
  const { slots } = partitions;
  if (slots.length === 0) return undefined;
  const known = slots[hashOfPartition(partition) & (slots.length - 1)];
  return known !== undefined && isSamePartition(known, partition) ? known : undefined;
}

/** Remembers a partition. */
export function rememberPartition({ partitions }: PartitionPool, partition: PartitionImage): void {
  remember(partitions, partition, hashOfPartition);
}

/** An equal list of brokers that was met, or else a copy of this one: what was read item by item has room for more. */
export function pooledBrokers({ brokers }: PartitionPool, list: readonly number[]): readonly number[] {
  return pooledList(brokers, list, hashOfBrokers);
}

/** The same for log directories. */
export function pooledDirectories({ directories }: PartitionPool, list: readonly string[]): readonly string[] {
  return pooledList(directories, list, hashOfDirectories);
}

function pooledList<T>(
  table: Table<readonly T[]>,
  list: readonly T[],
  hashOf: (list: readonly T[]) => number,
): readonly T[] {
  const { slots } = table;
  const known = slots.length === 0 ? undefined : slots[hashOf(list) & (slots.length - 1)];
  if (known !== undefined && isSameList(known, list)) return known;
  const copy = list.slice();
  remember(table, copy, hashOf);
  return copy;
}

function remember<T>(table: Table<T>, item: T, hashOf: (item: T) => number): void {
  if (table.slots.length === 0) table.slots = emptySlots(SLOTS_MIN);
  else if (table.displaced >= table.slots.length && table.slots.length < SLOTS_MAX) grow(table, hashOf);
  const slot = hashOf(item) & (table.slots.length - 1);
  if (table.slots[slot] !== undefined) table.displaced += 1;
  table.slots[slot] = item;
}

function grow<T>(table: Table<T>, hashOf: (item: T) => number): void {
  const slots = emptySlots<T>(table.slots.length * 2);
  for (const item of table.slots) if (item !== undefined) slots[hashOf(item) & (slots.length - 1)] = item;
  table.slots = slots;
  table.displaced = 0;
}

function emptySlots<T>(count: number): (T | undefined)[] {
  return new Array<T | undefined>(count).fill(undefined);
}

function mixed(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}

/** Brings what differs above down to where slots are counted. */
function folded(hash: number): number {
  return hash ^ (hash >>> 15);
}

function hashOfBrokers(list: readonly number[]): number {
  let hash = list.length;
  for (let i = 0; i < list.length; i++) hash = mixed(hash, list[i] as number);
  return folded(hash);
}

function hashOfDirectories(list: readonly string[]): number {
  let hash = list.length;
  for (let i = 0; i < list.length; i++) {
    const name = list[i] as string;
    for (let at = 0; at < name.length; at++) hash = mixed(hash, name.charCodeAt(at));
  }
  return folded(hash);
}

function hashOfPartition({ replicas, isr, leader, leaderEpoch, partitionEpoch }: PartitionImage): number {
  let hash = mixed(mixed(leader, leaderEpoch), partitionEpoch);
  for (let i = 0; i < replicas.length; i++) hash = mixed(hash, replicas[i] as number);
  if (isr !== replicas) for (let i = 0; i < isr.length; i++) hash = mixed(hash, isr[i] as number);
  return folded(hash);
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function isSamePartition(a: PartitionImage, b: PartitionImage): boolean {
  return (
    a.leader === b.leader &&
    a.leaderEpoch === b.leaderEpoch &&
    a.partitionEpoch === b.partitionEpoch &&
    a.leaderRecoveryState === b.leaderRecoveryState &&
    isSameList(a.replicas, b.replicas) &&
    isSameList(a.isr, b.isr) &&
    isSameList(a.elr, b.elr) &&
    isSameList(a.lastKnownElr, b.lastKnownElr) &&
    isSameList(a.removingReplicas, b.removingReplicas) &&
    isSameList(a.addingReplicas, b.addingReplicas) &&
    isSameList(a.directories, b.directories)
  );
}
