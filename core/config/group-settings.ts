/**
 * Settings of groups: how long members may be silent, how large groups get, and the topic that remembers them. Data, no
 * state.
 */
import { choice, int, list, long } from './setting.ts';

const INT_MAX = '2147483647';

/** How groups and their topic are kept. */
export const GROUP_SETTINGS = {
  'group.min.session.timeout.ms': int({
    default: '6000',
    unit: 'ms',
    sentence: 'The shortest session that a member of a classic group may ask for.',
  }),
  'group.max.session.timeout.ms': int({
    default: '1800000',
    unit: 'ms',
    sentence: 'The longest session that a member of a classic group may ask for.',
  }),
  'group.initial.rebalance.delay.ms': int({
    default: '3000',
    unit: 'ms',
    min: 0,
    sentence: 'How long the first rebalance of a classic group waits for more members.',
  }),
  'group.max.size': int({
    default: INT_MAX,
    unit: 'count',
    min: 1,
    sentence: 'The most members of a classic group.',
  }),
  'group.coordinator.rebalance.protocols': list({
    default: 'classic,consumer,streams',
    choices: ['classic', 'consumer', 'share', 'streams'],
    sentence: 'Which protocols of groups are served; streams and share are not there yet, and classic always is.',
  }),
  'group.consumer.session.timeout.ms': int({
    default: '45000',
    unit: 'ms',
    min: 1,
    sentence: 'A member of a consumer group that is silent for so long is out of the group.',
  }),
  'group.consumer.min.session.timeout.ms': int({
    default: '45000',
    unit: 'ms',
    min: 1,
    sentence: 'The shortest session that a consumer group may be given by itself.',
  }),
  'group.consumer.max.session.timeout.ms': int({
    default: '60000',
    unit: 'ms',
    min: 1,
    sentence: 'The longest session that a consumer group may be given by itself.',
  }),
  'group.consumer.heartbeat.interval.ms': int({
    default: '5000',
    unit: 'ms',
    min: 1,
    sentence: 'How often a member of a consumer group is to be heard.',
  }),
  'group.consumer.min.heartbeat.interval.ms': int({
    default: '5000',
    unit: 'ms',
    min: 1,
    sentence: 'The shortest interval of heartbeats that a consumer group may be given by itself.',
  }),
  'group.consumer.max.heartbeat.interval.ms': int({
    default: '15000',
    unit: 'ms',
    min: 1,
    sentence: 'The longest interval of heartbeats that a consumer group may be given by itself.',
  }),
  'group.consumer.assignment.interval.ms': int({
    default: '1000',
    unit: 'ms',
    min: 0,
    sentence: 'How long a consumer group goes from one assignment to the next, at least.',
  }),
  'group.consumer.min.assignment.interval.ms': int({
    default: '0',
    unit: 'ms',
    min: 0,
    sentence: 'The shortest interval of assignments that a consumer group may be given by itself.',
  }),
  'group.consumer.max.assignment.interval.ms': int({
    default: '15000',
    unit: 'ms',
    min: 0,
    sentence: 'The longest interval of assignments that a consumer group may be given by itself.',
  }),
  'group.consumer.max.size': int({
    default: INT_MAX,
    unit: 'count',
    min: 1,
    sentence: 'The most members of a consumer group.',
  }),
  'group.consumer.assignors': list({
    default: 'uniform,range',
    min: 1,
    choices: ['uniform', 'range'],
    sentence: 'How partitions of a consumer group may be shared; the first is taken where its members name none.',
  }),
  'group.consumer.migration.policy': choice(['bidirectional', 'upgrade', 'downgrade', 'disabled'], {
    default: 'bidirectional',
    sentence: 'Which way a group may go between the classic and the consumer protocol while it has members.',
  }),
} as const;

/** How committed offsets are kept. */
export const OFFSETS_SETTINGS = {
  'offset.metadata.max.bytes': int({
    default: '4096',
    unit: 'bytes',
    sentence: 'The longest text that a client may put beside an offset.',
  }),
  'offsets.commit.timeout.ms': int({
    default: '5000',
    unit: 'ms',
    min: 1,
    sentence: 'A change of a group that its replicas have not taken within this is answered by an error.',
  }),
  'offsets.retention.minutes': int({
    default: '10080',
    unit: 'minutes',
    min: 1,
    sentence: 'Offsets of a group without members are forgotten after so long.',
  }),
  'offsets.retention.check.interval.ms': long({
    default: '600000',
    unit: 'ms',
    min: 1,
    sentence: 'How often offsets are looked at for their age.',
  }),
  'offsets.topic.num.partitions': int({
    default: '50',
    unit: 'count',
    min: 1,
    scope: 'cluster',
    sentence: 'Partitions of __consumer_offsets when it is made; not to be changed afterwards.',
  }),
  'offsets.topic.replication.factor': int({
    default: '3',
    unit: 'count',
    min: 1,
    max: 32767,
    scope: 'cluster',
    differs: 'a node that is a cluster of its own has 1, unless it is set',
    sentence: 'Replicas of __consumer_offsets when it is made; groups wait until there are as many brokers.',
  }),
  'offsets.topic.segment.bytes': int({
    default: '104857600',
    unit: 'bytes',
    min: 1,
    scope: 'cluster',
    sentence: 'The segment.bytes of __consumer_offsets when it is made.',
  }),
  'offsets.topic.compression.codec': int({
    default: '0',
    acts: false,
    sentence: 'How batches of __consumer_offsets are compressed.',
  }),
} as const;
