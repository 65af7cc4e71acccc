/**
 * The witness of several nodes: knows every disk, and holds against it what nodes and producers take for committed, for
 * a vote, for a lead (`core/verify/durability.ts`, `votes.ts`).
 *
 * It looks at the world and at nothing that a machine says of itself, except at what it is about to act on: its high
 * watermark, the votes that it counts. What the controller has decided is the newest image of any node. A claim is
 * judged when it is made, and again whenever another set of replicas is to answer for it.
 *
 * Not judged: a topic that allows unclean elections, which may lose what was committed; a replica that the disk has
 * damaged, for it counts as in sync until the controller hears of it. It reads states and disks, and changes nothing.
 */
import type { Node } from '../../core/broker/node.ts';
import type { Partition } from '../../core/broker/state.ts';
import { type MetadataImage, type PartitionImage, topicById, topicByName } from '../../core/metadata/image.ts';
import { mapValues } from '../../core/metadata/sharded-map.ts';
import { metadataFolder } from '../../core/raft/names.ts';
import {
  type Claim,
  type Holder,
  judgeClaim,
  judgeQuorumClaim,
  judgeShown,
  judgeStart,
  type VoterLog,
} from '../../core/verify/durability.ts';
import { QUORUM } from '../../core/verify/excuses.ts';
import type { Complaint, History, Send } from '../../core/verify/history.ts';
import type { ReplicaSight } from '../../core/verify/replicas.ts';
import {
  createReignJudge,
  createVoteJudge,
  type Following,
  judgeCandidacy,
  judgeStranger,
  type ReignJudge,
  seeGiven,
  seeReign,
  seeVote,
  type VoteJudge,
} from '../../core/verify/votes.ts';
import type { Actor } from '../actor.ts';
import { monotonicMs } from '../clock.ts';
import { nodeOf } from '../nodes.ts';
import {
  createStanding,
  type HeldEnd,
  type Standing,
  seeDecision,
  seeFollower,
  seeHeard,
  seeKnowledge,
  seeLead,
  seeVoters,
} from './leads-compared.ts';
import { createScans, type Held, heldOfQuorum, heldOfTopic, keptVote, type Scans } from './log-scan.ts';
import { type News, note as noteOnce } from './onlooker.ts';
import { isStalled, stalled } from './stalls.ts';

type Raft = NonNullable<Node['controller']>['quorum']['raft'];

/** The furthest that anybody has called a log committed. */
interface Committed {
  /** The leader that said so: its log is the true one. */
  node: number;
  offset: number;
  epoch: number;
}

/** What it remembers. */
export interface Witness {
  readonly scans: Scans;
  /** By `ReplicaSight.log`: the folder of the log. */
  readonly folders: Map<string, string>;
  /** By `ReplicaSight.log`. */
  readonly committed: Map<string, Committed>;
  image: MetadataImage | null;
  /** By lead of the quorum (`reignOf`): the high watermark that was seen last. */
  readonly reached: Map<string, number>;
  readonly votes: VoteJudge;
  /** By node: the directory that it has opened last. */
  readonly directories: Map<number, string>;
  /** Votes that only another disk could give, as in `counted`. */
  readonly strangers: Set<string>;
  /** By node. */
  readonly followings: Map<number, Following>;
  /** Votes that were looked at. */
  readonly counted: Set<string>;
  readonly reigns: ReignJudge;
  /** The latest epoch of the quorum before all was well. */
  calmEpoch: number;
  readonly standing: Standing;
  readonly complained: Set<string>;
}

/** Nothing was seen. */
export function createWitness(): Witness {
  return {
    scans: createScans(),
    folders: new Map(),
    committed: new Map(),
    image: null,
    reached: new Map(),
    votes: createVoteJudge(),
    directories: new Map(),
    strangers: new Set(),
    followings: new Map(),
    counted: new Set(),
    reigns: createReignJudge(),
    calmEpoch: -1,
    standing: createStanding(),
    complained: new Set(),
  };
}

/** What a run has that it looks at. */
export interface Scene {
  readonly witness: Witness;
  readonly history: History;
  readonly nodes: readonly Actor[];
  readonly time: { readonly nowUs: number };
  /** min.insync.replicas, which nobody alters. */
  readonly inSyncMin: number;
  /** Where unclean elections are allowed partitions may lose what was committed. */
  readonly elections: { readonly isUncleanAllowed: boolean };
  /** The disk has damaged what a node has of a log, named as in `ReplicaSight.log`, and it is not whole again. */
  readonly isDamaged: (node: number, log: string) => boolean;
}

