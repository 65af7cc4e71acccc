/** The APIs beside Produce and Fetch. */
import { servedApis } from '../../../core/broker/api/table.ts';
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import { decodeResponse } from '../../../core/protocol/codec.ts';
import { NOW_MS } from './batches.ts';
import { filledTopic } from './fetch.ts';
import { type Answer, inTime, type Peer, topic, versionsOf } from './peers.ts';
import type { Run } from './produce.ts';

const LIST_OFFSETS = 2;
const METADATA = 3;
const API_VERSIONS = 18;
const INIT_PRODUCER_ID = 22;
const OFFSET_FOR_LEADER_EPOCH = 23;
const DESCRIBE_SCRAM = 50;
const DESCRIBE_CLUSTER = 60;
const UNKNOWN_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
/** The APIs that we serve: what else Kafka lists is left out of the comparison. */
const SERVED: ReadonlySet<number> = new Set(servedApis(false).map(({ api }) => api.key));

function each(key: number, body: object | ((peer: Peer, version: number) => object), from = 0): Run {
  return async (peer) => {
    await filledTopic(peer);
    const answers: unknown[] = [];
    for (const version of versionsOf(key, from)) {
      const whole = typeof body === 'function' ? body(peer, version) : body;
      answers.push([version, await (await peer.wire()).ask(key, version, whole)]);
    }
    return answers;
  };
}

const KNOWN = { clientSoftwareName: 'differential', clientSoftwareVersion: '1.0' };

function apiVersions(body: object): Run {
  return async (peer) => {
    const answers = (await each(API_VERSIONS, { ...KNOWN, ...body })(peer)) as [number, Answer][];
    for (const [, answer] of answers) {
      if (typeof answer === 'string') continue;
      answer.apiKeys = answer.apiKeys.filter(({ apiKey }: Answer) => SERVED.has(apiKey));
      // It is the offset of a record, and grows with what either broker writes.
      answer.finalizedFeaturesEpoch = Math.min(answer.finalizedFeaturesEpoch, 0);
      answer.supportedFeatures = byName(answer.supportedFeatures);
      answer.finalizedFeatures = byName(answer.finalizedFeatures);
    }
    return answers;
  };
}

/** Features by their names, so that one that a broker lacks is one difference. */
function byName(features: readonly Answer[]): Answer {
  const sorted = [...features].sort((first, second) => (first.name < second.name ? -1 : 1));
  return Object.fromEntries(sorted.map(({ name, ...levels }) => [name, levels]));
}

function ofThisCluster(nodeId: number): Run {
  return async (peer) => {
    const { clusterId }: Answer = await (await peer.wire()).ask(DESCRIBE_CLUSTER, 0, {});
    return apiVersions({ clusterId, nodeId })(peer);
  };
}

const NAMES = ['', ' ', 'a', 'a b', '-a', 'a-', 'a.', 'a_b', 'ü', 'apache-kafka-java', 'a'.repeat(300), 'a\n'];

/** A frame of a header and nothing else, of any key and version. */
function bare(key: number, version: number, rest = '000000'): Run {
  return async (peer) => {
    const wire = await peer.connect();
    const head = Buffer.alloc(8);
    head.writeInt16BE(key, 0);
    head.writeInt16BE(version, 2);
    head.writeInt32BE(77, 4);
    const body = Buffer.concat([head, Buffer.from(rest, 'hex')]);
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length);
    const answer = await wire.raw(77, Buffer.concat([length, body]));
    wire.close();
    if (typeof answer === 'string') return answer;
    if (key === METADATA && version === 1) return decodeResponse(METADATA, 1, answer).body.topics;
    return key === API_VERSIONS ? Buffer.from(answer.subarray(0, 6)).toString('hex') : 'answered';
  };
}

function listOffsets(partitions: readonly object[], changes: object = {}): Run {
  const whole = partitions.map((one) => ({ partitionIndex: 0, currentLeaderEpoch: -1, ...one }));
  return each(LIST_OFFSETS, { replicaId: -1, topics: [{ name: 'read', partitions: whole }], ...changes });
}

const TIMES: readonly number[] = [
  -1,
  -2,
  -3,
  -4,
  -5,
  -6,
  -7,
  -100,
  0,
  1,
  NOW_MS - 1001,
  NOW_MS - 1000,
  NOW_MS - 989,
  NOW_MS - 908,
  NOW_MS - 907,
  NOW_MS,
];

