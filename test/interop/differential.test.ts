/**
 * The same requests to Apache Kafka 4.4 and to our daemon, in every version that both serve, compared field by field.
 *
 * `DIFFERS` lists where we answer otherwise and why; each entry must still be true. What differs between any two
 * brokers, such as ids, is put into one form by `plain`.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { CASES, DIFFERS } from './differential/cases.ts';
import { type Peer, plain, startPeers } from './differential/peers.ts';

const SETTINGS = new Map([
  ['message.max.bytes', '20000'],
  ['num.partitions', '2'],
  ['log.segment.bytes', '1048576'],
]);

const problem = await kafkaProblem();
const peers: readonly Peer[] = problem === null ? await startPeers(SETTINGS) : [];
afterAll(async () => void (await Promise.all(peers.map((peer) => peer.stop()))));

describe.skipIf(problem !== null)('Apache Kafka and Tidemark answer alike:', () => {
  it.each([...CASES])('%s', async (name, run) => {
    const [kafka, tidemark] = await Promise.all(peers.map(async (peer) => plain(peer, await run(peer))));
    if (DIFFERS.has(name)) expect(tidemark, `no longer differs: ${DIFFERS.get(name)}`).not.toEqual(kafka);
    else expect(tidemark).toEqual(kafka);
  });
});
