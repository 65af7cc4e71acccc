/**
 * The same commands of Apache Kafka's tools to three nodes of Apache Kafka 4.4 and to three of ours, through brokers
 * and through controllers, with all nodes up, with one stopped, and with that one back: they print the same, but for
 * what must differ between two clusters, and for what `ALLOWED` gives a reason for. Each reason must be needed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askPartitions } from '../../tools/peers/ask.ts';
import { kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { startKafkaCluster } from '../../tools/peers/kafka-cluster.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { startTidemarkCluster } from '../../tools/peers/tidemark-cluster.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';
import { type Allowed, Comparison, plainLines, type Replacement } from './tool-lines.ts';

const SETTINGS = new Map([
  ['default.replication.factor', '3'],
  ['min.insync.replicas', '2'],
]);
const HEAP = '384m';

/** Three nodes of either kind, numbered from 1. */
interface Trio {
  readonly name: 'kafka' | 'tidemark';
  readonly ports: readonly number[];
  readonly controllerPorts: readonly number[];
  readonly shell: KafkaShell;
  readonly replacements: readonly Replacement[];
  /** Asks a node to stop, and waits until it has. */
  readonly stopNode: (id: number) => Promise<void>;
  readonly startNode: (id: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const folder = temporaryFolder();
const problem = await kafkaProblem();
const trios: Trio[] = [];
beforeAll(async () => {
  if (problem !== null) return;
  const started = await Promise.allSettled([kafkaTrio(), tidemarkTrio()]);
  for (const one of started) if (one.status === 'fulfilled') trios.push(one.value);
  for (const one of started) if (one.status === 'rejected') throw one.reason;
});
afterAll(async () => void (await Promise.all(trios.map((trio) => trio.stop()))));

async function kafkaTrio(): Promise<Trio> {
  const cluster = await startKafkaCluster(3, { settings: SETTINGS, heap: HEAP, parentFolder: folder });
  const shell = await startKafkaShell();
  const ports = cluster.nodes.map(({ port }) => port);
  const { controllerPorts } = cluster;
  return {
    name: 'kafka',
    ports,
    controllerPorts,
    shell,
    replacements: replacementsOf(ports, controllerPorts),
    stopNode: async (id) => void (await cluster.nodes[id - 1]?.service.stop('SIGTERM')),
    startNode: cluster.restart,
    stop: async () => {
      shell.stop();
      await cluster.stop();
    },
  };
}

async function tidemarkTrio(): Promise<Trio> {
  const cluster = await startTidemarkCluster(3, join(folder, 'tidemark'), { settings: SETTINGS });
  const shell = await startKafkaShell();
  const ports = cluster.nodes.map(({ port }) => port);
  const controllerPorts = cluster.nodes.map(({ controllerPort }) => controllerPort);
  return {
    name: 'tidemark',
    ports,
    controllerPorts,
    shell,
    replacements: replacementsOf(ports, controllerPorts),
    stopNode: async (id) => {
      expect(await cluster.nodes[id - 1]?.service.stop('SIGTERM')).toBe(0);
    },
    startNode: async (id) => void (await cluster.restart(id)),
    stop: async () => {
      shell.stop();
      await cluster.stop('SIGKILL');
    },
  };
}

function replacementsOf(ports: readonly number[], controllerPorts: readonly number[]): Replacement[] {
  return [
    ...ports.map((port, i): Replacement => [new RegExp(`\\b${port}\\b`, 'g'), `BROKER${i + 1}`]),
    ...controllerPorts.map((port, i): Replacement => [new RegExp(`\\b${port}\\b`, 'g'), `CONTROLLER${i + 1}`]),
    [/"logDir":"[^"]*"/g, '"logDir":"FOLDER"'],
    [/"log_dirs":\[[^\]]*\]/g, '"log_dirs":[FOLDERS]'],
    // Who leads the quorum is chance, and how far it has come.
    [/^\d\s+(\S{22})\s.*(Leader|Follower|Observer)\s*$/gm, 'NODE $1 $2'],
    [/^(LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs): .*$/gm, '$1: N'],
    // Replicas in sync, and the partitions of a tool, are sets without an order.
    [/(?<=Isr: )[\d,]+/g, (isr) => isr.split(',').sort().join()],
    [/(?<=for partitions )\w+-\d(, \w+-\d)+$/gm, (names) => names.split(', ').sort().join()],
  ];
}

/** Through brokers, through controllers, or either. */
type Way = 'brokers' | 'controllers' | 'both';
interface Command {
  readonly tool: string;
  readonly args: string;
  readonly way?: Way;
  /** First, topics are to have these replicas, and all of them in sync. */
  readonly until?: string;
}

const QUORUM: readonly Command[] = [
  { tool: 'metadata-quorum', args: 'describe --status', way: 'both' },
  { tool: 'metadata-quorum', args: 'describe --replication', way: 'both' },
  { tool: 'cluster', args: 'cluster-id', way: 'both' },
  { tool: 'cluster', args: 'list-endpoints', way: 'both' },
  { tool: 'cluster', args: 'list-endpoints --include-fenced-brokers' },
];

const DESCRIBED: readonly Command[] = [
  { tool: 'topics', args: '--describe' },
  { tool: 'topics', args: '--describe --topic placed' },
  { tool: 'topics', args: '--describe --under-replicated-partitions' },
  { tool: 'topics', args: '--describe --at-min-isr-partitions' },
  { tool: 'topics', args: '--describe --under-min-isr-partitions' },
  { tool: 'topics', args: '--describe --unavailable-partitions' },
  { tool: 'log-dirs', args: '--describe --topic-list placed,alone' },
];

/** With three nodes up, in this order: later ones see what earlier ones did. */
const WITH_ALL: readonly Command[] = [
  ...QUORUM,
  { tool: 'features', args: 'describe', way: 'both' },
  { tool: 'topics', args: '--create --topic placed --replica-assignment 1:2:3,2:3:1,3:1:2' },
  { tool: 'topics', args: '--create --topic pair --replica-assignment 2:3' },
  { tool: 'topics', args: '--create --topic alone --replica-assignment 3 --config min.insync.replicas=1' },
  { tool: 'topics', args: '--create --topic spread --partitions 6' },
  { tool: 'topics', args: '--create --topic wide --replication-factor 4' },
  { tool: 'topics', args: '--create --topic twice --replica-assignment 1:1' },
  { tool: 'topics', args: '--create --topic nobody --replica-assignment 1:9' },
  { tool: 'topics', args: '--create --topic ragged --replica-assignment 1:2,3' },
  { tool: 'topics', args: '--alter --topic pair --partitions 2 --replica-assignment 2:3,3:2' },
  { tool: 'topics', args: '--delete --topic spread' },
  ...DESCRIBED,
  { tool: 'log-dirs', args: '--describe --broker-list 1,2 --topic-list alone,pair' },
  { tool: 'get-offsets', args: '--topic placed' },
  { tool: 'configs', args: '--alter --topic placed --add-config min.insync.replicas=3' },
  { tool: 'configs', args: '--describe --topic placed' },
  { tool: 'topics', args: '--describe --at-min-isr-partitions' },
  { tool: 'configs', args: '--alter --topic placed --delete-config min.insync.replicas' },
  { tool: 'configs', args: '--alter --broker 2 --add-config log.retention.ms=500000', way: 'both' },
  { tool: 'configs', args: '--alter --broker-defaults --add-config log.cleaner.threads=2', way: 'both' },
  { tool: 'configs', args: '--describe --broker 2', way: 'both' },
  { tool: 'configs', args: '--describe --broker 3' },
  { tool: 'configs', args: '--describe --broker-defaults', way: 'both' },
  // Whoever is asked for the settings of a topic adds its own: later commands may ask anyone.
  { tool: 'configs', args: '--alter --broker 2 --delete-config log.retention.ms' },
  { tool: 'leader-election', args: '--election-type preferred --all-topic-partitions' },
  { tool: 'leader-election', args: '--election-type preferred --topic placed --partition 0' },
  { tool: 'leader-election', args: '--election-type preferred --topic placed --partition 7' },
  { tool: 'leader-election', args: '--election-type unclean --topic placed --partition 0' },
  { tool: 'reassign-partitions', args: '--list', way: 'both' },
  { tool: 'org.apache.kafka.tools.AclCommand', args: '--list', way: 'both' },
];

/** Moves of partitions, as the tool is told them by a file: topics with the replicas of each of their partitions. */
const MOVES: ReadonlyMap<string, string> = new Map([
  ['fewer', 'pair 3 placed 1,2:2,3'],
  ['more', 'pair 3,1,2:2,1'],
  ['elsewhere', 'alone 2'],
  ['reordered', 'placed 2,1'],
  ['nobody', 'placed 1,9'],
  ['twice', 'placed 1,1'],
  ['nowhere', 'missing 1'],
  ['beyond', 'alone 1:2'],
  ['none', 'placed'],
  ['dead', 'alone 3'],
]);

/** With three nodes up: each move ends before the next command. */
const MOVING: readonly Command[] = [
  ...['nobody', 'twice', 'nowhere', 'beyond', 'none'].flatMap((name) => [execute(name), verify(name), cancel(name)]),
  execute('fewer', '--disallow-replication-factor-change'),
  execute('fewer'),
  verify('fewer', 'pair 3 placed 1,2:2,3'),
  cancel('fewer'),
  execute('more', '--throttle 1000000'),
  { tool: 'configs', args: '--describe --topic pair' },
  verify('more', 'pair 3,1,2:2,1'),
  { tool: 'configs', args: '--describe --topic pair' },
  { tool: 'configs', args: '--describe --broker 2' },
  execute('elsewhere', '--throttle 1000000 --timeout 5000'),
  verify('elsewhere', 'alone 2', '--preserve-throttles'),
  { tool: 'configs', args: '--describe --topic alone' },
  verify('elsewhere'),
  execute('reordered'),
  { tool: 'reassign-partitions', args: '--list', way: 'both' },
  { tool: 'topics', args: '--describe' },
  { tool: 'log-dirs', args: '--describe --topic-list placed,alone,pair' },
];

/** With node 3 stopped: a move to it waits. */
const WAITING: readonly Command[] = [
  execute('dead', '--throttle 1000000'),
  { tool: 'reassign-partitions', args: '--list', way: 'both' },
  verify('dead'),
  execute('elsewhere'),
  execute('elsewhere', '--additional'),
  execute('dead', '--additional'),
  { tool: 'topics', args: '--describe --topic alone' },
  cancel('dead', '--preserve-throttles'),
  { tool: 'configs', args: '--describe --topic alone' },
  cancel('dead'),
  { tool: 'configs', args: '--describe --topic alone' },
  { tool: 'topics', args: '--describe --topic alone' },
];

function execute(name: string, more = ''): Command {
  return { tool: 'reassign-partitions', args: `--reassignment-json-file ${name}.json --execute ${more}`.trim() };
}

function cancel(name: string, more = ''): Command {
  return { tool: 'reassign-partitions', args: `--reassignment-json-file ${name}.json --cancel ${more}`.trim() };
}

/** Waits for the replicas to be as they are to be first, where that is said. */
function verify(name: string, until = '', more = ''): Command {
  return { tool: 'reassign-partitions', args: `--reassignment-json-file ${name}.json --verify ${more}`.trim(), until };
}

/** Topics with the replicas of their partitions, from a text. */
function* movesIn(text: string): Iterable<readonly [topic: string, replicas: readonly number[][]]> {
  const words = text.split(' ');
  for (let i = 0; i < words.length; i += 2) {
    const lists = (words[i + 1] ?? '').split(':');
    yield [words[i] ?? '', lists.map((list) => (list === '' ? [] : list.split(',').map(Number)))];
  }
}

for (const [name, text] of MOVES) {
  const partitions = [...movesIn(text)].flatMap(([topic, lists]) =>
    lists.map((replicas, partition) => ({ topic, partition, replicas })),
  );
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ version: 1, partitions }));
}