/** Looks at a node after a step of it; `news` are the replicas of it that have changed. */
export function testify(scene: Scene, actor: Actor, news: readonly News[]): void {
  const node = nodeOf(actor);
  if (node === null) return;
  takeImage(scene, node);
  const raft = node.controller?.quorum.raft;
  if (raft !== undefined && raft.stage === 'open') watchQuorum(scene, node, raft);
  for (const { sight, partition } of news) {
    const isClaim = sight.isLeader || (partition === null && scene.witness.reached.has(reignOf(sight)));
    if (!isClaim) holdAgainst(scene, sight);
    else if (partition !== null) claimForPartition(scene, sight, partition);
    else if (raft !== undefined) claimForQuorum(scene, raft, sight);
    lookAtStanding(scene, actor, { sight, partition }, raft);
    if (scene.elections.isUncleanAllowed) continue;
    note(scene, judgeStart(sight, scene.witness.committed.get(sight.log)?.offset ?? 0), sight.log);
  }
}

/** Holds a replica against those that it leads, or follows. */
function lookAtStanding(scene: Scene, actor: Actor, { sight, partition }: News, raft: Raft | undefined): void {
  const { witness, nodes, time } = scene;
  const { standing, image } = witness;
  const { log, isLeader } = sight;
  const replica = partition ?? raft;
  // Whoever leads gives out what it has, damaged or not.
  if (isLeader) seeLead(standing, sight);
  else seeHeard(standing, sight);
  if (replica === undefined || scene.isDamaged(sight.node, log)) return;
  if (!isLeader) {
    const own = { log: replica.log, replica };
    note(scene, seeFollower(standing, nodes, sight, partition, own, scene.isDamaged), log);
  }
  if (partition === null || !isLeader) return;
  const { topic, index } = partition;
  const decided = image === null ? undefined : topicById(image, topic.id)?.partitions[index];
  const before = standing.known.get(partition);
  note(scene, seeKnowledge(standing, sight, partition, decided, heldEndOf(scene)), log);
  const isSameSet = before?.partitionEpoch === partition.leader.inSync?.partitionEpoch;
  if (isSameSet || before?.epoch !== sight.epoch || !isStalled(partition, monotonicMs(actor.clock, time.nowUs))) return;
  // Whoever waits for it may wait until somebody appends or fetches (KAFKA-13091).
  const node = nodeOf(actor);
  if (node !== null) note(scene, stalled(node, partition), log);
}

function heldEndOf(scene: Scene): HeldEnd {
  return (node, log, offset) => heldAt(scene, node, log, offset, true)?.end ?? null;
}

/** A producer that asked for the acknowledgement of all replicas in sync has it. */
export function takeAcknowledged(scene: Scene, send: Send): void {
  const { witness, history } = scene;
  const named = history.partitions[send.partition];
  const isOfOne = named === undefined || named.isSlot === true || named.slot !== undefined;
  if (send.acks !== -1 || send.offset < 0 || isOfOne || witness.image === null) return;
  const topic = topicByName(witness.image, named.topic);
  const partition = topic?.partitions[named.partition];
  if (topic === undefined || partition === undefined) return;
  const log = logName(topic.name, named.partition, topic.id);
  const claim: Claim = { log, by: `producer ${send.producer}`, offset: send.offset + 1, epoch: -1 };
  judgePartition(scene, claim, partition, 0);
}

function logName(topic: string, index: number, topicId: string): string {
  return `${topic}-${index} (${topicId})`;
}

/** Tells what is wrong, the first of each kind. */
export function note({ witness, history }: Scene, found: Complaint | null, log?: string): void {
  noteOnce(witness.complained, history, found, log);
}

/** The controller's newest word: whoever is in sync now must have what was called committed before. */
function takeImage(scene: Scene, { image }: Node): void {
  const { witness } = scene;
  const before = witness.image;
  if (before !== null && image.provenance.offset <= before.provenance.offset) return;
  witness.image = image;
  if (before === null || before.topics === image.topics) return;
  for (const topic of mapValues(image.topics.byId)) {
    const known = topicById(before, topic.id);
    if (known === topic) continue;
    for (const [index, partition] of topic.partitions.entries()) {
      const earlier = known?.partitions[index];
      if (earlier === partition) continue;
      const log = logName(topic.name, index, topic.id);
      if (earlier !== undefined) note(scene, judgeJoining(log, earlier, partition, image), log);
      if (!scene.elections.isUncleanAllowed) {
        note(scene, seeDecision(witness.standing, log, earlier, partition, image, heldEndOf(scene)), log);
      }
      const committed = witness.committed.get(log);
      if (committed === undefined) continue;
      const { node, offset, epoch } = committed;
      judgePartition(scene, { log, by: `node ${node}, earlier`, offset, epoch }, partition, 0);
    }
  }
}

