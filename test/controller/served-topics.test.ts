/** Answers that wait until every live broker has applied what was made. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  awaitServed,
  checkServed,
  createServedWaits,
  dropServed,
  isAwaited,
  latePartitions,
  lateTopics,
  releaseServed,
  type ServedWaits,
  servedDeadlineMs,
  servedOffset,
} from '../../core/controller/served-topics.ts';
import { ask, beat, type Cluster, createCluster, createTopic, fence, partitionOf, startBrokers } from './cluster.ts';

function three(): [Cluster, ServedWaits<string>] {
  const cluster = createCluster();
  startBrokers(cluster, 3);
  for (const id of [1, 2, 3]) beat(cluster, id);
  return [cluster, createServedWaits<string>()];
}

/** A topic is made, and its answer waits; gives the offset of its last record. */
function made(cluster: Cluster, served: ServedWaits<string>, name: string, untilMs = 1000): number {
  createTopic(cluster, name, 1, 1);
  const offset = cluster.log.length - 1;
  expect(awaitServed(served, cluster.controller, { offset, untilMs, waiter: name })).toBe(false);
  checkServed(served);
  return offset;
}

function released(cluster: Cluster, served: ServedWaits<string>): string[] {
  const all = releaseServed(served, cluster.controller, cluster.nowMs);
  checkServed(served);
  return all.map(({ waiter, isLate }) => (isLate ? `${waiter} late` : waiter));
}

describe('an answer', () => {
  it('waits for the slowest of the brokers that take part', () => {
    const [cluster, served] = three();
    const offset = made(cluster, served, 'a');
    beat(cluster, 1);
    beat(cluster, 2, { offset });
    expect(released(cluster, served)).toEqual([]);
    beat(cluster, 3, { offset: offset - 1 });
    expect(released(cluster, served)).toEqual([]);
    beat(cluster, 3, { offset });
    expect(released(cluster, served)).toEqual(['a']);
    expect(servedDeadlineMs(served)).toBe(Infinity);
  });

  it('leaves at once where all have come that far, or nobody is there', () => {
    const [cluster, served] = three();
    const wait = { offset: cluster.log.length - 1, untilMs: 1000, waiter: 'a' };
    for (const id of [1, 2, 3]) beat(cluster, id);
    expect(awaitServed(served, cluster.controller, wait)).toBe(true);
    expect(awaitServed(served, createCluster().controller, wait)).toBe(true);
  });

  it('does not wait for one that was fenced meanwhile, or that shuts down', () => {
    const [cluster, served] = three();
    createTopic(cluster, 'led', 3, 3);
    for (const id of [1, 2, 3]) beat(cluster, id);
    const offset = made(cluster, served, 'a');
    beat(cluster, 1);
    fence(cluster, 2);
    expect(released(cluster, served)).toEqual([]);
    beat(cluster, 3, { shutDown: true, offset: offset - 1 });
    expect(cluster.controller.image.cluster.brokers.get(3)).toMatchObject({
      fenced: false,
      inControlledShutdown: true,
    });
    expect(released(cluster, served)).toEqual(['a']);
  });

  it('waits for one that was unfenced meanwhile', () => {
    const [cluster, served] = three();
    fence(cluster, 3);
    const offset = made(cluster, served, 'a');
    beat(cluster, 1, { offset });
    beat(cluster, 3, { offset: offset - 1 });
    beat(cluster, 2, { offset });
    expect(released(cluster, served)).toEqual([]);
    beat(cluster, 3, { offset });
    expect(released(cluster, served)).toEqual(['a']);
  });

  it('waits no longer than its client', () => {
    const [cluster, served] = three();
    made(cluster, served, 'a', 700);
    made(cluster, served, 'b', 500);
    made(cluster, served, 'c', 900);
    expect(servedDeadlineMs(served)).toBe(500);
    cluster.nowMs = 700;
    expect(released(cluster, served)).toEqual(['a late', 'b late']);
    expect(servedDeadlineMs(served)).toBe(900);
    for (const id of [1, 2, 3]) beat(cluster, id);
    expect(released(cluster, served)).toEqual(['c']);
  });

  it('is given back to nobody knows what when the lead is lost', () => {
    const [cluster, served] = three();
    made(cluster, served, 'a');
    made(cluster, served, 'b');
    expect(dropServed(served)).toEqual(['a', 'b']);
    expect(servedDeadlineMs(served)).toBe(Infinity);
  });

  it('leaves in the order of the log, once, and never before all have come that far', () => {
    const actions = fc.array(
      fc.record({
        kind: fc.constantFrom('make', 'beat', 'beat', 'fence', 'wait'),
        broker: fc.integer({ min: 1, max: 3 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(actions, (history) => {
        const [cluster, served] = three();
        const open = new Map<string, number>();
        for (const [index, { kind, broker }] of history.entries()) {
          if (kind === 'make' && servedOffset(cluster.controller) !== Infinity) {
            open.set(`t${index}`, made(cluster, served, `t${index}`, cluster.nowMs + 300));
          } else if (kind === 'beat') beat(cluster, broker);
          else if (kind === 'fence') fence(cluster, broker);
          else if (kind === 'wait') cluster.nowMs += 100;
          const reached = servedOffset(cluster.controller);
          const due = [...open].filter(([, offset]) => offset <= reached).map(([name]) => name);
          const names = releaseServed(served, cluster.controller, cluster.nowMs);
          expect(names.filter(({ isLate }) => !isLate).map(({ waiter }) => waiter)).toEqual(due);
          for (const { waiter } of names) expect(open.delete(waiter)).toBe(true);
        }
        expect(dropServed(served)).toEqual([...open.keys()]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('an answer that is late', () => {
  it('says so of what was made, and nothing else of what was refused', () => {
    const cluster = createCluster();
    startBrokers(cluster, 1);
    const wanted = (name: string) => ({ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] });
    const made = ask(cluster, 19, 7, { topics: [wanted('a'), wanted('a!')] });
    expect(lateTopics(made).topics.map(({ name, errorCode }) => [name, errorCode])).toEqual([
      ['a', 7],
      ['a!', 17],
    ]);
    const grown = { name: 'a', count: 2, assignments: null };
    const answer = ask(cluster, 37, 3, { topics: [grown, { ...grown, name: 'b' }], timeoutMs: 1, validateOnly: false });
    expect(latePartitions(answer).results.map(({ errorCode }) => errorCode)).toEqual([7, 3]);
  });
});

describe('a heartbeat is due at once', () => {
  it('for a topic that is new or has grown, not for one that is gone or has another leader', () => {
    const [cluster] = three();
    createTopic(cluster, 'a', 1, 2);
    const due = (): boolean => cluster.lastDelta !== null && isAwaited(cluster.lastDelta);
    expect(due()).toBe(true);
    ask(cluster, 37, 3, { topics: [{ name: 'a', count: 2, assignments: null }], timeoutMs: 1, validateOnly: false });
    expect(due()).toBe(true);
    fence(cluster, partitionOf(cluster, 'a').leader);
    expect(due()).toBe(false);
    ask(cluster, 20, 6, { topics: [{ name: 'a', topicId: 'AAAAAAAAAAAAAAAAAAAAAA' }], topicNames: [], timeoutMs: 1 });
    expect(due()).toBe(false);
  });

  it('for leaders that changed while a broker wants to shut down', () => {
    const [cluster] = three();
    createTopic(cluster, 'a', 1, 3);
    beat(cluster, partitionOf(cluster, 'a').leader, { shutDown: true });
    expect(cluster.lastDelta !== null && isAwaited(cluster.lastDelta)).toBe(true);
  });
});
