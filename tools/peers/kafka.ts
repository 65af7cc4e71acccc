#!/usr/bin/env node
/**
 * Apache Kafka from Maven, for comparison and as an oracle, at the command line:
 *
 *   node dist/tools/peers/kafka.js install
 *   node dist/tools/peers/kafka.js start [--port 19092] [--set name=value]…   until it is interrupted
 *   node dist/tools/peers/kafka.js run TOOL ARGUMENTS…                        producer-perf, dump, get-offsets, …
 *
 * A broker started here ends with this process and takes its data with it.
 */
import { Command } from 'commander';
import { installKafka, kafkaProblem, startKafka } from './kafka-broker.ts';
import { KAFKA_TOOLS, runKafkaTool } from './kafka-tools.ts';

/** The exit code after an interruption, as shells count. */
const INTERRUPTED = 130;

// Whatever is running when we are stopped, a start that is half done included, ends with us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(INTERRUPTED));

const program = new Command('kafka')
  .description('Apache Kafka from Maven, for comparison and as an oracle')
  .enablePositionalOptions();

program
  .command('install')
  .description('fetch the jars into the cache folder')
  .action(async () => {
    process.stdout.write(`${await installKafka()}\n`);
  });

program
  .command('start')
  .description('start one broker on 127.0.0.1 and keep it until interrupted')
  .option('--port <number>', 'the port to listen on', Number)
  .option('--heap <size>', 'the Java heap', '1g')
  .option('--set <name=value>', 'a broker setting; may be repeated', (value, all: string[]) => [...all, value], [])
  .action(async (options: { port?: number; heap: string; set: string[] }) => {
    const settings = new Map(options.set.map((entry): [string, string] => split(entry)));
    const port = options.port === undefined ? {} : { port: options.port };
    const broker = await startKafka({ heap: options.heap, settings, ...port });
    process.stdout.write(`Apache Kafka, process ${broker.pid}, listens on ${broker.bootstrap}\n`);
    const stop = (): void => {
      void broker.stop().then(() => process.exit(0));
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal).on(signal, stop);
  });

program
  .command('run <tool> [arguments...]')
  .description(`run one of Kafka's tools (${[...KAFKA_TOOLS.keys()].join(', ')}) or any class`)
  .passThroughOptions()
  .allowUnknownOption()
  .action(async (tool: string, args: string[]) => {
    const finished = await runKafkaTool(tool, args);
    process.stdout.write(finished.stdout);
    process.stderr.write(finished.stderr);
    process.exitCode = finished.code;
  });

const problem = await kafkaProblem();
if (problem === null) {
  await program.parseAsync();
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}

function split(entry: string): [string, string] {
  const at = entry.indexOf('=');
  return at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
}
