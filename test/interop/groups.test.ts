/**
 * Groups of real clients on one node, those of all clients side by side: they share a topic, go on where they were
 * after the node was killed, and Kafka's tools describe, reset and delete them and read the log of their offsets.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { consumerPerformance, dumpFiles, runKafkaTool } from '../../tools/peers/kafka-tools.ts';
import { freePort, type Service } from '../../tools/peers/process.ts';
import { startTidemark, type TidemarkNode } from '../../tools/peers/tidemark.ts';
import { partitionFiles, temporaryFolder } from './daemon.ts';
import {
  describeGroup,
  GROUP_SETTINGS,
  type MemberKind,
  memberKinds,
  numbers,
  PARTITIONS,
  Party,
  recordsOf,
} from './grouping.ts';

const COUNT = 200;

const folder = temporaryFolder();
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const { all, mixed } = await memberKinds();
const kinds = all.filter((kind) => problem === null && kind.problem === null);
const port = await freePort();
let node: TidemarkNode = await start();
const shell = problem === null ? await startKafkaShell() : null;
const parties = new Map(kinds.map((kind) => [kind, new Party(kind.name, node.bootstrap, tools(), folder)]));
const together = [...mixed].map(([assignor, sharing]) => {
  return { assignor, sharing: sharing.filter((kind) => kind.problem === null) };
});
/** Those of several clients: each try has its own. */
const mixtures: Party[] = [];
afterAll(async () => {
  shell?.stop();
  const members = [...parties.values(), ...mixtures].flatMap((party) => party.members);
  await Promise.all([...members.map((member) => member.stop('SIGKILL')), node.service.stop('SIGKILL')]);
});

