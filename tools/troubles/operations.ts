/**
 * Troubles that an operator makes: partitions are moved, voters changed, the disk of a node is swapped for an empty
 * one, a broker comes and goes. Each goes on until what it changed is in order again, however long other troubles hold
 * it up, within a bound.
 *
 * A swapped disk costs one copy of whatever it held, and its vote. So it is swapped when all replicas are in sync: else
 * it may have been the only one that had something. What must be so is looked at: the node comes back as one that
 * follows, has voted for nobody, and says that its replicas begin anew.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METADATA_FOLDER } from '../../core/broker/checkpoints/files.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import { decodeQuorumState } from '../../core/raft/quorum-state.ts';
import { createJitter, type Jitter, jitter } from '../../runtime-sim/workload/jitter.ts';
import type { Observer } from '../../runtime-sim/workload/observer.ts';
import { ask, askPartitions } from '../peers/ask.ts';
import { pause } from '../peers/process.ts';
import { type RunningClient, startMoving, startVoting } from './clients.ts';
import { type Cluster, CONTROLLER_LISTENER, CONTROLLER_PORT, type Daemon } from './cluster.ts';
import { type Hands, takeWhenFree } from './hands.ts';
import { type Operator, until } from './operator.ts';
import { GUEST, NODES } from './plan.ts';
import { areWhole, doAllVote, giveVote, REPLICAS, standingOf, TOPICS } from './standing.ts';

/** Where it takes place. */
export interface Scene {
  readonly cluster: Cluster;
  readonly observer: Observer;
  readonly operator: Operator;
  readonly hands: Hands;
  /** Nodes ask for a vote by themselves. */
  readonly isJoiningByItself: boolean;
  readonly say: (line: string) => void;
  readonly accuse: (checker: string, promise: number, sentence: string) => void;
}

/** Its partitions are moved about. */
const MOVED_TOPIC = 'flow';
/** Partitions of this topic are given to the broker that comes. */
const LENT_TOPIC = 'ebb';
/** For the cluster to be whole beforehand: else nothing is swapped. */
const WHOLE_MS_MAX = 8_000;
/** For each thing that must come to be so, troubles or not. */
const PATIENCE_MS = 90_000;
const UNREGISTER = 64;
const ASK_MS_MAX = 3_000;
/** A broker that came late, because of other troubles, stays so long for its partitions all the same. */
const FILL_MS = 10_000;
/** A move that is not done by then is asked for once more: another may have come in between. */
const MOVE_MS = 15_000;
const AGAIN_MS = 200;
const BEGINS_ANEW = 'they begin anew here';

/** Where clients find the cluster first. */
export function bootstrapOf({ daemons }: Cluster): { readonly host: string; readonly port: number }[] {
  return daemons.map(({ host, port }) => ({ host, port }));
}

/** Moves the partitions of one topic, and puts them back, which takes as long as other troubles let it. */
export async function movePartitions({ observer, cluster, accuse }: Scene, forMs: number, seed: number): Promise<void> {
  const topic = { name: MOVED_TOPIC, partitions: TOPICS.get(MOVED_TOPIC) ?? 0, replicas: REPLICAS };
  if (await work(startMoving(observer, bootstrapOf(cluster), topic, seed), forMs)) return;
  accuse('not-moved', 6, `partitions had not arrived ${PATIENCE_MS} ms after they were sent home`);
}

/** Takes voters out and adds them, and in the end lets all vote. */
export async function changeVoters({ observer, cluster, accuse }: Scene, forMs: number, seed: number): Promise<void> {
  const listeners = new Map(
    cluster.daemons.map(({ nodeId, host }) => [nodeId, { name: CONTROLLER_LISTENER, host, port: CONTROLLER_PORT }]),
  );
  if (await work(startVoting(observer, bootstrapOf(cluster), listeners, seed), forMs)) return;
  accuse('no-vote', 6, `not all nodes had a vote ${PATIENCE_MS} ms after that was asked for`);
}

/** Lets a process work so long, asks it to put things in order, and waits for that: whether it came to it. */
async function work(client: RunningClient, forMs: number): Promise<boolean> {
  try {
    await pause(forMs);
    client.stop();
    return await until(() => client.isDone(), PATIENCE_MS);
  } finally {
    await client.close();
  }
}

