/**
 * The parts of a run, in their order.
 *
 * Of several nodes: forming, in which the nodes find each other and the topic is made; nothing strikes yet. Troubles:
 * the plan's families strike while clients work, and the story's steps are taken if it has any. Heal: troubles end for
 * good, nodes that are down are started, and must serve; of several nodes all replicas must come into sync. Then, in
 * about half of the seeds, one of three nodes goes for ever, in one of several ways: the others must do without. Quiet:
 * clients send nothing more, and every send must be answered within a bound. Audit: fresh readers read every partition
 * from start to end; what they see is the truth that the history is judged by, and the replicas are compared. A run
 * without limits ends otherwise (`beyond.ts`).
 */

import { wholeNodes } from '../core/verify/excuses.ts';
import type { Complaint } from '../core/verify/history.ts';
import { judgeService } from '../core/verify/service.ts';
import type { Actor } from './actor.ts';
import { endBeyond } from './beyond.ts';
import {
  addAdministrators,
  addMovers,
  addPreparer,
  addProducers,
  addReader,
  addRepeater,
  addVoterChangers,
  REQUEST_TIMEOUT_MS,
  serviceMs,
} from './cast/casting.ts';
import { addGroups } from './cast/casting-groups.ts';
import { areHeard, areInSync, areLed, canSpare, isGivenUp, partitionsText, takePart } from './conditions.ts';
import { chance, pick, SITE } from './dice.ts';
import { settleGroups } from './group-end.ts';
import { forgetRemovals, REMOVE_VOTER_KEY } from './network/network.ts';
import { cut } from './network/trouble.ts';
import { nodeOf } from './nodes.ts';
import { pauseActor } from './pause.ts';
import { compareReplicas, isQuiet, late, type Run, runOn, stopWorking } from './running.ts';
import type { Plan, ScriptStep } from './scenario.ts';
import { playScript } from './script.ts';
import { beginTroubles, healAll } from './trouble/fire.ts';
import { checkFolders } from './watch/folder-check.ts';
import { nodeIdOf } from './watch/holdings.ts';
import { checkLogs } from './watch/log-check.ts';
import { isMovingDone, MOVING } from './workload/moving.ts';
import type { Observer } from './workload/observer.ts';
import { isPrepared } from './workload/preparing.ts';
import { isReadingDone } from './workload/reading.ts';
import { REPEATING, repeatedKey } from './workload/repeating.ts';
import { isVotingDone, VOTING } from './workload/voting.ts';
import { actorOf, crashActor, EndlessError, inputAt, runUntil, startAt, tellLine, type World } from './world.ts';

/** Served again at the latest so long after the world is healed. */
const RECOVERY_MAX_MS = 10_000;
/** A cluster that comes up for the first time has its topic at the latest after so long. */
const FORMING_MAX_MS = 15_000;
/** Partitions have arrived at the latest so long after the last of them was sent somewhere. */
const MOVED_MAX_MS = 20_000;
/** All nodes vote again at the latest so long after all nodes serve. */
const VOTING_MAX_MS = 20_000;
/** All replicas are in sync at the latest so long after all nodes serve. */
const IN_SYNC_MAX_MS = 20_000;
/**
 * The nodes that are left lead everything at the latest so long after one has gone for ever, and wait for it no more:
 * until its session has ended an acknowledgement of all replicas in sync is one of its too.
 */
const LEFT_MAX_MS = 20_000;
/** Clients go on so long after that. */
const HEALED_WORK_MS = 3_000;
/** Every send is answered so long after the last one was made. */
const ANSWER_MAX_MS = 30_000;
/** A final reader is through after so long. */
const AUDIT_MAX_MS = 60_000;

/** Plays all parts; what ended it early, or null. */
export function play(run: Run, script: readonly ScriptStep[]): Complaint | null {
  const { world, hooks, plan, history, nodes } = run;
  try {
    const unformed = nodes.length > 1 ? form(run) : null;
    if (unformed !== null) return unformed;
    beginTroubles(world, run.troubles);
    const broken = script.length > 0 ? playScript(run, script) : null;
    if (broken !== null) return broken;
    if (script.length === 0) runOn(run, plan.durationMs);
    if (plan.isUnlimited) return endBeyond(run);
    for (const number of run.held) {
      const actor = actorOf(world, number);
      if (actor.down !== null) startAt(world, actor, world.nowUs);
    }
    run.held.clear();
    healAll(world, run.troubles, hooks);
    const healedUs = world.nowUs;
    const areReady = (): boolean => nodes.every(({ isReady }) => isReady);
    if (!runUntil(world, healedUs + RECOVERY_MAX_MS * 1000, hooks, areReady)) {
      return late('not-back', `the node did not serve again within ${RECOVERY_MAX_MS} ms of the end of all troubles`);
    }
    const unsettled = nodes.length > 1 ? settle(run) : null;
    if (unsettled !== null) return unsettled;
    // Clients need a moment too: their back-off and their time-outs.
    runUntil(world, world.nowUs + 2 * REQUEST_TIMEOUT_MS * 1000, hooks);
    const servedUs = world.nowUs;
    history.calmUs = servedUs;
    runUntil(world, servedUs + HEALED_WORK_MS * 1000, hooks);
    settleGroups(run);
    return finish(run, servedUs);
  } catch (thrown) {
    return raised(run, thrown);
  }
}

