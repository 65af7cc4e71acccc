import { describe, expect, test } from 'vitest';
import { EXIT_SOFTWARE } from '../../core/lib/exit-codes.ts';
import type { Effect, Env, Input, Outbox } from '../../core/lib/world.ts';
import type { Codecs } from '../../core/protocol/compression.ts';
import { createMemoryDisk } from '../../runtime-real/disk/memory.ts';
import { type Host, runMachine } from '../../runtime-real/host.ts';

const NO_CODECS: Codecs = { compress: (_codec, bytes) => bytes, decompress: (_codec, bytes) => bytes };

interface Toy {
  readonly host: Host;
  readonly seen: Input[];
  readonly said: string[];
}

/** Runs a machine made of one function. */
function run(
  step: (input: Input, out: Outbox, env: Env) => void,
  deadlineMs: () => number = () => Number.POSITIVE_INFINITY,
): Toy {
  const seen: Input[] = [];
  const said: string[] = [];
  let inside = false;
  const machine = {
    deadlineMs,
    step: (env: Env, input: Input, out: Outbox): void => {
      if (inside) throw new Error('stepped from within a step');
      inside = true;
      seen.push(input);
      try {
        step(input, out, env);
      } finally {
        inside = false;
      }
    },
  };
  const host = runMachine(machine, {
    createDisk: (complete) => createMemoryDisk(complete),
    codecs: NO_CODECS,
    say: (_level, text) => said.push(text),
    frameBudgetBytes: 1e6,
    connectionsMax: 10,
    keepsProcessAlive: true,
  });
  return { host, seen, said };
}

const kinds = (toy: Toy): string[] => toy.seen.map((input) => input.kind);
const exit: Effect = { kind: 'exit', code: 0, reason: '' };

describe('a host', () => {
  test('starts with a seed, answers disk and entropy by inputs, in order, and ends with the exit', async () => {
    const toy = run((input, out) => {
      if (input.kind === 'start') {
        out.push({ kind: 'open', file: 1, path: '/a', create: true, owner: 1, ticket: 1 });
        out.push({ kind: 'append', file: 1, parts: [new Uint8Array(3)], owner: 1, ticket: 2 });
        out.push({ kind: 'closeFile', file: 1, owner: 1, ticket: 3 });
        out.push({ kind: 'entropy', length: 16, owner: 1, ticket: 4 });
      }
      if (input.kind === 'entropy') out.push(exit, { kind: 'say', level: 'info', text: 'too late', fields: new Map() });
    });
    expect(await toy.host.exited).toEqual({ code: 0, reason: '' });
    expect(kinds(toy)).toEqual(['start', 'opened', 'appended', 'changed', 'entropy']);
    const start = toy.seen[0] as Extract<Input, { kind: 'start' }>;
    expect(Number.isInteger(start.seed) && start.seed >= 0 && start.seed < 2 ** 32).toBe(true);
    expect((toy.seen[4] as Extract<Input, { kind: 'entropy' }>).bytes.length).toBe(16);
    expect(toy.said).toEqual([]);
  });

  test('wakes a machine no later than its deadline and a little after', async () => {
    let deadlineMs = Number.POSITIVE_INFINITY;
    let lateMs = -1;
    const toy = run(
      (input, out, env) => {
        if (input.kind === 'start') deadlineMs = env.nowMs + 30;
        if (input.kind !== 'wake' || env.nowMs < deadlineMs) return;
        lateMs = env.nowMs - deadlineMs;
        out.push(exit);
      },
      () => deadlineMs,
    );
    await toy.host.exited;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(kinds(toy).filter((kind) => kind === 'wake').length).toBeLessThan(5);
  });

  test('wakes a machine that puts something off until now behind all that has come, in the same turn', async () => {
    let deadlineMs = Number.POSITIVE_INFINITY;
    let isLater = false;
    let wasLater = false;
    const toy = run(
      (input, out, env) => {
        if (input.kind === 'start') {
          out.push({ kind: 'open', file: 1, path: '/a', create: true, owner: 1, ticket: 1 });
          out.push({ kind: 'append', file: 1, parts: [new Uint8Array(3)], owner: 1, ticket: 2 });
          deadlineMs = env.nowMs;
          setImmediate(() => {
            isLater = true;
          });
        }
        if (input.kind !== 'wake') return;
        wasLater = isLater;
        out.push(exit);
      },
      () => deadlineMs,
    );
    await toy.host.exited;
    expect(kinds(toy)).toEqual(['start', 'opened', 'appended', 'wake']);
    expect(wasLater).toBe(false);
  });

  test('a deadline beyond what a timer can wait is clamped, not an immediate storm of wakes', async () => {
    const toy = run(
      () => {},
      () => 1e15,
    );
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 10));
    toy.host.abort('enough');
    expect(kinds(toy)).toEqual(['start']);
  });

  test('time is an integer, and does not change within a step', async () => {
    const toy = run((_input, out, env) => {
      const { nowMs, wallMs } = env;
      const until = performance.now() + 3;
      while (performance.now() < until);
      expect([env.nowMs, env.wallMs]).toEqual([nowMs, wallMs]);
      expect(Number.isInteger(nowMs) && Number.isInteger(wallMs)).toBe(true);
      out.push(exit);
    });
    expect((await toy.host.exited).code).toBe(0);
  });

  test('a throw out of a step ends the node: its effects are dropped, the stack is said, the code is 70', async () => {
    const toy = run((_input, out) => {
      out.push({ kind: 'say', level: 'info', text: 'acknowledged', fields: new Map() });
      throw new Error('an invariant is broken');
    });
    expect(await toy.host.exited).toEqual({ code: EXIT_SOFTWARE, reason: 'an invariant is broken' });
    expect(await toy.host.ready).toEqual({ code: EXIT_SOFTWARE, reason: 'an invariant is broken' });
    expect(toy.said.length).toBe(1);
    expect(toy.said[0]).toMatch(/an invariant is broken[\s\S]*host\.test\.ts/);
    expect(kinds(toy)).toEqual(['start']);
  });

  test('tells where it listens once it is ready, and is asked to stop', async () => {
    const toy = run((input, out) => {
      const { kind } = input;
      if (kind === 'start') {
        out.push({ kind: 'listen', listener: 1, host: '127.0.0.1', port: 0, frameBytesMax: 100, idleMs: 1000 });
      }
      if (kind === 'listening') out.push({ kind: 'ready' });
      if (kind === 'stop') out.push(exit);
    });
    const ready = await toy.host.ready;
    expect(ready).toMatchObject([{ listener: 1, host: '127.0.0.1' }]);
    toy.host.stop();
    expect((await toy.host.exited).code).toBe(0);
  });

  test('a machine that always has more to do does not starve the event loop', async () => {
    let asked = 0;
    const toy = run((input, out) => {
      if (input.kind === 'stop') out.push(exit);
      else out.push({ kind: 'entropy', length: 1, owner: 1, ticket: ++asked });
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    toy.host.stop();
    expect((await toy.host.exited).code).toBe(0);
    expect(asked).toBeGreaterThan(1);
  });
});
