/** What is read of a topic with a few batches in it, and what sessions say. */
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import { NOW_MS, sound } from './batches.ts';
import { type Answer, type Peer, topic, versionsOf, type Wire } from './peers.ts';
import { produce, type Run } from './produce.ts';

const FETCH = 1;
const BY_ID_SINCE = 13;
const SESSIONS_SINCE = 7;
const NAME = 'read';
const UNKNOWN_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';

const filled = new Map<Peer, Promise<string>>();

/** Makes the topic that is read, once: ten batches of three records, and resolves to its id. */
export function filledTopic(peer: Peer): Promise<string> {
  const known = filled.get(peer);
  if (known !== undefined) return known;
  const made = fillTopic(peer);
  filled.set(peer, made);
  // One failure is not that of all the cases that come after it.
  made.catch(() => filled.delete(peer));
  return made;
}

async function fillTopic(peer: Peer): Promise<string> {
  const id = await topic(peer, NAME);
  for (let i = 0; i < 10; i++) await produce(peer, 9, NAME, sound(['x', 'y', 'z'], {}, NOW_MS - 1000 + i * 10));
  return id;
}

interface Wanted {
  readonly partition?: number;
  readonly fetchOffset?: number;
  readonly partitionMaxBytes?: number;
  readonly currentLeaderEpoch?: number;
  readonly lastFetchedEpoch?: number;
  readonly logStartOffset?: number;
}

/** The body of a Fetch of one topic. */
async function bodyOf(peer: Peer, version: number, wanted: readonly Wanted[], changes: object = {}): Promise<object> {
  const topicId = version >= BY_ID_SINCE ? await filledTopic(peer) : ZERO_UUID;
  await filledTopic(peer);
  const partitions = wanted.map((one) => ({ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000_000, ...one }));
  const topics = partitions.length === 0 ? [] : [{ topic: NAME, topicId, partitions }];
  return { maxWaitMs: 0, minBytes: 0, maxBytes: 10_000_000, topics, ...changes };
}

function eachVersion(wanted: readonly Wanted[], changes: object = {}, from = 0): Run {
  return async (peer) => {
    const answers: unknown[] = [];
    for (const version of versionsOf(FETCH, from)) {
      const wire = await peer.wire();
      answers.push([version, await wire.ask(FETCH, version, await bodyOf(peer, version, wanted, changes))]);
    }
    return answers;
  };
}

/** A conversation within one session; `say` sends a step and keeps the session id. */
type Talk = (say: (epoch: number, wanted?: readonly Wanted[], changes?: object) => Promise<Answer>) => Promise<void>;

function session(talk: Talk): Run {
  return async (peer) => {
    const answers: unknown[] = [];
    for (const version of versionsOf(FETCH, SESSIONS_SINCE)) {
      const wire: Wire = await peer.connect();
      let sessionId = 0;
      await talk(async (sessionEpoch, wanted = [], changes = {}) => {
        const body = await bodyOf(peer, version, wanted, { sessionId, sessionEpoch, ...changes });
        const answer: Answer = await wire.ask(FETCH, version, body);
        if (answer.sessionId > 0) sessionId = answer.sessionId;
        answers.push([version, answer]);
        return answer;
      });
      wire.close();
    }
    return answers;
  };
}

async function unknownTopic(peer: Peer, version: number): Promise<unknown> {
  const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }];
  const topics = [{ topic: 'nowhere', topicId: UNKNOWN_ID, partitions }];
  return (await peer.wire()).ask(FETCH, version, { maxWaitMs: 0, minBytes: 0, maxBytes: 10_000, topics });
}

