#!/usr/bin/env node
/**
 * Tidemark beside Apache Kafka, on the same disk, in turn, at equal durability, with Kafka's own clients:
 *
 *   npm run bench                                     five pairs of 20 seconds a row, about half an hour
 *   npm run bench -- --short                          one pair of a few seconds a row, for CI
 *   npm run bench -- --rows produce-1k,latency --json
 *   npm run bench -- --cluster                        the same for three nodes of each
 *   npm run bench -- --failover                       what clients wait for when one of three is lost
 *   npm run bench -- --groups                         consumer groups: commits, members that join, loading, many groups
 *   npm run bench -- --scale                          100,000 idle partitions, without Kafka, some minutes
 *   npm run bench -- --metadata                       100,000 partitions on 50 simulated brokers, metadata alone
 *   npm run bench -- --simulator                      events a second of simulated runs, of one node and of three
 *
 * Progress goes to standard error, the result to standard output. Ends with 1 when something could not be measured,
 * with 2 when it was called wrongly; a budget that was missed is said and is no failure.
 */
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { KAFKA_VERSION, kafkaProblem } from '../peers/kafka-broker.ts';
import { CLUSTER_ROWS } from './cluster-rows.ts';
import { FAILOVER_ROWS } from './failover-rows.ts';
import { asData, keepsBudget, type Row, table, unmeasured } from './figures.ts';
import { GROUP_ROWS } from './group-rows.ts';
import { keepsMetadataBudget, measureMetadata, metadataLines } from './metadata-scale.ts';
import { parsePlan, SIDES } from './options.ts';
import { ROWS } from './rows.ts';
import { measureScale, scaleLines } from './scale.ts';
import { keepsSimulatorBudget, measureSimulator, simulatorLines } from './simulator.ts';
import type { Plan } from './turns.ts';

interface Options {
  readonly pairs: number;
  readonly seconds: number;
  readonly rows: string;
  readonly sides: string;
  readonly folder: string;
  readonly short?: boolean;
  readonly json?: boolean;
  readonly cluster?: boolean;
  readonly failover?: boolean;
  readonly groups?: boolean;
  readonly scale?: boolean;
  readonly metadata?: boolean;
  readonly simulator?: boolean;
  readonly seeds: number;
  readonly topics: number;
}

/** What statfs says of a file system in memory, where a sync costs nothing. */
const TMPFS_TYPE = 0x01021994;
/** Of --metadata. */
const BROKERS = 50;
/** The exit code after an interruption, as shells count. */
const INTERRUPTED = 130;
const ALL_ROWS = new Map([...ROWS, ...CLUSTER_ROWS, ...FAILOVER_ROWS, ...GROUP_ROWS]);
const SHORT = { pairs: 1, seconds: 4 };
/** Of --simulator. */
const SEEDS_MAX = 10_000;
const SCALE = { partitions: 10, quietMs: 5_000, topicsMax: 100_000 };

