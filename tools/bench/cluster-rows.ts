/**
 * What is measured of three nodes that replicate, one function a row: replication factor 3, min.insync.replicas 2, a
 * topic of one partition a node, so that each leads one and follows two. Both clusters run for the length of a row and
 * take turns (`turns.ts`); the one that is not asked costs its heartbeats.
 */
import { producerPerformance } from '../peers/kafka-tools.ts';
import { type ClusterSide, type ClusterSideName, createReplicated, startClusterSide } from './cluster-sides.ts';
import { median, type Row } from './figures.ts';
import type { SideName } from './sides.ts';
import { syncAlone } from './sync-alone.ts';
import { append, type Budget, type Plan, records, runClient, takeTurns } from './turns.ts';

/** Every row by its name, in the order of the report. */
export const CLUSTER_ROWS: ReadonlyMap<string, (plan: Plan) => Promise<Row[]>> = new Map([
  ['cluster-produce-1k', (plan: Plan) => produce(plan, false, { must: 2, aim: 3 })],
  ['cluster-produce-1k-synced', (plan: Plan) => produce(plan, true, { must: 5, aim: 8 })],
  ['cluster-latency', latency],
]);

const TOPIC = 'bench';
const PARTITIONS = 3;
const MIB = 1024 * 1024;
/** Records of the first warm-up, from which the length of the others is reckoned. */
const PROBE_RECORDS = 30_000;
const RECORDS_PER_SECOND = 200;
const RECORD_BYTES = 100;
/** Under this name the values of the row of latency have what a sync takes without any broker. */
const DISK_ALONE = 'disk alone';
/** A broker that stores nothing does not replicate. */
const NO_NULL: readonly SideName[] = ['null'];

async function produce(plan: Plan, synced: boolean, budget: Budget): Promise<Row[]> {
  const name = `three nodes, produce 1 KB, ${synced ? 'synced' : 'not synced'}`;
  const processor = new Map<string, number[]>();
  const memory = new Map<string, number[]>();
  const values = await withClusters(plan, synced, async (sides) => {
    const counts = new Map<SideName, number>();
    for (const side of sides) {
      const first = await load(side, synced ? PROBE_RECORDS / 3 : PROBE_RECORDS);
      const second = await load(side, records(first, plan.seconds / 2));
      counts.set(side.name, records(second, plan.seconds));
    }
    const measured = await takeTurns(plan, sides, name, async (side) => {
      const count = counts.get(side.name) ?? PROBE_RECORDS;
      const beforeMs = side.processorMs();
      const recordsPerSecond = await load(side, count);
      const tookMs = side.processorMs() - beforeMs;
      processor.set(side.name, [...(processor.get(side.name) ?? []), (tookMs * 1000) / count]);
      return recordsPerSecond;
    });
    for (const side of sides) memory.set(side.name, [side.residentBytes() / MIB]);
    return measured;
  });
  const common = { higherIsBetter: false, without: NO_NULL };
  return [
    { ...common, name, unit: 'records/s', higherIsBetter: true, values, budget: { ...budget, of: 'ratio' } },
    { ...common, name: `${name}: processor time of all nodes`, unit: 'µs a record', values: processor },
    { ...common, name: `${name}: memory of all nodes afterwards`, unit: 'MiB resident', values: memory },
  ];
}

/** Records a second. Where a machine is too busy for sessions to hold, leaders change: the run counts for nothing. */
async function load({ name, bootstrap }: ClusterSide, count: number): Promise<number> {
  const settings = new Map([['acks', 'all']]);
  const what = { bootstrap, topic: TOPIC, records: count, recordBytes: 1024, settings };
  const figures = await producerPerformance(what).catch((error: Error) => {
    throw new Error(`${name}: ${error.message}`);
  });
  return figures.recordsPerSecond;
}

async function latency(plan: Plan): Promise<Row[]> {
  const percentiles = new Map<string, Map<string, number[]>>();
  const count = Math.round(plan.seconds * RECORDS_PER_SECOND);
  const sizes = [count, RECORD_BYTES, RECORDS_PER_SECOND].map(String);
  const title = `three nodes, end to end ${RECORD_BYTES} B, synced`;
  await withClusters(plan, true, async (running) =>
    takeTurns(plan, running, `${title}, p99`, async (side) => {
      for (const [percentile, value] of syncAlone(plan.folder)) append(percentiles, percentile, DISK_ALONE, value);
      const said = await runClient(['paced', side.bootstrap, TOPIC, ...sizes]);
      const figures = new Map(Object.entries(JSON.parse(said) as Record<string, number>));
      for (const [percentile, value] of figures) append(percentiles, percentile, side.name, value);
      return figures.get('p99') ?? Number.NaN;
    }),
  );
  return [...percentiles].map(([percentile, values]) => ({
    name: `${title}, ${percentile}`,
    unit: 'ms',
    higherIsBetter: false,
    values,
    without: NO_NULL,
    note: `fdatasync alone, in between: ${median(values.get(DISK_ALONE) ?? []).toFixed(2)} ms`,
    ...(percentile === 'p99' ? { budget: { must: 10, aim: 5, of: 'value' as const, ratioToo: 1 } } : {}),
  }));
}

/** Starts the clusters with their topic, hands them over, and stops them whatever happens. */
async function withClusters<T>(
  plan: Plan,
  synced: boolean,
  use: (sides: readonly ClusterSide[]) => Promise<T>,
): Promise<T> {
  const names = plan.sides.filter((side): side is ClusterSideName => side !== 'null');
  if (names.length === 0) throw new Error('neither Apache Kafka nor Tidemark was to be measured');
  const sides: ClusterSide[] = [];
  try {
    for (const name of names) {
      const side = await startClusterSide(name, synced, plan.folder);
      sides.push(side);
      await createReplicated(side, TOPIC, PARTITIONS);
    }
    return await use(sides);
  } finally {
    for (const side of sides) await side.stop();
  }
}
