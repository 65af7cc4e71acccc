// @platformatic/kafka: write BOOTSTRAP TOPIC CODEC FILE | read BOOTSTRAP TOPIC | admin BOOTSTRAP TOPIC |
// member BOOTSTRAP TOPIC GROUP ASSIGNOR
// Its streams join a group, so reading uses the consumer's own fetch, which does not.
import { Admin, ConfigResourceTypes, Consumer, Producer } from '@platformatic/kafka';
import { beMember } from './platformatic-member.mjs';
import { batchesOf, createDigest, loadRecords } from './records.mjs';

const [mode, bootstrap, topic, codec, file] = process.argv.slice(2);
const options = { clientId: 'interop', bootstrapBrokers: [bootstrap] };

async function write() {
  const producer = new Producer({ ...options, autocreateTopics: true });
  for (const batch of batchesOf(loadRecords(file))) {
    const messages = batch.map(({ key, value, headers }) => ({
      topic,
      partition: 0,
      key: key ?? undefined,
      value: value ?? undefined,
      headers: new Map(headers.map(([name, content]) => [Buffer.from(name), content])),
    }));
    await producer.send({ messages, compression: codec, idempotent: true, acks: -1 });
  }
  await producer.close();
}

async function read() {
  const consumer = new Consumer({ ...options, groupId: 'unused' });
  const high = (await consumer.listOffsets({ topics: [topic], timestamp: -1n })).get(topic)[0];
  const metadata = await consumer.metadata({ topics: [topic] });
  const { id, partitions } = metadata.topics.get(topic);
  const digest = createDigest();
  let next = 0n;
  while (next < high) {
    const place = { partition: 0, currentLeaderEpoch: partitions[0].leaderEpoch, fetchOffset: next };
    const wanted = { ...place, lastFetchedEpoch: -1, partitionMaxBytes: 2_000_000 };
    const response = await consumer.fetch({
      node: partitions[0].leader,
      maxWaitTime: 500,
      maxBytes: 2_000_000,
      topics: [{ topicId: id, partitions: [wanted] }],
    });
    for (const batch of response.responses[0].partitions[0].records ?? []) {
      for (const { offsetDelta, key, value, headers } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta);
        if (offset < next) continue;
        digest.add(offset, key, value, headers);
        next = offset + 1n;
      }
    }
  }
  await consumer.close(true);
  digest.print();
}

async function administer() {
  const admin = new Admin(options);
  const configs = [{ name: 'retention.ms', value: '123456' }];
  const created = await admin.createTopics({ topics: [topic], partitions: 3, replicas: 1, configs });
  const listed = (await admin.listTopics()).includes(topic);
  const resources = [
    { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configurationKeys: ['retention.ms'] },
  ];
  const described = await admin.describeConfigs({ resources });
  await admin.deleteTopics({ topics: [topic] });
  const gone = !(await admin.listTopics()).includes(topic);
  await admin.close();
  const partitions = created[0].partitions;
  console.log(JSON.stringify({
    created: created[0].name === topic,
    listed,
    partitions,
    retentionMs: described[0].configs[0].value,
    gone,
  }));
}

await { write, read, admin: administer, member: () => beMember(process.argv.slice(3)) }[mode]();
