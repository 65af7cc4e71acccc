/** Conversations of classic groups: members come, share out, commit and go, and are refused in every way. */
import { ZERO_UUID } from '../../../core/lib/uuid.ts';
import { type Answer, inTime, type Peer, topic, versionsOf, type Wire } from './peers.ts';
import type { Run } from './produce.ts';

const COMMIT = 8;
const FETCH = 9;
const FIND = 10;
const JOIN = 11;
const HEARTBEAT = 12;
const LEAVE = 13;
const SYNC = 14;
const DESCRIBE = 15;
const LIST = 16;
const DELETE = 42;
const DELETE_OFFSETS = 47;
const TOPIC = 'grouped';
const UNKNOWN_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
const MEMBER_ID_REQUIRED = 79;
const UNKNOWN_MEMBER_ID = 25;
/** A subscription to one topic, as Java's consumer begins it. */
const SUBSCRIPTION = Buffer.from('\0\x01\0\0\0\x01\0\x07grouped\xff\xff\xff\xff', 'latin1');

/** One group of one broker, and what was said to it and answered. */
interface Talk {
  readonly peer: Peer;
  readonly group: string;
  readonly wire: Wire;
  readonly answers: unknown[];
  /** Ids of members in the order in which they were given: each broker has its own. */
  readonly ids: string[];
}

const newest = (key: number): number => versionsOf(key).at(-1) ?? 0;

/** How often each broker was asked for a group of a name: a case that is tried again finds none of its groups. */
const begun = new Map<string, number>();

async function begin(peer: Peer, name: string): Promise<Talk> {
  await topic(peer, TOPIC);
  const count = (begun.get(`${peer.name} ${name}`) ?? 0) + 1;
  begun.set(`${peer.name} ${name}`, count);
  const group = `${name}-${count}`;
  const wire = await peer.connect();
  await inTime(`${peer.name} to coordinate groups`, async () => {
    await wire.ask(FIND, 3, { key: group, keyType: 0 });
    const body = { groupId: group, generationId: 1, memberId: 'nobody' };
    const { errorCode } = await wire.ask(HEARTBEAT, 3, body);
    return errorCode === UNKNOWN_MEMBER_ID ? true : null;
  });
  return { peer, group, wire, answers: [], ids: [] };
}

/** Says something and remembers the answer. */
async function say(talk: Talk, key: number, version: number, body: object, wire = talk.wire): Promise<Answer> {
  const answer: Answer = await wire.ask(key, version, { groupId: talk.group, ...body });
  if (key === JOIN && answer.memberId !== '' && !talk.ids.includes(answer.memberId)) talk.ids.push(answer.memberId);
  if (key === JOIN) orderMembers(talk, answer);
  if (key === DESCRIBE) for (const group of answer.groups) orderMembers(talk, group);
  talk.answers.push([version, answer]);
  return answer;
}

/** Members in the order in which they got their ids: a broker lists them by the hashes of ids that are chance. */
function orderMembers({ ids }: Talk, { members }: Answer): void {
  members.sort((a: Answer, b: Answer) => ids.indexOf(a.memberId) - ids.indexOf(b.memberId));
}

/** The answers, with members named by the order in which they came. */
function told({ answers, ids }: Talk): unknown {
  const text = JSON.stringify(answers, (_name, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    return value;
  });
  return JSON.parse(ids.reduce((known, id, i) => (id === '' ? known : known.replaceAll(id, `MEMBER-${i}`)), text));
}

const joining = (changes: object = {}) => ({
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 30_000,
  memberId: '',
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: SUBSCRIPTION }],
  ...changes,
});

/** Joins, a second time where an id must be used. */
async function join(talk: Talk, version: number, changes: object = {}, wire = talk.wire): Promise<Answer> {
  const first = await say(talk, JOIN, version, joining(changes), wire);
  if (first.errorCode !== MEMBER_ID_REQUIRED) return first;
  return say(talk, JOIN, version, joining({ ...changes, memberId: first.memberId }), wire);
}

function sync(talk: Talk, version: number, joined: Answer, changes: object = {}, wire = talk.wire): Promise<Answer> {
  const { generationId, memberId } = joined;
  const body = { generationId, memberId, protocolType: 'consumer', protocolName: 'range', assignments: [], ...changes };
  return say(talk, SYNC, version, body, wire);
}

const partsOf = (...members: readonly Answer[]) =>
  members.map(({ memberId }, i) => ({ memberId, assignment: Buffer.from(`part ${i}`) }));

