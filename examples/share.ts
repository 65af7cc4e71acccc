/**
 * A member of a group: it reads its share of a topic's partitions, and says what it is given and what it reads. Run it
 * in several terminals: `npm start` first, then `npm run share`, with a topic and a group if you like.
 */
import { createConsumerClient } from 'tidemark/client';

const [topic = 'greetings', groupId = 'friends', bootstrap = '127.0.0.1:9092'] = process.argv.slice(2);

const named = (owned: readonly { topic: string; partitions: readonly number[] }[]): string =>
  owned.map((one) => `${one.topic} ${one.partitions.join(', ')}`).join('; ');
const consumer = createConsumerClient({
  bootstrap,
  groupId,
  groupProtocol: 'consumer',
  reset: 'earliest',
  listener: {
    onPartitionsAssigned: (owned) => console.log(`mine from now on: ${named(owned)}`),
    onPartitionsRevoked: (owned) => console.log(`given up: ${named(owned)}`),
  },
});
consumer.subscribe({ topics: [topic] });

let isOver = false;
process.once('SIGINT', () => {
  isOver = true;
});
while (!isOver) {
  for (const { partition, offset, value } of await consumer.poll(500)) {
    console.log(`${partition}@${offset} ${new TextDecoder().decode(value ?? new Uint8Array())}`);
  }
}
// Leaves the group: the others need not wait for a time-out.
await consumer.close();
