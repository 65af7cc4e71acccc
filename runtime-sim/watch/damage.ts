/**
 * Keeps book of how the disks and the network of a run broke their word, and of what was true at that moment: who else
 * had what is committed, who could still be asked for a vote. From that `core/verify/excuses.ts` says what is promised.
 *
 * A keeper is asked before a disk is damaged whether that would go beyond the contract, and told afterwards. It looks
 * at states and disks and changes nothing.
 */
import type { Node } from '../../core/broker/node.ts';
import { ZERO_UUID } from '../../core/lib/uuid.ts';
import {
  closeBreach,
  closeWound,
  createExcuses,
  type DamageKind,
  type Excuses,
  excuseNow,
  isOneTooMany,
  leaveToWounded,
  logName,
  maySpareVoters,
  noteStray,
  type Placing,
  QUORUM,
  quorumBreach,
  type Stake,
  type VotersScene,
  type Wound,
  woundedLeft,
  woundReplica,
  woundVoter,
} from '../../core/verify/excuses.ts';
import type { History } from '../../core/verify/history.ts';
import type { LastReading } from '../../core/verify/last-reading.ts';
import type { Actor } from '../actor.ts';
import { TOPIC } from '../cast/casting.ts';
import type { DiskDamage } from '../disk/betrayal.ts';
import { nodeOf } from '../nodes.ts';
import type { World } from '../world.ts';
import {
  commonEpoch,
  createHoldings,
  epochOf,
  type Holdings,
  type Member,
  memberFor,
  nodeIdOf,
  partitionsOn,
  partOf,
  refreshImage,
  topicOf,
  trueEpoch,
  votersOf,
} from './holdings.ts';
import { createKnowing, isLastKnown, isSure, type Knowing } from './known-complete.ts';
import type { Onlooker } from './onlooker.ts';

/** The book of one run. */
export interface Keeper {
  readonly excuses: Excuses;
  /** What the nodes have on their disks. */
  readonly holdings: Holdings;
  readonly knowing: Knowing;
  readonly onlooker: Onlooker;
  /** min.insync.replicas of every topic. */
  readonly inSyncMin: number;
  /** An operator takes voters out, and adds some. */
  readonly changesVoters: boolean;
  /** Damages of each node's disk that are in the book. */
  readonly noted: number[];
  /** Complaints that it has heard of. */
  heard: number;
}

/** Nothing has happened. */
export function createKeeper(
  nodes: readonly Actor[],
  onlooker: Onlooker,
  inSyncMin: number,
  changesVoters: boolean,
): Keeper {
  const noted = nodes.map(() => 0);
  return {
    excuses: createExcuses(),
    holdings: createHoldings(nodes),
    knowing: createKnowing(),
    onlooker,
    inSyncMin,
    changesVoters,
    noted,
    heard: 0,
  };
}

/** Files that have checksums, or are held against files that have. */
const CHECKED = /\.(log|index|timeindex|snapshot|checkpoint)$/;
/** The folder that a file is in, below the log directory. */
const FOLDER = /^\/data\/([^/]+)\/[^/]+$/;
const VOTE = /\/quorum-state$/;

/** By epoch: the highest watermark of a log that has been shown under it. */
function shownOf({ onlooker, holdings }: Keeper, log: string): ReadonlyMap<number, number> {
  const { logs } = onlooker.judge;
  const judged = logs.get(log === QUORUM ? QUORUM : `${log} (${topicOf(holdings, log)?.id})`);
  return judged?.committed ?? NOTHING_SHOWN;
}

const NOTHING_SHOWN: ReadonlyMap<number, number> = new Map();

/** Offsets of a log below it have been shown as committed. */
function committedOf(keeper: Keeper, log: string): number {
  return Math.max(0, ...shownOf(keeper, log).values());
}

/** What is true of the leader of a partition that was read at the end. */
export function leaderRead(keeper: Keeper, log: string): Omit<LastReading, 'isDone' | 'position'> {
  const { excuses, holdings, inSyncMin } = keeper;
  const { leader = -1, isr = [] } = topicOf(holdings, log)?.partitions[partOf(log).partition] ?? {};
  const last = committedOf(keeper, log) - 1;
  return {
    isWounded: excuses.wounds.get(log)?.has(leader) === true,
    hasTooFew: isr.length < inSyncMin,
    shown: shownOf(keeper, log),
    epoch: epochOf(holdings, leader, log, last),
    trueEpoch: trueEpoch(holdings, log, last),
  };
}

