/**
 * One episode: a fresh cluster, clients, the troubles of its plan, and then the peace in which everything has to become
 * whole: every replica in sync, every send answered, everything read to its end, every node stopped cleanly, every disk
 * the same. What was seen goes before the judges of `core/verify`.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorName } from '../../core/protocol/errors.ts';
import { judge, type Violation } from '../../core/verify/checkers.ts';
import { complain, type History } from '../../core/verify/history.ts';
import type { Observer } from '../../runtime-sim/workload/observer.ts';
import { ask, askPartitions } from '../peers/ask.ts';
import { pause } from '../peers/process.ts';
import { mountSmall, unmount } from './arena.ts';
import { observe, type RunningClient, startMoving, startProducing, startReading } from './clients.ts';
import { createDaemons, type Daemon } from './cluster.ts';
import type { Network } from './network.ts';
import { type EpisodePlan, type Family, type Trouble, troubleText } from './plan.ts';
import { compareDisks } from './replicas.ts';
import { type Struck, strike, watchOver } from './strike.ts';

/** What came of an episode. */
export interface EpisodeResult {
  readonly seed: number;
  readonly forMs: number;
  readonly tookMs: number;
  readonly struck: Readonly<Record<string, number>>;
  readonly sends: number;
  readonly acknowledged: number;
  readonly failed: number;
  /** How often producers were told which error, by its name. */
  readonly errors: Readonly<Record<string, number>>;
  readonly reads: number;
  /** The longest time without an acknowledgement while troubles went on. */
  readonly silentMs: number;
  /** From the last trouble's end until every replica was in sync. */
  readonly healedMs: number;
  readonly batchesCompared: number;
  /** How late a timer of ours was at most: beyond a second the machine was too busy for its troubles to be its own. */
  readonly lateMs: number;
  readonly violations: readonly Violation[];
}

/** Where and how. */
export interface EpisodeOptions {
  readonly network: Network;
  /** For the data, and if something breaks for what the nodes said. */
  readonly folder: string;
  readonly forMs: number;
  readonly say: (line: string) => void;
}

const TOPICS = new Map([
  ['ebb', 2],
  ['flow', 3],
]);
const REPLICAS = 3;
/** Its partitions are moved about; the others stay where they are. */
const MOVED_TOPIC = 'flow';
const MOVED_MS_MAX = 90_000;
const SMALL_BYTES = 96 * 1024 * 1024;
const READY_MS_MAX = 180_000;
const WARM_MS = 1_500;
const HEAL_MS_MAX = 45_000;
const ANSWERED_MS_MAX = 45_000;
const READ_MS_MAX = 45_000;
const LOOK_EVERY_MS = 100;
const CREATE_TOPICS = 19;
const DESCRIBE_QUORUM = 55;

/** Plays the plan. */
export async function playEpisode(plan: EpisodePlan, options: EpisodeOptions): Promise<EpisodeResult> {
  const { network, folder, forMs, say } = options;
  const startedMs = performance.now();
  mkdirSync(folder, { recursive: true });
  const small = join(folder, `node${plan.smallNode}`);
  await mountSmall(small, SMALL_BYTES);
  const daemons = createDaemons(network, [1, 2, 3], folder, plan.settings);
  const observer = observe(TOPICS);
  const { history } = observer;
  const note = (line: string): void => say(`  ${((performance.now() - startedMs) / 1000).toFixed(1)} s  ${line}`);
  const struck: Struck = {
    network,
    daemons,
    say: note,
    complain: (sentence) => {
      note(sentence);
      accuse(history, 'node', 6, sentence);
    },
    move: (ms) => move(observer, daemons, plan.seed, ms),
  };
  const lateness = watchLateness();
  let result: EpisodeResult;
  try {
    for (const daemon of daemons) daemon.start();
    const healing = await act(plan, options, struck, observer);
    const batchesCompared = await stopAndCompare(struck, history);
    const { violations } = judge(history);
    result = {
      ...figuresOf(plan, forMs, history),
      ...healing,
      batchesCompared,
      violations,
      lateMs: lateness.stop(),
      tookMs: since(startedMs),
    };
    if (violations.length > 0) keepWhatWasSaid(daemons, folder);
  } catch (error) {
    keepWhatWasSaid(daemons, folder);
    throw error;
  } finally {
    lateness.stop();
    for (const daemon of daemons) await daemon.end('SIGKILL');
    await unmount(small);
  }
  if (result.violations.length === 0) rmSync(folder, { recursive: true, force: true });
  return result;
}

function keepWhatWasSaid(daemons: readonly Daemon[], folder: string): void {
  for (const { nodeId, said } of daemons) writeFileSync(join(folder, `node${nodeId}.out`), said());
}

