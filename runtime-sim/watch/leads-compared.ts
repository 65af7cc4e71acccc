/**
 * What the witness remembers of leads, and how it holds replicas against each other while they live: who follows
 * against whom he follows, what a leader counts against the disks, what the controller decides against what is so
 * (`core/verify/standing.ts`).
 *
 * Reads states and disks, and changes nothing. A crash of a node begins its part of the memory anew: it goes by what
 * the node keeps of a replica.
 */
import type { Node } from '../../core/broker/node.ts';
import type { Partition } from '../../core/broker/state.ts';
import type { Log } from '../../core/log/log.ts';
import type { MetadataImage, PartitionImage } from '../../core/metadata/image.ts';
import type { Complaint } from '../../core/verify/history.ts';
import type { ReplicaSight } from '../../core/verify/replicas.ts';
import {
  judgeCounted,
  judgeDecision,
  judgeFollower,
  judgeHeard,
  judgeJoiner,
  judgeKnowledge,
  type Knowledge,
  type Lineage,
} from '../../core/verify/standing.ts';
import { judgeVoters } from '../../core/verify/votes.ts';
import type { Actor } from '../actor.ts';
import { nodeOf } from '../nodes.ts';

/** Who leads an epoch of a log, where it began, and the furthest that its log has reached. */
interface Lead {
  readonly node: number;
  readonly life: number;
  readonly from: number;
  most: number;
}

/** What it remembers. */
export interface Standing {
  /** By log and epoch. */
  readonly leads: Map<string, Lead>;
  /** By log and epoch: the nodes that have followed it, in any life. */
  readonly heard: Map<string, Set<number>>;
  /** By what a node keeps of a replica: the epoch under which it was seen to follow last, and the end of its log. */
  readonly followed: Map<object, { epoch: number; end: number }>;
  /** By what a node keeps of a replica: what it knew as a leader. */
  readonly known: Map<object, Knowledge>;
  /** By lead of the quorum: the voters that it has named last, and where. */
  readonly voters: Map<object, NamedVoters>;
}

/** The voters as a leader has named them. */
interface NamedVoters {
  /** What it had of them, which is replaced and never changed. */
  readonly quorum: object;
  readonly voters: readonly string[];
  readonly saidAt: number;
}

/** Nothing was seen. */
export function createStanding(): Standing {
  return { leads: new Map(), heard: new Map(), followed: new Map(), known: new Map(), voters: new Map() };
}

type Raft = NonNullable<Node['controller']>['quorum']['raft'];

/** A member of the quorum was seen. */
export function seeVoters({ voters: named }: Standing, node: number, raft: Raft): Complaint | null {
  const { lead, epoch, quorum, earlierQuorums, highWatermark, log } = raft;
  const saidAt = earlierQuorums[earlierQuorums.length - 1]?.replacedAt ?? -1;
  const before = lead === null ? null : (named.get(lead) ?? null);
  // Mostly nothing is new: who follows is judged by its log alone, and a leader when it names others.
  const isKnown = before !== null && before.quorum === quorum && before.saidAt === saidAt;
  if (saidAt < log.end && (lead === null || isKnown)) return null;
  const voters = quorum.voters.map(({ id, directoryId }) => `${id} ${directoryId}`);
  if (lead !== null) named.set(lead, { quorum, voters, saidAt });
  const epochStartNext = lead?.epochStartNext ?? -1;
  return judgeVoters({ node, epoch, voters, saidAt, logEnd: log.end, before, highWatermark, epochStartNext });
}

/** What a node has of a log for sure, up to some offset; null where its disk is damaged. */
export type HeldEnd = (node: number, log: string, offset: number) => number | null;

/** A leader was seen. */
export function seeLead({ leads }: Standing, { log, epoch, node, life, end }: ReplicaSight): void {
  const lead = leads.get(`${log} ${epoch}`);
  if (lead === undefined) leads.set(`${log} ${epoch}`, { node, life, from: end, most: end });
  else lead.most = Math.max(lead.most, end);
}

/** A follower was seen, damaged or not: its leader may count on it from now on. */
export function seeHeard({ heard }: Standing, { log, epoch, node }: ReplicaSight): void {
  const key = `${log} ${epoch}`;
  const nodes = heard.get(key);
  if (nodes === undefined) heard.set(key, new Set([node]));
  else nodes.add(node);
}

