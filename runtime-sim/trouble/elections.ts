/**
 * The trouble that waits for an election of the quorum: what goes wrong in one is over within milliseconds, and
 * troubles that come at any time miss it.
 *
 * slowElection: of the next one a moment is drawn, in which a member has just begun to ask who would vote for it, to
 * stand, or to lead. Just then its disk turns slow, or all it sends, or the whole network, or its process stands still
 * for a while. What others do meanwhile they do without it: their time-outs end too, and they stand in the same epoch;
 * operators ask a leader that has committed nothing yet; votes are counted long after they were given.
 */
import type { Actor } from '../actor.ts';
import { around, pick, SITE } from '../dice.ts';
import { directionKey } from '../network/network.ts';
import { clog } from '../network/trouble.ts';
import { nodeOf } from '../nodes.ts';
import { pauseActor } from '../pause.ts';
import { tellLine, type World } from '../world.ts';
import { type ElectionStage, endLater, noteHolds, type Troubles } from './troubles.ts';

const STAGES: readonly ElectionStage[] = ['asks', 'stands', 'leads'];
/** Percent of what a disk usually takes. */
const SLOWNESS: readonly number[] = [1_000, 5_000, 20_000];
/** What a link adds, and what every link does, on average, microseconds. */
const CLOGS_US: readonly number[] = [5_000, 30_000, 100_000];
const CONGESTIONS_US: readonly number[] = [5_000, 20_000, 60_000];
/** How long a process stands still, and how long all else lasts, on average, microseconds. */
const PAUSES_US: readonly number[] = [20_000, 100_000, 400_000];
const LASTS_US = 800_000;
/** Keys its dice; no node has this number. */
const ELECTION = 3_100;

/** The next election is to be hindered. */
export function awaitElection({ dice }: World, troubles: Troubles): void {
  troubles.awaited = pick(dice, SITE.pairs, ELECTION, STAGES);
}

/** A node has taken a step, whose effects are not carried out yet: is it the one that is waited for? */
export function springElection(world: World, troubles: Troubles, actor: Actor): void {
  if (troubles.awaited === null || troubles.isHealed || stageOf(actor) !== troubles.awaited) return;
  const stage = troubles.awaited;
  troubles.awaited = null;
  tellLine(world, actor.name, `${stage} in an election, slowly`);
  world.env.reached(`sim.election.slow.${stage}`);
  hinder(world, troubles, actor);
  noteHolds(world, troubles);
  troubles.struck.set('slowElection', (troubles.struck.get('slowElection') ?? 0) + 1);
}

/** What a member has just begun, as long as nothing has come of it. */
function stageOf(actor: Actor): ElectionStage | null {
  const raft = nodeOf(actor)?.controller?.quorum.raft;
  if (raft === undefined || raft.stage !== 'open') return null;
  if (raft.changing !== null) return raft.changing.role === 'candidate' ? 'stands' : null;
  if (raft.role === 'prospective') return 'asks';
  return raft.lead !== null && !raft.lead.isConfirmed ? 'leads' : null;
}

function hinder(world: World, troubles: Troubles, node: Actor): void {
  const { dice, network } = world;
  const { actor, disk, life } = node;
  const us = around(dice, SITE.pairs, ELECTION, LASTS_US);
  switch (pick(dice, SITE.pairs, ELECTION, ['disk', 'disk', 'links', 'network', 'network', 'pause'] as const)) {
    case 'disk':
      if (disk === null) return;
      disk.mood.slowness = pick(dice, SITE.pairs, ELECTION, SLOWNESS);
      disk.mood.namesSlowness = disk.mood.slowness;
      endLater(world, troubles, { kind: 'slowDisk', actor }, us);
      return;
    case 'links': {
      const others = troubles.nodes.filter((node) => node !== actor);
      const meanUs = pick(dice, SITE.pairs, ELECTION, CLOGS_US);
      for (const other of others) clog(network, actor, other, meanUs);
      endLater(world, troubles, { kind: 'links', directions: others.map((other) => directionKey(actor, other)) }, us);
      return;
    }
    case 'network':
      network.mood.congestionUs = pick(dice, SITE.pairs, ELECTION, CONGESTIONS_US);
      endLater(world, troubles, { kind: 'congestion' }, us);
      return;
    case 'pause': {
      const pauseUs = around(dice, SITE.pairs, ELECTION, pick(dice, SITE.pairs, ELECTION, PAUSES_US));
      if (pauseActor(world, node)) endLater(world, troubles, { kind: 'pause', actor, life }, pauseUs);
    }
  }
}
