/**
 * Three nodes and real clients: what they write to a topic of three replicas while its leader is killed and comes back
 * is all there, once and in order, on each of the three; readers in a rack read from the replica there; and Kafka's
 * dump tool reads every file of every node.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { askPartitions, type PartitionStanding } from '../../tools/peers/ask.ts';
import { type Client, needClients, needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { dumpFiles, runKafkaTool } from '../../tools/peers/kafka-tools.ts';
import { runOrThrow } from '../../tools/peers/process.ts';
import { startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { partitionFiles, temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { encodeRecords, KCAT_FORMAT, makeRecords, readingOf, readingOfKcat } from './records.ts';

const COUNT = 10_000;
/** Of kcat and of Kafka's own producer. */
const LINES = 200_000;
/** Bytes of the topic that is read by rack. */
const RACK_BYTES = 30_000_000;
const SELECTOR = 'org.apache.kafka.common.replica.RackAwareReplicaSelector';

const folder = temporaryFolder();
const data = join(folder, 'cluster');
const clients = await needClients(fileURLToPath(new URL('./clients/', import.meta.url)));
const WRITERS = ['confluent-kafka', 'franz-go'].map((name) => clients.find((client) => client.name === name) as Client);
const missing = WRITERS.find((client) => client.problem !== null)?.problem ?? null;
const problem = (await needProgram('kcat')) ?? (await kafkaProblem()) ?? missing;
const cluster = await startTidemarkCluster(3, data, {
  settings: new Map([
    ['replica.selector.class', SELECTOR],
    ['log.segment.bytes', '4194304'],
    ['metadata.log.max.record.bytes.between.snapshots', '4000'],
  ]),
  settingsOf: (nodeId) => new Map([['broker.rack', `rack${nodeId}`]]),
});
const shell = problem === null ? await startKafkaShell() : null;
afterAll(async () => {
  shell?.stop();
  await cluster.stop('SIGKILL');
});

const records = makeRecords(COUNT);
const file = join(folder, 'records');
writeFileSync(file, encodeRecords(records));

async function tool(name: string, ...args: string[]): Promise<string> {
  const finished = await shell?.run(name, [...args, '--bootstrap-server', cluster.bootstrap]);
  if (finished?.code === 0) return finished.stdout;
  throw new Error(`${name} ${args.join(' ')} ended with ${finished?.code}: ${finished?.stdout}${finished?.stderr}`);
}

/** A partition as one of the nodes that live knows it. */
async function standing(topic: string): Promise<PartitionStanding> {
  for (const node of cluster.nodes) {
    const [partition] = await askPartitions(node, [topic]).catch(() => []);
    if (partition !== undefined && partition.replicas.length > 0) return partition;
  }
  throw new Error(`no node knows ${topic}`);
}

/** All three replicas of a partition are in sync. */
async function healed(topic: string): Promise<void> {
  await inTime(`all replicas of ${topic} to be in sync`, async () => {
    const { inSync } = await standing(topic);
    return inSync.length === 3 ? true : null;
  });
}

function logOf(nodeId: number, topic: string): string {
  return join(data, `node${nodeId}`, `${topic}-0`, '00000000000000000000.log');
}

/** Kills the leader of a topic as soon as something has been written there, and starts it again a little later. */
async function killLeader(topic: string): Promise<number> {
  const { leader } = await standing(topic);
  await inTime(`records in ${topic}`, async () => {
    const { size } = statSync(logOf(leader, topic), { throwIfNoEntry: false }) ?? { size: 0 };
    return size > 0 ? true : null;
  });
  await cluster.nodes[leader - 1]?.service.stop('SIGKILL');
  await inTime(`another leader of ${topic}`, async () => {
    const now = await standing(topic);
    return now.leader >= 0 && now.leader !== leader ? true : null;
  });
  await cluster.restart(leader);
  return leader;
}

async function readWithKcat(topic: string): Promise<Buffer> {
  const outputFile = join(folder, 'kcat');
  const from = ['-C', '-b', cluster.bootstrap, '-t', topic, '-p', '0', '-o', 'beginning', '-e', '-q'];
  await runOrThrow('kcat', [...from, '-f', KCAT_FORMAT], { outputFile, timeoutMs: 60_000 });
  return readFileSync(outputFile);
}

