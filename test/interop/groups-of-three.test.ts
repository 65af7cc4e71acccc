/**
 * Groups of real clients on three nodes, those of all clients side by side: the node of their coordinator is killed
 * while they read, and another one goes on with what was committed: every record is read, and they are at rest again.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { consumerPerformance } from '../../tools/peers/kafka-tools.ts';
import { startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { coordinatorOf, GROUP_SETTINGS, type MemberKind, memberKinds, numbers, Party } from './grouping.ts';

const COUNT = 200;

const folder = temporaryFolder();
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const kinds = (await memberKinds()).all.filter((kind) => problem === null && kind.problem === null);
// One partition of offsets: the node that leads it coordinates all groups, and one kill is felt by all.
const settings = new Map([...GROUP_SETTINGS, ['offsets.topic.num.partitions', '1']]);
const cluster = await startTidemarkCluster(3, join(folder, 'cluster'), { settings });
const shell = problem === null ? await startKafkaShell() : null;
const parties = new Map(kinds.map((kind) => [kind, new Party(kind.name, cluster.bootstrap, tools(), folder)]));
afterAll(async () => {
  shell?.stop();
  await Promise.all([...parties.values()].flatMap(({ members }) => members.map((member) => member.stop('SIGKILL'))));
  await cluster.stop('SIGKILL');
});

function tools(): KafkaShell {
  if (shell === null) throw new Error('the tools have not been started');
  return shell;
}

/** Does the same for the group of each client. */
async function forAll(act: (party: Party, kind: MemberKind) => Promise<unknown>): Promise<void> {
  await Promise.all([...parties].map(([kind, party]) => act(party, kind)));
}

function coordinatorOfAll(): Promise<number> {
  const [first] = parties.values();
  return inTime('a coordinator', () => coordinatorOf(tools(), cluster.bootstrap, first?.group ?? ''));
}

let killed = 0;

const STEPS: readonly { readonly step: string; readonly begin: () => Promise<void> }[] = [
  {
    step: 'come together',
    begin: () =>
      forAll(async (party, kind) => {
        await party.makeTopic();
        await party.writeUpTo(COUNT);
        for (const _ of [1, 2]) await party.join(kind);
      }),
  },
  {
    step: 'read on after the node of their coordinator was killed',
    begin: async () => {
      killed = await coordinatorOfAll();
      await cluster.nodes[killed - 1]?.service.stop('SIGKILL');
      await forAll((party) => party.writeUpTo(2 * COUNT));
      expect(await coordinatorOfAll()).not.toBe(killed);
    },
  },
  {
    step: 'read on after it has come back',
    begin: async () => {
      await cluster.restart(killed);
      await forAll((party) => party.writeUpTo(3 * COUNT));
    },
  },
];

describe.skipIf(problem !== null).each(STEPS)('two members of one client $step:', ({ begin }) => {
  beforeAll(begin);
  it.concurrent.each(kinds)('$name', async (kind) => {
    const party = parties.get(kind) as Party;
    await party.settled(2);
    expect(party.read()).toEqual(numbers(0, party.written));
  });
});

describe.skipIf(problem !== null)('a group', () => {
  it.each(['classic', 'consumer'])("of Kafka's benchmark reads all, by the %s protocol", async (protocol) => {
    const [{ topic, written: records } = { topic: '', written: -1 }] = parties.values();
    const load = { bootstrap: cluster.bootstrap, topic, settings: new Map([['group.protocol', protocol]]) };
    expect(await consumerPerformance({ ...load, records }, tools().run)).toMatchObject({ records });
  });
});
