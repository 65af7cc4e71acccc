/**
 * A data directory changes hands: Apache Kafka 4.4 goes on in a copy of ours, and we in a copy of what it made of that;
 * and we in a copy of one that Kafka made from the start, and Kafka again after us. Each finds every record, topic,
 * setting and producer, and writes on. Our file of logs at rest lies in all of them, and is never believed of a state
 * that it does not speak of.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { needProgram } from '../../tools/peers/clients.ts';
import { freshClusterId, installKafka, javaArguments, kafkaProblem } from '../../tools/peers/kafka-broker.ts';
import { type KafkaShell, startKafkaShell } from '../../tools/peers/kafka-shell.ts';
import { freePort, mustOwnPort, runOrThrow, type Service, serve, waitForPort } from '../../tools/peers/process.ts';
import { tidemarkProgram } from '../../tools/peers/tidemark.ts';
import { temporaryFolder } from './daemon.ts';
import { inTime } from './differential/peers.ts';

const RESTED = '.tidemark-logs-at-rest';
const START_TIMEOUT_MS = 60_000;
/** Features that Kafka finalizes by itself and that are not served here. */
const NOT_SERVED = ['group.version', 'share.version', 'streams.version', 'transaction.version'];

const folder = temporaryFolder();
const problem = (await needProgram('kcat')) ?? (await kafkaProblem());
const [port, controllerPort] = [await freePort(), await freePort()];
const bootstrap = `127.0.0.1:${port}`;
const services: Service[] = [];
const shell: KafkaShell | null = problem === null ? await startKafkaShell() : null;
afterAll(async () => {
  shell?.stop();
  for (const service of services) await service.stop('SIGKILL');
});

/** The configuration is one for both, but for the directory. */
function propertiesFor(data: string): string {
  const path = `${data}.properties`;
  const lines = [
    ['node.id', '1'],
    ['process.roles', 'broker,controller'],
    ['listeners', `PLAINTEXT://${bootstrap},CONTROLLER://127.0.0.1:${controllerPort}`],
    ['advertised.listeners', `PLAINTEXT://${bootstrap},CONTROLLER://127.0.0.1:${controllerPort}`],
    ['controller.listener.names', 'CONTROLLER'],
    ['controller.quorum.bootstrap.servers', `127.0.0.1:${controllerPort}`],
    ['inter.broker.listener.name', 'PLAINTEXT'],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
    ['log.segment.bytes', '1048576'],
    ['log.dirs', data],
  ];
  writeFileSync(path, lines.map(([name, value]) => `${name}=${value}\n`).join(''));
  return path;
}

async function started(service: Service): Promise<Service> {
  services.push(service);
  await waitForPort(service, port, START_TIMEOUT_MS);
  await mustOwnPort(service.pid, port);
  return service;
}

async function kafkaOn(data: string): Promise<Service> {
  const args = javaArguments(await installKafka(), '512m', 'kafka.Kafka', [propertiesFor(data)]);
  return started(serve('java', args));
}

async function tidemarkOn(data: string): Promise<Service> {
  const args = [tidemarkProgram(), 'start', '--config', propertiesFor(data)];
  const service = await started(serve(process.execPath, args));
  // Before it says so, connections of clients are closed.
  await inTime('the daemon to say that it listens', async () => (/listens on/.test(service.output()) ? true : null));
  return service;
}

/** A copy of a directory, as one would copy it by hand: everything that is in it. */
function copied(from: string, name: string): string {
  const to = join(folder, name);
  cpSync(from, to, { recursive: true });
  return to;
}

async function tool(name: string, args: string): Promise<string> {
  const finished = await shell?.run(name, [...args.split(' '), '--bootstrap-server', bootstrap]);
  if (finished?.code !== 0) throw new Error(`${name} ${args}: ${finished?.stdout}${finished?.stderr}`);
  return finished.stdout;
}

const LINES = 5_000;
let rounds = 0;

/** Writes so many lines more to each topic, so that logs roll. */
async function write(): Promise<void> {
  rounds += 1;
  const input = join(folder, 'lines');
  const pad = 'x'.repeat(500);
  writeFileSync(input, Array.from({ length: LINES }, (_, i) => `${rounds} ${i} ${pad}\n`).join(''));
  for (const [topic, codec] of [
    ['plain', 'none'],
    ['packed', 'zstd'],
  ] as const) {
    const careful = ['-X', 'enable.idempotence=true', '-z', codec];
    await runOrThrow('kcat', ['-P', '-b', bootstrap, '-t', topic, '-p', '0', ...careful, '-l', input]);
  }
}

