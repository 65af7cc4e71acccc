/**
 * The toy controller of a test's cluster: it elects from the in-sync set only, lets epochs ascend, and takes proposals
 * only of the leader of today on top of the state of today. A fenced broker leaves the in-sync set unless it is the
 * last.
 */
import { expect } from 'vitest';
import { ErrorCode } from '../../core/protocol/errors.ts';
import type { AlterPartitionRequest, AlterPartitionResponse } from '../../core/protocol/messages/56-alter-partition.ts';
import type { BrokerState } from '../../core/replication/in-sync.ts';
import type { PartState, TestNode } from './node.ts';
import { type Cluster, truth } from './state.ts';

/** A new version of the metadata. */
export function change(cluster: Cluster, parts: readonly PartState[], brokers: ReadonlyMap<number, BrokerState>): void {
  const before = truth(cluster);
  for (const [i, part] of parts.entries()) {
    const old = before.parts[i] as PartState;
    if (part === old) continue;
    expect(part.leaderEpoch).toBeGreaterThanOrEqual(old.leaderEpoch);
    expect(part.partitionEpoch).toBe(old.partitionEpoch + 1);
    expect(part.leader < 0 || part.isr.includes(part.leader)).toBe(true);
  }
  cluster.views.push({ parts, brokers });
}

/** A leader for a partition that has none, or whose leader is gone: from the in-sync set. */
function elect(part: PartState, brokers: ReadonlyMap<number, BrokerState>, isNew: boolean): PartState {
  const alive = (id: number): boolean => brokers.get(id)?.fenced === false;
  const kept = part.isr.filter(alive);
  const isr = kept.length === 0 ? part.isr : kept;
  const leader = !isNew && alive(part.leader) ? part.leader : (isr.find(alive) ?? -1);
  const isSame = leader === part.leader && !isNew;
  if (isSame && isr.length === part.isr.length) return part;
  const leaderEpoch = isSame ? part.leaderEpoch : part.leaderEpoch + 1;
  return {
    ...part,
    isr: kept.length === 0 ? part.isr.slice(0, 1) : isr,
    leader,
    leaderEpoch,
    partitionEpoch: part.partitionEpoch + 1,
  };
}

/** The controller takes a broker for dead. */
export function fenceNode(cluster: Cluster, id: number): void {
  const { parts, brokers } = truth(cluster);
  const broker = brokers.get(id);
  if (broker === undefined || broker.fenced) return;
  const after = new Map(brokers).set(id, { ...broker, fenced: true });
  change(
    cluster,
    parts.map((part) => elect(part, after, false)),
    after,
  );
}

/** A node whose logs are open registers: a new life, never the leader under an epoch of an earlier one. */
export function register(cluster: Cluster, node: TestNode): void {
  fenceNode(cluster, node.id);
  const { parts, brokers } = truth(cluster);
  const epoch = cluster.views.length;
  const after = new Map(brokers).set(node.id, { epoch, fenced: false, inControlledShutdown: false });
  change(
    cluster,
    parts.map((part) => (part.leader < 0 || part.leader === node.id ? elect(part, after, true) : part)),
    after,
  );
  // It knows all that was decided before it was heard of, and acts on what comes from then on.
  cluster.heard.set(node.id, cluster.views.length - 2);
}

/** AlterPartition, as the controller decides it. */
export function alter(cluster: Cluster, body: AlterPartitionRequest): AlterPartitionResponse {
  const { parts, brokers } = truth(cluster);
  if (brokers.get(body.brokerId)?.epoch !== body.brokerEpoch) {
    return { throttleTimeMs: 0, errorCode: ErrorCode.STALE_BROKER_EPOCH, topics: [] };
  }
  const next = [...parts];
  const topics = body.topics.map(({ topicId, partitions }) => ({
    topicId,
    partitions: partitions.map((asked) => {
      const part = next[asked.partitionIndex] as PartState;
      const errorCode = judgeAlter(cluster, part, asked, body.brokerId);
      const isr = asked.newIsrWithEpochs.map(({ brokerId }) => brokerId);
      const after = errorCode === 0 ? { ...part, isr, partitionEpoch: part.partitionEpoch + 1 } : part;
      next[asked.partitionIndex] = after;
      const { leader: leaderId, leaderEpoch, partitionEpoch } = after;
      const state = { leaderId, leaderEpoch, partitionEpoch, leaderRecoveryState: 0, isr: [...after.isr] };
      return { partitionIndex: asked.partitionIndex, errorCode, ...state };
    }),
  }));
  if (next.some((part, i) => part !== parts[i])) change(cluster, next, brokers);
  return { throttleTimeMs: 0, errorCode: 0, topics };
}

type AskedChange = AlterPartitionRequest['topics'][number]['partitions'][number];

function judgeAlter(cluster: Cluster, part: PartState, asked: AskedChange, brokerId: number): number {
  const { brokers } = truth(cluster);
  if (asked.leaderEpoch > part.leaderEpoch || asked.partitionEpoch > part.partitionEpoch)
    return ErrorCode.NOT_CONTROLLER;
  if (asked.leaderEpoch < part.leaderEpoch || part.leader !== brokerId) return ErrorCode.FENCED_LEADER_EPOCH;
  if (asked.partitionEpoch < part.partitionEpoch) return ErrorCode.INVALID_UPDATE_VERSION;
  for (const { brokerId: id, brokerEpoch } of asked.newIsrWithEpochs) {
    const broker = brokers.get(id);
    const isOld = brokerEpoch >= 0 && broker?.epoch !== brokerEpoch;
    if (broker === undefined || broker.fenced || isOld) return ErrorCode.INELIGIBLE_REPLICA;
  }
  return 0;
}
