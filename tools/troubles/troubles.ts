#!/usr/bin/env node
/**
 * Three real daemons under troubles that a seed draws, judged by the checkers that judge the simulator:
 *
 *   npm run troubles -- --seed 7                       one episode of a minute
 *   npm run troubles -- --seed 7 --for 30m             episodes of the seeds from 7 on; goes on where it left off
 *   npm run troubles -- --seed 7 --families kill,pause --json
 *
 * Each finished episode is a line in a file under ./sim-results. Exit codes: 0 every promise held, 1 one was broken or
 * an episode could not be played, 2 a wrong flag, or a machine that cannot do this.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { readDuration, readSeed } from '../cli/sim/arguments.ts';
import { tidemarkProgram } from '../peers/tidemark.ts';
import { arenaProblem, enterArena, isInside, runInside } from './arena.ts';
import { type EpisodeResult, playEpisode } from './episode.ts';
import { layNetwork, type Network } from './network.ts';
import { type EpisodePlan, FAMILIES, type Family, GUEST, NODES, planEpisode, troubleText } from './plan.ts';

interface Flags {
  readonly seed: number;
  readonly for: number;
  readonly episode: number;
  readonly families: readonly Family[];
  readonly folder: string;
  readonly fresh?: boolean;
  readonly plan?: boolean;
  readonly json?: boolean;
}

const RESULTS = 'sim-results';
const EPISODE_MS = 60_000;
/** Of a program that is late by more it is said. */
const LATE_MS = 1_000;

async function main(flags: Flags): Promise<number> {
  if (flags.plan === true) {
    const plan = planEpisode(flags.seed, episodeMs(flags), flags.families);
    process.stdout.write(`${quorumText(plan)}\n`);
    for (const trouble of plan.troubles) process.stdout.write(`${troubleText(trouble)}\n`);
    return 0;
  }
  if (isInside()) return play(flags);
  const problem = await arenaProblem();
  if (problem === null) return runInside();
  process.stderr.write(`${problem}\n`);
  return 2;
}

/** One episode is never longer than what was asked for in all. */
function episodeMs(flags: Flags): number {
  return Math.min(flags.episode, flags.for);
}