/** The address of one node that does not lead a topic: not all clients take several. */
async function beside(topic: string): Promise<string> {
  const { leader } = await standing(topic);
  return cluster.nodes.find(({ nodeId }) => nodeId !== leader)?.bootstrap ?? '';
}

/** The bytes of each replica's segments, in order. Where all is committed they are the same. */
function segments(nodeId: number, topic: string): Buffer {
  const partition = join(data, `node${nodeId}`, `${topic}-0`);
  const names = readdirSync(partition).filter((name) => name.endsWith('.log'));
  return Buffer.concat(names.sort().map((name) => readFileSync(join(partition, name))));
}

async function expectSameReplicas(topic: string): Promise<void> {
  await healed(topic);
  const first = segments(1, topic);
  expect(first.length).toBeGreaterThan(0);
  for (const nodeId of [2, 3]) expect(segments(nodeId, topic).equals(first), `replica of node ${nodeId}`).toBe(true);
}

describe.skipIf(problem !== null)('while the leader is killed and comes back', () => {
  it.each(WRITERS)('$name writes every record once and in order', async (client) => {
    const topic = `w-${client.name}`;
    await tool('topics', '--create', '--topic', topic, '--partitions', '1');
    const address = await beside(topic);
    const [finished] = await Promise.all([
      client.run(['write', address, topic, 'lz4', file], { timeoutMs: 60_000 }),
      killLeader(topic),
    ]);
    expect(finished.code, finished.stderr.slice(-4000)).toBe(0);
    expect(readingOfKcat(await readWithKcat(topic))).toEqual(readingOf(records));
    await expectSameReplicas(topic);
  });

  it.each(WRITERS)('$name reads every record while a follower is killed', async (client) => {
    const topic = `w-${WRITERS.find((other) => other !== client)?.name}`;
    const { leader } = await standing(topic);
    const address = cluster.nodes[leader - 1]?.bootstrap ?? '';
    const follower = (leader % 3) + 1;
    const [finished] = await Promise.all([
      client.run(['read', address, topic], { timeoutMs: 60_000 }),
      cluster.nodes[follower - 1]?.service.stop('SIGKILL').then(() => cluster.restart(follower)),
    ]);
    expect(finished.code, finished.stderr.slice(-4000)).toBe(0);
    expect(JSON.parse(finished.stdout)).toEqual(readingOf(records));
    await healed(topic);
  });

  const lines = Array.from({ length: LINES }, (_, number) => `record ${number} of many\n`).join('');
  const input = join(folder, 'lines');

  async function expectLines(topic: string): Promise<void> {
    const from = ['-C', '-b', cluster.bootstrap, '-t', topic, '-p', '0', '-o', 'beginning', '-e', '-q'];
    expect((await runOrThrow('kcat', from)).stdout).toBe(lines);
    await expectSameReplicas(topic);
  }

  it('kcat writes every record once and in order', async () => {
    await tool('topics', '--create', '--topic', 'w-kcat', '--partitions', '1');
    writeFileSync(input, lines);
    const to = ['-P', '-b', cluster.bootstrap, '-t', 'w-kcat', '-p', '0', '-l', input];
    const careful = ['-X', 'enable.idempotence=true', '-X', 'queue.buffering.max.messages=1000000'];
    await Promise.all([runOrThrow('kcat', [...to, ...careful], { timeoutMs: 60_000 }), killLeader('w-kcat')]);
    await expectLines('w-kcat');
  });

  it("Kafka's own producer writes every record once and in order", async () => {
    await tool('topics', '--create', '--topic', 'w-java', '--partitions', '1');
    writeFileSync(input, lines);
    const to = ['--topic', 'w-java', '--bootstrap-server', cluster.bootstrap];
    // The defaults of this tool give up soon.
    const patient = ['--message-send-max-retries', '1000', '--request-timeout-ms', '30000'];
    const [{ code, stderr }] = await Promise.all([
      runKafkaTool('console-producer', [...to, ...patient], { inputFile: input, timeoutMs: 90_000 }),
      killLeader('w-java'),
    ]);
    expect(code, stderr).toBe(0);
    await expectLines('w-java');
  });
});