function finish(run: Run, servedUs: number): Complaint | null {
  const { world, hooks, observer } = run;
  stopWorking(run);
  if (!runUntil(world, world.nowUs + ANSWER_MAX_MS * 1000, hooks, () => isQuiet(run))) {
    const open = `${observer.openSends} sends and ${observer.openAdministrations} questions of administrators`;
    return late('unanswered', `${open} had no answer ${ANSWER_MAX_MS} ms after the last of them`);
  }
  return notServed(run, servedUs) ?? audit(run);
}

/** The nodes come up, the topic is made, and clients begin. */
function form(run: Run): Complaint | null {
  const { world, plan, observer, nodes } = run;
  // Where some nodes share a rack the others must be there before replicas can be kept apart.
  const mayBegin = (): boolean => plan.cluster.racks === nodes.length || takePart(nodes);
  if (!runOn(run, FORMING_MAX_MS, mayBegin)) {
    return late('not-formed', `not all nodes took part in the cluster within ${FORMING_MAX_MS} ms`);
  }
  const preparer = addPreparer(world, plan, world.nowUs + 50_000);
  const isThere = (): boolean => preparer.state !== undefined && isPrepared(preparer.state);
  if (!runOn(run, FORMING_MAX_MS, isThere)) {
    return late('not-formed', `the nodes formed no cluster with a topic within ${FORMING_MAX_MS} ms`);
  }
  tellLine(world, 'world', 'the cluster has its topic');
  addClients(world, observer, plan, world.nowUs);
  return null;
}

/** Adds all clients, which begin soon after `fromUs`. */
export function addClients(world: World, observer: Observer, plan: Plan, fromUs: number): void {
  addProducers(world, observer, plan, fromUs);
  addAdministrators(world, observer, plan, fromUs);
  addReader(world, observer, plan, 1, 'tail', fromUs + 30_000);
  for (let index = 0; index < plan.replayers; index++) {
    addReader(world, observer, plan, 2 + index, 'replay', fromUs + 40_000 + index * 200);
  }
  addRepeater(world, observer, plan, fromUs);
  addMovers(world, observer, plan, fromUs);
  addVoterChangers(world, observer, plan, fromUs);
  addGroups(world, observer, plan, fromUs);
}

/** Whoever changes the voters sees to it that all nodes vote, and no late word takes one out. Whether so in time. */
function settleVoters(run: Run): boolean {
  const changers = run.world.actors.filter(({ machine }) => machine === VOTING);
  if (changers.length === 0) return true;
  forgetRemovals(run.world.network);
  const repeaters = run.world.actors.filter(({ machine }) => machine === REPEATING);
  const areLate = (): boolean => {
    return repeaters.some(({ state }) => state !== undefined && repeatedKey(state) === REMOVE_VOTER_KEY);
  };
  runOn(run, VOTING_MAX_MS, () => changers.every(({ down }) => down === null) && !areLate());
  for (const changer of changers) inputAt(run.world, changer, { kind: 'stop' }, run.world.nowUs);
  return runOn(run, VOTING_MAX_MS, () => changers.every(({ state }) => state !== undefined && isVotingDone(state)));
}

/** All replicas come into sync; then perhaps one node goes for ever. */
function settle(run: Run): Complaint | null {
  const { nodes, world, plan } = run;
  if (!settleVoters(run)) {
    return late('not-voting', `not all nodes voted again ${VOTING_MAX_MS} ms after every node served`);
  }
  if (!settleMoves(run)) {
    const sentence = `partitions were still on their way ${MOVED_MAX_MS} ms after every node served`;
    return late('not-moved', `${sentence}: ${partitionsText(nodes)}`);
  }
  const settledUs = world.nowUs;
  // Whom the controller has not heard since may be given up yet.
  const isSettled = (): boolean => areLed(nodes, nodes) && areInSync(nodes, nodes) && areHeard(nodes, settledUs);
  if (!runOn(run, IN_SYNC_MAX_MS, isSettled)) {
    const sentence = `replicas were not all in sync ${IN_SYNC_MAX_MS} ms after every node served`;
    return late('not-in-sync', `${sentence}: ${partitionsText(nodes)}`);
  }
  tellLine(world, 'world', `is in sync: ${partitionsText(nodes)}`);
  if (nodes.length < 3 || !chance(world.dice, SITE.pairs, 7, 500_000)) return null;
  // Who has lost a disk's bytes may not lose a node on top.
  if (wholeNodes(run.keeper.excuses, nodes.map(nodeIdOf)).length < nodes.length) return null;
  const lost = pick(world.dice, SITE.pairs, 7, nodes);
  if (!canSpare(nodes, lost, plan.cluster.inSyncMin)) return null;
  loseForEver(run, lost);
  const core = nodes.filter((actor) => actor !== lost);
  if (runOn(run, LEFT_MAX_MS, () => areLed(nodes, core) && isGivenUp(nodes, lost))) return null;
  const sentence = `not every partition was led without it ${LEFT_MAX_MS} ms after one node had gone for ever`;
  return late('not-led', `${sentence}: ${partitionsText(nodes)}`);
}

