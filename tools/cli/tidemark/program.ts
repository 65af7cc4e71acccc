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
  tidemark settings --json                             every setting, for programs
`;

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
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
    .action(
      async (options: { clusterId: string; config?: string; set: readonly string[]; ignoreFormatted?: boolean }) => {
        const { format } = await import('./format.ts');
        const { clusterId, config = null, set, ignoreFormatted = false } = options;
        process.exitCode = format({ clusterId, file: config, flags: set, ignoresFormatted: ignoreFormatted });
      },
    );
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