/** With node 3 stopped. */
const WITHOUT_ONE: readonly Command[] = [
  ...DESCRIBED,
  ...QUORUM,
  { tool: 'topics', args: '--create --topic later' },
  { tool: 'topics', args: '--delete --topic later' },
  { tool: 'topics', args: '--create --topic late --replica-assignment 1:3' },
  { tool: 'topics', args: '--create --topic late --replica-assignment 1:3' },
  { tool: 'topics', args: '--describe --topic late' },
  { tool: 'leader-election', args: '--election-type preferred --topic placed --partition 2' },
  { tool: 'leader-election', args: '--election-type unclean --topic alone --partition 0' },
  { tool: 'cluster', args: 'unregister --id 7' },
  { tool: 'cluster', args: 'unregister --id 3' },
  { tool: 'cluster', args: 'list-endpoints --include-fenced-brokers' },
  { tool: 'topics', args: '--describe --topic alone' },
];

/** With node 3 back and in sync. */
const WITH_ALL_AGAIN: readonly Command[] = [
  ...DESCRIBED,
  ...QUORUM,
  { tool: 'leader-election', args: '--election-type preferred --topic placed --partition 2' },
  { tool: 'leader-election', args: '--election-type preferred --all-topic-partitions' },
  { tool: 'topics', args: '--describe' },
];

