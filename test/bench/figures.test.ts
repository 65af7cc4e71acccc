import { describe, expect, it } from 'vitest';
import { keepsBudget, median, type Row, ratio, spread, table, unmeasured } from '../../tools/bench/figures.ts';
import { parsePlan } from '../../tools/bench/options.ts';
import { parseConsumerFigures, parseProducerFigures } from '../../tools/peers/kafka-tools.ts';

function row(kafka: number[], tidemark: number[], must: number): Row {
  const values = new Map([
    ['kafka', kafka],
    ['tidemark', tidemark],
  ]);
  return { name: 'a row', unit: 'records/s', higherIsBetter: true, values, budget: { must, of: 'ratio' } };
}

describe('figures', () => {
  it('the median of an even count lies between the two in the middle', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([9, 1, 5])).toBe(5);
    expect(spread([8, 10, 12])).toBe(0.4);
    expect(spread([0, 0, 0])).toBe(0);
  });

  it('the ratio is taken pair by pair, so that a slow minute falls on both', () => {
    expect(ratio(row([10, 100, 10], [20, 200, 20], 1))).toBe(2);
  });

  it('a budget is kept at its bound and missed below it', () => {
    expect(keepsBudget(row([10], [13], 1.3))).toBe(true);
    expect(keepsBudget(row([10], [12], 1.3))).toBe(false);
    expect(keepsBudget(row([], [12], 1.3))).toBe(null);
    expect(table([row([10], [12], 1.3)])).toContain('MISSED');
  });

  it('a side that was asked for and has no finite figure is not measured, but where the row leaves it out', () => {
    expect(unmeasured(row([10], [12], 1), ['kafka', 'tidemark'])).toEqual([]);
    expect(unmeasured(row([10], [], 1), ['kafka', 'tidemark'])).toEqual(['tidemark']);
    expect(unmeasured(row([10, Number.NaN], [12, 12], 1), ['kafka', 'tidemark'])).toEqual(['kafka']);
    expect(unmeasured(row([10], [12], 1), ['kafka', 'null'])).toEqual(['null']);
    expect(unmeasured({ ...row([10], [12], 1), without: ['null'] }, ['kafka', 'null'])).toEqual([]);
    expect(unmeasured({ ...row([], [], 1), values: new Map(), without: ['null'] }, ['null'])).toEqual(['null']);
  });

  it("the last line of Kafka's producer benchmark is read, its progress is not", () => {
    const text = [
      '1000 records sent, 500.0 records/sec (0.48 MB/sec), 3.1 ms avg latency, 9.0 ms max latency.',
      '2000 records sent, 600.5 records/sec (0.59 MB/sec), 1.80 ms avg latency, 7.00 ms max latency, ' +
        '1 ms 50th, 4 ms 95th, 6 ms 99th, 7 ms 99.9th.',
    ].join('\n');
    expect(parseProducerFigures(text)).toEqual({
      records: 2000,
      recordsPerSecond: 600.5,
      mebibytesPerSecond: 0.59,
      latencyMs: { average: 1.8, max: 7, p50: 1, p95: 4, p99: 6 },
    });
    expect(parseProducerFigures('nothing')).toBe(null);
  });

  it("of Kafka's consumer benchmark are read from its last line", () => {
    const text = [
      'start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, ...',
      '2026-11-30 13:00:00:123, 2026-11-30 13:00:04:623, 976.5, 217.0, 1000000, 222222.2, 500, 4000, 244.1, 250000.0',
    ].join('\n');
    expect(parseConsumerFigures(text)).toEqual({ records: 1_000_000, mebibytesPerSecond: 244.1 });
    expect(parseConsumerFigures('nothing')).toBe(null);
  });
});

describe('the plan of a benchmark', () => {
  it('names sides that there are, once each', () => {
    expect(parsePlan({ pairs: 5, seconds: 0.5, sides: 'tidemark,kafka' })).toEqual({
      kind: 'parsed',
      sides: ['tidemark', 'kafka'],
    });
  });

  it.each([
    [{ pairs: 0, seconds: 20, sides: 'kafka' }, '--pairs'],
    [{ pairs: 1.5, seconds: 20, sides: 'kafka' }, '--pairs'],
    [{ pairs: Number.NaN, seconds: 20, sides: 'kafka' }, '--pairs'],
    [{ pairs: 1, seconds: 0, sides: 'kafka' }, '--seconds'],
    [{ pairs: 1, seconds: Number.NaN, sides: 'kafka' }, '--seconds'],
    [{ pairs: 1, seconds: 20, sides: '' }, 'no side is called ""'],
    [{ pairs: 1, seconds: 20, sides: 'kafka,redpanda' }, 'no side is called "redpanda"'],
    [{ pairs: 1, seconds: 20, sides: 'kafka,kafka' }, 'twice'],
  ])('is refused in a sentence: %j', (options, words) => {
    const parsed = parsePlan(options);
    expect(parsed.kind === 'wrong' ? parsed.sentence : '').toContain(words);
  });
});
