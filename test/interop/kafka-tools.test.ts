import { describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { dumpFiles, producerPerformance, runKafkaTool } from '../../tools/peers/kafka-tools.ts';
import { startTidemark } from '../../tools/peers/tidemark.ts';
import { daemon, partitionFiles, temporaryFolder } from './daemon.ts';

const COUNT = 60_000;
/** Small segments, so that a run rolls many times. */
const SETTINGS = new Map([
  ['log.segment.bytes', String(1024 * 1024)],
  ['log.index.interval.bytes', '4096'],
]);

const problem = await kafkaProblem();
const folder = temporaryFolder();
const node = await daemon(folder, { settings: SETTINGS });

describe.skipIf(problem !== null)("Apache Kafka's own tools", () => {
  it('the producer benchmark with its defaults (idempotent, acks=all) sends every record', async () => {
    const load = { bootstrap: node.bootstrap, topic: 'perf', records: COUNT, recordBytes: 1024 };
    const figures = await producerPerformance(load);
    expect(figures.records).toBe(COUNT);
  });

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('the producer benchmark sends compressed: %s', async (codec) => {
    const settings = new Map([['compression.type', codec]]);
    const load = { bootstrap: node.bootstrap, topic: `perf-${codec}`, records: 5000, recordBytes: 200, settings };
    expect((await producerPerformance(load)).records).toBe(5000);
    const log = partitionFiles(node.dataFolder).find(
      (name) => name.includes(`/perf-${codec}-0/`) && name.endsWith('.log'),
    );
    const dump = await dumpFiles([log ?? ''], { deep: false });
    expect(dump.text).toMatch(new RegExp(`compresscodec: ${codec}`, 'i'));
  });

  it.each([0, 1])('the producer benchmark sends with acks=%i', async (acks) => {
    const settings = new Map([
      ['acks', String(acks)],
      ['enable.idempotence', 'false'],
    ]);
    const load = { bootstrap: node.bootstrap, topic: `acks-${acks}`, records: 5000, recordBytes: 200, settings };
    expect((await producerPerformance(load)).records).toBe(5000);
  });

  it('get-offsets tells the ends that were written', async () => {
    const at = async (time: string): Promise<string> => {
      const args = ['--bootstrap-server', node.bootstrap, '--topic-partitions', 'perf:0', '--time', time];
      return (await runKafkaTool('get-offsets', args)).stdout.trim();
    };
    expect(await at('latest')).toBe(`perf:0:${COUNT}`);
    expect(await at('earliest')).toBe('perf:0:0');
    expect(await at('max-timestamp')).toMatch(/^perf:0:\d+$/);
  });

  it('the console consumer reads a partition from an offset, without a group', async () => {
    const from = ['--partition', '0', '--offset', String(COUNT - 5)];
    const args = ['--bootstrap-server', node.bootstrap, '--topic', 'perf', ...from, '--max-messages', '5'];
    const { stdout } = await runKafkaTool('console-consumer', [...args, '--timeout-ms', '60000']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((one) => one.length)).toEqual([1024, 1024, 1024, 1024, 1024]);
  });

  it('the dump tool reads every file after a clean stop, and finds every record', async () => {
    expect(await node.service.stop()).toBe(0);
    await expectCleanDump(node.dataFolder, COUNT + 5 * 5000 + 2 * 5000);
  });

  it('the dump tool reads every file after a kill, a recovery and another clean stop', async () => {
    const again = await startTidemark({ dataFolder: node.dataFolder, settings: SETTINGS });
    await producerPerformance({ bootstrap: again.bootstrap, topic: 'perf', records: 20_000, recordBytes: 1024 });
    await again.service.stop('SIGKILL');
    const recovered = await startTidemark({ dataFolder: node.dataFolder, settings: SETTINGS });
    expect(await recovered.service.stop()).toBe(0);
    await expectCleanDump(node.dataFolder, COUNT + 5 * 5000 + 2 * 5000 + 20_000);
  });
});

async function expectCleanDump(dataFolder: string, records: number): Promise<void> {
  const files = partitionFiles(dataFolder);
  for (const kind of ['.log', '.index', '.timeindex', '.snapshot']) {
    expect(files.filter((name) => name.endsWith(kind)).length, kind).toBeGreaterThan(0);
  }
  expect(files.filter((name) => name.includes('/perf-0/') && name.endsWith('.log')).length).toBeGreaterThan(40);
  const isMetadata = (name: string): boolean => name.includes('/__cluster_metadata-0/');
  const dump = await dumpFiles(files.filter((name) => !isMetadata(name)));
  expect(dump.complaints).toEqual([]);
  expect(dump.records).toBe(records);
  expect((await dumpFiles(files.filter(isMetadata))).complaints).toEqual([]);
}
