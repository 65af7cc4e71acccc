import { describe, expect, it } from 'vitest';
import { keepsBudget, median, type Row, ratio, spread, table } from '../../tools/bench/figures.ts';
import { parseProducerFigures } from '../../tools/peers/kafka-tools.ts';

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
});
