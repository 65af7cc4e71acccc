/**
 * The contract of a cluster whose disks and whose network break their word, and the proof that something which was
 * found wrong lies beyond it. Computed from the damages that were done, one by one as they happen, never from what was
 * found: a violation that they do not excuse is a bug.
 *
 * The contract:
 * - A partition keeps what is committed while fewer of its replicas than `min.insync.replicas` are *wounded* at one
 *   time. A damage to its files wounds a replica, whatever a checksum may still tell of it. It is whole again when, in
 *   a later life of its node, it is in sync and has shown as committed all that anybody had when the damage was done;
 *   not while damaged bytes lie on its disk.
 * - And while some replica that is whole is known to have everything: in sync or eligible, and not shut down uncleanly
 *   since. Where all of these are gone who led last leads again (KIP-966), and a disk that was set back cannot be told
 *   from one that was not. An empty one is: its directory is another one.
 * - The quorum keeps what is committed while no majority can come together that has forgotten some of it: voters that
 *   hold all of it are part of each. A node whose directory is not the voter's does not vote, and a majority must be
 *   left that do. One that was set back to an older state of its disk votes, and knows nothing of what came since. Nor
 *   may a node vote twice in an epoch: it may lose its memory only where nobody can ask for that vote any more.
 * - Where the quorum's contract is broken, nothing is promised of partitions: it says who leads them.
 * - A contract that was broken holds again once every replica is whole and has what had been committed each time it was
 *   broken, under the same leader epoch: no log can have another record there without having lost it. A cluster that
 *   came anew has nothing of the one before.
 * - Frames have no checksum, batches have. A bit that flips in a batch costs nothing; one that flips in anything else
 *   may be taken for any answer or question.
 * - A value is read where it was sent, and nowhere else, with one exception: a batch does not say of which partition it
 *   is, so that one which lands whole in the log of another looks like its own. Only values that were sent to the log
 *   from which bytes have strayed are excused, and that of the quorum for what nobody sent; so is what is found wrong
 *   because such a value is where another belongs.
 * - It comes back: with a majority of the voters whole, and for each partition that has kept what is committed on a
 *   replica that is known to have: in sync, or eligible. Whoever was shut down uncleanly is neither until it has caught
 *   up.
 *
 * Plain data. Logs are named as `logName` does, nodes by number.
 */
import type { Complaint } from './history.ts';

/** The log of the quorum. */
export const QUORUM = '__cluster_metadata-0';

/**
 * How a disk broke its word: it is gone and an empty one in its place; it is as it was some time ago; bits of it
 * flipped; bytes were written where others belong; bytes that were written are not there; bytes that were synced were
 * not.
 */
export type DamageKind = 'lost' | 'older' | 'rotten' | 'misdirected' | 'unwritten' | 'unsynced';

/** One replica of a log, wounded. */
export interface Wound {
  readonly kind: DamageKind;
  readonly atUs: number;
  /** In which life of the node, or before which. */
  readonly life: number;
  /** Offsets below it had been shown as committed. */
  readonly committed: number;
  /** The epoch of the last of these; -1 where there is none, or nobody had it. */
  readonly committedEpoch: number;
  /** Of which log of that name: the id of the topic, or what the cluster is known by. */
  readonly incarnation: string;
  /** Of the quorum: the epoch that the node had known. */
  readonly epoch: number;
  /** Damaged bytes lie on the disk, and no fetch brings others in their place. */
  readonly isLasting: boolean;
}

/** What had been shown as committed when a log's contract was broken. */
export type Stake = Pick<Wound, 'committed' | 'committedEpoch' | 'incarnation'>;

/** When and why a log's contract was broken last, and what was at stake each time since it held. */
export interface Breach {
  readonly atUs: number;
  readonly why: string;
  readonly stakes: readonly Stake[];
}

/** What was done, as far as it matters. */
export interface Excuses {
  /** By log, then by node: wounds that are open. */
  readonly wounds: Map<string, Map<number, Wound>>;
  /** By log: the last time, unless nothing came of it. */
  readonly breaches: Map<string, Breach>;
  /** By log and id of a topic that is no more: why nothing was promised of it at the end. */
  readonly gone: Map<string, string>;
  /** Since when bits have flipped on the wire outside of batches; Infinity for never. */
  flippedUs: number;
  /** What excused a complaint at the time when it was made; null for nothing, whatever came later. */
  readonly heard: Map<Complaint, string | null>;
  /** By log in which lie, or for which were read, bytes of other ones: which these are. */
  readonly strayed: Map<string, Set<string>>;
  /** Nodes that may believe something false which no checksum covers, and since when. */
  readonly misled: Map<number, number>;
}

