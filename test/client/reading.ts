/** A reader inside a toy cluster, with what it read and what it said. */
import { expect } from 'vitest';
import {
  checkReader,
  createReader,
  type Reader,
  type ReaderEvent,
  type ReaderOptions,
  readerDeadlineMs,
  stepReader,
} from '../../core/client/reader.ts';
import { createIds } from '../../core/lib/ids.ts';
import { readRecords } from '../../core/protocol/records.ts';
import { PORT, type Toy } from './toy-cluster.ts';
import { codecs } from './toy-log.ts';

const decoder = new TextDecoder();

export interface Reading {
  readonly reader: Reader;
  readonly events: ReaderEvent[];
  readonly values: string[];
}

/** A reader of partition 0, from its start if nothing else is said; what it reads never goes back. */
export function startReading(toy: Toy, options: Partial<ReaderOptions> = {}): Reading {
  const reader = createReader({
    clientId: 'test',
    ids: createIds(),
    bootstrap: [0, 1].map((n) => ({ host: 'toy', port: PORT + n })),
    topic: 't',
    partition: 0,
    from: 'earliest',
    isolation: 'readUncommitted',
    maxWaitMs: 200,
    minBytes: 1,
    maxBytes: 1_000_000,
    requestTimeoutMs: 700,
    seed: 5,
    ...options,
  });
  const events: ReaderEvent[] = [];
  const values: string[] = [];
  let seen = 0;
  let positionMin = -1;
  toy.machines.push({
    step: (e, input, out) => {
      if ('connection' in input || input.kind === 'wake') stepReader(reader, e, input as never, out, events);
      for (; seen < events.length; seen++) {
        const event = events[seen];
        if (event?.kind !== 'batch') continue;
        for (const { offset, value } of readRecords(event.bytes, codecs)) {
          if (offset >= event.fromOffset) values.push(value === null ? '' : decoder.decode(value));
        }
        expect(event.fromOffset).toBeGreaterThanOrEqual(positionMin);
        positionMin = event.fromOffset;
      }
    },
    deadlineMs: () => readerDeadlineMs(reader),
    check: () => checkReader(reader),
  });
  return { reader, events, values };
}
