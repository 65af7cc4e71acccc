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
import { askingOptions, observe, type RunningClient, startProducing, startReading } from './clients.ts';
import { createCluster, type Daemon } from './cluster.ts';
import { createHands } from './hands.ts';
import type { Network } from './network.ts';
import { bootstrapOf } from './operations.ts';
import { startOperator, until } from './operator.ts';
import { AUTO_JOIN, type EpisodePlan, type Family, GUEST, type Trouble, takesOf, troubleText } from './plan.ts';
import { compareDisks } from './replicas.ts';
import { areWhole, createTopics, doAllVote, makeAllVote, TOPICS } from './standing.ts';
import { complain as complainOf, type Struck, strike, watchOver } from './strike.ts';

/** What came of an episode. */
export interface EpisodeResult {
  readonly seed: number;
  readonly forMs: number;
  readonly tookMs: number;
  readonly quorum: EpisodePlan['quorum'];
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

const SMALL_BYTES = 96 * 1024 * 1024;
const WARM_MS = 1_500;
const HEAL_MS_MAX = 45_000;
const ANSWERED_MS_MAX = 45_000;
const READ_MS_MAX = 45_000;
const LOOK_EVERY_MS = 100;
const DESCRIBE_QUORUM = 55;

/** Plays the plan. */
export async function playEpisode(plan: EpisodePlan, options: EpisodeOptions): Promise<EpisodeResult> {
  const { network, folder, forMs, say } = options;
  const startedMs = performance.now();
  mkdirSync(folder, { recursive: true });
  const small = join(folder, `node${plan.smallNode}`);
  await mountSmall(small, SMALL_BYTES);
  const cluster = await createCluster(network, folder, plan.settings, plan.quorum);
  const observer = observe(TOPICS);
  const { history } = observer;
  const struck: Struck = {
    network,
    cluster,
    observer,
    operator: startOperator(askingOptions('operator', bootstrapOf(cluster)), plan.seed),
    hands: createHands([GUEST]),
    isJoiningByItself: plan.settings.get(AUTO_JOIN) === 'true',
    say: (line) => say(`  ${(since(startedMs) / 1000).toFixed(1)} s  ${line}`),
    accuse: (checker, promise, sentence) => complain(history, { checker, promise, partition: -1, sentence }),
  };
  const { daemons } = cluster;
  const everybody = [...daemons, cluster.guest];
  const lateness = watchLateness();
  let result: EpisodeResult;
  try {
    for (const daemon of daemons) daemon.start();
    const healing = await act(plan, options, struck);
    const batchesCompared = await stopAndCompare(struck);
    const { violations } = judge(history);
    result = {
      ...figuresOf(plan, forMs, history),
      ...healing,
      batchesCompared,
      violations,
      lateMs: lateness.stop(),
      tookMs: since(startedMs),
    };
    if (violations.length > 0) keepWhatWasSaid(everybody, folder);
  } catch (error) {
    keepWhatWasSaid(everybody, folder);
    throw error;
  } finally {
    lateness.stop();
    await struck.operator.close();
    for (const daemon of everybody) await daemon.end('SIGKILL');
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

/** Everything between the start of the nodes and their stop. */
async function act(
  plan: EpisodePlan,
  { forMs }: EpisodeOptions,
  struck: Struck,
): Promise<Pick<EpisodeResult, 'silentMs' | 'healedMs' | 'struck'>> {
  const { cluster, observer } = struck;
  const bootstrap = bootstrapOf(cluster);
  await createTopics(cluster.daemons);
  if (plan.quorum !== 'static') await makeAllVote(struck.operator, cluster.daemons);
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
    await heal(struck, plan.quorum);
    const healedMs = since(healingMs);
    for (const producer of producers) producer.stop();
    await until(() => observer.openSends === 0, ANSWERED_MS_MAX);
    await readAll(struck, plan.seed, clients);
    return { silentMs, healedMs, struck: countsOf(troubles) };
  } finally {
    for (const client of clients) await client.close();
  }
}

/** Resolves to the troubles that struck: one whose nodes are still in another's hands is passed over. */
async function letThemStrike(plan: EpisodePlan, forMs: number, struck: Struck): Promise<Trouble[]> {
  const full = new Set<number>();
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
    const takes = takesOf(trouble);
    const isFree = struck.hands.take(takes);
    struck.say(`${troubleText(trouble)}${isFree ? '' : ': passed over'}`);
    if (!isFree) return;
    if (trouble.family === 'full') for (const id of trouble.nodes) full.add(id);
    if (await strike(struck, trouble)) done.push(trouble);
    if (trouble.family === 'full') full.clear();
    struck.hands.release(takes);
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

/** Peace: whoever is down comes back, and all must be in sync again, on the word of every node, and all must vote. */
async function heal({ cluster, operator, say, accuse }: Struck, quorum: EpisodePlan['quorum']): Promise<void> {
  const { daemons } = cluster;
  for (const daemon of daemons) if (!daemon.isRunning()) daemon.start();
  if (!(await until(() => areWhole(daemons), HEAL_MS_MAX))) {
    const standings = await Promise.all(daemons.map((one) => askPartitions(one, [...TOPICS.keys()]).catch(String)));
    say(JSON.stringify(standings));
    accuse('not-whole', 6, `not every replica was in sync ${HEAL_MS_MAX} ms after the last trouble`);
  }
  // Where the configuration says who votes, directories are not known to each other.
  if (quorum === 'static' || (await until(() => doAllVote(operator, daemons), HEAL_MS_MAX))) return;
  say(JSON.stringify(await operator.quorum()));
  accuse('no-vote', 6, `not all nodes had a vote ${HEAL_MS_MAX} ms after the last trouble`);
}

/** Reads everything from its start to its end: the truth. */
async function readAll({ cluster, observer, accuse }: Struck, seed: number, clients: RunningClient[]): Promise<void> {
  const reader = startReading(observer, bootstrapOf(cluster), 'final', seed + 200);
  clients.push(reader);
  if (await until(() => reader.isDone(), READ_MS_MAX)) return;
  accuse('unread', 6, `not everything could be read within ${READ_MS_MAX} ms`);
}

/** Asks all nodes to stop, one after the other, and looks at their disks. */
async function stopAndCompare(struck: Struck): Promise<number> {
  const { daemons } = struck.cluster;
  const { history } = struck.observer;
  const watermarks = await Promise.all(daemons.map((daemon) => metadataWatermark(daemon).catch(() => 0)));
  for (const daemon of daemons) {
    const code = await daemon.end('SIGTERM');
    if (code !== 0) complainOf(struck, `node ${daemon.nodeId} ended with ${code} at the end, when asked to stop`);
    for (const { nodeId, said } of daemon.takeSuddenEnds()) complainOf(struck, `node ${nodeId}: ${said}`);
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

type Figures = Pick<
  EpisodeResult,
  'seed' | 'forMs' | 'quorum' | 'sends' | 'acknowledged' | 'failed' | 'errors' | 'reads'
>;

function countsOf(troubles: readonly Trouble[]): Record<string, number> {
  const struck = new Map<Family, number>();
  for (const { family } of troubles) struck.set(family, (struck.get(family) ?? 0) + 1);
  return Object.fromEntries(struck);
}

function figuresOf({ seed, quorum }: EpisodePlan, forMs: number, { sends, reads }: History): Figures {
  const acknowledged = sends.filter(({ outcome }) => outcome === 'acknowledged').length;
  const failed = sends.filter(({ outcome }) => outcome === 'failed' || outcome === 'unknown').length;
  const errors = new Map<string, number>();
  for (const { error } of sends) {
    if (error !== 0) errors.set(errorName(error), (errors.get(errorName(error)) ?? 0) + 1);
  }
  const counts = { sends: sends.length, acknowledged, failed, reads: reads.offset.length };
  return { seed, forMs, quorum, ...counts, errors: Object.fromEntries(errors) };
}