/** Swaps the disk of a node, and gives the new one a vote: whether it was swapped. */
export async function swapDisk(scene: Scene, daemon: Daemon, forMs: number): Promise<boolean> {
  const { operator, cluster, say, accuse } = scene;
  const { daemons } = cluster;
  const { nodeId: id } = daemon;
  const isReady = async (): Promise<boolean> => (await areWhole(daemons)) && doAllVote(operator, daemons);
  if (!(await until(isReady, WHOLE_MS_MAX))) {
    say(`not every replica was in sync: node ${id} keeps its disk`);
    return false;
  }
  const before = daemon.directoryId();
  const hadReplicas = (await askPartitions(daemon, [...TOPICS.keys()]).catch(() => [])).some(({ replicas }) =>
    replicas.includes(id),
  );
  await daemon.end('SIGKILL');
  await pause(forMs);
  await daemon.swapDisk();
  const after = daemon.directoryId();
  if (after === before) accuse('swap', 2, `the new disk of node ${id} has the id of the old one`);
  daemon.start();
  await watchFollow(scene, daemon, before, after);
  await takeVote(scene, id, before);
  if (!(await giveVote(operator, daemon, after, PATIENCE_MS))) {
    accuse('swap', 6, `node ${id} was given no vote for its new disk within ${PATIENCE_MS} ms`);
  }
  if (!(await until(() => areWhole(daemons), PATIENCE_MS))) {
    accuse('swap', 6, `not every replica was in sync ${PATIENCE_MS} ms after node ${id} had its new disk`);
  }
  const lines = daemon.said().split('\n');
  const hasSaid = lines.some((line) => line.includes(BEGINS_ANEW) && line.includes(after));
  if (hadReplicas && !hasSaid) accuse('swap', 1, `node ${id} did not say that its replicas begin anew`);
  return true;
}

/** The node comes to follow with its new disk, and until it is given a vote it has none and gives none. */
async function watchFollow(
  { operator, isJoiningByItself, accuse }: Scene,
  daemon: Daemon,
  before: string,
  after: string,
): Promise<void> {
  const { nodeId: id } = daemon;
  let voters: readonly string[] = [];
  const isThere = await until(async () => {
    const standing = await operator.quorum();
    if (standing === null) return false;
    voters = standing.voters.filter((one) => one.id === id).map(({ directoryId }) => directoryId);
    if (voters.includes(after)) return true;
    return standing.observers.some((one) => one.id === id && one.directoryId === after);
  }, PATIENCE_MS);
  if (!isThere) accuse('swap', 6, `node ${id} did not follow with its new disk within ${PATIENCE_MS} ms`);
  if (isJoiningByItself || !isThere) return;
  if (voters.join() !== before) {
    accuse('swap', 2, `node ${id} came back with an empty disk, and these of it vote: ${voters}, not ${before} alone`);
  }
  const path = join(daemon.folder, METADATA_FOLDER, 'quorum-state');
  if (!existsSync(path)) return;
  const state = decodeQuorumState(readFileSync(path));
  if (typeof state === 'string' || state.votedId >= 0) {
    accuse('swap', 2, `node ${id} has voted with an empty memory: ${readFileSync(path, 'utf8')}`);
  }
}

/** The old disk votes no more. */
async function takeVote({ operator, accuse }: Scene, id: number, directoryId: string): Promise<void> {
  const isGone = await until(async () => {
    const standing = await operator.quorum();
    if (standing === null) return false;
    if (!standing.voters.some((one) => one.id === id && one.directoryId === directoryId)) return true;
    await operator.ask({ kind: 'removeVoter', voter: { id, directoryId } });
    return false;
  }, PATIENCE_MS);
  if (!isGone) accuse('swap', 6, `the vote of the old disk of node ${id} was not taken within ${PATIENCE_MS} ms`);
}

