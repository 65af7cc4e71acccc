/**
 * What must hold of a quorum whatever happens to it, read from the bytes on its disks, not from what members say.
 *
 * Looked at after every step of a member: one leader an epoch; the high watermark goes up only, and never above what a
 * majority of the voters has synced; what it covers is the same everywhere and for ever; a new leader holds all of it;
 * a leader changes one voter at a time, and only when the change before is committed, and something of its own epoch.
 * At the end: logs are equal, and so is what they come to; nothing that was answered or seen is missing.
 */
import type { RequestOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { type EpochKey, newsOf } from '../../core/raft/messages.ts';
import type { Raft } from '../../core/raft/raft.ts';
import { isVoter, type Voter, type VoterSet } from '../../core/raft/voters.ts';
import { FOLDER } from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';

interface Batch {
  readonly base: number;
  readonly next: number;
  readonly epoch: number;
  readonly bytes: Uint8Array;
}

/** What a member was when last looked at. */
interface Mark {
  life: number;
  highWatermark: number;
  epochLed: number;
  quorum: VoterSet | null;
}

/** What has been seen of one cluster. */
export interface Truth {
  /** By epoch: who led it. */
  readonly leaders: Map<number, number>;
  /** By base offset: the batches that some high watermark covered. */
  readonly committed: Map<number, Batch>;
  /** The offset behind the last of them. */
  end: number;
  /** By member: life and high watermark when last looked at. */
  readonly marks: Map<number, Mark>;
  /** Changes of the voters that leaders made. */
  changes: number;
  /** Waiters that were answered, and the sums that they must come to. */
  readonly acked: Map<number, number>;
  /** By voter and epoch: whom it has voted for. */
  readonly votes: Map<string, number>;
  /** How often the rare was seen. */
  elections: number;
}

/** Nothing was seen. */
export function createTruth(): Truth {
  return {
    leaders: new Map(),
    committed: new Map(),
    end: 0,
    marks: new Map(),
    acked: new Map(),
    votes: new Map(),
    elections: 0,
    changes: 0,
  };
}

const LOG_NAME = /\/(\d{20})\.log$/;

type Inodes = ReadonlyMap<string, { readonly bytes: Uint8Array; readonly synced: Uint8Array }>;

/** The batches from `offset` on, as they lie on a disk; as a power loss would leave them at worst, if `isSynced`. */
export function batchesOf(member: Member, offset: number, isSynced = false): Batch[] {
  const names: Inodes = isSynced ? member.disk.durableNames : member.disk.names;
  const files = [...names].flatMap(([path, inode]) => {
    const found = path.startsWith(FOLDER) ? LOG_NAME.exec(path) : null;
    return found === null ? [] : [{ base: Number(found[1]), bytes: isSynced ? inode.synced : inode.bytes }];
  });
  files.sort((a, b) => a.base - b.base);
  const batches: Batch[] = [];
  for (const [i, { bytes }] of files.entries()) {
    const following = files[i + 1];
    if (following !== undefined && following.base <= offset) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at + 61 <= bytes.length; ) {
      const base = Number(view.getBigInt64(at));
      const sizeBytes = view.getInt32(at + 8) + 12;
      if (sizeBytes < 61 || at + sizeBytes > bytes.length) break;
      const next = base + view.getInt32(at + 23) + 1;
      if (next > offset)
        batches.push({ base, next, epoch: view.getInt32(at + 12), bytes: bytes.subarray(at, at + sizeBytes) });
      at += sizeBytes;
    }
  }
  return batches;
}

function isSame(a: Batch, b: Batch): boolean {
  return a.bytes.length === b.bytes.length && a.bytes.every((byte, i) => byte === b.bytes[i]);
}

/** Where the newest snapshot on a disk ends that is whole in the sense that its name is there; 0 for none. */
function snapshotEnd(member: Member, isSynced: boolean): number {
  let end = 0;
  for (const path of (isSynced ? member.disk.durableNames : member.disk.names).keys()) {
    const found = /\/(\d{20})-\d{10}\.checkpoint$/.exec(path);
    if (found !== null) end = Math.max(end, Number(found[1]));
  }
  return end;
}

/** Whether a voter could not lose a batch any more by losing power. */
function holds(member: Member, batch: Batch): boolean {
  if (snapshotEnd(member, true) >= batch.next) return true;
  const found = batchesOf(member, batch.base, true).find(({ base }) => base === batch.base);
  return found !== undefined && isSame(found, batch);
}

