/**
 * What is measured of one node, one function a row. Within a row every side is started once and warmed up; then the
 * runs take turns (`turns.ts`).
 */
import { consumerPerformance, type ProducerLoad, producerPerformance } from '../peers/kafka-tools.ts';
import { residentBytes, runOrThrow } from '../peers/process.ts';
import { median, type Row } from './figures.ts';
import { type Side, type SideName, startSide, withSides } from './sides.ts';
import { syncAlone } from './sync-alone.ts';
import { append, type Budget, type Plan, records, runClient, takeTurns } from './turns.ts';

/** Every row by its name, in the order of the report. */
export const ROWS: ReadonlyMap<string, (plan: Plan) => Promise<Row[]>> = new Map([
  ['produce-1k', (plan: Plan) => produce(plan, 1024, false, { must: 1.3, aim: 1.6 })],
  ['produce-1k-synced', (plan: Plan) => produce(plan, 1024, true, { must: 3, aim: 5 })],
  ['produce-100', (plan: Plan) => produce(plan, 100, false, { must: 1.3, aim: 1.9 })],
  ['consume-1k', consume],
  ['latency', latency],
  ['start', start],
  ['start-node', startNodeInside],
]);

const TOPIC = 'bench';
const MIB = 1024 * 1024;
/** Records of 1 KB that lie at the end of a log and so in memory. */
const RECENT_RECORDS = 2000;
/** Records at the end that the row of files leaves out. */
const NOT_RECENT_RECORDS = 100_000;
const CONSUME_FILL_RECORDS = 1_000_000;
const LATENCY_RECORDS_PER_SECOND = 400;
const STARTS = 5;
/** Under this name the values of the row of latency have what a sync takes without any broker. */
const DISK_ALONE = 'disk alone';
/** A broker that stores nothing has nothing to read back, and its start says nothing. */
const NO_NULL: readonly SideName[] = ['null'];
/** Records of the first warm-up, from which the length of the others is reckoned. */
const PROBE_RECORDS = 100_000;

async function produce(plan: Plan, recordBytes: number, synced: boolean, budget: Budget): Promise<Row[]> {
  const name = `produce ${recordBytes === 1024 ? '1 KB' : `${recordBytes} B`}, ${synced ? 'synced' : 'not synced'}`;
  const idle = new Map<string, number[]>();
  const after = new Map<string, number[]>();
  const load = (side: Side, records: number): ProducerLoad => ({
    bootstrap: side.bootstrap,
    topic: TOPIC,
    records,
    recordBytes,
    settings: new Map([['acks', 'all']]),
  });
  const values = await withSides(plan.folder, plan.sides, synced, async (sides) => {
    const counts = new Map<SideName, number>();
    for (const side of sides) {
      idle.set(side.name, [residentBytes(side.pid) / MIB]);
      const first = await producerPerformance(load(side, synced ? PROBE_RECORDS / 4 : PROBE_RECORDS));
      const second = await producerPerformance(load(side, records(first.recordsPerSecond, plan.seconds / 2)));
      counts.set(side.name, records(second.recordsPerSecond, plan.seconds));
    }
    const measured = await takeTurns(plan, sides, name, async (side) => {
      const figures = await producerPerformance(load(side, counts.get(side.name) ?? PROBE_RECORDS));
      return figures.recordsPerSecond;
    });
    for (const side of sides) after.set(side.name, [residentBytes(side.pid) / MIB]);
    return measured;
  });
  const rows: Row[] = [{ name, unit: 'records/s', higherIsBetter: true, values, budget: { ...budget, of: 'ratio' } }];
  if (recordBytes !== 1024 || synced) return rows;
  const memory = (title: string, sizes: Map<string, number[]>, must: number, aim: number): Row => ({
    name: `memory ${title}`,
    unit: 'MiB resident',
    higherIsBetter: false,
    values: sizes,
    budget: { must, aim, of: 'value' },
  });
  return [...rows, memory('idle', idle, 100, 80), memory('after the 1 KB runs', after, 300, 200)];
}

async function consume(plan: Plan): Promise<Row[]> {
  const sides = plan.sides.filter((side) => side !== 'null');
  const count = Math.min(CONSUME_FILL_RECORDS, Math.round(plan.seconds * 50_000));
  const rows: Row[] = [];
  await withSides(plan.folder, sides, false, async (running) => {
    for (const side of running) {
      plan.say(`consume: filling ${side.name} with ${count} records`);
      await producerPerformance({ bootstrap: side.bootstrap, topic: TOPIC, records: count, recordBytes: 1024 });
    }
    const seconds = Math.max(4, plan.seconds / 2);
    const row = async (title: string, consume: (side: Side) => Promise<number>): Promise<Map<string, number[]>> => {
      const values = await takeTurns(plan, running, title, consume);
      const budget = { must: 1, of: 'ratio' } as const;
      rows.push({ name: title, unit: 'MB/s', higherIsBetter: true, values, budget, without: NO_NULL });
      return values;
    };
    const java = (from: number, to: number) => (side: Side) => consumeJava(side, from, to, seconds);
    await row('consume 1 KB, from memory', java(count - RECENT_RECORDS, count));
    await row('consume 1 KB, from files', java(0, Math.max(RECENT_RECORDS, count - NOT_RECENT_RECORDS)));
    await row('consume 1 KB, consumer-perf', (side) => consumeInGroup(side, count));
    return row('consume 1 KB, kcat', (side) => consumeKcat(side, count));
  });
  return rows;
}

