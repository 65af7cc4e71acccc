/**
 * A cluster that begins with one voter, and Kafka's own tool: it adds voters and removes them, the leader among them,
 * while a topic is written to; a node whose disk was replaced has no vote until it is given one.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import type { Finished } from '../../tools/peers/process.ts';
import { fileOf, startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';

const NODES = 4;

const data = join(temporaryFolder(), 'cluster');
const problem = await kafkaProblem();
const cluster = await startTidemarkCluster(NODES, data, { isGrowing: true });
const shell = problem === null ? await startKafkaShell() : null;
afterAll(async () => {
  shell?.stop();
  await cluster.stop('SIGKILL');
});

async function quorum(...args: string[]): Promise<Finished> {
  const finished = await shell?.run('metadata-quorum', ['--bootstrap-server', cluster.bootstrap, ...args]);
  if (finished === undefined) throw new Error('there is no tool');
  return finished;
}

function directoryOf(nodeId: number): string {
  const text = readFileSync(join(data, `node${nodeId}`, 'meta.properties'), 'utf8');
  return /^directory\.id=(.*)$/m.exec(text)?.[1] ?? '';
}

function add(nodeId: number): Promise<Finished> {
  return quorum('--command-config', fileOf(data, nodeId), 'add-controller');
}

function remove(nodeId: number, directoryId = directoryOf(nodeId)): Promise<Finished> {
  const key = ['--controller-id', String(nodeId), '--controller-directory-id', directoryId];
  return quorum('remove-controller', ...key);
}

/** What each node is to the quorum, as the tool shows it. */
async function standing(): Promise<Map<number, string>> {
  const { stdout } = await quorum('describe', '--replication');
  const rows = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
  return new Map(rows.flatMap((row) => (row.length < 7 ? [] : [[Number(row[0]), row[6] ?? ''] as const])));
}

/** The nodes that vote, once that is so. */
async function voting(...ids: number[]): Promise<number> {
  return await inTime(`the voters ${ids}`, async () => {
    const roles = await standing();
    const voters = [...roles].filter(([, role]) => role !== 'Observer').map(([id]) => id);
    const leader = [...roles].find(([, role]) => role === 'Leader')?.[0];
    return voters.sort().join() === ids.join() && leader !== undefined ? leader : null;
  });
}

async function makeTopic(name: string): Promise<void> {
  const args = ['--bootstrap-server', cluster.bootstrap, '--create', '--topic', name, '--partitions', '2'];
  expect(await shell?.run('topics', args)).toMatchObject({ code: 0 });
}

describe.skipIf(problem !== null)('a quorum that begins with one voter', () => {
  it('is joined by those that follow it', async () => {
    expect(await voting(1)).toBe(1);
    for (const nodeId of [2, 3]) {
      const { code, stdout } = await add(nodeId);
      const port = cluster.nodes[nodeId - 1]?.controllerPort;
      const end = `with directory id ${directoryOf(nodeId)} and endpoints: CONTROLLER://127.0.0.1:${port}`;
      expect([code, stdout.trim()]).toEqual([0, `Added controller ${nodeId} ${end}`]);
    }
    await voting(1, 2, 3);
    await makeTopic('first');
  });

  it('says what is wrong with a change', async () => {
    const all = '[ReplicaKey(id=1, ';
    const twice = await add(2);
    expect([twice.code, twice.stdout + twice.stderr]).toEqual([1, expect.stringContaining(`set of voters ${all}`)]);
    const unknown = await remove(4);
    expect([unknown.code, unknown.stdout + unknown.stderr]).toEqual([1, expect.stringContaining('VoterNotFound')]);
  });

  it('goes on without its leader, removed or killed', async () => {
    expect(await remove(1)).toMatchObject({ code: 0 });
    const leader = await voting(2, 3);
    await makeTopic('second');
    expect(await add(4)).toMatchObject({ code: 0 });
    await cluster.nodes[leader - 1]?.service.stop('SIGKILL');
    expect(await voting(2, 3, 4)).not.toBe(leader);
    await makeTopic('third');
    await cluster.restart(leader);
  });

  it('gives no vote to a disk that was replaced, until it is asked to', async () => {
    const before = directoryOf(4);
    await cluster.nodes[3]?.service.stop('SIGKILL');
    rmSync(join(data, 'node4'), { recursive: true });
    await cluster.restart(4);
    expect(directoryOf(4)).not.toBe(before);
    expect((await add(4)).code).toBe(1);
    expect(await remove(4, before)).toMatchObject({ code: 0 });
    await inTime('the new disk to have caught up', async () => ((await add(4)).code === 0 ? true : null));
    await voting(2, 3, 4);
    await makeTopic('fourth');
  });
});
