/**
 * An async iterator over the reader machine: the records of one partition, in order.
 *
 * Batches wait until the caller takes them; while more than WAITING_BYTES_MAX wait, the machine fetches no more.
 * Records of aborted transactions are not told apart yet: read committed waits for transactions to exist.
 */
import {
  createReader,
  pauseReader,
  type Reader,
  type ReaderEvent,
  type ReaderOptions,
  readerDeadlineMs,
  resumeReader,
  stepReader,
  stopReader,
} from '../../core/client/reader.ts';
import { createIds } from '../../core/lib/ids.ts';
import { errorName } from '../../core/protocol/errors.ts';
import { type LogRecord, readRecords } from '../../core/protocol/records.ts';
import { realCodecs } from '../codecs.ts';
import { parseBootstrap } from './addresses.ts';
import { type Loop, startLoop } from './loop.ts';

/** Settings of a reader client. */
export type ReaderClientOptions = Partial<Omit<ReaderOptions, 'ids' | 'bootstrap'>> & {
  /** `host:port[,host:port]…` */
  readonly bootstrap: string;
  readonly topic: string;
};

/** A reader with an async iterator. */
export interface ReaderClient extends AsyncIterable<LogRecord> {
  /** The next offset that the machine will take; records below it may still wait for the caller. */
  position(): number;
  /** As last told by the leader; -1 until it is known. */
  highWatermark(): number;
  /** Ends: the iterator finishes, connections are closed. */
  close(): Promise<void>;
}

/** Reading cannot go on. */
export class ReadError extends Error {
  /** A Kafka error code. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(`${errorName(code)}: ${message}`);
    this.name = 'ReadError';
    this.code = code;
  }
}

/** Bytes of batches that wait for the caller before the machine is paused. */
export const WAITING_BYTES_MAX = 16 * 1024 * 1024;

type BatchEvent = Extract<ReaderEvent, { readonly kind: 'batch' }>;

interface State {
  readonly reader: Reader;
  readonly events: ReaderEvent[];
  readonly batches: BatchEvent[];
  waitingBytes: number;
  error: ReadError | null;
  isClosed: boolean;
  /** Called when something has come. */
  notify: (() => void) | null;
}

/** A reader over real sockets. It connects at once. */
export function createReaderClient(options: ReaderClientOptions): ReaderClient {
  const { bootstrap, ...rest } = options;
  const reader = createReader({
    clientId: 'tidemark-reader',
    partition: 0,
    from: 'earliest',
    isolation: 'readUncommitted',
    maxWaitMs: 500,
    minBytes: 1,
    maxBytes: 4 * 1024 * 1024,
    seed: Math.floor(Math.random() * 2 ** 32),
    ...rest,
    ids: createIds(),
    bootstrap: parseBootstrap(bootstrap),
  });
  const state: State = {
    reader,
    events: [],
    batches: [],
    waitingBytes: 0,
    error: null,
    isClosed: false,
    notify: null,
  };
  const loop = startLoop({
    step: (env, input, out) => stepReader(reader, env, input, out, state.events),
    deadlineMs: () => readerDeadlineMs(reader),
    afterwards: () => collect(state),
  });
  return {
    [Symbol.asyncIterator]: () => iterate(state, loop),
    position: () => reader.position,
    highWatermark: () => reader.highWatermark,
    close: () => close(state, loop),
  };
}

function collect(state: State): void {
  for (const event of state.events.splice(0)) {
    if (event.kind === 'batch') {
      state.batches.push(event);
      state.waitingBytes += event.bytes.length;
    } else if (event.fatal) {
      state.error = new ReadError(event.error, event.message);
    }
  }
  if (state.waitingBytes > WAITING_BYTES_MAX) pauseReader(state.reader);
  if (state.batches.length > 0 || state.error !== null) wakeCaller(state);
}

function wakeCaller(state: State): void {
  const { notify } = state;
  state.notify = null;
  notify?.();
}

async function* iterate(state: State, loop: Loop): AsyncGenerator<LogRecord, void, undefined> {
  const codecs = realCodecs();
  while (!state.isClosed) {
    const event = state.batches.shift();
    if (event === undefined) {
      if (state.error !== null) throw state.error;
      await new Promise<void>((resolve) => {
        state.notify = resolve;
      });
      continue;
    }
    state.waitingBytes -= event.bytes.length;
    if (state.reader.paused && state.waitingBytes <= WAITING_BYTES_MAX / 2) loop.act(() => resumeReader(state.reader));
    for (const record of readRecords(event.bytes, codecs)) if (record.offset >= event.fromOffset) yield record;
  }
}

async function close(state: State, loop: Loop): Promise<void> {
  if (state.isClosed) return;
  state.isClosed = true;
  wakeCaller(state);
  loop.act((env, out) => stopReader(state.reader, env, out));
  await loop.close();
}