async function main(options: Options): Promise<number> {
  if (options.scale === true) return scale(options);
  if (options.metadata === true) return metadata(options);
  if (options.simulator === true) return simulator(options);
  const parsed = parsePlan(options);
  if (parsed.kind === 'wrong') {
    process.stderr.write(`${parsed.sentence}\n`);
    return 2;
  }
  const problem = await kafkaProblem();
  if (problem !== null) {
    process.stderr.write(`${problem}\n`);
    return 1;
  }
  mkdirSync(options.folder, { recursive: true });
  if (statfsSync(options.folder).type === TMPFS_TYPE) {
    process.stderr.write(`${options.folder} lies in memory: choose a folder on a disk with --folder\n`);
    return 2;
  }
  const names = options.rows === 'all' ? [...rowsOf(options).keys()] : options.rows.split(',');
  const unknown = names.filter((name) => !ALL_ROWS.has(name));
  if (unknown.length > 0) {
    process.stderr.write(`no row is called ${unknown.join(', ')}; there are ${[...ALL_ROWS.keys()].join(', ')}\n`);
    return 2;
  }
  const folder = mkdtempSync(join(options.folder, 'bench-'));
  // An interrupted benchmark leaves neither processes nor data: `process.ts` kills what runs when we exit.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(INTERRUPTED));
  const plan: Plan = {
    ...(options.short ? SHORT : { pairs: options.pairs, seconds: options.seconds }),
    sides: parsed.sides,
    folder,
    say: (line) => void process.stderr.write(`${line}\n`),
  };
  const rows: Row[] = [];
  let failed = 0;
  for (const name of names) {
    try {
      rows.push(...((await ALL_ROWS.get(name)?.(plan)) ?? []));
    } catch (error) {
      failed++;
      process.stderr.write(`${name} failed: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  report(rows, plan, options.json === true);
  for (const row of rows) {
    const missing = unmeasured(row, plan.sides);
    if (missing.length > 0) {
      failed++;
      process.stderr.write(`${row.name}: no figure of ${missing.join(', ')}\n`);
    }
    if (keepsBudget(row) === false) process.stderr.write(`${row.name}: the budget was missed\n`);
  }
  return failed === 0 ? 0 : 1;
}

/** One node with very many idle partitions, beside itself without them. */
async function scale({ topics, folder, seconds, short, json }: Options): Promise<number> {
  if (!isTopics(topics)) return 2;
  const producingMs = (short === true ? SHORT.seconds : seconds) * 1000;
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const { partitions, quietMs } = SCALE;
  const figures = await measureScale({ topics, partitions, quietMs, producingMs, folder, say });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : scaleLines(figures));
  return 0;
}

/** A controller and very many partitions of many brokers, simulated. */
function metadata({ topics, json }: Options): number {
  if (!isTopics(topics)) return 2;
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const figures = measureMetadata({ topics, partitions: SCALE.partitions, brokers: BROKERS, say });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : metadataLines(figures));
  if (!keepsMetadataBudget(figures)) say('the budget was missed');
  return 0;
}

/** Whole simulated runs, by processor time. */
function simulator({ seeds, json }: Options): number {
  if (!(Number.isInteger(seeds) && seeds >= 1 && seeds <= SEEDS_MAX)) {
    process.stderr.write(`--seeds must be a whole number from 1 to ${SEEDS_MAX}\n`);
    return 2;
  }
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const figures = measureSimulator({ seeds, say });
  process.stdout.write(json === true ? `${JSON.stringify(figures, null, 2)}\n` : simulatorLines(figures));
  if (!figures.every(keepsSimulatorBudget)) say('the budget was missed');
  return 0;
}

function rowsOf({ failover, cluster, groups }: Options): typeof ROWS {
  if (failover === true) return FAILOVER_ROWS;
  if (groups === true) return GROUP_ROWS;
  return cluster === true ? CLUSTER_ROWS : ROWS;
}

function isTopics(topics: number): boolean {
  const isFit = Number.isInteger(topics) && topics >= 1 && topics <= SCALE.topicsMax;
  if (!isFit) process.stderr.write(`--topics must be a whole number from 1 to ${SCALE.topicsMax}\n`);
  return isFit;
}

function report(rows: readonly Row[], plan: Plan, json: boolean): void {
  const machine = { cores: cpus().length, node: process.version, kafka: KAFKA_VERSION };
  const { pairs, seconds } = plan;
  if (json) {
    process.stdout.write(`${JSON.stringify({ machine, pairs, seconds, rows: asData(rows) }, null, 2)}\n`);
    return;
  }
  process.stdout.write(table(rows));
  const runs = `${pairs} runs of ${seconds} s a side, medians, ± half the spread`;
  process.stdout.write(`${runs}; ${machine.cores} cores, Node ${machine.node}, Apache Kafka ${machine.kafka}\n`);
}

const program = new Command('bench')
  .description('Tidemark beside Apache Kafka, on the same disk, in turn, with the same clients')
  .option('--pairs <count>', 'runs of every side', Number, 5)
  .option('--seconds <length>', 'length of a run', Number, 20)
  .option('--rows <names>', `all, or some of ${[...ALL_ROWS.keys()].join(',')}`, 'all')
  .option('--sides <names>', 'whom to measure', SIDES.join(','))
  .option('--folder <path>', 'where the data of both sides lies for the while', tmpdir())
  .option('--short', 'one pair of a few seconds a row: shows that it works, not how fast')
  .option('--cluster', 'measure three nodes that replicate instead')
  .option('--failover', 'measure what the loss of one of three nodes costs instead: the rows named failover-')
  .option('--groups', 'measure consumer groups instead: the rows named groups-')
  .option('--scale', 'measure very many idle partitions of ten a topic instead, on Tidemark alone')
  .option('--metadata', 'measure the metadata of very many partitions on 50 simulated brokers instead')
  .option('--simulator', 'measure what simulated runs cost instead, of one node and of three')
  .option('--seeds <count>', 'runs of each kind of --simulator', Number, 20)
  .option('--topics <count>', 'topics of --scale and --metadata, of ten partitions', Number, 10_000)
  .option('--json', 'print data in place of a table')
  .parse();
process.exitCode = await main(program.opts<Options>());
