/**
 * The same requests to Apache Kafka 4.4 and to our daemon, in every version that both serve, compared field by field.
 *
 * `ALLOWED` lists where we answer otherwise and why; each entry must be seen. What differs between any two
 * brokers, such as ids, is put into one form by `plain`.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { ALLOWED, type Allowed, CASES } from './differential/cases.ts';
import { differences, type Peer, plain, startPeers } from './differential/peers.ts';

const SETTINGS = new Map([
  ['message.max.bytes', '20000'],
  ['num.partitions', '2'],
  ['log.segment.bytes', '1048576'],
  ['group.initial.rebalance.delay.ms', '0'],
  ['group.consumer.assignment.interval.ms', '0'],
  ['offsets.topic.num.partitions', '2'],
  ['offsets.topic.replication.factor', '1'],
]);

const problem = await kafkaProblem();
const peers: readonly Peer[] = problem === null ? await startPeers(SETTINGS) : [];
const used = new Set<Allowed>();
afterAll(async () => void (await Promise.all(peers.map((peer) => peer.stop()))));

function isAllowed(name: string, line: string): boolean {
  const found = ALLOWED.find(({ cases, lines }) => cases.test(name) && lines.test(line));
  if (found !== undefined) used.add(found);
  return found !== undefined;
}

describe.skipIf(problem !== null)('Apache Kafka and Tidemark answer alike:', () => {
  it.each([...CASES])('%s', async (name, run) => {
    const [kafka, tidemark] = await Promise.all(peers.map(async (peer) => plain(peer, await run(peer))));
    expect(differences(kafka, tidemark).filter((line) => !isAllowed(name, line))).toEqual([]);
  });

  it('every difference that is allowed was seen', () => {
    expect(ALLOWED.filter((one) => !used.has(one)).map(({ reason }) => reason)).toEqual([]);
  });
});
