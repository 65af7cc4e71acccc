/**
 * Runs another process of Node to its end and gives it a second try where the engine failed and not the program: a
 * signal, or V8's own fatal error, which has been seen in its optimizing compiler. It is said when that happened, and
 * the second failure counts.
 */
import { spawnSync } from 'node:child_process';

/** What became of it. */
export interface Ended {
  readonly stdout: string;
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** How it ended and its first words: those tell the cause, and stacks come behind them. */
  readonly how: string;
  /** How its first try ended, or null: there was only one. */
  readonly firstTry: string | null;
}

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const WORDS_MAX = 800;
/** How V8 begins when it gives up. */
const FATAL = /^(#\s*)?Fatal (error|JavaScript)/im;

/** Runs `program` with `args`; blocks until it has ended. */
export function runTwiceAtMost(program: string, args: readonly string[], options: { cwd?: string } = {}): Ended {
  const first = runOnce(program, args, options);
  if (!first.isEngineFailure) return { ...first, firstTry: null };
  return { ...runOnce(program, args, options), firstTry: first.how };
}

type Once = Omit<Ended, 'firstTry'> & { readonly isEngineFailure: boolean };

function runOnce(program: string, args: readonly string[], { cwd }: { cwd?: string }): Once {
  const options = { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX, ...(cwd === undefined ? {} : { cwd }) } as const;
  const { stdout, stderr, status, signal, error } = spawnSync(program, [...args], options);
  if (error !== undefined) return { stdout: '', code: 127, how: error.message, isEngineFailure: false };
  const end = signal === null ? `ended with ${status}` : `was ended by ${signal}`;
  const words = firstLines(stderr, WORDS_MAX);
  const isEngineFailure = signal !== null || (status !== 0 && FATAL.test(stderr));
  return { stdout, code: status, how: words === '' ? end : `${end}: ${words}`, isEngineFailure };
}

/** The first lines of a text that say something, at most so many characters. */
export function firstLines(text: string, charactersMax: number): string {
  const lines = text.slice(0, 4 * charactersMax).split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '#')
    .join(' | ')
    .slice(0, charactersMax);
}