/** The voters, at the moment in which the disk of one of them is damaged. */
export interface VotersScene {
  readonly voters: readonly number[];
  /** Those among them that nobody may ask for a vote: a node with another directory is in their place. */
  readonly mute: readonly number[];
  /** Those among the others that hold, on their disks, all that is committed. */
  readonly holders: readonly number[];
  /** The node had voted in an epoch, has forgotten it, and may be asked in that epoch once more. */
  readonly isVoteLost: boolean;
}

/** Nothing was done. */
export function createExcuses(): Excuses {
  return {
    wounds: new Map(),
    breaches: new Map(),
    gone: new Map(),
    heard: new Map(),
    misled: new Map(),
    strayed: new Map(),
    flippedUs: Number.POSITIVE_INFINITY,
  };
}

/** The name of a partition's log. */
export function logName(topic: string, partition: number): string {
  return `${topic}-${partition}`;
}

/** Whether a majority may come together that has forgotten something, or a vote be given twice; null for neither. */
export function quorumBreach({ voters, mute, holders, isVoteLost }: VotersScene): string | null {
  const asked = voters.filter((id) => !mute.includes(id));
  const forgetful = asked.filter((id) => !holders.includes(id));
  const majority = Math.floor(voters.length / 2) + 1;
  if (asked.length < majority)
    return `of voters ${voters.join(', ')} only ${asked.length} have the directory that they had`;
  if (forgetful.length >= majority) {
    const which = `voters ${forgetful.join(', ')} of ${voters.join(', ')}`;
    return `${which} are a majority, and none holds all that is committed`;
  }
  return isVoteLost ? 'a voter has forgotten whom it voted for, and may be asked again' : null;
}

/** Whether so many voters that may be asked can be taken out that a majority of those that stay may still be asked. */
export function maySpareVoters({ voters, mute }: VotersScene, count: number): boolean {
  const asked = voters.filter((id) => !mute.includes(id)).length;
  return asked - count >= Math.floor((voters.length - count) / 2) + 1;
}

/** The nodes on which a log is wounded. */
export function woundedIn({ wounds }: Excuses, log: string): readonly number[] {
  return [...(wounds.get(log)?.keys() ?? [])];
}

/** Whether one wound more is too much for a partition. */
export function isOneTooMany(excuses: Excuses, log: string, node: number, inSyncMin: number): boolean {
  const wounded = new Set(woundedIn(excuses, log)).add(node);
  return wounded.size >= inSyncMin;
}

/** Whether nobody but `node` is known to have all of a partition, and whole, and about to stay up. */
export function isOnlyKnown(
  excuses: Excuses,
  log: string,
  { isr, elr }: { readonly isr: readonly number[]; readonly elr: readonly number[] },
  node: number,
  isSteady: (id: number) => boolean,
): boolean {
  const wounded = woundedIn(excuses, log);
  return ![...isr, ...elr].some((id) => id !== node && !wounded.includes(id) && isSteady(id));
}

/** A replica of a partition is wounded. */
export function woundReplica(excuses: Excuses, log: string, node: number, wound: Wound, inSyncMin: number): void {
  if (isOneTooMany(excuses, log, node, inSyncMin)) {
    const nodes = [...new Set(woundedIn(excuses, log)).add(node)].join(', ');
    breach(excuses, log, wound, `the disks of nodes ${nodes} are damaged where ${log} lies`);
  }
  openWound(excuses, log, node, wound);
}

/** The memory of a voter is wounded. */
export function woundVoter(excuses: Excuses, node: number, wound: Wound, scene: VotersScene): void {
  const why = quorumBreach(scene);
  if (why !== null) breach(excuses, QUORUM, wound, why);
  openWound(excuses, QUORUM, node, wound);
}

/** Who may lead a partition, as the newest metadata has it, and who should be able to (`knowing.ts`). */
export interface Leading {
  readonly known: readonly number[];
  readonly isr: readonly number[];
  readonly elr: readonly number[];
  readonly leader: number;
  readonly lastKnownElr: readonly number[];
}

/**
 * The wounded replicas one of which is to lead a partition, because nobody who is whole is known to have all of it any
 * more. `isSure`: a node was not shut down uncleanly since the life that the cluster knows.
 */
export function woundedLeft(
  { wounds }: Excuses,
  log: string,
  { known, isr, elr, leader, lastKnownElr }: Leading,
  isSure: (id: number) => boolean,
): readonly number[] {
  const ofLog = wounds.get(log);
  if (ofLog === undefined) return [];
  const mayLead = [...isr, ...elr];
  if ([...known, ...mayLead].some((id) => !ofLog.has(id) && isSure(id))) return [];
  const last = [...mayLead, leader, ...lastKnownElr];
  return [...ofLog].filter(([id, { kind }]) => kind !== 'lost' && last.includes(id)).map(([id]) => id);
}