function commit(talk: Talk, version: number, changes: object = {}, metadata: string | null = 'text'): Promise<Answer> {
  const partitions = [{ partitionIndex: 0, committedOffset: 5, committedLeaderEpoch: 0, committedMetadata: metadata }];
  const topics = [{ name: TOPIC, topicId: talk.peer.ids.get(TOPIC) ?? ZERO_UUID, partitions }];
  return say(talk, COMMIT, version, { memberId: '', generationIdOrMemberEpoch: -1, topics, ...changes });
}

function fetch(talk: Talk, version: number, hasTopics: boolean): Promise<Answer> {
  const topicId = talk.peer.ids.get(TOPIC) ?? ZERO_UUID;
  const topics = hasTopics ? [{ name: TOPIC, topicId, partitionIndexes: [0, 1, 7] }] : null;
  const groups = [{ groupId: talk.group, memberId: null, memberEpoch: -1, topics }];
  return say(talk, FETCH, version, { topics, groups });
}

async function describe(talk: Talk, version = newest(DESCRIBE)): Promise<void> {
  await say(talk, DESCRIBE, version, { groups: [talk.group] });
}

/** A whole life in the versions of one age. */
function lives(): Run {
  return async (peer) => {
    const all: unknown[] = [];
    for (const version of versionsOf(JOIN)) {
      const talk = await begin(peer, `life-${version}`);
      const upTo = (key: number, at = version): number => Math.min(at, newest(key));
      const joined = await join(talk, version);
      await sync(talk, upTo(SYNC), joined, { assignments: partsOf(joined) });
      const member = { memberId: joined.memberId, generationId: joined.generationId };
      await say(talk, HEARTBEAT, upTo(HEARTBEAT), member);
      await commit(talk, upTo(COMMIT, version + 2), { ...member, generationIdOrMemberEpoch: joined.generationId });
      await fetch(talk, upTo(FETCH, version + 1), true);
      await describe(talk, upTo(DESCRIBE));
      await say(talk, DELETE, upTo(DELETE), { groupsNames: [talk.group] });
      await say(talk, LEAVE, upTo(LEAVE), { memberId: joined.memberId, members: [{ memberId: joined.memberId }] });
      await describe(talk, upTo(DESCRIBE));
      await commit(talk, upTo(COMMIT, version + 2));
      await say(talk, DELETE, upTo(DELETE), { groupsNames: [talk.group] });
      await describe(talk, upTo(DESCRIBE));
      talk.wire.close();
      all.push([version, told(talk)]);
    }
    return all;
  };
}

function once(group: string, run: (talk: Talk) => Promise<void>): Run {
  return async (peer) => {
    const talk = await begin(peer, group);
    await run(talk);
    talk.wire.close();
    return told(talk);
  };
}

/** A second member comes and goes. Answers are remembered in the order of who asked. */
async function comesAndGoes(talk: Talk): Promise<void> {
  const other = await talk.peer.connect();
  const a = await join(talk, 9);
  await sync(talk, 5, a, { assignments: partsOf(a) });
  const idOfB = (await say(talk, JOIN, 9, joining(), other)).memberId;
  const bJoins = other.ask(JOIN, 9, { groupId: talk.group, ...joining({ memberId: idOfB }) });
  const member = { memberId: a.memberId, generationId: a.generationId };
  await inTime('a rebalance', async () => {
    const { errorCode } = await talk.wire.ask(HEARTBEAT, 4, { groupId: talk.group, ...member });
    return errorCode === 0 ? null : true;
  });
  await say(talk, HEARTBEAT, 4, member);
  await sync(talk, 5, a);
  await commit(talk, 9, { ...member, generationIdOrMemberEpoch: a.generationId });
  const again = await say(talk, JOIN, 9, joining({ memberId: a.memberId }));
  const b: Answer = await bJoins;
  talk.answers.push(b);
  await commit(talk, 9, { memberId: b.memberId, generationIdOrMemberEpoch: b.generationId });
  await describe(talk);
  const bSyncs = other.ask(SYNC, 5, {
    groupId: talk.group,
    generationId: b.generationId,
    memberId: b.memberId,
    protocolType: 'consumer',
    protocolName: 'range',
    assignments: [],
  });
  await sync(talk, 5, again, { assignments: partsOf(again, b) });
  talk.answers.push(await bSyncs);
  await describe(talk);
  await say(talk, HEARTBEAT, 4, member);
  await say(talk, LEAVE, 5, { members: [{ memberId: b.memberId }, { memberId: 'nobody' }] });
  await say(talk, HEARTBEAT, 4, { memberId: a.memberId, generationId: again.generationId });
  await say(talk, JOIN, 9, joining({ memberId: a.memberId }));
  other.close();
}

