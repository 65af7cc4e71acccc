/** What is produced, and how it is answered; afterwards the partition must hold the same bytes. */
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import * as batch from '../../../core/protocol/batch.ts';
import { encodeBatch } from '../../../core/protocol/records.ts';
import { realCodecs } from '../../../runtime-real/codecs.ts';
import { BATCHES, changed, idempotent, NOW_MS, sound } from './batches.ts';
import { type Answer, type Peer, topic, versionsOf } from './peers.ts';

/** Asks one broker and resolves to what is compared. */
export type Run = (peer: Peer) => Promise<unknown>;

const PRODUCE = 0;
const CREATE_TOPICS = 19;
const BY_ID_SINCE = 13;
const UNKNOWN_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
const LATEST = versionsOf(PRODUCE).at(-1) ?? 0;

/** One Produce request to one partition. */
export async function produce(
  peer: Peer,
  version: number,
  name: string,
  records: Uint8Array | null,
  options: { acks?: number; index?: number; transactionalId?: string | null } = {},
): Promise<Answer> {
  const { acks = -1, index = 0, transactionalId = null } = options;
  const id = await topic(peer, name);
  const topicId = version >= BY_ID_SINCE ? id : ZERO_UUID;
  const topicData = [{ name, topicId, partitionData: [{ index, records }] }];
  return (await peer.wire()).ask(PRODUCE, version, { transactionalId, acks, timeoutMs: 5000, topicData });
}

/** All that the partition holds, by a plain Fetch. */
export async function contents(peer: Peer, name: string, index = 0): Promise<unknown> {
  const partitions = [{ partition: index, fetchOffset: 0, partitionMaxBytes: 10_000_000 }];
  const body = { maxWaitMs: 0, minBytes: 0, maxBytes: 10_000_000, topics: [{ topic: name, partitions }] };
  return (await peer.wire()).ask(1, 12, body);
}

function eachVersion(run: (peer: Peer, version: number) => Promise<unknown>, from = 0): Run {
  return async (peer) => {
    const answers: unknown[] = [];
    for (const version of versionsOf(PRODUCE, from)) answers.push([version, await run(peer, version)]);
    return answers;
  };
}

/** A sequence of batches of one producer: [epoch, first sequence, count]. */
type Step = readonly [epoch: number, baseSequence: number, count: number];

const HISTORIES: ReadonlyMap<string, readonly Step[]> = new Map<string, readonly Step[]>([
  [
    'in order',
    [
      [0, 0, 2],
      [0, 2, 2],
      [0, 4, 1],
    ],
  ],
  [
    'a duplicate of the last',
    [
      [0, 0, 2],
      [0, 2, 2],
      [0, 2, 2],
    ],
  ],
  [
    'a duplicate of the first of five',
    [
      [0, 0, 1],
      [0, 1, 1],
      [0, 2, 1],
      [0, 3, 1],
      [0, 4, 1],
      [0, 0, 1],
    ],
  ],
  [
    'a duplicate of the first of six',
    [
      [0, 0, 1],
      [0, 1, 1],
      [0, 2, 1],
      [0, 3, 1],
      [0, 4, 1],
      [0, 5, 1],
      [0, 0, 1],
    ],
  ],
  [
    'a gap',
    [
      [0, 0, 2],
      [0, 5, 1],
      [0, 2, 1],
    ],
  ],
  [
    'a part of what was there',
    [
      [0, 0, 4],
      [0, 0, 2],
      [0, 2, 2],
      [0, 1, 1],
    ],
  ],
  [
    'more than what was there',
    [
      [0, 0, 2],
      [0, 0, 4],
    ],
  ],
  [
    'an overlap',
    [
      [0, 0, 2],
      [0, 1, 3],
    ],
  ],
  [
    'a first sequence of 7',
    [
      [0, 7, 2],
      [0, 9, 1],
    ],
  ],
  [
    'a first epoch of 3',
    [
      [3, 0, 2],
      [3, 2, 1],
    ],
  ],
  ['a first epoch of 3 and sequence of 7', [[3, 7, 2]]],
  [
    'a new epoch',
    [
      [0, 0, 2],
      [1, 0, 2],
      [1, 2, 2],
    ],
  ],
  [
    'a new epoch that skips some',
    [
      [0, 0, 2],
      [5, 0, 2],
    ],
  ],
  [
    'a new epoch with a sequence of 2',
    [
      [0, 0, 2],
      [1, 2, 2],
    ],
  ],
  [
    'an old epoch',
    [
      [0, 0, 2],
      [1, 0, 2],
      [0, 2, 2],
    ],
  ],
  [
    'an old epoch, a duplicate',
    [
      [0, 0, 2],
      [1, 0, 2],
      [0, 0, 2],
    ],
  ],
  [
    'a sequence that wraps',
    [
      [0, 2147483646, 2],
      [0, 0, 2],
      [0, 2147483646, 2],
    ],
  ],
  [
    'a sequence that wraps within a batch',
    [
      [0, 2147483645, 5],
      [0, 2, 1],
      [0, 2147483645, 5],
    ],
  ],
]);

