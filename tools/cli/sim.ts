#!/usr/bin/env node
/**
 * `sim`: plays the node in a simulated world. Exit codes: 0 every promise held, 1 one was broken, 2 a wrong flag.
 */
import { Command, CommanderError } from 'commander';
import type { Scenario } from '../../runtime-sim/scenario.ts';
import { endWithReader } from './broken-pipe.ts';
import {
  readDuration,
  readScenario,
  readSeed,
  readSeeds,
  readWorkers,
  type SeedRange,
  scenariosFor,
} from './sim/arguments.ts';
import { checkDeterminism, printHashes } from './sim/determinism.ts';
import { run } from './sim/run.ts';
import { sweep } from './sim/sweep.ts';

interface Flags {
  readonly seed: number;
  readonly seeds: SeedRange;
  readonly scenario?: Scenario;
  readonly for?: number;
  readonly json?: boolean;
  readonly story: number;
  readonly workers?: number;
  readonly twice?: boolean;
  readonly fresh?: boolean;
  readonly untilFailure?: boolean;
  readonly unlimited?: boolean;
  readonly check: boolean;
  readonly node?: string[];
}

const EXAMPLES = `
Examples:
  sim run --seed 7
  sim run --seed 7 --scenario power-loss --for 20s --json
  sim sweep --seeds 1..2000
  sim sweep --seeds 1..2000 --unlimited
  sim list`;

const UNLIMITED = 'spare no disk: a promise that is broken is a bug, or beyond contract';

function build(): Command {
  const program = new Command('sim')
    .description('Plays Tidemark in a simulated world that takes its disk, its network and its power away.')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, '')) });
  program
    .command('run')
    .description('play one seed and tell what happened')
    .requiredOption('--seed <number>', 'which run', readSeed)
    .option('--scenario <name>', 'which story; without it the seed draws one', readScenario)
    .option('--for <duration>', 'how long troubles go on, like 60s', readDuration)
    .option('--unlimited', UNLIMITED)
    .option('--story <lines>', 'how many lines of the story to tell, from its end', readSeed, 40)
    .option('--json', 'one JSON object')
    .action((flags: Flags) => {
      process.exitCode = run({
        seed: flags.seed,
        scenario: flags.scenario ?? null,
        durationMs: flags.for ?? null,
        isUnlimited: flags.unlimited === true,
        isJson: flags.json === true,
        storyLines: flags.story,
      });
    });
  program
    .command('sweep')
    .description('play many seeds on all cores; goes on where it was interrupted')
    .requiredOption('--seeds <A..B>', 'which runs', readSeeds)
    .option('--scenario <name>', 'one story only', readScenario)
    .option('--for <duration>', 'how long troubles go on', readDuration)
    .option('--unlimited', UNLIMITED)
    .option('--workers <count>', 'threads; all cores without it', readWorkers)
    .option('--twice', 'play each seed twice and compare the hashes')
    .option('--fresh', 'forget what was played before')
    .option('--until-failure', 'stop at the first seed that breaks a promise')
    .option('--no-check', 'machines do not check their invariants: only the checkers judge')
    .option('--json', 'one JSON object at the end')
    .action(async (flags: Flags) => {
      process.exitCode = await sweep({
        seeds: flags.seeds,
        scenario: flags.scenario?.name ?? null,
        durationMs: flags.for ?? null,
        isUnlimited: flags.unlimited === true,
        workers: flags.workers ?? null,
        isTwice: flags.twice === true,
        checks: flags.check,
        isFresh: flags.fresh === true,
        isUntilFailure: flags.untilFailure === true,
        isJson: flags.json === true,
      });
    });
  addSmallCommands(program);
  return program;
}

function addSmallCommands(program: Command): void {
  program
    .command('list')
    .description('show the scenarios')
    .option('--unlimited', 'those in which no disk is spared')
    .option('--json', 'one JSON array')
    .action((flags: Flags) => {
      const rows = scenariosFor(null, flags.unlimited === true).map(({ name, proves, troubles }) => ({
        name,
        proves,
        troubles: troubles.map(({ family }) => family),
      }));
      const words = rows.map(({ name, proves }) => `${name.padEnd(20)} ${proves}`).join('\n');
      process.stdout.write(`${flags.json === true ? JSON.stringify(rows) : words}\n`);
    });
  program
    .command('check-determinism')
    .description('play seeds twice, and on other engines, and compare the hashes')
    .requiredOption('--seeds <A..B>', 'which runs', readSeeds)
    .option('--for <duration>', 'how long troubles go on', readDuration)
    .option('--node <paths...>', 'other Node binaries')
    .option('--json', 'one JSON object')
    .action((flags: Flags) => {
      process.exitCode = checkDeterminism({
        seeds: flags.seeds,
        durationMs: flags.for ?? null,
        engines: flags.node ?? [],
        isJson: flags.json === true,
      });
    });
  program
    .command('hashes', { hidden: true })
    .requiredOption('--seeds <A..B>', 'which runs', readSeeds)
    .option('--for <duration>', 'how long troubles go on', readDuration)
    .action((flags: Flags) => printHashes(flags.seeds, flags.for ?? null));
}

async function main(): Promise<void> {
  endWithReader();
  try {
    await build().parseAsync(process.argv);
  } catch (thrown) {
    if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode === 0 ? 0 : 2;
    else {
      process.stderr.write(`${thrown instanceof Error ? thrown.message : 'sim failed'}\n`);
      process.exitCode = 1;
    }
  }
}

await main();
