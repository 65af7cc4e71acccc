/** Who is asked whether he lives, and what follows from the answer. */
import { describe, expect, it } from 'vitest';
import { controllerDeadlineMs, expiredBroker } from '../../core/controller/brokers.ts';
import { nextDuty } from '../../core/controller/duties.ts';
import {
  CALL_AGAIN_MS,
  CALLS_MAX,
  checkProbing,
  createProbing,
  type ProbeCall,
  type ProbeOutcome,
  type Probing,
  probeAll,
  probingDeadlineMs,
  stopProbing,
  takeCut,
  takeProbeAnswer,
  wakeProbing,
} from '../../core/controller/probing.ts';
import { createController } from '../../core/controller/state.ts';
import { beat, type Cluster, createCluster, fence, register, startBrokers } from './cluster.ts';

const ALIVE: ProbeOutcome = { response: { errorCode: 0 } };
const STRANGER: ProbeOutcome = { response: { errorCode: 129 } };
const REFUSED: ProbeOutcome = { failure: 'refused' };
const TIMED_OUT: ProbeOutcome = { failure: 'timedOut' };
const CLOSED: ProbeOutcome = { failure: 'closed' };

interface Asking {
  readonly cluster: Cluster;
  readonly probing: Probing;
  readonly calls: ProbeCall[];
}

/** Brokers 1 to 3, unfenced at 0 ms; sessions last 1000 ms. The controller is in the process of the first. */
function three(): Asking {
  const cluster = createCluster();
  startBrokers(cluster, 3);
  return { cluster, probing: createProbing(), calls: [] };
}

/** Another node takes over at this time, with a session of 1000 ms. */
function takeOver(asking: Asking, nowMs: number): Asking {
  const { config, image } = asking.cluster.controller;
  const cluster = { ...asking.cluster, controller: createController(config, image, 1, nowMs), nowMs };
  probeAll(asking.probing, cluster.controller, nowMs, asking.calls);
  checkProbing(asking.probing);
  return { ...asking, cluster };
}

function cut({ cluster, probing, calls }: Asking, id: number): void {
  takeCut(probing, cluster.controller, cluster.nowMs, id, calls);
  checkProbing(probing);
}

/** The next call is answered. */
function answer({ cluster, probing, calls }: Asking, outcome: ProbeOutcome): number {
  const call = calls.shift();
  takeProbeAnswer(probing, cluster.controller, cluster.nowMs, call?.ticket ?? -1, outcome);
  checkProbing(probing);
  return call?.nodeId ?? -1;
}

function wake({ cluster, probing, calls }: Asking, nowMs: number): void {
  cluster.nowMs = nowMs;
  wakeProbing(probing, cluster.controller, nowMs, calls);
  checkProbing(probing);
}

describe('the connection of a broker ends', () => {
  it('and its port refuses: it is to be fenced at once', () => {
    const asking = three();
    asking.cluster.nowMs = 100;
    cut(asking, 2);
    expect(asking.calls).toMatchObject([
      { kind: 'call', nodeId: 2, apiKey: 18, timeoutMs: 1000, body: { clusterId: 'c', nodeId: 2 } },
    ]);
    expect(nextDuty(asking.cluster.controller, 100)).not.toMatchObject({ kind: 'fence' });
    answer(asking, REFUSED);
    expect(nextDuty(asking.cluster.controller, 100)).toMatchObject({ kind: 'fence', broker: 2 });
    expect(controllerDeadlineMs(asking.cluster.controller)).toBe(100);
    expect(probingDeadlineMs(asking.probing)).toBe(Infinity);
  });

  it('and it answers: it keeps its session', () => {
    const asking = three();
    asking.cluster.nowMs = 400;
    cut(asking, 2);
    answer(asking, ALIVE);
    for (const id of [1, 3]) fence(asking.cluster, id);
    expect(expiredBroker(asking.cluster.controller, 1399)).toBe(-1);
    expect(expiredBroker(asking.cluster.controller, 1400)).toBe(2);
  });

  it('and there is silence, or a stranger at its port: its session runs out', () => {
    const asking = three();
    asking.cluster.nowMs = 400;
    cut(asking, 2);
    answer(asking, TIMED_OUT);
    cut(asking, 2);
    answer(asking, STRANGER);
    for (const id of [1, 3]) fence(asking.cluster, id);
    expect(expiredBroker(asking.cluster.controller, 999)).toBe(-1);
    expect(expiredBroker(asking.cluster.controller, 1000)).toBe(2);
  });

  it('and so do the connections of the calls: it is called again, so many times', () => {
    const asking = three();
    cut(asking, 2);
    for (let calls = 1; calls < CALLS_MAX; calls++) {
      answer(asking, CLOSED);
      expect(probingDeadlineMs(asking.probing)).toBe(calls * CALL_AGAIN_MS);
      wake(asking, calls * CALL_AGAIN_MS - 1);
      expect(asking.calls).toEqual([]);
      wake(asking, calls * CALL_AGAIN_MS);
      expect(asking.calls).toHaveLength(1);
    }
    answer(asking, CLOSED);
    expect(probingDeadlineMs(asking.probing)).toBe(Infinity);
  });

  it('and again during the call: the answer may be from before, so it is called once more', () => {
    const asking = three();
    cut(asking, 2);
    cut(asking, 2);
    expect(asking.calls).toHaveLength(1);
    answer(asking, ALIVE);
    wake(asking, 0);
    answer(asking, REFUSED);
    expect(nextDuty(asking.cluster.controller, 0)).toMatchObject({ kind: 'fence', broker: 2 });
  });

  it('but a heartbeat comes during the call: a port that refused before then means nothing', () => {
    const asking = three();
    cut(asking, 2);
    asking.cluster.nowMs = 5;
    beat(asking.cluster, 2);
    answer(asking, REFUSED);
    expect(expiredBroker(asking.cluster.controller, 5)).toBe(-1);
  });

  it('but it has registered anew: the answer is about another life', () => {
    const asking = three();
    cut(asking, 2);
    expect(register(asking.cluster, 2, { life: 1, dirs: [2] })).toBeGreaterThan(0);
    beat(asking.cluster, 2);
    answer(asking, REFUSED);
    expect(expiredBroker(asking.cluster.controller, 0)).toBe(-1);
  });

  it('of one that is fenced, unknown, or in this very process: nobody is called', () => {
    const asking = three();
    fence(asking.cluster, 2);
    for (const id of [1, 2, 9]) cut(asking, id);
    expect(asking.calls).toEqual([]);
  });
});

