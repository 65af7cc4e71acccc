/** Conversations of consumer groups: members come, give back, get, commit and go, and are refused in every way. */
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import { encodeSubscription } from '../../../core/protocol/consumer-protocol.ts';
import { type Answer, inTime, type Peer, topic, type Wire } from './peers.ts';
import type { Run } from './produce.ts';

const COMMIT = 8;
const FETCH = 9;
const FIND = 10;
const JOIN = 11;
const HEARTBEAT = 12;
const LEAVE = 13;
const SYNC = 14;
const LIST = 16;
const DELETE = 42;
const BEAT = 68;
const DESCRIBE = 69;
const TOPIC = 'consumed';
const OTHER = 'consumed-too';
const NOT_COORDINATOR = [14, 15, 16];

/** One group of one broker, and what was said to it and answered. */
interface Talk {
  readonly peer: Peer;
  readonly group: string;
  readonly wire: Wire;
  readonly answers: unknown[];
}

let begun = 0;

async function begin(peer: Peer, name: string): Promise<Talk> {
  await topic(peer, TOPIC);
  await topic(peer, OTHER);
  begun += 1;
  const group = `${name}-${peer.name}-${begun}`;
  const wire = await peer.connect();
  await inTime(`${peer.name} to coordinate groups`, async () => {
    await wire.ask(FIND, 3, { key: group, keyType: 0 });
    const { errorCode } = await wire.ask(BEAT, 1, { groupId: group, memberId: 'nobody', memberEpoch: 1 });
    return NOT_COORDINATOR.includes(errorCode) ? null : true;
  });
  return { peer, group, wire, answers: [] };
}

async function say(talk: Talk, key: number, version: number, body: object): Promise<Answer> {
  const answer: Answer = await talk.wire.ask(key, version, { groupId: talk.group, ...body });
  talk.answers.push([version, answer]);
  return answer;
}

function once(name: string, run: (talk: Talk) => Promise<void>): Run {
  return async (peer) => {
    const talk = await begin(peer, name);
    await run(talk);
    await talk.wire.close();
    return JSON.parse(
      JSON.stringify(talk.answers, (_key, value: unknown) => {
        if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
        return typeof value === 'string' ? value.replaceAll(talk.group, 'GROUP') : value;
      }),
    );
  };
}

const joining = (memberId: string, changes: object = {}) => ({
  memberId,
  memberEpoch: 0,
  rebalanceTimeoutMs: 60_000,
  subscribedTopicNames: [TOPIC],
  topicPartitions: [],
  ...changes,
});

const beat = (talk: Talk, body: object, version = 1) => say(talk, BEAT, version, body);

/** What a member owns of the first topic. */
function owned(talk: Talk, ...partitions: number[]): { topicPartitions: object[] } {
  return { topicPartitions: partitions.length === 0 ? [] : [{ topicId: talk.peer.ids.get(TOPIC), partitions }] };
}

async function describe(talk: Talk): Promise<void> {
  for (const version of [0, 1]) {
    const answer: Answer = await talk.wire.ask(DESCRIBE, version, { groupIds: [talk.group] });
    for (const { members } of answer.groups) {
      members.sort((a: Answer, b: Answer) => (a.memberId < b.memberId ? -1 : 1));
    }
    talk.answers.push([version, answer]);
  }
}

/** A member alone, then two, then one again. */
async function comesAndGoes(talk: Talk): Promise<void> {
  await beat(talk, joining('a'));
  await beat(talk, { memberId: 'a', memberEpoch: 2 });
  await describe(talk);
  await beat(talk, joining('b', { rackId: 'left', clientId: 'b' }));
  await describe(talk);
  await beat(talk, { memberId: 'a', memberEpoch: 2 });
  await describe(talk);
  await beat(talk, { memberId: 'b', memberEpoch: 3 });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk, 0) });
  await beat(talk, { memberId: 'b', memberEpoch: 3 });
  await beat(talk, { memberId: 'b', memberEpoch: 3, ...owned(talk, 1) });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk, 0) });
  await describe(talk);
  await beat(talk, joining('b'));
  await beat(talk, { memberId: 'b', memberEpoch: -1 });
  await describe(talk);
  await beat(talk, { memberId: 'a', memberEpoch: 3, ...owned(talk, 0) });
  await describe(talk);
  await beat(talk, { memberId: 'a', memberEpoch: -1 });
  await describe(talk);
}

