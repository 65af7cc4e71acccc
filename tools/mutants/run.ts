/**
 * `npm run mutants`: plants each bug of a folder in a copy of the sources and sweeps until the simulator finds it.
 *
 * A mutant names the stories that exercise what it breaks: seeds of these are played, an equal number of each. With
 * `--all-stories` every seed draws its story as in any sweep, which shows whether a bug is found by those who do not
 * know it.
 *
 * Found: some seed breaks a promise after at least one record was acknowledged, and the same seed is clean without the
 * bug. A node that cannot even boot is not a find. Exit code 0 when all are found but for `--missed-max`, 1 when not, 2
 * for a wrong flag or a mutant that does not apply or compile.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { runTwiceAtMost } from '../cli/sim/child.ts';
import { compileClean, compileMutant, copySources, type Workshop } from './copy.ts';
import { type Mutant, parseMutant, withRemark } from './patch.ts';
import { withTable } from './table.ts';

/** Where the table of mutants stands. */
const DOCS = 'docs/simulation.md';

interface Flags {
  readonly dir: string;
  readonly seeds: number;
  /** How long troubles go on in each, as `sim` takes it. */
  readonly for: string;
  readonly only?: string;
  readonly check: boolean;
  readonly allStories?: boolean;
  readonly missedMax: number;
  readonly all?: boolean;
  readonly note?: boolean;
  readonly json?: boolean;
}

/** What became of one mutant. */
interface Outcome {
  readonly mutant: string;
  readonly imitates: string;
  readonly result: 'found' | 'missed' | 'does not boot' | 'error';
  /** Seeds that were played until it was found, or in all. */
  readonly seeds: number;
  readonly seconds: number;
  readonly checker: string;
  /** The seed that found it, and what it saw; or what is wrong with the mutant. */
  readonly detail: string;
}

interface SweepFailure {
  readonly seed: number;
  readonly scenario: string;
  readonly acknowledged: number;
  readonly violations: readonly { readonly checker: string; readonly sentence: string }[];
}
interface SweepJson {
  readonly runs: number;
  readonly workersDied: number;
  readonly failures: readonly SweepFailure[];
}

function checkoutRoot(): string {
  let folder = fileURLToPath(new URL('.', import.meta.url));
  while (!existsSync(join(folder, 'tsconfig.base.json'))) {
    const parent = resolve(folder, '..');
    if (parent === folder) throw new Error('mutants need a checkout with its sources');
    folder = parent;
  }
  return folder;
}

/** Plays seeds of one story, or of all. */
function play(folder: string, seeds: string, story: string | null, asked: Flags): SweepJson {
  const flags = ['sweep', '--seeds', seeds, '--for', asked.for, '--fresh', '--json', '--until-failure'];
  if (story !== null) flags.push('--scenario', story);
  if (!asked.check) flags.push('--no-check');
  const swept = runTwiceAtMost(process.execPath, [join(folder, 'dist/tools/cli/sim.js'), ...flags], { cwd: folder });
  if (swept.firstTry !== null) process.stderr.write(`    a sweep ${swept.firstTry}; it was begun again\n`);
  const line = swept.stdout.trim().split('\n').pop() ?? '';
  if (!line.startsWith('{')) throw new Error(`the sweep ${swept.how}`);
  const json = JSON.parse(line) as SweepJson;
  if (json.workersDied > 0)
    process.stderr.write(`    ${json.workersDied} workers died: their seeds were played again\n`);
  return json;
}

/** What hunting came to. */
interface Quarry {
  /** Seeds that were played. */
  readonly runs: number;
  /** Runs in which nothing was ever acknowledged. */
  readonly dead: number;
  readonly failure: SweepFailure | null;
}

/** Plays until a seed fails that is clean without the mutant. */
function hunt(folder: string, clean: string, stories: readonly (string | null)[], flags: Flags): Quarry {
  let runs = 0;
  let dead = 0;
  const seedsEach = Math.ceil(flags.seeds / stories.length);
  for (const story of stories) {
    for (let from = 1; from <= seedsEach; ) {
      const swept = play(folder, `${from}..${seedsEach}`, story, flags);
      runs += swept.runs;
      for (const failure of swept.failures) {
        if (failure.acknowledged === 0) dead += 1;
        else if (play(clean, String(failure.seed), story, flags).failures.length === 0) return { runs, dead, failure };
      }
      // A sweep ends with the first seed that fails; one that fails without the mutant too says nothing.
      const last = Math.max(...swept.failures.map(({ seed }) => seed));
      if (swept.failures.length === 0) break;
      from = last + 1;
    }
  }
  return { runs, dead, failure: null };
}