function histories(): [string, Run][] {
  let id = 1000;
  return [...HISTORIES].map(([name, steps]): [string, Run] => {
    id += 100;
    const first = id;
    return [
      `Produce by an idempotent producer: ${name}`,
      async (peer) => {
        const answers: unknown[] = [];
        for (const version of [3, 7, 9, LATEST]) {
          for (const [epoch, sequence, count] of steps) {
            const records = idempotent(first + version, epoch, sequence, count);
            answers.push([version, await produce(peer, version, 'producers', records)]);
          }
        }
        return answers;
      },
    ];
  });
}

function batches(): [string, Run][] {
  return [...BATCHES].flatMap(([name, make], i): [string, Run][] => [
    [
      `Produce, acks=-1: ${name}`,
      eachVersion((peer, version) => produce(peer, version, `batches-${i}`, make()), make() === null ? LATEST : 0),
    ],
    [`what is there of: ${name}`, (peer) => contents(peer, `batches-${i}`)],
  ]);
}

async function twoAtOnce(peer: Peer, version: number, indexes: readonly number[]): Promise<unknown> {
  const id = await topic(peer, 'several');
  const topicId = version >= BY_ID_SINCE ? id : ZERO_UUID;
  const partitionData = indexes.map((index) => ({ index, records: sound() }));
  const topicData = [{ name: 'several', topicId, partitionData }];
  return (await peer.wire()).ask(PRODUCE, version, { acks: -1, timeoutMs: 5000, topicData });
}

/** A topic with settings; resolves to its id. */
async function topicWith(peer: Peer, name: string, settings: { readonly [name: string]: string }): Promise<string> {
  const configs = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
  const topics = [{ name, numPartitions: 2, replicationFactor: 1, assignments: [], configs }];
  await (await peer.wire()).ask(CREATE_TOPICS, 7, { topics, timeoutMs: 5000, validateOnly: false });
  return topic(peer, name);
}

/** Records of these keys and ages, oldest last. */
function records(list: readonly { readonly key?: string; readonly agoMs?: number }[], codec: 0 | 1 = 0): Uint8Array {
  const whole = list.map(({ key, agoMs = 0 }) => ({
    timestampMs: NOW_MS - agoMs,
    key: key === undefined ? null : Buffer.from(key),
    value: Buffer.from('v'),
  }));
  return encodeBatch(whole, { codec, codecs: realCodecs() });
}

const YEAR_MS = 31_536_000_000;
const AHEAD_MS = -7_200_000;
/** What topics refuse for single records: the topic, its settings, the batch. */
const JUDGED: readonly (readonly [string, { readonly [name: string]: string }, Uint8Array])[] = [
  ['with keys', { 'cleanup.policy': 'compact' }, records([{ key: 'k' }, { key: '' }])],
  ['without some keys', { 'cleanup.policy': 'compact' }, records([{}, { key: 'k' }, {}, {}, {}])],
  ['without a key, compressed', { 'cleanup.policy': 'delete,compact' }, records([{}, { key: 'k' }], 1)],
  ['without a key, and late', { 'cleanup.policy': 'compact' }, records([{}, { key: 'k', agoMs: AHEAD_MS }])],
  ['ahead of their time', {}, records([{}, { agoMs: AHEAD_MS }, {}, { agoMs: AHEAD_MS }])],
  ['of last year behind one of now', { 'message.timestamp.before.max.ms': '9999' }, records([{}, { agoMs: YEAR_MS }])],
  ['of any time', { 'message.timestamp.type': 'LogAppendTime' }, records([{ agoMs: AHEAD_MS }, { agoMs: YEAR_MS }])],
];

