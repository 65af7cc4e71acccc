// What the Node programs share as members of groups; `grouping.ts` says what all members have to do.

// As short as brokers allow, so that nobody waits long for a member that is gone.
export const SESSION_TIMEOUT_MS = 6_000;
export const REBALANCE_TIMEOUT_MS = 10_000;
export const HEARTBEAT_INTERVAL_MS = 500;
export const COMMIT_INTERVAL_MS = 200;
export const RETRY_INTERVAL_MS = 200;
export const FETCH_WAIT_MS = 250;

/** What a member is told: the words of the command line after `member`. */
export function membershipOf([bootstrap, topic, group, assignor]) {
  return { brokers: bootstrap.split(','), topic, group, assignor };
}

/** Partitions of one topic by member, as Kafka's `range` and `roundrobin` share them out, for clients without these. */
export function share(assignor, memberIds, partitionCount) {
  const sorted = [...memberIds].sort();
  const partitions = Array.from({ length: partitionCount }, (_, partition) => partition);
  const least = Math.floor(partitionCount / sorted.length);
  const extra = partitionCount % sorted.length;
  const from = (place) => place * least + Math.min(place, extra);
  const isOf = {
    range: (place) => (partition) => partition >= from(place) && partition < from(place + 1),
    roundrobin: (place) => (partition) => partition % sorted.length === place,
  }[assignor];
  return new Map(sorted.map((memberId, place) => [memberId, partitions.filter(isOf(place))]));
}

/** Resolves when we are told to end. */
export const told = new Promise((resolve) => process.once('SIGTERM', resolve));