/** A broker comes, is given partitions, can be struck for a while, is drained, and is forgotten. */
export async function lendBroker(scene: Scene, forMs: number, seed: number): Promise<void> {
  const { cluster, hands, say, accuse } = scene;
  const { guest, daemons } = cluster;
  const dice = createJitter(seed);
  const untilMs = performance.now() + forMs;
  const isKnown = existsSync(join(guest.folder, METADATA_FOLDER));
  const hasOldDisk = isKnown && jitter(dice, 2) === 0;
  if (!hasOldDisk) await guest.swapDisk();
  guest.start();
  if (!(await until(async () => (await standingOf(daemons, GUEST)) === 'there', PATIENCE_MS))) {
    accuse('brokers', 6, `node ${GUEST} did not come to take part within ${PATIENCE_MS} ms`);
  }
  hands.release([GUEST]);
  const filledMs = Math.max(untilMs, performance.now() + FILL_MS);
  const hasCome = await send(scene, () => drawn(dice, [GUEST, ...others(dice)]), true, filledMs);
  for (const partition of indexes()) {
    await scene.operator.ask({ kind: 'electLeader', topic: LENT_TOPIC, partition, isUnclean: false });
  }
  say(`node ${GUEST} came with ${hasOldDisk ? 'its old' : 'an empty'} disk${hasCome ? '' : ', and was not filled'}`);
  await pause(Math.max(0, untilMs - performance.now()));
  await drain(scene, dice);
  await takeWhenFree(hands, GUEST);
  const signal = jitter(dice, 2) === 0 ? 'SIGTERM' : 'SIGKILL';
  const code = await guest.end(signal);
  if (signal === 'SIGTERM' && code !== 0) accuse('brokers', 6, `node ${GUEST} ended with ${code} when asked to stop`);
  if (!(await until(() => forget(daemons), PATIENCE_MS))) {
    accuse('brokers', 6, `node ${GUEST} could not be unregistered within ${PATIENCE_MS} ms`);
  }
  // A request from before may have come late.
  await drain(scene, dice);
}

async function drain(scene: Scene, dice: Jitter): Promise<void> {
  if (await send(scene, () => drawn(dice, NODES), false, performance.now() + PATIENCE_MS)) return;
  scene.accuse('brokers', 6, `node ${GUEST} was not drained within ${PATIENCE_MS} ms`);
}

/** Sends partitions somewhere until all are where they are to be, with the guest among them or without: whether so. */
async function send(
  { cluster, operator }: Scene,
  target: () => readonly number[],
  isGuestIn: boolean,
  untilMs: number,
): Promise<boolean> {
  const isPlaced = async (): Promise<boolean> => {
    const { error, result } = await operator.ask({ kind: 'listMoves', topic: LENT_TOPIC, partitions: indexes() });
    if (error !== ErrorCode.NONE || (result.moving?.length ?? 0) > 0) return false;
    const standings = await Promise.all(cluster.daemons.map((one) => askPartitions(one, [LENT_TOPIC]).catch(() => [])));
    return standings.every(
      (all) =>
        all.length === indexes().length &&
        all.every(({ replicas }) => replicas.length === REPLICAS && replicas.includes(GUEST) === isGuestIn),
    );
  };
  if (await isPlaced()) return true;
  while (performance.now() < untilMs) {
    const asked = indexes().map((partition) =>
      operator.ask({ kind: 'movePartition', topic: LENT_TOPIC, partition, replicas: target() }),
    );
    const isTaken = (await Promise.all(asked)).every(({ error }) => error === ErrorCode.NONE);
    if (isTaken && (await until(isPlaced, Math.min(MOVE_MS, untilMs - performance.now())))) return true;
    if (!isTaken) await pause(AGAIN_MS);
  }
  return false;
}

async function forget(daemons: readonly Daemon[]): Promise<boolean> {
  for (const daemon of daemons) {
    await ask(daemon, UNREGISTER, 0, { brokerId: GUEST }, ASK_MS_MAX).catch(() => null);
    if ((await standingOf([daemon], GUEST)) === 'unknown') return true;
  }
  return false;
}

function indexes(): number[] {
  return Array.from({ length: TOPICS.get(LENT_TOPIC) ?? 0 }, (_, index) => index);
}

function others(dice: Jitter): number[] {
  const left = jitter(dice, NODES.length);
  return NODES.filter((_, index) => index !== left);
}

/** The same in an order of chance. */
function drawn(dice: Jitter, ids: readonly number[]): number[] {
  const left = [...ids];
  return ids.map(() => left.splice(jitter(dice, left.length), 1)[0] ?? -1);
}
