/** What holds where members of both protocols share a group, in any order of what they do. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { topicByName } from '../../core/metadata/image.ts';
import { decodeAssignment, encodeSubscription } from '../../core/protocol/consumer-protocol.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  anyStep,
  beat,
  checkOwners,
  checkReplay,
  createWorld,
  groupIn,
  revoke,
  type Step,
  take,
  type World,
  wantedIn,
} from './consumer-world.ts';
import { advance, answered, ask, send } from './coordinator.ts';

/** A classic member as its client keeps it. */
interface Classic {
  readonly name: string;
  readonly isEager: boolean;
  memberId: string;
  generation: number;
  mustJoin: boolean;
  isIn: boolean;
  readonly owned: Set<string>;
}

const TOPICS = ['orders', 'payments'];

function forget(one: Classic): void {
  one.owned.clear();
  one.memberId = '';
  one.generation = -1;
  one.mustJoin = true;
}

/** Joins and fetches; what is lost is given back at once, and the next heartbeat joins again if anything was. */
function join(world: World, one: Classic, losesSync: boolean): void {
  const { coordinator } = world;
  if (one.isEager) one.owned.clear();
  const ownedPartitions = TOPICS.map((topic) => ({
    topic,
    partitions: [...one.owned].filter((name) => name.startsWith(topic)).map((name) => Number(name.slice(-1))),
  }));
  const metadata = encodeSubscription({ topics: TOPICS, ownedPartitions, userData: null });
  const body = {
    groupId: 'g',
    sessionTimeoutMs: 30_000,
    rebalanceTimeoutMs: 60_000,
    memberId: one.memberId,
    protocolType: 'consumer',
    protocols: [{ name: 'sticky', metadata }],
  };
  const joined = answered(send(coordinator, 11, 9, body));
  if (joined.errorCode === ErrorCode.MEMBER_ID_REQUIRED) {
    one.memberId = joined.memberId;
    join(world, one, losesSync);
    return;
  }
  if (joined.errorCode === ErrorCode.UNKNOWN_MEMBER_ID) {
    // It was thrown out, and what it says that it owns is lost.
    expect(one.owned.size).toBeGreaterThan(0);
    forget(one);
    join(world, one, losesSync);
    return;
  }
  expect(joined.errorCode).toBe(ErrorCode.NONE);
  one.generation = joined.generationId;
  one.mustJoin = false;
  if (losesSync) {
    one.mustJoin = true;
    return;
  }
  const synced = ask(coordinator, 14, 5, {
    groupId: 'g',
    generationId: one.generation,
    memberId: one.memberId,
    protocolType: 'consumer',
    protocolName: 'sticky',
    assignments: [],
  });
  if (synced.errorCode !== ErrorCode.NONE) {
    hear(one, synced.errorCode);
    return;
  }
  const told = new Set(
    decodeAssignment(synced.assignment).assignedPartitions.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => `${topic}-${partition}`),
    ),
  );
  for (const name of one.owned) {
    if (told.has(name)) continue;
    one.owned.delete(name);
    one.mustJoin = true;
  }
  for (const name of told) one.owned.add(name);
}

function hear(one: Classic, errorCode: number): void {
  if (errorCode === ErrorCode.NONE) return;
  if (errorCode === ErrorCode.REBALANCE_IN_PROGRESS) one.mustJoin = true;
  else if (errorCode === ErrorCode.ILLEGAL_GENERATION || errorCode === ErrorCode.UNKNOWN_MEMBER_ID) forget(one);
  else expect.fail(`a classic member hears ${errorCode}`);
}

function live(world: World, one: Classic, losesSync = false): void {
  one.isIn = true;
  // An empty group would become a classic one.
  if ((groupIn(world)?.members.size ?? 0) === 0) {
    forget(one);
    return;
  }
  if (one.mustJoin) {
    join(world, one, losesSync);
    return;
  }
  const { memberId, generation: generationId } = one;
  hear(one, ask(world.coordinator, 12, 4, { groupId: 'g', memberId, generationId, groupInstanceId: null }).errorCode);
}

type Mixed =
  | Step
  | { readonly kind: 'classic'; readonly which: number; readonly losesSync: boolean }
  | { readonly kind: 'classicLeaves'; readonly which: number };

const which = fc.nat({ max: 1 });
const anyMixed: fc.Arbitrary<Mixed> = fc.oneof(
  { weight: 30, arbitrary: anyStep },
  {
    weight: 15,
    arbitrary: fc.record({
      kind: fc.constant('classic' as const),
      which,
      losesSync: fc.integer({ min: 0, max: 6 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('classicLeaves' as const), which }) },
);

function step(world: World, classics: readonly Classic[], one: Mixed): void {
  if (one.kind === 'classic') {
    live(world, classics[one.which] as Classic, one.losesSync);
    checkOwners(world);
  } else if (one.kind === 'classicLeaves') {
    const member = classics[one.which] as Classic;
    if (groupIn(world) !== null && member.memberId !== '') {
      ask(world.coordinator, 13, 5, { groupId: 'g', memberId: '', members: [{ memberId: member.memberId }] });
    }
    forget(member);
    member.isIn = false;
    checkOwners(world);
  } else {
    // The first client stays, or there would be nobody to see that topics changed.
    const isFirst = 'who' in one && one.who === 0;
    if (!isFirst || (one.kind !== 'leave' && one.kind !== 'vanish')) take(world, one);
  }
}

describe('members of both protocols', () => {
  it('never own what another owns, replay gives what is live, and all comes to rest', () => {
    fc.assert(
      fc.property(fc.array(anyMixed, { minLength: 20, maxLength: 80, size: 'max' }), fc.boolean(), (steps, isEager) => {
        // Nobody goes back to a classic group here, where members wait for each other.
        const world = createWorld('uniform', { migrationPolicy: 'upgrade' });
        const classics = ['k0', 'k1'].map((name, i): Classic => {
          const eager = isEager && i === 0;
          return { name, isEager: eager, memberId: '', generation: -1, mustJoin: true, isIn: false, owned: new Set() };
        });
        world.others.push(...classics);
        step(world, classics, { kind: 'join', who: 0, topics: TOPICS, regex: '' });
        for (const one of steps) step(world, classics, one);
        world.coordinator.checksReplay = false;
        for (let i = 0; i < 32; i++) {
          advance(world.coordinator, 2_000);
          for (const client of world.clients) {
            if (client.epoch < 0 || client.isLost) continue;
            revoke(client);
            beat(world, client, {});
          }
          for (const one of classics) if (one.isIn) live(world, one);
          checkOwners(world);
        }
        checkReplay(world);
        const owned = [
          ...world.clients.filter(({ epoch, isLost }) => epoch >= 0 && !isLost),
          ...classics.filter((one) => one.isIn),
        ];
        const wanted = new Set(wantedIn(world));
        for (const topic of classics.some((one) => one.isIn) ? TOPICS : []) {
          const count = topicByName(world.coordinator.image, topic)?.partitions.length ?? 0;
          for (let p = 0; p < count; p++) wanted.add(`${topic}-${p}`);
        }
        expect(owned.flatMap((one) => [...one.owned]).sort()).toEqual([...wanted].sort());
      }),
      { numRuns: 25 },
    );
  });
});
