/**
 * `sim check-determinism`: plays each seed twice here, and once on each other engine that is named, and compares the
 * hashes. Promise 7.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runSeed } from '../../../runtime-sim/run.ts';
import { SCENARIOS } from '../../../scenarios/list.ts';
import type { SeedRange } from './arguments.ts';

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

/** Compares and tells; the exit code. */
export function checkDeterminism(options: DeterminismOptions): number {
  const { seeds, durationMs } = options;
  const here = hashes(seeds, durationMs);
  const others: { engine: string; found: Map<number, string> }[] = [
    { engine: `${process.execPath} (second run)`, found: hashes(seeds, durationMs) },
  ];
  for (const engine of options.engines) others.push({ engine, found: hashesOf(engine, seeds, durationMs) });
  const differences: { seed: number; engine: string; here: string; there: string }[] = [];
  for (const { engine, found } of others) {
    for (const [seed, hash] of here) {
      const there = found.get(seed) ?? 'no hash';
      if (there !== hash) differences.push({ seed, engine, here: hash, there });
    }
  }
  const engines = others.map(({ engine }) => engine);
  if (options.isJson) process.stdout.write(`${JSON.stringify({ seeds: here.size, engines, differences })}\n`);
  else {
    for (const { seed, engine, here: ours, there } of differences) {
      process.stdout.write(`seed ${seed}: ${ours} here, ${there} on ${engine}\n`);
    }
    const verdict = differences.length === 0 ? 'equal' : `${differences.length} differences`;
    process.stdout.write(`${here.size} seeds on ${engines.join(', ')}: ${verdict}\n`);
  }
  return differences.length === 0 ? 0 : 1;
}

function hashesOf(engine: string, seeds: SeedRange, durationMs: number | null): Map<number, string> {
  const script = fileURLToPath(new URL('../sim.js', import.meta.url));
  const flags = ['hashes', '--seeds', `${seeds.first}..${seeds.last}`];
  if (durationMs !== null) flags.push('--for', `${durationMs}ms`);
  const played = spawnSync(engine, [script, ...flags], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const found = new Map<number, string>();
  for (const line of (played.stdout ?? '').split('\n')) {
    const [seed, ...hash] = line.split(' ');
    if (seed !== undefined && hash.length > 0) found.set(Number(seed), hash.join(' '));
  }
  return found;
}
