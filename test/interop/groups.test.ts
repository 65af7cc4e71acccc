/**
 * Groups of real clients on one node: they share a topic, go on where they were after the node was killed, and Kafka's
 * tools describe, reset and delete them and read the log of their offsets.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { dumpFiles, runKafkaTool } from '../../tools/peers/kafka-tools.ts';
import { freePort, type Service } from '../../tools/peers/process.ts';
import { startTidemark, type TidemarkNode } from '../../tools/peers/tidemark.ts';
import { partitionFiles, temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { describeGroup, MEMBER_KINDS, recordsOf, write } from './grouping.ts';

const PARTITIONS = 4;
const COUNT = 200;

const folder = temporaryFolder();
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const port = await freePort();
let node: TidemarkNode = await start();
const shell = problem === null ? await startKafkaShell() : null;
const members: Service[] = [];
afterAll(async () => {
  shell?.stop();
  await Promise.all([...members.map((member) => member.stop('SIGKILL')), node.service.stop('SIGKILL')]);
});

function start(): Promise<TidemarkNode> {
  const settings = new Map([
    ['group.initial.rebalance.delay.ms', '0'],
    ['num.partitions', String(PARTITIONS)],
  ]);
  return startTidemark({ dataFolder: join(folder, 'data'), port, settings });
}

function tools(): KafkaShell {
  if (shell === null) throw new Error('the tools have not been started');
  return shell;
}

async function groups(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tools().run('groups', ['--bootstrap-server', node.bootstrap, ...args]);
  expect(code, `${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** Records `r<from>` to `r<from + COUNT - 1>`. */
async function writeMore(topic: string, from: number): Promise<void> {
  const file = join(folder, 'more');
  writeFileSync(file, Array.from({ length: COUNT }, (_, i) => `r${from + i}\n`).join(''));
  await write(node.bootstrap, topic, file);
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `r${from + i}`).sort();
}

/** Waits until each partition is read by one of so many members and all that was read is committed. */
async function settled(group: string, count: number): Promise<void> {
  await inTime(`${count} members of ${group} to be settled`, async () => {
    const rows = await describeGroup(tools(), node.bootstrap, group);
    const owners = new Set(rows.map(({ member }) => member));
    const isRead =
      rows.length === PARTITIONS && rows.every(({ member, offset, end }) => member !== '' && offset === end);
    return isRead && owners.size === count ? true : null;
  });
}

describe.skipIf(problem !== null)('a group', () => {
  it.each(MEMBER_KINDS)(
    'of $name shares a topic, and goes on after the node was killed',
    async ({ name, start: join_ }) => {
      const [topic, group] = [`t-${name}`, `g-${name}`];
      await writeMore(topic, 0);
      const first = await join_(node.bootstrap, group, topic);
      members.push(first);
      await settled(group, 1);
      expect(recordsOf(first).sort()).toEqual(numbers(0, COUNT));

      const second = await join_(node.bootstrap, group, topic);
      members.push(second);
      await settled(group, 2);
      await writeMore(topic, COUNT);
      await settled(group, 2);
      const shared = [...recordsOf(first), ...recordsOf(second)];
      expect([...new Set(shared)].sort()).toEqual(numbers(0, 2 * COUNT));

      await first.stop('SIGTERM');
      await settled(group, 1);
      await node.service.stop('SIGKILL');
      node = await start();
      await writeMore(topic, 2 * COUNT);
      await settled(group, 1);
      await second.stop('SIGTERM');
      const all = [...recordsOf(first), ...recordsOf(second)];
      expect([...new Set(all)].sort()).toEqual(numbers(0, 3 * COUNT));

      await writeMore(topic, 3 * COUNT);
      const third = await join_(node.bootstrap, group, topic);
      members.push(third);
      await settled(group, 1);
      // It begins where the others were: nothing is read again that was committed, nothing is left out.
      expect(recordsOf(third).sort()).toEqual(numbers(3 * COUNT, 4 * COUNT));
      await third.stop('SIGTERM');
    },
  );

  it("is listed, described, reset and deleted by Kafka's tools", async () => {
    const listed = await groups('--list', '--state');
    for (const { name } of MEMBER_KINDS) expect(listed).toMatch(new RegExp(`^g-${name}\\s+Empty`, 'm'));
    expect(await groups('--list', '--type', 'consumer')).toContain('g-console-consumer-consumer');
    const [group, topic] = ['g-kcat', 't-kcat'];
    await groups('--reset-offsets', '--group', group, '--topic', topic, '--to-earliest', '--execute');
    expect(await describeGroup(tools(), node.bootstrap, group)).toMatchObject(
      Array.from({ length: PARTITIONS }, () => ({ offset: 0, member: '' })),
    );
    await groups('--delete-offsets', '--group', group, '--topic', `${topic}:0`);
    expect(await describeGroup(tools(), node.bootstrap, group)).toHaveLength(PARTITIONS - 1);
    expect(await groups('--delete', '--group', group)).toContain('was successful');
    expect(await groups('--list')).not.toContain(group);
  });

  it("leaves a log that Kafka's dump tool reads", async () => {
    const files = partitionFiles(node.dataFolder).filter((name) => name.includes('__consumer_offsets-'));
    const logs = files.filter((name) => name.endsWith('.log'));
    expect((await dumpFiles(logs)).complaints).toEqual([]);
    const { code, stdout } = await runKafkaTool('dump', ['--offsets-decoder', '--files', logs.join(',')]);
    expect(code).toBe(0);
    expect(stdout).toContain('{"type":"1","data":{"group":"g-console-consumer-classic"');
    expect(stdout).toContain('{"type":"3","data":{"groupId":"g-console-consumer-consumer"}}');
    expect(stdout).not.toMatch(/unknown|cannot|error/i);
  });
});
