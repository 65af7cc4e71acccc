/** Writes three records to a node and reads them back. `npm start` first, then `npm run hello`. */
import { createProducerClient, createReaderClient } from 'tidemark/client';

const bootstrap = process.argv[2] ?? '127.0.0.1:9092';

const producer = createProducerClient({ bootstrap });
for (const value of ['the tide', 'has reached', 'every shore']) {
  const { offset } = await producer.send({ topic: 'greetings', value });
  console.log(`"${value}" is at offset ${offset}`);
}
await producer.close();

const reader = createReaderClient({ bootstrap, topic: 'greetings', from: 'earliest' });
for await (const record of reader) {
  console.log(record.offset, new TextDecoder().decode(record.value ?? new Uint8Array()));
  if (record.offset + 1 >= reader.highWatermark()) break;
}
await reader.close();
