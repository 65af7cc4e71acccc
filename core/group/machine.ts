/**
 * The coordinator of groups, as a machine for coordination: one for each led partition of `__consumer_offsets`.
 *
 * A call goes to its handler, which reads state, changes what is soft and decides on records and answers; the records
 * are appended and replayed by the host. A `tick` does what time asks for, a bounded amount at a time: while more is
 * due the host is woken again at once. A coordinator that becomes active begins every session anew, so that a member of
 * any group has its whole time to find it.
 */
import type { ActivateContext, Activation, Decision, HandleContext, Machine } from '../coordination/machine.ts';
import { earliestMs, takeDue } from '../lib/heap.ts';
import type { GroupRecord } from '../protocol/group-records.ts';
import { deleteGroup, describeGroup, listGroups } from './admin.ts';
import { joinGroup } from './classic-join.ts';
import { leaveGroup } from './classic-leave.ts';
import { activateClassicGroup, tickClassicGroup } from './classic-rebalance.ts';
import { heartbeat, syncGroup } from './classic-sync.ts';
import { groupFromRecord } from './classic-written.ts';
import { activateConsumerGroup, consumerGroupDescribe, consumerGroupHeartbeat, tickConsumerGroup } from './consumer.ts';
import { GROUP_DEFAULTS } from './defaults.ts';
import { commitOffsets } from './offset-commit.ts';
import { expireOffsets, forgetTopics } from './offset-expiry.ts';
import { deleteOffsets, fetchOffsets } from './offset-fetch.ts';
import { batchedBytes, decodeRecord, encodeRecord } from './records.ts';
import { replayRecord } from './replay.ts';
import type { GroupCall, GroupRequest, GroupShapes, GroupWork } from './shapes.ts';
import { createGroupState, type GroupState, groupOf } from './state.ts';

/** Groups that one tick looks at, at most. */
const TICK_GROUPS_MAX = 200;
/** A tick whose records take this part of what one batch holds leaves the rest to the next: they must be one. */
const TICK_BATCH_PART = 0.5;

/** The machine. */
export const GROUP_MACHINE: Machine<GroupShapes> = {
  beginLoad: () => createGroupState(GROUP_DEFAULTS),
  load: (state, records) => {
    for (const record of records) replayRecord(state, record);
    return [];
  },
  loaded: () => 'groups',
  resume: () => createGroupState(GROUP_DEFAULTS),
  activate,
  handle,
  replay: (state, records) => {
    for (const record of records) replayRecord(state, record);
    return null;
  },
  encode: (record) => encodeRecord(record as GroupRecord),
  decode: decodeRecord,
  view: () => 'groups',
  snapshot: () => ({ records: [], next: -1 }),
  // A view says nothing of the state, to be taken at no cost.
  isEqual: () => true,
};

/** When the machine next has something to do by itself, `nowMs`; Infinity: never. */
export function groupDeadlineMs(state: GroupState): number {
  return Math.min(earliestMs(state.deadlines), state.expiryDeadlineMs);
}

function activate(state: GroupState, context: ActivateContext<GroupShapes>): Activation<GroupShapes> {
  const { nowMs } = context;
  const { config, image } = context.config;
  state.config = config;
  state.expiryDeadlineMs = nowMs + config.offsetsRetentionCheckIntervalMs;
  const work: GroupWork = {
    nowMs,
    wallMs: -1,
    uuid: '',
    image,
    compilePattern: () => null,
    records: [],
    answers: [],
    isAtomic: true,
  };
  for (const [groupId, group] of state.groups) {
    if (group.kind === 'consumer') {
      activateConsumerGroup(state, work, group);
    } else if (group.written !== null) {
      const live = groupFromRecord(groupId, group.written);
      state.groups.set(groupId, live);
      activateClassicGroup(state, work, live);
    }
  }
  return { state, records: work.records };
}

function handle(state: GroupState, context: HandleContext, request: GroupRequest): Decision<GroupShapes> {
  const { wallMs, uuid, image, compilePattern, waiter, call } = request;
  const work: GroupWork = {
    nowMs: context.nowMs,
    wallMs,
    uuid,
    image,
    compilePattern,
    records: [],
    answers: [],
    isAtomic: true,
  };
  dispatch(state, work, waiter, call);
  return { records: work.records, response: work.answers, isAtomic: work.isAtomic };
}

function dispatch(state: GroupState, work: GroupWork, waiter: number, call: GroupCall): void {
  switch (call.kind) {
    case 'joinGroup':
      joinGroup(state, work, waiter, call);
      break;
    case 'syncGroup':
      syncGroup(state, work, waiter, call);
      break;
    case 'heartbeat':
      heartbeat(state, work, waiter, call);
      break;
    case 'leaveGroup':
      leaveGroup(state, work, waiter, call);
      break;
    case 'offsetCommit':
      commitOffsets(state, work, waiter, call);
      break;
    case 'offsetFetch':
      fetchOffsets(state, work, waiter, call);
      break;
    case 'offsetDelete':
      deleteOffsets(state, work, waiter, call);
      break;
    case 'describeGroup':
      describeGroup(state, work, waiter, call);
      break;
    case 'listGroups':
      listGroups(state, work, waiter, call);
      break;
    case 'deleteGroup':
      deleteGroup(state, work, waiter, call);
      break;
    case 'consumerGroupHeartbeat':
      consumerGroupHeartbeat(state, work, waiter, call);
      break;
    case 'consumerGroupDescribe': {
      const { groupId } = call.body;
      const group = groupOf(state, groupId);
      const body = consumerGroupDescribe(state, work, groupId, group?.kind === 'consumer' ? group : null);
      work.answers.push({ waiter, body });
      break;
    }
    case 'topicsDeleted':
      forgetTopics(state, work, call.topics);
      break;
    default:
      tick(state, work);
  }
}

function tick(state: GroupState, work: GroupWork): void {
  let leftBytes = state.config.recordSizeMax * TICK_BATCH_PART;
  for (let count = 0; count < TICK_GROUPS_MAX && leftBytes > 0; count++) {
    const group = takeDue(state.deadlines, work.nowMs);
    if (group === null) break;
    const before = work.records.length;
    if (group.kind === 'consumer') tickConsumerGroup(state, work, group);
    else tickClassicGroup(state, work, group);
    leftBytes -= batchedBytes(work.records, before);
  }
  // What expires may be split over batches, what became of a group may not.
  if (work.records.length === 0 && state.expiryDeadlineMs <= work.nowMs) {
    expireOffsets(state, work);
  }
}