async function play(flags: Flags): Promise<number> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  await enterArena();
  const network = await layNetwork([...NODES, GUEST]);
  const folder = mkdtempSync(join(flags.folder, 'troubles-'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
  const path = stateFile(flags);
  const done = flags.fresh === true ? [] : readState(path);
  if (done.length === 0) writeState(path);
  else say(`${done.length} episodes were played before (${path})`);
  const lengthMs = episodeMs(flags);
  const results = [...done];
  for (let seed = flags.seed; results.length * lengthMs < flags.for; seed++) {
    if (done.some((one) => one.seed === seed)) continue;
    const result = await playSeed(seed, lengthMs, flags, network, join(folder, `seed-${seed}`), say);
    results.push(result);
    appendFileSync(path, `${JSON.stringify(result)}\n`);
  }
  const broken = results.filter(({ violations }) => violations.length > 0);
  if (broken.length === 0) rmSync(folder, { recursive: true, force: true });
  conclude(results, flags);
  return broken.length === 0 ? 0 : 1;
}

async function playSeed(
  seed: number,
  forMs: number,
  flags: Flags,
  network: Network,
  folder: string,
  say: (line: string) => void,
): Promise<EpisodeResult> {
  const plan = planEpisode(seed, forMs, flags.families);
  say(`seed ${seed}: ${plan.troubles.length} troubles in ${forMs / 1000} s, ${quorumText(plan)}`);
  const result = await playEpisode(plan, { network, folder, forMs, say });
  const { acknowledged, failed, errors, reads, silentMs, healedMs, lateMs, violations } = result;
  say(
    `  ${acknowledged} acknowledged, ${failed} failed, ${reads} read; silent ${silentMs} ms, healed in ${healedMs} ms`,
  );
  if (failed > 0) say(`  failed with ${JSON.stringify(errors)}`);
  if (lateMs > LATE_MS) say(`  the machine was very busy: this program was late by up to ${lateMs} ms`);
  for (const { checker, promise, sentence } of violations)
    say(`  BROKEN (promise ${promise}, ${checker}): ${sentence}`);
  if (violations.length === 0) return result;
  say(`  what the nodes had and said lies in ${folder}; again:`);
  say(`  npm run troubles -- --seed ${seed} --for ${forMs}ms${familiesFlag(flags)}`);
  return result;
}

function quorumText({ quorum, settings }: EpisodePlan): string {
  const words = [...settings].map(([name, value]) => `${name}=${value}`);
  return `voters ${quorum}, ${words.join(', ')}`;
}

function familiesFlag({ families }: Flags): string {
  return families.length === FAMILIES.length ? '' : ` --families ${families.join(',')}`;
}

function conclude(results: readonly EpisodeResult[], flags: Flags): void {
  const struck = new Map<string, number>();
  const quorums = new Map<string, number>();
  let [acknowledged, reads, coveredMs] = [0, 0, 0];
  for (const result of results) {
    for (const [family, count] of Object.entries(result.struck)) struck.set(family, (struck.get(family) ?? 0) + count);
    quorums.set(result.quorum, (quorums.get(result.quorum) ?? 0) + 1);
    acknowledged += result.acknowledged;
    reads += result.reads;
    coveredMs += result.forMs;
  }
  const failures = results.filter(({ violations }) => violations.length > 0);
  const seeds = results.map(({ seed }) => seed);
  if (flags.json === true) {
    const verdict = failures.length === 0 ? 'ok' : 'failed';
    const troubles = Object.fromEntries(struck);
    const voters = Object.fromEntries(quorums);
    const all = { verdict, seeds, coveredMs, acknowledged, reads, troubles, voters, failures };
    process.stdout.write(`${JSON.stringify(all)}\n`);
    return;
  }
  const words = [...struck].sort().map(([family, count]) => `${family} ${count}`);
  process.stdout.write(`${results.length} episodes, ${coveredMs / 1000} s of troubles: ${words.join(', ')}\n`);
  process.stdout.write(`voters: ${[...quorums].map(([quorum, count]) => `${quorum} ${count}`).join(', ')}\n`);
  process.stdout.write(`${acknowledged} records acknowledged, ${reads} read\n`);
  process.stdout.write(failures.length === 0 ? 'Every promise held.\n' : `${failures.length} episodes failed.\n`);
}

function stateFile(flags: Flags): string {
  const families = flags.families.length === FAMILIES.length ? '' : `-${flags.families.join('-')}`;
  return join(RESULTS, `troubles-${flags.seed}-${episodeMs(flags)}ms${families}.jsonl`);
}

/** Names the daemon that is tried: another one begins anew. */
function headLine(): string {
  const { size, mtimeMs } = statSync(tidemarkProgram());
  return JSON.stringify({ program: { size, mtimeMs } });
}

function writeState(path: string): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(path, `${headLine()}\n`);
}

function readState(path: string): EpisodeResult[] {
  if (!existsSync(path)) return [];
  const [head, ...lines] = readFileSync(path, 'utf8').split('\n');
  if (head !== headLine()) return [];
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as EpisodeResult];
    } catch {
      return []; // The last line of a run that was killed may be half a line.
    }
  });
}

function readFamilies(text: string): Family[] {
  return text.split(',').map((name) => {
    const family = FAMILIES.find((one) => one === name);
    if (family === undefined) throw new InvalidArgumentError(`There are ${FAMILIES.join(', ')}.`);
    return family;
  });
}

const program = new Command('troubles')
  .description('three real daemons under drawn troubles, judged by the checkers of the simulator')
  .requiredOption('--seed <number>', 'which troubles; the seed of the first episode', readSeed)
  .option('--for <duration>', 'how long troubles go on in all, like 30m', readDuration, EPISODE_MS)
  .option('--episode <duration>', 'length of one episode, on a fresh cluster', readDuration, EPISODE_MS)
  .option('--families <names>', `some of ${FAMILIES.join(',')}`, readFamilies, [...FAMILIES])
  .option('--folder <path>', 'where the data lies for the while', tmpdir())
  .option('--fresh', 'forget what was played before')
  .option('--plan', 'show what the seed draws, and play nothing')
  .option('--json', 'one JSON object at the end')
  .parse();
process.exitCode = await main(program.opts<Flags>());
process.exit();
