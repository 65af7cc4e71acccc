/**
 * Where the replicas of new partitions go: striped over racks, and over the brokers in each rack.
 *
 * Leaders go round the racks, the replicas of one partition go to as many racks as there are, and within a rack
 * brokers take turns, each stripe one further than the last. The first replica is on a broker that takes part; fenced
 * ones get others only when no other is left in their rack. Where the stripes begin is rolled, so that many topics of
 * one partition do not all meet on the first broker. Brokers that are shutting down, or whose log directories are all
 * cordoned, get nothing.
 */

import { throwDice } from '../channel/backoff.ts';
import type { BrokerImage, MetadataImage } from '../metadata/image.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { Controller, Refusal } from './state.ts';

/** Brokers that take turns. */
interface Turn {
  readonly ids: number[];
  /** The stripe in which `used` counts. */
  stripe: number;
  used: number;
  /** Who is first in this stripe. */
  offset: number;
  /** Who was first in the last stripe that a leader began here, and that a follower began. */
  led: number;
  followed: number;
}

interface Rack {
  readonly name: string;
  readonly active: Turn;
  readonly fenced: Turn;
}

interface Racks {
  readonly racks: Rack[];
  readonly brokers: number;
  readonly activeBrokers: number;
  stripe: number;
  offset: number;
}

/** Whether a broker may get new replicas. */
function isUsable(broker: BrokerImage): boolean {
  // One that has shut down is fenced, and may come back.
  if (broker.inControlledShutdown && !broker.fenced) return false;
  const cordoned = broker.cordonedLogDirs;
  if (cordoned === null || broker.logDirs.length === 0) return true;
  return broker.logDirs.some((dir) => !cordoned.includes(dir));
}

function racksOf(controller: Controller): Racks {
  const byName = new Map<string, { active: number[]; fenced: number[] }>();
  let brokers = 0;
  let activeBrokers = 0;
  for (const broker of controller.image.cluster.brokers.values()) {
    if (!isUsable(broker)) continue;
    const name = broker.rack === null ? '' : `r${broker.rack}`;
    const rack = byName.get(name) ?? { active: [], fenced: [] };
    byName.set(name, rack);
    (broker.fenced ? rack.fenced : rack.active).push(broker.id);
    brokers += 1;
    if (!broker.fenced) activeBrokers += 1;
  }
  const names = [...byName.keys()].sort();
  const racks = names.map((name): Rack => {
    const { active, fenced } = byName.get(name) ?? { active: [], fenced: [] };
    return { name, active: turnOf(controller, active), fenced: turnOf(controller, fenced) };
  });
  const offset = racks.length === 0 ? 0 : throwDice(controller, racks.length);
  return { racks, brokers, activeBrokers, stripe: 0, offset };
}

function turnOf(controller: Controller, ids: number[]): Turn {
  ids.sort((a, b) => a - b);
  const first = ids.length === 0 ? 0 : throwDice(controller, ids.length);
  return { ids, stripe: -1, used: 0, offset: first, led: first, followed: first };
}

/**
 * The next broker in this stripe, or -1 when all have had their turn. Leaders and followers advance by themselves:
 * else, with two racks of even size, every other broker would never lead.
 */
function next(turn: Turn, stripe: number, isLeader: boolean): number {
  if (turn.ids.length === 0) return -1;
  if (turn.stripe !== stripe) {
    turn.stripe = stripe;
    turn.used = 0;
    turn.offset = ((isLeader ? turn.led : turn.followed) + 1) % turn.ids.length;
    if (isLeader) turn.led = turn.offset;
    else turn.followed = turn.offset;
  }
  if (turn.used === turn.ids.length) return -1;
  const id = turn.ids[(turn.used + turn.offset) % turn.ids.length] ?? -1;
  turn.used += 1;
  return id;
}

function shuffle<T>(controller: Controller, items: T[]): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = throwDice(controller, i + 1);
    const other = items[j] as T;
    items[j] = items[i] as T;
    items[i] = other;
  }
}

/** Replicas of one partition; there are enough brokers, and one that takes part. */
function placeOne(controller: Controller, all: Racks, replicationFactor: number): number[] {
  // As many stripes as brokers have been laid: mix, so that the same sets do not come again.
  if (all.stripe === all.activeBrokers && all.activeBrokers > 1) {
    shuffle(controller, all.racks);
    for (const rack of all.racks) {
      shuffle(controller, rack.active.ids);
      shuffle(controller, rack.fenced.ids);
      rack.active.stripe = -1;
      rack.fenced.stripe = -1;
    }
    all.stripe = 0;
  }
  const { racks } = all;
  all.offset %= racks.length;
  let first = all.offset;
  const replicas: number[] = [];
  for (let tries = 0; replicas.length === 0 && tries < racks.length; tries++) {
    const id = next((racks[first] as Rack).active, all.stripe, true);
    if (id >= 0) replicas.push(id);
    else first = (first + 1) % racks.length;
  }
  let leaderRack = first;
  let at = all.offset;
  // Each round over the racks places at least one replica, or there were too few brokers.
  for (let steps = 0; replicas.length < replicationFactor && steps < racks.length * (replicationFactor + 1); steps++) {
    if (at === leaderRack) {
      leaderRack = -1; // Its turn was the leader's; from the next round on it takes part.
    } else {
      const rack = racks[at] as Rack;
      const active = next(rack.active, all.stripe, false);
      const id = active >= 0 ? active : next(rack.fenced, all.stripe, false);
      if (id >= 0) replicas.push(id);
    }
    at = (at + 1) % racks.length;
  }
  all.stripe += 1;
  all.offset += 1;
  return replicas;
}

/** Replicas for so many partitions, or why there can be none. */
export function placeReplicas(
  controller: Controller,
  partitions: number,
  replicationFactor: number,
): readonly (readonly number[])[] | Refusal {
  const all = racksOf(controller);
  const errorCode = ErrorCode.INVALID_REPLICATION_FACTOR;
  if (all.activeBrokers === 0) return { errorCode, errorMessage: 'All brokers are currently fenced.' };
  if (replicationFactor > all.brokers) {
    const errorMessage =
      `The target replication factor of ${replicationFactor} cannot be reached because only ${all.brokers} broker(s) ` +
      'are registered or some brokers have all their log directories cordoned.';
    return { errorCode, errorMessage };
  }
  const placed: number[][] = [];
  for (let i = 0; i < partitions; i++) placed.push(placeOne(controller, all, replicationFactor));
  return placed;
}

/** Why replicas that a client chose cannot be, or null. `replicationFactor`: of the partitions before; -1 if none. */
export function assignmentProblem(
  image: MetadataImage,
  replicas: readonly number[],
  replicationFactor: number,
): string | null {
  if (replicas.length === 0) return 'The manual partition assignment includes an empty replica list.';
  const sorted = [...replicas].sort((a, b) => a - b);
  for (const [index, id] of sorted.entries()) {
    if (!image.cluster.brokers.has(id)) {
      return `The manual partition assignment includes broker ${id}, but no such broker is registered.`;
    }
    if (index > 0 && sorted[index - 1] === id) {
      return `The manual partition assignment includes the broker ${id} more than once.`;
    }
  }
  if (replicationFactor < 0 || replicas.length === replicationFactor) return null;
  return (
    `The manual partition assignment includes a partition with ${replicas.length} replica(s), but this is not ` +
    `consistent with previous partitions, which have ${replicationFactor} replica(s).`
  );
}
