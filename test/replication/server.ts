/** The leader's side of a test's node: fetch sessions, long polls and reads, as core/broker has them, but smaller. */
import { readLog } from '../../core/log/log.ts';
import type { ReadOutcome } from '../../core/log/types.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { FetchRequest, FetchResponse } from '../../core/protocol/messages/01-fetch.ts';
import type { ListOffsetsRequest, ListOffsetsResponse } from '../../core/protocol/messages/02-list-offsets.ts';
import { fence } from '../../core/replication/fencing.ts';
import { judgeReplica, noteReplica } from '../../core/replication/serve.ts';
import { concat } from '../log/world.ts';
import type { Part, TestNode } from './node.ts';

type AskedPartition = FetchRequest['topics'][number]['partitions'][number];
type Answer = FetchResponse['responses'][number]['partitions'][number];

interface Listed {
  readonly part: Part;
  asked: AskedPartition;
  told: string;
}

interface Session {
  readonly id: number;
  epoch: number;
  readonly listed: Map<string, Listed>;
}

/** A Fetch at work. */
interface Served {
  readonly body: FetchRequest;
  readonly session: Session;
  readonly isFull: boolean;
  readonly untilMs: number;
  readonly reply: (response: FetchResponse) => void;
  answers: { readonly listed: Listed; readonly answer: Answer }[];
  pendingReads: number;
  isParked: boolean;
}

/** The requests of one connection, served one after the other. */
export interface Line {
  current: Served | null;
  readonly queue: (() => void)[];
}

/** All sessions and connections of a node. */
export interface Server {
  readonly sessions: Map<number, Session>;
  readonly lines: Map<number, Line>;
  nextId: number;
}

/** A server without sessions. */
export function createServer(firstId: number): Server {
  return { sessions: new Map(), lines: new Map(), nextId: firstId };
}

/** A Fetch of node `from` has arrived. */
export function serveFetch(
  node: TestNode,
  from: number,
  body: FetchRequest,
  reply: (response: FetchResponse) => void,
): void {
  const line = node.server.lines.get(from) ?? { current: null, queue: [] };
  node.server.lines.set(from, line);
  line.queue.push(() => begin(node, line, body, reply));
  const { current } = line;
  if (current?.isParked === true) finish(node, line, current);
  else if (current === null) next(line);
}

function next(line: Line): void {
  line.current = null;
  line.queue.shift()?.();
}

function failed(error: number): FetchResponse {
  return { throttleTimeMs: 0, errorCode: error, sessionId: 0, responses: [], nodeEndpoints: [] };
}

function begin(node: TestNode, line: Line, body: FetchRequest, reply: (response: FetchResponse) => void): void {
  const { server } = node;
  const isFull = body.sessionEpoch === 0;
  let session = server.sessions.get(body.sessionId);
  if (isFull) {
    const id = node.dice() < 0.1 ? 0 : server.nextId++;
    session = { id, epoch: 1, listed: new Map() };
    if (id !== 0) server.sessions.set(id, session);
  } else if (session === undefined || session.epoch !== body.sessionEpoch) {
    reply(failed(session === undefined ? ErrorCode.FETCH_SESSION_ID_NOT_FOUND : ErrorCode.INVALID_FETCH_SESSION_EPOCH));
    next(line);
    return;
  } else {
    session.epoch++;
  }
  for (const { topicId, partitions } of body.forgottenTopicsData) {
    for (const index of partitions) session.listed.delete(`${topicId}/${index}`);
  }
  const replica = { id: body.replicaState.replicaId, brokerEpoch: body.replicaState.replicaEpoch };
  for (const { topicId, partitions } of body.topics) {
    for (const asked of partitions) {
      const part = node.parts[asked.partition] as Part;
      session.listed.set(`${topicId}/${asked.partition}`, { part, asked, told: '' });
      if (part.isOpen) noteReplica(part.leader, node.env, replica, asked);
    }
  }
  const untilMs = node.env.nowMs + body.maxWaitMs;
  const served: Served = {
    body,
    session,
    isFull,
    untilMs,
    reply,
    answers: [],
    pendingReads: 0,
    isParked: false,
  };
  line.current = served;
  node.settle();
  collect(node, line, served);
}

function collect(node: TestNode, line: Line, served: Served): void {
  served.answers = [];
  served.isParked = false;
  let bytes = 0;
  for (const listed of served.session.listed.values()) bytes += visit(node, line, served, listed);
  if (served.pendingReads > 0) return;
  if (bytes > 0 || served.untilMs <= node.env.nowMs) finish(node, line, served);
  else served.isParked = true;
}

