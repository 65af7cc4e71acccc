/**
 * A process that reads every partition through the reader that serves real programs too, and writes what it saw into
 * the history.
 *
 * tail: from the start of the log, for ever. replay: from the start to the end, then, after a rest, from anywhere to
 * the end, again and again. final: from the start to the end once, when nothing is sent any more; what it saw is the
 * truth about the partition.
 *
 * A reader that fails for good is a complaint, and another begins at the start. Where bytes may be altered on their
 * way it may be told a few times that a batch is not sound, and asks once more. In a partition whose bytes the
 * simulator has damaged it steps over what the node refuses to serve.
 *
 * In a slot, where topics come and go and records are deleted, every topic id has sessions of its own, which begin with
 * the first batch; to find no topic or to be out of range is no failure there. Nor is it to be out of range where an
 * unclean election has taken what was read.
 */

import { knownEpoch } from '../../core/client/metadata.ts';
import {
  checkReader,
  createReader,
  type Reader,
  type ReaderEvent,
  type ReaderOptions,
  readerDeadlineMs,
  seekReader,
  stepReader,
  stopReader,
} from '../../core/client/reader.ts';
import { createIds, type Ids } from '../../core/lib/ids.ts';
import type { Env, Input, NetworkInput, Outbox } from '../../core/lib/world.ts';
import { attributes, dataViewOf } from '../../core/protocol/batch.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { addRead, beginSession, complain, incarnationOf } from '../../core/verify/history.ts';
import { mayBeBeyond } from '../../core/verify/losses.ts';
import { asAnyMachine } from '../actor.ts';
import type { Observer } from './observer.ts';
import { decodeValue } from './values.ts';

/** How a reading process behaves. */
export interface ReadingOptions {
  readonly observer: Observer;
  readonly reader: number;
  readonly mode: 'tail' | 'replay' | 'final';
  readonly options: Omit<ReaderOptions, 'ids' | 'seed' | 'topic' | 'partition' | 'from'>;
  /** Of a replay: between reaching the end and the next beginning. */
  readonly restMs: number;
  /** It begins when so much time is over since its machine came up, and not since it ended: so do all such readers. */
  readonly isByTheClock?: boolean;
  /** How often in a row a batch may be found not to be sound, where bytes may be altered on their way; absent: 0. */
  readonly unsoundMax?: number;
}

/** Between a reader's failure and the next one's start. */
const REST_AFTER_ERROR_MS = 500;

/** One partition that is read. */
interface Line {
  readonly partition: number;
  reader: Reader;
  /** -1 before the first batch of a topic that comes and goes. */
  session: number;
  topicId: string;
  /** The topic that was believed to be there when the session began; '' for none. */
  knownId: string;
  startedUs: number;
  isFromStart: boolean;
  /** When the next replay begins; Infinity while one is under way. */
  againAtMs: number;
  isDone: boolean;
  /** How often in a row it was told that the next batch is not sound. */
  unsound: number;
  seed: number;
}

/** Its state. */
export interface Reading {
  readonly options: ReadingOptions;
  ids: Ids;
  readonly lines: Line[];
}

/** Whether a final reader has seen everything. */
export function isReadingDone(state: unknown): boolean {
  const { lines } = state as Reading;
  return lines.length > 0 && lines.every((line) => line.isDone);
}

/** Where a final reader has come to. */
export interface ReadingEnd {
  readonly partition: number;
  /** -1 where there was nothing to read. */
  readonly session: number;
  readonly isDone: boolean;
  /** Offsets below it were read. */
  readonly position: number;
}

/** Of a final reader: how far it has read what. */
export function readingEnds(state: unknown): readonly ReadingEnd[] {
  return (state as Reading).lines.map(({ partition, session, isDone, reader }) => {
    return { partition, session, isDone, position: reader.position };
  });
}

function create(options: ReadingOptions): Reading {
  return { options, ids: createIds(), lines: [] };
}

function newReader(
  state: Reading,
  partition: number,
  seed: number,
  from: number | 'earliest',
  fromEpoch: number,
): Reader {
  const { observer, options } = state.options;
  const named = observer.history.partitions[partition];
  if (named === undefined) throw new Error('no such partition');
  const { topic } = named;
  return createReader({ ...options, ids: state.ids, seed, topic, partition: named.partition, from, fromEpoch });
}

