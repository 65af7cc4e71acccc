/**
 * Voters that come and go, told as an operator sees it: requests to the leader, what it answers, and who votes then.
 */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { votersBelow } from '../../core/raft/voter-history.ts';
import {
  CLUSTER_ID,
  heal,
  isConverged,
  kill,
  leaderOf,
  run,
  runUntil,
  start,
  stop,
  submit,
  swapDisk,
} from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';
import { cut, request } from './network.ts';
import { commit, raftOf, settled } from './settled.ts';
import { checkEnd } from './truth.ts';

type Answer = { response: ResponseOf<80 | 81> | null };

function addition(member: Member, rest: Partial<RequestInputOf<80>> = {}): RequestInputOf<80> {
  const listeners = [{ name: 'CONTROLLER', host: `host-${member.id}`, port: member.port }];
  const key = { voterId: member.id, voterDirectoryId: member.directoryId };
  return { clusterId: CLUSTER_ID, timeoutMs: 5000, ...key, listeners, ackWhenCommitted: true, ...rest };
}

function removal(member: Member, rest: Partial<RequestInputOf<81>> = {}): RequestInputOf<81> {
  return { clusterId: CLUSTER_ID, voterId: member.id, voterDirectoryId: member.directoryId, ...rest };
}

/** Waits for an answer, and says what it was. */
function told(cluster: Cluster, answer: Answer): readonly [string, string | null] {
  expect(runUntil(cluster, 20_000, () => answer.response !== null)).toBe(true);
  const { errorCode, errorMessage } = answer.response as ResponseOf<80>;
  const name = Object.entries(ErrorCode).find(([, code]) => code === errorCode)?.[0] ?? '';
  return [name, errorMessage];
}

function add(cluster: Cluster, member: Member, rest: Partial<RequestInputOf<80>> = {}): ReturnType<typeof told> {
  return told(cluster, request(cluster, leaderOf(cluster) as Member, 80, addition(member, rest)));
}

function remove(cluster: Cluster, member: Member, rest: Partial<RequestInputOf<81>> = {}): ReturnType<typeof told> {
  return told(cluster, request(cluster, leaderOf(cluster) as Member, 81, removal(member, rest)));
}

const DONE = ['NONE', null];

function voterIds(member: Member | null): number[] {
  return member === null ? [] : raftOf(member).quorum.voters.map(({ id }) => id);
}

/** All are up and know the same. */
function rest(cluster: Cluster, ids: readonly number[]): void {
  heal(cluster);
  expect(runUntil(cluster, 15_000, () => isConverged(cluster))).toBe(true);
  for (const member of cluster.members) expect([member.id, voterIds(member)]).toEqual([member.id, ids]);
}

/** The member with this number. */
function at(cluster: Cluster, id: number): Member {
  return cluster.members[id - 1] as Member;
}

