/**
 * What the command `tidemark` can do: starts a node, formats its directory, prints its settings. The commands
 * themselves load when they are called, so that `--help` and a start pay only for what they use.
 *
 * Exit codes: 0 a clean end, 1 it cannot run here, 2 it was called wrongly, 70 a mistake inside Tidemark.
 */
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { EXIT_USAGE } from '../../../core/lib/exit-codes.ts';
import { endWithReader } from '../broken-pipe.ts';

const EXAMPLES = `
Examples:
  tidemark start                                       a node on 127.0.0.1:9092, data in ./tidemark-data
  tidemark start --config server.properties            with a configuration file, Kafka's own names
  tidemark start --set listeners=PLAINTEXT://:9092 \\
                 --set tidemark.topics=orders:3        open to the network, with a topic of three partitions
  TIDEMARK_LOG_DIRS=/data tidemark start               settings from the environment
  tidemark format --cluster-id Rb7sP1xVQ2uQWm0jvW5b4A --set log.dirs=/data
                                                       an empty /data becomes that of the cluster with this id
  tidemark format --cluster-id Rb7sP1xVQ2uQWm0jvW5b4A --standalone --config controller.properties
                                                       the first controller of a cluster that is to grow
  tidemark settings --json                             every setting, for programs
`;

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** Options of `format`; commander makes one of the two about initial controllers. */
interface FormatFlags {
  readonly clusterId: string;
  readonly config?: string;
  readonly set: readonly string[];
  readonly ignoreFormatted?: boolean;
  readonly standalone?: boolean;
  readonly initialControllers?: string | boolean;
}

async function runFormat(flags: FormatFlags): Promise<void> {
  const { format } = await import('./format.ts');
  const { clusterId, config = null, set, ignoreFormatted = false, standalone = false } = flags;
  const { initialControllers: list } = flags;
  if (standalone && list !== undefined && list !== true) {
    process.stderr.write('tidemark: --standalone and the options about initial controllers exclude each other.\n');
    process.exitCode = EXIT_USAGE;
    return;
  }
  const isListed = typeof list === 'string';
  const founders = standalone ? 'alone' : isListed ? { list } : list === false ? 'others' : 'configured';
  process.exitCode = format({ clusterId, file: config, flags: set, founders, ignoresFormatted: ignoreFormatted });
}

function createProgram(): Command {
  const { version } = createRequire(import.meta.url)('tidemark/package.json') as { version: string };
  const program = new Command('tidemark')
    .description("A message queue that speaks Apache Kafka's protocol.")
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', EXAMPLES)
    .showSuggestionAfterError()
    .exitOverride();
  program
    .command('start')
    .description('start a node and run until SIGTERM or SIGINT')
    .option('-c, --config <file>', 'read settings from a .properties file')
    .option('-s, --set <name=value>', 'give one setting; may be repeated; wins over environment and file', collect, [])
    .addHelpText('after', EXAMPLES)
    .action(async (options: { config?: string; set: readonly string[] }) => {
      const { start } = await import('./start.ts');
      const code = await start({ version, file: options.config ?? null, flags: options.set });
      // Not left to the event loop: a call into a disk that never answers would keep the process running.
      process.exit(code);
    });
  program
    .command('format')
    .description('make an empty log directory that of a cluster whose id you choose')
    .requiredOption('--cluster-id <id>', '22 characters of URL-safe base64, as `kafka-storage random-uuid` prints them')
    .option('-c, --config <file>', 'read settings from a .properties file')
    .option('-s, --set <name=value>', 'give one setting; may be repeated; wins over environment and file', collect, [])
    .option('--ignore-formatted', 'leave a directory that is formatted already as it is')
    .option('--standalone', 'the node is the only voter of a new cluster, which others can join')
    .option('--initial-controllers <list>', 'the voters of a new cluster, as id@host:port:directory between commas')
    .option('--no-initial-controllers', 'the node joins a cluster that is there, or will be')
    .action(runFormat);
  program
    .command('random-uuid')
    .description('print an id for a cluster or a directory')
    .action(async () => {
      const { printUuid } = await import('./print-uuid.ts');
      printUuid();
    });
  program
    .command('settings')
    .description('print every setting: its default, unit, bounds and meaning')
    .argument('[words...]', 'only settings whose name or meaning has these words')
    .option('--json', 'for programs')
    .option('--markdown', 'as docs/settings.md has them')
    .action(async (words: readonly string[], options: { json?: boolean; markdown?: boolean }) => {
      const { printSettings } = await import('./print-settings.ts');
      printSettings(words, options.json === true ? 'json' : options.markdown === true ? 'markdown' : 'text');
    });
  for (const command of program.commands) command.copyInheritedSettings(program);
  return program;
}

/** Runs what the command line says. */
export async function runProgram(): Promise<void> {
  endWithReader();
  try {
    await createProgram().parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  }
}
