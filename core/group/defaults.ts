/**
 * Apache Kafka 4.4's defaults for groups: what a coordinator goes by while it loads, and what tests begin with. Data.
 */
import type { GroupConfig } from './shapes.ts';

/** The defaults. */
export const GROUP_DEFAULTS: GroupConfig = {
  sessionTimeoutMinMs: 6_000,
  sessionTimeoutMaxMs: 1_800_000,
  initialRebalanceDelayMs: 3_000,
  sizeMax: 2_147_483_647,
  offsetMetadataSizeMax: 4_096,
  offsetsRetentionMs: 7 * 24 * 3_600_000,
  offsetsRetentionCheckIntervalMs: 600_000,
  recordSizeMax: 1_000_000,
  consumer: {
    sessionTimeoutMs: 45_000,
    sessionTimeoutMinMs: 45_000,
    sessionTimeoutMaxMs: 60_000,
    heartbeatIntervalMs: 5_000,
    heartbeatIntervalMinMs: 5_000,
    heartbeatIntervalMaxMs: 15_000,
    assignmentIntervalMs: 1_000,
    assignmentIntervalMinMs: 0,
    assignmentIntervalMaxMs: 15_000,
    sizeMax: 2_147_483_647,
    assignors: ['uniform', 'range'],
    migrationPolicy: 'bidirectional',
    regexRefreshIntervalMs: 600_000,
  },
};