/** Measures by how much this process falls behind: what it sees of the nodes is late by as much. */
function watchLateness(): { readonly stop: () => number } {
  let dueMs = performance.now() + LOOK_EVERY_MS;
  let lateMs = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lateMs = Math.max(lateMs, Math.round(nowMs - dueMs));
    dueMs = nowMs + LOOK_EVERY_MS;
  }, LOOK_EVERY_MS);
  const stop = (): number => {
    clearInterval(timer);
    return lateMs;
  };
  return { stop };
}

function since(ms: number): number {
  return Math.round(performance.now() - ms);
}

function accuse(history: History, checker: string, promise: number, sentence: string): void {
  complain(history, { checker, promise, partition: -1, sentence });
}

/** Everything between the start of the nodes and their stop. */
async function act(
  plan: EpisodePlan,
  { forMs }: EpisodeOptions,
  struck: Struck,
  observer: Observer,
): Promise<Pick<EpisodeResult, 'silentMs' | 'healedMs' | 'struck'>> {
  const { daemons } = struck;
  const bootstrap = daemons.map(({ host, port }) => ({ host, port }));
  await createTopics(daemons);
  const producers = plan.producers.map((one, index) => startProducing(observer, bootstrap, one, plan.seed + index + 1));
  const readers = (['tail', 'tail', 'replay'] as const).map((mode, index) =>
    startReading(observer, bootstrap, mode, plan.seed + 100 + index),
  );
  const clients = [...producers, ...readers];
  try {
    await pause(WARM_MS);
    const troublesAtUs = observer.time.nowUs;
    const troubles = await letThemStrike(plan, forMs, struck);
    const silentMs = longestSilenceMs(observer, troublesAtUs);
    const healingMs = performance.now();
    await heal(struck, observer);
    const healedMs = since(healingMs);
    for (const producer of producers) producer.stop();
    await until(() => observer.openSends === 0, ANSWERED_MS_MAX);
    await readAll(observer, bootstrap, plan.seed, clients);
    return { silentMs, healedMs, struck: countsOf(troubles) };
  } finally {
    for (const client of clients) await client.close();
  }
}

/** An operator moves the partitions of one topic, and puts them back, which takes as long as the troubles let it. */
async function move(observer: Observer, daemons: readonly Daemon[], seed: number, forMs: number): Promise<void> {
  const bootstrap = daemons.map(({ host, port }) => ({ host, port }));
  const topic = { name: MOVED_TOPIC, partitions: TOPICS.get(MOVED_TOPIC) ?? 0, replicas: REPLICAS };
  const mover = startMoving(observer, bootstrap, topic, seed + Math.floor(performance.now()));
  try {
    await pause(forMs);
    mover.stop();
    if (await until(() => mover.isDone(), MOVED_MS_MAX)) return;
    accuse(observer.history, 'not-moved', 6, `partitions had not arrived ${MOVED_MS_MAX} ms after they were sent home`);
  } finally {
    await mover.close();
  }
}

/** Resolves to the troubles that struck: one whose nodes are still in another's hands is passed over. */
async function letThemStrike(plan: EpisodePlan, forMs: number, struck: Struck): Promise<Trouble[]> {
  const full = new Set<number>();
  const busy = new Set<number>();
  const done: Trouble[] = [];
  let isOver = false;
  const watching = watchOver(
    struck,
    () => isOver,
    (nodeId) => full.has(nodeId),
  );
  const beganMs = performance.now();
  const strikes = plan.troubles.map(async (trouble) => {
    await pause(trouble.atMs);
    const isFree = trouble.nodes.every((id) => !busy.has(id));
    struck.say(`${troubleText(trouble)}${isFree ? '' : ': passed over'}`);
    if (!isFree) return;
    done.push(trouble);
    for (const id of trouble.nodes) busy.add(id);
    if (trouble.family === 'full') for (const id of trouble.nodes) full.add(id);
    await strike(struck, trouble);
    if (trouble.family === 'full') full.clear();
    for (const id of trouble.nodes) busy.delete(id);
  });
  await Promise.all(strikes);
  await pause(Math.max(0, forMs - (performance.now() - beganMs)));
  isOver = true;
  await watching;
  return done;
}

function longestSilenceMs({ history, time }: Observer, fromUs: number): number {
  const doneUs = history.sends.filter(({ outcome }) => outcome === 'acknowledged').map((send) => send.doneUs);
  const times = [fromUs, ...doneUs.filter((us) => us > fromUs), time.nowUs].sort((a, b) => a - b);
  let longestUs = 0;
  for (let i = 1; i < times.length; i++) longestUs = Math.max(longestUs, (times[i] ?? 0) - (times[i - 1] ?? 0));
  return Math.round(longestUs / 1000);
}

