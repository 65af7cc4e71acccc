/**
 * Apache Kafka as a peer: fetched from Maven into a cache folder outside the repository, started as one combined
 * broker and controller on 127.0.0.1, or as several, ended by pid. Nothing of it is ever committed.
 *
 * The cache is `$PEERS_FOLDER`, by default `tidemark-peers` under the system's folder for temporary files. A broker's
 * data lies where the caller says, so that a benchmark puts both sides on one disk.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchOrThrow, freePort, mustOwnPort, run, runOrThrow, type Service, serve, waitForPort } from './process.ts';

/** The release that everything is compared with. */
export const KAFKA_VERSION = '4.4.0';

const LOG4J_VERSION = '2.25.3';
/** What Kafka's own start script passes; a class-data archive would change what is measured. */
const JAVA_FLAGS = [
  '-server',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
  '-Djava.awt.headless=true',
];
const START_TIMEOUT_MS = 180_000;
/** Replicas of Kafka's own topics, where there are as many nodes. */
const REPLICAS_MAX = 3;

/** A running broker. */
export interface KafkaBroker {
  readonly pid: number;
  /** When the process was started, by `performance.now()`; its folder had been formatted before. */
  readonly startedMs: number;
  readonly port: number;
  /** `host:port`, as clients want it. */
  readonly bootstrap: string;
  /** The log directory. */
  readonly dataFolder: string;
  readonly service: Service;
  /** Ends the process and removes its data. */
  readonly stop: () => Promise<void>;
}

/** What may be chosen for a broker. */
export interface KafkaBrokerOptions {
  /** Broker settings by Kafka's names, on top of those that a single node needs. */
  readonly settings?: ReadonlyMap<string, string>;
  /** Java heap; Kafka's own script gives 1g. */
  readonly heap?: string;
  /** Where a folder for the data is made. */
  readonly parentFolder?: string;
  /** The first port to try; a free one by default. */
  readonly port?: number;
}

/** The folder that holds what was fetched for comparison. */
export function peersFolder(): string {
  return process.env.PEERS_FOLDER ?? join(tmpdir(), 'tidemark-peers');
}

/** Fetches Kafka's jars once. Resolves to the folder that holds `lib`. */
export async function installKafka(): Promise<string> {
  const home = join(peersFolder(), `kafka-${KAFKA_VERSION}`);
  if (existsSync(join(home, 'lib'))) return home;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'log4j2.properties'), LOGGING);
  const part = mkdtempSync(join(home, 'part-'));
  writeFileSync(join(part, 'pom.xml'), pom());
  await fetchOrThrow('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], { folder: part });
  // Another process may have finished first: its jars are the same.
  if (!existsSync(join(home, 'lib'))) await rename(join(part, 'lib'), join(home, 'lib'));
  rmSync(part, { recursive: true, force: true });
  return home;
}

/** Why Apache Kafka cannot be used here, or null. In CI that is an error: what is skipped proves nothing. */
export async function kafkaProblem(): Promise<string | null> {
  for (const program of ['java', 'mvn']) {
    const found = await run(program, ['-version']).catch(() => null);
    if (found?.code === 0) continue;
    const reason = `${program} is missing, so Apache Kafka cannot be run`;
    if (process.env.CI) throw new Error(reason);
    return reason;
  }
  return null;
}

/** The arguments of `java` for a class on Kafka's class path. */
export function javaArguments(home: string, heap: string, className: string, args: readonly string[]): string[] {
  const logging = `-Dlog4j2.configurationFile=${join(home, 'log4j2.properties')}`;
  return [...JAVA_FLAGS, logging, `-Xmx${heap}`, '-cp', `${join(home, 'lib')}/*`, className, ...args];
}

/** Starts one broker with an empty log directory. Resolves when it accepts connections and owns its port. */
export async function startKafka(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
  const parent = options.parentFolder ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'kafka-'));
  const port = options.port ?? (await freePort());
  const controllerPort = await freePort();
  const settings = options.settings ?? new Map<string, string>();
  const address = { nodeId: 1, port, controllerPort };
  const broker = await startKafkaNode(folder, address, [address], freshClusterId(), settings, options.heap);
  const stop = async (): Promise<void> => {
    await broker.service.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...broker, stop };
}

