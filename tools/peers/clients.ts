/**
 * Clients of other makers, installed into the cache folder of `kafka-broker.ts` by their own package managers: kcat and
 * strace from the system, kafkajs from npm, confluent-kafka from PyPI, franz-go as a Go module. None of them ever comes
 * into the project. Each function resolves to why the client is not to be had, or to null; in CI a reason is an error.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { peersFolder } from './kafka-broker.ts';
import { type Finished, run, runOrThrow } from './process.ts';

const KAFKAJS = 'kafkajs@2.2.4';
const CONFLUENT_KAFKA = 'confluent-kafka==2.16.1';
const FRANZ_GO = 'github.com/twmb/franz-go@v1.22.3';

/** Makes sure that a program is there, by the system's package of that name if need be. */
export function needProgram(name: string): Promise<string | null> {
  return need(name, async () => {
    if ((await run('sh', ['-c', `command -v ${name}`])).code === 0) return;
    await runOrThrow('apt-get', ['update']);
    await runOrThrow('apt-get', ['install', '-y', '--no-install-recommends', name]);
  });
}

/** Makes sure that kafkajs is there. Programs run in `kafkaJsFolder()`. */
export function needKafkaJs(): Promise<string | null> {
  return need('kafkajs', async () => {
    const folder = kafkaJsFolder();
    if (existsSync(join(folder, 'node_modules/kafkajs'))) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n');
    await runOrThrow('npm', ['install', '--no-audit', '--no-fund', KAFKAJS], { folder });
  });
}

/** Where kafkajs is installed. */
export function kafkaJsFolder(): string {
  return join(peersFolder(), 'kafkajs');
}

/** Makes sure that Python and confluent-kafka (librdkafka) are there. */
export function needPython(): Promise<string | null> {
  return need('confluent-kafka', async () => {
    const target = join(peersFolder(), 'python');
    if (existsSync(join(target, 'confluent_kafka'))) return;
    await runOrThrow('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, CONFLUENT_KAFKA]);
  });
}

/** Runs a Python program that may import confluent_kafka. */
export function runPython(program: string, args: readonly string[]): Promise<Finished> {
  const environment = { PYTHONPATH: join(peersFolder(), 'python') };
  return run('python3', [program, ...args], { environment });
}

/** Makes sure that the Go program of `sourceFolder`, which uses franz-go, is built. */
export function needGo(sourceFolder: string): Promise<string | null> {
  return need('franz-go', async () => {
    const folder = join(peersFolder(), 'go');
    mkdirSync(folder, { recursive: true });
    cpSync(sourceFolder, folder, { recursive: true });
    if (!existsSync(join(folder, 'go.mod'))) await runOrThrow('go', ['mod', 'init', 'tidemark/interop'], { folder });
    await runOrThrow('go', ['get', FRANZ_GO, FRANZ_GO.replace('@', '/pkg/kgo@')], { folder });
    await runOrThrow('go', ['build', '-o', 'client', '.'], { folder });
  });
}

/** Runs the program that `needGo` built. */
export function runGo(args: readonly string[]): Promise<Finished> {
  return run(join(peersFolder(), 'go/client'), args);
}

async function need(name: string, install: () => Promise<void>): Promise<string | null> {
  try {
    await install();
    return null;
  } catch (error) {
    const reason = `${name} is not to be had here: ${error instanceof Error ? error.message : String(error)}`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(`${reason}\n`);
    return reason;
  }
}