/** What is there of all that was written: the topics, their settings, where logs begin and end, every line. */
async function look(): Promise<unknown> {
  const described = await tool('topics', '--describe');
  const topics = described.split('\n').filter((line) => line.startsWith('Topic:'));
  const ends = await tool('get-offsets', '--time latest');
  const starts = await tool('get-offsets', '--time earliest');
  const read: string[] = [];
  for (const topic of ['plain', 'packed']) {
    const from = ['-C', '-b', bootstrap, '-t', topic, '-p', '0', '-o', 'beginning', '-e', '-q', '-f', '%o %s\\n'];
    read.push((await runOrThrow('kcat', from)).stdout);
  }
  return { topics, ends, starts, read };
}

async function create(): Promise<void> {
  await tool('topics', '--create --topic plain --partitions 3 --config retention.ms=123456789');
  await tool('topics', '--create --topic packed --config max.message.bytes=200000');
  await tool('topics', '--create --topic gone');
  // Apache Kafka's broker hears of it a little later than its controller answers.
  await inTime('the topic', async () => ((await tool('topics', '--list')).split('\n').includes('gone') ? true : null));
  await tool('topics', '--delete --topic gone');
}

async function cut(offset: number): Promise<void> {
  const file = join(folder, 'cut');
  writeFileSync(file, `{"partitions":[{"topic":"plain","partition":0,"offset":${offset}}],"version":1}`);
  await tool('delete-records', `--offset-json-file ${file}`);
}

async function stopped(service: Service): Promise<void> {
  // Java ends with the code of the signal.
  expect([0, 143]).toContain(await service.stop('SIGTERM'));
}

describe.skipIf(problem !== null)('a directory of ours', () => {
  const ours = join(folder, 'ours');
  let theirs = '';
  let seen: unknown;

  it('is filled, and rests', async () => {
    const service = await tidemarkOn(ours);
    await create();
    await write();
    await cut(3_000);
    seen = await look();
    await stopped(service);
    expect(existsSync(join(ours, RESTED))).toBe(true);
  });

  it('is one in which Apache Kafka goes on, and leaves our file alone', async () => {
    theirs = copied(ours, 'theirs');
    const service = await kafkaOn(theirs);
    expect(await look()).toEqual(seen);
    await write();
    await cut(6_000);
    seen = await look();
    await stopped(service);
    expect(readFileSync(join(theirs, RESTED)).equals(readFileSync(join(ours, RESTED)))).toBe(true);
  });

  it('is one in which we go on after that', async () => {
    const again = copied(theirs, 'again');
    const service = await tidemarkOn(again);
    expect(await look()).toEqual(seen);
    await write();
    await cut(9_000);
    seen = await look();
    await stopped(service);
    const back = await tidemarkOn(again);
    expect(await look()).toEqual(seen);
    await stopped(back);
  });
});

describe.skipIf(problem !== null)("a directory of Apache Kafka's", () => {
  const theirs = join(folder, 'born-there');
  let seen: unknown;

  it('is filled', async () => {
    // Another try begins anew.
    for (const service of services) await service.stop('SIGKILL');
    rmSync(theirs, { recursive: true, force: true });
    const features = NOT_SERVED.flatMap((name) => ['--feature', `${name}=0`]);
    const format = ['format', '--standalone', '-t', freshClusterId(), '-c', propertiesFor(theirs), ...features];
    await runOrThrow('java', javaArguments(await installKafka(), '256m', 'kafka.tools.StorageTool', format));
    const service = await kafkaOn(theirs);
    await create();
    await write();
    await cut(2_000);
    seen = await look();
    await stopped(service);
  });

  it('is one in which we go on, whatever our file of another directory says', async () => {
    const ours = copied(theirs, 'adopted');
    cpSync(join(folder, 'ours', RESTED), join(ours, RESTED));
    const service = await tidemarkOn(ours);
    expect(await look()).toEqual(seen);
    await write();
    seen = await look();
    await stopped(service);
    const killed = await tidemarkOn(ours);
    await write();
    seen = await look();
    await killed.stop('SIGKILL');
    const recovered = await tidemarkOn(ours);
    expect(await look()).toEqual(seen);
    await stopped(recovered);
  });

  it('is one in which Apache Kafka goes on after us', async () => {
    const service = await kafkaOn(copied(join(folder, 'adopted'), 'returned'));
    expect(await look()).toEqual(seen);
    await write();
    await stopped(service);
  });
});