const ALLOWED: readonly Allowed[] = [
  {
    command: /^features describe/,
    lines: /^Feature: (group|kraft|share|streams|transaction)\.version /,
    reason: 'only features that are served are supported',
  },
  {
    command: /^topics --describe --topic alone$/,
    lines: /Isr: Elr: (3 )?LastKnownElr: 3$/,
    reason: 'a broker that was unregistered is gone: nobody knows what it has when it comes back',
  },
];
const comparison = new Comparison(ALLOWED);

async function runOn(trio: Trio, { tool, args }: Command, way: Exclude<Way, 'both'>): Promise<string[]> {
  const ports = way === 'brokers' ? trio.ports : trio.controllerPorts;
  const words = args.split(' ').map((word) => (word.endsWith('.json') ? join(folder, word) : word));
  const flag = way === 'brokers' ? '--bootstrap-server' : '--bootstrap-controller';
  const address = [flag, ports.map((port) => `127.0.0.1:${port}`).join(',')];
  // Tools with commands of their own take the address first; only `cluster` takes it last.
  const isFirst = tool === 'features' || tool === 'metadata-quorum';
  return plainLines(
    await trio.shell.run(tool, isFirst ? [...address, ...words] : [...words, ...address]),
    trio.replacements,
  );
}

/** Both clusters have moved these partitions, by the word of node 1. */
async function moved(until: string): Promise<void> {
  const wanted = new Map(movesIn(until));
  await Promise.all(
    trios.map(({ name, ports }) =>
      inTime(`${name} to move ${until}`, async () => {
        const partitions = await askPartitions({ port: ports[0] ?? 0 }, [...wanted.keys()]).catch(() => []);
        const areThere = partitions.every(({ topic, index, replicas, inSync }) => {
          const list = wanted.get(topic)?.[index] ?? replicas;
          return replicas.join() === list.join() && replicas.every((id) => inSync.includes(id));
        });
        return areThere && partitions.length > 0 ? true : null;
      }),
    ),
  );
}