/** Whether a disk is another one than the voter's: such a node is not asked. */
function isMute(named: string, member: Member | undefined): boolean {
  return named !== ZERO_UUID && member !== undefined && member.directoryId !== named;
}

/** What is true of the voters when the one of this number loses what it knows, by a damage of this kind. */
function votersScene(keeper: Keeper, damaged: number, kind: DamageKind, forgetsVote: boolean): VotersScene {
  const named = votersOf(keeper.holdings);
  const voters = named.map(({ id }) => id);
  const others = voters.filter((id) => id !== damaged);
  const committed = committedOf(keeper, QUORUM);
  const wounded = keeper.excuses.wounds.get(QUORUM);
  const truth = trueEpoch(keeper.holdings, QUORUM, committed - 1);
  const holders = others.filter((id) => {
    const hasAll = committed === 0 || (truth >= 0 && epochOf(keeper.holdings, id, QUORUM, committed - 1) === truth);
    return hasAll && wounded?.has(id) !== true;
  });
  const isOther = ({ id, directoryId }: { id: number; directoryId: string }): boolean => {
    if (id !== damaged) return isMute(directoryId, memberFor(keeper.holdings, id));
    return kind === 'lost' && directoryId !== ZERO_UUID;
  };
  const mute = named.filter(isOther).map(({ id }) => id);
  const epoch = memberFor(keeper.holdings, damaged)?.epoch ?? 0;
  const mayAsk = (id: number): boolean => {
    const member = memberFor(keeper.holdings, id);
    if (member === undefined) return true;
    return member.epoch < epoch || (member.epoch === epoch && member.isCandidate);
  };
  const isVoteLost = forgetsVote && !mute.includes(damaged) && others.some(mayAsk);
  return { voters, mute, holders, isVoteLost };
}

/** What a damage is of: a partition's log, the quorum's, or (null) all that the node has. */
type Hit = string | null;

/** Whether a damage would go beyond the contract, or come on top of one that is not mended. */
export function wouldExceed(keeper: Keeper, actor: Actor, kind: DamageKind, hit: Hit): boolean {
  refreshImage(keeper.holdings);
  const id = nodeIdOf(actor);
  const { excuses, inSyncMin } = keeper;
  const logs = hit === null ? partitionsOn(keeper.holdings, id) : hit === QUORUM ? [] : [hit];
  if (logs.some((log) => isOneTooMany(excuses, log, id, inSyncMin) || isLastKnown(keeper, log, id))) return true;
  if (hit !== null && hit !== QUORUM) return false;
  const scene = votersScene(keeper, id, kind, true);
  // An operator who takes voters out that are there, one and one more, cannot know of a disk that has just gone.
  const maySpare = maySpareVoters(scene, 1) && maySpareVoters(scene, 2);
  return quorumBreach(scene) !== null || (keeper.changesVoters && !maySpare);
}

/** The disk of a node was replaced, by an empty one or by an older copy with what was wrong with it then. */
export function noteSwap(keeper: Keeper, atUs: number, actor: Actor, kind: 'lost' | 'older'): void {
  const { misled } = keeper.excuses;
  const damages = actor.disk?.damages ?? NO_DAMAGES;
  keeper.noted[actor.actor] = damages.length;
  const lasting = damages.filter((damage) => damage.kind !== 'misread');
  refreshImage(keeper.holdings);
  woundAll(keeper, atUs, actor, kind, lasting.length > 0);
  misled.delete(nodeIdOf(actor));
  if (lasting.some(({ path }) => !CHECKED.test(path))) misled.set(nodeIdOf(actor), atUs);
  noteDeserted(keeper, atUs);
}

/** Takes into the book what is new of a node's disk, and gives it. To be called after each step and end of a life. */
export function noteDamages(keeper: Keeper, atUs: number, actor: Actor): readonly DiskDamage[] {
  if (actor.down !== null) forgetSaid(keeper, nodeIdOf(actor));
  const damages = actor.disk?.damages ?? NO_DAMAGES;
  const from = keeper.noted[actor.actor] ?? 0;
  if (damages.length === from) return NO_DAMAGES;
  keeper.noted[actor.actor] = damages.length;
  refreshImage(keeper.holdings);
  const news = damages.slice(from);
  for (const damage of news) noteDamage(keeper, atUs, actor, damage);
  noteDeserted(keeper, atUs);
  return news;
}

