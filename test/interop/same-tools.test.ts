/**
 * The same commands of Apache Kafka's tools to Apache Kafka 4.4 and to our daemon: they print the same, but for what
 * must differ between two brokers, and for what `ALLOWED` gives a reason for. Each reason must be needed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import type { Service } from '../../tools/peers/process.ts';
import { inTime, type Peer, startPeers } from './differential/peers.ts';
import { describeGroup, GROUP_SETTINGS, memberKinds } from './grouping.ts';
import { type Allowed, Comparison, plainLines, type Replacement } from './tool-lines.ts';

/** The kinds of members of the groups: one of each protocol. */
const KINDS = ['kcat', 'confluent-kafka-consumer'] as const;
const SETTINGS = new Map([...GROUP_SETTINGS, ['num.partitions', '1']]);

const folder = mkdtempSync(join(tmpdir(), 'tidemark-tools-'));
const kinds = (await memberKinds()).all.filter(({ name }) => KINDS.some((kind) => kind === name));
const problem = (await kafkaProblem()) ?? kinds.find((kind) => kind.problem !== null)?.problem ?? null;
const peers: readonly Peer[] = problem === null ? await startPeers(SETTINGS) : [];
const shells = await Promise.all(peers.map(() => startKafkaShell()));
const members: Service[] = [];
afterAll(async () => {
  for (const shell of shells) shell.stop();
  await Promise.all(members.map((member) => member.stop('SIGKILL')));
  await Promise.all(peers.map((peer) => peer.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** A command: its tool, and its arguments between blanks. */
type Command = readonly [tool: string, args: string, input?: string];

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const cut = (offset: number): string =>
  file(`cut${offset}`, `{"partitions":[{"topic":"one","partition":0,"offset":${offset}}],"version":1}`);

/** In this order: later ones see what earlier ones did. */
const COMMANDS: readonly Command[] = [
  ['topics', '--create --topic a --partitions 2 --config retention.ms=70000'],
  ['topics', '--create --topic a'],
  ['topics', '--create --topic a --if-not-exists'],
  ['topics', '--create --topic my_topic.x'],
  ['topics', '--create --topic b --config nonsense=1'],
  ['topics', '--create --topic b --config retention.ms=abc'],
  ['topics', '--create --topic b --replication-factor 3'],
  ['topics', '--create --topic one'],
  ['topics', '--create --topic spread --replica-assignment 1,1,1'],
  ['topics', '--list'],
  ['topics', '--describe'],
  ['topics', '--describe --topic nowhere'],
  ['topics', '--describe --at-min-isr-partitions'],
  ['topics', '--alter --topic a --partitions 3'],
  ['topics', '--alter --topic a --partitions 1'],
  ['configs', '--describe --topic a --all'],
  ['configs', '--alter --topic a --add-config max.message.bytes=20000,cleanup.policy=[compact,delete]'],
  ['configs', '--alter --topic a --add-config segment.bytes=1'],
  ['configs', '--alter --topic nowhere --add-config segment.bytes=1048576'],
  ['configs', '--alter --topic a --delete-config segment.bytes'],
  ['configs', '--describe --topic a'],
  ['configs', '--alter --broker 1 --add-config log.retention.ms=500000'],
  ['configs', '--alter --broker-defaults --add-config log.cleaner.threads=2'],
  ['configs', '--alter --broker 1 --add-config num.partitions=2'],
  ['configs', '--describe --broker 1'],
  ['configs', '--describe --broker-defaults'],
  ['configs', '--describe --entity-type clients'],
  ['configs', '--describe --entity-type users'],
  ['configs', '--describe --entity-type topics'],
  ['configs', '--describe --entity-type groups'],
  ['console-producer', '--topic one', 'p\nq\nr\n'],
  // Its timestamp is the largest, for the tool takes its time to start; those of three lines may be one or several.
  ['console-producer', '--topic one', 's\n'],
  ['console-producer', '--topic a', 'no key\n'],
  ['console-consumer', '--topic one --partition 0 --offset 1 --max-messages 2 --timeout-ms 60000'],
  ['get-offsets', ''],
  ['get-offsets', '--topic one --time earliest'],
  ['get-offsets', '--topic one --time -3'],
  ['get-offsets', '--topic one --time latest-tiered'],
  ['get-offsets', '--topic-partitions spread:1-3,one:0'],
  ['get-offsets', '--topic nowhere'],
  ['delete-records', `--offset-json-file ${cut(2)}`],
  ['delete-records', `--offset-json-file ${cut(99)}`],
  ['delete-records', `--offset-json-file ${cut(-1)}`],
  ['log-dirs', '--describe --topic-list one,a'],
  ['log-dirs', '--describe --broker-list 7'],
  ['broker-api-versions', ''],
  ['features', 'describe'],
  ['features', 'downgrade --metadata 4.3'],
  ['features', 'upgrade --feature nonsense.version=1'],
  ['metadata-quorum', 'describe --status'],
  ['metadata-quorum', 'describe --replication'],
  ['org.apache.kafka.tools.ClusterTool', 'cluster-id'],
  ['org.apache.kafka.tools.AclCommand', '--list'],
  ['org.apache.kafka.tools.TransactionsCommand', 'describe-producers --topic one --partition 0'],
  ['org.apache.kafka.tools.reassign.ReassignPartitionsCommand', '--list'],
  ['topics', '--delete --topic one'],
  ['topics', '--delete --topic nowhere'],
  ['topics', '--create --topic one'],
  ['topics', '--describe --topic one'],
];

const BOTH_GROUPS = KINDS.map((kind) => `--group g-${kind}`).join(' ');

/** Of topics that groups read, before they do. */
const GROUPED_TOPICS: readonly Command[] = KINDS.flatMap((kind): Command[] => [
  ['topics', `--create --topic t-${kind}`],
  ['console-producer', `--topic t-${kind}`, 'p\nq\nr\ns\nt\n'],
]);

/** Of each group while a member reads. */
const WHILE_READ: readonly Command[] = [
  ['groups', '--list'],
  ['groups', '--list --state'],
  ['groups', '--list --type'],
  ['groups', '--list --state Stable --type classic'],
  ['groups', '--list --state empty,dead'],
  ['groups', '--list --type consumer'],
  ['groups', '--describe --all-groups'],
  ['groups', '--describe --all-groups --members'],
  ['groups', '--describe --all-groups --members --verbose'],
  ['groups', '--describe --all-groups --state'],
  ...KINDS.flatMap((kind): Command[] => [
    ['groups', `--describe --group g-${kind} --offsets --verbose`],
    ['groups', `--describe --group g-${kind} --state --verbose`],
    ['groups', `--reset-offsets --group g-${kind} --topic t-${kind} --to-earliest --execute`],
    ['groups', `--delete-offsets --group g-${kind} --topic t-${kind}`],
    ['groups', `--delete --group g-${kind}`],
  ]),
  ['groups', '--describe --group nobody'],
  ['groups', '--describe --group nobody --members'],
  ['groups', '--describe --group nobody --state'],
];

/** Of the same groups when their members have gone. */
const WHEN_EMPTY: readonly Command[] = [
  ['groups', '--list --state'],
  ['groups', '--describe --all-groups --members'],
  ['groups', '--describe --all-groups --state'],
  ...KINDS.flatMap((kind): Command[] => [
    ['groups', `--describe --group g-${kind}`],
    ...[
      ...['--to-earliest --dry-run', '--to-earliest --execute', '--shift-by 2 --execute', '--shift-by -9 --execute'],
      ...[
        '--to-offset 3 --execute',
        '--to-offset 99 --execute',
        '--to-latest --execute',
        '--by-duration P1D --execute',
      ],
      ...['--to-datetime 2020-01-01T00:00:00.000 --execute', '--to-current --dry-run', '--to-earliest --export'],
      `--from-file ${file(`plan-${kind}`, `t-${kind},0,4\n`)} --execute`,
    ].map((how): Command => ['groups', `--reset-offsets --group g-${kind} --topic t-${kind} ${how}`]),
    ['groups', `--reset-offsets --group g-${kind} --topic t-${kind}:0 --to-latest --execute`],
    ['groups', `--reset-offsets --group g-${kind} --topic t-${kind}:7 --to-latest --execute`],
    ['groups', `--reset-offsets --group g-${kind} --topic nowhere --to-latest --execute`],
    ['groups', `--reset-offsets --group g-${kind} --all-topics --to-earliest --execute`],
    ['groups', `--describe --group g-${kind}`],
    ['groups', `--delete-offsets --group g-${kind} --topic t-${kind}:7`],
    ['groups', `--delete-offsets --group g-${kind} --topic nowhere`],
    ['groups', `--delete-offsets --group g-${kind} --topic t-${kind}:0`],
    ['groups', `--describe --group g-${kind}`],
  ]),
  ['groups', '--reset-offsets --group g-new --topic t-kcat --to-latest --execute'],
  ['groups', '--describe --group g-new --state'],
  ['groups', '--delete-offsets --group nobody --topic t-kcat'],
  ['groups', `--delete ${BOTH_GROUPS} --group nobody`],
  ['groups', '--delete --all-groups'],
  ['groups', '--list'],
];

const ALLOWED: readonly Allowed[] = [
  {
    command: /--topic a --all$/,
    lines: /^flush\.messages=(1|9223372036854775807) /,
    reason: 'what is acknowledged is synced here by default',
  },
  {
    command: /^broker-api-versions/,
    lines: /^\w+\(\d+\): (UNSUPPORTED|\d)/,
    reason: 'only what is served is advertised; versions are compared elsewhere',
  },
  {
    command: /^features describe/,
    lines: /^Feature: (group|kraft|share|streams|transaction)\.version /,
    reason: 'only features that are served are supported; our voters may be changed, those of a configuration may not',
  },
  {
    command: /^metadata-quorum/,
    lines: /^(CurrentVoters|CurrentObservers|ClusterId|LeaderEpoch|HighWatermark|MaxFollower)|Leader$/,
    reason: 'another cluster, whose voters have directory ids from the start',
  },
];

const comparison = new Comparison(ALLOWED);

function replacementsOf(peer: Peer): Replacement[] {
  return [
    [new RegExp(`127\\.0\\.0\\.1:${peer.port}`, 'g'), 'ADDRESS'],
    [/"logDir":"[^"]*"/g, 'FOLDER'],
    // Ids of members: those of the classic protocol begin with the name of the client.
    [/rdkafka-[0-9a-f-]{36}/g, 'MEMBER'],
    [/(?<=^g-confluent-kafka-consumer (.* )?)[\w/+-]{22}(?= )/gm, 'MEMBER'],
    // How a console's lines fall into batches depends on their timing.
    [/"size":[1-9]\d*/g, '"size":SOME'],
    // To which partition a producer sends what has no key is chance.
    [/in topic partition a-\d/g, 'in topic partition a-ANY'],
    // Which number a producer gets depends on how many asked for one before, and on how often.
    [/^\d+(\s+\d+\s+-1\s+\d+\s+\d{13}\s+None)/gm, 'ID$1'],
  ];
}

async function runOn(peer: Peer, [tool, args, input]: Command): Promise<string[]> {
  const words = args === '' ? [] : args.split(' ');
  const address = ['--bootstrap-server', `127.0.0.1:${peer.port}`];
  // Tools with commands of their own take the address first.
  const isFirst = tool === 'features' || tool === 'metadata-quorum' || tool.includes('TransactionsCommand');
  const inputFile = input === undefined ? undefined : file(`input-${peer.name}`, input);
  const shell = shells[peers.indexOf(peer)];
  if (shell === undefined) throw new Error('there is a process of tools for each broker');
  const finished = await shell.run(tool, isFirst ? [...address, ...words] : [...words, ...address], inputFile);
  return plainLines(finished, replacementsOf(peer));
}

/** Starts a member of each kind beside each broker, and waits until it has read and committed all. */
async function startMembers(): Promise<void> {
  for (const [i, peer] of peers.entries()) {
    const bootstrap = `127.0.0.1:${peer.port}`;
    for (const { name, start } of kinds) {
      members.push(await start(bootstrap, `g-${name}`, `t-${name}`));
      await inTime(`${name} to read`, async () => {
        const rows = await describeGroup(shells[i] as KafkaShell, bootstrap, `g-${name}`);
        return rows.some(({ member, offset }) => member !== '' && offset === LINES) ? true : null;
      });
    }
  }
}

async function stopMembers(): Promise<void> {
  await Promise.all(members.splice(0).map((member) => member.stop('SIGTERM')));
}

/** Lines of each topic that is read. */
const LINES = 5;

interface Scene {
  readonly scene: string;
  readonly begin: () => Promise<void>;
  readonly commands: readonly Command[];
}

const SCENES: readonly Scene[] = [
  { scene: 'of a cluster', begin: async () => {}, commands: COMMANDS },
  { scene: 'of topics that groups will read', begin: async () => {}, commands: GROUPED_TOPICS },
  { scene: 'of groups that read', begin: startMembers, commands: WHILE_READ },
  { scene: 'of groups without members', begin: stopMembers, commands: WHEN_EMPTY },
];

describe.skipIf(problem !== null)("Apache Kafka's tools print the same of Apache Kafka and of Tidemark", () => {
  describe.each(SCENES)('$scene:', ({ begin, commands }) => {
    beforeAll(begin);
    it.each(commands.map(([tool, args, input]) => ({ tool, args, input })))(
      '$tool $args',
      async ({ tool, args, input }) => {
        const command: Command = input === undefined ? [tool, args] : [tool, args, input];
        const [kafka = [], ours = []] = await Promise.all(peers.map((peer) => runOn(peer, command)));
        const title = `${tool} ${args}`;
        expect(comparison.differences(title, kafka, ours)).toEqual({ kafka: [], ours: [] });
      },
    );
  });

  it('every reason is needed', () => {
    expect(comparison.unused()).toEqual([]);
  });
});
