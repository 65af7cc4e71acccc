/**
 * Judges the elections of a quorum by what its voters have done, whether or not anybody came to harm: each voter votes
 * once in an epoch and remembers it on its disk, and a leader whose voters have gone over to a later one stops leading.
 *
 * Plain data; a judge remembers who voted for whom in each epoch, and for each leader how long it has stayed too long.
 */
import type { Complaint } from './history.ts';

/** What a voter remembers: the latest epoch that it knows, and in it its vote and the leader; -1 for nobody. */
export interface KeptVote {
  readonly leaderEpoch: number;
  readonly votedId: number;
  readonly leaderId: number;
}

/** A vote that a candidate counts. */
export interface CountedVote {
  readonly epoch: number;
  readonly voter: number;
  readonly candidate: number;
  /** What the voter's disk says of it, for sure; null where there is no such file. */
  readonly kept: KeptVote | null;
  /** The disk has broken its word: what it says now is not what its node was told that it holds. */
  readonly isDamaged: boolean;
}

/** The memory. */
export interface VoteJudge {
  /** By epoch: candidates by voter. */
  readonly votes: Map<number, Map<number, number>>;
  /** By epoch and the voter with its directory: whom it has voted for, as its node has written down. */
  readonly given: Map<string, number>;
}

/** Nobody has voted. */
export function createVoteJudge(): VoteJudge {
  return { votes: new Map(), given: new Map() };
}

/** Takes a vote that is counted, once for each candidate, epoch and voter. What is wrong with it, or null. */
export function seeVote(judge: VoteJudge, counted: CountedVote): Complaint | null {
  const { epoch, voter, candidate, kept, isDamaged } = counted;
  const votes = judge.votes.get(epoch) ?? new Map<number, number>();
  judge.votes.set(epoch, votes);
  const before = votes.get(voter);
  votes.set(voter, candidate);
  if (before !== undefined && before !== candidate) {
    return complaint('two-votes', `node ${voter} votes for nodes ${before} and ${candidate} in epoch ${epoch}`);
  }
  // Once an epoch has a leader nobody votes in it any more, so that the vote need not be known then.
  const isKept =
    kept !== null &&
    (kept.leaderEpoch > epoch || (kept.leaderEpoch === epoch && (kept.votedId === candidate || kept.leaderId >= 0)));
  if (isKept || isDamaged) return null;
  const has = kept === null ? 'nothing' : `a vote for ${kept.votedId} in epoch ${kept.leaderEpoch}`;
  const sentence = `node ${candidate} counts a vote of node ${voter} in epoch ${epoch}, and on that disk is ${has}`;
  return complaint('vote-in-memory', sentence);
}

/** Takes what a voter remembers of its vote, whether or not anybody counts it: in one epoch it is one vote. */
export function seeGiven(
  { given }: VoteJudge,
  { epoch, voter, directory, candidate }: { epoch: number; voter: number; directory: string; candidate: number },
): Complaint | null {
  const key = `${epoch} ${voter} ${directory}`;
  const before = given.get(key);
  if (before === candidate) return null;
  given.set(key, candidate);
  if (before === undefined) return null;
  const sentence = `node ${voter} has voted for node ${before} in epoch ${epoch}, and votes for node ${candidate} now`;
  return complaint('two-votes', sentence);
}

function complaint(checker: string, sentence: string): Complaint {
  return { checker, promise: 2, partition: -1, sentence };
}

/** A voter is a disk, not a node: one that was swapped has forgotten what it voted, and what it held (KIP-853). */
export function judgeStranger(candidate: number, epoch: number, voter: number): Complaint {
  const counts = `node ${candidate} counts a vote of node ${voter} in epoch ${epoch}`;
  return complaint('vote-of-another', `${counts}, and the disk that may vote was not there any more`);
}

/** A member that leads, or hears the leader whom it follows, without a break. */
export interface Following {
  readonly node: number;
  /** Itself, where it leads. */
  readonly leader: number;
  readonly epoch: number;
  readonly sinceUs: number;
}

/** A member that stands for election, and who follows whom then. */
export interface Candidacy {
  readonly candidate: number;
  readonly epoch: number;
  readonly nowUs: number;
  /** The nodes that vote, as its log has it: nobody else is asked. */
  readonly voters: readonly number[];
  readonly followings: readonly Following[];
  /** No answer to the question whether one would be elected comes later than that. Microseconds. */
  readonly answerUsMax: number;
}

