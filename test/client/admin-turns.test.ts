/** An administrator who does not know who leads what goes from broker to broker, with each question for itself. */
import { expect, test } from 'vitest';
import {
  type Admin,
  type AdminEvent,
  adminDeadlineMs,
  askAdmin,
  checkAdmin,
  createAdmin,
  stepAdmin,
} from '../../core/client/admin.ts';
import { createIds } from '../../core/lib/ids.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestOf } from '../../core/protocol/messages/index.ts';
import { createToy, env, PORT, partitionOf, run, type Toy } from './toy-cluster.ts';
import { addGroups, moveCoordinator } from './toy-groups.ts';

const BROKERS = 5;
const LIST_OFFSETS = 2;
const DELETE_GROUPS = 42;

function brokersAsked(toy: Toy, partition: number): number[] {
  return toy.requests.flatMap(({ apiKey, broker, body }) => {
    const asked = apiKey === LIST_OFFSETS ? (body as RequestOf<2>).topics[0]?.partitions[0]?.partitionIndex : -1;
    return asked === partition ? [broker] : [];
  });
}

/** An administrator who knows all brokers, and may ask each once. */
function administer(toy: Toy, seed: number, events: AdminEvent[]): Admin {
  const bootstrap = Array.from({ length: BROKERS }, (_, broker) => ({ host: 'toy', port: PORT + broker }));
  const limits = { requestTimeoutMs: 700, timeoutMs: 9_000, attemptsMax: BROKERS, retryBackoffMs: 20 };
  const admin = createAdmin({ clientId: 'test', ids: createIds(), bootstrap, seed, ...limits });
  toy.machines.push({
    step: (e, input, out) => {
      if ('connection' in input || input.kind === 'wake') stepAdmin(admin, e, input as never, out, events);
    },
    deadlineMs: () => adminDeadlineMs(admin),
    check: () => checkAdmin(admin),
  });
  return admin;
}

test.each([1, 2, 3, 4, 5, 6])('questions at one time do not take the turns of each other, seed %i', (seed) => {
  const toy = createToy({ seed, brokers: BROKERS, topics: { t: 3 } });
  for (const partition of [0, 1, 2]) partitionOf(toy, 't', partition).leader = BROKERS - 1 - partition;
  const events: AdminEvent[] = [];
  const admin = administer(toy, seed, events);
  // All brokers are up by then.
  for (const round of [1, 2, 3]) {
    toy.requests.length = 0;
    for (const partition of [0, 1, 2]) {
      askAdmin(admin, env(toy), { kind: 'listOffset', topic: 't', partition, at: 'latest' });
    }
    run(toy, toy.nowMs + 8_000, () => events.length === 3 * round);
  }
  expect(events.map(({ error }) => error)).toEqual(Array(9).fill(ErrorCode.NONE));
  for (const partition of [0, 1, 2]) {
    const asked = brokersAsked(toy, partition);
    expect(new Set(asked).size).toBe(asked.length);
  }
});

test.each([1, 2, 3, 4, 5, 6])('who asks about a group finds its coordinator by asking others, seed %i', (seed) => {
  const toy = createToy({ seed, brokers: BROKERS, topics: { t: 1 } });
  addGroups(toy);
  moveCoordinator(toy, seed % BROKERS);
  const events: AdminEvent[] = [];
  const admin = administer(toy, seed, events);
  askAdmin(admin, env(toy), { kind: 'deleteGroup', groupId: 'g' });
  run(toy, toy.nowMs + 9_000, () => events.length === 1);
  expect(events[0]?.error).toBe(ErrorCode.GROUP_ID_NOT_FOUND);
  // What a broker refuses that does not coordinate may be done by nobody, as far as one knows.
  const asked = toy.requests.filter(({ apiKey }) => apiKey === DELETE_GROUPS).map(({ broker }) => broker);
  expect(events[0]).toMatchObject({ unsureAttempts: asked.length - 1, lostAttempts: 0 });
  expect(asked.at(-1)).toBe(seed % BROKERS);
});