async function createTopics(daemons: readonly Daemon[]): Promise<void> {
  const untilMs = performance.now() + READY_MS_MAX;
  for (const [name, numPartitions] of TOPICS) {
    const topics = [{ name, numPartitions, replicationFactor: REPLICAS, assignments: [], configs: [] }];
    for (let turn = 0; ; turn++) {
      const daemon = daemons[turn % daemons.length];
      if (daemon === undefined) break;
      const answer = await ask(daemon, CREATE_TOPICS, 5, { topics, timeoutMs: 5_000 }).catch(String);
      const error = typeof answer === 'string' ? -1 : answer.topics[0]?.errorCode;
      if (error === 0 || error === 36) break;
      const [ended] = daemons.flatMap((one) => one.takeSuddenEnds());
      if (ended !== undefined) throw new Error(`node ${ended.nodeId} does not start: ${ended.said}`);
      if (performance.now() > untilMs) throw new Error(`${name} was not created: ${JSON.stringify(answer)}`);
      await pause(LOOK_EVERY_MS);
    }
  }
  await until(() => areWhole(daemons), READY_MS_MAX);
}

/** Peace: whoever is down comes back, and every replica must be in sync again, on the word of every node. */
async function heal({ daemons, say }: Struck, { history }: Observer): Promise<void> {
  for (const daemon of daemons) if (!daemon.isRunning()) daemon.start();
  if (await until(() => areWhole(daemons), HEAL_MS_MAX)) return;
  const standings = await Promise.all(daemons.map((one) => askPartitions(one, [...TOPICS.keys()]).catch(String)));
  say(JSON.stringify(standings));
  accuse(history, 'not-whole', 6, `not every replica was in sync ${HEAL_MS_MAX} ms after the last trouble`);
}

async function areWhole(daemons: readonly Daemon[]): Promise<boolean> {
  const names = [...TOPICS.keys()];
  const standings = await Promise.all(daemons.map((daemon) => askPartitions(daemon, names).catch(() => [])));
  const expected = [...TOPICS.values()].reduce((sum, count) => sum + count, 0);
  return standings.every(
    (all) => all.length === expected && all.every((one) => one.leader >= 0 && one.inSync.length === REPLICAS),
  );
}

async function until(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const untilMs = performance.now() + timeoutMs;
  while (performance.now() < untilMs) {
    if (await holds()) return true;
    await pause(LOOK_EVERY_MS);
  }
  return false;
}

/** Reads everything from its start to its end: the truth. */
async function readAll(
  observer: Observer,
  bootstrap: Parameters<typeof startReading>[1],
  seed: number,
  clients: RunningClient[],
): Promise<void> {
  const reader = startReading(observer, bootstrap, 'final', seed + 200);
  clients.push(reader);
  if (await until(() => reader.isDone(), READ_MS_MAX)) return;
  accuse(observer.history, 'unread', 6, `not everything could be read within ${READ_MS_MAX} ms`);
}

/** Asks all nodes to stop, one after the other, and looks at their disks. */
async function stopAndCompare({ daemons, complain: accuseNode }: Struck, history: History): Promise<number> {
  const watermarks = await Promise.all(daemons.map((daemon) => metadataWatermark(daemon).catch(() => 0)));
  for (const daemon of daemons) {
    const code = await daemon.end('SIGTERM');
    if (code !== 0) accuseNode(`node ${daemon.nodeId} ended with ${code} at the end, when it was asked to stop`);
    for (const { nodeId, said } of daemon.takeSuddenEnds()) accuseNode(`node ${nodeId}: ${said}`);
  }
  const names = history.partitions.map(({ topic, partition }) => `${topic}-${partition}`);
  const { complaints, batches } = compareDisks(daemons, names, Math.max(0, ...watermarks));
  for (const one of complaints) complain(history, one);
  return batches;
}

async function metadataWatermark(daemon: Daemon): Promise<number> {
  const topics = [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }];
  const answer = await ask(daemon, DESCRIBE_QUORUM, 0, { topics });
  return answer.topics[0]?.partitions[0]?.highWatermark ?? 0;
}

type Figures = Pick<EpisodeResult, 'seed' | 'forMs' | 'sends' | 'acknowledged' | 'failed' | 'errors' | 'reads'>;

function countsOf(troubles: readonly Trouble[]): Record<string, number> {
  const struck = new Map<Family, number>();
  for (const { family } of troubles) struck.set(family, (struck.get(family) ?? 0) + 1);
  return Object.fromEntries(struck);
}

function figuresOf({ seed }: EpisodePlan, forMs: number, { sends, reads }: History): Figures {
  const acknowledged = sends.filter(({ outcome }) => outcome === 'acknowledged').length;
  const failed = sends.filter(({ outcome }) => outcome === 'failed' || outcome === 'unknown').length;
  const errors = new Map<string, number>();
  for (const { error } of sends) {
    if (error !== 0) errors.set(errorName(error), (errors.get(errorName(error)) ?? 0) + 1);
  }
  const counts = { sends: sends.length, acknowledged, failed, reads: reads.offset.length };
  return { seed, forMs, ...counts, errors: Object.fromEntries(errors) };
}