function judge(root: string, work: string, workshop: Workshop, mutant: Mutant, flags: Flags): Outcome {
  const startedAt = performance.now();
  const outcome = (result: Outcome['result'], seeds: number, checker: string, detail: string): Outcome => ({
    mutant: mutant.name,
    imitates: mutant.imitates,
    result,
    seeds,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    checker,
    detail,
  });
  const folder = join(work, mutant.name);
  try {
    const complaint = compileMutant(root, workshop, mutant, folder);
    if (complaint !== null) return outcome('error', 0, '', `it does not compile: ${complaint.slice(0, 600)}`);
    const stories = flags.allStories === true || mutant.stories.length === 0 ? [null] : mutant.stories;
    const { runs, dead, failure } = hunt(folder, workshop.clean, stories, flags);
    if (failure === null) {
      const isDead = dead === runs;
      return outcome(isDead ? 'does not boot' : 'missed', runs, '', isDead ? 'nothing was ever acknowledged' : '');
    }
    const first = failure.violations[0];
    const detail = `seed ${failure.seed}, ${failure.scenario}: ${first?.sentence ?? 'another hash the second time'}`;
    return outcome('found', runs, first?.checker ?? 'hash', detail);
  } catch (thrown) {
    return outcome('error', 0, '', thrown instanceof Error ? thrown.message : 'unknown');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tell(outcome: Outcome): void {
  const { mutant, result, seeds, seconds, checker, detail, imitates } = outcome;
  const by = checker === '' ? '' : ` by ${checker}`;
  process.stdout.write(`${mutant.padEnd(24)} ${result}${by}, ${seeds} seeds, ${seconds} s\n`);
  process.stdout.write(`    ${imitates}\n`);
  if (detail !== '') process.stdout.write(`    ${detail}\n`);
}

function readMutants(dir: string): Mutant[] {
  const files = readdirSync(resolve(dir)).filter((name) => name.endsWith('.patch'));
  return files.sort().map((name) => parseMutant(basename(name, '.patch'), readFileSync(join(dir, name), 'utf8')));
}

/** The mutants that were asked for; without names, those that are known to be found, and without --all quickly. */
function chosen({ dir, only, json, all }: Flags): Mutant[] {
  const mutants = readMutants(dir);
  const names = only?.split(',');
  const isLeftOut = ({ missed, slow }: Mutant): boolean => missed !== null || (slow !== null && all !== true);
  const named = names?.flatMap((name) => mutants.filter((one) => one.name === name));
  const wanted = named ?? mutants.filter((one) => !isLeftOut(one));
  if (wanted.length === 0) throw new Error(`there is no mutant in ${dir}, or none of that name`);
  if (names !== undefined || json === true) return wanted;
  for (const one of mutants) {
    if (isLeftOut(one)) process.stdout.write(`${one.name.padEnd(24)} left out: ${one.missed ?? one.slow}\n`);
  }
  return wanted;
}

/** Writes down in the patch file what came of it. */
function note({ mutant, result, checker, seeds }: Outcome, { dir, check }: Flags): void {
  if (result !== 'found' && result !== 'missed') return;
  const path = join(dir, `${mutant}.patch`);
  const remark = result === 'found' ? `\`${checker}\`, ${seeds}` : `not in ${seeds}`;
  writeFileSync(path, withRemark(readFileSync(path, 'utf8'), check ? 'checked' : 'alone', remark));
}

function runAll(flags: Flags): number {
  const root = checkoutRoot();
  const mutants = chosen(flags);
  const work = mkdtempSync(join(tmpdir(), 'mutants-'));
  const outcomes: Outcome[] = [];
  try {
    const clean = join(work, 'clean');
    copySources(root, clean, !flags.check);
    const workshop = compileClean(clean);
    if (typeof workshop === 'string') throw new Error(`the sources do not compile: ${workshop.slice(0, 1_000)}`);
    for (const mutant of mutants) {
      const outcome = judge(root, work, workshop, mutant, flags);
      outcomes.push(outcome);
      if (flags.note === true) note(outcome, flags);
      if (flags.json !== true) tell(outcome);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  if (flags.note === true) {
    const docs = join(root, DOCS);
    writeFileSync(docs, withTable(readFileSync(docs, 'utf8'), readMutants(flags.dir)));
  }
  const found = outcomes.filter(({ result }) => result === 'found').length;
  if (flags.json === true)
    process.stdout.write(`${JSON.stringify({ found, of: outcomes.length, mutants: outcomes })}\n`);
  else process.stdout.write(`${found} of ${outcomes.length} found\n`);
  if (outcomes.some(({ result }) => result === 'error')) return 2;
  return outcomes.length - found <= flags.missedMax ? 0 : 1;
}

function readCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It is an integer from 0 to 999999.');
  return Number(text);
}

function main(): void {
  const program = new Command('mutants')
    .description('Plants bugs in copies of the sources and sees whether the simulator finds them.')
    .option('--dir <folder>', 'where the patch files are', 'test/mutants')
    .option('--seeds <count>', 'how many seeds each may survive', readCount, 200)
    .option('--for <duration>', 'how long troubles go on in each seed', '20s')
    .option('--only <names>', 'some mutants, with commas between')
    .option('--all-stories', 'each seed draws its story, whatever the mutant is about')
    .option('--no-check', 'no assertions: only the judges of histories find anything')
    .option('--all', 'those too that take long to find')
    .option('--note', 'write what came of it into the patch files, and their table into the docs')
    .option('--missed-max <count>', 'how many may be missed', readCount, 0)
    .option('--json', 'one JSON object')
    .exitOverride();
  try {
    program.parse(process.argv);
    process.exitCode = runAll(program.opts<Flags>());
  } catch (thrown) {
    const isHelp = thrown instanceof CommanderError && thrown.exitCode === 0;
    if (!(thrown instanceof CommanderError)) process.stderr.write(`${thrown instanceof Error ? thrown.message : ''}\n`);
    process.exitCode = isHelp ? 0 : 2;
  }
}

main();