/** Nobody stands for election while a majority hears a leader and has heard it for long (KIP-996, pre-vote). */
export function judgeCandidacy(candidacy: Candidacy): Complaint | null {
  const { candidate, epoch, nowUs, voters, followings, answerUsMax } = candidacy;
  const known = followings.filter(({ sinceUs }) => nowUs - sinceUs > answerUsMax);
  for (const { node: leader, leader: self, epoch: led } of known) {
    if (leader !== self || led >= epoch) continue;
    const isFollowing = (one: Following): boolean => one.leader === leader && one.epoch === led;
    const following = known.filter((one) => isFollowing(one) && voters.includes(one.node));
    if (2 * following.length <= voters.length) continue;
    const nodes = following.map(({ node }) => node).join(', ');
    const stands = `node ${candidate} stands for election in epoch ${epoch}`;
    const sentence = `${stands}, while nodes ${nodes} hear node ${leader}`;
    return { checker: 'unseats', promise: 6, partition: -1, sentence };
  }
  return null;
}

/** A member that leads, seen after a step of it. */
export interface SeenLeader {
  readonly node: number;
  readonly epoch: number;
  readonly nowUs: number;
  /** After so long without a majority a leader resigns at the latest. Microseconds. */
  readonly patienceUs: number;
}

/** The memory of who leads for how long. */
export interface ReignJudge {
  /** The newest epoch that was led, and since when. */
  epoch: number;
  sinceUs: number;
  /** By node: when it was last seen to lead, and how long it has led in vain while it ran. Microseconds. */
  readonly late: Map<number, { epoch: number; seenUs: number; lateUs: number }>;
}

/** Nobody has led. */
export function createReignJudge(): ReignJudge {
  return { epoch: -1, sinceUs: 0, late: new Map() };
}

/** Between two steps a process may stand still: no more of the time between counts. Microseconds. */
const STEP_US_MAX = 50_000;
/** So long a leader may go on after its patience is over, while it runs. Microseconds. */
const LATE_US_MAX = 300_000;

/**
 * Takes a leader. A later one has the votes of a majority, which fetches from nobody else from then on: what was on its
 * way may still come, and then the earlier one has to see that it is left alone.
 */
export function seeReign(judge: ReignJudge, { node, epoch, nowUs, patienceUs }: SeenLeader): Complaint | null {
  if (epoch > judge.epoch) {
    judge.epoch = epoch;
    judge.sinceUs = nowUs;
  }
  if (epoch === judge.epoch || nowUs < judge.sinceUs + patienceUs) {
    judge.late.delete(node);
    return null;
  }
  const before = judge.late.get(node);
  const isOn = before?.epoch === epoch;
  const lateUs = isOn ? before.lateUs + Math.min(STEP_US_MAX, nowUs - before.seenUs) : 0;
  judge.late.set(node, { epoch, seenUs: nowUs, lateUs });
  if (lateUs <= LATE_US_MAX) return null;
  judge.late.set(node, { epoch, seenUs: nowUs, lateUs: -Infinity });
  const sentence = `node ${node} leads the quorum in epoch ${epoch}, long after epoch ${judge.epoch} has had a leader`;
  return { checker: 'overstays', promise: 6, partition: -1, sentence };
}

/** What a member takes for the voters, and what its log says. */
export interface SeenVoters {
  readonly node: number;
  readonly epoch: number;
  /** Each with its directory. */
  readonly voters: readonly string[];
  /** Where the record lies that names them; -1 for none that is known. */
  readonly saidAt: number;
  readonly logEnd: number;
  /** The voters that this lead has named before, and where; null for a member that follows. */
  readonly before: { readonly voters: readonly string[]; readonly saidAt: number } | null;
  readonly highWatermark: number;
  /** Where the first batch of a leader's epoch ends. */
  readonly epochStartNext: number;
}

/**
 * The voters are those of the log, and a cut brings back what was before (Raft, section 6). A leader changes one voter
 * at a time: only once the change before is committed, and something of its own epoch is, for else two majorities need
 * not have a member in common (Ongaro, 2015).
 */
export function judgeVoters(seen: SeenVoters): Complaint | null {
  const { node, epoch, voters, saidAt, logEnd, before, highWatermark, epochStartNext } = seen;
  const who = `node ${node} takes [${voters.join(', ')}] for the voters in epoch ${epoch}`;
  if (saidAt >= logEnd)
    return complaint('unsaid-voters', `${who}, by a record at ${saidAt}, and its log ends at ${logEnd}`);
  if (before === null) return null;
  const come = voters.filter((voter) => !before.voters.includes(voter)).length;
  const gone = before.voters.filter((voter) => !voters.includes(voter)).length;
  if (come + gone === 0) return null;
  if (come + gone > 1)
    return complaint('changed-too-early', `${who}, of [${before.voters.join(', ')}]: more than one changes`);
  if (highWatermark < epochStartNext)
    return complaint('changed-too-early', `${who}, and has committed nothing of that epoch`);
  if (before.saidAt < highWatermark) return null;
  return complaint('changed-too-early', `${who}, and those before, named at ${before.saidAt}, are not committed`);
}