/** Who has come into sync is there and stays (KIP-841). */
function judgeJoining(
  log: string,
  before: PartitionImage,
  { isr, leader }: PartitionImage,
  { cluster }: MetadataImage,
): Complaint | null {
  for (const id of isr) {
    const broker = cluster.brokers.get(id);
    if (before.isr.includes(id) || id === leader || (broker?.fenced === false && !broker.inControlledShutdown))
      continue;
    const sentence = `node ${id} is in sync with ${log} from now on, and is fenced or about to stop`;
    return { checker: 'joined-leaving', promise: 1, partition: -1, sentence };
  }
  return null;
}

/** A leader's high watermark has moved, or it has come to lead. */
function claimForPartition(
  scene: Scene,
  { log, node, epoch: leaderEpoch, highWatermark }: ReplicaSight,
  of: Partition,
): void {
  const { witness } = scene;
  if (highWatermark <= (witness.committed.get(log)?.offset ?? 0)) return;
  const { epoch } = heldAt(scene, node, log, highWatermark, true) ?? { epoch: -1 };
  witness.committed.set(log, { node, offset: highWatermark, epoch });
  const { topic, index } = of;
  const partition = witness.image === null ? undefined : topicById(witness.image, topic.id)?.partitions[index];
  if (partition === undefined) return;
  const by = `node ${node}, leading in epoch ${leaderEpoch}`;
  const wanted = Math.min(scene.inSyncMin, partition.replicas.length);
  judgePartition(scene, { log, by, offset: highWatermark, epoch }, partition, wanted);
}

function judgePartition(scene: Scene, claim: Claim, partition: PartitionImage, wanted: number): void {
  if (scene.elections.isUncleanAllowed) return;
  const { isr, elr, replicas } = partition;
  const holders: Holder[] = [];
  for (const node of replicas) {
    const standing = isr.includes(node) ? 'inSync' : elr.includes(node) ? 'eligible' : 'out';
    const held = heldAt(scene, node, claim.log, claim.offset, true);
    holders.push({ node, standing, end: held?.end ?? Number.POSITIVE_INFINITY, epoch: held?.epoch ?? -1 });
  }
  note(scene, judgeClaim(claim, holders, wanted), claim.log);
}

/** Where every simulated node has its logs. */
const FOLDER = '/data';

/** What a node has of a log; null where its disk has damaged something of it, or holds another topic's by now. */
function heldAt(scene: Scene, node: number, log: string, offset: number, isForSure: boolean): Held | null {
  const actor = scene.nodes[node - 1];
  if (actor === undefined || actor.disk === null) throw new Error('a replica is on a node that there is not');
  const folder = folderOf(scene.witness, log);
  if (scene.isDamaged(node, log) || actor.disk.rot.some(({ path }) => path.startsWith(`${folder}/`))) return null;
  const place = { disk: actor.disk, life: actor.life, folder, isForSure };
  if (log === QUORUM) return heldOfQuorum(scene.witness.scans, place, offset);
  return heldOfTopic(scene.witness.scans, place, log.slice(log.indexOf('(') + 1, -1), offset);
}

function folderOf({ folders }: Witness, log: string): string {
  let folder = folders.get(log);
  if (folder === undefined) {
    folder = log === QUORUM ? metadataFolder(FOLDER) : `${FOLDER}/${log.slice(0, log.indexOf(' '))}`;
    folders.set(log, folder);
  }
  return folder;
}

/** Names a lead of the quorum. */
function reignOf({ node, life, epoch }: ReplicaSight): string {
  return `${node} ${life} ${epoch}`;
}

/**
 * The leader of the quorum has moved its high watermark, or has come to lead. One that is removed leads no more after
 * the very step in which that is committed: it has called it so all the same.
 */
function claimForQuorum(scene: Scene, raft: Raft, sight: ReplicaSight): void {
  const { witness } = scene;
  const { log, node, highWatermark } = sight;
  const reign = reignOf(sight);
  const before = witness.reached.get(reign);
  witness.reached.set(reign, highWatermark);
  // What it knew when it came is an earlier leader's word.
  if (before === undefined || highWatermark <= before) return;
  const { epoch } = heldAt(scene, node, log, highWatermark, true) ?? { epoch: -1 };
  const known = witness.committed.get(log);
  if (known === undefined || highWatermark > known.offset) {
    witness.committed.set(log, { node, offset: highWatermark, epoch });
  }
  const voters: VoterLog[] = [];
  for (const { id } of raft.quorum.voters) {
    const held = heldAt(scene, id, log, highWatermark, true);
    if (held === null) return;
    voters.push({ node: id, ...held });
  }
  const by = `node ${node}`;
  note(scene, judgeQuorumClaim({ log, by, offset: highWatermark, epoch }, raft.epoch, voters), log);
}

