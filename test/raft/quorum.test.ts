/**
 * Quorums of three to five voters and some observers under everything at once: lost, late and repeated messages, cuts
 * one way and both, crashes between any two effects, power losses, pauses, full disks, clean stops, snapshots. What
 * must hold is in `truth.ts`; and once all is healed, the quorum comes back within a bound. Meanwhile an operator adds
 * and removes voters, and disks of voters are replaced by empty ones.
 *
 * RAFT_CLUSTER_SEED=7 plays one seed, RAFT_CLUSTER_SEED=0..999 many.
 */
import { expect, it } from 'vitest';
import { isVoter, type Voter, votersText } from '../../core/raft/voters.ts';
import { createDice } from '../log/world.ts';
import {
  CLUSTER_ID,
  checkpoint,
  createCluster,
  heal,
  isConverged,
  kill,
  later,
  leaderOf,
  run,
  runUntil,
  start,
  startAll,
  stop,
  submit,
  swapDisk,
} from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';
import { cut, request } from './network.ts';
import { checkEnd, checkMatching, createTruth, hear, look, type Truth } from './truth.ts';

const SEEDS = 20;
/** Simulated time of trouble, and then the most that healing may take, ms. */
const TROUBLE_MS = 25_000;
const HEALING_MS = 15_000;

/** Which families of trouble a seed has: about half of them each. */
interface Manners {
  readonly crashes: boolean;
  readonly power: boolean;
  readonly cuts: boolean;
  readonly pauses: boolean;
  readonly stops: boolean;
  readonly fullDisks: boolean;
  /** Voters are added and removed. */
  readonly changes: boolean;
  /** Disks of voters are replaced by empty ones, one at a time. */
  readonly swaps: boolean;
}

interface Story {
  readonly cluster: Cluster;
  readonly truth: Truth;
  readonly manners: Manners;
  readonly amounts: Map<number, number>;
  nextWaiter: number;
}

function pick<T>(cluster: Cluster, from: readonly T[]): T {
  return from[Math.floor(cluster.dice() * from.length)] as T;
}

function newStory(seed: number): Story {
  const dice = createDice(seed);
  const voters = 3 + Math.floor(dice() * 3);
  const snapshotBytes = dice() < 0.5 ? 400 + Math.floor(dice() * 3000) : Infinity;
  const observers = Math.floor(dice() * 3.5);
  const isDynamic = dice() < 0.7;
  const cluster = createCluster({ dice, voters, observers, snapshotBytes, isDynamic, isSkewed: dice() < 0.5 });
  const half = (): boolean => dice() < 0.5;
  cluster.network.delayMs = 1 + Math.floor(dice() * dice() * 60);
  cluster.network.lossPercent = half() ? Math.floor(dice() * 15) : 0;
  cluster.network.repeatPercent = half() ? Math.floor(dice() * 20) : 0;
  cluster.diskMs = 1 + Math.floor(dice() * dice() * 20);
  const manners = {
    crashes: half(),
    power: half(),
    cuts: half(),
    pauses: half(),
    stops: half(),
    fullDisks: dice() < 0.25,
    changes: isDynamic && dice() < 0.7,
    swaps: isDynamic && half(),
  };
  for (const member of cluster.members) member.autoJoins = manners.swaps && half();
  const truth = createTruth();
  const story: Story = { cluster, truth, manners, amounts: new Map(), nextWaiter: 1 };
  cluster.onStep = (member) => look(cluster, truth, member);
  cluster.onReply = (member, ...rest) => hear(truth, member, ...rest);
  cluster.onEvent = (_member, event) => {
    if (event.kind === 'answered' && event.response >= 0) {
      truth.acked.set(event.waiter, story.amounts.get(event.waiter) as number);
    }
  };
  return story;
}

