/**
 * `sim check-determinism`: plays each seed twice here, and once on each other engine that is named, and compares the
 * hashes. Promise 7.
 */
import { fileURLToPath } from 'node:url';
import { runSeed } from '../../../runtime-sim/run.ts';
import { SCENARIOS } from '../../../scenarios/list.ts';
import type { SeedRange } from './arguments.ts';
import { runTwiceAtMost } from './child.ts';

/** What to compare. */
export interface DeterminismOptions {
  readonly seeds: SeedRange;
  readonly durationMs: number | null;
  /** Paths of other Node binaries. */
  readonly engines: readonly string[];
  readonly isJson: boolean;
}

/** Prints one line a seed: its number and its hash. For another engine to be compared with. */
export function printHashes(seeds: SeedRange, durationMs: number | null): void {
  for (const [seed, hash] of hashes(seeds, durationMs)) process.stdout.write(`${seed} ${hash}\n`);
}

function hashes(seeds: SeedRange, durationMs: number | null): Map<number, string> {
  const found = new Map<number, string>();
  for (let seed = seeds.first; seed <= seeds.last; seed++) {
    const result = runSeed({ seed, scenarios: SCENARIOS, ...(durationMs === null ? {} : { durationMs }) });
    found.set(seed, `${result.hash} ${result.verdict}`);
  }
  return found;
}

/** Compares and tells; the exit code. Each engine plays in a process of its own, for it may fail as a whole. */
export function checkDeterminism(options: DeterminismOptions): number {
  const { seeds, durationMs } = options;
  const notes: string[] = [];
  const play = (engine: string): Map<number, string> => hashesOf(engine, seeds, durationMs, notes);
  const here = play(process.execPath);
  const others = [{ engine: `${process.execPath} (second run)`, found: play(process.execPath) }];
  for (const engine of options.engines) others.push({ engine, found: play(engine) });
  const differences: { seed: number; engine: string; here: string; there: string }[] = [];
  for (const { engine, found } of others) {
    for (let seed = seeds.first; seed <= seeds.last; seed++) {
      const [ours, there] = [here.get(seed) ?? 'no hash', found.get(seed) ?? 'no hash'];
      if (there !== ours || there === 'no hash') differences.push({ seed, engine, here: ours, there });
    }
  }
  const count = seeds.last - seeds.first + 1;
  const engines = others.map(({ engine }) => engine);
  if (options.isJson) process.stdout.write(`${JSON.stringify({ seeds: count, engines, differences, notes })}\n`);
  else {
    for (const note of notes) process.stdout.write(`${note}\n`);
    for (const { seed, engine, here: ours, there } of differences) {
      process.stdout.write(`seed ${seed}: ${ours} here, ${there} on ${engine}\n`);
    }
    const verdict = differences.length === 0 ? 'equal' : `${differences.length} differences`;
    process.stdout.write(`${count} seeds on ${engines.join(', ')}: ${verdict}\n`);
  }
  return differences.length === 0 ? 0 : 1;
}

function hashesOf(engine: string, seeds: SeedRange, durationMs: number | null, notes: string[]): Map<number, string> {
  const script = fileURLToPath(new URL('../sim.js', import.meta.url));
  const flags = ['hashes', '--seeds', `${seeds.first}..${seeds.last}`];
  if (durationMs !== null) flags.push('--for', `${durationMs}ms`);
  const played = runTwiceAtMost(engine, [script, ...flags]);
  if (played.firstTry !== null) notes.push(`${engine} ${played.firstTry}; all was played again`);
  if (played.code !== 0) notes.push(`${engine} ${played.how}`);
  const found = new Map<number, string>();
  for (const line of played.stdout.split('\n')) {
    const [seed, ...hash] = line.split(' ');
    if (seed !== undefined && hash.length > 0) found.set(Number(seed), hash.join(' '));
  }
  return found;
}
