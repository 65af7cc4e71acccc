/** Every scenario, in the order in which `sim list` shows them. A new one is a file and a line here. */
import type { Scenario } from '../runtime-sim/scenario.ts';
import { ADMINISTRATION } from './administration.ts';
import { BIT_ROT } from './bit-rot.ts';
import { CALM } from './calm.ts';
import { CLEAN_RESTART } from './clean-restart.ts';
import { CRASH_IDEMPOTENT } from './crash-idempotent.ts';
import { CRASH_IN_RECOVERY } from './crash-in-recovery.ts';
import { CRASH_PLAIN } from './crash-plain.ts';
import { ELECTION_ON_REQUEST } from './election-on-request.ts';
import { FAILED_SYNC } from './failed-sync.ts';
import { FULL_DISK } from './full-disk.ts';
import { GRACEFUL_DEGRADATION } from './graceful-degradation.ts';
import { GROUPS_SHARE } from './groups-share.ts';
import { LATE_DUPLICATES } from './late-duplicates.ts';
import { LONG_ABSENCE } from './long-absence.ts';
import { METADATA_POWER_LOSS } from './metadata-power-loss.ts';
import { METADATA_SNAPSHOTS } from './metadata-snapshots.ts';
import { PARTITIONS_MOVE } from './partitions-move.ts';
import { POWER_LOSS } from './power-loss.ts';
import { RACK_LOSS } from './rack-loss.ts';
import { RECREATE_UNDER_LOAD } from './recreate-under-load.ts';
import { RESETS_AND_CUTS } from './resets-and-cuts.ts';
import { ROLL_AND_RESTART } from './roll-and-restart.ts';
import { ROLLING_RESTART } from './rolling-restart.ts';
import { SLOW_DISK } from './slow-disk.ts';
import { SPLIT_BRAIN } from './split-brain.ts';
import { THREE_CALM } from './three-calm.ts';
import { THREE_CONTROLLER_LOSS } from './three-controller-loss.ts';
import { THREE_CRASH } from './three-crash.ts';
import { THREE_DISK_SWAPS } from './three-disk-swaps.ts';
import { THREE_GROUPS } from './three-groups.ts';
import { THREE_LATE_MOVES } from './three-late-moves.ts';
import { THREE_LATE_WORDS } from './three-late-words.ts';
import { THREE_PARTITIONS } from './three-partitions.ts';
import { THREE_POOR_WIRE } from './three-poor-wire.ts';
import { THREE_STRAY_WRITES } from './three-stray-writes.ts';
import { THREE_SWARM } from './three-swarm.ts';
import { THREE_TURNS } from './three-turns.ts';
import { THREE_YOUNG_TOPICS } from './three-young-topics.ts';
import { TWO_SIDES } from './two-sides.ts';
import { UNCLEAN_ELECTION } from './unclean-election.ts';
import { UNLIMITED_ALONE, UNLIMITED_FIVE, UNLIMITED_SWAPS, UNLIMITED_WIRE, UNLIMITED_WRITES } from './unlimited.ts';
import { VOTERS_COME_AND_GO } from './voters-come-and-go.ts';

/** All scenarios. Only append: a seed draws by place. */
export const SCENARIOS: readonly Scenario[] = [
  CRASH_IDEMPOTENT,
  CRASH_PLAIN,
  POWER_LOSS,
  CRASH_IN_RECOVERY,
  FULL_DISK,
  FAILED_SYNC,
  ROLL_AND_RESTART,
  BIT_ROT,
  RESETS_AND_CUTS,
  CLEAN_RESTART,
  SLOW_DISK,
  CALM,
  ADMINISTRATION,
  RECREATE_UNDER_LOAD,
  METADATA_POWER_LOSS,
  METADATA_SNAPSHOTS,
  ROLLING_RESTART,
  GRACEFUL_DEGRADATION,
  SPLIT_BRAIN,
  THREE_CONTROLLER_LOSS,
  THREE_CALM,
  THREE_CRASH,
  THREE_PARTITIONS,
  RACK_LOSS,
  UNCLEAN_ELECTION,
  ELECTION_ON_REQUEST,
  LONG_ABSENCE,
  LATE_DUPLICATES,
  THREE_SWARM,
  THREE_DISK_SWAPS,
  THREE_POOR_WIRE,
  THREE_STRAY_WRITES,
  PARTITIONS_MOVE,
  VOTERS_COME_AND_GO,
  GROUPS_SHARE,
  THREE_GROUPS,
  THREE_LATE_WORDS,
  THREE_LATE_MOVES,
  THREE_TURNS,
  THREE_YOUNG_TOPICS,
  TWO_SIDES,
];

/**
 * Stories in which disks and network break their word, whatever is promised. A seed draws one of them where
 * `--unlimited` asks for it. Only append.
 */
export const UNLIMITED_SCENARIOS: readonly Scenario[] = [
  UNLIMITED_SWAPS,
  UNLIMITED_WRITES,
  UNLIMITED_FIVE,
  UNLIMITED_WIRE,
  UNLIMITED_ALONE,
];

/**
 * Stories that wait for the nodes to be able to do what they tell. No seed draws them and no list shows them; they are
 * played by their names. One that holds moves to the end of the list above.
 */
export const WAITING_SCENARIOS: readonly Scenario[] = [];
