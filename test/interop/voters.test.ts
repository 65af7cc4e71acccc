/**
 * A cluster that begins with one voter, and Kafka's own tool: it adds voters and removes them, the leader among them,
 * while a topic is written to and read by clients whose history `core/verify` judges; a node whose disk was replaced
 * has no vote until it is given one, and says what it lost; an election that loses records says so too.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { askPartitions } from '../../tools/peers/ask.ts';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { type Finished, runOrThrow } from '../../tools/peers/process.ts';
import { fileOf, startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { type Watched, watch } from './watched.ts';

const NODES = 4;
/** What the watched clients write and read. */
const WATCHED = 'witness';
/** It has two replicas, of which one is enough to write. */
const RISKY = 'risky';
/** How a line begins that is an error. */
const ERROR = '"level":50';

const data = join(temporaryFolder(), 'cluster');
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const cluster = await startTidemarkCluster(NODES, data, { isGrowing: true });
const shell = problem === null ? await startKafkaShell() : null;
let watched: Watched | null = null;
afterAll(async () => {
  await watched?.close();
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

function tool(name: string, ...args: string[]): Promise<Finished> | undefined {
  return shell?.run(name, [...args, '--bootstrap-server', cluster.bootstrap]);
}

async function makeTopic(name: string, ...args: string[]): Promise<void> {
  const where = args.length > 0 ? args : ['--partitions', '2'];
  expect(await tool('topics', '--create', '--topic', name, ...where)).toMatchObject({ code: 0 });
}

/** Writes a record to the risky topic, and waits for its acknowledgement. */
async function write(line: string): Promise<void> {
  const file = join(data, 'line');
  writeFileSync(file, `${line}\n`);
  await runOrThrow('kcat', ['-P', '-b', cluster.bootstrap, '-t', RISKY, '-p', '0', '-X', 'acks=all'], {
    inputFile: file,
  });
}

async function reading(): Promise<string> {
  const { stdout } = await runOrThrow('kcat', ['-C', '-b', cluster.bootstrap, '-t', RISKY, '-p', '0', '-e', '-q']);
  return stdout;
}

/** Waits until the risky topic is led, and its replicas in sync, as is said, by the word of node 3. */
async function risky(leader: number, ...inSync: number[]): Promise<void> {
  await inTime(`node ${leader} to lead, ${inSync} in sync`, async () => {
    const [one] = await askPartitions({ port: cluster.nodes[2]?.port ?? 0 }, [RISKY]).catch(() => []);
    return one?.leader === leader && [...one.inSync].sort().join() === inSync.join() ? true : null;
  });
}

/** Waits until a node has said an error with all of these in it. */
async function said(nodeId: number, ...parts: string[]): Promise<void> {
  await inTime(`node ${nodeId} to say: ${parts.join(' ... ')}`, async () => {
    const lines = cluster.nodes[nodeId - 1]?.service.output().split('\n') ?? [];
    return lines.some((line) => [ERROR, ...parts].every((part) => line.includes(part))) ? true : null;
  });
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
    await makeTopic(WATCHED);
    watched = watch(
      cluster.nodes.map(({ port }) => port),
      new Map([[WATCHED, 2]]),
    );
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
    await said(4, 'they begin anew here', directoryOf(4));
  });

  it('says what is lost by an election that was asked for', async () => {
    await makeTopic(RISKY, '--replica-assignment', '1:2', '--config', 'min.insync.replicas=1');
    await risky(1, 1, 2);
    await write('both have it');
    await cluster.nodes[1]?.service.stop('SIGTERM');
    await risky(1, 1);
    await write('one has it');
    await cluster.nodes[0]?.service.stop('SIGTERM');
    await cluster.restart(2);
    await risky(-1);
    const elected = await inTime('node 2 to take part', async () => {
      const done = await tool('leader-election', '--election-type', 'unclean', '--topic', RISKY, '--partition', '0');
      return done?.stdout.includes('Eligible topic partition leaders are not available') ? null : done?.stdout;
    });
    expect(elected).toContain(`Successfully completed leader election (UNCLEAN) for partitions ${RISKY}-0`);
    await risky(2, 2);
    await said(2, 'an unclean election', 'is lost', `"partition":"${RISKY}-0"`, '"offset":1');
    expect(await reading()).toBe('both have it\n');
    await cluster.restart(1);
    await risky(2, 1, 2);
    await said(1, 'records that were committed are cut', `"partition":"${RISKY}-0"`, '"from":1,"to":2');
  });

  it('and the clients that went on all the time have lost nothing', async () => {
    const verdict = await watched?.end();
    expect(verdict).toMatchObject({ violations: [], isAllRead: true });
    expect(verdict?.acknowledged).toBeGreaterThan(100);
    expect(verdict?.reads).toBeGreaterThan(100);
  });
});
