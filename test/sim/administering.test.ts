/** Administrators describe for the last time what is there for good, whichever node they ask. */
import { expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import type { Input } from '../../core/lib/world.ts';
import type { TopicOperation } from '../../core/verify/administration.ts';
import { createHistory, type History } from '../../core/verify/history.ts';
import { SIMULATED_CODECS } from '../../runtime-sim/codecs.ts';
import { ADMINISTERING, type AdministeringOptions } from '../../runtime-sim/workload/administering.ts';
import { createObserver } from '../../runtime-sim/workload/observer.ts';

const OPTIONS: Omit<AdministeringOptions, 'observer'> = {
  topics: [{ topic: 't', deletePercent: 0 }],
  constant: 'c',
  partitionsMax: 1,
  replicas: 3,
  everyMs: 1_000_000,
  admin: {
    clientId: 'administrator-1',
    bootstrap: [{ host: 'node-1', port: 9092 }],
    requestTimeoutMs: 2_000,
    timeoutMs: 6_000,
    attemptsMax: 1,
    retryBackoffMs: 100,
  },
};

/** Another administrator's deletion, begun and not answered yet. */
function deletion(): TopicOperation {
  return { topic: 't', action: { kind: 'delete' }, startUs: 1, doneUs: -1, answer: null, unsureAttempts: 0 };
}

/** An administrator that is asked to stop at 0, and is woken when it wants to be: when it describes, in ms. */
function describedAtMs(history: History, onMs: (nowMs: number) => void): number {
  const time = { nowUs: 0 };
  const state = ADMINISTERING.create({ ...OPTIONS, observer: createObserver(history, time, () => {}) });
  const take = (nowMs: number, input: Input): void => {
    time.nowUs = nowMs * 1_000;
    const env = { nowMs, wallMs: nowMs, crc32c, codecs: SIMULATED_CODECS, reached: () => {} };
    ADMINISTERING.step(state, env, input, []);
  };
  take(0, { kind: 'start', seed: 1 });
  take(0, { kind: 'stop' });
  for (let nowMs = 0; nowMs < 60_000; nowMs++) {
    onMs(nowMs);
    if (ADMINISTERING.deadlineMs(state) <= nowMs) take(nowMs, { kind: 'wake' });
    if (history.operations.some(({ action }) => action.kind === 'describe')) return nowMs;
  }
  return Number.POSITIVE_INFINITY;
}

it('describes nothing for good while another deletes, or a node may not have heard of it', () => {
  const history = createHistory([{ topic: 't', partition: 0, isSlot: true }], true);
  history.calmUs = 0;
  const operation = deletion();
  history.operations.push(operation);
  const atMs = describedAtMs(history, (nowMs) => {
    if (nowMs === 5_000) operation.doneUs = nowMs * 1_000;
  });
  expect(atMs).toBeGreaterThanOrEqual(7_000);
  expect(atMs).toBeLessThanOrEqual(7_200);
});

it('describes at once where one node knows all that it has answered', () => {
  const history = createHistory([{ topic: 't', partition: 0, isSlot: true }]);
  history.operations.push({ ...deletion(), doneUs: 0, answer: { error: 0 } });
  expect(describedAtMs(history, () => {})).toBe(0);
});
