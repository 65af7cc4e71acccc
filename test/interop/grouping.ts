/**
 * Real clients as members of groups, each a process of its own: which there are, and how a group of each is watched.
 *
 * What the program of a client has to do, called as `PROGRAM member BOOTSTRAP TOPIC GROUP ASSIGNOR` (see `clients/`):
 * - It joins GROUP and reads TOPIC, from its beginning where nothing is committed. ASSIGNOR is the one that it offers:
 *   `range`, `roundrobin`, `sticky` or `cooperative-sticky`, in the format of Java's so that clients can be mixed, or
 *   `consumer` for the protocol in which the broker assigns.
 * - Of each record it prints the value, a line each, at once; then it commits, within some hundred milliseconds.
 * - Whatever goes wrong it tells on standard error and tries again, for as long as it takes.
 * - Told to end by SIGTERM, it commits what it has printed, leaves the group and ends.
 * - Its session lasts 6 s, it beats twice a second, and it retries within a second, so that no test has to wait for it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { needClients, needProgram } from '../../tools/peers/clients.ts';
import { installKafka, javaArguments, kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import type { KafkaShell } from '../../tools/peers/kafka-shell.ts';
import { KAFKA_TOOLS } from '../../tools/peers/kafka-tools.ts';
import { runOrThrow, type Service, serve } from '../../tools/peers/process.ts';
import { inTime } from './differential/peers.ts';

/** How to start a member. */
export interface MemberKind {
  /** The client, and the assignor where it has several. */
  readonly name: string;
  /** Why it cannot be started here, or null. */
  readonly problem: string | null;
  readonly start: (bootstrap: string, group: string, topic: string) => Promise<Service>;
}

/** Kinds of members, as tests take them. */
export interface MemberKinds {
  readonly all: readonly MemberKind[];
  /** Of each client once, those that can share a group, by the assignor that they have in common. */
  readonly mixed: ReadonlyMap<string, readonly MemberKind[]>;
}

/**
 * Clients whose programs are in `clients/`, and the assignors that each is tried with: what it has beyond `range`.
 * Those without `consumer` do not know that protocol.
 */
const PROGRAMS: readonly (readonly [client: string, assignors: readonly string[]])[] = [
  ['confluent-kafka', ['cooperative-sticky', 'consumer']],
  ['kafka-python', ['cooperative-sticky']],
  ['aiokafka', ['sticky']],
  // Its own assigner has a name and a format that no other client knows; the ones in its program are written for it.
  ['kafkajs', ['roundrobin']],
  ['platformatic-1', ['roundrobin', 'consumer']],
  ['platformatic-2', ['cooperative-sticky', 'consumer']],
  ['franz-go', ['cooperative-sticky', 'consumer']],
  ['sarama', ['sticky']],
  ['kafka-go', ['roundrobin']],
];

/**
 * Clients that share a group with all others by `range`. kafka-go does not: it calls what it subscribes to version 1
 * and leaves out what that version has at its end. It and librdkafka find no assignment for each other, whoever leads,
 * with Apache Kafka as with us. Nor do those of platformatic: where many members make a rebalance last as long as a
 * session, they do not always come back from it, and their programs end.
 */
const SHARING_RANGE: readonly string[] = [
  ...['confluent-kafka', 'kafka-python', 'aiokafka', 'kafkajs', 'franz-go', 'sarama'],
];
/** Clients that get on with kafka-go. */
const SHARING_ROUNDROBIN: readonly string[] = ['kafka-go', 'kafkajs', 'franz-go', 'sarama'];

/** Clients that cannot be members of a group of any broker, and why. */
const WITHOUT_GROUPS: ReadonlyMap<string, string> = new Map([
  ['rskafka', 'it has no groups: it reads the partitions that it is told to'],
]);

/** Partitions of each topic: more than there are members. */
export const PARTITIONS = 4;

/** What brokers have to be set to for members that do not wait. */
export const GROUP_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['group.initial.rebalance.delay.ms', '0'],
  ['group.consumer.min.heartbeat.interval.ms', '500'],
  ['group.consumer.heartbeat.interval.ms', '500'],
  ['group.consumer.min.session.timeout.ms', '6000'],
  ['group.consumer.session.timeout.ms', '6000'],
  ['num.partitions', String(PARTITIONS)],
]);

/** On two processors the many processes of a file take their time to start. */
const PATIENCE_MS = 180_000;