/** The session of a reader that has just begun; of a slot it begins later, unless it is known what will be read. */
function newSession(state: Reading, line: Line, isFromStart: boolean): void {
  const { observer, mode } = state.options;
  line.startedUs = observer.time.nowUs;
  line.isFromStart = isFromStart;
  line.topicId = '';
  line.knownId = observer.board.get(observer.history.partitions[line.partition]?.topic ?? '')?.topicId ?? '';
  line.session = -1;
  const named = observer.history.partitions[line.partition];
  if (named?.isSlot !== true) {
    beginIn(state, line, line.partition);
    return;
  }
  const known = mode === 'final' ? observer.board.get(named.topic) : undefined;
  if (known !== undefined && named.partition < known.partitions) beginFor(state, line, known.topicId);
  else if (mode === 'final') line.isDone = true;
}

function beginIn(state: Reading, line: Line, partition: number): void {
  const { observer, reader, mode, options } = state.options;
  const { startedUs, isFromStart } = line;
  line.session = beginSession(observer.history, {
    reader,
    partition,
    startedUs,
    isFinal: mode === 'final',
    isFromStart,
    isNearby: options.rack !== undefined && options.rack !== '',
  });
}

function beginFor(state: Reading, line: Line, topicId: string): void {
  line.topicId = topicId;
  beginIn(state, line, incarnationOf(state.options.observer.history, line.partition, topicId));
}

function newLine(state: Reading, partition: number, seed: number): Line {
  const reader = newReader(state, partition, seed, 'earliest', -1);
  const at = { againAtMs: Number.POSITIVE_INFINITY, isDone: false, unsound: 0, seed };
  const line: Line = {
    partition,
    reader,
    session: -1,
    topicId: '',
    knownId: '',
    startedUs: 0,
    isFromStart: true,
    ...at,
  };
  newSession(state, line, true);
  return line;
}

function step(state: Reading, env: Env, input: Input, out: Outbox): void {
  switch (input.kind) {
    case 'start':
      state.options.observer.history.partitions.forEach(({ slot }, i) => {
        if (slot !== undefined) return;
        const line = newLine(state, i, (input.seed + i) >>> 0);
        state.lines.push(line);
        if (!line.isDone) feed(state, line, env, { kind: 'wake' }, out);
      });
      return;
    case 'wake':
      for (const line of state.lines) {
        if (env.nowMs >= line.againAtMs) restart(state, line);
        if (readerDeadlineMs(line.reader) <= env.nowMs) feed(state, line, env, { kind: 'wake' }, out);
      }
      return;
    case 'connected':
    case 'connectFailed':
    case 'frame':
    case 'sent':
    case 'closed':
      for (const line of state.lines) feed(state, line, env, input, out);
      return;
    default:
  }
}

function restart(state: Reading, line: Line): void {
  line.againAtMs = Number.POSITIVE_INFINITY;
  line.seed = Math.imul(line.seed + 0x9e37, 0x2c1b3c6d) >>> 0;
  // A replay goes on anywhere below what it was shown last, so that offsets are looked up.
  const end = line.reader.highWatermark;
  const isSlot = state.options.observer.history.partitions[line.partition]?.isSlot === true;
  const isAnywhere = state.options.mode === 'replay' && end > 0 && !(isSlot && line.seed % 2 === 0);
  const from = isAnywhere ? (line.seed >>> 8) % end : 'earliest';
  // Whoever keeps an offset keeps the epoch with it; a topic of that name that came anew has other epochs.
  const { cluster, options } = line.reader;
  const epoch = isSlot || !isAnywhere ? -1 : knownEpoch(cluster.view, options.topic, options.partition);
  line.reader = newReader(state, line.partition, line.seed, from, epoch);
  newSession(state, line, from === 'earliest');
}

/** A batch of another topic of the same name ends the session of the one before. */
function enterTopic(state: Reading, line: Line, topicId: string): void {
  if (line.session >= 0 && topicId === line.topicId) return;
  const { history } = state.options.observer;
  if (history.partitions[line.partition]?.isSlot !== true) return;
  if (state.options.mode === 'final') {
    const { topic, partition } = history.partitions[line.partition] ?? { topic: '', partition: -1 };
    const sentence = `${topic}-${partition} was read from ${topicId} when ${line.topicId} had been described for good`;
    complain(history, { checker: 'stale-topic', promise: 1, partition: line.partition, sentence });
    return;
  }
  // The reader goes on at its position, wherever that is in the new log: it may have looked for the start of the old.
  line.isFromStart &&= line.session < 0 && line.knownId === topicId;
  beginFor(state, line, topicId);
}

