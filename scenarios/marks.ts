/** Rare paths that a sweep of enough seeds must take, or it proves less than it seems to. Names as in `env.reached`. */

/** Seeds from which on the marks are required. */
export const REQUIRED_SEEDS_MIN = 200;

/** Marks that must be reached. */
export const REQUIRED_MARKS: readonly string[] = [
  'log.roll.size',
  'log.recovery.synced',
  'log.read.cold',
  'log.index.rebuilt',
  'log.cut_back',
  'log.recovery.torn_tail',
  'log.roll.index',
  'log.roll.time',
  // A topic was deleted, the node went down, and the name came again.
  'sim.admin.recreated_across_crash',
  // The node went down with a question of an administrator, and a description told later what had become of it.
  'sim.admin.lost_and_found',
  'raft.snapshot.written',
  'raft.opening.snapshot',
  'raft.opening.bad_snapshot',
  'raft.log.cut',
];