/** Where one node of a cluster is found, all on 127.0.0.1. */
export interface KafkaAddress {
  readonly nodeId: number;
  readonly port: number;
  readonly controllerPort: number;
}

/** A cluster id that Kafka's tools take for no option. */
export function freshClusterId(): string {
  return `A${randomBytes(16).toString('base64url').slice(1)}`;
}

/** Formats a folder and starts one node in it; `stop` is for whoever made the folder. */
export async function startKafkaNode(
  folder: string,
  address: KafkaAddress,
  all: readonly KafkaAddress[],
  clusterId: string,
  settings: ReadonlyMap<string, string>,
  heap?: string,
): Promise<Omit<KafkaBroker, 'stop'>> {
  const home = await installKafka();
  const properties = join(folder, 'server.properties');
  writeFileSync(properties, settingsText(address, all, join(folder, 'data'), settings));
  const format = ['format', '-t', clusterId, '-c', properties];
  await runOrThrow('java', javaArguments(home, '256m', 'kafka.tools.StorageTool', format));
  return serveKafkaNode(folder, address.port, heap);
}

/** Starts a node in a folder in which one was started before, with the settings of that time. */
export async function serveKafkaNode(folder: string, port: number, heap = '1g'): Promise<Omit<KafkaBroker, 'stop'>> {
  const properties = join(folder, 'server.properties');
  const flags = [`-Xms${heap}`, ...javaArguments(await installKafka(), heap, 'kafka.Kafka', [properties])];
  const startedMs = performance.now();
  const service = serve('java', flags);
  try {
    await waitForPort(service, port, START_TIMEOUT_MS);
    await mustOwnPort(service.pid, port);
  } catch (error) {
    await service.stop('SIGKILL');
    throw error;
  }
  const dataFolder = join(folder, 'data');
  return { pid: service.pid, startedMs, port, bootstrap: `127.0.0.1:${port}`, dataFolder, service };
}

function settingsText(
  { nodeId, port, controllerPort }: KafkaAddress,
  all: readonly KafkaAddress[],
  dataFolder: string,
  own: ReadonlyMap<string, string>,
): string {
  const replicas = String(Math.min(all.length, REPLICAS_MAX));
  const settings = new Map([
    ['process.roles', 'broker,controller'],
    ['node.id', String(nodeId)],
    ['listeners', `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`],
    ['advertised.listeners', `PLAINTEXT://127.0.0.1:${port}`],
    ['controller.listener.names', 'CONTROLLER'],
    ['inter.broker.listener.name', 'PLAINTEXT'],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
    ['controller.quorum.voters', all.map((one) => `${one.nodeId}@127.0.0.1:${one.controllerPort}`).join(',')],
    ['log.dirs', dataFolder],
    ['offsets.topic.replication.factor', replicas],
    ['transaction.state.log.replication.factor', replicas],
    ['transaction.state.log.min.isr', all.length > 1 ? '2' : '1'],
    ['group.initial.rebalance.delay.ms', '0'],
    ...own,
  ]);
  return [...settings].map(([name, value]) => `${name}=${value}\n`).join('');
}

function pom(): string {
  const dependency = (group: string, name: string, version: string): string =>
    `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
    '<groupId>tidemark</groupId><artifactId>peer</artifactId><version>1</version><packaging>pom</packaging>',
    '<dependencies>',
    dependency('org.apache.kafka', 'kafka_2.13', KAFKA_VERSION),
    dependency('org.apache.kafka', 'kafka-tools', KAFKA_VERSION),
    dependency('org.apache.logging.log4j', 'log4j-slf4j-impl', LOG4J_VERSION),
    dependency('org.apache.logging.log4j', 'log4j-core', LOG4J_VERSION),
    '</dependencies></project>',
  ].join('\n');
}

const LOGGING = [
  'appender.c.type=Console',
  'appender.c.name=c',
  'appender.c.target=SYSTEM_ERR',
  'appender.c.layout.type=PatternLayout',
  'appender.c.layout.pattern=[%d] %p %m (%c)%n',
  'rootLogger.level=WARN',
  'rootLogger.appenderRef.c.ref=c',
  '',
].join('\n');
