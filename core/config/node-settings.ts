/**
 * Settings of the node itself: who it is, where it listens, how much memory it may use. Data, no state.
 */
import { addresses, boolean, choice, int, list, listeners, long, string, topics, voters } from './setting.ts';

const MIB = 1024 * 1024;

/** Identity, topics that exist from the start, network, memory. */
export const NODE_SETTINGS = {
  'node.id': int({ default: '1', min: 0, scope: 'cluster', sentence: 'The number of this node in its cluster.' }),
  'cluster.id': string({
    default: null,
    scope: 'cluster',
    sentence: 'The id that a fresh data directory is given; drawn at random if absent.',
  }),
  'process.roles': list({
    default: 'broker,controller',
    min: 1,
    choices: ['broker', 'controller'],
    sentence: 'What this node does: keep partitions, keep the metadata, or both.',
  }),
  'broker.rack': string({ default: null, sentence: 'Where this node stands, for spreading replicas.' }),
  listeners: listeners({
    default: 'PLAINTEXT://127.0.0.1:9092',
    differs: 'a node that was just tried out should not be open to the network',
    sentence: 'Where the node listens: NAME://host:port, an empty host is every interface, port 0 any free one.',
  }),
  'advertised.listeners': listeners({
    default: null,
    sentence: 'What clients are told to connect to; if absent, the address at which they reached the node.',
  }),
  'controller.listener.names': list({
    default: '',
    sentence: 'The listeners that are for controllers only.',
  }),
  'controller.quorum.voters': voters({
    default: '',
    scope: 'cluster',
    sentence:
      'The controllers that vote, as id@host:port between commas, on every node alike; if absent, this node alone.',
  }),
  'controller.quorum.bootstrap.servers': addresses({
    default: '',
    scope: 'cluster',
    sentence: 'Where controllers of the cluster are found that know who votes, as host:port between commas.',
  }),
  'controller.quorum.auto.join.enable': boolean({
    default: 'false',
    sentence:
      'Whether a controller that follows the quorum asks to vote in it, and takes the place of its earlier disk.',
  }),
  'inter.broker.listener.name': string({
    default: null,
    sentence: 'The listener that brokers use among themselves; if absent, the first that is for clients.',
  }),
  'listener.security.protocol.map': list({
    default: 'PLAINTEXT:PLAINTEXT',
    differs: 'only PLAINTEXT is served yet',
    sentence: 'The protocol behind the name of each listener.',
  }),
  'tidemark.topics': topics({
    default: '',
    scope: 'cluster',
    sentence: 'Topics that exist from the start, as name:partitions between commas.',
  }),
  'num.partitions': int({
    default: '1',
    min: 1,
    scope: 'cluster',
    sentence: 'How many partitions a topic gets that is created without saying so.',
  }),
  'auto.create.topics.enable': boolean({
    default: 'true',
    scope: 'cluster',
    sentence: 'Whether a client that asks for a missing topic creates it.',
  }),
  'socket.request.max.bytes': int({
    default: '104857600',
    unit: 'bytes',
    min: 1,
    sentence: 'The longest request; a connection that announces a longer one is closed.',
  }),
  'connections.max.idle.ms': long({
    default: '600000',
    unit: 'ms',
    minusOneIsNever: true,
    min: 1,
    sentence: 'A connection on which nothing has moved for so long is closed.',
  }),
  'max.connections': int({
    default: '2147483647',
    unit: 'count',
    min: 0,
    sentence: 'The most connections at one time; one more is closed at once.',
  }),
  'queued.max.request.bytes': long({
    default: '134217728',
    unit: 'bytes',
    minusOneIsNever: true,
    min: MIB,
    differs: 'Kafka sets no limit; a node with no limit can be made to run out of memory',
    sentence: 'Bytes of requests that are being worked on; above it sockets are not read.',
  }),
  'tidemark.frames.max.bytes': long({
    default: '134217728',
    unit: 'bytes',
    min: MIB,
    sentence: 'Bytes of half-received requests on the whole node; above it the slowest such connection is closed.',
  }),
  'tidemark.responses.max.bytes': long({
    default: '134217728',
    unit: 'bytes',
    min: MIB,
    sentence: 'Bytes of responses not yet sent on the whole node; above it fetches return less.',
  }),
  'tidemark.ring.max.bytes': long({
    default: '67108864',
    unit: 'bytes',
    min: 0,
    sentence: 'Bytes of recent batches kept in memory for readers, on the whole node.',
  }),
  'tidemark.ring.partition.max.bytes': long({
    default: '8388608',
    unit: 'bytes',
    min: 0,
    sentence: 'Bytes of recent batches kept in memory for readers, for one partition.',
  }),
  'max.incremental.fetch.session.cache.slots': int({
    default: '1000',
    unit: 'count',
    min: 0,
    sentence: 'The most fetch sessions that are remembered.',
  }),
  'fetch.max.bytes': int({
    default: '57671680',
    unit: 'bytes',
    min: 1024,
    sentence: 'The most that one fetch returns, whatever the client asks for.',
  }),
  'tidemark.log.level': choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    sentence: 'The least important line that the log still shows.',
  }),
  'tidemark.watchdog.timeout.ms': int({
    default: '0',
    unit: 'ms',
    min: 0,
    sentence:
      'A node that stands still so long is killed by a process beside it, so that its clients notice; 0 for none.',
  }),
};