/** A static member comes back, with and without an id, and its former self speaks up. */
async function comesBack(talk: Talk): Promise<void> {
  const instance = { groupInstanceId: 'one' };
  const a = await join(talk, 9, instance);
  await sync(talk, 5, a, { ...instance, assignments: partsOf(a) });
  const back = await say(talk, JOIN, 9, joining(instance));
  await sync(talk, 5, back, instance);
  const older = await say(talk, JOIN, 8, joining(instance));
  await describe(talk);
  const former = { memberId: a.memberId, generationId: a.generationId, ...instance };
  await say(talk, HEARTBEAT, 4, former);
  await say(talk, HEARTBEAT, 4, { ...former, groupInstanceId: null });
  await sync(talk, 5, a, instance);
  await commit(talk, 9, { ...former, generationIdOrMemberEpoch: a.generationId });
  await say(talk, JOIN, 9, joining({ memberId: a.memberId, ...instance }));
  await say(talk, LEAVE, 5, { members: [{ memberId: a.memberId, ...instance }] });
  await say(talk, JOIN, 9, joining({ memberId: older.memberId, groupInstanceId: 'two' }));
  await say(talk, LEAVE, 5, {
    members: [
      { memberId: '', groupInstanceId: 'one' },
      { memberId: '', groupInstanceId: 'two' },
    ],
  });
  await describe(talk);
}

/** All that is refused to JoinGroup. */
async function refusedToJoin(talk: Talk): Promise<void> {
  for (const version of versionsOf(JOIN)) {
    await say(talk, JOIN, version, joining({ memberId: 'nobody' }));
    await say(talk, JOIN, version, joining({ sessionTimeoutMs: 5 }));
    await say(talk, JOIN, version, { ...joining(), groupId: '' });
  }
  const a = await join(talk, 9);
  await sync(talk, 5, a, { assignments: partsOf(a) });
  await say(talk, JOIN, 9, joining({ protocolType: 'connect' }));
  await say(talk, JOIN, 9, joining({ protocols: [{ name: 'other', metadata: SUBSCRIPTION }] }));
  await say(talk, JOIN, 9, joining({ protocols: [] }));
  await say(talk, JOIN, 9, joining({ memberId: 'nobody' }));
  await describe(talk);
}

/** All that is refused to members and to those who say that they are. */
async function refusedToMembers(talk: Talk): Promise<void> {
  const stranger = { memberId: 'nobody', generationId: 1 };
  for (const version of versionsOf(HEARTBEAT)) await say(talk, HEARTBEAT, version, stranger);
  for (const version of versionsOf(SYNC)) await sync(talk, version, stranger);
  for (const version of versionsOf(LEAVE)) {
    await say(talk, LEAVE, version, { memberId: 'nobody', members: [{ memberId: 'nobody' }] });
  }
  for (const version of versionsOf(COMMIT)) {
    await commit(talk, version, { memberId: 'nobody', generationIdOrMemberEpoch: 1 });
  }
  const a = await join(talk, 9);
  await commit(talk, 9, { memberId: a.memberId, generationIdOrMemberEpoch: a.generationId });
  await sync(talk, 5, { ...a, generationId: 7 });
  await sync(talk, 5, a, { protocolName: 'other' });
  await sync(talk, 5, a, { protocolType: 'connect' });
  await sync(talk, 5, a, { protocolName: null });
  await sync(talk, 5, a, { groupInstanceId: 'none' });
  await sync(talk, 5, a, { assignments: partsOf(a) });
  const member = { memberId: a.memberId, generationId: a.generationId };
  await say(talk, HEARTBEAT, 4, { ...member, generationId: 7 });
  await say(talk, HEARTBEAT, 4, { ...member, groupInstanceId: 'none' });
  await say(talk, HEARTBEAT, 4, { ...member, groupId: '' });
  await say(talk, LEAVE, 5, { groupId: '', members: [{ memberId: a.memberId }] });
  await sync(talk, 5, a, { groupId: '' });
  for (const version of [2, 8, 9, 10]) {
    await commit(talk, version);
    await commit(talk, version, { memberId: a.memberId, generationIdOrMemberEpoch: 7 });
    await commit(talk, version, { memberId: a.memberId, generationIdOrMemberEpoch: -1 });
    await commit(talk, version, { memberId: 'nobody', generationIdOrMemberEpoch: a.generationId });
    const nothing = [{ partitionIndex: 0, committedOffset: 5, committedLeaderEpoch: 0, committedMetadata: null }];
    const topics = [{ name: 'nothing', topicId: UNKNOWN_ID, partitions: nothing }];
    await commit(talk, version, { memberId: 'nobody', generationIdOrMemberEpoch: a.generationId, topics });
  }
  await say(talk, DELETE_OFFSETS, 0, { topics: [{ name: TOPIC, partitions: [{ partitionIndex: 0 }] }] });
}

