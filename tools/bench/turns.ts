/**
 * How a row is measured: its sides take turns, so that a slow minute of the machine falls on both, and the disk is
 * emptied of dirty pages before each run.
 */
import { fileURLToPath } from 'node:url';
import { runKafkaTool } from '../peers/kafka-tools.ts';
import { run } from '../peers/process.ts';
import type { SideName } from './sides.ts';

/** How long and how often. */
export interface Plan {
  /** Runs of every side. */
  readonly pairs: number;
  /** Length of a run. */
  readonly seconds: number;
  readonly sides: readonly SideName[];
  /** Where the data of all sides lies: one disk. */
  readonly folder: string;
  readonly say: (line: string) => void;
}

/** What a row must reach, and what it should. */
export interface Budget {
  readonly must: number;
  readonly aim: number;
}

const CLIENT = fileURLToPath(new URL('../../../tools/bench/java/Client.java', import.meta.url));

/** Runs every side once a turn; every second turn goes the other way round. */
export async function takeTurns<S extends { readonly name: SideName }>(
  plan: Plan,
  sides: readonly S[],
  title: string,
  measure: (side: S) => Promise<number>,
): Promise<Map<string, number[]>> {
  const values = new Map<string, number[]>();
  for (let turn = 0; turn < plan.pairs; turn++) {
    for (const side of turn % 2 === 0 ? sides : [...sides].reverse()) {
      await run('sync', ['-f', plan.folder]);
      const value = await measure(side);
      values.set(side.name, [...(values.get(side.name) ?? []), value]);
      plan.say(`${title}: ${side.name} ${value.toFixed(value < 100 ? 3 : 0)}`);
    }
  }
  return values;
}

/** Runs the Java client of this folder from its source; resolves to its line of JSON. */
export async function runClient(args: readonly string[]): Promise<string> {
  const finished = await runKafkaTool(CLIENT, args);
  const line = finished.stdout.split('\n').find((one) => one.startsWith('{'));
  if (finished.code === 0 && line !== undefined) return line;
  throw new Error(`the Java client ended with ${finished.code}: ${finished.stdout}\n${finished.stderr}`.slice(0, 4000));
}

/** Notes a value of a side under a key. */
export function append(into: Map<string, Map<string, number[]>>, key: string, side: string, value: number): void {
  const values = into.get(key) ?? new Map<string, number[]>();
  into.set(key, values);
  values.set(side, [...(values.get(side) ?? []), value]);
}

/** How many records a run of so many seconds takes. */
export function records(recordsPerSecond: number, seconds: number): number {
  return Math.max(1000, Math.round(recordsPerSecond * seconds));
}