describe('a broker that comes back before its session is over', () => {
  it('is let in if its connection has ended and it holds the directories of before', () => {
    const asking = three();
    expect(register(asking.cluster, 2, { life: 1 })).toBe(-101);
    cut(asking, 2);
    expect(register(asking.cluster, 2, { life: 1, dirs: [7] })).toBe(-101);
    expect(register(asking.cluster, 2, { life: 1 })).toBeGreaterThan(0);
  });

  it('is not let in if the earlier life has been heard of again', () => {
    const asking = three();
    cut(asking, 2);
    beat(asking.cluster, 2);
    expect(register(asking.cluster, 2, { life: 1 })).toBe(-101);
  });
});

describe('a new controller', () => {
  it('calls everybody but itself and those that are fenced, and gives them half a session', () => {
    const before = three();
    fence(before.cluster, 3);
    const asking = takeOver(before, 5000);
    expect(asking.calls.map(({ nodeId }) => nodeId)).toEqual([2]);
    expect(controllerDeadlineMs(asking.cluster.controller)).toBe(5500);
    expect(expiredBroker(asking.cluster.controller, 5499)).toBe(-1);
    expect(expiredBroker(asking.cluster.controller, 5500)).toBe(2);
  });

  it('fences at once whose port refuses, and grants a session to who answers or is heard of', () => {
    const asking = takeOver(three(), 5000);
    asking.cluster.nowMs = 5100;
    expect(answer(asking, REFUSED)).toBe(2);
    expect(nextDuty(asking.cluster.controller, 5100)).toMatchObject({ kind: 'fence', broker: 2 });
    fence(asking.cluster, 2);
    expect(answer(asking, ALIVE)).toBe(3);
    expect(controllerDeadlineMs(asking.cluster.controller)).toBe(6000);
    beat(asking.cluster, 3);
    expect(controllerDeadlineMs(asking.cluster.controller)).toBe(6100);
  });

  it('knows nothing of silence until half a session is over', () => {
    const asking = takeOver(three(), 5000);
    asking.cluster.nowMs = 5400;
    answer(asking, TIMED_OUT);
    expect(expiredBroker(asking.cluster.controller, 5400)).toBe(-1);
    expect(expiredBroker(asking.cluster.controller, 5500)).toBe(2);
  });

  it('lets a broker in that was restarted meanwhile', () => {
    const asking = takeOver(three(), 5000);
    expect(register(asking.cluster, 2, { life: 1 })).toBeGreaterThan(0);
  });

  it('takes no answer to a call of an earlier term, and none once it is over', () => {
    const asking = three();
    cut(asking, 2);
    const [old] = asking.calls.splice(0) as [ProbeCall];
    const next = takeOver(asking, 5000);
    takeProbeAnswer(next.probing, next.cluster.controller, 5000, old.ticket, REFUSED);
    expect(expiredBroker(next.cluster.controller, 5000)).toBe(-1);
    stopProbing(next.probing);
    answer(next, REFUSED);
    expect(expiredBroker(next.cluster.controller, 5000)).toBe(-1);
  });
});