/** Looks at a member after a step. Throws an error that says what does not hold. */
export function look(cluster: Cluster, truth: Truth, member: Member): void {
  const raft = member.quorum?.raft;
  if (raft === undefined || raft.stage !== 'open') return;
  const mark = truth.marks.get(member.id) ?? { life: -1, highWatermark: -1, epochLed: -1, quorum: null };
  truth.marks.set(member.id, mark);
  if (mark.life !== member.life) Object.assign(mark, { life: member.life, highWatermark: -1, epochLed: -1 });
  if (raft.lead !== null && mark.epochLed !== raft.epoch) {
    mark.epochLed = raft.epoch;
    const other = truth.leaders.get(raft.epoch);
    if (other !== undefined) throw new Error(`epoch ${raft.epoch} is led by ${other}, and now by ${member.id}`);
    truth.leaders.set(raft.epoch, member.id);
    truth.elections += 1;
    checkComplete(truth, member);
  }
  if (raft.highWatermark < mark.highWatermark) throw new Error(`the high watermark of ${member.id} goes back`);
  if (raft.highWatermark > mark.highWatermark) cover(cluster, truth, member, raft.highWatermark);
  mark.highWatermark = raft.highWatermark;
  const isSameEpoch = raft.lead !== null && raft.lead.epochStartNext <= votersFrom(raft);
  if (isSameEpoch && mark.quorum !== null && mark.quorum !== raft.quorum) checkChange(truth, raft, mark.quorum);
  mark.quorum = raft.quorum;
}

/** Where the record stands that names the voters of now; -1 if that is not known. */
function votersFrom(raft: Raft): number {
  return raft.earlierQuorums[raft.earlierQuorums.length - 1]?.replacedAt ?? -1;
}

/** A leader has changed the voters, after the batch that began its epoch. */
function checkChange(truth: Truth, raft: Raft, before: VoterSet): void {
  const keysOf = ({ voters }: VoterSet): Set<string> => new Set(voters.map((one) => `${one.id} ${one.directoryId}`));
  const [old, now] = [keysOf(before), keysOf(raft.quorum)];
  const changed = [...old].filter((key) => !now.has(key)).length + [...now].filter((key) => !old.has(key)).length;
  if (changed > 1) throw new Error(`leader ${raft.nodeId} changes ${changed} voters at once`);
  const previousAt = raft.earlierQuorums[raft.earlierQuorums.length - 2]?.replacedAt ?? -1;
  if (previousAt >= truth.end) throw new Error(`leader ${raft.nodeId} changes voters again before ${previousAt} holds`);
  const isFenced = [...truth.committed.values()].some(({ epoch }) => epoch === raft.epoch);
  if (!isFenced) throw new Error(`leader ${raft.nodeId} changes voters before anything of its epoch is committed`);
  truth.changes += 1;
}

/** A new leader holds all that was ever committed. */
function checkComplete(truth: Truth, member: Member): void {
  const start = Math.max(snapshotEnd(member, false), member.quorum?.raft.log.start ?? 0);
  const own = new Map(batchesOf(member, 0).map((batch) => [batch.base, batch]));
  for (const batch of truth.committed.values()) {
    if (batch.next <= start) continue;
    const found = own.get(batch.base);
    if (found === undefined) throw new Error(`leader ${member.id} lacks committed offset ${batch.base}`);
    if (!isSame(found, batch)) throw new Error(`leader ${member.id} has another batch at committed ${batch.base}`);
  }
}

/** A member says that all below `highWatermark` is committed. */
function cover(cluster: Cluster, truth: Truth, member: Member, highWatermark: number): void {
  const mark = truth.marks.get(member.id);
  const from = Math.max(mark?.highWatermark ?? 0, snapshotEnd(member, false), 0);
  for (const batch of batchesOf(member, from)) {
    if (batch.base >= highWatermark) break;
    const known = truth.committed.get(batch.base);
    if (known !== undefined) {
      if (!isSame(known, batch)) throw new Error(`member ${member.id} covers another batch at ${batch.base}`);
      continue;
    }
    if (batch.base < truth.end && batch.next > snapshotEnd(member, false)) {
      throw new Error(`member ${member.id} covers offset ${batch.base}, which lies within what was committed`);
    }
    const voters = member.quorum?.raft.quorum.voters ?? [];
    const isHeld = (voter: Voter): boolean =>
      cluster.members.some((one) => isVoter(voter, one.id, one.directoryId) && holds(one, batch));
    const holders = voters.filter(isHeld).map(({ id }) => id);
    if (holders.length * 2 <= voters.length) {
      throw new Error(`member ${member.id} says ${batch.base} is committed, but only ${holders} have synced it`);
    }
    truth.committed.set(batch.base, { ...batch, bytes: batch.bytes.slice() });
    truth.end = Math.max(truth.end, batch.next);
  }
}

interface QuorumFile {
  readonly leaderId: number;
  readonly leaderEpoch: number;
  readonly votedId: number;
}