function feed(state: Reading, line: Line, env: Env, input: NetworkInput | { kind: 'wake' }, out: Outbox): void {
  const events: ReaderEvent[] = [];
  // What comes out of this step is the answer to the call that is out, which names the topic and its leader's epoch.
  const { topicId = '', leaderEpoch = -1 } = line.reader.wish ?? {};
  stepReader(line.reader, env, input, out, events);
  for (const event of events) {
    if (event.kind === 'batch') takeBatch(state, line, env, { topicId, leaderEpoch }, event);
    else if (event.fatal || event.error === ErrorCode.CORRUPT_MESSAGE) takeError(state, line, env, event, out);
  }
  const { reader } = line;
  const isAtEnd = reader.highWatermark >= 0 && reader.position >= reader.highWatermark;
  if (!isAtEnd || line.againAtMs !== Number.POSITIVE_INFINITY) return;
  if (state.options.mode === 'final') line.isDone = true;
  if (state.options.mode === 'replay') {
    stopReader(reader, env, out);
    const { restMs, isByTheClock } = state.options;
    line.againAtMs = isByTheClock === true ? (Math.floor(env.nowMs / restMs) + 1) * restMs : env.nowMs + restMs;
  }
}

function takeBatch(
  state: Reading,
  line: Line,
  env: Env,
  asked: { readonly topicId: string; readonly leaderEpoch: number },
  event: Extract<ReaderEvent, { kind: 'batch' }>,
): void {
  const { observer, mode } = state.options;
  const { history } = observer;
  const { highWatermark } = event;
  line.unsound = 0;
  enterTopic(state, line, asked.topicId);
  let isAcknowledged = false;
  const flags = attributes(dataViewOf(event.bytes), 0);
  const common = { highWatermark, atUs: observer.time.nowUs, attributes: flags, askedEpoch: asked.leaderEpoch };
  for (const record of readRecords(event.bytes, env.codecs)) {
    if (record.offset < event.fromOffset) continue;
    const value = decodeValue(record.value);
    addRead(history, line.session, { offset: record.offset, value, ...common });
    isAcknowledged ||= history.sends[value]?.outcome === 'acknowledged';
  }
  if (mode === 'final' && isAcknowledged) observer.acknowledgedBatches += 1;
}

function takeError(
  state: Reading,
  line: Line,
  env: Env,
  event: Extract<ReaderEvent, { kind: 'error' }>,
  out: Outbox,
): void {
  const { history } = state.options.observer;
  const { partition } = line;
  const isDamaged = history.damaged.has(partition);
  if (event.error === ErrorCode.CORRUPT_MESSAGE && line.unsound < (state.options.unsoundMax ?? 0)) {
    line.unsound += 1;
    return;
  }
  if (isDamaged && event.error === ErrorCode.CORRUPT_MESSAGE) {
    newSession(state, line, false);
    seekReader(line.reader, line.reader.position + 1);
    return;
  }
  const { position } = line.reader;
  const isLost = event.error === ErrorCode.OFFSET_OUT_OF_RANGE && mayBeBeyond(history, partition, position);
  if (isLost || (history.partitions[partition]?.isSlot === true && isOfComingAndGoing(event.error))) {
    stopReader(line.reader, env, out);
    line.againAtMs = env.nowMs + REST_AFTER_ERROR_MS;
    return;
  }
  const where = `${history.partitions[partition]?.topic}-${history.partitions[partition]?.partition}`;
  complain(history, {
    checker: isDamaged ? 'damage' : event.error === ErrorCode.CORRUPT_MESSAGE ? 'corrupt-read' : 'reader-failed',
    promise: 3,
    partition,
    sentence: `a reader of ${where} at ${position} was told ${event.error}: ${event.message}`,
  });
  stopReader(line.reader, env, out);
  line.againAtMs = env.nowMs + REST_AFTER_ERROR_MS;
}

/** What a reader may be told where topics come and go and records are deleted. */
function isOfComingAndGoing(error: number): boolean {
  return (
    error === ErrorCode.OFFSET_OUT_OF_RANGE ||
    error === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION ||
    error === ErrorCode.UNKNOWN_TOPIC_ID
  );
}

function deadlineMs(state: Reading): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const line of state.lines) {
    earliest = Math.min(earliest, line.againAtMs, line.isDone ? earliest : readerDeadlineMs(line.reader));
  }
  return earliest;
}

/** The machine of a reading process. */
export const READING = asAnyMachine<Reading, ReadingOptions>({
  create,
  step,
  deadlineMs,
  check: (state) => {
    for (const line of state.lines) checkReader(line.reader);
  },
});
