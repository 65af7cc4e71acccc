/** Coordinators of groups on three nodes: they move, and nothing that was answered is lost by it. */
import { describe, expect, it } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { ResponseOf } from '../../core/protocol/messages/index.ts';
import { ToyCluster } from './cluster.ts';
import { commitBody, errorsOf, fetchAllBody, GROUP_KEY, hostsOf, joinBody, OFFSETS, offsetsIn } from './grouping.ts';
import type { Changes } from './toy-world.ts';

const READY_MS = 5_000;
const { offsetCommit, offsetFetch, findCoordinator, joinGroup } = GROUP_KEY;

/** Three nodes, a topic of three replicas, and the topic of groups with one partition. */
function three(changes: Changes = {}): ToyCluster {
  const settings = { 'offsets.topic.num.partitions': '1', 'min.insync.replicas': '2', ...changes };
  const cluster = new ToyCluster(3, () => settings).start();
  cluster.until(() => cluster.living.every((id) => cluster.world(id).isReady), READY_MS);
  cluster.until(() => [...cluster.node(1).image.cluster.brokers.values()].every(({ fenced }) => !fenced));
  const topics = [{ name: 'orders', numPartitions: 1, replicationFactor: 3 }];
  expect(cluster.ask(1, cluster.connect(1), 19, 7, { topics, timeoutMs: 5_000 }).topics[0]?.errorCode).toBe(0);
  return cluster;
}

/** Who coordinates, by the word of a node; -1 for nobody. */
function coordinatorBy(cluster: ToyCluster, id: number): number {
  const answer = cluster.ask(id, cluster.connect(id), findCoordinator, 2, { key: 'g' });
  return answer.errorCode === 0 ? answer.nodeId : -1;
}

/** Asks any living node until one says who coordinates, and that one does. */
function coordinator(cluster: ToyCluster): number {
  let found = -1;
  cluster.until(() => {
    found = coordinatorBy(cluster, cluster.living[0]!);
    const isReady = (id: number): boolean => hostsOf(cluster.node(id)).some(({ stage }) => stage === 'active');
    return cluster.living.includes(found) && isReady(found);
  }, 20_000);
  return found;
}

function commit(cluster: ToyCluster, id: number, offset: number): number[] {
  return errorsOf(cluster.ask(id, cluster.connect(id), offsetCommit, 7, commitBody('g', [offset])));
}

function fetchAll(cluster: ToyCluster, id: number): ReturnType<typeof offsetsIn> {
  return offsetsIn(cluster.ask(id, cluster.connect(id), offsetFetch, 8, fetchAllBody('g')));
}

