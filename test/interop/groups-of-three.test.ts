/**
 * Groups of real clients on three nodes: the node of their coordinator is killed while they read, and another one goes
 * on with what was committed: every record is read, and the group is at rest again.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import type { Service } from '../../tools/peers/process.ts';
import { startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { coordinatorOf, describeGroup, MEMBER_KINDS, recordsOf, write } from './grouping.ts';

const PARTITIONS = 4;
const COUNT = 200;

const folder = temporaryFolder();
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const cluster = await startTidemarkCluster(3, join(folder, 'cluster'), {
  settings: new Map([
    ['group.initial.rebalance.delay.ms', '0'],
    ['num.partitions', String(PARTITIONS)],
  ]),
});
const shell = problem === null ? await startKafkaShell() : null;
const members: Service[] = [];
afterAll(async () => {
  shell?.stop();
  await Promise.all(members.map((member) => member.stop('SIGKILL')));
  await cluster.stop('SIGKILL');
});

function tools(): KafkaShell {
  if (shell === null) throw new Error('the tools have not been started');
  return shell;
}

async function writeMore(topic: string, from: number): Promise<void> {
  const file = join(folder, 'more');
  writeFileSync(file, Array.from({ length: COUNT }, (_, i) => `r${from + i}\n`).join(''));
  await write(cluster.bootstrap, topic, file);
}

async function settled(group: string, count: number): Promise<void> {
  await inTime(`${count} members of ${group} to be settled`, async () => {
    const rows = await describeGroup(tools(), cluster.bootstrap, group);
    const owners = new Set(rows.map(({ member }) => member));
    const isRead =
      rows.length === PARTITIONS && rows.every(({ member, offset, end }) => member !== '' && offset === end);
    return isRead && owners.size === count ? true : null;
  });
}

describe.skipIf(problem !== null)('while the node of its coordinator is killed', () => {
  it.each(MEMBER_KINDS)('a group of $name reads on, and leaves nothing out', async ({ name, start }) => {
    const [topic, group] = [`t-${name}`, `g-${name}`];
    const made = ['--bootstrap-server', cluster.bootstrap, '--create', '--topic', topic];
    expect((await tools().run('topics', made)).code).toBe(0);
    await writeMore(topic, 0);
    for (const _ of [1, 2]) members.push(await start(cluster.bootstrap, group, topic));
    const [first, second] = members.slice(-2) as [Service, Service];
    await settled(group, 2);

    const coordinator = await inTime('a coordinator', () => coordinatorOf(tools(), cluster.bootstrap, group));
    await cluster.nodes[coordinator - 1]?.service.stop('SIGKILL');
    await writeMore(topic, COUNT);
    await settled(group, 2);
    const next = await inTime('another coordinator', () => coordinatorOf(tools(), cluster.bootstrap, group));
    expect(next).not.toBe(coordinator);
    await cluster.restart(coordinator);
    await writeMore(topic, 2 * COUNT);
    await settled(group, 2);
    const read = new Set([...recordsOf(first), ...recordsOf(second)]);
    expect(read.size).toBe(3 * COUNT);
    await Promise.all([first.stop('SIGTERM'), second.stop('SIGTERM')]);
  });
});