describe('a quorum', () => {
  it('grows from one voter to five, and shrinks to one again', () => {
    const { cluster, truth } = settled({ voters: 1, observers: 4 });
    for (const id of [2, 3, 4, 5]) {
      expect(add(cluster, at(cluster, id))).toEqual(DONE);
      commit(cluster, id);
    }
    rest(cluster, [1, 2, 3, 4, 5]);
    for (const id of [1, 4, 2, 5]) {
      expect(remove(cluster, at(cluster, id))).toEqual(DONE);
      const isLed = (): boolean => isConverged(cluster) && leaderOf(cluster)?.id !== id;
      expect(runUntil(cluster, 5000, isLed)).toBe(true);
      commit(cluster, 10 + id);
    }
    rest(cluster, [3]);
    checkEnd(cluster, truth);
  });

  it('counts a new voter from the moment on that the change is in the log', () => {
    const { cluster, leader } = settled({ voters: 1, observers: 1 });
    expect(add(cluster, at(cluster, 2), { ackWhenCommitted: false })).toEqual(DONE);
    kill(cluster, at(cluster, 2), 'process');
    submit(cluster, leader, 1, [1]);
    run(cluster, 1000);
    expect(raftOf(leader).highWatermark).toBeLessThan(raftOf(leader).log.end);
    start(cluster, at(cluster, 2));
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
  });

  it('has its leader lead on until its removal is committed, and then another one', () => {
    const { cluster, leader, truth } = settled({ voters: 3 });
    const { epoch } = raftOf(leader);
    expect(remove(cluster, leader)).toEqual(DONE);
    expect(raftOf(leader).lead).toBe(null);
    const isLed = (): boolean => isConverged(cluster) && leaderOf(cluster) !== leader;
    expect(runUntil(cluster, 500, isLed)).toBe(true);
    expect(raftOf(leaderOf(cluster) as Member).epoch).toBe(epoch + 1);
    run(cluster, 10_000);
    // Whoever was removed follows, and never asks for votes.
    expect(raftOf(leader).epoch).toBe(epoch + 1);
    expect(voterIds(leader)).not.toContain(leader.id);
    checkEnd(cluster, truth);
  });

  it('is led by the one that was being removed, where nobody else can lead', () => {
    const { cluster, leader, truth } = settled({ voters: 2 });
    const other = cluster.members.find((member) => member !== leader) as Member;
    cut(cluster, [leader.id], [other.id]);
    request(cluster, leader, 81, removal(leader));
    run(cluster, 100);
    expect(voterIds(leader)).toEqual([other.id]);
    // The other knows nothing of it: it needs a vote of a member whose log is ahead of its own.
    kill(cluster, leader, 'process');
    cluster.network.cuts.clear();
    start(cluster, leader);
    expect(runUntil(cluster, 5000, () => leaderOf(cluster) === other && isConverged(cluster))).toBe(true);
    expect(voterIds(other)).toEqual([other.id]);
    expect([...truth.leaders.values()]).toEqual([leader.id, leader.id, other.id]);
    checkEnd(cluster, truth);
  });

  it('takes a voter back that was removed', () => {
    const { cluster, others } = settled({ voters: 3 });
    expect(remove(cluster, others[0])).toEqual(DONE);
    commit(cluster, 1);
    expect(add(cluster, others[0])).toEqual(DONE);
    expect(voterIds(leaderOf(cluster)).sort()).toEqual([1, 2, 3]);
  });
});

