/** Stories of replication, each told by hand: what goes wrong elsewhere, and what happens here. */
import { describe, expect, it } from 'vitest';
import { deleteBelow, latestEpoch } from '../../core/log/log.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { judgeClient, judgeReplica, preferredReplica } from '../../core/replication/serve.ts';
import { check, describeCluster } from './check.ts';
import { crash, createCluster, diskOne, hearView, passTime, produce, recordsOf, start, stepOne } from './cluster.ts';
import { change, fenceNode } from './controller.ts';
import { LAG_MS, type Part, watermarkOf } from './node.ts';
import { type Cluster, nodeOf, truth } from './state.ts';

/** All that is under way goes on until nothing happens for a while. */
function rest(cluster: Cluster, ms = 1500): void {
  const untilMs = cluster.nowMs + ms;
  for (let i = 0; i < 20_000 && cluster.nowMs < untilMs; i++) {
    if (!stepOne(cluster)) passTime(cluster, 100);
    check(cluster);
  }
}

const stateOf = (cluster: Cluster) => truth(cluster).parts[0] as NonNullable<ReturnType<typeof truth>['parts'][number]>;
const partOf = (cluster: Cluster, id: number): Part => nodeOf(cluster, id).parts[0] as Part;
const textsOf = (cluster: Cluster, id: number): string[] => recordsOf(cluster, id, 0).values.map(([, value]) => value);

/** A cluster at rest, all replicas in sync. */
function settled(size = 3, inSyncMin = 2): Cluster {
  const cluster = createCluster(11, size, inSyncMin);
  rest(cluster, 4000);
  expect(stateOf(cluster).isr, describeCluster(cluster)).toHaveLength(size);
  return cluster;
}

/** Node `id` hears nothing and is not heard. */
function isolate(cluster: Cluster, id: number): void {
  for (let other = 0; other <= cluster.nodes.length; other++) {
    cluster.network.cut.add(`${id}>${other}`);
    cluster.network.cut.add(`${other}>${id}`);
  }
}

/** Makes `id` the leader: the controller decides it, as for a preferred leader. */
function lead(cluster: Cluster, id: number): void {
  const { parts, brokers } = truth(cluster);
  const [first, ...others] = parts as [(typeof parts)[number]];
  const { leaderEpoch, partitionEpoch } = first;
  const moved = { ...first, leader: id, leaderEpoch: leaderEpoch + 1, partitionEpoch: partitionEpoch + 1 };
  change(cluster, [moved, ...others], brokers);
}

function send(cluster: Cluster, acks = -1): string[] {
  return produce(cluster, stateOf(cluster).leader, 0, acks);
}

