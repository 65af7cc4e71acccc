/** What must hold in a test's cluster at every moment, and how to say where everybody stands. */
import { expect } from 'vitest';
import { type PartState, type TestNode, watermarkOf } from './node.ts';
import { type Cluster, nodeOf, truth } from './state.ts';

/** What holds at every moment. */
export function check(cluster: Cluster): void {
  for (const node of cluster.nodes) {
    if (!node.isAlive) continue;
    for (const part of node.parts) {
      if (!part.isOpen) continue;
      const watermark = watermarkOf(part);
      expect(watermark, `watermark of node ${node.id}`).toBeGreaterThanOrEqual(part.seenWatermark);
      part.seenWatermark = watermark;
      checkCommitted(cluster, node, part.index);
    }
  }
}

/** What the leader of today counts as committed is synced on every replica that the controller may elect. */
function checkCommitted(cluster: Cluster, node: TestNode, index: number): void {
  const state = truth(cluster).parts[index] as PartState;
  const { leader } = node.parts[index] as TestNode['parts'][number];
  if (state.leader !== node.id || leader.epoch !== state.leaderEpoch) return;
  for (const id of state.isr) {
    const other = nodeOf(cluster, id);
    const log = other.parts[index]?.log;
    if (log?.state !== 'open' || !other.isAlive) continue;
    expect(log.durable, `node ${id} in sync with ${node.id}`).toBeGreaterThanOrEqual(leader.highWatermark);
  }
}

/** Where everybody stands, for people. */
export function describeCluster(cluster: Cluster): string {
  const lines = [JSON.stringify({ parts: truth(cluster).parts, brokers: [...truth(cluster).brokers] })];
  for (const node of cluster.nodes) {
    const heard = `${cluster.heard.get(node.id)}/${cluster.views.length - 1}`;
    lines.push(`node ${node.id} alive=${node.isAlive} heard=${heard} queue=${node.disk.queue.length}`);
    for (const { log, leader, followed, isOpen } of node.parts) {
      const { start: from, end, durable, state } = log;
      const inSync =
        leader.inSync === null ? null : { ...leader.inSync, followers: [...leader.inSync.followers.values()] };
      const follows = followed === null ? null : { ...followed, log: undefined };
      const about = { isOpen, state, from, end, durable, epochs: log.epochs, truncation: log.truncation };
      lines.push(JSON.stringify({ ...about, epoch: leader.epoch, hw: leader.highWatermark, inSync, follows }));
    }
    for (const fetcher of node.fetchers.values()) {
      const { leaderId, calls, sessionId, sessionEpoch, readyCount, retryAtMs } = fetcher;
      const about = { leaderId, calls, sessionId, sessionEpoch, readyCount, retryAtMs, now: cluster.nowMs };
      lines.push(JSON.stringify({ ...about, changed: fetcher.changed.size, gone: [...fetcher.gone.keys()] }));
    }
  }
  lines.push([...cluster.outstanding.keys()].join('; '));
  return lines.join('\n');
}