/** Whoever moves partitions sends them to where they are to stay. Whether they have arrived in time. */
function settleMoves(run: Run): boolean {
  const movers = run.world.actors.filter(({ machine }) => machine === MOVING);
  if (movers.length === 0) return true;
  // One that is being started again would not hear it.
  runOn(run, MOVED_MAX_MS, () => movers.every(({ down }) => down === null));
  for (const mover of movers) inputAt(run.world, mover, { kind: 'stop' }, run.world.nowUs);
  return runOn(run, MOVED_MAX_MS, () => movers.every(({ state }) => state !== undefined && isMovingDone(state)));
}

/** Actors that may still be added. */
const LATER_MAX = 8;

/** One node dies, stands still, or is cut off, and stays so. */
function loseForEver(run: Run, lost: Actor): void {
  const { world, hooks, held } = run;
  held.add(lost.actor);
  const way = pick(world.dice, SITE.pairs, 8, ['crash', 'powerLoss', 'pause', 'cut'] as const);
  tellLine(world, lost.name, `is lost for good: ${way}`);
  run.isOneSilent = way !== 'crash';
  if (way === 'pause') pauseActor(world, lost);
  else if (way !== 'cut') crashActor(world, lost, way === 'powerLoss', hooks);
  else {
    // Whoever comes later does not reach it either.
    for (let actor = 0; actor < world.actors.length + LATER_MAX; actor++) {
      if (actor === lost.actor) continue;
      cut(world.network, actor, lost.actor);
      cut(world.network, lost.actor, actor);
    }
  }
}

/** What was asked when all was well must have been done. A topic that comes and goes may just have been gone. */
function notServed({ history, isOneSilent }: Run, servedUs: number): Complaint | null {
  const isOwed = (partition: number): boolean => history.partitions[partition]?.isSlot !== true;
  const leastMs = serviceMs(isOneSilent);
  const unserved = judgeService(history.sends, { fromUs: servedUs, leastMs, isOwed });
  if (unserved !== null) return unserved;
  for (const { topic, action, startUs, unsureAttempts } of history.operations) {
    if (startUs < servedUs || unsureAttempts === 0) continue;
    return late('not-served', `to ${action.kind} ${topic}, asked when all was well, had no certain answer`);
  }
  return null;
}

function audit(run: Run): Complaint | null {
  const { world, hooks, observer, plan, nodes } = run;
  const auditor = addReader(world, observer, plan, 2 + plan.replayers, 'final', world.nowUs);
  const isDone = (): boolean => auditor.state !== undefined && isReadingDone(auditor.state);
  const isRead = runUntil(world, world.nowUs + AUDIT_MAX_MS * 1000, hooks, isDone);
  if (nodes.length > 1) compareReplicas(run, true);
  if (isRead) checkDisks(run);
  return isRead ? null : late('unreadable', `the logs could not be read to their ends within ${AUDIT_MAX_MS} ms`);
}

/** The logs and the folders of nodes that are up, once more at the end. */
function checkDisks({ world, nodes, elections }: Run): void {
  if (!world.checks) return;
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null || actor.disk === null || actor.down !== null) continue;
    checkLogs(node, actor.disk, elections.isUncleanAllowed);
    checkFolders(node, actor.disk);
  }
}

function raised({ world }: Run, thrown: unknown): Complaint {
  if (thrown instanceof EndlessError) return late('endless', thrown.message);
  const error = thrown instanceof Error ? thrown : new Error('something that is no error was thrown');
  const isAssertion = error.name === 'AssertionError';
  const sentence = isAssertion ? error.message : `${error.name}: ${error.message}`;
  const node = world.actors[world.stepping]?.role === 'node' ? world.stepping + 1 : -1;
  return { checker: isAssertion ? 'assertion' : 'exception', promise: 0, partition: -1, sentence, node };
}