describe('a follower', () => {
  it('cuts what a leader wrote alone, and takes the history of the next one', () => {
    const cluster = settled();
    const old = stateOf(cluster).leader;
    const kept = send(cluster);
    rest(cluster);
    isolate(cluster, old);
    const lost = [...produce(cluster, old, 0), ...produce(cluster, old, 0)];
    for (let i = 0; i < 50; i++) diskOne(cluster, old);
    expect(partOf(cluster, old).log.durable).toBe(kept.length + lost.length);
    fenceNode(cluster, old);
    rest(cluster);
    const next = send(cluster);
    rest(cluster);
    expect(stateOf(cluster).leader).not.toBe(old);
    cluster.network.cut.clear();
    rest(cluster, 8000);
    expect(textsOf(cluster, old)).toEqual([...kept, ...next]);
    expect(cluster.reached).toContain('replication.diverging');
    expect(cluster.reached).not.toContain('replication.cut_committed');
  });

  it('does not cut to its own high watermark when it starts again (KIP-101, scenario 1)', () => {
    const cluster = settled(2, 1);
    const leader = stateOf(cluster).leader;
    const follower = 3 - leader;
    // The follower has synced the record, the leader has acknowledged it, and the follower has not heard of that.
    const before = cluster.acked.length;
    const values = send(cluster);
    for (let i = 0; i < 5000 && cluster.acked.length === before; i++) if (!stepOne(cluster)) passTime(cluster, 10);
    expect(cluster.acked.length).toBe(before + values.length);
    expect(watermarkOf(partOf(cluster, follower))).toBe(0);
    crash(cluster, follower, 'power');
    start(cluster, follower, nodeOf(cluster, follower));
    for (let i = 0; i < 500; i++) diskOne(cluster, follower);
    expect(partOf(cluster, follower).log.end).toBe(values.length);
    expect(textsOf(cluster, follower)).toEqual(values);
  });

  it('tells lineages apart when both have lost what was not synced (KIP-101, scenario 2)', () => {
    const cluster = settled(2, 1);
    const leader = stateOf(cluster).leader;
    const follower = 3 - leader;
    const first = send(cluster);
    rest(cluster);
    // The second record is only on the leader, and in no one's acknowledgement.
    isolate(cluster, follower);
    produce(cluster, leader, 0, 1);
    for (let i = 0; i < 50; i++) diskOne(cluster, leader);
    expect(partOf(cluster, leader).log.durable).toBeGreaterThan(first.length);
    crash(cluster, leader, 'power');
    fenceNode(cluster, leader);
    cluster.network.cut.clear();
    rest(cluster);
    expect(stateOf(cluster).leader).toBe(follower);
    const third = send(cluster);
    rest(cluster);
    start(cluster, leader, nodeOf(cluster, leader));
    rest(cluster, 8000);
    expect(textsOf(cluster, leader)).toEqual([...first, ...third]);
    expect(textsOf(cluster, follower)).toEqual([...first, ...third]);
  });

  it('notices that it has missed an epoch although the same node leads again (KAFKA-7164)', () => {
    const cluster = settled();
    const a = stateOf(cluster).leader;
    const [b, c] = [1, 2, 3].filter((id) => id !== a) as [number, number];
    const first = send(cluster);
    rest(cluster);
    // `b` hears nothing of the metadata from here on, while it still holds what `a` has sent it alone.
    isolate(cluster, c);
    produce(cluster, a, 0, 1);
    for (let i = 0; i < 400; i++) if (!stepOne(cluster)) break;
    cluster.network.cut.clear();
    isolate(cluster, b);
    crash(cluster, a, 'power');
    fenceNode(cluster, a);
    fenceNode(cluster, b);
    rest(cluster, 2000);
    expect(stateOf(cluster).leader).toBe(c);
    const second = produce(cluster, c, 0, 1);
    rest(cluster);
    start(cluster, a, nodeOf(cluster, a));
    rest(cluster, 6000);
    lead(cluster, a);
    rest(cluster, 2000);
    expect(stateOf(cluster).leader).toBe(a);
    cluster.network.cut.clear();
    crash(cluster, b, 'process');
    start(cluster, b, nodeOf(cluster, b));
    rest(cluster, 8000);
    for (const id of [1, 2, 3]) expect(textsOf(cluster, id)).toEqual(textsOf(cluster, a));
    expect(textsOf(cluster, a).slice(0, first.length)).toEqual(first);
    expect(textsOf(cluster, a)).toEqual(expect.arrayContaining(second));
  });

  it('forgets an epoch that it began without a record, instead of cutting for ever (KAFKA-10706)', () => {
    const cluster = settled();
    for (let i = 0; i < 6; i++) {
      lead(cluster, (stateOf(cluster).leader % 3) + 1);
      rest(cluster, 1000);
    }
    const values = send(cluster);
    rest(cluster);
    for (const id of [1, 2, 3]) expect(textsOf(cluster, id)).toEqual(values);
    for (const id of [1, 2, 3]) expect(latestEpoch(partOf(cluster, id).log)).toBe(stateOf(cluster).leaderEpoch);
  });

  it('that was away until the leader had deleted what it lacks begins anew at the log start', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const away = (leader % 3) + 1;
    send(cluster);
    rest(cluster);
    crash(cluster, away, 'process');
    fenceNode(cluster, away);
    for (let i = 0; i < 20; i++) {
      send(cluster);
      rest(cluster, 300);
    }
    const part = partOf(cluster, leader);
    deleteBelow(part.log, part.log.end - 7, nodeOf(cluster, leader).out, []);
    nodeOf(cluster, leader).settle();
    start(cluster, away, nodeOf(cluster, away));
    rest(cluster, 8000);
    expect(cluster.reached).toContain('log.reset.done');
    const there = partOf(cluster, away).log;
    expect(there).toMatchObject({ start: part.log.start, end: part.log.end });
    expect(stateOf(cluster).isr).toContain(away);
    const kept = recordsOf(cluster, leader, 0).values.filter(([offset]) => offset >= part.log.start);
    expect(recordsOf(cluster, away, 0).values.filter(([offset]) => offset >= there.start)).toEqual(kept);
  });

  it('never shows more than it has synced, nor more than the leader counts as committed', () => {
    const cluster = settled();
    for (let i = 0; i < 60; i++) {
      if (i % 5 === 0) send(cluster, 1);
      stepOne(cluster);
      for (const id of [1, 2, 3]) {
        const part = partOf(cluster, id);
        expect(watermarkOf(part)).toBeLessThanOrEqual(part.log.durable);
        expect(watermarkOf(part)).toBeLessThanOrEqual(watermarkOf(partOf(cluster, stateOf(cluster).leader)));
      }
    }
  });
});

