/**
 * Five nodes whose partitions are moved by Kafka's own tool, as an operator would: planned, carried out at a bounded
 * rate, verified, cancelled, to fewer and to more replicas, to a node that is dead and away from one that dies. All the
 * time kcat writes and another kcat reads: what is read is what was written, once and in order, and in the end each
 * replica has the same bytes, and no other node has any. Beside them, clients whose history `core/verify` judges write
 * and read a topic that moves along. In the end a node that has nothing left goes for good.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ask, askPartitions, type PartitionStanding } from '../../tools/peers/ask.ts';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { type Watched, watch } from './watched.ts';

const TOPIC = 'ledger';
/** Goes wherever the other goes, partition by partition. */
const WATCHED = 'witness';
/** Lines that are written at one time, and between two times, ms. */
const LINES = 100;
const GAP_MS = 20;
const THROTTLE = 5_000_000;
const WHO = { includeClusterAuthorizedOperations: false, endpointType: 1, includeFencedBrokers: false };

const folder = temporaryFolder();
const data = join(folder, 'cluster');
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const cluster = await startTidemarkCluster(5, data, {
  settings: new Map([
    ['default.replication.factor', '3'],
    ['log.segment.bytes', '4194304'],
    ['log.segment.delete.delay.ms', '1000'],
  ]),
});
const shell = problem === null ? await startKafkaShell() : null;
const children: ChildProcess[] = [];
let watched: Watched | null = null;
afterAll(async () => {
  await watched?.close();
  for (const child of children) child.kill('SIGKILL');
  shell?.stop();
  await cluster.stop('SIGKILL');
});

async function tool(name: string, ...args: string[]): Promise<string> {
  const finished = await shell?.run(name, [...args, '--bootstrap-server', cluster.bootstrap]);
  if (finished?.code === 0) return finished.stdout;
  throw new Error(`${name} ${args.join(' ')} ended with ${finished?.code}: ${finished?.stdout}${finished?.stderr}`);
}

/** A file that says where partitions 0, 1, ... of both topics are to be. */
function planOf(...replicas: readonly (readonly number[])[]): string {
  const partitions = [TOPIC, WATCHED].flatMap((topic) =>
    replicas.map((list, partition) => ({ topic, partition, replicas: list })),
  );
  return written(`plan-${replicas.map((list) => list.join('')).join('-')}`, { version: 1, partitions });
}

function written(name: string, value: unknown): string {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(value));
  return file;
}

const reassign = (...args: string[]): Promise<string> => tool('reassign-partitions', ...args);
const execute = (file: string, ...more: string[]): Promise<string> =>
  reassign('--reassignment-json-file', file, '--execute', ...more);

/** Asks the tool until it says that every move of the file is done. */
async function verified(file: string): Promise<void> {
  await inTime(`${file} to be done`, async () => {
    const said = await reassign('--reassignment-json-file', file, '--verify');
    return /in progress/.test(said) ? null : expect(said).toMatch(/is completed/);
  });
}

/** Where the topic is, as one of the nodes that live knows it. */
async function standing(): Promise<PartitionStanding[]> {
  for (const node of cluster.nodes) {
    const partitions = await askPartitions(node, [TOPIC]).catch(() => []);
    if (partitions.length > 0) return partitions;
  }
  throw new Error('no node knows the topic');
}

/** Waits until a partition is where it should be: the node that is asked may hear of it later than the tool. */
async function placed(partition: number, ids: readonly number[], isInOrder = true): Promise<void> {
  const textOf = (list: readonly number[]): string => (isInOrder ? [...list] : [...list].sort()).join();
  await inTime(`partition ${partition} to be at ${ids}`, async () => {
    const replicas = (await standing()).find(({ index }) => index === partition)?.replicas ?? [];
    return textOf(replicas) === ids.join() ? true : null;
  });
}

