/**
 * What one member writes into the history of its group. It looks into the consumer where events do not tell enough:
 * when a commit was sent, under which generation, and how often.
 */
import type { TopicPartitions } from '../../core/assignors/client-shapes.ts';
import type { ConsumerEvent } from '../../core/client/consumer-options.ts';
import type { Consumer } from '../../core/client/consumer-state.ts';
import { whoIs } from '../../core/client/member.ts';
import type { ClassicMember } from '../../core/client/member-classic-state.ts';
import type { ConsumerMember } from '../../core/client/member-consumer.ts';
import { errorName } from '../../core/protocol/errors.ts';
import type { GroupHistory, OffsetCommit } from '../../core/verify/group-history.ts';
import type { Observer } from './observer.ts';

/** Commits of one member that have no outcome. */
interface OpenCommit {
  readonly ticket: number;
  readonly isOwn: boolean;
  attempts: number;
  /** One for each partition. */
  readonly commits: readonly OffsetCommit[];
}

/** What is remembered of one member. Plain data. */
export interface MemberNotes {
  readonly observer: Observer;
  readonly group: GroupHistory;
  readonly member: number;
  /** The holding of each partition that it owns. */
  readonly holdings: Map<number, number>;
  readonly open: OpenCommit[];
  /** The heartbeat that is out, and when it was sent; 0 for none. */
  heartbeat: number;
  heartbeatUs: number;
  /** When the last one that the coordinator has answered was sent; -1 for none, and in the classic protocol. */
  answeredUs: number;
  /** The last JoinGroup of a classic member, and when it was sent; 0 for none. */
  join: number;
  joinUs: number;
  /** It has not been answered yet; or when it was. */
  isJoining: boolean;
  joinedUs: number;
  /** When a classic member was last heard by its coordinator, on its own clock. */
  heardMs: number;
}

/** Another member; a static one by its instance id. */
export function beginMember(observer: Observer, group: GroupHistory, instanceId: string | null): MemberNotes {
  group.members += 1;
  if (instanceId !== null) group.lives.set(instanceId, (group.lives.get(instanceId) ?? 0) + 1);
  const common = { heartbeat: 0, heartbeatUs: 0, answeredUs: -1, join: 0, joinUs: 0, heardMs: 0 };
  const joining = { isJoining: false, joinedUs: 0 };
  return { observer, group, member: group.members, holdings: new Map(), open: [], ...common, ...joining };
}

/** It is no more. */
export function endMember({ observer, group, holdings, open }: MemberNotes): void {
  for (const holding of holdings.values()) endHolding(group, holding, observer.time.nowUs);
  holdings.clear();
  open.length = 0;
}

function endHolding({ holdings }: GroupHistory, index: number, nowUs: number, isCommitted = false): void {
  const holding = holdings[index];
  if (holding === undefined) return;
  holding.toUs = nowUs;
  if (isCommitted) holding.isCommitted = true;
}

/** The index of a partition in the history; -1 for one that is not there. */
export function indexOf({ history }: Observer, topic: string, partition: number): number {
  return history.partitions.findIndex((one) => one.topic === topic && one.partition === partition);
}

function indexesOf(observer: Observer, topics: readonly TopicPartitions[]): number[] {
  return topics.flatMap(({ topic, partitions }) => {
    return partitions.map((partition) => indexOf(observer, topic, partition));
  });
}

/** It was told what it owns from now on, beside what it does. */
export function noteAssigned(
  notes: MemberNotes,
  { options, grouped }: Consumer,
  generation: number,
  topics: readonly TopicPartitions[],
): void {
  const { observer, group, member, holdings, answeredUs: askedUs } = notes;
  const { nowUs } = observer.time;
  for (const partition of indexesOf(observer, topics)) {
    if (partition < 0) continue;
    if (observer.history.partitions[partition]?.isSlot === true) observer.reached('sim.consumer.owns_coming');
    holdings.set(partition, group.holdings.length);
    group.holdings.push({ member, partition, fromUs: nowUs, askedUs, toUs: Number.POSITIVE_INFINITY });
  }
  const { instanceId = null } = options;
  const asked = grouped?.member.protocol === 'classic' ? { askedUs: notes.joinUs, joinedUs: notes.joinedUs } : {};
  group.assignments.push({ member, instanceId, generation, ...asked, atUs: nowUs, partitions: [...holdings.keys()] });
}

/** It was told to give these up, or that they are lost; `isCommitted`: what it was handed of them is committed. */
export function noteGivenUp(
  { observer, group, holdings }: MemberNotes,
  topics: readonly TopicPartitions[],
  isCommitted = false,
): void {
  for (const partition of indexesOf(observer, topics)) {
    const holding = holdings.get(partition);
    if (holding === undefined) continue;
    endHolding(group, holding, observer.time.nowUs, isCommitted);
    holdings.delete(partition);
    const { topic = '', isSlot } = observer.history.partitions[partition] ?? {};
    if (isSlot === true && !observer.board.has(topic)) observer.reached('sim.consumer.gives_up_gone');
  }
}