/** Somebody asks somebody for something. */
function ask(story: Story): void {
  const { cluster } = story;
  const target = cluster.dice() < 0.8 ? leaderOf(cluster) : pick(cluster, cluster.members);
  if (target === null || target.quorum === null || target.pausedUntilMs > cluster.nowMs) return;
  const waiter = story.nextWaiter++;
  const amounts = Array.from({ length: 1 + Math.floor(cluster.dice() * 4) }, (_, i) => i + 1);
  story.amounts.set(
    waiter,
    amounts.reduce((sum, amount) => sum + amount, 0),
  );
  submit(cluster, target, waiter, amounts);
}

/** Those that are up, or just the leader: what happens to it matters most. */
function victim(story: Story): Member | null {
  const { cluster } = story;
  if (cluster.dice() < 0.5) return leaderOf(cluster);
  const up = cluster.members.filter(({ quorum, isStopping }) => quorum !== null && !isStopping);
  return up.length === 0 ? null : pick(cluster, up);
}

function trouble(story: Story): void {
  const { cluster, manners } = story;
  const { dice } = cluster;
  const member = victim(story);
  const cast = dice();
  if (member === null || member.isStopping) return;
  const restart = (afterMs: number): void => later(cluster, dice() * afterMs, null, () => up(cluster, member));
  if (cast < 0.25 && (manners.crashes || manners.power)) {
    kill(cluster, member, manners.power && dice() < 0.7 ? 'power' : 'process');
    restart(dice() < 0.5 ? 100 : 6000);
  } else if (cast < 0.3 && manners.power && dice() < 0.3) {
    for (const one of cluster.members) {
      if (one.quorum === null || one.isStopping) continue;
      kill(cluster, one, 'power');
      later(cluster, dice() * 2000, null, () => up(cluster, one));
    }
  } else if (cast < 0.5 && manners.cuts) {
    divide(story);
  } else if (cast < 0.65 && manners.pauses) {
    member.pausedUntilMs = cluster.nowMs + Math.floor(dice() * 5000);
  } else if (cast < 0.75 && manners.stops) {
    stop(cluster, member);
    later(cluster, 3000, null, () => {
      // One that is still at it after so long was cut short.
      if (member.isStopping) kill(cluster, member, 'process');
      up(cluster, member);
    });
  } else if (cast < 0.8 && manners.fullDisks) {
    member.disk.capacityBytes = 1000 + Math.floor(dice() * 10_000);
    later(cluster, 1500, null, () => {
      member.disk.capacityBytes = Infinity;
    });
  }
}

/** An operator adds a voter, or removes one, or replaces the disk of one in a quiet moment. */
function changeShape(story: Story): void {
  const { cluster, manners } = story;
  const { dice, members } = cluster;
  const leader = leaderOf(cluster);
  const voters = leader?.quorum?.raft.quorum.voters ?? [];
  const cast = dice();
  const member = pick(cluster, members);
  const key = { clusterId: CLUSTER_ID, voterId: member.id, voterDirectoryId: member.directoryId };
  if (leader === null || leader.pausedUntilMs > cluster.nowMs) return;
  if (cast < 0.4 && manners.changes) {
    const listeners = [{ name: 'CONTROLLER', host: `host-${member.id}`, port: member.port }];
    request(cluster, leader, 80, { ...key, timeoutMs: 3000, listeners, ackWhenCommitted: dice() < 0.5 });
  } else if (cast < 0.7 && (manners.changes || manners.swaps)) {
    const voter = pick(cluster, voters);
    request(cluster, leader, 81, { clusterId: null, voterId: voter.id, voterDirectoryId: voter.directoryId });
  } else if (manners.swaps && voters.length >= 3 && isConverged(cluster) && isWhole(cluster, voters)) {
    swapDisk(cluster, member);
    later(cluster, dice() * 3000, null, () => up(cluster, member));
  }
}

/** Whether the disks of all voters are there, and no change of the voters is under way or was begun somewhere. */
function isWhole({ members }: Cluster, voters: readonly Voter[]): boolean {
  const hasDisk = (voter: Voter): boolean => members.some((one) => isVoter(voter, one.id, one.directoryId));
  const text = JSON.stringify(voters);
  const isSettled = ({ quorum }: Member): boolean =>
    quorum !== null && quorum.raft.lead?.voterChange == null && JSON.stringify(quorum.raft.quorum.voters) === text;
  return voters.every(hasDisk) && members.every(isSettled);
}

