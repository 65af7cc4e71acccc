/**
 * Settings of the nodes among themselves: how long the members of the quorum wait for each other, how brokers show the
 * controller that they live, and what the controller does by itself. Data, no state.
 */
import { boolean, int, long } from './setting.ts';

/** The quorum of controllers, and its brokers. */
export const QUORUM_SETTINGS = {
  'controller.quorum.election.timeout.ms': int({
    default: '1000',
    unit: 'ms',
    min: 0,
    sentence: 'A controller that asked for votes in vain asks again after this to twice this.',
  }),
  'controller.quorum.fetch.timeout.ms': int({
    default: '1000',
    unit: 'ms',
    min: 0,
    differs: 'a dead controller should be noticed within a second or so',
    sentence: 'A controller that has not heard its leader for so long asks for an election.',
  }),
  'controller.quorum.election.backoff.max.ms': int({
    default: '1000',
    unit: 'ms',
    min: 0,
    sentence: 'The longest pause between two elections that nobody wins.',
  }),
  'controller.quorum.request.timeout.ms': int({
    default: '2000',
    unit: 'ms',
    min: 0,
    sentence: 'What a controller asks of another is lost if it is not answered by then.',
  }),
  'controller.quorum.append.linger.ms': int({
    default: '25',
    unit: 'ms',
    min: 0,
    acts: false,
    sentence: 'How long changes of the metadata wait for others to be written with; here they never wait.',
  }),
  'controller.quorum.retry.backoff.ms': int({
    default: '20',
    unit: 'ms',
    min: 0,
    acts: false,
    sentence: 'How long a member of the quorum pauses after a call that failed; here at first 20 ms, then longer.',
  }),
  'controller.quorum.fetch.max.bytes': int({
    default: '1048576',
    unit: 'bytes',
    min: 0,
    acts: false,
    sentence: 'How much a member of the quorum asks of the log at one time; here 8 MiB, the largest batch.',
  }),
  'controller.quorum.fetch.snapshot.max.bytes': int({
    default: '1048576',
    unit: 'bytes',
    min: 0,
    acts: false,
    sentence: 'How much a member of the quorum asks of a snapshot at one time.',
  }),
  'controlled.shutdown.enable': boolean({
    default: 'true',
    sentence: 'Whether a node that stops gives away what it leads first.',
  }),
  'broker.heartbeat.interval.ms': int({
    default: '500',
    unit: 'ms',
    min: 1,
    differs: 'a dead node should be noticed within a second or so',
    sentence: 'How often a node tells the controller that it is alive.',
  }),
  'broker.session.timeout.ms': int({
    default: '3000',
    unit: 'ms',
    min: 1,
    differs: 'a dead node should be noticed within a second or so',
    sentence: 'A node that is silent for so long is fenced.',
  }),
  'auto.leader.rebalance.enable': boolean({
    default: 'true',
    sentence: 'Whether the controller gives the lead of partitions back to the preferred replicas by itself.',
  }),
  'leader.imbalance.check.interval.seconds': long({
    default: '300',
    unit: 'seconds',
    min: 1,
    sentence: 'How often the controller looks for leads to give back.',
  }),
};
