/**
 * Clients that go on while an operator changes a cluster: the processes of the simulator, over real sockets. What they
 * did and saw goes before `core/verify` in the end: nothing acknowledged may be lost, nothing may come twice, out of
 * order or too early.
 */
import { judge, type Violation } from '../../core/verify/checkers.ts';
import { observe, type RunningClient, startProducing, startReading } from '../../tools/troubles/clients.ts';
import { until } from '../../tools/troubles/operator.ts';

/** Clients at work. */
export interface Watched {
  /** Lets all that was sent be answered, reads everything, and judges. */
  readonly end: () => Promise<Verdict>;
  /** Ends them, whatever they are about. */
  readonly close: () => Promise<void>;
}

/** What came of it. */
export interface Verdict {
  readonly acknowledged: number;
  /** Records that were read while all went on. */
  readonly reads: number;
  readonly isAllRead: boolean;
  readonly violations: readonly Violation[];
}

const ANSWERED_MS_MAX = 45_000;
const READ_MS_MAX = 45_000;
const PRODUCERS = [
  { isIdempotent: true, everyMs: 15, burstMax: 3, codec: 0 },
  { isIdempotent: false, everyMs: 40, burstMax: 2, codec: 4 },
] as const;

/** Begins to write and to read these partitions, which must be there. */
export function watch(ports: readonly number[], topics: ReadonlyMap<string, number>): Watched {
  const bootstrap = ports.map((port) => ({ host: '127.0.0.1', port }));
  const observer = observe(topics);
  const producers = PRODUCERS.map((plan, index) => startProducing(observer, bootstrap, plan, index + 1));
  const clients: RunningClient[] = [...producers, startReading(observer, bootstrap, 'tail', 101)];
  const close = async (): Promise<void> => {
    for (const client of clients.splice(0)) await client.close();
  };
  const end = async (): Promise<Verdict> => {
    for (const producer of producers) producer.stop();
    await until(() => observer.openSends === 0, ANSWERED_MS_MAX);
    const { history } = observer;
    const reads = history.reads.offset.length;
    const reader = startReading(observer, bootstrap, 'final', 201);
    clients.push(reader);
    const isAllRead = await until(() => reader.isDone(), READ_MS_MAX);
    await close();
    const acknowledged = history.sends.filter(({ outcome }) => outcome === 'acknowledged').length;
    return { acknowledged, reads, isAllRead, violations: judge(history).violations };
  };
  return { end, close };
}
