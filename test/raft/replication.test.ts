/** What goes from the leader to the others: records, the high watermark, cuts of a tail; and who is refused. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { RequestInputOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import { describeQuorum } from '../../core/raft/describe.ts';
import { METADATA_TOPIC_ID } from '../../core/raft/names.ts';
import { FAKE_CODECS } from '../log/world.ts';
import { isConverged, kill, leaderOf, run, runUntil, start, submit } from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';
import { cut, request } from './network.ts';
import { commit, raftOf, settled } from './settled.ts';
import { batchesOf, checkEnd } from './truth.ts';

interface FetchFrom {
  readonly id?: number;
  readonly directoryId?: string;
  readonly offset: number;
  readonly epoch: number;
  readonly leaderEpoch?: number;
  readonly waitMs?: number;
  readonly highWatermark?: number;
}

function fetchBody(leader: Member, from: FetchFrom): RequestInputOf<1> {
  const partition = {
    partition: 0,
    currentLeaderEpoch: from.leaderEpoch ?? raftOf(leader).epoch,
    fetchOffset: from.offset,
    lastFetchedEpoch: from.epoch,
    logStartOffset: 0,
    partitionMaxBytes: 1_000_000,
    replicaDirectoryId: from.directoryId ?? 'AAAAAAAAAAAAAAAAAAAAAA',
    ...(from.highWatermark === undefined ? {} : { highWatermark: from.highWatermark }),
  };
  const topics = [{ topic: '', topicId: METADATA_TOPIC_ID, partitions: [partition] }];
  const replicaState = { replicaId: from.id ?? 99, replicaEpoch: -1 };
  return { clusterId: null, replicaState, maxWaitMs: from.waitMs ?? 0, minBytes: 0, topics, forgottenTopicsData: [] };
}

type Fetched = ResponseOf<1>['responses'][number]['partitions'][number];

function fetch(cluster: Cluster, to: Member, from: FetchFrom): { answer: Fetched | null } {
  const asked = request(cluster, to, 1, fetchBody(to, from));
  return {
    get answer() {
      return asked.response?.responses[0]?.partitions[0] ?? null;
    },
  };
}

/** The fetch of a member that is down, as it would have come. */
function as(member: Member, rest: Omit<FetchFrom, 'id' | 'directoryId'>): FetchFrom {
  return { id: member.id, directoryId: member.directoryId, ...rest };
}

describe('a record', () => {
  it('is served before the leader has synced it, and committed when a majority has', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    const before = raftOf(leader).highWatermark;
    // The leader's own disk is busy with something else.
    leader.isDiskBusy = true;
    submit(cluster, leader, 5, [1]);
    run(cluster, 300);
    expect(raftOf(a).log.durable).toBeGreaterThan(before);
    expect(raftOf(b).log.durable).toBeGreaterThan(before);
    expect(raftOf(leader).log.durable).toBe(before);
    expect(raftOf(leader).highWatermark).toBe(before);
    leader.isDiskBusy = false;
    submit(cluster, leader, 6, [1]);
    expect(runUntil(cluster, 1000, () => isConverged(cluster) && leader.seen.has('6'))).toBe(true);
  });

  it('is on two of three disks when its caller is answered, and waits where only one is up', () => {
    const { cluster, leader, others } = settled();
    const answered: number[] = [];
    cluster.onEvent = (_member, event) => void (event.kind === 'answered' && answered.push(event.waiter));
    for (const other of others) kill(cluster, other, 'process');
    submit(cluster, leader, 5, [1]);
    run(cluster, 1000);
    expect(answered).toEqual([]);
    start(cluster, others[0]);
    run(cluster, 300);
    expect(answered).toEqual([5]);
  });

  it('reaches everyone in about a trip and a sync, without waiting for a long poll to end', () => {
    const { cluster } = settled();
    run(cluster, 170);
    const from = cluster.nowMs;
    commit(cluster, 5);
    expect(cluster.nowMs - from).toBeLessThan(130);
  });

  it('of an older epoch is not committed by counting who holds it (Raft, figure 8)', () => {
    const { cluster, leader, others } = settled({ voters: 5 });
    const [a] = others;
    const rest = cluster.members.filter((member) => member !== leader && member !== a);
    cut(
      cluster,
      [leader.id],
      rest.map(({ id }) => id),
    );
    submit(cluster, leader, 5, [1]);
    runUntil(cluster, 1000, () => raftOf(a).log.durable > raftOf(a).highWatermark);
    const tail = raftOf(a).log.durable;
    // Three are left: only the one that holds the tail can win.
    kill(cluster, leader, 'process');
    kill(cluster, rest[0] as Member, 'process');
    cluster.network.cuts.clear();
    expect(runUntil(cluster, 10_000, () => raftOf(a).lead !== null)).toBe(true);
    for (const other of rest.slice(1)) kill(cluster, other, 'process');
    run(cluster, 100);
    const { highWatermark, lead } = raftOf(a);
    expect(tail).toBe(lead?.epochStart);
    // Two voters say that they hold the tail, which makes three with the leader. The truth does not know of this play.
    cluster.onStep = () => {};
    const epoch = batchesOf(a, tail - 1)[0]?.epoch ?? -1;
    for (const other of rest.slice(1))
      expect(fetch(cluster, a, as(other, { offset: tail, epoch })).answer?.errorCode).toBe(0);
    expect(raftOf(a).highWatermark).toBe(highWatermark);
    for (const other of rest.slice(1)) {
      fetch(cluster, a, as(other, { offset: lead?.epochStartNext ?? -1, epoch: raftOf(a).epoch }));
    }
    expect(raftOf(a).highWatermark).toBe(lead?.epochStartNext);
  });
});

