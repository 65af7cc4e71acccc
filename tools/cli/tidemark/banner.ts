/** What a started node says first: where it listens, where its data is, what to try next. Pure. */

const SYNCED = 'acks=all is answered after the sync to disk';
const UNSYNCED = 'written, not synced: a power loss may lose records';

/** What there is to say. */
export interface BannerFacts {
  readonly version: string;
  /** host:port of each listener, as clients may use it. */
  readonly addresses: readonly string[];
  readonly folders: readonly string[];
  readonly startedMs: number;
  readonly synced: boolean;
  /** The name of a topic for the examples. */
  readonly topic: string;
}

/** Commands to try next, with what they do. */
export function nextSteps(facts: BannerFacts): readonly (readonly [command: string, meaning: string])[] {
  const address = facts.addresses[0] ?? '';
  return [
    [`echo hello | kcat -b ${address} -t ${facts.topic} -P`, 'write a record'],
    [`kcat -b ${address} -t ${facts.topic} -C -e`, 'read it back'],
    ['npm run sim -- run --seed 7', 'watch the same node survive a simulated power loss'],
    ['npx tidemark settings', 'every setting'],
  ];
}

/** The whole text for a terminal. */
export function banner(facts: BannerFacts): string {
  const width = Math.max(...nextSteps(facts).map(([command]) => command.length));
  const steps = nextSteps(facts).map(([command, meaning]) => `    ${command.padEnd(width)}   ${meaning}`);
  return [
    '',
    `  Tidemark ${facts.version} is up after ${Math.round(facts.startedMs)} ms.`,
    '',
    `  Listens on  ${facts.addresses.join(', ')}`,
    `  Data in     ${facts.folders.join(', ')}`,
    `  Durability  ${facts.synced ? SYNCED : UNSYNCED}`,
    '',
    '  Try next, with any Kafka client:',
    ...steps,
    '    In TypeScript: README.md, "A client in TypeScript"',
    '',
    '  Ctrl-C stops it cleanly.',
    '',
    '',
  ].join('\n');
}
