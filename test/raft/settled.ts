/** A quorum that has come to rest, and is watched all the time: what stories begin with. */
import { expect } from 'vitest';
import type { Raft } from '../../core/raft/raft.ts';
import { createDice } from '../log/world.ts';
import { createCluster, isConverged, leaderOf, runUntil, startAll, submit } from './cluster.ts';
import type { Cluster, ClusterOptions, Member } from './cluster-state.ts';
import { createTruth, hear, look, type Truth } from './truth.ts';

/** The whole, who leads it, and two of the others. */
export interface Settled {
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly leader: Member;
  readonly others: readonly [Member, Member];
}

/** A quorum that has a leader whom everybody follows. */
export function settled(options: ClusterOptions = {}): Settled {
  const cluster = createCluster({ dice: createDice(11), ...options });
  const truth = createTruth();
  cluster.onStep = (member) => look(cluster, truth, member);
  cluster.onReply = (member, ...rest) => hear(truth, member, ...rest);
  startAll(cluster);
  expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
  const leader = leaderOf(cluster) as Member;
  const [a, b] = cluster.members.filter((member) => member !== leader);
  return { cluster, truth, leader, others: [a as Member, b as Member] };
}

/** The machine of a member that is up. */
export function raftOf(member: Member): Raft {
  if (member.quorum === null) throw new Error('the member is down');
  return member.quorum.raft;
}

/** Submits one request and waits until everybody has it. */
export function commit(cluster: Cluster, waiter: number): void {
  submit(cluster, leaderOf(cluster) as Member, waiter, [waiter]);
  const isThere = (): boolean => isConverged(cluster) && leaderOf(cluster)?.seen.has(String(waiter)) === true;
  expect(runUntil(cluster, 5000, isThere)).toBe(true);
}