describe('a fetch', () => {
  it('that finds nothing waits, for its time, for records, or for a higher high watermark than it knows', () => {
    const { cluster, leader } = settled();
    const { log, epoch, highWatermark } = raftOf(leader);
    const idle = fetch(cluster, leader, { offset: log.end, epoch, waitMs: 400, highWatermark });
    run(cluster, 380);
    expect(idle.answer).toBeNull();
    run(cluster, 25);
    expect(idle.answer).toMatchObject({ errorCode: 0, highWatermark, divergingEpoch: { endOffset: -1 } });
    const stale = fetch(cluster, leader, { offset: log.end, epoch, waitMs: 400, highWatermark: highWatermark - 1 });
    expect(stale.answer?.highWatermark).toBe(highWatermark);
    const waiting = fetch(cluster, leader, { offset: log.end, epoch, waitMs: 400, highWatermark });
    submit(cluster, leader, 5, [1]);
    expect(waiting.answer?.records?.length).toBeGreaterThan(0);
  });

  it('answers the one of the same member that waits', () => {
    const { cluster, leader } = settled();
    const { log, epoch, highWatermark } = raftOf(leader);
    const first = fetch(cluster, leader, { offset: log.end, epoch, waitMs: 400, highWatermark });
    fetch(cluster, leader, { offset: log.end, epoch, waitMs: 400, highWatermark });
    expect(first.answer?.errorCode).toBe(0);
  });

  it('of a log that parts from the leader is told where, and counts for nothing (KAFKA-13141)', () => {
    const { cluster, leader, others } = settled();
    for (const waiter of [5, 6]) commit(cluster, waiter);
    for (const other of others) kill(cluster, other, 'process');
    submit(cluster, leader, 7, [1]);
    run(cluster, 100);
    const { log, epoch, highWatermark } = raftOf(leader);
    // Nobody is there to hold what these fetches claim, which the truth would see.
    cluster.onStep = () => {};
    const beyond = fetch(cluster, leader, as(others[0], { offset: log.end + 50, epoch }));
    expect(beyond.answer).toMatchObject({ errorCode: 0, divergingEpoch: { epoch, endOffset: log.end } });
    expect(beyond.answer?.records?.length ?? 0).toBe(0);
    expect(raftOf(leader).highWatermark).toBe(highWatermark);
    expect(raftOf(leader).lead?.replicas.get(others[0].id)?.end).toBeLessThan(log.end);
    fetch(cluster, leader, as(others[0], { offset: log.end, epoch }));
    expect(raftOf(leader).highWatermark).toBe(log.end);
  });

  it('is refused by error, with who leads and where', () => {
    const { cluster, leader, others } = settled();
    const { epoch, log } = raftOf(leader);
    const code = (to: Member, from: Partial<FetchFrom>): number | undefined =>
      fetch(cluster, to, { offset: log.end, epoch, leaderEpoch: epoch, ...from }).answer?.errorCode;
    expect(code(leader, { leaderEpoch: epoch - 1 })).toBe(ErrorCode.FENCED_LEADER_EPOCH);
    expect(code(leader, { leaderEpoch: epoch + 1 })).toBe(ErrorCode.UNKNOWN_LEADER_EPOCH);
    expect(code(leader, { offset: -1 })).toBe(ErrorCode.INVALID_REQUEST);
    expect(code(leader, { epoch: epoch + 1 })).toBe(ErrorCode.INVALID_REQUEST);
    const elsewhere = request(cluster, others[0], 1, fetchBody(others[0], { offset: 0, epoch: 0, leaderEpoch: epoch }));
    const partition = elsewhere.response?.responses[0]?.partitions[0];
    expect(partition?.errorCode).toBe(ErrorCode.NOT_LEADER_OR_FOLLOWER);
    expect(partition?.currentLeader).toEqual({ leaderId: leader.id, leaderEpoch: epoch });
    expect(elsewhere.response?.nodeEndpoints).toMatchObject([
      { nodeId: leader.id, host: `host-${leader.id}`, port: 9093 },
    ]);
  });

  it('of one whose disk was lost starts at the beginning, and the high watermark stays (KAFKA-12181)', () => {
    const { cluster, truth, leader, others } = settled({ isDynamic: false });
    for (const waiter of [5, 6, 7]) commit(cluster, waiter);
    const [lost] = others;
    const { highWatermark } = raftOf(leader);
    kill(cluster, lost, 'process');
    lost.disk.names.clear();
    lost.disk.durableNames.clear();
    lost.recoveryPoint = 0;
    start(cluster, lost);
    runUntil(cluster, 5000, () => isConverged(cluster));
    expect(raftOf(leader).highWatermark).toBeGreaterThanOrEqual(highWatermark);
    checkEnd(cluster, truth);
  });
});

