// kafkajs: write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC |
// member BOOTSTRAP TOPIC GROUP ASSIGNOR
// Its consumer knows groups only, so reading goes through the classes under it: its cluster, its fetch, its decoder.
// The codecs that it leaves to plug-ins are plugged in from packages that need no compiler.
import { createRequire } from 'node:module';
import { compress, decompress, init } from '@bokuweb/zstd-wasm';
import kafkajs from 'kafkajs';
import snappy from 'kafkajs-snappy';
import { compressFrame, decompressFrame } from 'lz4-napi';
import { beMember } from './kafkajs-member.mjs';
import { batchesOf, createDigest, loadRecords } from './records.mjs';

const require = createRequire(import.meta.url);
const Cluster = require('kafkajs/src/cluster');
const socketFactory = require('kafkajs/src/network/socketFactory');
const { createLogger } = require('kafkajs/src/loggers');
const consoleLogger = require('kafkajs/src/loggers/console');
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;

const [mode, bootstrap, topic, codec, file] = process.argv.slice(2);
const kafka = new Kafka({ clientId: 'interop', brokers: [bootstrap], connectionTimeout: 30_000, logLevel: logLevel.ERROR });
await init();
CompressionCodecs[CompressionTypes.Snappy] = snappy;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async ({ buffer }) => compressFrame(buffer),
  decompress: async (buffer) => decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async ({ buffer }) => Buffer.from(compress(buffer)),
  decompress: async (buffer) => Buffer.from(decompress(buffer)),
});

async function write() {
  const types = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' };
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (const batch of batchesOf(loadRecords(file))) {
    const messages = batch.map(({ key, value, headers }) => ({
      key,
      value,
      partition: 0,
      headers: Object.fromEntries(headers),
    }));
    await producer.send({ topic, acks: -1, compression: CompressionTypes[types[codec]], messages });
  }
  await producer.disconnect();
}

async function read() {
  const admin = kafka.admin();
  await admin.connect();
  const [{ high }] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const logger = createLogger({ level: logLevel.ERROR, logCreator: consoleLogger });
  const options = { brokers: [bootstrap], clientId: 'interop', connectionTimeout: 30_000, requestTimeout: 30_000 };
  const cluster = new Cluster({ logger, socketFactory: socketFactory(), offsets: new Map(), ...options });
  await cluster.connect();
  await cluster.addTargetTopic(topic);
  const leader = await cluster.findBroker({ nodeId: String(cluster.findTopicPartitionMetadata(topic)[0].leader) });
  const digest = createDigest();
  let next = 0n;
  while (next < BigInt(high)) {
    const partitions = [{ partition: 0, fetchOffset: next.toString(), maxBytes: 2_000_000 }];
    const { responses } = await leader.fetch({ isolationLevel: 1, topics: [{ topic, partitions }] });
    for (const { offset, key, value, headers, isControlRecord } of responses[0].partitions[0].messages) {
      if (BigInt(offset) < next) continue;
      if (!isControlRecord) digest.add(offset, key, value, Object.entries(headers));
      next = BigInt(offset) + 1n;
    }
  }
  await cluster.disconnect();
  digest.print();
}

async function administer() {
  const admin = kafka.admin();
  await admin.connect();
  const configEntries = [{ name: 'retention.ms', value: '123456' }];
  const created = await admin.createTopics({ topics: [{ topic, numPartitions: 3, configEntries }] });
  const listed = (await admin.listTopics()).includes(topic);
  const [{ partitions }] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics;
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms'] }];
  const described = await admin.describeConfigs({ resources, includeSynonyms: false });
  await admin.deleteTopics({ topics: [topic] });
  const gone = !(await admin.listTopics()).includes(topic);
  await admin.disconnect();
  const retentionMs = described.resources[0].configEntries[0].configValue;
  console.log(JSON.stringify({ created, listed, partitions: partitions.length, retentionMs, gone }));
}

await { write, read, admin: administer, member: () => beMember(process.argv.slice(3)) }[mode]();
