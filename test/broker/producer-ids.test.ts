/** Producer ids: given in blocks by the controller, never twice. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { KEY } from './speaking.ts';
import { type ToyConnection, ToyWorld } from './toy-world.ts';

function started(): { world: ToyWorld; client: ToyConnection } {
  const world = new ToyWorld().start();
  return { world, client: world.connect() };
}

describe('InitProducerId', () => {
  const asked = { transactionalId: null, transactionTimeoutMs: 0 };

  it('never gives an id twice, crash or no crash', () => {
    const { world } = started();
    const given: number[] = [];
    for (let life = 0; life < 3; life++) {
      const client = world.connect();
      for (let i = 0; i < 1100; i++) given.push(world.ask(client, KEY.initProducerId, 4, asked).producerId);
      world.crash(life === 1 ? 'power' : 'process');
    }
    expect(new Set(given).size).toBe(given.length);
  });

  it('gives no id before its block is durable', () => {
    const { world, client } = started();
    world.fault = { kind: 'append', on: '__cluster_metadata-0', error: 'noSpace' };
    const refused = world.ask(client, KEY.initProducerId, 4, asked);
    expect(refused).toMatchObject({ errorCode: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, producerId: -1 });
    world.fault = null;
    world.pass(5_000);
    expect(world.ask(client, KEY.initProducerId, 4, asked)).toMatchObject({ errorCode: 0, producerEpoch: 0 });
  });

  it('refuses a transactional id, and an id without an epoch', () => {
    const { world, client } = started();
    const codeOf = (changes: object): number =>
      world.ask(client, KEY.initProducerId, 4, { ...asked, ...changes }).errorCode;
    expect(codeOf({ transactionalId: 'bank' })).toBe(ErrorCode.UNSUPPORTED_VERSION);
    expect(codeOf({ transactionalId: '' })).toBe(ErrorCode.INVALID_REQUEST);
    expect(codeOf({ producerId: 5 })).toBe(ErrorCode.INVALID_REQUEST);
    expect(codeOf({ producerId: 5, producerEpoch: 0 })).toBe(0);
  });
});