/** Every broker takes part, by the word of the first. */
async function allThere(): Promise<void> {
  await inTime('all brokers to take part', async () => {
    const [first] = cluster.nodes;
    const told = first === undefined ? null : await ask(first, 60, 2, WHO).catch(() => null);
    return told?.brokers.length === cluster.nodes.length ? true : null;
  });
}

/** Lines that were handed to kcat so far. */
let lines = 0;
let isWriting = true;
const readFile = join(folder, 'read');

function textOf(from: number, to: number): string {
  let text = '';
  for (let line = from; line < to; line++) text += `line ${line} of partition 0\n`;
  return text;
}

/** Begins to write and to read. */
function beginLoad(): { readonly ended: Promise<number | null> } {
  const careful = ['-X', 'enable.idempotence=true', '-X', 'linger.ms=5'];
  const writer = spawn('kcat', ['-P', '-b', cluster.bootstrap, '-t', TOPIC, '-p', '0', ...careful], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const output = openSync(readFile, 'w');
  const from = ['-C', '-b', cluster.bootstrap, '-t', TOPIC, '-p', '0', '-o', 'beginning', '-q', '-u'];
  const reader = spawn('kcat', from, { stdio: ['ignore', output, 'ignore'] });
  closeSync(output);
  children.push(writer, reader);
  writer.stdin?.on('error', () => {}); // It has ended: its exit code says why.
  const timer = setInterval(() => {
    if (!isWriting) {
      clearInterval(timer);
      writer.stdin?.end();
      return;
    }
    writer.stdin?.write(textOf(lines, lines + LINES));
    lines += LINES;
  }, GAP_MS);
  return { ended: new Promise((resolve) => writer.on('close', resolve)) };
}

/** Folders of the topic at a node. */
function foldersAt(nodeId: number): string[] {
  return readdirSync(join(data, `node${nodeId}`)).filter((name) => name.startsWith(`${TOPIC}-`));
}

/** Not set aside by a node that was dead when the partition left it: such a folder stays. */
function isInPlace(name: string): boolean {
  return !name.endsWith('-stray');
}

function segments(nodeId: number, partition: number): Buffer {
  const of = join(data, `node${nodeId}`, `${TOPIC}-${partition}`);
  const names = readdirSync(of).filter((name) => name.endsWith('.log'));
  return Buffer.concat(names.sort().map((name) => readFileSync(join(of, name))));
}

describe.skipIf(problem !== null)("Kafka's tool moves partitions of five nodes that are written and read", () => {
  let load: { readonly ended: Promise<number | null> } | null = null;

  it('plans a move, and carries it out at a bounded rate', async () => {
    for (const topic of [TOPIC, WATCHED]) {
      await tool('topics', '--create', '--topic', topic, '--replica-assignment', '1:2:3,2:3:1');
    }
    load = beginLoad();
    watched = watch(
      cluster.nodes.map(({ port }) => port),
      new Map([[WATCHED, 2]]),
    );
    const topics = written('topics', { version: 1, topics: [{ topic: TOPIC }, { topic: WATCHED }] });
    const said = await reassign('--topics-to-move-json-file', topics, '--broker-list', '3,4,5', '--generate');
    const proposed = JSON.parse(said.split('\n').findLast((line) => line.startsWith('{')) ?? '');
    for (const { replicas } of proposed.partitions) expect([...replicas].sort()).toEqual([3, 4, 5]);
    const file = written('proposed', proposed);
    expect(await execute(file, '--throttle', String(THROTTLE))).toContain('Successfully started');
    const configs = await tool('configs', '--describe', '--topic', TOPIC);
    expect(configs).toMatch(/follower.replication.throttled.replicas=\d:\d/);
    await verified(file);
    for (const partition of [0, 1]) await placed(partition, [3, 4, 5], false);
    expect(await tool('configs', '--describe', '--topic', TOPIC)).not.toContain('throttled');
    expect(await tool('configs', '--describe', '--broker', '4')).not.toContain('throttled');
    expect(await reassign('--list')).toContain('No partition reassignments found.');
  });

  it('to fewer replicas elsewhere, and to all nodes', async () => {
    const fewer = planOf([1, 2], [2, 1]);
    await execute(fewer);
    await verified(fewer);
    const all = planOf([5, 4, 3, 2, 1]);
    await execute(all);
    await verified(all);
    await placed(0, [5, 4, 3, 2, 1]);
    await tool('leader-election', '--election-type', 'preferred', '--all-topic-partitions');
    await inTime('node 5 to lead', async () => ((await standing())[0]?.leader === 5 ? true : null));
  });

  it('to a node that is dead: the move waits, and is cancelled', async () => {
    const back = planOf([1, 2, 3]);
    await execute(back);
    await verified(back);
    const dead = planOf([5, 4]);
    // The tool names nobody who is dead: he dies while he is being filled.
    await execute(dead, '--throttle', '1000');
    await cluster.nodes[4]?.service.stop('SIGKILL');
    expect(await reassign('--list')).toContain(`${TOPIC}-0: replicas: 5,4,1,2,3. adding: 4,5. removing: 1,2,3.`);
    expect(await reassign('--reassignment-json-file', dead, '--verify')).toContain('still in progress');
    // The rate of a dead broker cannot be lifted: the tool asks the broker itself.
    const cancelled = await reassign('--reassignment-json-file', dead, '--cancel', '--preserve-throttles');
    expect(cancelled).toContain('Successfully cancelled');
    await placed(0, [1, 2, 3]);
    await cluster.restart(5);
    await allThere();
    expect(await reassign('--reassignment-json-file', dead, '--verify')).toContain('There is no active reassignment');
  });

  it('away from a node that dies while it leads', async () => {
    const away = planOf([4, 5]);
    const { leader = -1 } = (await standing()).find(({ index }) => index === 0) ?? {};
    expect([1, 2, 3]).toContain(leader);
    await execute(away);
    await cluster.nodes[leader - 1]?.service.stop('SIGKILL');
    await verified(away);
    await placed(0, [4, 5]);
    await cluster.restart(leader);
    await allThere();
  });

  it('until a node has nothing left, and goes for good', async () => {
    expect((await standing()).flatMap(({ replicas }) => replicas)).not.toContain(3);
    const hasNothing = (): boolean => foldersAt(3).every((name) => /-(delete|stray)$/.test(name));
    await inTime('node 3 to set aside what has left it', async () => (hasNothing() ? true : null));
    await cluster.nodes[2]?.service.stop('SIGTERM');
    expect(await tool('cluster', 'unregister', '--id', '3')).toContain('Broker 3 is no longer registered.');
    const left = await tool('cluster', 'list-endpoints', '--include-fenced-brokers');
    const ids = left.split('\n').flatMap((line) => /^(\d+)\s/.exec(line)?.[1] ?? []);
    expect(ids).toEqual(['1', '2', '4', '5']);
  });

  it('and loses nothing, and leaves nothing behind', async () => {
    const verdict = await watched?.end();
    expect(verdict).toMatchObject({ violations: [], isAllRead: true });
    expect(verdict?.acknowledged).toBeGreaterThan(100);
    expect(verdict?.reads).toBeGreaterThan(100);
    isWriting = false;
    expect(await load?.ended).toBe(0);
    const whole = textOf(0, lines);
    expect(lines).toBeGreaterThan(20 * LINES);
    await inTime('everything to be read', async () => (statSync(readFile).size >= whole.length ? true : null));
    expect(readFileSync(readFile, 'utf8') === whole, 'what was read is what was written').toBe(true);
    await inTime('what has moved away to be deleted', async () => {
      const left = [1, 2].flatMap(foldersAt).filter(isInPlace);
      return left.join() === [`${TOPIC}-1`, `${TOPIC}-1`].join() ? true : null;
    });
    for (const nodeId of [4, 5]) expect(foldersAt(nodeId).filter(isInPlace)).toEqual([`${TOPIC}-0`]);
    expect(segments(5, 0).equals(segments(4, 0))).toBe(true);
  });
});