describe('a leader', () => {
  it('says why it does not change the voters', () => {
    const { cluster, leader, others } = settled({ voters: 3, observers: 1 });
    const newcomer = at(cluster, 4);
    const all =
      '[ReplicaKey(id=1, directoryId=AAAAAAAAAAAAAAAAAAACAA), ' +
      'ReplicaKey(id=2, directoryId=AAAAAAAAAAAAAAAAAAADAA), ReplicaKey(id=3, directoryId=AAAAAAAAAAAAAAAAAAAEAA)]';
    const other = `AAAAAAAAAAAAAAAAAAAZAA`;
    expect(add(cluster, at(cluster, 2), { voterDirectoryId: other })).toEqual([
      'DUPLICATE_VOTER',
      `The voter id for ReplicaKey(id=2, directoryId=${other}) is already part of the set of voters ${all}.`,
    ]);
    expect(remove(cluster, at(cluster, 2), { voterDirectoryId: other })).toEqual([
      'VOTER_NOT_FOUND',
      `Cannot remove voter ReplicaKey(id=2, directoryId=${other}) from the set of voters ${all}`,
    ]);
    const noId = 'AAAAAAAAAAAAAAAAAAAAAA';
    const bare = "request didn't include a valid voter";
    expect(add(cluster, newcomer, { voterDirectoryId: noId })).toEqual(['INVALID_REQUEST', `Add voter ${bare}`]);
    expect(remove(cluster, newcomer, { voterId: -1 })).toEqual(['INVALID_REQUEST', `Remove voter ${bare}`]);
    expect(add(cluster, newcomer, { listeners: [{ name: 'OTHER', host: 'h', port: 1 }] })).toEqual([
      'INVALID_REQUEST',
      "Add voter request didn't include the endpoint (Endpoints(endpoints={OTHER=h:1})) for the default listener " +
        'CONTROLLER',
    ]);
    expect(add(cluster, newcomer, { clusterId: 'another' })).toEqual([
      'INCONSISTENT_CLUSTER_ID',
      `The given id "another" doesn't match the cluster id "${CLUSTER_ID}"`,
    ]);
    expect(told(cluster, request(cluster, others[0], 80, addition(newcomer)))).toEqual([
      'NOT_LEADER_OR_FOLLOWER',
      null,
    ]);
    expect(told(cluster, request(cluster, others[0], 81, removal(leader)))).toEqual(['NOT_LEADER_OR_FOLLOWER', null]);
    rest(cluster, [1, 2, 3]);
  });

  it('changes no voters that the configuration names', () => {
    const { cluster } = settled({ voters: 3, observers: 1, isDynamic: false });
    const why = 'voter because the kraft.version feature is 0';
    expect(add(cluster, at(cluster, 4))).toEqual(['UNSUPPORTED_VERSION', `Cluster doesn't support adding ${why}`]);
    expect(remove(cluster, at(cluster, 2))).toEqual(['UNSUPPORTED_VERSION', `Cluster doesn't support removing ${why}`]);
  });

  it('does not remove the only voter', () => {
    const { cluster, leader } = settled({ voters: 1, observers: 1 });
    const key = `ReplicaKey(id=1, directoryId=${leader.directoryId})`;
    const why = `Cannot remove voter ${key} from the set of voters [${key}]`;
    expect(remove(cluster, leader)).toEqual(['VOTER_NOT_FOUND', why]);
  });

  it('removes no voter where too few of the others are there to commit that', () => {
    const { cluster, others } = settled({ voters: 3 });
    kill(cluster, others[0], 'process');
    run(cluster, 1200);
    const [code, why] = remove(cluster, others[1]);
    expect([code, why?.includes('have caught up')]).toEqual(['REQUEST_TIMED_OUT', true]);
    // The dead one may go.
    expect(remove(cluster, others[0])).toEqual(DONE);
    rest(cluster, voterIds(leaderOf(cluster)));
  });

  it('makes one change at a time', () => {
    const { cluster, leader } = settled({ voters: 1, observers: 2 });
    // It is another directory that is meant than the one that fetches.
    const unknown = { voterDirectoryId: 'AAAAAAAAAAAAAAAAAAAZAA' };
    const first = request(cluster, leader, 80, addition(at(cluster, 2), unknown));
    run(cluster, 100);
    const busy = ['REQUEST_TIMED_OUT', 'Request timed out waiting for leader to handle previous voter change request'];
    expect(add(cluster, at(cluster, 3))).toEqual(busy);
    expect(remove(cluster, leader)).toEqual(busy);
    expect(told(cluster, first)[0]).toBe('REQUEST_TIMED_OUT');
    expect(add(cluster, at(cluster, 3))).toEqual(DONE);
    rest(cluster, [1, 3]);
  });

  it('waits for a new voter until it has what the leader has, and not for ever', () => {
    const { cluster } = settled({ voters: 1, observers: 1 });
    cut(cluster, [2], [1]);
    run(cluster, 3000);
    const startMs = cluster.nowMs;
    const key = `ReplicaKey(id=2, directoryId=${at(cluster, 2).directoryId})`;
    // Its answer about its versions is lost too.
    const silent = `Aborted add voter operation for ${key} since API_VERSIONS returned an error REQUEST_TIMED_OUT`;
    expect(add(cluster, at(cluster, 2))).toEqual(['REQUEST_TIMED_OUT', silent]);
    kill(cluster, at(cluster, 2), 'process');
    cluster.network.cuts.clear();
    const dead = `Aborted add voter operation for ${key} since API_VERSIONS returned an error BROKER_NOT_AVAILABLE`;
    expect(add(cluster, at(cluster, 2))).toEqual(['REQUEST_TIMED_OUT', dead]);
    expect(cluster.nowMs - startMs).toBeLessThan(3000);
    rest(cluster, [1]);
  });

  it('gives up a new voter that answers, but does not fetch', () => {
    const { cluster } = settled({ voters: 1, observers: 2 });
    const stranger = at(cluster, 2);
    const lagging = 'since it is lagging behind';
    // It is another directory that is meant than the one that fetches.
    const [code, why] = add(cluster, stranger, { voterDirectoryId: 'AAAAAAAAAAAAAAAAAAAZAA' });
    expect([code, why?.endsWith(lagging)]).toEqual(['REQUEST_TIMED_OUT', true]);
    expect(cluster.reached).toContain('raft.voter.given_up');
    expect(add(cluster, stranger)).toEqual(DONE);
  });

  it('that loses its lead tells whoever waits, and goes by what the next leader says', () => {
    const { cluster, leader, others, truth } = settled({ voters: 3 });
    const [a, b] = others;
    cut(cluster, [leader.id], [a.id, b.id]);
    cut(cluster, [a.id, b.id], [leader.id]);
    const answer = request(cluster, leader, 81, removal(a));
    expect(voterIds(leader)).not.toContain(a.id);
    expect(told(cluster, answer)[0]).toMatch(/NOT_LEADER_OR_FOLLOWER|REQUEST_TIMED_OUT/);
    expect(runUntil(cluster, 10_000, () => leaderOf(cluster) !== leader && leaderOf(cluster) !== null)).toBe(true);
    commitTo(cluster, 5);
    rest(cluster, [1, 2, 3]);
    expect(cluster.reached).toContain('raft.follower.cut');
    checkEnd(cluster, truth);
  });
});

