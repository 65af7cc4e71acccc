/** The producer against brokers that drop, delay, reset, repeat and refuse. */
import { describe, expect, it } from 'vitest';
import { flushProducer, stopProducer } from '../../core/client/producer.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { allSettled, badTickets, give, type Producing, startProducing } from './producing.ts';
import { at, createToy, env, type Mishap, partitionOf, run, type Toy, takeDown } from './toy-cluster.ts';
import { append, endOf, valuesOf } from './toy-log.ts';

const NONE: Mishap = { kind: 'none' };

function produceRequests(toy: Toy): RequestOf<0>[] {
  return toy.requests.filter(({ apiKey }) => apiKey === 0).map(({ body }) => body as RequestOf<0>);
}

function acknowledgedValues({ events, sent }: Producing): string[] {
  return events.filter(({ kind }) => kind === 'acknowledged').map(({ ticket }) => sent.get(ticket) ?? '?');
}

describe('a producer with nothing in its way', () => {
  it('delivers records in order, tells their offsets, and is then at rest', () => {
    const toy = createToy();
    const producing = startProducing(toy);
    for (let i = 0; i < 100; i++) give(producing, `v${i}`);
    run(toy, 5000, () => allSettled(producing));
    expect(valuesOf(partitionOf(toy))).toEqual(Array.from({ length: 100 }, (_, i) => `v${i}`));
    expect(producing.events.map((event) => (event.kind === 'acknowledged' ? event.offset : -2))).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
    expect(badTickets(producing)).toEqual([]);
    expect(producing.producer.bufferedBytes).toBe(0);
    const before = toy.requests.length;
    run(toy, toy.nowMs + 60_000);
    expect(toy.requests.length).toBe(before);
  });

  it('lingers until the time is up, or the batch is full, or it is flushed', () => {
    const toy = createToy();
    const producing = startProducing(toy, { lingerMs: 500 });
    give(producing, 'a');
    run(toy, 1400);
    expect(producing.events).toEqual([]);
    run(toy, 1600);
    expect(producing.events.length).toBe(1);
    give(producing, 'b');
    flushProducer(producing.producer, env(toy));
    run(toy, 1700);
    expect(producing.events.length).toBe(2);
    for (let i = 0; i < 11; i++) give(producing, `full${i}`);
    run(toy, 1800);
    expect(producing.events.length).toBeGreaterThan(10);
  });

  it('uses topic names where the broker knows no ids, and the oldest versions where it knows no more', () => {
    const oldest = new Map([
      [0, { min: 0, max: 3 }],
      [3, { min: 0, max: 1 }],
      [18, { min: 0, max: 0 }],
      [22, { min: 0, max: 0 }],
    ]);
    const toy = createToy({ versions: oldest });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a']);
    expect(new Set(toy.requests.map(({ apiKey, version }) => `${apiKey}v${version}`))).toEqual(
      new Set(['18v5', '18v0', '3v1', '22v0', '0v3']),
    );
  });

  it('compresses with the codec it was given', () => {
    const toy = createToy();
    const producing = startProducing(toy, { compression: 1 });
    for (let i = 0; i < 5; i++) give(producing, 'x'.repeat(100));
    run(toy, 5000, () => allSettled(producing));
    expect(valuesOf(partitionOf(toy)).length).toBe(5);
    expect(partitionOf(toy).log[0]?.bytes.length).toBeLessThan(200);
  });

  it('with acks 0 acknowledges without an offset as soon as the request is out', () => {
    const toy = createToy();
    const producing = startProducing(toy, { acks: 0, idempotent: false });
    for (let i = 0; i < 50; i++) give(producing, `v${i}`);
    run(toy, 3000);
    expect(producing.events.every((event) => event.kind === 'acknowledged' && event.offset === -1)).toBe(true);
    expect(valuesOf(partitionOf(toy)).length).toBe(50);
  });

  it('answers -1 when its buffer is full, and takes records again once some are answered', () => {
    const toy = createToy();
    const producing = startProducing(toy, { bufferBytesMax: 500 });
    const tickets = Array.from({ length: 10 }, (_, i) => give(producing, `v${i}`));
    expect(tickets.slice(0, 5).every((ticket) => ticket > 0)).toBe(true);
    expect(tickets.slice(5)).toEqual([-1, -1, -1, -1, -1]);
    run(toy, 5000, () => allSettled(producing));
    expect(give(producing, 'again')).toBeGreaterThan(0);
  });

  it('fails what can never be sent with an event, not with an exception', () => {
    const toy = createToy();
    const producing = startProducing(toy, { bufferBytesMax: 500 });
    give(producing, 'a', 'no spaces allowed');
    give(producing, 'b', 't', -1);
    give(producing, 'c'.repeat(1000));
    run(toy, 5000, () => allSettled(producing));
    expect(producing.events.map((event) => (event.kind === 'failed' ? event.error : 0))).toEqual([
      ErrorCode.INVALID_TOPIC_EXCEPTION,
      ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
      ErrorCode.MESSAGE_TOO_LARGE,
    ]);
  });
});