/** A member that reads something else, and says everything. */
async function readsOther(talk: Talk): Promise<void> {
  await beat(talk, joining('a', { subscribedTopicNames: [TOPIC, 'nowhere'] }));
  await beat(talk, { memberId: 'a', memberEpoch: 2, subscribedTopicNames: [OTHER] });
  await describe(talk);
  const all = { rebalanceTimeoutMs: 60_000, subscribedTopicNames: [OTHER] };
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...all, ...owned(talk) });
  await describe(talk);
  await beat(talk, { memberId: 'a', memberEpoch: 3, serverAssignor: 'range' });
  await describe(talk);
  await beat(talk, { memberId: 'a', memberEpoch: 3, subscribedTopicNames: [] });
}

/** A static member that is away and is taken over. */
async function isAway(talk: Talk): Promise<void> {
  await beat(talk, joining('a', { instanceId: 'one' }));
  await beat(talk, joining('b', { instanceId: 'one' }));
  await beat(talk, { memberId: 'b', instanceId: 'one', memberEpoch: 2 });
  await beat(talk, { memberId: 'b', instanceId: 'two', memberEpoch: 2 });
  await beat(talk, { memberId: 'a', instanceId: 'one', memberEpoch: -2 });
  await describe(talk);
  await beat(talk, joining('b', { instanceId: 'one' }));
  await describe(talk);
  await beat(talk, { memberId: 'a', instanceId: 'one', memberEpoch: 2 });
  await beat(talk, { memberId: 'a', instanceId: 'one', memberEpoch: -1 });
  await beat(talk, { memberId: 'b', instanceId: 'one', memberEpoch: -1 });
  await describe(talk);
}

/** All that is refused. */
async function refused(talk: Talk): Promise<void> {
  await describe(talk);
  for (const version of [0, 1]) {
    await beat(talk, { memberId: 'a', memberEpoch: 2 }, version);
    await beat(talk, { memberId: 'a', memberEpoch: -1 }, version);
    for (const changes of [
      { groupId: '' },
      { instanceId: '' },
      { rackId: '' },
      { rebalanceTimeoutMs: -1 },
      { topicPartitions: null },
      owned(talk, 0),
      { subscribedTopicNames: null },
      { serverAssignor: 'fair' },
      { memberEpoch: -3 },
      { memberEpoch: -2 },
    ]) {
      await beat(talk, joining('a', changes), version);
    }
  }
  await beat(talk, joining(''));
  await beat(talk, joining('a', { subscribedTopicRegex: '(' }));
  await beat(talk, joining('a'));
  await beat(talk, { memberId: 'b', memberEpoch: 2 });
  await beat(talk, { memberId: 'b', memberEpoch: -1 });
  await beat(talk, { memberId: 'a', memberEpoch: 8 });
  await beat(talk, { memberId: 'a', memberEpoch: 2, subscribedTopicNames: [OTHER] });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk) });
  await beat(talk, { memberId: 'a', memberEpoch: 2 });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk) });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk, 0) });
}

async function commit(talk: Talk, version: number, memberId: string, epoch: number, partition: number): Promise<void> {
  const one = { partitionIndex: partition, committedOffset: 5, committedLeaderEpoch: -1, committedMetadata: '' };
  const topics = [{ name: TOPIC, topicId: talk.peer.ids.get(TOPIC) ?? ZERO_UUID, partitions: [one] }];
  await say(talk, COMMIT, version, { memberId, generationIdOrMemberEpoch: epoch, topics });
}

async function fetch(talk: Talk, memberId: string | null, memberEpoch: number): Promise<void> {
  const topics = [{ name: TOPIC, topicId: talk.peer.ids.get(TOPIC) ?? ZERO_UUID, partitionIndexes: [0, 1] }];
  const groups = [{ groupId: talk.group, memberId, memberEpoch, topics }];
  for (const version of [9, 10]) await say(talk, FETCH, version, { groups });
}

