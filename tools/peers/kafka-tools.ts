/**
 * Apache Kafka's command-line tools, each as a function: against any broker that speaks the protocol, and on any log
 * directory in the format. What they print is read here and nowhere else.
 */
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installKafka, javaArguments } from './kafka-broker.ts';
import { type Finished, type RunOptions, run } from './process.ts';

/** The classes behind the names that people know from Kafka's `bin` folder. */
export const KAFKA_TOOLS: ReadonlyMap<string, string> = new Map([
  ['topics', 'org.apache.kafka.tools.TopicCommand'],
  ['producer-perf', 'org.apache.kafka.tools.ProducerPerformance'],
  ['consumer-perf', 'org.apache.kafka.tools.ConsumerPerformance'],
  ['end-to-end', 'org.apache.kafka.tools.EndToEndLatency'],
  ['dump', 'org.apache.kafka.tools.DumpLogSegments'],
  ['get-offsets', 'org.apache.kafka.tools.GetOffsetShell'],
  ['console-producer', 'org.apache.kafka.tools.ConsoleProducer'],
  ['console-consumer', 'org.apache.kafka.tools.consumer.ConsoleConsumer'],
  ['broker-api-versions', 'org.apache.kafka.tools.BrokerApiVersionsCommand'],
  ['configs', 'org.apache.kafka.tools.ConfigCommand'],
  ['storage', 'kafka.tools.StorageTool'],
  ['delete-records', 'org.apache.kafka.tools.DeleteRecordsCommand'],
  ['log-dirs', 'org.apache.kafka.tools.LogDirsCommand'],
  ['features', 'org.apache.kafka.tools.FeatureCommand'],
  ['metadata-quorum', 'org.apache.kafka.tools.MetadataQuorumCommand'],
  ['reassign-partitions', 'org.apache.kafka.tools.reassign.ReassignPartitionsCommand'],
  ['leader-election', 'org.apache.kafka.tools.LeaderElectionCommand'],
  ['cluster', 'org.apache.kafka.tools.ClusterTool'],
  ['groups', 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'],
]);

/** What one run of the producer benchmark measured. */
export interface ProducerFigures {
  readonly records: number;
  readonly recordsPerSecond: number;
  /** 1,048,576 bytes. */
  readonly mebibytesPerSecond: number;
  readonly latencyMs: {
    readonly average: number;
    readonly max: number;
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
  };
}

/** What a producer benchmark is asked to do. */
export interface ProducerLoad {
  readonly bootstrap: string;
  readonly topic: string;
  readonly records: number;
  readonly recordBytes: number;
  /** Producer settings by Kafka's names. */
  readonly settings?: ReadonlyMap<string, string>;
}

/** Tools that work long enough for the second of the compilers in Java to pay; the others take half as long without. */
const LONG_RUNNING = /perf|end-to-end|dump|Performance|Latency/;

/** How long the consumer benchmark waits for a record. */
const CONSUMER_TIMEOUT_MS = 60_000;

/** Runs a tool by its name, or any class by its full name. */
export async function runKafkaTool(name: string, args: readonly string[], options?: RunOptions): Promise<Finished> {
  const home = await installKafka();
  const java = javaArguments(home, '512m', KAFKA_TOOLS.get(name) ?? name, args);
  return run('java', LONG_RUNNING.test(name) ? java : ['-XX:TieredStopAtLevel=1', ...java], options);
}

/** Kafka's producer benchmark, unthrottled. Throws when it fails or any record does. */
export async function producerPerformance(load: ProducerLoad): Promise<ProducerFigures> {
  const settings = [...(load.settings ?? [])].map(([name, value]) => `${name}=${value}`);
  const finished = await runKafkaTool('producer-perf', [
    ...['--bootstrap-server', load.bootstrap, '--topic', load.topic, '--throughput', '-1'],
    ...['--num-records', String(load.records), '--record-size', String(load.recordBytes)],
    ...(settings.length > 0 ? ['--command-property', ...settings] : []),
  ]);
  const figures = parseProducerFigures(finished.stdout);
  if (finished.code !== 0 || figures === null || complaintsIn(finished).length > 0) {
    const said = `${finished.stdout.slice(-3000)}\n${finished.stderr.slice(-3000)}`;
    throw new Error(`the producer benchmark ended with ${finished.code}:\n${said}`);
  }
  if (figures.records !== load.records) throw new Error(`${figures.records} of ${load.records} records were sent`);
  return figures;
}

/** Lines that tell of a failed record. A topic that is just being created is none. */
function complaintsIn({ stdout, stderr }: Finished): string[] {
  const passing = /UNKNOWN_TOPIC_OR_PARTITION|LEADER_NOT_AVAILABLE/;
  return `${stdout}\n${stderr}`.split('\n').filter((line) => /Exception|ERROR|WARN/.test(line) && !passing.test(line));
}

/** What one run of the consumer benchmark measured. */
export interface ConsumerFigures {
  readonly records: number;
  /** 1,048,576 bytes, in the time in which its group was at rest. */
  readonly mebibytesPerSecond: number;
}

/** What a consumer benchmark is asked to do. */
export interface ConsumerLoad {
  readonly bootstrap: string;
  readonly topic: string;
  readonly records: number;
  /** Of its own for each run by default, so that it begins at the beginning. */
  readonly group?: string;
  /** Consumer settings by Kafka's names. */
  readonly settings?: ReadonlyMap<string, string>;
}

/** Kafka's consumer benchmark, a group of one member. Throws when it fails or does not read that many records. */
export async function consumerPerformance(
  load: ConsumerLoad,
  runTool: (name: string, args: readonly string[]) => Promise<Finished> = runKafkaTool,
): Promise<ConsumerFigures> {
  const settings = [...(load.settings ?? [])].flatMap(([name, value]) => ['--command-property', `${name}=${value}`]);
  const finished = await runTool('consumer-perf', [
    ...['--bootstrap-server', load.bootstrap, '--topic', load.topic, '--num-records', String(load.records)],
    ...['--timeout', String(CONSUMER_TIMEOUT_MS), ...(load.group === undefined ? [] : ['--group', load.group])],
    ...settings,
  ]);
  const figures = parseConsumerFigures(finished.stdout);
  if (finished.code !== 0 || figures === null || figures.records < load.records) {
    const said = `${finished.stdout.slice(-3000)}\n${finished.stderr.slice(-3000)}`;
    throw new Error(`the consumer benchmark ended with ${finished.code}:\n${said}`);
  }
  return figures;
}

/** Reads the last line of the consumer benchmark; null if it is not there. */
export function parseConsumerFigures(text: string): ConsumerFigures | null {
  const line = text.split('\n').findLast((one) => /^\d{4}-\d\d-\d\d .*,/.test(one));
  // From, until, MB, MB/s, records, records/s, ms of rebalancing, ms of fetching, MB/s and records/s of these.
  const columns = line?.split(',').map((column) => Number(column)) ?? [];
  const [records, mebibytesPerSecond] = [columns[4], columns[8]];
  return records === undefined || mebibytesPerSecond === undefined ? null : { records, mebibytesPerSecond };
}

/** Reads the last line of the producer benchmark; null if it is not there. */
export function parseProducerFigures(text: string): ProducerFigures | null {
  const line = text.split('\n').findLast((one) => one.includes('99th'));
  if (line === undefined) return null;
  const numbers = /^(\d+) records sent, ([\d.]+) records\/sec \(([\d.]+) MB\/sec\), ([\d.]+) ms avg.* ([\d.]+) ms max/;
  const found = numbers.exec(line);
  if (!found) return null;
  const percentile = (name: string): number => Number(new RegExp(`(\\d+) ms ${name}`).exec(line)?.[1] ?? Number.NaN);
  return {
    records: Number(found[1]),
    recordsPerSecond: Number(found[2]),
    mebibytesPerSecond: Number(found[3]),
    latencyMs: {
      average: Number(found[4]),
      max: Number(found[5]),
      p50: percentile('50th'),
      p95: percentile('95th'),
      p99: percentile('99th'),
    },
  };
}

/** What Kafka's dump tool says of files of one partition. `complaints` is empty when all is well. */
export interface DumpReport {
  /** Every line but those of records. */
  readonly text: string;
  readonly complaints: readonly string[];
  /** Records printed. */
  readonly records: number;
}

/** What to read: every record or batches only, and how many bytes of each log at most. */
export interface DumpOptions {
  readonly deep: boolean;
  readonly bytesMax?: number;
}

/** Reads log, index, time index and snapshot files with Kafka's dump tool. */
export async function dumpFiles(files: readonly string[], options: DumpOptions = { deep: true }): Promise<DumpReport> {
  const depth = options.deep ? ['--deep-iteration', '--print-data-log'] : [];
  const limit = options.bytesMax === undefined ? [] : ['--max-bytes', String(options.bytesMax)];
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-dump-'));
  const outputFile = join(folder, 'dump');
  try {
    const finished = await runKafkaTool('dump', [...depth, ...limit, '--files', files.join(',')], { outputFile });
    const lines: string[] = [];
    let records = 0;
    for await (const line of createInterface({ input: createReadStream(outputFile) })) {
      if (line.startsWith('| offset')) records++;
      else lines.push(line);
    }
    const complaints = [...lines, ...finished.stderr.split('\n')].filter(isComplaint);
    if (finished.code !== 0) complaints.push(`the dump tool ended with ${finished.code}`);
    return { text: lines.join('\n'), complaints, records };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Whether a line of the dump tool complains. Of every log that does not begin at 0, Kafka's own ones too, the tool says
 * that -1 is followed by its first offset: only a pair of real offsets is a gap, and the heading above it says nothing.
 */
function isComplaint(line: string): boolean {
  if (line.startsWith('Non-consecutive offsets in')) return false;
  if (/^\s*-1 is followed by/.test(line)) return false;
  return /is followed by|mismatch|exception|error|invalid|isvalid: false|out.of.order|cannot/i.test(line);
}
