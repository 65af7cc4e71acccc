/**
 * Settings of replicas: how a broker follows others, and which followers count as in sync. Data, no state.
 */
import { int, long, string } from './setting.ts';

/** How replicas follow. */
export const REPLICA_SETTINGS = {
  'replica.lag.time.max.ms': long({
    default: '30000',
    unit: 'ms',
    min: 1,
    sentence: 'A follower that has not caught up for so long leaves the in-sync set.',
  }),
  'replica.fetch.wait.max.ms': int({
    default: '500',
    unit: 'ms',
    min: 0,
    sentence: 'How long a leader may keep the fetch of a follower that has nothing to read.',
  }),
  'replica.fetch.min.bytes': int({
    default: '1',
    unit: 'bytes',
    min: 0,
    sentence: 'A leader answers a follower once there is so much to read, or its time is over.',
  }),
  'replica.fetch.max.bytes': int({
    default: '1048576',
    unit: 'bytes',
    min: 0,
    sentence: 'How much a follower asks of one partition; a larger batch comes all the same.',
  }),
  'replica.fetch.response.max.bytes': int({
    default: '10485760',
    unit: 'bytes',
    min: 0,
    sentence: 'How much a follower asks of a leader at one time.',
  }),
  'replica.fetch.backoff.ms': int({
    default: '1000',
    unit: 'ms',
    min: 0,
    sentence: 'The longest that a follower waits before it tries a fetch again that has failed.',
  }),
  'replica.socket.timeout.ms': int({
    default: '30000',
    unit: 'ms',
    min: 1,
    sentence: 'A fetch of a follower that is not answered within this has failed.',
  }),
  'leader.replication.throttled.rate': long({
    default: '9223372036854775807',
    unit: 'bytes',
    min: 0,
    sentence: 'How much a broker sends in a second to throttled replicas that are not in sync.',
  }),
  'follower.replication.throttled.rate': long({
    default: '9223372036854775807',
    unit: 'bytes',
    min: 0,
    sentence: 'How much a broker fetches in a second for its throttled replicas that are not in sync.',
  }),
  'replica.selector.class': string({
    default: null,
    sentence:
      'Where clients read: of leaders, or by org.apache.kafka.common.replica.RackAwareReplicaSelector in their rack.',
  }),
};