function judged(): [string, Run][] {
  return JUDGED.flatMap(([title, settings, batchBytes], i): [string, Run][] => {
    const name = `judged-${i}`;
    const run = async (peer: Peer, version: number): Promise<unknown> => {
      await topicWith(peer, name, settings);
      return withShortRanges(await produce(peer, version, name, batchBytes));
    };
    return [[`Produce of records ${title}`, eachVersion(run)]];
  });
}

/** The messages are compared too, but for the clock of the broker. */
function withShortRanges(answer: Answer): Answer {
  for (const { partitionResponses } of answer.responses) {
    for (const partition of partitionResponses) {
      const said = JSON.stringify(partition.recordErrors).replace(/within \[-?\d+, \d+\]/g, 'within');
      partition.said = [partition.errorMessage, said];
    }
  }
  return answer;
}

/** All cases of Produce. */
export const PRODUCE_CASES: readonly [string, Run][] = [
  ...batches(),
  ...histories(),
  ...judged(),
  ['what idempotent producers left', (peer) => contents(peer, 'producers')],
  ...[1, 2, -2, 100].map((acks): [string, Run] => [
    `Produce, acks=${acks}`,
    eachVersion((peer, version) => produce(peer, version, 'acks', sound(), { acks })),
  ]),
  [
    'Produce, acks=0, then one that is answered',
    eachVersion(async (peer, version) => {
      const wire = await peer.connect();
      const topicId = await topic(peer, 'acks');
      const topicData = [{ name: 'acks', topicId, partitionData: [{ index: 0, records: sound() }] }];
      void wire.ask(PRODUCE, version, { acks: 0, timeoutMs: 5000, topicData });
      const answer = await wire.ask(PRODUCE, version, { acks: 1, timeoutMs: 5000, topicData });
      wire.close();
      return answer;
    }),
  ],
  [
    'Produce, acks=0, to nowhere',
    eachVersion(async (peer, version) => {
      const wire = await peer.connect();
      const topicData = [{ name: 'nowhere', topicId: UNKNOWN_ID, partitionData: [{ index: 0, records: sound() }] }];
      const answer = await wire.ask(PRODUCE, version, { acks: 0, timeoutMs: 5000, topicData });
      wire.close();
      return answer;
    }),
  ],
  [
    'Produce to an unknown topic',
    eachVersion(async (peer, version) => {
      const topicData = [{ name: 'nowhere', topicId: UNKNOWN_ID, partitionData: [{ index: 0, records: sound() }] }];
      return (await peer.wire()).ask(PRODUCE, version, { acks: -1, timeoutMs: 5000, topicData });
    }),
  ],
  [
    'Produce to a topic without a name or id',
    eachVersion(async (peer, version) => {
      const topicData = [{ name: '', topicId: ZERO_UUID, partitionData: [{ index: 0, records: sound() }] }];
      return (await peer.wire()).ask(PRODUCE, version, { acks: -1, timeoutMs: 5000, topicData });
    }),
  ],
  ...[2, -1, 2147483647].map((index): [string, Run] => [
    `Produce to partition ${index} of two`,
    eachVersion((peer, version) => produce(peer, version, 'acks', sound(), { index })),
  ]),
  [
    'Produce to no topic',
    eachVersion(async (peer, version) => (await peer.wire()).ask(PRODUCE, version, { acks: -1 })),
  ],
  ['Produce to two partitions', eachVersion((peer, version) => twoAtOnce(peer, version, [0, 1]))],
  ['Produce to a known and an unknown partition', eachVersion((peer, version) => twoAtOnce(peer, version, [0, 9]))],
  ['Produce twice to one partition', eachVersion((peer, version) => twoAtOnce(peer, version, [1, 1]))],
  [
    'Produce to an internal topic',
    eachVersion(async (peer, version) => {
      const topicData = [{ name: '__consumer_offsets', partitionData: [{ index: 0, records: sound() }] }];
      if (version >= BY_ID_SINCE) return null;
      return (await peer.wire()).ask(PRODUCE, version, { acks: -1, timeoutMs: 5000, topicData });
    }),
  ],
  [
    'Produce of records whose number is right and whose offsets are not',
    (peer) =>
      produce(
        peer,
        LATEST,
        'acks',
        changed(sound(), (view) => view.setInt8(batch.BATCH_HEADER_BYTES + 3, 4)),
      ),
  ],
];