it('every version that is offered is answered in its own words', () => {
  const { cluster, leader, others } = settled();
  const topicName = '__cluster_metadata';
  const { epoch, directoryId } = raftOf(leader);
  const at = { partitionIndex: 0, leaderId: leader.id, leaderEpoch: epoch, voterDirectoryId: directoryId };
  const bodies = {
    1: (version: number) => {
      const body = fetchBody(leader, { offset: 0, epoch: 0 });
      const partition = { ...body.topics[0]?.partitions[0], lastFetchedEpoch: version < 12 ? -1 : 0 } as never;
      const topics = [{ topic: topicName, topicId: METADATA_TOPIC_ID, partitions: [partition] }];
      const state = version < 15 ? { replicaId: 99 } : { replicaState: { replicaId: 99, replicaEpoch: -1 } };
      return { maxWaitMs: 0, minBytes: 0, topics, forgottenTopicsData: [], ...state };
    },
    52: () => {
      const vote = { partitionIndex: 0, replicaEpoch: epoch, replicaId: 2, lastOffsetEpoch: 0, lastOffset: 0 };
      const ids = { replicaDirectoryId: directoryId, voterDirectoryId: directoryId };
      return { topics: [{ topicName, partitions: [{ ...vote, ...ids, preVote: false }] }] };
    },
    53: () => ({ topics: [{ topicName, partitions: [at] }], leaderEndpoints: [] }),
    54: () => ({
      topics: [{ topicName, partitions: [{ ...at, preferredSuccessors: [], preferredCandidates: [] }] }],
      leaderEndpoints: [],
    }),
    59: () => {
      const partition = {
        partition: 0,
        currentLeaderEpoch: epoch,
        snapshotId: { endOffset: 9, epoch: 1 },
        position: 0,
      };
      return {
        replicaId: 9,
        topics: [{ name: topicName, partitions: [{ ...partition, replicaDirectoryId: directoryId }] }],
      };
    },
  };
  const ranges = [
    [1, 4, 18],
    [52, 0, 2],
    [53, 0, 1],
    [54, 0, 1],
    [59, 0, 1],
  ] as const;
  for (const [apiKey, first, last] of ranges) {
    for (let version = first; version <= last; version++) {
      for (const to of [others[0], leader]) {
        const answer = request(cluster, to, apiKey, bodies[apiKey](version) as never, version);
        run(cluster, 20);
        expect(answer.response, `${apiKey} v${version}`).not.toBeNull();
      }
    }
  }
});

describe('the high watermark', () => {
  it('that comes with the order to cut is not believed (KAFKA-14704)', () => {
    const { cluster, leader, others } = settled();
    const [a, b] = others;
    // The leader and nobody else appends; then it is cut off, and the others go on.
    cut(cluster, [leader.id], [a.id, b.id]);
    cut(cluster, [a.id, b.id], [leader.id]);
    for (let waiter = 10; waiter < 14; waiter++) submit(cluster, leader, waiter, [1]);
    run(cluster, 4000);
    for (let waiter = 20; waiter < 24; waiter++) submit(cluster, leaderOf(cluster) as Member, waiter, [1]);
    run(cluster, 500);
    cluster.network.cuts.clear();
    // `truth.look` holds each high watermark to what is committed, after every step.
    expect(runUntil(cluster, 10_000, () => isConverged(cluster))).toBe(true);
    expect(cluster.reached).toContain('log.truncate.done');
    expect(leader.seen.has('10')).toBe(false);
    expect(leader.seen.has('23')).toBe(true);
  });
});