/** Submits one request to whoever leads, without waiting for the others. */
function commitTo(cluster: Cluster, waiter: number): void {
  submit(cluster, leaderOf(cluster) as Member, waiter, [waiter]);
  run(cluster, 500);
}

describe('a snapshot', () => {
  it('names the voters of its own end, not those of what comes behind', () => {
    const { cluster, leader } = settled({ voters: 1, observers: 2, snapshotBytes: 300 });
    const before = raftOf(leader).log.end;
    expect(add(cluster, at(cluster, 2))).toEqual(DONE);
    const raft = raftOf(leader);
    expect(votersBelow(raft, before).voters.map(({ id }) => id)).toEqual([1]);
    expect(votersBelow(raft, raft.log.end).voters.map(({ id }) => id)).toEqual([1, 2]);
    for (let i = 1; i < 12; i++) commit(cluster, i);
    expect(raft.snapshots.length).toBeGreaterThan(0);
    // Whoever starts on it knows the voters by it.
    const late = at(cluster, 3);
    swapDisk(cluster, late);
    start(cluster, late);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect([voterIds(late), cluster.reached.has('raft.download.done')]).toEqual([[1, 2], true]);
  });
});

describe('a voter whose disk was replaced', () => {
  it('has no vote, whoever asks, and its quorum goes by that', () => {
    const { cluster, leader, others, truth } = settled({ voters: 3 });
    const [a, b] = others;
    commit(cluster, 1);
    swapDisk(cluster, a);
    start(cluster, a);
    kill(cluster, leader, 'process');
    run(cluster, 10_000);
    // Two of three are up, but one of them has lost its memory.
    expect(leaderOf(cluster)).toBe(null);
    expect(raftOf(b).lead).toBe(null);
    start(cluster, leader);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    checkEnd(cluster, truth);
  });

  it('votes again once the old directory was removed and the new one added', () => {
    const { cluster, others, truth } = settled({ voters: 3 });
    const [a] = others;
    const old = { voterDirectoryId: a.directoryId };
    swapDisk(cluster, a);
    start(cluster, a);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect(add(cluster, a)[0]).toBe('DUPLICATE_VOTER');
    expect(remove(cluster, a, old)).toEqual(DONE);
    expect(add(cluster, a)).toEqual(DONE);
    kill(cluster, leaderOf(cluster) as Member, 'process');
    expect(runUntil(cluster, 5000, () => leaderOf(cluster) !== null)).toBe(true);
    heal(cluster);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    checkEnd(cluster, truth);
  });

  it('sees to that by itself where it may join by itself', () => {
    const { cluster, others, truth } = settled({ voters: 3 });
    const [a] = others;
    swapDisk(cluster, a);
    a.autoJoins = true;
    start(cluster, a);
    const isIn = (): boolean =>
      isConverged(cluster) && raftOf(a).quorum.voters.some(({ directoryId }) => directoryId === a.directoryId);
    expect(runUntil(cluster, 10_000, isIn)).toBe(true);
    expect(voterIds(a).sort()).toEqual([1, 2, 3]);
    checkEnd(cluster, truth);
  });
});

describe('a voter that listens elsewhere', () => {
  it('has the leader say so, and is found there', () => {
    const { cluster, others } = settled({ voters: 3 });
    const [a] = others;
    stop(cluster, a);
    expect(runUntil(cluster, 1000, () => a.quorum === null)).toBe(true);
    a.port = 9999;
    start(cluster, a);
    const portOf = (member: Member): number | undefined =>
      raftOf(member).quorum.voters.find(({ id }) => id === a.id)?.endpoints[0]?.port;
    expect(runUntil(cluster, 5000, () => isConverged(cluster) && portOf(a) === 9999)).toBe(true);
    expect(cluster.members.map(portOf)).toEqual([9999, 9999, 9999]);
    const asked = cluster.sent.filter(({ apiKey }) => apiKey === 82).length;
    run(cluster, 10_000);
    expect(cluster.sent.filter(({ apiKey }) => apiKey === 82)).toHaveLength(asked);
  });

  it('says so itself when it leads', () => {
    const { cluster, leader } = settled({ voters: 1, observers: 1 });
    kill(cluster, leader, 'process');
    leader.port = 9999;
    start(cluster, leader);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    expect(raftOf(at(cluster, 2)).quorum.voters[0]?.endpoints).toEqual([
      { name: 'CONTROLLER', host: 'host-1', port: 9999 },
    ]);
  });
});