describe('the coordinator of a group on three nodes', () => {
  it('is found through any of them, at once', () => {
    const cluster = three();
    const found = coordinatorBy(cluster, 1);
    expect([1, 2, 3]).toContain(found);
    expect([1, 2, 3].map((id) => coordinatorBy(cluster, id))).toEqual([found, found, found]);
    expect([1, 2, 3].map((id) => hostsOf(cluster.node(id)).length)).toEqual(
      [1, 2, 3].map((id) => (id === found ? 1 : 0)),
    );
    const other = found === 1 ? 2 : 1;
    expect(commit(cluster, other, 5)).toEqual([ErrorCode.NOT_COORDINATOR]);
    expect(fetchAll(cluster, other)).toBe(ErrorCode.NOT_COORDINATOR);
  });

  it('dies, and another one has what was answered', () => {
    const cluster = three();
    const first = coordinator(cluster);
    expect(commit(cluster, first, 5)).toEqual([0]);
    cluster.kill(first, 'power');
    const second = coordinator(cluster);
    expect(second).not.toBe(first);
    expect(fetchAll(cluster, second)).toEqual(new Map([['orders-0', 5]]));
    expect(commit(cluster, second, 6)).toEqual([0]);
    cluster.start(first);
    cluster.pass(5_000);
    cluster.kill(second);
    expect(fetchAll(cluster, coordinator(cluster))).toEqual(new Map([['orders-0', 6]]));
  });

  it('stops, and tells those who wait to look for another', () => {
    const cluster = three({ 'group.initial.rebalance.delay.ms': '60000' });
    const first = coordinator(cluster);
    const member = cluster.connect(first);
    cluster.world(first).send(member, joinGroup, 2, joinBody('g'));
    cluster.pass(100);
    expect(cluster.world(first).pending(member)).toEqual([]);
    cluster.world(first).queue({ kind: 'stop' });
    cluster.until(() => cluster.world(first).pending(member).length > 0);
    expect(cluster.world(first).take(member, joinGroup, 2).errorCode).toBe(ErrorCode.NOT_COORDINATOR);
  });

  it('answers a commit only when a second node has it, and no read tells of it before', () => {
    const cluster = three();
    const first = coordinator(cluster);
    commit(cluster, first, 5);
    const followers = cluster.living.filter((id) => id !== first);
    for (const id of followers) {
      cluster.world(id).holdsSyncs = true;
      cluster.world(id).holdsOn = OFFSETS;
    }
    const world = cluster.world(first);
    const [writer, reader] = [cluster.connect(first), cluster.connect(first)];
    world.send(writer, offsetCommit, 7, commitBody('g', [6]));
    world.send(reader, offsetFetch, 8, fetchAllBody('g'));
    cluster.pass(500);
    expect([world.pending(writer), world.pending(reader)]).toEqual([[], []]);
    for (const id of followers) cluster.world(id).releaseSyncs();
    cluster.pass(600);
    expect(errorsOf(world.take(writer, offsetCommit, 7))).toEqual([0]);
    expect(offsetsIn(world.take(reader, offsetFetch, 8))).toEqual(new Map([['orders-0', 6]]));
  });

  it('that is cut off says that it is none, and what it took meanwhile was never answered', () => {
    const cluster = three();
    const first = coordinator(cluster);
    expect(commit(cluster, first, 5)).toEqual([0]);
    const late = cluster.connect(first);
    cluster.alone.add(first);
    cluster.world(first).send(late, offsetCommit, 7, commitBody('g', [99]));
    cluster.pass(8_000);
    const answers = cluster.world(first).pending(late);
    expect(answers).toHaveLength(1);
    const refused: ResponseOf<8> = cluster.world(first).take(late, offsetCommit, 7);
    expect([ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE]).toContain(errorsOf(refused)[0]);
    expect(fetchAll(cluster, first)).toBe(ErrorCode.NOT_COORDINATOR);
    const [other = 0] = cluster.living.filter((id) => id !== first);
    let second = -1;
    cluster.until(() => {
      second = coordinatorBy(cluster, other);
      return second !== first && hostsOf(cluster.node(second)).some(({ stage }) => stage === 'active');
    }, 20_000);
    expect(fetchAll(cluster, second)).toEqual(new Map([['orders-0', 5]]));
    cluster.alone.delete(first);
    cluster.pass(5_000);
    expect(fetchAll(cluster, second)).toEqual(new Map([['orders-0', 5]]));
    expect(hostsOf(cluster.node(first))).toEqual([]);
  });

  it('takes no commits while too few replicas are in sync, but tells what is committed', () => {
    const cluster = three({ 'replica.lag.time.max.ms': '2000' });
    const first = coordinator(cluster);
    expect(commit(cluster, first, 5)).toEqual([0]);
    for (const id of cluster.living.filter((one) => one !== first)) {
      cluster.world(id).holdsSyncs = true;
      cluster.world(id).holdsOn = OFFSETS;
    }
    const writer = cluster.connect(first);
    cluster.world(first).send(writer, offsetCommit, 7, commitBody('g', [6]));
    const isr = (): number => hostsOf(cluster.node(first))[0]?.partition.leader.inSync?.isr.length ?? 0;
    cluster.until(() => isr() === 1, 20_000);
    expect(commit(cluster, first, 7)).toEqual([ErrorCode.COORDINATOR_NOT_AVAILABLE]);
    for (const id of cluster.living.filter((one) => one !== first)) cluster.world(id).releaseSyncs();
    cluster.until(() => isr() > 1, 20_000);
    expect(fetchAll(cluster, first)).toEqual(new Map([['orders-0', 6]]));
    expect(commit(cluster, first, 8)).toEqual([0]);
  });
});
