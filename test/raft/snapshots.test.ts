/** Snapshots that go from the leader to the others, whatever interrupts them. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { takeDownloaded } from '../../core/raft/download.ts';
import { createDice } from '../log/world.ts';
import { act, isConverged, kill, leaderOf, run, runUntil, start, step, submit } from './cluster.ts';
import type { Cluster, Member } from './cluster-state.ts';
import { request } from './network.ts';
import { commit, raftOf, type Settled, settled } from './settled.ts';
import { checkEnd } from './truth.ts';

describe('a snapshot', () => {
  function withSnapshots(): Settled {
    const all = settled({ snapshotBytes: 500 });
    for (let waiter = 1; waiter <= 25; waiter++) commit(all.cluster, waiter);
    run(all.cluster, 500);
    expect(raftOf(all.leader).log.start).toBeGreaterThan(0);
    return all;
  }

  /** The member loses its disk, but not what it is to the quorum. */
  function wipe(cluster: Cluster, member: Member): void {
    kill(cluster, member, 'process');
    for (const names of [member.disk.names, member.disk.durableNames]) {
      for (const path of [...names.keys()]) if (!path.endsWith('quorum-state')) names.delete(path);
    }
    const formatted = cluster.members.find((one) => one !== member)?.disk.names ?? new Map();
    for (const [path, inode] of formatted) if (/0{20}-0{10}/.test(path)) member.disk.names.set(path, inode);
    member.recoveryPoint = 0;
  }

  /** Without a disk it is away while so much is committed. */
  function keepAway(cluster: Cluster, member: Member, count: number): void {
    wipe(cluster, member);
    for (let waiter = 1; waiter <= count; waiter++) {
      submit(cluster, leaderOf(cluster) as Member, waiter, [waiter]);
      run(cluster, 60);
    }
  }

  it('is written by everyone, each for itself, and the log is cut under it', () => {
    const { cluster } = withSnapshots();
    for (const member of cluster.members) expect(raftOf(member).log.start, `member ${member.id}`).toBeGreaterThan(0);
  });

  it('is fetched by an observer that comes late, piece by piece, and the log goes on behind it', () => {
    const { cluster, truth } = settled({ snapshotBytes: 500, observers: 1 });
    const watcher = cluster.members.at(-1) as Member;
    keepAway(cluster, watcher, 25);
    start(cluster, watcher);
    expect(runUntil(cluster, 10_000, () => isConverged(cluster))).toBe(true);
    expect(cluster.reached).toContain('raft.download.done');
    expect(cluster.sent.filter(({ from, apiKey }) => from === watcher.id && apiKey === 59).length).toBeGreaterThan(0);
    expect(raftOf(watcher).log.start).toBeGreaterThan(0);
    checkEnd(cluster, truth);
    commit(cluster, 99);
    expect(watcher.seen.has('99')).toBe(true);
  });

  it('being fetched may be interrupted anywhere, by a crash or by a power loss', { timeout: 60_000 }, () => {
    const reached = new Set<string>();
    for (const how of ['process', 'power'] as const) {
      let isInterrupted = true;
      for (let steps = 10; isInterrupted; steps += how === 'power' ? 3 : 7) {
        const { cluster, truth } = settled({ snapshotBytes: 500, observers: 1, dice: createDice(steps) });
        const watcher = cluster.members.at(-1) as Member;
        keepAway(cluster, watcher, 12);
        cluster.reached.delete('raft.download.done');
        start(cluster, watcher);
        for (let i = 0; i < steps; i++) step(cluster);
        isInterrupted = !isConverged(cluster) && steps < 400;
        kill(cluster, watcher, how);
        start(cluster, watcher);
        expect(
          runUntil(cluster, 10_000, () => isConverged(cluster)),
          `${how} after ${steps}`,
        ).toBe(true);
        expect(raftOf(watcher).log.damaged).toEqual([]);
        checkEnd(cluster, truth);
        for (const mark of cluster.reached) reached.add(mark);
      }
    }
    expect(reached).toContain('raft.opening.false_head');
  });

  it('is not in its place because the disk answers for a file that was given up before', () => {
    const { cluster } = settled({ snapshotBytes: 500, observers: 1 });
    const watcher = cluster.members.at(-1) as Member;
    keepAway(cluster, watcher, 12);
    start(cluster, watcher);
    const stage = (): string | undefined => watcher.quorum?.raft.installing?.stage;
    expect(runUntil(cluster, 10_000, () => stage() === 'name')).toBe(true);
    const earlier = (raftOf(watcher).installing?.file ?? 0) - 1;
    for (let i = 0; i < 2; i++) {
      act(cluster, watcher, ({ raft }, env, out) => {
        takeDownloaded({ raft, env, out, events: [] }, earlier, { kind: 'synced', ticket: 0, owner: 0 });
      });
    }
    expect(stage()).toBe('name');
    expect(runUntil(cluster, 10_000, () => isConverged(cluster))).toBe(true);
  });

  it('is served by its id and position only', () => {
    const { cluster, leader } = withSnapshots();
    const { epoch: currentLeaderEpoch, snapshots } = raftOf(leader);
    const id = snapshots.at(-1) as { endOffset: number; epoch: number };
    const ask = (given: { id?: typeof id; position?: number; leaderEpoch?: number; maxBytes?: number }) => {
      const partition = {
        partition: 0,
        currentLeaderEpoch: given.leaderEpoch ?? currentLeaderEpoch,
        snapshotId: given.id ?? id,
        position: given.position ?? 0,
      };
      const topics = [{ name: '__cluster_metadata', partitions: [partition] }];
      const answer = request(cluster, leader, 59, { replicaId: 9, maxBytes: given.maxBytes ?? 1_000_000, topics });
      run(cluster, 50);
      return answer.response?.topics[0]?.partitions[0];
    };
    const whole = ask({});
    expect(whole).toMatchObject({ errorCode: 0, position: 0, snapshotId: id });
    expect(whole?.unalignedRecords.length).toBe(whole?.size);
    expect(ask({ position: 100, maxBytes: 30 })?.unalignedRecords).toEqual(whole?.unalignedRecords.slice(100, 130));
    expect(ask({ position: whole?.size ?? 0 })?.errorCode).toBe(ErrorCode.POSITION_OUT_OF_RANGE);
    expect(ask({ position: -1 })?.errorCode).toBe(ErrorCode.POSITION_OUT_OF_RANGE);
    expect(ask({ id: { endOffset: 1, epoch: 1 } })?.errorCode).toBe(ErrorCode.SNAPSHOT_NOT_FOUND);
    expect(ask({ id: { endOffset: 0, epoch: 0 } })?.errorCode).toBe(ErrorCode.SNAPSHOT_NOT_FOUND);
    expect(ask({ leaderEpoch: currentLeaderEpoch + 1 })?.errorCode).toBe(ErrorCode.UNKNOWN_LEADER_EPOCH);
  });
});