describe('a producer that is refused', () => {
  it('fails the records of a batch that is too large, and delivers what follows under a new epoch', () => {
    let refusals = 1;
    const toy = createToy({
      mishap: (_, { apiKey }) =>
        apiKey === 0 && refusals-- > 0 ? { kind: 'error', error: ErrorCode.MESSAGE_TOO_LARGE, acts: false } : NONE,
    });
    const producing = startProducing(toy, { batchBytesMax: 1 });
    for (let i = 0; i < 10; i++) give(producing, `v${i}`);
    run(toy, 5000, () => allSettled(producing));
    expect(producing.events[0]).toMatchObject({
      kind: 'failed',
      error: ErrorCode.MESSAGE_TOO_LARGE,
      maybeWritten: false,
    });
    expect(valuesOf(partitionOf(toy))).toEqual(['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8', 'v9']);
    expect(partitionOf(toy).log.every(({ producerEpoch }) => producerEpoch === 1)).toBe(true);
  });

  it('counts DUPLICATE_SEQUENCE_NUMBER as acknowledged at an unknown offset', () => {
    let refusals = 1;
    const toy = createToy({
      mishap: (_, { apiKey }) =>
        apiKey === 0 && refusals-- > 0
          ? { kind: 'error', error: ErrorCode.DUPLICATE_SEQUENCE_NUMBER, acts: true }
          : NONE,
    });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    expect(producing.events).toMatchObject([{ kind: 'acknowledged', offset: -1 }]);
  });

  it('goes on under a new epoch when the broker has forgotten it and nothing was in doubt', () => {
    const toy = createToy();
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    const known = partitionOf(toy).producers.values().next().value;
    if (known === undefined) throw new Error('the broker knows no producer');
    known.last = known.last.map((stored) => ({ ...stored, sequence: 40 }));
    give(producing, 'b');
    give(producing, 'c');
    run(toy, 10_000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a', 'b', 'c']);
    expect(partitionOf(toy).log.map(({ producerEpoch, sequence }) => [producerEpoch, sequence])).toEqual([
      [0, 0],
      [1, 0],
    ]);
  });

  it('never gives a batch that may be written a new epoch: it fails as maybe written, the rest goes on', () => {
    let step = 0;
    const toy = createToy({
      mishap: (_, { apiKey }) => {
        if (apiKey !== 0) return NONE;
        step += 1;
        if (step === 2) return { kind: 'resetAfter' };
        return step === 3 ? { kind: 'error', error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, acts: false } : NONE;
      },
    });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    give(producing, 'b');
    run(toy, 1100 + toy.nowMs, () => step >= 2);
    give(producing, 'c');
    run(toy, 20_000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a', 'c']);
    const failed = producing.events.filter(({ kind }) => kind === 'failed');
    expect(failed).toMatchObject([{ error: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, maybeWritten: true }]);
    expect(valuesOf(partitionOf(toy))).toEqual(['a', 'b', 'c']);
  });

  it('asks for another producer id when its own has been taken over', () => {
    const toy = createToy();
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    const known = partitionOf(toy).producers.values().next().value;
    if (known === undefined) throw new Error('the broker knows no producer');
    known.epoch = 9;
    give(producing, 'b');
    run(toy, 10_000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a', 'b']);
    expect(toy.requests.filter(({ apiKey }) => apiKey === 22).length).toBe(2);
  });

  it('fails everything when it may have no producer id', () => {
    const error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED;
    const toy = createToy({
      mishap: (_, { apiKey }) => (apiKey === 22 ? { kind: 'error', error, acts: false } : NONE),
    });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    expect(producing.events).toMatchObject([{ kind: 'failed', error, maybeWritten: false }]);
  });

  it('fails records of a topic that it may not write to', () => {
    const error = ErrorCode.TOPIC_AUTHORIZATION_FAILED;
    const toy = createToy({ mishap: (_, { apiKey }) => (apiKey === 3 ? { kind: 'error', error, acts: false } : NONE) });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    expect(producing.events).toMatchObject([{ kind: 'failed', error, maybeWritten: false }]);
  });

  it('retries errors that may pass, with the same number, until the delivery time-out', () => {
    const error = ErrorCode.NOT_ENOUGH_REPLICAS;
    const toy = createToy({ mishap: (_, { apiKey }) => (apiKey === 0 ? { kind: 'error', error, acts: false } : NONE) });
    const producing = startProducing(toy, { deliveryTimeoutMs: 3000 });
    give(producing, 'a');
    run(toy, 20_000, () => allSettled(producing));
    expect(producing.events).toMatchObject([{ kind: 'failed', error, maybeWritten: false }]);
    expect(toy.nowMs).toBe(4000);
    expect(produceRequests(toy).length).toBeGreaterThan(4);
    expect(produceRequests(toy).length).toBeLessThan(20);
  });

  it('reports at the delivery time-out even while the request is out, and then as maybe written', () => {
    const toy = createToy({ mishap: (_, { apiKey }) => (apiKey === 0 ? { kind: 'silentAfter' } : NONE) });
    const producing = startProducing(toy, { deliveryTimeoutMs: 1500, requestTimeoutMs: 1000 });
    give(producing, 'a');
    run(toy, 20_000, () => allSettled(producing));
    expect(toy.nowMs).toBe(2500);
    expect(producing.events).toMatchObject([{ kind: 'failed', maybeWritten: true }]);
    run(toy, 20_000);
    expect(producing.events.length).toBe(1);
  });

  it('has one batch out until the first of an epoch is acknowledged, so that no broker can swap the two', () => {
    let refusals = 3;
    const error = ErrorCode.NOT_ENOUGH_REPLICAS;
    const toy = createToy({
      mishap: (_, { apiKey }) => (apiKey === 0 && refusals-- > 0 ? { kind: 'error', error, acts: false } : NONE),
    });
    const producing = startProducing(toy, { batchBytesMax: 1 });
    for (let i = 0; i < 20; i++) give(producing, `v${i}`);
    run(toy, 20_000, () => allSettled(producing));
    expect(valuesOf(partitionOf(toy))).toEqual(Array.from({ length: 20 }, (_, i) => `v${i}`));
  });
});

describe('a producer among several brokers', () => {
  it('follows the leader that an error names, without asking for metadata', () => {
    const toy = createToy({ brokers: 3 });
    const producing = startProducing(toy);
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    const asked = toy.requests.filter(({ apiKey }) => apiKey === 3).length;
    Object.assign(partitionOf(toy), { leader: 2, leaderEpoch: 2 });
    give(producing, 'b');
    run(toy, 10_000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a', 'b']);
    expect(toy.requests.filter(({ apiKey }) => apiKey === 3).length).toBe(asked);
  });

  it('does not believe an older leader epoch', () => {
    const toy = createToy({ brokers: 2 });
    const producing = startProducing(toy);
    Object.assign(partitionOf(toy), { leader: 1, leaderEpoch: 5 });
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    Object.assign(partitionOf(toy), { leader: 0, leaderEpoch: 4 });
    run(toy, toy.nowMs + 400_000);
    const view = producing.producer.cluster.view.topics.get('t')?.partitions[0];
    expect(toy.requests.filter(({ apiKey }) => apiKey === 3).length).toBeGreaterThan(1);
    expect(view).toMatchObject({ leader: 1, leaderEpoch: 5 });
  });

  it('finds the new leader when the old one is gone', () => {
    const toy = createToy({ brokers: 3 });
    const producing = startProducing(toy, { bootstrap: [0, 1, 2].map((n) => ({ host: 'toy', port: 9000 + n })) });
    give(producing, 'a');
    run(toy, 5000, () => allSettled(producing));
    takeDown(toy, 0);
    at(toy, toy.nowMs + 700, () => Object.assign(partitionOf(toy), { leader: 1, leaderEpoch: 2 }));
    give(producing, 'b');
    run(toy, 20_000, () => allSettled(producing));
    expect(acknowledgedValues(producing)).toEqual(['a', 'b']);
    expect(toy.nowMs).toBeLessThan(5000);
  });

  it('serves all of many partitions evenly where not all fit into one request', () => {
    const toy = createToy({ brokers: 1, topics: { t: 40 } });
    const producing = startProducing(toy, { requestBytesMax: 3000, inFlightMax: 1 });
    for (let i = 0; i < 400; i++) give(producing, 'x'.repeat(500), 't', i % 40);
    run(toy, 60_000, () =>
      Array.from({ length: 40 }, (_, i) => endOf(partitionOf(toy, 't', i))).every((end) => end > 0),
    );
    const ends = Array.from({ length: 40 }, (_, i) => endOf(partitionOf(toy, 't', i)));
    expect(Math.min(...ends)).toBeGreaterThan(0);
    expect(Math.max(...ends)).toBeLessThan(6);
    run(toy, 60_000, () => allSettled(producing));
    expect(badTickets(producing)).toEqual([]);
  });
});

describe('a producer that is stopped', () => {
  it('fails every open ticket, says which may be written, and takes no more', () => {
    const toy = createToy({ mishap: (_, { apiKey }) => (apiKey === 0 ? { kind: 'silentBefore' } : NONE) });
    const producing = startProducing(toy, { batchBytesMax: 1 });
    for (let i = 0; i < 5; i++) give(producing, `v${i}`);
    run(toy, 1500);
    stopProducer(producing.producer, env(toy), [], producing.events);
    expect(badTickets(producing)).toEqual([]);
    const doubts = producing.events.map((event) => event.kind === 'failed' && event.maybeWritten);
    expect(doubts).toEqual([true, false, false, false, false]);
    give(producing, 'late');
    run(toy, 3000);
    expect(badTickets(producing)).toEqual([]);
    expect(producing.events.length).toBe(6);
  });
});

describe('the toy itself', () => {
  it('keeps the rules for numbers that the tests above rest on', () => {
    const toy = createToy();
    expect(append(partitionOf(toy), new Uint8Array(5)).errorCode).toBe(ErrorCode.CORRUPT_MESSAGE);
  });
});