async function kcat(bootstrap: string, group: string, topic: string): Promise<Service> {
  const settings = ['auto.offset.reset=earliest', 'auto.commit.interval.ms=200', 'session.timeout.ms=6000'];
  const options = [...settings, 'heartbeat.interval.ms=500'].flatMap((setting) => ['-X', setting]);
  return serve('kcat', ['-b', bootstrap, '-q', '-u', '-E', ...options, '-G', group, topic]);
}

type Protocol = 'classic' | 'consumer';

async function java(tool: string, args: readonly string[]): Promise<Service> {
  const all = javaArguments(await installKafka(), '128m', KAFKA_TOOLS.get(tool) ?? tool, args);
  return serve('java', ['-XX:TieredStopAtLevel=1', ...all]);
}

function consoleConsumer(protocol: Protocol, bootstrap: string, group: string, topic: string): Promise<Service> {
  const own = protocol === 'classic' ? ['session.timeout.ms=6000', 'heartbeat.interval.ms=500'] : [];
  const settings = [`group.protocol=${protocol}`, 'auto.commit.interval.ms=200', ...own];
  const options = settings.flatMap((setting) => ['--command-property', setting]);
  const args = ['--bootstrap-server', bootstrap, '--group', group, '--topic', topic, '--from-beginning', ...options];
  return java('console-consumer', args);
}

/** Commits what it has read before it asks for more. */
function verifiableConsumer(protocol: Protocol, bootstrap: string, group: string, topic: string): Promise<Service> {
  const own = protocol === 'classic' ? ['--session-timeout', '6000'] : [];
  const args = ['--bootstrap-server', bootstrap, '--group-id', group, '--topic', topic, '--verbose', ...own];
  return java('org.apache.kafka.tools.VerifiableConsumer', [...args, '--group-protocol', protocol]);
}

/** Makes sure that all clients are there. */
export async function memberKinds(): Promise<MemberKinds> {
  const clients = await needClients(fileURLToPath(new URL('./clients/', import.meta.url)));
  const kafka = await kafkaProblem();
  const classic: MemberKind[] = [
    { name: 'kcat', problem: await needProgram('kcat'), start: kcat },
    { name: 'console-consumer-classic', problem: kafka, start: (...args) => consoleConsumer('classic', ...args) },
    { name: 'verifiable-consumer-classic', problem: kafka, start: (...args) => verifiableConsumer('classic', ...args) },
  ];
  const consumer: MemberKind[] = [
    { name: 'console-consumer-consumer', problem: kafka, start: (...args) => consoleConsumer('consumer', ...args) },
    {
      name: 'verifiable-consumer-consumer',
      problem: kafka,
      start: (...args) => verifiableConsumer('consumer', ...args),
    },
  ];
  const kind = (name: string, assignor: string): MemberKind => {
    const client = clients.find((one) => one.name === name);
    if (client === undefined) throw new Error(`there is no client ${name}`);
    return {
      name: `${name}-${assignor}`,
      problem: client.problem,
      start: async (bootstrap, group, topic) => client.serve(['member', bootstrap, topic, group, assignor]),
    };
  };
  for (const { name } of clients) {
    const isKnown = WITHOUT_GROUPS.has(name) !== PROGRAMS.some(([client]) => client === name);
    if (!isKnown) throw new Error(`whether ${name} can be a member of groups is not told`);
  }
  const own = PROGRAMS.flatMap(([name, assignors]) => assignors.map((assignor) => kind(name, assignor)));
  return {
    all: [...classic, ...consumer, ...own],
    mixed: new Map([
      ['range', [...classic, ...SHARING_RANGE.map((name) => kind(name, 'range'))]],
      ['roundrobin', SHARING_ROUNDROBIN.map((name) => kind(name, 'roundrobin'))],
    ]),
  };
}

/** The values of records that a member has printed, in their order: those of one program stand in JSON. */
export function recordsOf(member: Service): string[] {
  return member.output().match(/(?<=^|"value":")r\d+(?="|$)/gm) ?? [];
}

/** `r<from>` to `r<to - 1>`, in order of the alphabet. */
export function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `r${from + i}`).sort();
}

/** A group that reads a topic of its own, and what is known of both. */
export class Party {
  readonly topic: string;
  readonly group: string;
  /** In the order in which they were started; those that have left too. */
  readonly members: Service[] = [];
  /** Records `r0` to `r<written - 1>` are in the topic. */
  written = 0;
  private readonly bootstrap: string;
  private readonly shell: KafkaShell;
  private readonly folder: string;