/** Takes into the book which partitions are left to damaged disks. To be called after each end of a life too. */
export function noteDeserted(keeper: Keeper, atUs: number): void {
  const { excuses, holdings, knowing } = keeper;
  if (excuses.wounds.size === 0) return;
  refreshImage(holdings);
  for (const log of excuses.wounds.keys()) {
    const partition = log === QUORUM ? undefined : topicOf(holdings, log)?.partitions[partOf(log).partition];
    if (partition === undefined || excuses.breaches.has(log)) continue;
    const known = knowing.logs.get(log)?.ids ?? [];
    const nodes = woundedLeft(excuses, log, { known, ...partition }, (id) => isSure(holdings, id));
    if (nodes.length > 0) leaveToWounded(excuses, log, nodes, { atUs, ...stakeOf(keeper, log) });
  }
}

/** What has been shown as committed of a log. */
function stakeOf(keeper: Keeper, log: string): Stake {
  const committed = committedOf(keeper, log);
  const committedEpoch = trueEpoch(keeper.holdings, log, committed - 1);
  return { committed, committedEpoch, incarnation: incarnationOf(keeper, log) };
}

/** A cluster is known by its constant topic, which nobody deletes. */
function incarnationOf({ holdings }: Keeper, log: string): string {
  return topicOf(holdings, log === QUORUM ? logName(TOPIC, 0) : log)?.id ?? '';
}

const NO_DAMAGES: readonly DiskDamage[] = [];

/** What a voter said in a life that its disk has forgotten does not bind it in the next one. */
function forgetSaid({ excuses, onlooker }: Keeper, id: number): void {
  if (excuses.wounds.get(QUORUM)?.has(id) !== true) return;
  for (const { last } of onlooker.judge.logs.values()) last.delete(id);
}

function noteDamage(keeper: Keeper, atUs: number, actor: Actor, { kind, path, of }: DiskDamage): void {
  const id = nodeIdOf(actor);
  const folder = FOLDER.exec(path)?.[1] ?? null;
  // Bytes that went astray on their way are believed for a life at most.
  const isLasting = kind !== 'misread';
  const from = of === undefined ? undefined : FOLDER.exec(of)?.[1];
  if (from !== undefined && folder !== null) noteStray(keeper.excuses, from, folder);
  const named = kind === 'misread' ? 'misdirected' : kind;
  if (!CHECKED.test(path) && !keeper.excuses.misled.has(id)) keeper.excuses.misled.set(id, atUs);
  if (folder === null) woundAll(keeper, atUs, actor, named, isLasting);
  else if (folder === QUORUM) woundQuorum(keeper, atUs, actor, named, isLasting, VOTE.test(path));
  else if (partitionsOn(keeper.holdings, id).includes(folder)) woundOne(keeper, atUs, actor, named, isLasting, folder);
}

/** What is to come of one partition's files is taken into the book before it is there. */
export function markDamage(keeper: Keeper, atUs: number, actor: Actor, kind: DiskDamage['kind'], log: string): void {
  noteDamage(keeper, atUs, actor, { kind, path: `/data/${log}/00000000000000000000.log`, position: 0 });
}

function woundAll(keeper: Keeper, atUs: number, actor: Actor, kind: DamageKind, isLasting: boolean): void {
  for (const log of partitionsOn(keeper.holdings, nodeIdOf(actor))) woundOne(keeper, atUs, actor, kind, isLasting, log);
  woundQuorum(keeper, atUs, actor, kind, isLasting, true);
}

/** The life in which, or behind which, a damage came; a later one has to do with what is left. */
function lifeOf({ life, down }: Actor): number {
  return down === null ? life : life - 1;
}

function woundOne(keeper: Keeper, atUs: number, actor: Actor, kind: DamageKind, isLasting: boolean, log: string): void {
  const wound: Wound = { kind, atUs, life: lifeOf(actor), ...stakeOf(keeper, log), epoch: -1, isLasting };
  woundReplica(keeper.excuses, log, nodeIdOf(actor), wound, keeper.inSyncMin);
}

function woundQuorum(
  keeper: Keeper,
  atUs: number,
  actor: Actor,
  kind: DamageKind,
  isLasting: boolean,
  forgetsVote: boolean,
): void {
  const id = nodeIdOf(actor);
  const epoch = memberFor(keeper.holdings, id)?.epoch ?? 0;
  const wound: Wound = { kind, atUs, life: lifeOf(actor), ...stakeOf(keeper, QUORUM), epoch, isLasting };
  woundVoter(keeper.excuses, id, wound, votersScene(keeper, id, kind, forgetsVote));
  if (actor.down !== null) forgetSaid(keeper, id);
}

