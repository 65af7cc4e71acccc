/** What a cluster of one does as Apache Kafka 4.4 does, though one might not expect it. */
import { describe, expect, it } from 'vitest';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { batchOf, KEY, produce, produceBody } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld().start();
  return { world, client: world.connect() };
}

describe('the lead of a partition on a node that was alone', () => {
  const states = (world: ToyWorld) =>
    [...mapValues(world.node.image.topics.byId)].flatMap(({ partitions }) =>
      partitions.map(({ leader, leaderRecoveryState }) => [leader, leaderRecoveryState]),
    );

  // Apache Kafka 4.4 writes the same: whoever led last is elected from nothing, and nobody says that it has recovered.
  it.each(['process', 'power'] as const)('is marked as recovering after a %s crash, and stays so', (kind) => {
    const { world } = started();
    expect(states(world)).toEqual([
      [1, 0],
      [1, 0],
    ]);
    for (const _ of [1, 2]) {
      world.crash(kind);
      expect(states(world)).toEqual([
        [1, 1],
        [1, 1],
      ]);
    }
  });

  it('is not after a clean stop', () => {
    const { world } = started();
    world.push({ kind: 'stop' });
    world.crash('power');
    expect(states(world)).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });
});

describe('a record that a topic refuses', () => {
  it('is named by the answer of the versions that can, and costs the others nothing', () => {
    const { world, client } = started();
    const configs = [{ name: 'cleanup.policy', value: 'compact' }];
    const topics = [{ name: 'compacted', numPartitions: 1, replicationFactor: -1, assignments: [], configs }];
    world.ask(client, 19, 7, { topics, timeoutMs: 1000, validateOnly: false });
    const ask = (version: number) => {
      const body = produceBody(0, batchOf(['a', 'b']), { topic: 'compacted' });
      return world.ask(client, KEY.produce, version, body).responses[0]!.partitionResponses[0]!;
    };
    const message = 'Compacted topic cannot accept message without key in topic partition compacted-0';
    expect(ask(9)).toMatchObject({
      errorCode: ErrorCode.INVALID_RECORD,
      recordErrors: [0, 1].map((batchIndex) => ({ batchIndex, batchIndexErrorMessage: message })),
    });
    expect(ask(7)).toMatchObject({ errorCode: ErrorCode.INVALID_RECORD, recordErrors: [], errorMessage: null });
    expect(produce(world, client, 0, ['a']).recordErrors).toEqual([]);
  });
});

describe('DescribeUserScramCredentials', () => {
  it('knows nobody, and says so of each once', () => {
    const { world, client } = started();
    expect(world.ask(client, 50, 0, { users: null })).toMatchObject({ errorCode: 0, results: [] });
    const users = ['a', 'b', 'b'].map((name) => ({ name }));
    const told = world.ask(client, 50, 0, { users }).results.map(({ user, errorCode }) => [user, errorCode]);
    expect(told).toEqual([
      ['a', ErrorCode.RESOURCE_NOT_FOUND],
      ['b', ErrorCode.DUPLICATE_RESOURCE],
    ]);
  });
});