/** All cases of Fetch. */
export const FETCH_CASES: readonly [string, Run][] = [
  ['Fetch from the start', eachVersion([{}])],
  ['Fetch from the middle of a batch', eachVersion([{ fetchOffset: 4 }])],
  ['Fetch at the end', eachVersion([{ fetchOffset: 30 }])],
  ['Fetch behind the end', eachVersion([{ fetchOffset: 31 }])],
  ['Fetch far behind the end', eachVersion([{ fetchOffset: 2 ** 50 }])],
  ['Fetch below 0', eachVersion([{ fetchOffset: -1 }])],
  ['Fetch far below 0', eachVersion([{ fetchOffset: -100 }])],
  ['Fetch of an unknown partition', eachVersion([{ partition: 7 }])],
  ['Fetch of a partition below 0', eachVersion([{ partition: -1 }])],
  ['Fetch of two partitions', eachVersion([{}, { partition: 1 }])],
  ['Fetch of a known and an unknown partition', eachVersion([{}, { partition: 7 }])],
  ['Fetch of one partition twice', eachVersion([{}, { fetchOffset: 27 }])],
  ['Fetch of nothing', eachVersion([])],
  ['Fetch of at most 0 bytes a partition', eachVersion([{ partitionMaxBytes: 0 }])],
  ['Fetch of at most 1 byte a partition', eachVersion([{ partitionMaxBytes: 1 }])],
  ['Fetch of at most -1 bytes a partition', eachVersion([{ partitionMaxBytes: -1 }])],
  ['Fetch of at most 200 bytes a partition', eachVersion([{ partitionMaxBytes: 200 }])],
  ['Fetch of at most 0 bytes', eachVersion([{}], { maxBytes: 0 })],
  ['Fetch of at most 1 byte', eachVersion([{}], { maxBytes: 1 })],
  ['Fetch of at most -1 bytes', eachVersion([{}], { maxBytes: -1 })],
  ['Fetch of at most 200 bytes', eachVersion([{}], { maxBytes: 200 })],
  ['Fetch of at most 200 bytes from two partitions', eachVersion([{ partition: 1 }, {}], { maxBytes: 200 })],
  ['Fetch of at least -1 bytes', eachVersion([{ fetchOffset: 30 }], { minBytes: -1, maxWaitMs: 100 })],
  ['Fetch that waits in vain', eachVersion([{ fetchOffset: 30 }], { minBytes: 1, maxWaitMs: 50 })],
  ['Fetch that waits for more than the most', eachVersion([{}], { minBytes: 100_000, maxBytes: 100, maxWaitMs: 50 })],
  ['Fetch that waits below 0', eachVersion([{ fetchOffset: 30 }], { minBytes: 1, maxWaitMs: -5 })],
  ['Fetch of what is committed', eachVersion([{}, { partition: 1 }], { isolationLevel: 1 })],
  ['Fetch of what is committed, out of range', eachVersion([{ fetchOffset: 99 }], { isolationLevel: 1 })],
  ['Fetch of an unknown isolation', eachVersion([{}], { isolationLevel: 2 })],
  ['Fetch of an isolation below 0', eachVersion([{}], { isolationLevel: -1 })],
  ['Fetch under this leader epoch', eachVersion([{ currentLeaderEpoch: 0 }])],
  ['Fetch under a newer leader epoch', eachVersion([{ currentLeaderEpoch: 1 }])],
  ['Fetch under a leader epoch of -2', eachVersion([{ currentLeaderEpoch: -2 }])],
  ['Fetch under a newer leader epoch, out of range', eachVersion([{ currentLeaderEpoch: 1, fetchOffset: 99 }])],
  ['Fetch after epoch 0', eachVersion([{ fetchOffset: 3, lastFetchedEpoch: 0 }])],
  ['Fetch after a newer epoch', eachVersion([{ fetchOffset: 3, lastFetchedEpoch: 4 }])],
  ['Fetch after a newer epoch, at the end', eachVersion([{ fetchOffset: 30, lastFetchedEpoch: 4 }])],
  ['Fetch after epoch 0, behind the end', eachVersion([{ fetchOffset: 31, lastFetchedEpoch: 0 }])],
  ['Fetch after an epoch of -2', eachVersion([{ fetchOffset: 3, lastFetchedEpoch: -2 }])],
  ['Fetch as replica 1', eachVersion([{}], { replicaId: 1, replicaState: { replicaId: 1, replicaEpoch: -1 } })],
  ['Fetch as replica 5', eachVersion([{}], { replicaId: 5, replicaState: { replicaId: 5, replicaEpoch: 9 } })],
  ['Fetch as replica -2', eachVersion([{}], { replicaId: -2, replicaState: { replicaId: -2, replicaEpoch: -1 } })],
  ['Fetch from a rack', eachVersion([{}], { rackId: 'somewhere' })],
  ['Fetch for another cluster', eachVersion([{}], { clusterId: 'other' })],
  [
    'Fetch of an unknown topic',
    async (peer) =>
      Promise.all(versionsOf(FETCH).map((version) => unknownTopic(peer, version).then((one) => [version, one]))),
  ],
  [
    'a session of two partitions',
    session(async (say) => void [await say(0, [{}, { partition: 1 }]), await say(1), await say(2)]),
  ],
  [
    'a session that moves on',
    session(async (say) => void [await say(0, [{}]), await say(1, [{ fetchOffset: 30 }]), await say(2)]),
  ],
  [
    'a session at the end',
    session(async (say) => void [await say(0, [{ fetchOffset: 30 }]), await say(1), await say(2)]),
  ],
  ['a session without partitions', session(async (say) => void [await say(0), await say(1)])],
  [
    'a session with an epoch twice',
    session(async (say) => void [await say(0, [{}]), await say(1), await say(1), await say(2)]),
  ],
  ['a session with a skipped epoch', session(async (say) => void [await say(0, [{}]), await say(3), await say(1)])],
  ['a session with an epoch of -2', session(async (say) => void [await say(0, [{}]), await say(-2)])],
  ['a session that is closed', session(async (say) => void [await say(0, [{}]), await say(-1, [{}]), await say(1)])],
  ['a session that begins again', session(async (say) => void [await say(0, [{}]), await say(0, [{}]), await say(1)])],
  ['an unknown session', session(async (say) => void [await say(1, [{}], { sessionId: 12345 })])],
  ['an unknown session that begins', session(async (say) => void [await say(0, [{}], { sessionId: 12345 })])],
  ['an unknown session that ends', session(async (say) => void [await say(-1, [{}], { sessionId: 12345 })])],
  ['an epoch without a session', session(async (say) => void [await say(5, [{}], { sessionId: 0 })])],
  ['a session below 0', session(async (say) => void [await say(1, [{}], { sessionId: -1 })])],
  [
    'a session with an unknown partition',
    session(async (say) => void [await say(0, [{ partition: 9 }]), await say(1), await say(2)]),
  ],
  [
    'a session out of range',
    session(async (say) => void [await say(0, [{ fetchOffset: 99 }]), await say(1), await say(2)]),
  ],
  ['a session that forgets', session(forgets)],
  ['a session that forgets what it does not have', session(forgetsStrangers)],
  ['a session that changes from ids to names', changesNames(13, 12)],
  ['a session that changes from names to ids', changesNames(12, 13)],
  ['a session at the end that is written to', writtenTo],
];