/** Takes into the book what has flipped on the wire. */
export function noteFlips({ excuses }: Keeper, { network, nowUs, env }: World): void {
  for (const place of network.flipped) {
    env.reached(`sim.flip.${place}`);
    if (place === 'header') excuses.flippedUs = Math.min(excuses.flippedUs, nowUs);
  }
  network.flipped.length = 0;
}

/** Whether the bytes of a replica are not to be held against those of others; logs as the onlooker names them. */
export function isSpoilt({ excuses }: Keeper, node: number, log: string): boolean {
  return excuses.wounds.size > 0 && excuses.wounds.get(withoutId(log))?.has(node) === true;
}

/** Where something was found wrong, as excuses are given. */
export function placeIn({ partitions }: History): Placing {
  const nameOf = (partition: number): string | null => {
    const named = partitions[partition];
    return named === undefined ? null : logName(named.topic, named.partition);
  };
  return ({ partition, log, node = -1, sentTo }) => {
    if (log !== undefined) return { log: withoutId(log), incarnation: idIn(log), node };
    const place = { log: nameOf(partition), incarnation: partitions[partition]?.topicId, node };
    return sentTo === undefined ? place : { ...place, sentTo: nameOf(sentTo) ?? QUORUM };
  };
}

/** Takes into the book what was found wrong since it was asked last. */
export function noteComplaints(keeper: Keeper, history: History): void {
  const { complaints } = history;
  if (complaints.length === keeper.heard) return;
  excuseNow(keeper.excuses, complaints.slice(keeper.heard), placeIn(history));
  keeper.heard = complaints.length;
}

/** The name of a log without the id of its topic. */
function withoutId(log: string): string {
  const at = log.indexOf(' ');
  return at < 0 ? log : log.slice(0, at);
}

function idIn(log: string): string | undefined {
  return / \((.+)\)$/.exec(log)?.[1];
}

/** Looks who is whole again, and what has come of contracts that were broken; says so in a few words. */
export function noteRecoveries(keeper: Keeper): readonly string[] {
  const { excuses, holdings } = keeper;
  if (excuses.wounds.size === 0) return NOTHING_NEW;
  refreshImage(keeper.holdings);
  const news: string[] = [];
  for (const [log, ofLog] of excuses.wounds) {
    for (const id of [...ofLog.keys()]) {
      const actor = holdings.nodes[id - 1];
      const node = actor === undefined ? null : nodeOf(actor);
      if (actor === undefined || node === null) continue;
      const shown = log === QUORUM ? quorumShown(keeper, node) : partitionShown(keeper, node, log);
      if (shown === null || !closeWound(excuses, { log, node: id, life: actor.life, ...shown })) continue;
      news.push(`node ${id} has ${log} whole again`);
    }
  }
  for (const log of [...excuses.breaches.keys()]) {
    const epochAt = (offset: number): number | null => commonEpoch(holdings, log, offset);
    if (closeBreach(excuses, log, { incarnation: incarnationOf(keeper, log), epochAt })) {
      news.push(`nothing was lost of ${log}: what is promised of it holds again`);
    }
  }
  return news;
}

const NOTHING_NEW: readonly string[] = [];

interface Shown {
  readonly highWatermark: number;
  readonly epoch: number;
  readonly isInSync: boolean;
}

/** A voter is whole when it votes again, under the directory that it has now. */
function quorumShown({ holdings }: Keeper, { controller, nodeId }: Node): Shown | null {
  const raft = controller?.quorum.raft;
  const named = votersOf(holdings).find(({ id }) => id === nodeId);
  if (raft === undefined || named === undefined) return null;
  if (named.directoryId !== ZERO_UUID && named.directoryId !== raft.directoryId) return null;
  return { highWatermark: raft.highWatermark, epoch: raft.epoch, isInSync: false };
}

/** Of a partition that is not there any more nothing can be lost. */
function partitionShown({ holdings }: Keeper, node: Node, log: string): Shown | null {
  const { topic, partition: index } = partOf(log);
  const known = topicOf(holdings, log);
  const partition = known?.partitions[index];
  if (partition === undefined) return { highWatermark: Number.POSITIVE_INFINITY, epoch: -1, isInSync: true };
  const mine = node.topics.byName.get(topic);
  const replica = mine?.id === known?.id ? (mine?.partitions[index] ?? null) : null;
  if (replica === null || replica.log.damaged.length > 0) return null;
  const highWatermark = replica.followed?.highWatermark ?? replica.leader.highWatermark;
  return { highWatermark, epoch: -1, isInSync: partition.isr.includes(node.nodeId) };
}