/** Offsets of members, by their epochs, and without members. */
async function commits(talk: Talk): Promise<void> {
  await beat(talk, joining('a'));
  for (const version of [8, 9, 10]) {
    await commit(talk, version, 'a', 2, 0);
    await commit(talk, version, 'a', 3, 0);
    await commit(talk, version, 'b', 2, 0);
    await commit(talk, version, '', -1, 0);
  }
  await fetch(talk, 'a', 2);
  await fetch(talk, 'a', 3);
  await fetch(talk, 'b', 2);
  await fetch(talk, null, -1);
  await beat(talk, joining('b'));
  await beat(talk, { memberId: 'a', memberEpoch: 2 });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk, 0) });
  await commit(talk, 9, 'a', 2, 0);
  await commit(talk, 9, 'a', 2, 1);
  await commit(talk, 9, 'a', 0, 0);
  await say(talk, DELETE, 2, { groupsNames: [talk.group] });
  await beat(talk, { memberId: 'a', memberEpoch: -1 });
  await beat(talk, { memberId: 'b', memberEpoch: -1 });
  await commit(talk, 9, '', -1, 1);
  const answer: Answer = await talk.wire.ask(LIST, 5, {});
  talk.answers.push(answer.groups.filter(({ groupId }: Answer) => groupId === talk.group));
  await say(talk, DELETE, 2, { groupsNames: [talk.group] });
  await fetch(talk, null, -1);
  await describe(talk);
}

const metadataOf = (topicId: string, ...partitions: number[]) =>
  Buffer.from(
    encodeSubscription({
      topics: [topicId],
      ownedPartitions: partitions.length === 0 ? [] : [{ topic: topicId, partitions }],
      userData: null,
    }),
  );

const classic = (memberId: string, ...partitions: number[]) => ({
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 30_000,
  memberId,
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: metadataOf(TOPIC, ...partitions) }],
});

/** A member of the classic protocol among those of the other; then it is alone. */
async function mixes(talk: Talk): Promise<void> {
  await beat(talk, joining('a'));
  const version = 3; // An older client, which makes its own id known at once.
  await say(talk, JOIN, version, classic('k'));
  await say(talk, HEARTBEAT, 4, { memberId: 'k', generationId: 3 });
  const sync = { memberId: 'k', protocolType: 'consumer', protocolName: 'range', assignments: [] };
  await say(talk, SYNC, 5, { ...sync, generationId: 3 });
  await beat(talk, { memberId: 'a', memberEpoch: 2 });
  await beat(talk, { memberId: 'a', memberEpoch: 2, ...owned(talk, 0) });
  await say(talk, HEARTBEAT, 4, { memberId: 'k', generationId: 3 });
  await say(talk, JOIN, version, classic('k'));
  await say(talk, SYNC, 5, { ...sync, generationId: 3 });
  await describe(talk);
  await say(talk, HEARTBEAT, 4, { memberId: 'k', generationId: 2 });
  await say(talk, HEARTBEAT, 4, { memberId: 'a', generationId: 3 });
  await say(talk, SYNC, 5, { ...sync, generationId: 3, protocolName: 'other' });
  await say(talk, JOIN, version, { ...classic('q'), protocols: [{ name: 'other', metadata: metadataOf(TOPIC) }] });
  await say(talk, LEAVE, 5, { members: [{ memberId: 'a' }, { memberId: 'nobody' }] });
  await beat(talk, { memberId: 'a', memberEpoch: -1 });
  await describe(talk);
  await say(talk, HEARTBEAT, 4, { memberId: 'k', generationId: 3 });
}

/** By name. */
export const CONSUMER_CASES: readonly [string, Run][] = [
  ['members of a consumer group that come and go', once('comes', comesAndGoes)],
  ['a member of a consumer group that reads something else', once('reads', readsOther)],
  ['a static member of a consumer group', once('away', isAway)],
  ['heartbeats of consumer groups that are refused', once('refused-beat', refused)],
  ['offsets of consumer groups', once('commits', commits)],
  ['members of both protocols', once('mixes', mixes)],
];