describe('the in-sync set', () => {
  it('loses who lags for too long, refuses acks=all below the minimum, and gets everybody back', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const others = [1, 2, 3].filter((id) => id !== leader);
    for (const id of others) {
      cluster.network.cut.add(`${id}>${leader}`);
      cluster.network.cut.add(`${leader}>${id}`);
    }
    send(cluster);
    const from = cluster.nowMs;
    rest(cluster, 1000);
    expect(stateOf(cluster).isr).toHaveLength(3);
    rest(cluster, LAG_MS + 1000);
    expect(stateOf(cluster).isr).toEqual([leader]);
    expect(cluster.nowMs - from).toBeLessThan(LAG_MS * 3);
    // Who waited was told, who comes now is refused before anything is written.
    expect(cluster.refused).toEqual([ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]);
    const end = partOf(cluster, leader).log.end;
    send(cluster);
    expect(cluster.refused).toEqual([ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.NOT_ENOUGH_REPLICAS]);
    expect(partOf(cluster, leader).log.end).toBe(end);
    cluster.network.cut.clear();
    rest(cluster, 12_000);
    expect(stateOf(cluster).isr).toHaveLength(3);
    const acked = cluster.acked.length;
    const values = send(cluster);
    rest(cluster);
    expect(cluster.acked.length).toBe(acked + values.length);
  });

  it('too small for the minimum commits nothing, not even what was written with acks=1 (KAFKA-15583)', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    for (const id of [1, 2, 3]) if (id !== leader) crash(cluster, id, 'process');
    for (const id of [1, 2, 3]) if (id !== leader) fenceNode(cluster, id);
    rest(cluster);
    expect(stateOf(cluster).isr).toEqual([leader]);
    const before = watermarkOf(partOf(cluster, leader));
    send(cluster, 1);
    rest(cluster, 5000);
    expect(partOf(cluster, leader).log.durable).toBeGreaterThan(before);
    expect(watermarkOf(partOf(cluster, leader))).toBe(before);
  });

  it('that shrinks lets the high watermark go on by itself (KAFKA-13091)', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const slow = (leader % 3) + 1;
    cluster.network.cut.add(`${slow}>${leader}`);
    const acked = cluster.acked.length;
    const values = send(cluster);
    rest(cluster, LAG_MS - 500);
    expect(cluster.acked.length).toBe(acked);
    rest(cluster, 2000);
    expect(stateOf(cluster).isr).not.toContain(slow);
    expect(cluster.acked.length).toBe(acked + values.length);
  });

  it('costs an idle partition nothing: no deadline, no proposal', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const part = partOf(cluster, leader);
    expect(part.leader.inSync?.lagMs).toBe(Infinity);
    const views = cluster.views.length;
    rest(cluster, 30_000);
    expect(cluster.views.length).toBe(views);
    expect(part.leader.inSync?.lagMs).toBe(Infinity);
  });

  it('forgives an answer of the controller that was lost: the metadata says it too (KAFKA-14144)', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const slow = (leader % 3) + 1;
    cluster.network.cut.add(`${slow}>${leader}`);
    send(cluster);
    // The controller hears the proposal; its answer never arrives.
    cluster.network.cut.add(`0>${leader}`);
    rest(cluster, LAG_MS + 2000);
    expect(stateOf(cluster).isr).not.toContain(slow);
    const inSync = partOf(cluster, leader).leader.inSync;
    expect(inSync?.isr).toEqual(stateOf(cluster).isr);
    expect(inSync?.pending).toBe(null);
    cluster.network.cut.clear();
    rest(cluster, 12_000);
    expect(stateOf(cluster).isr).toHaveLength(3);
  });

  it('does not get back a broker that is shutting down (KIP-841)', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    const leaving = (leader % 3) + 1;
    const { parts, brokers } = truth(cluster);
    const broker = brokers.get(leaving);
    if (broker === undefined) throw new Error('unknown broker');
    const without = parts.map((part) => ({
      ...part,
      isr: part.isr.filter((id) => id !== leaving),
      partitionEpoch: part.partitionEpoch + 1,
    }));
    change(cluster, without, new Map(brokers).set(leaving, { ...broker, inControlledShutdown: true }));
    rest(cluster);
    const views = cluster.views.length;
    send(cluster);
    rest(cluster, 5000);
    expect(stateOf(cluster).isr).not.toContain(leaving);
    expect(cluster.views.length).toBe(views);
  });
});