  constructor(name: string, bootstrap: string, shell: KafkaShell, folder: string) {
    this.topic = `t-${name}`;
    this.group = `g-${name}`;
    this.bootstrap = bootstrap;
    this.shell = shell;
    this.folder = folder;
  }

  async makeTopic(partitions = PARTITIONS): Promise<void> {
    // The tool asks again where an election took its first answer away: the topic may then be there already.
    const asked = ['--create', '--if-not-exists', '--topic', this.topic, '--partitions', String(partitions)];
    const { code, stdout } = await this.shell.run('topics', ['--bootstrap-server', this.bootstrap, ...asked]);
    expect(code, stdout).toBe(0);
  }

  /** Starts one more member. */
  async join({ start }: MemberKind): Promise<Service> {
    const member = await start(this.bootstrap, this.group, this.topic);
    this.members.push(member);
    return member;
  }

  /** Writes more records, to any partition, acknowledged by all, so that there are this many. */
  async writeUpTo(count: number): Promise<void> {
    const file = join(this.folder, `${this.topic}-${count}`);
    writeFileSync(file, `${numbers(this.written, count).join('\n')}\n`);
    const careful = ['-X', 'enable.idempotence=true', '-X', 'sticky.partitioning.linger.ms=0'];
    await runOrThrow('kcat', ['-P', '-E', '-b', this.bootstrap, '-t', this.topic, ...careful, '-l', file], {
      timeoutMs: 60_000,
    });
    this.written = count;
  }

  /** Waits until each partition is read by one of so many members and all that was written is committed. */
  async settled(count: number): Promise<void> {
    let rows: GroupRow[] = [];
    const look = async (): Promise<true | null> => {
      const alive = this.members.filter((member) => member.exitCode() === null).length;
      if (alive < count) throw new Error(`${alive} of ${count} members of ${this.group} are still there`);
      rows = await describeGroup(this.shell, this.bootstrap, this.group);
      const owners = new Set(rows.map(({ member }) => member));
      const isRead = rows.length > 0 && rows.every(({ member, offset, end }) => member !== '' && offset === end);
      const committed = rows.reduce((sum, { offset }) => sum + offset, 0);
      return isRead && owners.size === count && committed >= this.written ? true : null;
    };
    await inTime(`${count} members of ${this.group} to be settled`, look, PATIENCE_MS).catch((error: Error) => {
      const said = this.members.map((member) =>
        member
          .output()
          .replace(/^r\d+$\n?/gm, '')
          .slice(-1500),
      );
      throw new Error(`${error.message}: ${JSON.stringify(rows)}\n${said.join('\n---\n')}`);
    });
  }

  /** What the members have read, each record once. */
  read(): string[] {
    return [...new Set(this.members.flatMap(recordsOf))].sort();
  }
}

/** A partition that a group reads, as Kafka's tool describes it. */
export interface GroupRow {
  readonly partition: number;
  /** -1: nothing is committed. */
  readonly offset: number;
  readonly end: number;
  /** Empty for nobody. */
  readonly member: string;
}

/** What Kafka's tool says of a group, partition by partition; nothing while it says nothing. */
export async function describeGroup(shell: KafkaShell, bootstrap: string, group: string): Promise<GroupRow[]> {
  const { stdout } = await shell.run('groups', ['--bootstrap-server', bootstrap, '--describe', '--group', group]);
  return stdout.split('\n').flatMap((line) => {
    const [name, , partition, offset, end, , member] = line.trim().split(/\s+/);
    if (name !== group || !/^\d+$/.test(partition ?? '')) return [];
    const committed = offset === '-' ? -1 : Number(offset);
    return [
      {
        partition: Number(partition),
        offset: committed,
        end: Number(end),
        member: member === '-' ? '' : (member ?? ''),
      },
    ];
  });
}

/** The node that coordinates a group, by Kafka's tool; null while it does not say. */
export async function coordinatorOf(shell: KafkaShell, bootstrap: string, group: string): Promise<number | null> {
  const asked = ['--bootstrap-server', bootstrap, '--describe', '--state', '--group', group];
  const { stdout } = await shell.run('groups', asked);
  const found = new RegExp(`^${group}\\s+\\S+\\s+\\((\\d+)\\)`, 'm').exec(stdout);
  return found === null ? null : Number(found[1]);
}
