/** Real clients as members of groups, each a process of its own that prints what it reads, a record a line. */
import { installKafka, javaArguments } from '../../tools/peers/kafka-broker.ts';
import type { KafkaShell } from '../../tools/peers/kafka-shell.ts';
import { KAFKA_TOOLS } from '../../tools/peers/kafka-tools.ts';
import { runOrThrow, type Service, serve } from '../../tools/peers/process.ts';

/** How to start a member. */
export interface MemberKind {
  readonly name: string;
  readonly start: (bootstrap: string, group: string, topic: string) => Promise<Service>;
}

async function kcat(bootstrap: string, group: string, topic: string): Promise<Service> {
  const settings = ['auto.offset.reset=earliest', 'auto.commit.interval.ms=200', 'session.timeout.ms=6000'];
  const options = settings.flatMap((setting) => ['-X', setting]);
  return serve('kcat', ['-b', bootstrap, '-q', '-u', '-E', ...options, '-G', group, topic]);
}

async function consoleConsumer(
  protocol: 'classic' | 'consumer',
  bootstrap: string,
  group: string,
  topic: string,
): Promise<Service> {
  const own = protocol === 'classic' ? ['session.timeout.ms=6000', 'heartbeat.interval.ms=1000'] : [];
  const settings = [`group.protocol=${protocol}`, 'auto.commit.interval.ms=200', ...own];
  const options = settings.flatMap((setting) => ['--command-property', setting]);
  const args = ['--bootstrap-server', bootstrap, '--group', group, '--topic', topic, '--from-beginning', ...options];
  const java = javaArguments(await installKafka(), '256m', KAFKA_TOOLS.get('console-consumer') ?? '', args);
  return serve('java', ['-XX:TieredStopAtLevel=1', ...java]);
}

/** The kinds of members. */
export const MEMBER_KINDS: readonly MemberKind[] = [
  { name: 'kcat', start: kcat },
  { name: 'console-consumer-classic', start: (...args) => consoleConsumer('classic', ...args) },
  { name: 'console-consumer-consumer', start: (...args) => consoleConsumer('consumer', ...args) },
];

/** Lines of a member that are records of ours. */
export function recordsOf(member: Service): string[] {
  return member
    .output()
    .split('\n')
    .filter((line) => /^r\d+$/.test(line));
}

/** Writes `r<from>` to `r<to - 1>`, to any partition, acknowledged by all. */
export async function write(bootstrap: string, topic: string, inputFile: string): Promise<void> {
  const careful = ['-X', 'enable.idempotence=true', '-X', 'sticky.partitioning.linger.ms=0'];
  await runOrThrow('kcat', ['-P', '-E', '-b', bootstrap, '-t', topic, ...careful, '-l', inputFile], {
    timeoutMs: 60_000,
  });
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
