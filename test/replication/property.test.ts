/**
 * Random histories of a small cluster: whatever crashes, loses power, is cut off or hears late, what producers were
 * told is kept, replicas tell one story below their high watermarks, and once all is well everything catches up.
 */
import { expect, it } from 'vitest';
import { check, describeCluster } from './check.ts';
import { noteCheckpoints } from './checkpoints.ts';
import { crash, createCluster, cutOff, look, passTime, produce, recordsOf, start, stepOne } from './cluster.ts';
import { fenceNode } from './controller.ts';
import { watermarkOf } from './node.ts';
import { type Cluster, nodeOf, truth } from './state.ts';

const SEEDS = 25;
const STEPS = 900;

const pick = (cluster: Cluster, count: number): number => Math.floor(cluster.dice() * count);

function trouble(cluster: Cluster): void {
  const { dice, nodes, network } = cluster;
  const id = 1 + pick(cluster, nodes.length);
  const other = pick(cluster, nodes.length + 1);
  const throwOf = dice();
  if (throwOf < 0.3) crash(cluster, id, dice() < 0.4 ? 'process' : 'power');
  else if (throwOf < 0.45) fenceNode(cluster, id);
  else if (throwOf < 0.6 && other !== id) cutOff(cluster, id, other);
  else if (throwOf < 0.8 && other !== id) network.cut.add(`${id}>${other}`);
  else network.cut.clear();
}

function act(cluster: Cluster): void {
  const { dice, nodes } = cluster;
  const id = 1 + pick(cluster, nodes.length);
  const throwOf = dice();
  if (throwOf < 0.12) produce(cluster, id, pick(cluster, 2), dice() < 0.8 ? -1 : 1);
  else if (throwOf < 0.15) look(cluster, id, pick(cluster, 2));
  else if (throwOf < 0.17) trouble(cluster);
  else if (throwOf < 0.2) {
    const dead = nodes.filter(({ isAlive }) => !isAlive);
    const node = dead[pick(cluster, dead.length)];
    if (node !== undefined) start(cluster, node.id, node);
  } else if (throwOf < 0.22) {
    for (const node of nodes) if (!node.isAlive && dice() < 0.5) fenceNode(cluster, node.id);
  } else if (throwOf < 0.24) {
    const node = nodeOf(cluster, id);
    if (node.isAlive) noteCheckpoints(node);
  } else if (throwOf < 0.27) passTime(cluster, 1000);
  else if (!stepOne(cluster)) passTime(cluster, 1000);
  check(cluster);
}

function isWell(cluster: Cluster): boolean {
  return truth(cluster).parts.every((state, index) => {
    const parts = cluster.nodes.map((node) => node.parts[index]);
    const end = parts[0]?.log.end;
    if (!parts.every((part) => part?.isOpen === true)) return false;
    const isEven = parts.every((part) => part?.log.end === end && watermarkOf(part as never) === end);
    return state.isr.length === cluster.nodes.length && isEven;
  });
}

function heal(cluster: Cluster): void {
  cluster.network.cut.clear();
  for (const node of cluster.nodes) if (!node.isAlive) start(cluster, node.id, node);
  const untilMs = cluster.nowMs + 60_000;
  // A broker that was fenced while it lived registers anew, as its heartbeat would make it.
  while (cluster.nowMs < untilMs && !isWell(cluster)) {
    if (!stepOne(cluster)) passTime(cluster, 1000);
    check(cluster);
    for (const [id, broker] of truth(cluster).brokers) {
      const node = nodeOf(cluster, id);
      if (!broker.fenced || !node.parts.every(({ isOpen }) => isOpen)) continue;
      crash(cluster, id, 'process');
      start(cluster, id, node);
    }
  }
  expect(isWell(cluster), `everything catches up once all is well\n${describeCluster(cluster)}`).toBe(true);
}

function play(seed: number): Cluster {
  const size = seed % 4 === 3 ? 2 : 3;
  const cluster = createCluster(seed, size, seed % 3 === 0 ? 1 : 2);
  for (let i = 0; i < 150; i++) if (!stepOne(cluster)) passTime(cluster, 1000);
  for (let i = 0; i < STEPS; i++) act(cluster);
  heal(cluster);
  for (let index = 0; index < 2; index++) {
    const all = cluster.nodes.map(({ id }) => recordsOf(cluster, id, index));
    for (const { bytes } of all) expect(Buffer.compare(bytes, all[0]?.bytes as Uint8Array)).toBe(0);
    const kept = new Map(all[0]?.values);
    for (const { part, offset, value } of cluster.acked) {
      if (part === index) expect(kept.get(offset), `record ${offset} of partition ${part}`).toBe(value);
    }
    for (const [key, value] of cluster.seen) {
      const [part, offset] = key.split('/').map(Number) as [number, number];
      if (part === index) expect(kept.get(offset), `record ${offset} that was read`).toBe(value);
    }
  }
  return cluster;
}

it('keeps what was acknowledged, tells one story, and catches up', { timeout: 3_600_000 }, () => {
  const reached = new Map<string, number>();
  let acked = 0;
  // REPLICATION_SEED=7 plays one seed, REPLICATION_SEED=0..999 many.
  const only = process.env.REPLICATION_SEED;
  const [first, last] = (only ?? `0..${SEEDS - 1}`).split('..').map(Number) as [number, number?];
  for (let seed = first; seed <= (last ?? first); seed++) {
    try {
      const cluster = play(seed);
      acked += cluster.acked.length;
      for (const mark of cluster.reached) reached.set(mark, (reached.get(mark) ?? 0) + 1);
    } catch (error) {
      throw new Error(`seed ${seed} (REPLICATION_SEED=${seed}): ${String(error)}`, { cause: error });
    }
  }
  if (process.env.REPLICATION_MARKS !== undefined) console.log(acked, reached);
  if (only !== undefined) return;
  expect(acked).toBeGreaterThan(100);
  for (const mark of ['replication.diverging', 'replication.session.ended', 'log.truncate.done']) {
    expect([...reached.keys()], mark).toContain(mark);
  }
});