describe('epochs in a fetch', () => {
  it('fence who is behind and turn away who is ahead', () => {
    const cluster = settled();
    send(cluster);
    rest(cluster);
    const { leader, leaderEpoch } = stateOf(cluster);
    const part = partOf(cluster, leader);
    const asked = (currentLeaderEpoch: number, lastFetchedEpoch = -1, fetchOffset = 0) => ({
      currentLeaderEpoch,
      lastFetchedEpoch,
      fetchOffset,
      logStartOffset: 0,
    });
    const other = (leader % 3) + 1;
    const error = (code: number) => ({ kind: 'error', error: code });
    expect(judgeReplica(part.leader, other, asked(leaderEpoch - 1))).toEqual(error(ErrorCode.FENCED_LEADER_EPOCH));
    expect(judgeReplica(part.leader, other, asked(leaderEpoch + 1))).toEqual(error(ErrorCode.UNKNOWN_LEADER_EPOCH));
    expect(judgeReplica(part.leader, 9, asked(leaderEpoch))).toEqual(error(ErrorCode.NOT_LEADER_OR_FOLLOWER));
    expect(judgeReplica(part.leader, other, asked(leaderEpoch, leaderEpoch, 99))).toMatchObject({ kind: 'diverging' });
    expect(judgeReplica(part.leader, other, asked(leaderEpoch, leaderEpoch + 5))).toEqual(
      error(ErrorCode.OFFSET_OUT_OF_RANGE),
    );
    expect(judgeReplica(part.leader, other, asked(leaderEpoch))).toEqual({ kind: 'read', upTo: part.log.end });
    expect(judgeClient(part.leader, asked(leaderEpoch))).toEqual({ kind: 'read', upTo: part.leader.highWatermark });
    expect(judgeClient(partOf(cluster, other).leader, asked(leaderEpoch))).toEqual(
      error(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    );
  });

  it('keep a leader that is cut off from the controller from committing anything (KIP-320)', () => {
    const cluster = settled();
    const { leader } = stateOf(cluster);
    cluster.network.cut.add(`0>${leader}`);
    fenceNode(cluster, leader);
    // The others hear of the new leader, the old one does not.
    const others = [1, 2, 3].filter((id) => id !== leader);
    for (const id of others) while (hearView(cluster, id));
    const ackedBefore = cluster.acked.length;
    produce(cluster, leader, 0);
    for (let i = 0; i < 3000; i++) {
      const id = others[i % 2] as number;
      if (!diskOne(cluster, id)) diskOne(cluster, leader);
    }
    expect(cluster.acked.length).toBe(ackedBefore);
    cluster.network.cut.clear();
    rest(cluster, 8000);
    expect(textsOf(cluster, leader)).toEqual(textsOf(cluster, others[0] as number));
  });
});

describe('a reader in another rack (KIP-392)', () => {
  const racks = (of: Record<number, string>, fenced: number[] = []) =>
    new Map(Object.entries(of).map(([id, rack]) => [Number(id), { rack, fenced: fenced.includes(Number(id)) }]));

  it('is sent to the replica in its own that has come furthest, if it can serve the offset', () => {
    const cluster = settled();
    send(cluster);
    rest(cluster);
    const { leader } = stateOf(cluster);
    const [near, far] = [1, 2, 3].filter((id) => id !== leader) as [number, number];
    const part = partOf(cluster, leader);
    const brokers = racks({ [leader]: 'a', [near]: 'b', [far]: 'c' });
    expect(preferredReplica(part.leader, brokers, 'b', 0)).toBe(near);
    expect(preferredReplica(part.leader, brokers, 'a', 0)).toBe(-1);
    expect(preferredReplica(part.leader, brokers, 'd', 0)).toBe(-1);
    expect(preferredReplica(part.leader, brokers, '', 0)).toBe(-1);
    expect(preferredReplica(part.leader, brokers, 'b', part.log.end + 1)).toBe(-1);
    const fenced = racks({ [leader]: 'a', [near]: 'b', [far]: 'b' }, [near]);
    expect(preferredReplica(part.leader, fenced, 'b', 0)).toBe(far);
  });
});
