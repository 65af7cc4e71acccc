/** What Apache Kafka demands of the settings of groups when they are seen together. Pure, no state. */
import type { Fail } from './quorum-rules.ts';
import type { NodeConfig } from './settings.ts';

type NumberName = { [N in keyof NodeConfig]: NodeConfig[N] extends number ? N : never }[keyof NodeConfig];

/** A setting of a group, and the least and the most that a group may be given by itself. */
const BOUNDED: readonly (readonly [value: NumberName, least: NumberName, most: NumberName])[] = [
  [
    'group.consumer.session.timeout.ms',
    'group.consumer.min.session.timeout.ms',
    'group.consumer.max.session.timeout.ms',
  ],
  [
    'group.consumer.heartbeat.interval.ms',
    'group.consumer.min.heartbeat.interval.ms',
    'group.consumer.max.heartbeat.interval.ms',
  ],
  [
    'group.consumer.assignment.interval.ms',
    'group.consumer.min.assignment.interval.ms',
    'group.consumer.max.assignment.interval.ms',
  ],
];

/** Tells `fail` which rules are broken. */
export function checkGroupRules(config: NodeConfig, fail: Fail): void {
  for (const [value, least, most] of BOUNDED) {
    if (config[most] < config[least]) fail(most, `${most} must be at least ${least} (${config[least]}).`);
    else if (config[value] < config[least]) fail(value, `${value} must be at least ${least} (${config[least]}).`);
    else if (config[value] > config[most]) fail(value, `${value} must be at most ${most} (${config[most]}).`);
  }
  const [heartbeat, session] = ['group.consumer.heartbeat.interval.ms', 'group.consumer.session.timeout.ms'] as const;
  if (config[heartbeat] >= config[session]) fail(heartbeat, `${heartbeat} must be less than ${session}.`);
}