function named(names: readonly (string | null)[], changes: object = {}): (peer: Peer) => object {
  return () => ({ topics: names.map((name) => ({ name, topicId: ZERO_UUID })), ...changes });
}

const METADATA_CASES: readonly [string, Run][] = [
  ['Metadata of nothing', each(METADATA, { topics: [] }, 1)],
  ['Metadata of one topic', each(METADATA, named(['read']))],
  ['Metadata of one topic twice', each(METADATA, named(['read', 'read']))],
  ['Metadata of two topics', each(METADATA, named(['read', 'acks']))],
  ['Metadata of an unknown topic', each(METADATA, named(['nowhere'], { allowAutoTopicCreation: false }), 4)],
  [
    'Metadata of a known and an unknown topic',
    each(METADATA, named(['nowhere', 'read'], { allowAutoTopicCreation: false }), 4),
  ],
  ...['', '.', '..', 'a b', 'ü', 'a/b', 'x'.repeat(250), 'a\u0000'].map((name): [string, Run] => [
    `Metadata of a topic called ${JSON.stringify(name).slice(0, 20)}`,
    each(METADATA, named([name], { allowAutoTopicCreation: true })),
  ]),
  [
    'Metadata of a topic called a b, twice',
    each(METADATA, named(['a b', 'a b'], { allowAutoTopicCreation: false }), 4),
  ],
  ['Metadata of a topic without a name', each(METADATA, named([null]), 10)],
  ['Metadata by id', each(METADATA, (peer) => ({ topics: [{ name: null, topicId: peer.ids.get('read') ?? '' }] }), 10)],
  ['Metadata by an unknown id', each(METADATA, { topics: [{ name: null, topicId: UNKNOWN_ID }] }, 10)],
  [
    'Metadata by id and name',
    each(METADATA, (peer) => ({ topics: [{ name: 'read', topicId: peer.ids.get('read') ?? '' }] }), 10),
  ],
  [
    'Metadata by id and another name',
    each(METADATA, (peer) => ({ topics: [{ name: 'acks', topicId: peer.ids.get('read') ?? '' }] }), 10),
  ],
  [
    'Metadata by id and by name',
    each(METADATA, (peer) => ({ topics: [{ name: null, topicId: peer.ids.get('read') ?? '' }, { name: 'acks' }] }), 12),
  ],
  [
    'Metadata with what is allowed',
    each(
      METADATA,
      named(['read'], { includeTopicAuthorizedOperations: true, includeClusterAuthorizedOperations: true }),
      8,
    ),
  ],
  [
    'Metadata with what is allowed of the cluster',
    each(METADATA, { topics: [], includeClusterAuthorizedOperations: true }, 8),
  ],
  [
    'Metadata with what is allowed of an unknown topic',
    each(METADATA, named(['nowhere'], { includeTopicAuthorizedOperations: true, allowAutoTopicCreation: false }), 8),
  ],
  [
    'Metadata with what is allowed of an impossible topic',
    each(METADATA, named(['a b'], { includeTopicAuthorizedOperations: true, allowAutoTopicCreation: false }), 8),
  ],
  [
    'Metadata with what is allowed of an unknown id',
    each(METADATA, { topics: [{ name: null, topicId: UNKNOWN_ID }], includeTopicAuthorizedOperations: true }, 12),
  ],
  ['Metadata of all topics', metadataOfAll],
  ['Metadata of a topic that is made, and later', made],
  ['Metadata of a topic that collides', collides],
];

async function metadataOfAll(peer: Peer): Promise<unknown> {
  const answers: unknown[] = [];
  for (const version of versionsOf(METADATA)) {
    const answer: Answer = await (await peer.wire()).ask(METADATA, version, { topics: version === 0 ? [] : null });
    const topics = answer.topics.filter(({ name }: Answer) => name === 'read');
    answers.push([version, { ...answer, topics }]);
  }
  return answers;
}

/** The first answer may come before the topic can be used; where it ends must be the same. */
async function made(peer: Peer): Promise<unknown> {
  const id = await topic(peer, 'made');
  return (await peer.wire()).ask(METADATA, 12, { topics: [{ name: 'made' }, { name: null, topicId: id }] });
}

async function collides(peer: Peer): Promise<unknown> {
  await topic(peer, 'some.topic');
  return each(METADATA, named(['some_topic'], { allowAutoTopicCreation: true }))(peer);
}

/** Ids and epochs that a producer says it has. */
const PRODUCERS: readonly (readonly [number, number])[] = [
  [-1, -1],
  [5, 0],
  [5, -1],
  [-1, 5],
  [0, 0],
  [-2, -2],
  [5, 32767],
];