/** What a power loss would leave of a member's vote. */
function quorumFile(member: Member): QuorumFile {
  const inode = member.disk.durableNames.get(`${FOLDER}/quorum-state`);
  if (inode === undefined) return { leaderId: -1, leaderEpoch: 0, votedId: -1 };
  return JSON.parse(new TextDecoder().decode(inode.synced)) as QuorumFile;
}

/** Looks at an answer to another member: what it says is on the disk, and a vote is given once. */
export function hear(truth: Truth, member: Member, apiKey: number, request: unknown, response: unknown): void {
  if (apiKey >= 80) return;
  const news = newsOf(apiKey as EpochKey, response as ResponseOf<EpochKey>);
  if (news === null) return;
  const file = quorumFile(member);
  const logEpoch = Math.max(0, ...batchesOf(member, 0).map(({ epoch }) => epoch));
  if (news.leaderEpoch > Math.max(file.leaderEpoch, logEpoch)) {
    throw new Error(`member ${member.id} shows epoch ${news.leaderEpoch}, which is not on its disk`);
  }
  if (apiKey !== 52) return;
  const asked = (request as RequestOf<52>).topics[0]?.partitions[0];
  const isGranted = (response as ResponseOf<52>).topics[0]?.partitions[0]?.voteGranted === true;
  if (!isGranted || asked === undefined || asked.preVote) return;
  if (file.leaderEpoch !== asked.replicaEpoch || file.votedId !== asked.replicaId) {
    throw new Error(`member ${member.id} tells of a vote that is not on its disk`);
  }
  const key = `${member.id} with ${member.directoryId} in ${asked.replicaEpoch}`;
  const before = truth.votes.get(key) ?? asked.replicaId;
  if (before !== asked.replicaId) throw new Error(`${key} votes for ${before} and for ${asked.replicaId}`);
  truth.votes.set(key, asked.replicaId);
}

/** Wherever two logs have a batch of the same offset and epoch, all up to there is the same (Raft's log matching). */
export function checkMatching(cluster: Cluster): void {
  // Below the start there may be anything.
  const logs = cluster.members.flatMap((member) => {
    const raft = member.quorum?.raft;
    return raft?.stage === 'open' ? [{ id: member.id, batches: batchesOf(member, raft.log.start) }] : [];
  });
  for (const [i, a] of logs.entries()) {
    for (const b of logs.slice(i + 1)) {
      const others = new Map(b.batches.map((batch) => [batch.base, batch]));
      const shared = a.batches.filter(({ base, epoch }) => others.get(base)?.epoch === epoch);
      for (const batch of shared) {
        if (isSame(batch, others.get(batch.base) as Batch)) continue;
        throw new Error(`${a.id} and ${b.id} differ at ${batch.base} of epoch ${batch.epoch}`);
      }
      const last = shared[shared.length - 1];
      if (last === undefined) continue;
      const first = Math.max(a.batches[0]?.base ?? 0, b.batches[0]?.base ?? 0);
      const isIn = ({ base }: Batch): boolean => base >= first && base < last.base;
      for (const batch of a.batches.filter(isIn)) {
        if (others.get(batch.base)?.epoch === batch.epoch) continue;
        throw new Error(`${a.id} and ${b.id} share ${last.base} but part before it, at ${batch.base}`);
      }
    }
  }
}

/** After all has come to rest: everyone has the same, and nothing is missing. */
export function checkEnd(cluster: Cluster, truth: Truth): void {
  checkMatching(cluster);
  const views = cluster.members.map((member) => {
    const view = member.quorum?.coordinator.committed?.view;
    if (view === undefined) throw new Error(`member ${member.id} knows nothing`);
    return view;
  });
  const [quorum] = cluster.members.flatMap((member) => member.quorum?.raft.quorum ?? []);
  for (const { id, quorum: one } of cluster.members) {
    if (JSON.stringify(one?.raft.quorum) === JSON.stringify(quorum)) continue;
    throw new Error(`member ${id} goes by other voters than the rest`);
  }
  const [first] = views;
  for (const view of views) {
    if (view.size !== first?.size || [...view].some(([name, sum]) => first.get(name) !== sum)) {
      throw new Error('members do not hold the same');
    }
  }
  for (const [waiter, sum] of truth.acked) {
    if (first?.get(String(waiter)) !== sum) {
      throw new Error(`what was answered to ${waiter} is ${first?.get(String(waiter))}, not ${sum}`);
    }
  }
  for (const { id, everSeen } of cluster.members) {
    for (const name of everSeen) if (!first?.has(name)) throw new Error(`member ${id} has seen ${name}, which is lost`);
  }
}