/** A partition is left to replicas that are wounded; `woundedLeft` says to which. */
export function leaveToWounded(
  excuses: Excuses,
  log: string,
  nodes: readonly number[],
  loss: Stake & { readonly atUs: number },
): void {
  const left = `only the disks of nodes ${nodes.join(', ')}, which are damaged,`;
  breach(excuses, log, loss, `${left} are left to lead ${log}: the others were shut down uncleanly`);
}

function breach({ breaches }: Excuses, log: string, loss: Stake & { readonly atUs: number }, why: string): void {
  const { atUs, committed, committedEpoch, incarnation } = loss;
  const known = breaches.get(log)?.stakes ?? [];
  const isKnown = known.some((one) => {
    return one.committed === committed && one.committedEpoch === committedEpoch && one.incarnation === incarnation;
  });
  // What may have been lost first must be found again too: that a later record is there proves nothing of it.
  const stakes = isKnown ? known : [...known, { committed, committedEpoch, incarnation }];
  breaches.set(log, { atUs, why, stakes });
}

/** What all replicas of a log have now. */
export interface FoundAgain {
  readonly incarnation: string;
  /** Under which epoch all have a record; null where one lacks it, or has another. */
  readonly epochAt: (offset: number) => number | null;
}

/**
 * Closes the breach of a log of which nobody is wounded, if all replicas have what was at stake. What was at stake of a
 * topic that is no more was not found again: whatever looking back finds of that one stays excused.
 */
export function closeBreach({ breaches, wounds, gone, heard }: Excuses, log: string, now: FoundAgain): boolean {
  const broken = breaches.get(log);
  if (broken === undefined || (wounds.get(log)?.size ?? 0) > 0) return false;
  // Records of one epoch need not be the same where two have led in one.
  if ([...heard.keys()].some((one) => one.checker === 'two-leaders' && one.log?.split(' ')[0] === log)) return false;
  const isKept = ({ committed, committedEpoch, incarnation }: Stake): boolean => {
    // A topic that is no more was deleted, or the quorum has forgotten it, which has a stake of its own.
    if (incarnation !== now.incarnation) return log !== QUORUM;
    return committed === 0 || (committedEpoch >= 0 && now.epochAt(committed - 1) === committedEpoch);
  };
  if (!broken.stakes.every(isKept)) return false;
  for (const { incarnation } of broken.stakes) {
    if (incarnation !== now.incarnation) gone.set(goneKey(log, incarnation), broken.why);
  }
  return breaches.delete(log);
}

function goneKey(log: string, incarnation: string): string {
  return `${log} ${incarnation}`;
}

/** Why nothing is promised of a log, or of one topic's of that name; undefined where something is. */
function brokenWhy({ breaches, gone }: Excuses, log: string, incarnation: string | undefined): string | undefined {
  const broken = breaches.get(log);
  if (incarnation === undefined) return broken?.why;
  const isOfIt = broken?.stakes.some((stake) => stake.incarnation === incarnation) === true;
  return isOfIt ? broken?.why : gone.get(goneKey(log, incarnation));
}

function openWound({ wounds }: Excuses, log: string, node: number, wound: Wound): void {
  const ofLog = wounds.get(log) ?? new Map<number, Wound>();
  wounds.set(log, ofLog);
  const before = ofLog.get(node);
  // A disk that is another one has nothing of what was wrong with the last; any other damage comes on top.
  const isLasting = wound.isLasting || (wound.kind !== 'lost' && before?.isLasting === true);
  ofLog.set(node, { ...wound, isLasting });
}

/** What a replica shows, to see whether it is whole again. */
export interface Recovery {
  readonly log: string;
  readonly node: number;
  readonly life: number;
  /** -1 for unknown. */
  readonly highWatermark: number;
  /** Of the quorum: the epoch that it knows. */
  readonly epoch: number;
  /** Of a partition: the newest metadata that anybody has counts it as in sync. */
  readonly isInSync: boolean;
}

/** Closes the wound that a replica has recovered from; true if one was closed. */
export function closeWound({ wounds }: Excuses, recovery: Recovery): boolean {
  const ofLog = wounds.get(recovery.log);
  const wound = ofLog?.get(recovery.node);
  if (ofLog === undefined || wound === undefined || wound.isLasting || recovery.life <= wound.life) return false;
  if (recovery.highWatermark < wound.committed) return false;
  if (recovery.log === QUORUM ? recovery.epoch < wound.epoch : !recovery.isInSync) return false;
  return ofLog.delete(recovery.node);
}

/** Not excused by anything but what is said of it. */
const NEVER = new Set(['phantom', 'worker-died', 'endless']);

