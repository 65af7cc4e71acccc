/** What the settings of a node mean to its coordinators of groups. Pure, no state. */
import type { NodeConfig } from '../../config/settings.ts';
import type { GroupConfig } from '../../group/shapes.ts';

/**
 * How old what a regular expression means may get before it is looked at again, ms. Kafka has no public name for it.
 */
const REGEX_REFRESH_MS = 600_000;

/** The settings of groups. `recordSizeMax`: the largest record that the log takes, key and value, bytes. */
export function groupConfig(config: NodeConfig, recordSizeMax: number): GroupConfig {
  return {
    sessionTimeoutMinMs: config['group.min.session.timeout.ms'],
    sessionTimeoutMaxMs: config['group.max.session.timeout.ms'],
    initialRebalanceDelayMs: config['group.initial.rebalance.delay.ms'],
    sizeMax: config['group.max.size'],
    offsetMetadataSizeMax: config['offset.metadata.max.bytes'],
    offsetsRetentionMs: config['offsets.retention.minutes'] * 60_000,
    offsetsRetentionCheckIntervalMs: config['offsets.retention.check.interval.ms'],
    recordSizeMax,
    consumer: {
      sessionTimeoutMs: config['group.consumer.session.timeout.ms'],
      sessionTimeoutMinMs: config['group.consumer.min.session.timeout.ms'],
      sessionTimeoutMaxMs: config['group.consumer.max.session.timeout.ms'],
      heartbeatIntervalMs: config['group.consumer.heartbeat.interval.ms'],
      heartbeatIntervalMinMs: config['group.consumer.min.heartbeat.interval.ms'],
      heartbeatIntervalMaxMs: config['group.consumer.max.heartbeat.interval.ms'],
      assignmentIntervalMs: config['group.consumer.assignment.interval.ms'],
      assignmentIntervalMinMs: config['group.consumer.min.assignment.interval.ms'],
      assignmentIntervalMaxMs: config['group.consumer.max.assignment.interval.ms'],
      sizeMax: config['group.consumer.max.size'],
      assignors: config['group.consumer.assignors'],
      migrationPolicy: config['group.consumer.migration.policy'],
      regexRefreshIntervalMs: REGEX_REFRESH_MS,
    },
  };
}