/** Offsets without members, in every version. */
async function offsetsAlone(talk: Talk): Promise<void> {
  const one = { partitionIndex: 0, committedOffset: 5, committedLeaderEpoch: -1, committedMetadata: null };
  for (const version of versionsOf(FETCH)) await fetch(talk, version, true);
  for (const version of versionsOf(COMMIT)) {
    await commit(talk, version, {}, version % 2 === 0 ? 'even' : null);
    await commit(talk, version, {}, 'x'.repeat(5000));
    const topics = [
      { name: TOPIC, topicId: talk.peer.ids.get(TOPIC), partitions: [one, { ...one, partitionIndex: 9 }] },
      { name: 'nothing', topicId: UNKNOWN_ID, partitions: [one] },
    ];
    await commit(talk, version, { topics });
  }
  for (const version of versionsOf(FETCH)) {
    await fetch(talk, version, true);
    if (version >= 2) await fetch(talk, version, false);
  }
  const unknown = [{ name: 'nothing', topicId: UNKNOWN_ID, partitionIndexes: [0] }];
  for (const version of versionsOf(FETCH)) {
    await say(talk, FETCH, version, { topics: unknown, groups: [{ groupId: talk.group, topics: unknown }] });
  }
  await describe(talk);
  const gone = { topics: [TOPIC, 'nothing'].map((name) => ({ name, partitions: [{ partitionIndex: 0 }] })) };
  await say(talk, DELETE_OFFSETS, 0, gone);
  await say(talk, DELETE_OFFSETS, 0, { ...gone, groupId: 'no-such-group' });
  await say(talk, DELETE_OFFSETS, 0, { ...gone, groupId: '' });
  await fetch(talk, 9, false);
}

/** What is listed of the groups of this case. */
async function listed(talk: Talk): Promise<void> {
  await say(talk, DELETE_OFFSETS, 0, { topics: [{ name: 'nothing', partitions: [{ partitionIndex: 0 }] }] });
  const a = await join(talk, 9);
  await sync(talk, 5, a, { assignments: partsOf(a) });
  const simple = { ...talk, group: `${talk.group}-simple` };
  await commit(simple, 9);
  const filters: readonly (readonly [states: string[], types: string[]])[] = [
    [[], []],
    [['Stable'], []],
    [['stable', ' EMPTY '], []],
    [[], ['Classic']],
    [[], ['consumer']],
    [['nonsense'], []],
    [['Empty'], ['CLASSIC']],
  ];
  for (const version of versionsOf(LIST)) {
    for (const [statesFilter, typesFilter] of filters) {
      const answer: Answer = await talk.wire.ask(LIST, version, { statesFilter, typesFilter });
      const groups = answer.groups.filter(({ groupId }: Answer) => groupId.startsWith(talk.group));
      groups.sort((x: Answer, y: Answer) => (x.groupId < y.groupId ? -1 : 1));
      talk.answers.push([version, { ...answer, groups }]);
    }
  }
  for (const version of versionsOf(DESCRIBE)) {
    for (const group of [talk.group, simple.group, 'no-such-group'])
      await say(talk, DESCRIBE, version, { groups: [group] });
  }
  for (const version of versionsOf(DELETE)) {
    for (const group of [talk.group, 'no-such-group']) await say(talk, DELETE, version, { groupsNames: [group] });
  }
}

/** By name. */
export const GROUP_CASES: readonly [string, Run][] = [
  ['the life of a member, in all versions', lives()],
  ['a member that comes and goes beside another', once('two', comesAndGoes)],
  ['a static member that comes back', once('static', comesBack)],
  ['JoinGroup that is refused', once('refused-join', refusedToJoin)],
  ['members that are refused', once('refused', refusedToMembers)],
  ['offsets without members', once('alone', offsetsAlone)],
  ['groups that are listed, described and deleted', once('listed', listed)],
];