async function forgets(say: Parameters<Talk>[0]): Promise<void> {
  await say(0, [{}, { partition: 1 }]);
  const forgotten = forgottenOf(0);
  await say(1, [], forgotten);
  await say(2);
}

async function forgetsStrangers(say: Parameters<Talk>[0]): Promise<void> {
  await say(0, [{}]);
  await say(1, [{ fetchOffset: 30 }], {
    forgottenTopicsData: [{ topic: 'nowhere', topicId: UNKNOWN_ID, partitions: [3] }],
  });
  await say(2);
}

function forgottenOf(partition: number): object {
  return { forgottenTopicsData: [{ topic: NAME, topicId: ZERO_UUID, partitions: [partition] }] };
}

function changesNames(first: number, second: number): Run {
  return async (peer) => {
    const wire = await peer.connect();
    const begun: Answer = await wire.ask(FETCH, first, await bodyOf(peer, first, [{}], { sessionEpoch: 0 }));
    const { sessionId } = begun;
    const then = await wire.ask(FETCH, second, await bodyOf(peer, second, [{}], { sessionId, sessionEpoch: 1 }));
    wire.close();
    return [begun, then];
  };
}

async function writtenTo(peer: Peer): Promise<unknown> {
  const name = 'written-to';
  const topicId = await topic(peer, name);
  const wire = await peer.connect();
  const topics = [{ topic: name, topicId, partitions: [{ partition: 0, partitionMaxBytes: 10_000 }] }];
  const limits = { maxWaitMs: 5000, minBytes: 1, maxBytes: 10_000 };
  const begun: Answer = await wire.ask(FETCH, 16, { ...limits, maxWaitMs: 0, sessionEpoch: 0, topics });
  const later = wire.ask(FETCH, 16, { ...limits, sessionId: begun.sessionId, sessionEpoch: 1 });
  await produce(peer, 9, name, sound());
  const then = await later;
  wire.close();
  return [begun, then];
}