/** A follower shows a high watermark. */
function holdAgainst(scene: Scene, { log, node, highWatermark }: ReplicaSight): void {
  const { witness, elections } = scene;
  if (highWatermark <= 0 || (elections.isUncleanAllowed && log !== QUORUM)) return;
  const committed = witness.committed.get(log);
  const own = heldAt(scene, node, log, highWatermark, false)?.epoch ?? -1;
  const truth = committed === undefined ? null : heldAt(scene, committed.node, log, highWatermark, false);
  note(scene, judgeShown({ log, node, highWatermark, epoch: own }, committed?.offset ?? 0, truth?.epoch ?? -1), log);
}

function watchQuorum(scene: Scene, { nodeId: node }: Node, raft: Raft): void {
  const { witness, nodes } = scene;
  const { nowUs } = scene.time;
  const { epoch, campaign, lead, peers } = raft;
  if (scene.history.calmUs < 0) witness.calmEpoch = Math.max(witness.calmEpoch, epoch);
  else if (epoch > witness.calmEpoch) note(scene, unsettled(node, epoch));
  if (lead !== null) {
    const patienceUs = 1_500 * peers.times.fetchTimeoutMs + LATE_NEWS_US_MAX;
    note(scene, seeReign(witness.reigns, { node, epoch, nowUs, patienceUs }));
  }
  note(scene, seeVoters(witness.standing, node, raft));
  witness.directories.set(node, raft.directoryId);
  if (raft.votedId >= 0 && !scene.isDamaged(node, QUORUM)) {
    const { directoryId: directory, votedId: candidate } = raft;
    note(scene, seeGiven(witness.votes, { epoch, voter: node, directory, candidate }));
  }
  noteFollowing(scene, node, raft);
  if (campaign === null || raft.role !== 'candidate') return;
  if (!witness.counted.has(`${epoch} ${node} ${node}`)) {
    const followings = [...witness.followings.values()].filter((one) => nodes[one.node - 1]?.down === null);
    const answerUsMax = 1_500 * peers.times.requestTimeoutMs;
    const voters = raft.quorum.voters.map(({ id }) => id);
    note(scene, judgeCandidacy({ candidate: node, epoch, nowUs, voters, followings, answerUsMax }));
    noteStrangers(witness, node, raft);
  }
  for (const voter of [node, ...campaign.granted]) {
    const key = `${epoch} ${node} ${voter}`;
    if (witness.counted.has(key)) continue;
    witness.counted.add(key);
    if (witness.strangers.has(key)) note(scene, judgeStranger(node, epoch, voter));
    const disk = nodes[voter - 1]?.disk;
    if (disk == null) continue;
    const kept = keptVote(disk, metadataFolder(FOLDER));
    const isDamaged = scene.isDamaged(voter, QUORUM);
    note(scene, seeVote(witness.votes, { epoch, voter, candidate: node, kept, isDamaged }));
  }
}

/** Voters of an election whose disks were other ones before it began: nobody but those that are named may vote. */
function noteStrangers({ directories, strangers }: Witness, node: number, { epoch, quorum }: Raft): void {
  if (quorum.kraftVersion === 0) return;
  for (const { id, directoryId } of quorum.voters) {
    const known = directories.get(id);
    if (known !== undefined && known !== directoryId) strangers.add(`${epoch} ${node} ${id}`);
  }
}

function noteFollowing({ witness, time }: Scene, node: number, { lead, follow, leaderId, epoch }: Raft): void {
  const leader = lead !== null ? node : follow?.hasFetched === true ? leaderId : -1;
  const before = witness.followings.get(node);
  if (before?.leader === leader && before.epoch === epoch) return;
  if (leader >= 0) witness.followings.set(node, { node, leader, epoch, sinceUs: time.nowUs });
  else if (before !== undefined) witness.followings.delete(node);
}

/** When all is well, or one node is gone for good and given up, a leader that most can hear is left in peace. */
function unsettled(node: number, epoch: number): Complaint {
  const sentence = `node ${node} went on to epoch ${epoch} of the quorum, though all was well`;
  return { checker: 'unsettled', promise: 6, partition: -1, sentence };
}

/** What a voter has sent before it went over to another leader may come so late. Microseconds. */
const LATE_NEWS_US_MAX = 4_000_000;