/** After each step of the consumer, before its events: what it has sent. */
export function noteCalls(notes: MemberNotes, consumer: Consumer): void {
  const { grouped } = consumer;
  if (grouped === null) return;
  noteHeartbeat(notes, consumer);
  const { offsets, member } = grouped;
  const [first] = offsets.tasks;
  for (const { ticket, what } of offsets.tasks) {
    if (what.kind !== 'commit' || notes.open.some((one) => one.ticket === ticket)) continue;
    begin(notes, ticket, consumer.ownCommits.has(ticket), what.marks);
  }
  if (first === undefined || offsets.call === 0) return;
  const open = notes.open.find(({ ticket }) => ticket === first.ticket);
  if (open === undefined || open.attempts === offsets.call) return;
  const { nowUs } = notes.observer.time;
  const generation = first.membership?.generation ?? whoIs(member)?.generation ?? -1;
  for (const commit of open.commits) {
    commit.isRepeated = open.attempts !== 0;
    commit.lastSentUs = nowUs;
    commit.generation = generation;
  }
  open.attempts = offsets.call;
}

function begin(
  { observer, group, member, open }: MemberNotes,
  ticket: number,
  isOwn: boolean,
  marks: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
): void {
  const sentUs = observer.time.nowUs;
  const commits = marks.map(({ topic, partition, offset }): OffsetCommit => {
    const index = indexOf(observer, topic, partition);
    const common = { generation: -1, sentUs, lastSentUs: sentUs, doneUs: Number.POSITIVE_INFINITY };
    return { member, partition: index, offset, ...common, isRepeated: false, outcome: 'unknown' };
  });
  group.commits.push(...commits);
  open.push({ ticket, isOwn, attempts: 0, commits });
}

function noteHeartbeat(notes: MemberNotes, { grouped }: Consumer): void {
  if (grouped === null) return;
  if (grouped.member.protocol === 'classic')
    noteClassicHeartbeat(notes, grouped.member.classic, grouped.coordinator.address !== null);
  else noteConsumerHeartbeat(notes, grouped.member.consumer);
}

function noteConsumerHeartbeat(notes: MemberNotes, { call, failures, epoch, isOusted }: ConsumerMember): void {
  if (call === notes.heartbeat) return;
  if (notes.heartbeat !== 0 && failures === 0 && epoch > 0 && !isOusted) {
    prove(notes);
    notes.answeredUs = notes.heartbeatUs;
  }
  notes.heartbeat = call;
  notes.heartbeatUs = notes.observer.time.nowUs;
}

/**
 * A heartbeat that is over was answered well where the member has just heard of its coordinator, has not lost it, and
 * is in the generation of that heartbeat. That it has to join again is a good answer too: nothing of its is another's
 * yet.
 */
function noteClassicHeartbeat(notes: MemberNotes, member: ClassicMember, hasCoordinator: boolean): void {
  const { heartbeat, heartbeatGeneration, generation, heardMs, isOusted, phase, call } = member;
  if (phase === 'joining' && call !== notes.join) {
    notes.join = call;
    notes.joinUs = notes.observer.time.nowUs;
    notes.isJoining = true;
  }
  if (phase !== 'joining' && notes.isJoining) {
    notes.isJoining = false;
    notes.joinedUs = notes.observer.time.nowUs;
  }
  const isHeard = heardMs > notes.heardMs;
  notes.heardMs = heardMs;
  if (heartbeat === notes.heartbeat) return;
  const isOurs = heartbeatGeneration === generation && generation >= 0 && !isOusted && phase !== 'failed';
  if (notes.heartbeat !== 0 && isHeard && isOurs && hasCoordinator) prove(notes, generation);
  notes.heartbeat = heartbeat;
  notes.heartbeatUs = notes.observer.time.nowUs;
}

function prove({ group, member, heartbeatUs }: MemberNotes, generation?: number): void {
  group.proofs.push({ member, sentUs: heartbeatUs, ...(generation === undefined ? {} : { generation }) });
}

/** A commit has its outcome. Those that the consumer made by itself come without their ticket, in their order. */
export function noteOutcome(
  notes: MemberNotes,
  { grouped }: Consumer,
  event: Extract<ConsumerEvent, { kind: 'committed' }>,
): void {
  const waiting = new Set(grouped?.offsets.tasks.map(({ ticket }) => ticket));
  const at = notes.open.findIndex(({ ticket, isOwn }) => {
    return event.ticket === 0 ? isOwn && !waiting.has(ticket) : ticket === event.ticket;
  });
  if (at < 0) return;
  const [ended] = notes.open.splice(at, 1);
  const { history, time, reached } = notes.observer;
  if (event.error !== 0) reached(`sim.commit.refused_${errorName(event.error)}`);
  for (const commit of ended?.commits ?? []) {
    const named = history.partitions[commit.partition];
    const mark = event.marks.find(({ topic, partition }) => topic === named?.topic && partition === named.partition);
    commit.doneUs = time.nowUs;
    if (mark?.error === 0) commit.outcome = 'acknowledged';
  }
}

/** Committed offsets were read back. */
export function noteFound(
  { observer, group }: MemberNotes,
  askedUs: number,
  event: Extract<ConsumerEvent, { kind: 'offsets' }>,
): void {
  if (event.error !== 0) return;
  const doneUs = observer.time.nowUs;
  for (const { topic, partition, offset, error } of event.marks) {
    if (error === 0) group.lookups.push({ partition: indexOf(observer, topic, partition), offset, askedUs, doneUs });
  }
}