async function expectSame(command: Command): Promise<void> {
  const { way = 'brokers', until = '' } = command;
  if (until !== '') await moved(until);
  for (const one of way === 'both' ? (['brokers', 'controllers'] as const) : [way]) {
    const [kafka = [], ours = []] = await Promise.all(trios.map((trio) => runOn(trio, command, one)));
    const title = `${command.tool} ${command.args}`;
    expect(comparison.differences(title, kafka, ours), `through ${one}`).toEqual({ kafka: [], ours: [] });
  }
}

/** Both clusters have a broker, by the word of node 1: all its partitions are in sync. Or else they have it not. */
async function settled(isThere: boolean): Promise<void> {
  await Promise.all(
    trios.map(({ name, ports }) =>
      inTime(`${name} to ${isThere ? 'have' : 'lose'} node 3`, async () => {
        const partitions = await askPartitions({ port: ports[0] ?? 0 }, null).catch(() => []);
        const ofThree = partitions.filter(({ replicas }) => replicas.includes(3));
        const isSettled = ofThree.length > 0 && ofThree.every(({ inSync }) => inSync.includes(3) === isThere);
        return isSettled ? true : null;
      }),
    ),
  );
}

describe.skipIf(problem !== null)("Apache Kafka's tools print the same of three nodes of either kind:", () => {
  it.each(WITH_ALL)('$tool $args', expectSame);

  async function stopThird(): Promise<void> {
    await settled(true);
    await Promise.all(trios.map((trio) => trio.stopNode(3)));
    await settled(false);
  }

  it('(node 3 stops)', stopThird);

  it.each(WITHOUT_ONE)('without node 3: $tool $args', expectSame);

  it('(node 3 starts again)', async () => {
    await Promise.all(trios.map((trio) => trio.startNode(3)));
    await settled(true);
  });

  it.each(WITH_ALL_AGAIN)('with node 3 again: $tool $args', expectSame);

  it.each(MOVING)('while partitions move: $tool $args', expectSame);

  it('(node 3 stops again)', stopThird);

  it.each(WAITING)('while a partition waits for node 3: $tool $args', expectSame);

  it('every reason is needed', () => expect(comparison.unused()).toEqual([]));
});