function up(cluster: Cluster, member: Member): void {
  if (member.quorum === null) start(cluster, member);
}

/** Cuts some from the others, one way or both, and heals that after a while. */
function divide({ cluster }: Story): void {
  const { dice, members, network } = cluster;
  const some = members.filter(() => dice() < 0.4).map(({ id }) => id);
  const rest = members.map(({ id }) => id).filter((id) => !some.includes(id));
  if (dice() < 0.8) cut(cluster, some, rest);
  if (dice() < 0.8) cut(cluster, rest, some);
  later(cluster, 500 + dice() * 6000, null, () => network.cuts.clear());
}

function play(seed: number): Story {
  const story = newStory(seed);
  const { cluster, truth } = story;
  startAll(cluster);
  const untilMs = cluster.nowMs + TROUBLE_MS;
  while (cluster.nowMs < untilMs) {
    run(cluster, cluster.dice() * 200);
    if (cluster.dice() < 0.6) ask(story);
    if (cluster.dice() < 0.25) trouble(story);
    if ((story.manners.changes || story.manners.swaps) && cluster.dice() < 0.2) changeShape(story);
    if (cluster.dice() < 0.1) checkpoint(pick(cluster, cluster.members));
  }
  checkMatching(cluster);
  for (const member of cluster.members) if (member.isStopping) kill(cluster, member, 'process');
  heal(cluster);
  if (!runUntil(cluster, HEALING_MS, () => isConverged(cluster)))
    throw new Error(`it does not come back: ${show(cluster)}`);
  const leader = leaderOf(cluster) as Member;
  const last = story.nextWaiter++;
  story.amounts.set(last, 7);
  submit(cluster, leader, last, [7]);
  const isAnswered = (): boolean => truth.acked.has(last) && isConverged(cluster);
  if (!runUntil(cluster, HEALING_MS, isAnswered)) throw new Error(`it does not answer: ${show(cluster)}`);
  checkEnd(cluster, truth);
  return story;
}

function show(cluster: Cluster): string {
  return cluster.members
    .map(({ id, quorum }) => {
      if (quorum === null) return `${id} down`;
      const { role, epoch, leaderId, highWatermark, log, stage, timerMs, installing, follow } = quorum.raft;
      const rest = `${stage} ${quorum.coordinator.stage} ${timerMs} ${installing?.stage} ${JSON.stringify(follow)}`;
      const voters = votersText(quorum.raft.quorum.voters);
      const ends = `${log.start}..${log.durable}..${log.end} at ${highWatermark}`;
      return `${id} ${role} ${epoch}/${leaderId} by ${voters} ${ends} ${rest}`;
    })
    .join('\n');
}

it('keeps what it has promised through all of it, and comes back', { timeout: 600_000 }, () => {
  const reached = new Set<string>();
  const count = { elections: 0, acked: 0, committed: 0, changes: 0 };
  const only = process.env.RAFT_CLUSTER_SEED;
  const [first, last] = (only ?? `0..${SEEDS - 1}`).split('..').map(Number) as [number, number?];
  for (let seed = first; seed <= (last ?? first); seed++) {
    try {
      const { cluster, truth } = play(seed);
      for (const mark of cluster.reached) reached.add(mark);
      count.elections += truth.elections;
      count.changes += truth.changes;
      count.acked += truth.acked.size;
      count.committed += truth.committed.size;
    } catch (error) {
      throw new Error(`seed ${seed} (RAFT_CLUSTER_SEED=${seed})`, { cause: error });
    }
  }
  if (only !== undefined) return console.log(count, [...reached].sort());
  expect(count.elections).toBeGreaterThan(80);
  expect(count.acked).toBeGreaterThan(600);
  expect(count.changes).toBeGreaterThan(50);
  const rare = ['raft.follower.cut', 'raft.download.done', 'raft.check_quorum', 'raft.end_quorum_epoch'];
  for (const mark of [...rare, 'raft.election.lost', 'raft.leader_is_gone']) expect(reached).toContain(mark);
});
