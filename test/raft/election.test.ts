/** Who leads: elections, votes, the end of a leader, and those who must not disturb. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, RequestOf } from '../../core/protocol/messages/index.ts';
import { stateName } from '../../core/raft/raft.ts';
import { createDice } from '../log/world.ts';
import {
  createCluster,
  heal,
  isConverged,
  kill,
  leaderOf,
  run,
  runUntil,
  start,
  startAll,
  stop,
  submit,
} from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';
import { cut, request } from './network.ts';
import { raftOf, settled } from './settled.ts';

function voteOf(candidate: Member, epoch: number, given: { epoch?: number; offset?: number; preVote?: boolean } = {}) {
  const partition = {
    partitionIndex: 0,
    replicaEpoch: epoch,
    replicaId: candidate.id,
    replicaDirectoryId: candidate.directoryId,
    voterDirectoryId: 'AAAAAAAAAAAAAAAAAAAAAA',
    lastOffsetEpoch: given.epoch ?? epoch - 1,
    lastOffset: given.offset ?? 1000,
    preVote: given.preVote ?? false,
  };
  const topics = [{ topicName: '__cluster_metadata', partitions: [partition] }];
  return { clusterId: null, voterId: -1, topics } satisfies RequestInputOf<52>;
}

function granted(cluster: Cluster, voter: Member, body: RequestInputOf<52>): boolean | ErrorCode {
  const answer = request(cluster, voter, 52, body);
  runUntil(cluster, 1000, () => answer.response !== null);
  const partition = answer.response?.topics[0]?.partitions[0];
  if (partition === undefined) return (answer.response?.errorCode ?? -1) as ErrorCode;
  return partition.errorCode === 0 ? partition.voteGranted : (partition.errorCode as ErrorCode);
}

describe('a first election', () => {
  it('asks whether it would be won, then for votes, then tells who leads; and then there are only fetches', () => {
    const { cluster, leader, others } = settled();
    const mine = cluster.sent
      .filter(({ from }) => from === leader.id)
      .map(({ apiKey, body }) => {
        return apiKey === 52
          ? (body as RequestOf<52>).topics[0]?.partitions[0]?.preVote
            ? 'pre-vote'
            : 'vote'
          : apiKey;
      });
    expect(mine).toEqual(['pre-vote', 'pre-vote', 'vote', 'vote', 53, 53]);
    expect(others.map((member) => [raftOf(member).role, raftOf(member).leaderId])).toEqual([
      ['follower', leader.id],
      ['follower', leader.id],
    ]);
    const before = cluster.sent.length;
    run(cluster, 10_000);
    const keys = new Set(cluster.sent.slice(before).map(({ apiKey }) => apiKey));
    expect([...keys]).toEqual([1]);
    expect(cluster.sent.length - before).toBeLessThanOrEqual(2 * 21);
  });

  it.each([1, 2, 3, 4, 5])('needs %i voters at most to be up by a majority', (voters) => {
    const cluster = createCluster({ dice: createDice(voters), voters });
    const need = Math.floor(voters / 2) + 1;
    for (const member of cluster.members.slice(0, need - 1)) start(cluster, member);
    run(cluster, 10_000);
    expect(leaderOf(cluster)).toBeNull();
    start(cluster, cluster.members[need - 1] as Member);
    expect(runUntil(cluster, 5000, () => leaderOf(cluster) !== null)).toBe(true);
  });

  it('of a quorum of one needs nobody and waits for nothing', () => {
    const cluster = createCluster({ dice: createDice(1), voters: 1 });
    startAll(cluster);
    const from = cluster.nowMs;
    runUntil(cluster, 1000, () => isConverged(cluster));
    expect(cluster.nowMs - from).toBeLessThan(5);
    expect(cluster.sent).toEqual([]);
  });

  it('is won by one who holds all that was committed, though another stands first', () => {
    const { cluster, leader, others } = settled();
    const [behind, ahead] = others;
    kill(cluster, behind, 'process');
    submit(cluster, leader, 7, [1]);
    expect(runUntil(cluster, 5000, () => ahead.seen.has('7'))).toBe(true);
    kill(cluster, leader, 'power');
    start(cluster, behind);
    expect(runUntil(cluster, 10_000, () => leaderOf(cluster) !== null)).toBe(true);
    expect(leaderOf(cluster)).toBe(ahead);
  });
});

describe('a vote', () => {
  it('is given once in an epoch, and again to the same candidate', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    const epoch = raftOf(a).epoch + 5;
    kill(cluster, leader, 'process');
    expect(granted(cluster, a, voteOf(b, epoch))).toBe(true);
    expect(granted(cluster, a, voteOf(leader, epoch))).toBe(false);
    expect(granted(cluster, a, voteOf(b, epoch))).toBe(true);
    expect(stateName(raftOf(a))).toBe('voted');
  });

  it('given before a power loss is remembered after it', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    const epoch = raftOf(a).epoch + 5;
    expect(granted(cluster, a, voteOf(b, epoch))).toBe(true);
    kill(cluster, a, 'power');
    start(cluster, a);
    runUntil(cluster, 1000, () => raftOf(a).stage === 'open');
    expect(granted(cluster, a, voteOf(leader, epoch))).toBe(false);
  });

  it('is refused to a log that is behind: by its last epoch, then by its end', () => {
    const { cluster, others } = settled();
    const [a, b] = others;
    const { epoch, log } = raftOf(a);
    expect(granted(cluster, a, voteOf(b, epoch + 1, { epoch, offset: log.end - 1 }))).toBe(false);
    expect(granted(cluster, a, voteOf(b, epoch + 2, { epoch: epoch - 1, offset: log.end + 100 }))).toBe(false);
    expect(granted(cluster, a, voteOf(b, epoch + 3, { epoch, offset: log.end }))).toBe(true);
  });

  it('is refused in an epoch that has a leader, and a pre-vote while that leader is heard', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    const { epoch } = raftOf(a);
    expect(granted(cluster, a, voteOf(b, epoch, { epoch: epoch - 1 }))).toBe(false);
    expect(granted(cluster, a, voteOf(b, epoch, { epoch, preVote: true }))).toBe(false);
    expect(granted(cluster, leader, voteOf(b, epoch, { epoch, preVote: true }))).toBe(false);
    expect(raftOf(a).role).toBe('follower');
    expect(raftOf(leader).role).toBe('leader');
  });

  it('is refused by error: of an older epoch, for another voter, of another cluster, without sense', () => {
    const { cluster, others } = settled();
    const [a, b] = others;
    const epoch = raftOf(a).epoch + 5;
    granted(cluster, a, voteOf(b, epoch));
    expect(granted(cluster, a, voteOf(b, epoch - 1, { epoch: 0 }))).toBe(ErrorCode.FENCED_LEADER_EPOCH);
    expect(granted(cluster, a, { ...voteOf(b, epoch, { epoch: 0 }), voterId: b.id })).toBe(ErrorCode.INVALID_VOTER_KEY);
    expect(granted(cluster, a, { ...voteOf(b, epoch), clusterId: 'x' })).toBe(ErrorCode.INCONSISTENT_CLUSTER_ID);
    expect(granted(cluster, a, voteOf(b, epoch + 1, { epoch: epoch + 1 }))).toBe(ErrorCode.INVALID_REQUEST);
    expect(granted(cluster, a, voteOf(b, epoch + 1, { offset: -1 }))).toBe(ErrorCode.INVALID_REQUEST);
    expect(raftOf(a).epoch).toBe(epoch);
  });
});

describe('a leader', () => {
  it('whose process dies is followed by another within a third of a second: its port refuses', () => {
    const { cluster, leader } = settled();
    const from = cluster.nowMs;
    kill(cluster, leader, 'process');
    expect(runUntil(cluster, 5000, () => leaderOf(cluster) !== null)).toBe(true);
    expect(cluster.nowMs - from).toBeLessThan(350);
    expect(cluster.reached).toContain('raft.leader_is_gone');
  });

  it('that is stopped cleanly hands over at once', () => {
    const { cluster, leader } = settled();
    const from = cluster.nowMs;
    stop(cluster, leader);
    expect(runUntil(cluster, 5000, () => leaderOf(cluster) !== null)).toBe(true);
    expect(cluster.nowMs - from).toBeLessThan(150);
    expect(cluster.reached).toContain('raft.end_quorum_epoch');
  });

  it('that is merely silent is replaced after the fetch time-out, and follows when it wakes', () => {
    const { cluster, leader } = settled();
    const { epoch } = raftOf(leader);
    leader.pausedUntilMs = cluster.nowMs + 8000;
    const isReplaced = (): boolean => raftOf(leaderOf(cluster) ?? leader).epoch > epoch;
    expect(runUntil(cluster, 6000, isReplaced)).toBe(true);
    expect(runUntil(cluster, 8000, () => isConverged(cluster))).toBe(true);
    expect(raftOf(leader).role).toBe('follower');
  });

  it('that hears no majority resigns, though the others hear it (KAFKA-15489)', () => {
    const { cluster, leader, others } = settled();
    const ids = others.map(({ id }) => id);
    cut(cluster, ids, [leader.id]);
    const from = cluster.nowMs;
    expect(runUntil(cluster, 5000, () => raftOf(leader).lead === null)).toBe(true);
    expect(cluster.nowMs - from).toBeLessThanOrEqual(1501);
    expect(runUntil(cluster, 5000, () => others.includes(leaderOf(cluster) as Member))).toBe(true);
  });

  it('that is cut off keeps nothing that was not committed, and its caller is told that nobody knows', () => {
    const { cluster, leader, others } = settled();
    const told: string[] = [];
    cluster.onEvent = (member, event) => {
      if (member === leader && 'waiter' in event && event.kind !== 'reply') told.push(`${event.kind} ${event.waiter}`);
    };
    cut(
      cluster,
      [leader.id],
      others.map(({ id }) => id),
    );
    cut(
      cluster,
      others.map(({ id }) => id),
      [leader.id],
    );
    submit(cluster, leader, 5, [1]);
    run(cluster, 4000);
    const next = leaderOf(cluster) as Member;
    expect(next).not.toBe(leader);
    expect(told).toEqual(['lost 5']);
    submit(cluster, next, 6, [1]);
    run(cluster, 100);
    heal(cluster);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect([...leader.seen].sort()).toEqual(['6', 'first']);
    expect(cluster.reached).toContain('raft.follower.cut');
  });

  it('that lost even the first batch of its epoch votes for nobody in it', () => {
    const cluster = createCluster({ dice: createDice(3) });
    startAll(cluster);
    const isLeading = ({ quorum }: Member): boolean => quorum?.raft.lead != null;
    runUntil(cluster, 5000, () => cluster.members.some(isLeading));
    const leader = cluster.members.find(isLeading) as Member;
    const { epoch } = raftOf(leader);
    kill(cluster, leader, 'power');
    start(cluster, leader);
    runUntil(cluster, 1000, () => raftOf(leader).stage === 'open');
    expect([raftOf(leader).epoch, raftOf(leader).role, raftOf(leader).log.end]).toEqual([epoch, 'resigned', 0]);
    const other = cluster.members.find((member) => member !== leader) as Member;
    expect(granted(cluster, leader, voteOf(other, epoch, { epoch: epoch - 1 }))).toBe(false);
  });

  it('that lost what it had not synced never leads the same epoch again (KAFKA-10527)', () => {
    const { cluster, leader } = settled();
    const { epoch } = raftOf(leader);
    kill(cluster, leader, 'power');
    start(cluster, leader);
    runUntil(cluster, 1000, () => raftOf(leader).stage === 'open');
    expect(raftOf(leader).epoch).toBe(epoch);
    expect(raftOf(leader).role).not.toBe('leader');
    runUntil(cluster, 5000, () => isConverged(cluster));
    expect(raftOf(leader).epoch).toBeGreaterThan(epoch);
  });
});

describe('a member that is cut off', () => {
  it('raises no epoch and unseats nobody when it comes back', () => {
    const { cluster, leader, others } = settled();
    const [lost] = others;
    const { epoch } = raftOf(leader);
    const rest = cluster.members.filter((member) => member !== lost).map(({ id }) => id);
    cut(cluster, [lost.id], rest);
    cut(cluster, rest, [lost.id]);
    run(cluster, 10_000);
    expect(raftOf(lost).epoch).toBe(epoch);
    cluster.network.cuts.clear();
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect([leaderOf(cluster), raftOf(leader).epoch]).toEqual([leader, epoch]);
  });

  it('that can speak and not hear disturbs nobody', () => {
    const { cluster, leader, others } = settled();
    const [deaf] = others;
    const rest = cluster.members.filter((member) => member !== deaf).map(({ id }) => id);
    cut(cluster, rest, [deaf.id]);
    const { epoch } = raftOf(leader);
    run(cluster, 20_000);
    expect([leaderOf(cluster), raftOf(leader).epoch]).toEqual([leader, epoch]);
  });

  it('from the leader alone, while all others hear both, comes to follow again or is followed', () => {
    const { cluster, leader, others } = settled({ voters: 5 });
    const [lost] = others;
    cut(cluster, [leader.id], [lost.id]);
    cut(cluster, [lost.id], [leader.id]);
    run(cluster, 10_000);
    expect(leaderOf(cluster)).toBe(leader);
    heal(cluster);
    expect(runUntil(cluster, 10_000, () => isConverged(cluster))).toBe(true);
  });

  it('and has a newer epoch than the leader brings about an election, and then all agree', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    const epoch = raftOf(leader).epoch + 9;
    expect(granted(cluster, a, voteOf(b, epoch))).toBe(true);
    expect(runUntil(cluster, 10_000, () => isConverged(cluster) && raftOf(a).epoch >= epoch)).toBe(true);
  });
});

describe('of two voters', () => {
  it('the one leads that has what its leader has lost', () => {
    const { cluster, leader } = settled({ voters: 2 });
    const other = cluster.members.find((member) => member !== leader) as Member;
    const { epoch } = raftOf(leader);
    // What a leader serves it need not have synced: its disk stands still.
    leader.isDiskBusy = true;
    submit(cluster, leader, 5, [1]);
    expect(runUntil(cluster, 1000, () => raftOf(other).log.end > raftOf(leader).log.durable)).toBe(true);
    kill(cluster, leader, 'power');
    start(cluster, leader);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect(raftOf(leaderOf(cluster) as Member).epoch).toBe(epoch + 1);
  });
});

describe('an observer', () => {
  it('finds the leader by any bootstrap server, and the next one after it', () => {
    const { cluster, leader } = settled({ observers: 2 });
    const watcher = cluster.members.at(-1) as Member;
    expect([stateName(raftOf(watcher)), raftOf(watcher).leaderId]).toEqual(['observer', leader.id]);
    kill(cluster, leader, 'process');
    expect(runUntil(cluster, 5000, () => raftOf(watcher).leaderId === leaderOf(cluster)?.id)).toBe(true);
    submit(cluster, leaderOf(cluster) as Member, 6, [1]);
    expect(runUntil(cluster, 1000, () => watcher.seen.has('6'))).toBe(true);
    expect(cluster.sent.filter(({ from, apiKey }) => from === watcher.id && apiKey !== 1)).toEqual([]);
  });

  it('is refused where it is not meant to be one', () => {
    const cluster = createCluster({ dice: createDice(1), observers: 1 });
    const watcher = cluster.members.at(-1) as Member;
    const failed: string[] = [];
    cluster.onEvent = (_member, event) => void (event.kind === 'failed' && failed.push(event.detail));
    (watcher as { isVoter: boolean }).isVoter = true;
    start(cluster, watcher);
    expect(() => run(cluster, 100)).toThrow(/no voters are known/);
    expect(failed).toHaveLength(1);
  });
});