describe('a log that cannot be read up to where it is to be cut', () => {
  const logOf = ({ disk }: Member) =>
    [...disk.names].find(([path]) => path.endsWith('.log'))?.[1] as { bytes: Uint8Array };
  const endOf = (member: Member): number => raftOf(member).log.end;

  function fellBehind(cluster: Cluster, leader: Member, others: readonly Member[], damagedFrom: number): void {
    const ids = others.map(({ id }) => id);
    cut(cluster, [leader.id], ids);
    cut(cluster, ids, [leader.id]);
    for (let waiter = 10; waiter < 14; waiter++) submit(cluster, leader, waiter, [1]);
    run(cluster, 4000);
    for (let waiter = 20; waiter < 24; waiter++) submit(cluster, leaderOf(cluster) as Member, waiter, [1]);
    run(cluster, 500);
    logOf(leader).bytes.fill(0, damagedFrom);
    cluster.network.cuts.clear();
  }

  function expectEnd(cluster: Cluster): void {
    const met = (): unknown => runUntil(cluster, 10_000, () => isConverged(cluster));
    expect(met).toThrow(/is damaged at offset \d+/);
    expect(cluster.reached).toContain('raft.follower.cut_refused');
  }

  it('ends its node: the voter does not wait for ever', () => {
    const { cluster, leader, others } = settled();
    fellBehind(cluster, leader, others, 0);
    expectEnd(cluster);
  });

  it('ends its node where only the others know that what is damaged is committed: the voter does not forget it', () => {
    const { cluster, leader, others } = settled();
    const soundBytes = logOf(leader).bytes.length;
    const soundEnd = endOf(leader);
    submit(cluster, leader, 1, [1]);
    runUntil(cluster, 1000, () => others.some((one) => endOf(one) > soundEnd));
    expect(raftOf(leader).highWatermark).toBe(soundEnd);
    fellBehind(cluster, leader, others, soundBytes);
    expectEnd(cluster);
  });
});

describe('whoever follows', () => {
  it('has every committed change, leads from there without reading again, and falls back to what is committed', () => {
    const { cluster, leader } = settled();
    for (const waiter of [5, 6]) commit(cluster, waiter);
    kill(cluster, leader, 'process');
    const told: string[] = [];
    cluster.onEvent = (member, event) => {
      if (!['call', 'reply', 'leader'].includes(event.kind)) told.push(`${member.id} ${event.kind}`);
    };
    expect(runUntil(cluster, 5000, () => leaderOf(cluster)?.quorum?.coordinator.stage === 'active')).toBe(true);
    const next = leaderOf(cluster) as Member;
    expect(told).toEqual([`${next.id} active`]);
    start(cluster, leader);
    expect(runUntil(cluster, 5000, () => isConverged(cluster))).toBe(true);
    told.length = 0;
    cut(
      cluster,
      cluster.members.map(({ id }) => id),
      [next.id],
    );
    submit(cluster, next, 7, [1]);
    run(cluster, 5000);
    cluster.network.cuts.clear();
    runUntil(cluster, 5000, () => isConverged(cluster));
    commit(cluster, 8);
    const own = told.filter((line) => line.startsWith(`${next.id} `));
    expect(own.slice(0, 2)).toEqual([`${next.id} inactive`, `${next.id} lost`]);
    expect(own.slice(2).every((line) => line.endsWith('changed') || line.endsWith('active'))).toBe(true);
    expect(next.seen.has('8')).toBe(true);
  });
});

it('DescribeQuorum says how far each voter and each observer is, and when it was last heard of', () => {
  const { cluster, leader, others } = settled({ observers: 1 });
  const env = { nowMs: 0, wallMs: 5, crc32c: () => 0, codecs: FAKE_CODECS, reached: () => {} };
  const body = { topics: [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }] };
  const ask = () => describeQuorum(raftOf(leader), env, body).topics[0]?.partitions[0];
  kill(cluster, others[1], 'process');
  submit(cluster, leader, 5, [1]);
  run(cluster, 200);
  const { end } = raftOf(leader).log;
  const described = ask();
  const lags = new Map(described?.currentVoters.map((voter) => [voter.replicaId, end - voter.logEndOffset]));
  expect(lags.get(leader.id)).toBe(0);
  expect(lags.get(others[0].id)).toBe(0);
  expect(lags.get(others[1].id)).toBe(1);
  expect(described?.observers).toMatchObject([{ replicaId: 4, logEndOffset: end }]);
  const fresh =
    described?.currentVoters.find(({ replicaId }) => replicaId === others[0].id)?.lastCaughtUpTimestamp ?? 0;
  const stale =
    described?.currentVoters.find(({ replicaId }) => replicaId === others[1].id)?.lastCaughtUpTimestamp ?? 0;
  expect(fresh).toBeGreaterThan(stale);
});
