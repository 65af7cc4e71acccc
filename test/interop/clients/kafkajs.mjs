// Produces COUNT records with kafkajs, compressed, and prints the end offset that the broker tells.
// Arguments: bootstrap, topic, count. kafkajs reads through groups only, so reading is left to others.
import { CompressionTypes, Kafka, logLevel } from 'kafkajs';

const [bootstrap, topic, count] = process.argv.slice(2);
const kafka = new Kafka({ clientId: 'interop', brokers: [bootstrap], logLevel: logLevel.ERROR });
const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
await producer.connect();
for (let from = 0; from < Number(count); from += 1000) {
  const messages = Array.from({ length: Math.min(1000, Number(count) - from) }, (_, index) => ({
    key: `k${from + index}`,
    value: `value ${from + index}`,
    headers: { h: 'one' },
  }));
  await producer.send({ topic, acks: -1, compression: CompressionTypes.GZIP, messages });
}
await producer.disconnect();
const admin = kafka.admin();
await admin.connect();
const offsets = await admin.fetchTopicOffsets(topic);
await admin.disconnect();
console.log(JSON.stringify({ end: Number(offsets[0].high), start: Number(offsets[0].low) }));
