/**
 * Transcripts: text files in which commands stand, and below a line of dashes what came of them. A paragraph is a
 * comment (`#`), or commands with what they led to. A runner plays the commands and writes the file anew; it must come
 * out as it is. `npx vitest run --project unit test/transcripts -u` takes over what has changed: read the difference.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Tale } from './tale.ts';

/** A command, taken apart: `submit 2 5 acks=1`. */
export interface Command {
  readonly name: string;
  /** What follows the name, in order, but for options. */
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

/** What a command does; if it gives lines they are shown behind what the tale has told by then. */
type Act<S> = (story: S, command: Command) => unknown;

/** What plays transcripts of one kind; `S` is what it holds of one. */
interface Runner<S> {
  /** The command that each of them begins with. */
  readonly opening: string;
  readonly begin: (command: Command) => S;
  readonly taleOf?: (story: S) => Tale;
  readonly commands: { readonly [name: string]: Act<S> };
}

const DASHES = '----';

/** A test for each transcript in a folder. */
export function playAll<S>(folder: URL, { opening, begin, taleOf, commands }: Runner<S>): void {
  for (const name of readdirSync(folder).sort()) {
    it(name.replace('.txt', '').replaceAll('-', ' '), async () => {
      const path = new URL(name, folder);
      let story: S | null = null;
      const play = (command: Command): readonly string[] => {
        if (command.name === opening) {
          story = begin(command);
          return [];
        }
        const act = commands[command.name];
        if (story === null || act === undefined) throw new Error(`${name}: ${command.name} is not understood here`);
        const given = act(story, command);
        const shown: readonly string[] = Array.isArray(given) ? given : [];
        const told = taleOf?.(story).lines.splice(0) ?? [];
        return command.options.get('show') === 'nothing' ? [] : [...told, ...shown];
      };
      const paragraphs = readFileSync(path, 'utf8')
        .trim()
        .split(/\n{2,}/);
      const written = paragraphs.map((paragraph) => rewrite(paragraph, play));
      await expect(`${written.join('\n\n')}\n`).toMatchFileSnapshot(path.pathname);
    });
  }
}

/** A paragraph with what comes of its commands this time. */
function rewrite(paragraph: string, play: (command: Command) => readonly string[]): string {
  const lines = paragraph.split('\n');
  const dashes = lines.indexOf(DASHES);
  const given = dashes < 0 ? lines : lines.slice(0, dashes);
  const told = given.filter((line) => !line.startsWith('#')).flatMap((line) => play(parse(line)));
  return [...given, ...(told.length === 0 ? [] : [DASHES, ...told])].join('\n');
}

function parse(line: string): Command {
  const [name = '', ...rest] = line.trim().split(/\s+/);
  const options = rest.filter((word) => word.includes('=')).map((word) => word.split('=') as [string, string]);
  return { name, words: rest.filter((word) => !word.includes('=')), options: new Map(options) };
}

/** The words of a command as numbers. */
export function numbersOf(command: Command): number[] {
  return command.words.map((word) => {
    if (!/^\d+$/.test(word)) throw new Error(`${command.name}: ${word} is no number`);
    return Number(word);
  });
}

/** Does something with each number of a command, one after the other. */
export function withEach(command: Command, act: (number: number) => void): void {
  for (const number of numbersOf(command)) act(number);
}

/** The first word, as a number. */
export function numberOf(command: Command): number {
  const [first] = numbersOf({ ...command, words: command.words.slice(0, 1) });
  if (first === undefined) throw new Error(`${command.name}: a number is missing`);
  return first;
}

/** An option that is a number; what is given where it is not set. */
export function optionOf(command: Command, name: string, otherwise: number): number {
  const value = command.options.get(name);
  return value === undefined ? otherwise : Number(value);
}

/** The ways that a word cuts: `1>2` that one, `1` all from and to it. */
export function waysOf(word: string, all: readonly number[]): (readonly [from: number, to: number])[] {
  const [from, to] = word.split('>').map(Number);
  if (from === undefined || Number.isNaN(from)) throw new Error(`${word} is no way`);
  if (to !== undefined) return [[from, to]];
  return all.filter((id) => id !== from).flatMap((id) => [[from, id] as const, [id, from] as const]);
}
