/**
 * The end of a run without limits: what must come back is what is whole.
 *
 * Troubles end, and for a while everybody may mend what can be mended. Then the nodes on whose disks no damage is left
 * are looked at. If a majority of the voters is among them they are the core: the others go for ever, so that nothing
 * they do helps or hinders, and the core must do what a cluster does, for each partition whose contract holds and which
 * one of the core may lead. Without a core nobody need do anything; clients are stopped, and what can be read is read.
 *
 * A final session that did not come to an end proves nothing: it counts as any other. Nor does one that read from a
 * damaged leader, which keeps out of service what it has no more: where there is no core, another may have it. And a
 * leader that has just come, with too few in sync, shows no more than it knew to be committed when it came: beyond that
 * a session proves nothing, if the rest is there.
 */

import { isCore, logName, wholeNodes } from '../core/verify/excuses.ts';
import type { Complaint } from '../core/verify/history.ts';
import { provenBy } from '../core/verify/last-reading.ts';
import { judgeService } from '../core/verify/service.ts';
import type { Actor } from './actor.ts';
import { addReader, REQUEST_TIMEOUT_MS, serviceMs, TOPIC } from './cast/casting.ts';
import { partitionsText } from './conditions.ts';
import { constantPartitions } from './nodes.ts';
import { areDescribed, compareReplicas, isQuiet, late, type Run, runOn, stopWorking } from './running.ts';
import { healAll } from './trouble/fire.ts';
import { leaderRead, noteFlips } from './watch/damage.ts';
import { nodeIdOf, votersOf } from './watch/holdings.ts';
import { isReadingDone, type ReadingEnd, readingEnds } from './workload/reading.ts';
import { crashActor, startAt, tellLine } from './world.ts';

/** Whoever can mend something has so long for it. */
const MEND_MS = 12_000;
/** The core serves, leads and is in sync at the latest so long after the others have gone. */
const CORE_MAX_MS = 30_000;
const WORK_MS = 3_000;
const ANSWER_MAX_MS = 30_000;
const AUDIT_MAX_MS = 60_000;
/** Where nothing need come back nobody waits for long. */
const AUDIT_ANYWAY_MS = 8_000;

/** Plays the end; what did not come back in time, or null. */
export function endBeyond(run: Run): Complaint | null {
  const { world, hooks, keeper, nodes } = run;
  healAll(world, run.troubles, hooks);
  for (const { actor, down } of nodes) if (down !== null) startAt(world, nodes[actor] as Actor, world.nowUs);
  runOn(run, MEND_MS);
  noteFlips(keeper, world);
  const ids = nodes.map(nodeIdOf);
  const whole = wholeNodes(keeper.excuses, ids);
  const voters = votersOf(keeper.holdings).map(({ id }) => id);
  if (!isCore(keeper.excuses, whole, voters)) {
    world.env.reached('sim.beyond.no_core');
    tellLine(world, 'world', `has no core that is whole: ${whole.length} nodes of ${ids.length} are`);
    stopWorking(run);
    runOn(run, ANSWER_MAX_MS, () => isQuiet(run));
    audit(run, [], AUDIT_ANYWAY_MS);
    return null;
  }
  world.env.reached(whole.length === ids.length ? 'sim.beyond.all_whole' : 'sim.beyond.core');
  const core = nodes.filter((actor) => whole.includes(nodeIdOf(actor)));
  for (const actor of nodes) {
    if (core.includes(actor)) continue;
    run.held.add(actor.actor);
    tellLine(world, actor.name, 'is damaged, and gone for good');
    crashActor(world, actor, true, hooks);
  }
  return playCore(run, core);
}