/** Kafka asks its controller for ids first, and has its clients come again meanwhile. */
const LOADING = 14;

function initProducerId(body: object, from = 0): Run {
  return async (peer) => {
    const wire = await peer.wire();
    await inTime(`${peer.name} to have producer ids`, async () => {
      const first: Answer = await wire.ask(INIT_PRODUCER_ID, 0, { transactionalId: null, transactionTimeoutMs: 1000 });
      return first.errorCode === LOADING ? null : true;
    });
    const answers = (await each(INIT_PRODUCER_ID, body, from)(peer)) as [number, Answer][];
    for (const [, answer] of answers) if (answer.producerId >= 0) answer.producerId = 'ID';
    return answers;
  };
}

function leaderEpoch(partitions: readonly object[]): Run {
  const whole = partitions.map((one) => ({ partition: 0, currentLeaderEpoch: -1, ...one }));
  return each(OFFSET_FOR_LEADER_EPOCH, { replicaId: -1, topics: [{ topic: 'read', partitions: whole }] });
}

/** All cases of the other APIs. */
export const OTHER_CASES: readonly [string, Run][] = [
  ['ApiVersions', apiVersions({})],
  ...NAMES.map((name): [string, Run] => [
    `ApiVersions from ${JSON.stringify(name).slice(0, 20)}`,
    apiVersions({ clientSoftwareName: name }),
  ]),
  ...NAMES.map((name): [string, Run] => [
    `ApiVersions from version ${JSON.stringify(name).slice(0, 20)}`,
    apiVersions({ clientSoftwareVersion: name }),
  ]),
  ['ApiVersions for another cluster', apiVersions({ clusterId: 'other' })],
  ['ApiVersions for this node of another cluster', apiVersions({ clusterId: 'other', nodeId: 1 })],
  ['ApiVersions for this node of an empty cluster', apiVersions({ clusterId: '', nodeId: 1 })],
  ['ApiVersions for another node of this cluster', ofThisCluster(99)],
  ['ApiVersions for this node of this cluster', ofThisCluster(1)],
  ['ApiVersions for node -1 of this cluster', ofThisCluster(-1)],
  ['ApiVersions for node -2 of this cluster', ofThisCluster(-2)],
  ['ApiVersions for another node', apiVersions({ nodeId: 99 })],
  ['ApiVersions for this node', apiVersions({ nodeId: 1 })],
  ['ApiVersions for an empty cluster', apiVersions({ clusterId: '' })],
  ...[6, 100, 32767, -1].map((version): [string, Run] => [`ApiVersions ${version}`, bare(API_VERSIONS, version)]),
  ['ApiVersions 3 without a body', bare(API_VERSIONS, 3)],
  ['ApiVersions 0 without a client id', bare(API_VERSIONS, 0, 'ffff')],
  ['ApiVersions 0 with more than it has', bare(API_VERSIONS, 0, 'ffff0102')],
  ['ApiVersions 0 without a head', bare(API_VERSIONS, 0, '')],
  ['Metadata 99', bare(METADATA, 99)],
  ['Produce 2', bare(0, 2, '0000ffff00000000')],
  ['Produce 99', bare(0, 99)],
  ['Fetch 3', bare(1, 3)],
  ['API 999', bare(999, 0)],
  ['API -1', bare(-1, 0)],
  ['a client id that is no UTF-8', bare(METADATA, 1, '0002ff2800000000')],
  ['a client id of characters that have no form', bare(METADATA, 1, '0003eda08000000000')],
  ['a topic that is no UTF-8', bare(METADATA, 1, 'ffff000000010002ff28')],
  ['a topic of half a character', bare(METADATA, 1, 'ffff000000010003e282')],
  ['a topic of surrogates', bare(METADATA, 1, 'ffff000000010006eda080edb080')],
  ['a client id that is longer than the frame', bare(METADATA, 1, '7fff')],
  ['an array of more than the frame has', bare(METADATA, 1, 'ffff7fffffff')],
  ...METADATA_CASES,
  ...TIMES.map((timestamp): [string, Run] => {
    const name = timestamp > 1 ? `now ${timestamp - NOW_MS}` : String(timestamp);
    return [`ListOffsets ${name}`, listOffsets([{ timestamp }, { timestamp, partitionIndex: 1 }])];
  }),
  ['ListOffsets of an unknown partition', listOffsets([{ timestamp: -1, partitionIndex: 5 }])],
  ['ListOffsets of a partition below 0', listOffsets([{ timestamp: -1, partitionIndex: -1 }])],
  ['ListOffsets of one partition twice', listOffsets([{ timestamp: -1 }, { timestamp: -2 }])],
  ['ListOffsets of nothing', each(LIST_OFFSETS, { topics: [] })],
  [
    'ListOffsets of an unknown topic',
    each(LIST_OFFSETS, { topics: [{ name: 'nowhere', partitions: [{ partitionIndex: 0, timestamp: -1 }] }] }),
  ],
  [
    'ListOffsets of a topic twice',
    each(LIST_OFFSETS, {
      replicaId: -1,
      topics: [-1, -2].map((timestamp) => ({
        name: 'read',
        partitions: [{ partitionIndex: 0, timestamp, currentLeaderEpoch: -1 }],
      })),
    }),
  ],
  ['ListOffsets under this epoch', listOffsets([{ timestamp: -1, currentLeaderEpoch: 0 }])],
  ['ListOffsets under a newer epoch', listOffsets([{ timestamp: -1, currentLeaderEpoch: 1 }])],
  ['ListOffsets under an epoch of -2', listOffsets([{ timestamp: -1, currentLeaderEpoch: -2 }])],
  ['ListOffsets of what is committed', listOffsets([{ timestamp: -1 }], { isolationLevel: 1 })],
  ['ListOffsets of an unknown isolation', listOffsets([{ timestamp: -1 }], { isolationLevel: 9 })],
  ['ListOffsets as replica 1', listOffsets([{ timestamp: -1 }], { replicaId: 1 })],
  ['ListOffsets as a debugging consumer', listOffsets([{ timestamp: -1 }], { replicaId: -2 })],
  ...PRODUCERS.map(([producerId, producerEpoch]): [string, Run] => [
    `InitProducerId with ${producerId} and ${producerEpoch}`,
    initProducerId({ transactionalId: null, transactionTimeoutMs: 60_000, producerId, producerEpoch }),
  ]),
  [
    'InitProducerId with an empty transactional id',
    initProducerId({ transactionalId: '', transactionTimeoutMs: 60_000 }),
  ],
  ['InitProducerId with a timeout of 0', initProducerId({ transactionalId: null, transactionTimeoutMs: 0 })],
  ['InitProducerId with a timeout below 0', initProducerId({ transactionalId: null, transactionTimeoutMs: -1 })],
  ...[-2, -1, 0, 1, 100].map((epoch): [string, Run] => [
    `the end of epoch ${epoch}`,
    leaderEpoch([{ leaderEpoch: epoch }]),
  ]),
  ['the end of epoch 0 of an empty partition', leaderEpoch([{ leaderEpoch: 0, partition: 1 }])],
  ['the end of an epoch of an unknown partition', leaderEpoch([{ leaderEpoch: 0, partition: 5 }])],
  ['the end of an epoch under this one', leaderEpoch([{ leaderEpoch: 0, currentLeaderEpoch: 0 }])],
  ['the end of an epoch under a newer one', leaderEpoch([{ leaderEpoch: 0, currentLeaderEpoch: 1 }])],
  ['the end of an epoch under one of -2', leaderEpoch([{ leaderEpoch: 0, currentLeaderEpoch: -2 }])],
  ['the end of an epoch of one partition twice', leaderEpoch([{ leaderEpoch: 0 }, { leaderEpoch: 1 }])],
  [
    'the end of an epoch of an unknown topic',
    each(OFFSET_FOR_LEADER_EPOCH, { topics: [{ topic: 'nowhere', partitions: [{ partition: 0, leaderEpoch: 0 }] }] }),
  ],
  ...[1, 2, 0, 3, -1].map((endpointType): [string, Run] => [
    `DescribeCluster of endpoints of type ${endpointType}`,
    each(DESCRIBE_CLUSTER, { endpointType }),
  ]),
  [
    'DescribeCluster with what is allowed',
    each(DESCRIBE_CLUSTER, { endpointType: 1, includeClusterAuthorizedOperations: true }),
  ],
  ...[null, [], ['nobody'], ['nobody', 'nobody'], ['', 'nobody']].map((users): [string, Run] => [
    `DescribeUserScramCredentials of ${JSON.stringify(users)}`,
    each(DESCRIBE_SCRAM, { users: users?.map((name) => ({ name })) ?? null }),
  ]),
  ['DescribeCluster with fenced brokers', each(DESCRIBE_CLUSTER, { endpointType: 1, includeFencedBrokers: true })],
];