/** Something to say at once counts as a byte. */
function visit(node: TestNode, line: Line, served: Served, listed: Listed): number {
  const { part, asked } = listed;
  const answer = blank(part);
  served.answers.push({ listed, answer });
  const verdict = part.isOpen
    ? judgeReplica(part.leader, served.body.replicaState.replicaId, asked)
    : ({ kind: 'error', error: ErrorCode.NOT_LEADER_OR_FOLLOWER } as const);
  if (verdict.kind === 'error') {
    answer.errorCode = verdict.error;
    return 1;
  }
  if (verdict.kind === 'diverging') {
    answer.divergingEpoch = { epoch: verdict.epoch, endOffset: verdict.endOffset };
    return 1;
  }
  if (asked.fetchOffset >= verdict.upTo) return 0;
  const request = { offset: asked.fetchOffset, upTo: verdict.upTo, sizeBytesMax: 600, minOne: true };
  const outcome = readLog(part.log, node.env, request, node.out);
  if (outcome.kind !== 'pending') return fill(answer, outcome);
  served.pendingReads++;
  part.reads.set(outcome.ticket, (done) => {
    fill(answer, done);
    served.pendingReads--;
    if (served.pendingReads === 0) finish(node, line, served);
  });
  return 0;
}

function fill(answer: Answer, outcome: ReadOutcome): number {
  if (outcome.kind === 'batches') answer.records = concat(outcome.parts);
  if (outcome.kind === 'error') answer.errorCode = outcome.error;
  return 1;
}

function blank(part: Part): Answer {
  return {
    partitionIndex: part.index,
    errorCode: ErrorCode.NONE,
    highWatermark: part.leader.highWatermark,
    lastStableOffset: -1,
    logStartOffset: part.log.start,
    divergingEpoch: { epoch: -1, endOffset: -1 },
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
    snapshotId: { endOffset: -1, epoch: -1 },
    abortedTransactions: null,
    preferredReadReplica: -1,
    records: null,
  };
}

function finish(node: TestNode, line: Line, served: Served): void {
  if (line.current !== served) return;
  served.isParked = false;
  const responses: FetchResponse['responses'] = [];
  for (const { listed, answer } of served.answers) {
    if (served.session.listed.get(`${listed.part.topicId}/${listed.part.index}`) !== listed) continue;
    const isNews = answer.errorCode !== 0 || answer.divergingEpoch.endOffset >= 0 || answer.records !== null;
    const told = `${answer.highWatermark} ${answer.logStartOffset}`;
    if (!isNews && !served.isFull && told === listed.told) continue;
    listed.told = told;
    responses.push({ topic: '', topicId: listed.part.topicId, partitions: [answer] });
  }
  const sessionId = served.session.id;
  served.reply({ throttleTimeMs: 0, errorCode: ErrorCode.NONE, sessionId, responses, nodeEndpoints: [] });
  next(line);
  node.settle();
}

/** Looks again at what is parked: after appends, lost leads and time. */
export function lookAtParked(node: TestNode): void {
  for (const line of node.server.lines.values()) {
    const served = line.current;
    if (served?.isParked !== true) continue;
    const isDue = served.untilMs <= node.env.nowMs;
    const hasNews = [...served.session.listed.values()].some(({ part, asked }) => {
      const verdict = judgeReplica(part.leader, served.body.replicaState.replicaId, asked);
      return verdict.kind !== 'read' || verdict.upTo > asked.fetchOffset;
    });
    if (isDue || hasNews) collect(node, line, served);
  }
}

/** When the next long poll ends. */
export function serverDeadlineMs(server: Server): number {
  let deadlineMs = Infinity;
  for (const { current } of server.lines.values()) {
    if (current?.isParked === true) deadlineMs = Math.min(deadlineMs, current.untilMs);
  }
  return deadlineMs;
}

/** Where a log of this node begins or ends. */
export function serveListOffsets(node: TestNode, body: ListOffsetsRequest): ListOffsetsResponse {
  const topics = body.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map(({ partitionIndex, currentLeaderEpoch, timestamp }) => {
      const part = node.parts[partitionIndex] as Part;
      const errorCode = part.isOpen ? fence(part.leader, currentLeaderEpoch) : ErrorCode.NOT_LEADER_OR_FOLLOWER;
      const offset = errorCode !== 0 ? -1 : timestamp === -1 ? part.log.end : part.log.start;
      return { partitionIndex, errorCode, timestamp: -1, offset, leaderEpoch: part.leader.epoch };
    }),
  }));
  return { throttleTimeMs: 0, topics };
}