/** What the core owes to whom. */
function playCore(run: Run, core: readonly Actor[]): Complaint | null {
  const { world, history, observer, nodes, plan } = run;
  const ids = core.map(nodeIdOf);
  const owed = owedPartitions(run, ids);
  const text = (): string => partitionsText(nodes);
  const areReady = (): boolean => core.every(({ isReady }) => isReady);
  if (!runOn(run, CORE_MAX_MS, areReady)) return late('not-back', `not all of nodes ${ids.join(', ')} came to serve`);
  const isServed = (partition: number): boolean => {
    const known = constantPartitions(nodes)[partition];
    if (known === undefined || !ids.includes(known.leader)) return false;
    return known.replicas.every((id) => known.isr.includes(id) === ids.includes(id));
  };
  if (!runOn(run, CORE_MAX_MS, () => owed.every(isServed))) {
    const partition = owed.find((one) => !isServed(one)) ?? -1;
    const sentence = `nodes ${ids.join(', ')} are whole, and do not lead it in sync after ${CORE_MAX_MS} ms: ${text()}`;
    return { ...late('not-led', sentence), partition };
  }
  tellLine(world, 'world', `owes partitions ${owed.join(', ')} and has: ${text()}`);
  runOn(run, 2 * REQUEST_TIMEOUT_MS);
  const servedUs = world.nowUs;
  history.calmUs = servedUs;
  runOn(run, WORK_MS);
  stopWorking(run);
  if (!runOn(run, ANSWER_MAX_MS, () => observer.openSends === 0)) {
    return late('unanswered', `${observer.openSends} sends had no answer ${ANSWER_MAX_MS} ms after the last of them`);
  }
  // Administrators need not be answered; but who reads what they saw last must not read it too soon.
  runOn(run, ANSWER_MAX_MS, () => areDescribed(run));
  const replicated = owed.filter((partition) => {
    const known = constantPartitions(nodes)[partition];
    return known !== undefined && known.isr.length >= plan.cluster.inSyncMin;
  });
  const isOwed = (partition: number): boolean => replicated.includes(partition);
  const leastMs = serviceMs(core.length < nodes.length);
  const unserved = judgeService(history.sends, { fromUs: servedUs, leastMs, isOwed });
  return unserved ?? audit(run, owed, AUDIT_MAX_MS);
}

/** The constant partitions whose contract holds, and of which one of these nodes has all. */
function owedPartitions({ keeper, nodes }: Run, ids: readonly number[]): number[] {
  const owed: number[] = [];
  constantPartitions(nodes).forEach(({ isr, elr }, partition) => {
    const isBroken = keeper.excuses.breaches.has(logName(TOPIC, partition));
    if (!isBroken && ids.some((id) => isr.includes(id) || elr.includes(id))) owed.push(partition);
  });
  return owed;
}

/** Notes of the final sessions of one partition what they prove. */
function weigh({ keeper, history }: Run, { session, isDone, position }: ReadingEnd): void {
  const { sessions, partitions } = history;
  const of = sessions[session]?.partition ?? -1;
  const named = partitions[of];
  if (named === undefined) return;
  const what = provenBy({ isDone, position, ...leaderRead(keeper, logName(named.topic, named.partition)) });
  sessions.forEach((one, i) => {
    if (one.isFinal && one.partition === of) sessions[i] = { ...one, ...what };
  });
}

/** Reads everything; only what is owed must be readable. */
function audit(run: Run, owed: readonly number[], withinMs: number): Complaint | null {
  const { world, observer, plan } = run;
  const auditor = addReader(world, observer, plan, 2 + plan.replayers, 'final', world.nowUs);
  runOn(run, withinMs, () => auditor.state !== undefined && isReadingDone(auditor.state));
  compareReplicas(run, true);
  const ends = auditor.state === undefined ? [] : readingEnds(auditor.state);
  for (const end of ends) weigh(run, end);
  const unread = ends.find(({ isDone, partition }) => !isDone && owed.includes(partition));
  if (unread === undefined) return null;
  const { partition } = unread;
  return { ...late('unreadable', `its log could not be read to its end within ${withinMs} ms`), partition };
}