describe.skipIf(problem !== null)('a reader in a rack (KIP-392)', () => {
  /** Bytes that each node has written to anyone and anything so far. */
  function written(): number[] {
    return cluster.nodes.map(({ pid }) => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]));
  }

  it('reads from the replica there: Java and kcat', async () => {
    await tool('topics', '--create', '--topic', 'racked', '--replica-assignment', '1:2:3');
    const input = join(folder, 'racked');
    writeFileSync(input, `${'x'.repeat(999)}\n`.repeat(RACK_BYTES / 1000));
    await runOrThrow('kcat', ['-P', '-b', cluster.bootstrap, '-t', 'racked', '-p', '0', '-l', input]);
    await healed('racked');
    const readers: readonly (readonly [rack: string, from: number, read: () => Promise<unknown>])[] = [
      ['rack3', 3, () => readWithJava('rack3')],
      ['rack2', 2, () => kcatFrom('rack2')],
      ['nowhere', 1, () => kcatFrom('nowhere')],
      ['rack1', 1, () => readWithJava('rack1')],
    ];
    for (const [rack, from, read] of readers) {
      const before = written();
      await read();
      const sent = written().map((count, i) => count - (before[i] ?? 0));
      for (const [i, count] of sent.entries()) {
        const what = `node ${i + 1} to a reader in ${rack}`;
        if (i + 1 === from) expect(count, what).toBeGreaterThan(RACK_BYTES * 0.8);
        else expect(count, what).toBeLessThan(RACK_BYTES * 0.2);
      }
    }
  });

  async function kcatFrom(rack: string): Promise<void> {
    const from = ['-C', '-b', cluster.bootstrap, '-t', 'racked', '-p', '0', '-o', 'beginning', '-e', '-q'];
    const outputFile = join(folder, 'racked.read');
    await runOrThrow('kcat', [...from, '-X', `client.rack=${rack}`], { outputFile, timeoutMs: 60_000 });
    expect(readFileSync(outputFile).equals(readFileSync(join(folder, 'racked')))).toBe(true);
  }

  async function readWithJava(rack: string): Promise<void> {
    const from = ['--topic', 'racked', '--partition', '0', '--offset', 'earliest'];
    const all = ['--max-messages', String(RACK_BYTES / 1000), '--timeout-ms', '30000'];
    const own = ['--command-property', `client.rack=${rack}`];
    const args = ['--bootstrap-server', cluster.bootstrap, ...from, ...all, ...own];
    const outputFile = join(folder, 'racked.read');
    const { code, stderr } = await runKafkaTool('console-consumer', args, { outputFile, timeoutMs: 60_000 });
    expect(code, stderr).toBe(0);
    expect(readFileSync(outputFile).equals(readFileSync(join(folder, 'racked')))).toBe(true);
  }
});

describe.skipIf(problem !== null)("Kafka's dump tool", () => {
  it('reads every file of every node, its metadata log and snapshots too, after a clean stop', async () => {
    await cluster.stop();
    for (const nodeId of [1, 2, 3]) {
      const files = partitionFiles(join(data, `node${nodeId}`));
      const isMetadata = (name: string): boolean => name.includes('/__cluster_metadata-0/');
      for (const kind of ['.log', '.index', '.timeindex', '.snapshot']) {
        expect(files.filter((name) => name.endsWith(kind)).length, `${kind} of node ${nodeId}`).toBeGreaterThan(4);
      }
      // The replicas are the same to the byte: one is read to the last record.
      const deep = nodeId === 1;
      const dump = await dumpFiles(
        files.filter((name) => !isMetadata(name)),
        { deep },
      );
      expect(dump.complaints).toEqual([]);
      if (deep) expect(dump.records).toBe(2 * COUNT + 2 * LINES + RACK_BYTES / 1000);
      const metadata = join(data, `node${nodeId}`, '__cluster_metadata-0');
      const checkpoints = readdirSync(metadata).filter((name) => name.endsWith('.checkpoint'));
      expect(checkpoints.length).toBeGreaterThan(0);
      const logs = files.filter((name) => isMetadata(name) && name.endsWith('.log'));
      const decoded = ['--cluster-metadata-decoder', '--skip-record-metadata', '--files'];
      const all = [...logs, ...checkpoints.map((name) => join(metadata, name))];
      const { stdout, stderr, code } = await runKafkaTool('dump', [...decoded, all.join(',')]);
      expect(code, stderr).toBe(0);
      expect(`${stdout}${stderr}`).not.toMatch(/could not decode|exception|isvalid: false/i);
      for (const type of ['REGISTER_BROKER_RECORD', 'REGISTER_CONTROLLER_RECORD', 'PARTITION_CHANGE_RECORD']) {
        expect(stdout, `node ${nodeId}`).toContain(type);
      }
    }
  });
});
