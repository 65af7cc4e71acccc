/** What Kafka's tools print, brought into a form in which two clusters that are alike print the same. */
import type { Finished } from '../../tools/peers/process.ts';

/** A text, and what stands in its place. */
export type Replacement = readonly [from: RegExp, to: string | ((found: string) => string)];

/** What differs between any two runs. */
const ALWAYS: readonly Replacement[] = [
  // When a client tries a node in vain, and how often, is chance.
  [/^\[.{23}\] WARN .*$/gm, ''],
  [/TopicId: \S{22}/g, 'TopicId: ID'],
  [/cluster: .*|Cluster ID: .*|ClusterId: .*/gi, 'CLUSTER'],
  [/\b1[78]\d{11}\b/g, 'TIME'],
  [/Epoch: +\d+/g, 'Epoch: N'],
  [/\[[-\d: ,]{23}\]/g, ''],
];

/** The lines of both outputs and the exit code, trimmed, in order of the alphabet. */
export function plainLines(finished: Omit<Finished, 'tookMs'>, replacements: readonly Replacement[]): string[] {
  const { stdout, stderr, code } = finished;
  let text = `${stdout}\n${stderr}\ncode ${code}`;
  for (const [from, to] of [...replacements, ...ALWAYS]) {
    text = typeof to === 'string' ? text.replace(from, to) : text.replace(from, to);
  }
  const lines = text.split('\n').map((line) => line.replace(/[\t ]+/g, ' ').trim());
  return lines.filter((line) => line !== '' && !line.startsWith('at ') && !line.startsWith('...')).sort();
}

/** A difference that is meant to be. */
export interface Allowed {
  /** Commands: the tool and its arguments. */
  readonly command: RegExp;
  /** Lines that only one of the two prints. */
  readonly lines: RegExp;
  readonly reason: string;
}

/** Compares, and remembers which allowances were needed. */
export class Comparison {
  private readonly used = new Set<Allowed>();
  private readonly allowed: readonly Allowed[];

  constructor(allowed: readonly Allowed[]) {
    this.allowed = allowed;
  }

  /** The lines that only one has and that are not allowed for. */
  differences(command: string, kafka: readonly string[], ours: readonly string[]): { kafka: string[]; ours: string[] } {
    const only = (mine: readonly string[], other: readonly string[]): string[] =>
      mine.filter((line) => !other.includes(line) && !this.isAllowed(command, line));
    return { kafka: only(kafka, ours), ours: only(ours, kafka) };
  }

  /** The reasons of those that nothing needed. */
  unused(): string[] {
    return this.allowed.filter((one) => !this.used.has(one)).map(({ reason }) => reason);
  }

  private isAllowed(command: string, line: string): boolean {
    const found = this.allowed.find((one) => one.command.test(command) && one.lines.test(line));
    if (found !== undefined) this.used.add(found);
    return found !== undefined;
  }
}
