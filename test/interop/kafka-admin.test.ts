/** Apache Kafka's own administration, against the daemon: what its tools print of a cluster of one. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { producerPerformance, runKafkaTool } from '../../tools/peers/kafka-tools.ts';
import { daemon, partitionFiles, temporaryFolder } from './daemon.ts';

const problem = await kafkaProblem();
const folder = temporaryFolder();
const node = await daemon(folder, {});
const shell = problem === null ? await startKafkaShell() : null;
afterAll(() => shell?.stop());

async function tool(name: string, ...args: string[]): Promise<string> {
  return (await shell?.run(name, ['--bootstrap-server', node.bootstrap, ...args]))?.stdout ?? '';
}

describe.skipIf(problem !== null)("Apache Kafka's administration", () => {
  it('creates a topic with settings, lets it grow, and describes it', async () => {
    const made = await tool(
      'topics',
      '--create',
      '--topic',
      'admin',
      '--partitions',
      '2',
      '--config',
      'retention.ms=7',
    );
    expect(made).toContain('Created topic admin.');
    await tool('topics', '--alter', '--topic', 'admin', '--partitions', '3');
    const described = await tool('topics', '--describe', '--topic', 'admin');
    expect(described).toMatch(/PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention.ms=7/);
    expect(described).toMatch(/Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1/);
  });

  it('changes the settings of a topic and of a broker', async () => {
    const changed = ['--alter', '--topic', 'admin', '--add-config', 'max.message.bytes=20000'];
    expect(await tool('configs', ...changed)).toContain('Completed updating config for topic admin.');
    const found = await tool('configs', '--describe', '--topic', 'admin');
    expect(found).toContain('max.message.bytes=20000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:');
    await tool('configs', '--alter', '--broker', '1', '--add-config', 'log.retention.ms=500000');
    const broker = await tool('configs', '--describe', '--broker', '1');
    expect(broker).toContain('log.retention.ms=500000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:');
  });

  it('describes the quorum, the features and the log directories', async () => {
    expect(await tool('metadata-quorum', 'describe', '--status')).toMatch(/LeaderId:\s+1\n/);
    expect(await tool('metadata-quorum', 'describe', '--replication')).toMatch(/\n1\s+\S{22}\s+\d+\s+0\s.*Leader/);
    expect(await tool('features', 'describe')).toMatch(/metadata.version.*FinalizedVersionLevel: 4.4-IV2/);
    expect(await tool('log-dirs', '--describe')).toContain('"partition":"admin-2"');
  });

  it('deletes records, and the topic', async () => {
    await producerPerformance({ bootstrap: node.bootstrap, topic: 'cut', records: 1000, recordBytes: 100 });
    const file = path.join(folder, 'delete.json');
    writeFileSync(file, '{"partitions":[{"topic":"cut","partition":0,"offset":400}],"version":1}');
    const deleted = await tool('delete-records', '--offset-json-file', file);
    expect(deleted).toContain('partition: cut-0\tlow_watermark: 400');
    expect(await tool('get-offsets', '--topic', 'cut', '--time', 'earliest')).toContain('cut:0:400');
    await tool('topics', '--delete', '--topic', 'cut');
    expect(await tool('topics', '--list')).not.toContain('cut');
  });

  it('its dump tool decodes the metadata log', async () => {
    const log = partitionFiles(node.dataFolder).find((name) => /__cluster_metadata-0\/0*\.log$/.test(name));
    const { stdout } = await runKafkaTool('dump', ['--cluster-metadata-decoder', '--files', log ?? '']);
    for (const type of [
      'LeaderChange',
      'REGISTER_BROKER_RECORD',
      'TOPIC_RECORD',
      'CONFIG_RECORD',
      'REMOVE_TOPIC_RECORD',
    ]) {
      expect(stdout).toContain(type);
    }
  });
});