/** A follower was seen. `partition`: null of the metadata log. `own`: its log, and what its node keeps of it. */
export function seeFollower(
  { leads, followed }: Standing,
  nodes: readonly Actor[],
  sight: ReplicaSight,
  partition: Partition | null,
  own: { readonly log: Log; readonly replica: object },
  isDamaged: (node: number, log: string) => boolean,
): Complaint | null {
  const { log, epoch, node, end } = sight;
  const before = followed.get(own.replica);
  followed.set(own.replica, { epoch, end });
  if (before?.epoch !== epoch || end <= before.end) return null;
  const lead = leads.get(`${log} ${epoch}`);
  // Who has led may have appended and stopped leading in one step: nobody has seen how far its log reached then.
  if (lead === undefined || lead.node === node) return null;
  // What a damaged disk gives out need not be what is in its log.
  const isSound = !isDamaged(lead.node, log);
  const leader = isSound ? leadingLog(nodes[lead.node - 1], lead, epoch, partition) : null;
  const other = leader === null ? null : lineageOf(lead.node, leader);
  return judgeFollower(log, epoch, lineageOf(node, own.log), other, lead.most);
}

function lineageOf(node: number, { start, end, epochs }: Log): Lineage {
  return { node, start, end, epochs };
}

/** The log of a leader that still leads; else null. */
function leadingLog(actor: Actor | undefined, { life }: Lead, epoch: number, partition: Partition | null): Log | null {
  const node = actor === undefined || actor.life !== life ? null : nodeOf(actor);
  if (node === null) return null;
  if (partition === null) {
    const raft = node.controller?.quorum.raft;
    return raft === undefined || raft.lead === null || raft.epoch !== epoch ? null : raft.log;
  }
  const { topic, index } = partition;
  const there = node.topics.byId.get(topic.id)?.partitions[index] ?? null;
  return there === null || there.leader.epoch !== epoch ? null : there.log;
}

/** A leader of a partition was seen. `decided`: the newest word of the controller about it. */
export function seeKnowledge(
  { known, heard }: Standing,
  { log, epoch, node }: ReplicaSight,
  partition: Partition,
  decided: PartitionImage | undefined,
  heldEnd: HeldEnd,
): Complaint | null {
  const { inSync } = partition.leader;
  if (inSync === null) {
    known.delete(partition);
    return null;
  }
  const before = known.get(partition);
  const followers = new Map<number, { fetchOffset: number; brokerEpoch: number }>();
  let found: Complaint | null = null;
  for (const { id, fetchOffset, brokerEpoch, lostBelow } of inSync.followers.values()) {
    followers.set(id, { fetchOffset, brokerEpoch });
    if (fetchOffset >= 0 && heard.get(`${log} ${epoch}`)?.has(id) !== true) {
      found ??= judgeHeard(log, node, epoch, id);
    }
    const isTold = before?.epoch === epoch && before.followers.get(id)?.fetchOffset === fetchOffset;
    // Who follows a later leader by now may have been cut.
    const isOver = decided?.leaderEpoch !== epoch || !decided.replicas.includes(id);
    if (fetchOffset <= 0 || isTold || isOver || lostBelow >= 0 || found !== null) continue;
    const held = heldEnd(id, log, fetchOffset);
    if (held === null) continue;
    found = judgeCounted({ log, leader: node, epoch, follower: id, fetchOffset, heldEnd: held });
  }
  const now = { epoch, partitionEpoch: inSync.partitionEpoch, followers };
  known.set(partition, now);
  return found ?? (before === undefined ? null : judgeKnowledge(log, node, before, now));
}

/** The controller has said something new of a partition. */
export function seeDecision(
  { leads }: Standing,
  log: string,
  before: PartitionImage | undefined,
  now: PartitionImage,
  { cluster }: MetadataImage,
  heldEnd: HeldEnd,
): Complaint | null {
  const { leader, leaderEpoch, replicas, isr, elr } = now;
  const isChosen = leader >= 0 && before?.leaderEpoch !== leaderEpoch;
  const isFenced = isChosen && cluster.brokers.get(leader)?.fenced !== false;
  const found = judgeDecision({ log, leader, replicas, isr, elr, isFenced });
  if (found !== null || before?.leaderEpoch !== leaderEpoch) return found;
  const from = leads.get(`${log} ${leaderEpoch}`)?.from ?? 0;
  for (const id of isr) {
    if (before.isr.includes(id) || id === leader) continue;
    const held = heldEnd(id, log, from);
    const joined = held === null ? null : judgeJoiner(log, id, leaderEpoch, held, from);
    if (joined !== null) return joined;
  }
  return null;
}