function start(): Promise<TidemarkNode> {
  return startTidemark({ dataFolder: join(folder, 'data'), port, settings: GROUP_SETTINGS });
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

/** Does the same for the group of each client. */
async function forAll(act: (party: Party, kind: MemberKind) => Promise<unknown>): Promise<void> {
  await Promise.all([...parties].map(([kind, party]) => act(party, kind)));
}

/** A group of several clients that begins; those before it have ended, by themselves or by a failed try. */
async function mixture(name: string): Promise<Party> {
  await Promise.all(mixtures.flatMap(({ members }) => members).map((member) => member.stop('SIGKILL')));
  const party = new Party(`${name}-${mixtures.length}`, node.bootstrap, tools(), folder);
  mixtures.push(party);
  return party;
}

function partyOf(kind: MemberKind): Party {
  return parties.get(kind) as Party;
}

/** What each client's group does, one after the other: how it begins for all, and what must come of it for each. */
interface Duty {
  readonly duty: string;
  readonly begin: () => Promise<void>;
  readonly check: (party: Party) => Promise<void>;
}

/** How many records a member had read when the node was killed. */
const readBefore = new Map<Service | undefined, number>();

const DUTIES: readonly Duty[] = [
  {
    duty: 'one member reads all that is there',
    begin: () =>
      forAll(async (party, kind) => {
        await party.makeTopic();
        await party.writeUpTo(COUNT);
        await party.join(kind);
      }),
    check: async (party) => {
      await party.settled(1);
      expect(party.members.flatMap(recordsOf).sort()).toEqual(numbers(0, COUNT));
    },
  },
  {
    duty: 'a second one comes and takes its share',
    begin: () => forAll((party, kind) => party.join(kind)),
    check: async (party) => {
      await party.settled(2);
      await party.writeUpTo(2 * COUNT);
      await party.settled(2);
      expect(party.read()).toEqual(numbers(0, 2 * COUNT));
      expect(recordsOf(party.members[1] as Service).length).toBeGreaterThan(0);
    },
  },
  {
    duty: 'the first one goes',
    begin: () => forAll((party) => party.members[0]?.stop('SIGTERM') ?? Promise.resolve()),
    check: (party) => party.settled(1),
  },
  {
    duty: 'the node is killed, and what was committed is not read again',
    begin: async () => {
      await forAll(async ({ members: [, second] }) => readBefore.set(second, recordsOf(second as Service).length));
      await node.service.stop('SIGKILL');
      node = await start();
      await forAll((party) => party.writeUpTo(3 * COUNT));
    },
    check: async (party) => {
      await party.settled(1);
      const second = party.members[1] as Service;
      // What comes after the kill may be read twice by who joins once more before it has committed.
      const read = new Set(recordsOf(second).slice(readBefore.get(second)));
      expect([...read].sort()).toEqual(numbers(2 * COUNT, 3 * COUNT));
    },
  },
  {
    duty: 'another one begins where they were',
    begin: () =>
      forAll(async (party, kind) => {
        await party.members[1]?.stop('SIGTERM');
        await party.writeUpTo(4 * COUNT);
        await party.join(kind);
      }),
    check: async (party) => {
      await party.settled(1);
      const third = party.members[2] as Service;
      expect(recordsOf(third).sort()).toEqual(numbers(3 * COUNT, 4 * COUNT));
      await third.stop('SIGTERM');
    },
  },
];

describe.skipIf(problem !== null).each(DUTIES)('in a group of one client $duty:', ({ begin, check }) => {
  beforeAll(begin);
  it.concurrent.each(kinds)('$name', (kind) => check(partyOf(kind)));
});

describe.skipIf(problem !== null)('a group of different clients', () => {
  it.each(together)('shares a topic by $assignor, whoever of them leads', async ({ assignor, sharing }) => {
    const party = await mixture(`mixed-${assignor}`);
    await party.makeTopic(sharing.length + 1);
    for (const [i, kind] of sharing.entries()) {
      await party.join(kind);
      await party.writeUpTo((i + 1) * COUNT);
    }
    await party.settled(sharing.length);
    // The oldest one leads: it shares out by what the others have said, and they must understand what it says.
    for (const [i, oldest] of [...party.members].entries()) {
      await party.writeUpTo((sharing.length + i + 1) * COUNT);
      await party.settled(sharing.length - i);
      expect(party.read()).toEqual(numbers(0, party.written));
      await oldest.stop('SIGTERM');
    }
  });
});

// librdkafka may not lead: it tells members more than partitions then, and no broker changes such a group.
const changing = [
  ...['console-consumer-classic', 'confluent-kafka-cooperative-sticky', 'confluent-kafka-consumer'],
  ...['console-consumer-consumer', 'kafka-python-cooperative-sticky'],
].map((name) => kinds.find((kind) => kind.name === name));

describe.skipIf(changing.includes(undefined))('a group whose members change over, one by one', () => {
  const [old, older, next, later, back] = changing;

  it('to the other protocol, and back, leaves nothing out', async () => {
    const party = await mixture('changing');
    await party.makeTopic();
    const typed = async (type: string): Promise<void> => {
      expect(await groups('--list', '--type')).toMatch(new RegExp(`^${party.group}\\s+${type}`, 'm'));
    };
    const settled = async (count: number, type: string): Promise<void> => {
      await party.writeUpTo(party.written + COUNT);
      await party.settled(count);
      expect(party.read()).toEqual(numbers(0, party.written));
      await typed(type);
    };
    const first = [await party.join(old as MemberKind)];
    await settled(1, 'Classic');
    first.push(await party.join(older as MemberKind));
    await settled(2, 'Classic');
    const second = [await party.join(next as MemberKind)];
    await settled(3, 'Consumer');
    await first[0]?.stop('SIGTERM');
    second.push(await party.join(later as MemberKind));
    await settled(3, 'Consumer');
    await first[1]?.stop('SIGTERM');
    await settled(2, 'Consumer');
    const third = await party.join(back as MemberKind);
    await settled(3, 'Consumer');
    await Promise.all(second.map((member) => member.stop('SIGTERM')));
    await settled(1, 'Classic');
    await third.stop('SIGTERM');
  });
});

describe.skipIf(problem !== null)('a group', () => {
  it.each(['classic', 'consumer'])("of Kafka's benchmark reads all, by the %s protocol", async (protocol) => {
    const [topic, group] = ['t-kcat', `g-perf-${protocol}`];
    const load = { bootstrap: node.bootstrap, topic, group, settings: new Map([['group.protocol', protocol]]) };
    const { records } = await consumerPerformance({ ...load, records: 4 * COUNT }, tools().run);
    expect(records).toBe(4 * COUNT);
    const rows = await describeGroup(tools(), node.bootstrap, group);
    expect(rows.map(({ offset, end, member }) => [end - offset, member])).toEqual(rows.map(() => [0, '']));
    expect(rows).toHaveLength(PARTITIONS);
  });

  it("is listed, described, reset and deleted by Kafka's tools", async () => {
    const listed = await groups('--list', '--state');
    for (const { name } of kinds) expect(listed).toMatch(new RegExp(`^g-${name}\\s+Empty`, 'm'));
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