async function consumeJava(side: Side, from: number, to: number, seconds: number): Promise<number> {
  const said = await runClient(['consume', side.bootstrap, TOPIC, String(from), String(to), String(seconds)]);
  const { bytes, seconds: took } = JSON.parse(said) as { bytes: number; seconds: number };
  return bytes / 1e6 / took;
}

/** All of it, from the beginning, as the one member of a group. */
async function consumeInGroup({ bootstrap }: Side, count: number): Promise<number> {
  const { mebibytesPerSecond } = await consumerPerformance({ bootstrap, topic: TOPIC, records: count });
  return (mebibytesPerSecond * MIB) / 1e6;
}

async function consumeKcat(side: Side, count: number): Promise<number> {
  const args = ['-C', '-b', side.bootstrap, '-t', TOPIC, '-p', '0', '-o', 'beginning', '-e', '-q', '-c', String(count)];
  const finished = await runOrThrow('kcat', args, { outputFile: '/dev/null' });
  return (count * 1024) / 1e3 / finished.tookMs;
}

async function latency(plan: Plan): Promise<Row[]> {
  const sides = plan.sides.filter((side) => side !== 'null');
  const percentiles = new Map<string, Map<string, number[]>>();
  const count = Math.round(plan.seconds * LATENCY_RECORDS_PER_SECOND);
  await withSides(plan.folder, sides, true, async (running) =>
    takeTurns(plan, running, 'end to end 100 B, synced, p99', async (side) => {
      await producerPerformance({ bootstrap: side.bootstrap, topic: TOPIC, records: 100, recordBytes: 100 });
      for (const [percentile, value] of syncAlone(plan.folder)) append(percentiles, percentile, DISK_ALONE, value);
      const said = await runClient(['latency', side.bootstrap, TOPIC, String(count), '100']);
      const figures = new Map(Object.entries(JSON.parse(said) as Record<string, number>));
      for (const [percentile, value] of figures) append(percentiles, percentile, side.name, value);
      return figures.get('p99') ?? Number.NaN;
    }),
  );
  if (percentiles.size === 0) throw new Error('neither Apache Kafka nor Tidemark was to be measured');
  return [...percentiles].map(([percentile, values]) => ({
    name: `end to end 100 B, synced, ${percentile}`,
    unit: 'ms',
    higherIsBetter: false,
    values,
    without: NO_NULL,
    note: `fdatasync alone, in between: ${median(values.get(DISK_ALONE) ?? []).toFixed(2)} ms`,
    ...(percentile === 'p99' ? { budget: { must: 4, aim: 2, of: 'value' as const } } : {}),
  }));
}

async function start(plan: Plan): Promise<Row[]> {
  const sides = plan.sides.filter((side) => side !== 'null');
  const values = new Map<string, number[]>();
  for (let turn = 0; turn < STARTS; turn++) {
    for (const name of sides) {
      const side = await startSide(name, true, plan.folder);
      values.set(name, [...(values.get(name) ?? []), side.startMs / 1000]);
      await side.stop();
    }
  }
  const budget = { must: 0.4, aim: 0.25, of: 'value' as const };
  return [{ name: 'start to first answer', unit: 's', higherIsBetter: false, values, budget, without: NO_NULL }];
}

/** A node inside another process: `startNode` alone, after its module was loaded. */
async function startNodeInside(plan: Plan): Promise<Row[]> {
  const module = import.meta.resolve('tidemark/testing');
  const program = [
    `const { startNode } = await import(${JSON.stringify(module)});`,
    'const before = performance.now();',
    'const node = await startNode();',
    'console.log(performance.now() - before);',
    'await node.stop();',
  ].join('\n');
  const values: number[] = [];
  for (let turn = 0; turn < STARTS; turn++) {
    const args = ['--input-type=module', '-e', program];
    values.push(Number((await runOrThrow(process.execPath, args, { folder: plan.folder })).stdout.trim()));
  }
  const budget = { must: 80, aim: 50, of: 'value' as const };
  const row = { name: 'startNode after import', unit: 'ms', higherIsBetter: false, budget, without: ['kafka', 'null'] };
  return [{ ...row, values: new Map([['tidemark', values]]) }];
}
