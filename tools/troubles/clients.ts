/**
 * The clients of an episode: the very processes that the simulator plays (`runtime-sim/workload`), over real sockets
 * and a real clock. What they do and see goes into one history.
 */
import { createHistory, type History } from '../../core/verify/history.ts';
import { type Loop, startLoop } from '../../runtime-real/sdk/loop.ts';
import type { AnyMachine } from '../../runtime-sim/actor.ts';
import { isMovingDone, MOVING, type MovingOptions } from '../../runtime-sim/workload/moving.ts';
import { createObserver, type Observer } from '../../runtime-sim/workload/observer.ts';
import { PRODUCING, type ProducingOptions } from '../../runtime-sim/workload/producing.ts';
import { isReadingDone, READING, type ReadingOptions } from '../../runtime-sim/workload/reading.ts';
import { isVotingDone, VOTING, type VotingOptions } from '../../runtime-sim/workload/voting.ts';
import type { ProducerPlan } from './plan.ts';

/** A client that runs. */
export interface RunningClient {
  /** Asks it to stop: a producer sends nothing new. */
  readonly stop: () => void;
  /** Of a final reader: whether it has seen everything. */
  readonly isDone: () => boolean;
  readonly close: () => Promise<void>;
}

type Bootstrap = ProducingOptions['producer']['bootstrap'];

const REQUEST_TIMEOUT_MS = 3_000;
const DELIVERY_TIMEOUT_MS = 30_000;
const VALUE_BYTES_MAX = 1_500;
const MOVE_EVERY_MS = 400;
const VOTE_EVERY_MS = 600;

/** An observer of these partitions, by the machine's clock. */
export function observe(topics: ReadonlyMap<string, number>): Observer {
  const partitions = [...topics].flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => ({ topic, partition })),
  );
  const history: History = createHistory(partitions);
  const time = {
    get nowUs() {
      return Math.floor(performance.now() * 1000);
    },
  };
  return createObserver(history, time, () => {});
}

/** Starts a process that produces to all partitions. */
export function startProducing(
  observer: Observer,
  bootstrap: Bootstrap,
  plan: ProducerPlan,
  seed: number,
): RunningClient {
  const options: ProducingOptions = {
    observer,
    producer: {
      clientId: `producing-${seed}`,
      bootstrap,
      acks: -1,
      idempotent: plan.isIdempotent,
      lingerMs: 1,
      batchBytesMax: 16_384,
      inFlightMax: 5,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      retryBackoffMs: 50,
      compression: plan.codec,
      createsTopics: false,
    },
    partitions: observer.history.partitions.map((_, index) => index),
    everyMs: plan.everyMs,
    burstMax: plan.burstMax,
    valueBytesMax: VALUE_BYTES_MAX,
    isRepeated: false,
  };
  return startClient(PRODUCING, options, seed);
}

/** Starts a process that reads all partitions. */
export function startReading(
  observer: Observer,
  bootstrap: Bootstrap,
  mode: ReadingOptions['mode'],
  seed: number,
): RunningClient {
  const options: ReadingOptions = {
    observer,
    reader: seed,
    mode,
    options: {
      clientId: `reading-${mode}-${seed}`,
      bootstrap,
      isolation: 'readUncommitted',
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 1024 * 1024,
    },
    restMs: 1_000,
  };
  return startClient(READING, options, seed);
}

/** Starts a process that moves the partitions of a topic about. Asked to stop, it puts them back, and is done then. */
export function startMoving(
  observer: Observer,
  bootstrap: Bootstrap,
  topic: { readonly name: string; readonly partitions: number; readonly replicas: number },
  seed: number,
): RunningClient {
  const options: MovingOptions = {
    observer,
    constant: topic.name,
    partitions: topic.partitions,
    isSole: false,
    nodes: topic.replicas,
    replicas: topic.replicas,
    replicasMin: topic.replicas - 1,
    everyMs: MOVE_EVERY_MS,
    admin: askingOptions(`moving-${seed}`, bootstrap),
  };
  return startClient(MOVING, options, seed, isMovingDone);
}

/** Starts a process that takes voters out and adds them. Asked to stop, it is done when all vote. */
export function startVoting(
  observer: Observer,
  bootstrap: Bootstrap,
  listeners: VotingOptions['listeners'],
  seed: number,
): RunningClient {
  const admin = askingOptions(`voting-${seed}`, bootstrap);
  return startClient(VOTING, { observer, admin, listeners, everyMs: VOTE_EVERY_MS }, seed, isVotingDone);
}

/** How an administrator asks that does not insist. */
export function askingOptions(clientId: string, bootstrap: Bootstrap): MovingOptions['admin'] {
  const timeoutMs = REQUEST_TIMEOUT_MS;
  return { clientId, bootstrap, requestTimeoutMs: timeoutMs, timeoutMs, attemptsMax: 2, retryBackoffMs: 50 };
}

function startClient(
  machine: AnyMachine,
  options: unknown,
  seed: number,
  isDone: (state: unknown) => boolean = isReadingDone,
): RunningClient {
  const state = machine.create(options);
  const loop: Loop = startLoop({
    step: (env, input, out) => machine.step(state, env, input, out),
    deadlineMs: () => machine.deadlineMs(state),
    afterwards: () => machine.check(state),
  });
  loop.act((env, out) => machine.step(state, env, { kind: 'start', seed }, out));
  return {
    stop: () => loop.act((env, out) => machine.step(state, env, { kind: 'stop' }, out)),
    isDone: () => isDone(state),
    close: () => loop.close(),
  };
}
