/** Sweeps outlive the processes that play for them. The workers here are scripts that die as they are told. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runTwiceAtMost } from '../../tools/cli/sim/child.ts';
import { type Death, type Listener, playSeeds } from '../../tools/cli/sim/pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-pool-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Counts, over all processes, how often it was asked something: a line in a file each time. */
const COUNTING = `
import { appendFileSync, readFileSync } from 'node:fs';
const file = process.argv[3] ?? JSON.parse(process.argv[2]).scenario;
function asked(what) {
  appendFileSync(file, what + '\\n');
  const lines = readFileSync(file, 'utf8').split('\\n');
  return lines.filter((line) => line === String(what)).length;
}
function die() {
  process.stderr.write('\\n#\\n# Fatal error in , line 0\\n# unreachable code\\n' + 'a frame\\n'.repeat(2000));
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}
`;

function script(name: string, text: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, `${COUNTING}${text}`);
  return path;
}

interface Heard {
  readonly seeds: number[];
  readonly deaths: Death[];
}

/** Plays seeds 1 to 8 on two workers of that program, until `isLast`. */
async function play(name: string, text: string, isLast: (seed: number) => boolean = () => false): Promise<Heard> {
  const heard: Heard = { seeds: [], deaths: [] };
  const listener: Listener = {
    onSummary: ({ seed }) => {
      heard.seeds.push(seed);
      return !isLast(seed);
    },
    onDeath: (death) => {
      heard.deaths.push(death);
      return true;
    },
  };
  const log = join(folder, `${name}.log`);
  const options = { scenario: log, durationMs: null, checks: true, isTwice: false, isUnlimited: false };
  await playSeeds([1, 2, 3, 4, 5, 6, 7, 8].values(), 2, options, listener, script(name, text));
  return heard;
}

describe('a pool of workers', () => {
  test('plays the seeds of one that died again, and gives up a seed at which two have died', async () => {
    const { seeds, deaths } = await play(
      'dying',
      `process.on('message', (seed) => {
        const count = asked(seed);
        if (seed === 5 || (seed === 3 && count === 1)) die();
        process.send({ seed });
      });
      process.send('ready');`,
    );
    expect(seeds.sort()).toEqual([1, 2, 3, 4, 6, 7, 8]);
    expect(deaths.map(({ seed, isGivenUp }) => `${seed} ${isGivenUp}`).sort()).toEqual([
      '3 false',
      '5 false',
      '5 true',
    ]);
    for (const { how } of deaths) expect(how).toMatch(/^was ended by SIGKILL: # Fatal error in , line 0 \| # unreach/);
  });

  test('rejects where no worker comes up, with what they say', async () => {
    await expect(play('stillborn', `process.stderr.write('no such file'); process.exit(3);`)).rejects.toThrow(
      'No worker comes up: it ended with 3: no such file',
    );
  });

  test('stops when it is told to', async () => {
    const text = `process.on('message', (seed) => process.send({ seed })); process.send('ready');`;
    const { seeds, deaths } = await play('stopped', text, () => true);
    expect([seeds.length, deaths]).toEqual([1, []]);
  });
});

describe('another process of Node', () => {
  const run = (name: string, text: string): ReturnType<typeof runTwiceAtMost> =>
    runTwiceAtMost(process.execPath, [script(name, text), '{}', join(folder, `${name}.log`)]);

  test('is run once more where the engine has failed, and the first words of that are kept', () => {
    const ended = run('once', `if (asked('run') === 1) die(); process.stdout.write('done');`);
    expect(ended).toMatchObject({ code: 0, stdout: 'done' });
    expect(ended.firstTry).toMatch(/^was ended by SIGKILL: # Fatal error in , line 0 \| # unreachable code/);
  });

  test('has failed if it fails like that twice', () => {
    const ended = run('twice', 'die();');
    expect(ended.code).toBe(null);
    expect(ended.how).toContain('Fatal error');
    expect(ended.firstTry).not.toBe(null);
  });

  test('is not run again for a failure of its own', () => {
    const ended = run('own', `asked('run'); process.stderr.write('wrong seed'); process.exit(2);`);
    expect(ended).toMatchObject({ code: 2, how: 'ended with 2: wrong seed', firstTry: null });
  });
});