/**
 * Not excused by wounds of a partition's replicas: who leads it, and what is shown of it, follows from the quorum; who
 * owns it in a group, and how far that has come, is in another log.
 */
const NOT_OF_A_DISK = new Set([
  ...['two-leaders', 'epoch-regression', 'early-read', 'failed-but-read', 'unanswered', 'group-late-delivery'],
  ...['two-owners', 'zombie-commit', 'zombie-heard', 'generation-regression', 'offset-regression', 'answered-alone'],
]);

/** Where a violation was found: in the log of a partition, in what the quorum keeps, or in a node. */
export interface Found {
  readonly checker: string;
  /** Null for none in particular. */
  readonly log: string | null;
  /** Of which log of that name, where that is known: the id of the topic. */
  readonly incarnation?: string | undefined;
  /** The node whose machine broke an invariant of its own; -1 for none. */
  readonly node: number;
  /** Because of a value that was read where it was not sent: the log to which it was; the quorum's if to none. */
  readonly sentTo?: string;
}

/** Why something that was found wrong lies beyond the contract; null if it does not, which makes it a bug. */
export function excuseFor(excuses: Excuses, found: Found): string | null {
  const { checker, log, incarnation, node, sentTo } = found;
  if (log !== null && sentTo !== undefined && hasStrayed(excuses, sentTo, log))
    return `batches of ${sentTo} were written to ${log}, or read in their place`;
  if (NEVER.has(checker)) return null;
  const ofQuorum = excuses.breaches.get(QUORUM);
  if (ofQuorum !== undefined) return ofQuorum.why;
  if (excuses.flippedUs < Number.POSITIVE_INFINITY) return 'bits flipped on the wire outside of batches';
  if (node >= 0 && excuses.misled.has(node)) return `node ${node} was misled by a file that no checksum covers`;
  if (log === null || NOT_OF_A_DISK.has(checker)) return null;
  return brokenWhy(excuses, log, incarnation) ?? null;
}

/** Bytes of a log were written to another one, or read for it. */
export function noteStray({ strayed }: Excuses, from: string, to: string): void {
  if (from !== to) strayed.set(to, (strayed.get(to) ?? new Set()).add(from));
}

/** Whether bytes of one log have come to another, over others too. */
function hasStrayed({ strayed }: Excuses, from: string, to: string): boolean {
  const reached = new Set([to]);
  for (const log of reached) for (const source of strayed.get(log) ?? []) reached.add(source);
  return from !== to && reached.has(from);
}

/** The nodes that no damage is left on; of them a cluster must be able to come back. */
export function wholeNodes({ wounds, misled }: Excuses, nodes: readonly number[]): readonly number[] {
  return nodes.filter((node) => !misled.has(node) && ![...wounds.values()].some((ofLog) => ofLog.has(node)));
}

/** Whether these nodes are enough for the quorum to come back. */
export function isCore(excuses: Excuses, whole: readonly number[], voters: readonly number[]): boolean {
  if (excuses.breaches.has(QUORUM) || excuses.flippedUs < Number.POSITIVE_INFINITY) return false;
  return 2 * voters.filter((id) => whole.includes(id)).length > voters.length;
}

/** What was found, sorted by whether the damages excuse it. */
export interface Sorted<T extends Complaint> {
  readonly bugs: readonly T[];
  readonly beyond: readonly { readonly complaint: T; readonly why: string }[];
}

/** Where a complaint was found. */
export type Placing = (complaint: Complaint) => Omit<Found, 'checker'>;

/**
 * Notes which complaints are excused by what is broken at this moment: it may be whole again before they are sorted,
 * and what is broken later explains nothing that was found before.
 */
export function excuseNow(excuses: Excuses, complaints: readonly Complaint[], place: Placing): void {
  for (const complaint of complaints) {
    excuses.heard.set(complaint, excuseFor(excuses, { checker: complaint.checker, ...place(complaint) }));
  }
}

/**
 * Sorts complaints; `place` says of each where it was found. Those that nobody has heard before were found by looking
 * back over the whole run: whatever is broken at its end may be why.
 */
export function sortByExcuse<T extends Complaint>(
  excuses: Excuses,
  complaints: readonly T[],
  place: Placing,
): Sorted<T> {
  const bugs: T[] = [];
  const beyond: { complaint: T; why: string }[] = [];
  for (const complaint of complaints) {
    const atOnce = excuses.heard.get(complaint);
    const why = atOnce !== undefined ? atOnce : excuseFor(excuses, { checker: complaint.checker, ...place(complaint) });
    if (why === null) bugs.push(complaint);
    else beyond.push({ complaint, why });
  }
  return { bugs, beyond };
}
