/**
 * One run: a seed and a scenario in, a verdict and a hash out. A function of its arguments alone.
 *
 * The run has four parts. Troubles: the plan's families strike while clients work. Heal: troubles end for good, the
 * node is started if it is down, clients go on for a while and must be served. Quiet: clients send nothing more, and
 * every send must be answered within a bound. Audit: fresh readers read every partition from start to end; what they
 * see is the truth that the history is judged by.
 */
import { checkNode, createNode, type Node, nodeDeadlineMs, stepNode } from '../core/broker/node.ts';
import { parseSettings } from '../core/config/parse.ts';
import type { NodeConfig } from '../core/config/settings.ts';
import { judge } from '../core/verify/checkers.ts';
import { type Complaint, complain, createHistory, type History } from '../core/verify/history.ts';
import { type Actor, asAnyMachine } from './actor.ts';
import { withoutRealWorld } from './ban.ts';
import {
  addAdministrators,
  addProducers,
  addReader,
  NODE_NAME,
  PORT,
  partitionsOf,
  REQUEST_TIMEOUT_MS,
  TOPIC,
} from './casting.ts';
import { SIMULATED_CODECS } from './codecs.ts';
import { createDice } from './dice.ts';
import { crashDisk } from './disk/disk.ts';
import { beginLeadCheck, checkLead, createLeadCheck, type LeadCheck } from './lead-check.ts';
import { beginLogCheck, checkLogs, checkLogsOnce, createLogCheck, type LogCheck } from './log-check.ts';
import { drawPlan, drawScenario } from './plan.ts';
import { beginReplayCheck, checkReplay, createReplayCheck, type ReplayCheck } from './replay-check.ts';
import type { RunResult } from './result.ts';
import type { Plan, Scenario } from './scenario.ts';
import { traceHash } from './trace.ts';
import { beginTroubles, fireTrouble, healAll, restartUs, type Troubles, troubleStart } from './trouble/fire.ts';
import { ADMINISTERING, forgetAdministrations, isAdministeringDone } from './workload/administering.ts';
import { createObserver, type Observer } from './workload/observer.ts';
import { forgetSends, PRODUCING } from './workload/producing.ts';
import { isReadingDone } from './workload/reading.ts';
import {
  addActor,
  createWorld,
  EndlessError,
  type Hooks,
  inputAt,
  runUntil,
  startAt,
  tellLine,
  type World,
} from './world.ts';

/** What to run. */
export interface RunOptions {
  readonly seed: number;
  /** The scenarios among which the seed draws: one, or all. */
  readonly scenarios: readonly Scenario[];
  /** How long troubles go on; the scenario's own length if absent. */
  readonly durationMs?: number;
  /** Whether machines check their invariants after every step; default true. */
  readonly checks?: boolean;
}

/** Served again at the latest so long after the world is healed. */
export const RECOVERY_MAX_MS = 10_000;
/** Clients go on so long after that. */
const HEALED_WORK_MS = 3_000;
/** Every send is answered so long after the last one was made. */
export const ANSWER_MAX_MS = 30_000;
/** A final reader is through after so long. */
const AUDIT_MAX_MS = 60_000;
/** Steps that a run may take, whatever its length, and for each millisecond of it: ten times what is usual. */
const STEPS_MAX = 200_000;
const STEPS_PER_MS_MAX = 10;

const NODE = asAnyMachine<Node, NodeConfig>({
  create: createNode,
  step: stepNode,
  deadlineMs: nodeDeadlineMs,
  check: checkNode,
});

/** All that belongs to one run. */
interface Run {
  readonly world: World;
  readonly plan: Plan;
  readonly history: History;
  readonly observer: Observer;
  readonly node: Actor;
  readonly troubles: Troubles;
  readonly hooks: Hooks;
  readonly replay: ReplayCheck;
  readonly lead: LeadCheck;
  readonly logs: LogCheck;
}

/** Plays one seed. */
export function runSeed(options: RunOptions): RunResult {
  return withoutRealWorld(() => {
    const dice = createDice(options.seed);
    const scenario = drawScenario(dice, options.scenarios);
    const plan = drawPlan(dice, scenario, options.durationMs ?? scenario.durationMs);
    const run = prepare(options, plan);
    const failure = play(run);
    if (failure !== null) complain(run.history, failure);
    return conclude(options, scenario, run);
  });
}

function nodeConfig(plan: Plan): NodeConfig {
  const texts = new Map([
    ['node.id', '1'],
    ['listeners', `PLAINTEXT://${NODE_NAME}:${PORT}`],
    ['log.dirs', '/data'],
    ['tidemark.topics', `${TOPIC}:${plan.partitions}`],
  ]);
  // Not through the parser: a run wants segments far smaller than an operator may.
  return { ...parseSettings(texts).config, ...Object.fromEntries(plan.settings) };
}

function prepare(options: RunOptions, plan: Plan): Run {
  const world = createWorld(options.seed, SIMULATED_CODECS, options.checks ?? true);
  world.stepsMax = STEPS_MAX + STEPS_PER_MS_MAX * plan.durationMs;
  world.network.mood.chunkPpm = plan.chunkPpm;
  world.network.mood.jitterUs = plan.jitterUs;
  const history = createHistory(partitionsOf(plan));
  const reached = (mark: string): void => world.env.reached(mark);
  const observer = createObserver(history, world, reached);
  const node = addActor(world, NODE_NAME, 'node', NODE, nodeConfig(plan));
  node.clock.driftPpm = plan.driftPpm;
  const troubles: Troubles = {
    plan,
    node: node.actor,
    struck: new Map(),
    isHealed: false,
    onRot: (path) => noteRot(history, path),
    onHold: (isHeld) => noteHold(history, world.nowUs, isHeld),
  };
  const hooks: Hooks = {
    onTrouble: (_, trouble) => fireTrouble(world, troubles, trouble, hooks),
    onDown: (_, actor, state) => onDown(world, observer, actor, state),
    onStart: (_, actor) => onStart(run, actor),
    onChecked: (_, actor) => {
      if (actor.disk === null) return;
      const state = actor.state as Node;
      checkReplay(run.replay, state, actor.disk, world.env);
      checkLead(run.lead, state);
      checkLogsOnce(run.logs, state, actor.disk);
    },
  };
  startAt(world, node, 0);
  addProducers(world, observer, plan);
  addAdministrators(world, observer, plan);
  addReader(world, observer, 1, 'tail', 30_000);
  for (let index = 0; index < plan.replayers; index++) {
    addReader(world, observer, 2 + index, 'replay', 40_000 + index * 200);
  }
  const checks = { replay: createReplayCheck(), lead: createLeadCheck(), logs: createLogCheck() };
  const run: Run = { world, plan, history, observer, node, troubles, hooks, ...checks };
  return run;
}

function onStart({ world, troubles, replay, lead, logs }: Run, actor: Actor): void {
  if (actor.disk !== null) {
    beginReplayCheck(replay);
    beginLeadCheck(lead);
    beginLogCheck(logs);
  }
  troubleStart(world, troubles, actor);
}

function noteHold({ holds }: History, nowUs: number, isHeld: boolean): void {
  const last = holds[holds.length - 1];
  const isOpen = last !== undefined && last.toUs < 0;
  if (isHeld && !isOpen) holds.push({ fromUs: nowUs, toUs: -1 });
  else if (!isHeld && isOpen) last.toUs = nowUs;
}

function noteRot(history: History, path: string): void {
  const folder = /\/([^/]+)-(\d+)\/[^/]+\.log$/.exec(path);
  if (folder === null) return;
  const index = history.partitions.findIndex(
    ({ topic, partition }) => topic === folder[1] && String(partition) === folder[2],
  );
  if (index >= 0) history.damaged.add(index);
}

function onDown(world: World, observer: Observer, actor: Actor, state: unknown): void {
  if (actor.machine === PRODUCING) forgetSends(observer, state);
  if (actor.machine === ADMINISTERING) forgetAdministrations(observer, state);
  if (actor.role === 'node') observer.history.downsUs.push(world.nowUs);
  if (actor.disk?.syncFailed) {
    tellLine(world, actor.name, 'is switched off and on: a sync has failed');
    crashDisk(actor.disk, world.dice, true);
  }
  startAt(world, actor, world.nowUs + restartUs(world.dice, actor));
}

/** Plays all parts; what ended it early, or null. */
function play(run: Run): Complaint | null {
  const { world, hooks, plan, observer, node, history } = run;
  try {
    beginTroubles(world, run.troubles);
    runUntil(world, plan.durationMs * 1000, hooks);
    healAll(world, run.troubles);
    const healedUs = world.nowUs;
    if (!runUntil(world, healedUs + RECOVERY_MAX_MS * 1000, hooks, () => node.isReady)) {
      return late('not-back', `the node did not serve again within ${RECOVERY_MAX_MS} ms of the end of all troubles`);
    }
    // Clients need a moment too: their back-off and their time-outs.
    runUntil(world, world.nowUs + 2 * REQUEST_TIMEOUT_MS * 1000, hooks);
    const servedUs = world.nowUs;
    history.calmUs = servedUs;
    runUntil(world, servedUs + HEALED_WORK_MS * 1000, hooks);
    for (const actor of world.actors) {
      const isWorking = actor.machine === PRODUCING || actor.machine === ADMINISTERING;
      if (isWorking) inputAt(world, actor, { kind: 'stop' }, world.nowUs);
    }
    if (!runUntil(world, world.nowUs + ANSWER_MAX_MS * 1000, hooks, () => isQuiet(run))) {
      const open = `${observer.openSends} sends and ${observer.openAdministrations} questions of administrators`;
      return late('unanswered', `${open} had no answer ${ANSWER_MAX_MS} ms after the last of them`);
    }
    return notServed(history, servedUs) ?? audit(run);
  } catch (thrown) {
    return raised(thrown);
  }
}

function isQuiet({ world, observer }: Run): boolean {
  if (observer.openSends > 0) return false;
  return world.actors.every((actor) => actor.machine !== ADMINISTERING || isAdministeringDone(actor.state));
}

/** What was asked when all was well must have been done. A topic that comes and goes may just have been gone. */
function notServed({ sends, operations, partitions }: History, servedUs: number): Complaint | null {
  for (const send of sends) {
    const isSlot = partitions[send.partition]?.isSlot === true;
    if (send.sentUs < servedUs || send.outcome === 'acknowledged' || isSlot) continue;
    return late('not-served', `value ${send.value}, sent when all was well, came to error ${send.error}`);
  }
  for (const { topic, action, startUs, unsureAttempts } of operations) {
    if (startUs < servedUs || unsureAttempts === 0) continue;
    return late('not-served', `to ${action.kind} ${topic}, asked when all was well, had no certain answer`);
  }
  return null;
}

function audit(run: Run): Complaint | null {
  const { world, hooks, observer } = run;
  const auditor = addReader(world, observer, 2 + run.plan.replayers, 'final', world.nowUs);
  const isDone = (): boolean => auditor.state !== undefined && isReadingDone(auditor.state);
  if (runUntil(world, world.nowUs + AUDIT_MAX_MS * 1000, hooks, isDone)) {
    const { disk, state, down } = run.node;
    if (world.checks && disk !== null && down === null) checkLogs(state as Node, disk);
    return null;
  }
  return late('unreadable', `the logs could not be read to their ends within ${AUDIT_MAX_MS} ms`);
}

function late(checker: string, sentence: string): Complaint {
  return { checker, promise: 6, partition: -1, sentence };
}

function raised(thrown: unknown): Complaint {
  if (thrown instanceof EndlessError) return late('endless', thrown.message);
  const error = thrown instanceof Error ? thrown : new Error('something that is no error was thrown');
  const isAssertion = error.name === 'AssertionError';
  const sentence = isAssertion ? error.message : `${error.name}: ${error.message}`;
  return { checker: isAssertion ? 'assertion' : 'exception', promise: 0, partition: -1, sentence };
}

function conclude(options: RunOptions, scenario: Scenario, run: Run): RunResult {
  const { world, history, observer, node, troubles } = run;
  const judgement = judge(history);
  const without = new Set(scenario.without ?? []);
  const violations = judgement.violations.filter((violation) => !without.has(violation.checker));
  const count = (outcome: string): number => history.sends.filter((send) => send.outcome === outcome).length;
  const disk = node.disk?.figures;
  return {
    seed: options.seed,
    scenario: scenario.name,
    verdict: violations.length > 0 ? 'failed' : judgement.excused.length > 0 ? 'excused' : 'ok',
    violations,
    excused: judgement.excused,
    hash: traceHash(world.trace),
    plan: run.plan,
    figures: {
      events: world.figures.events,
      effects: world.figures.effects,
      simulatedMs: Math.floor(world.nowUs / 1000),
      sends: history.sends.length,
      acknowledged: count('acknowledged'),
      acknowledgedBatches: observer.acknowledgedBatches,
      failed: count('failed'),
      unknown: count('unknown'),
      reads: history.reads.offset.length,
      administrations: history.operations.filter(({ answer }) => answer !== null).length,
      administrationsLost: history.operations.filter(({ answer }) => answer === null).length,
      recordsDeletions: history.cuts.filter(({ lowWatermark }) => lowWatermark >= 0).length,
      crashes: world.figures.crashes,
      powerLosses: world.figures.powerLosses,
      recoveriesCrashed: world.figures.recoveriesCrashed,
      starts: world.figures.starts,
      exits: world.figures.exits,
      filesTorn: disk?.filesTorn ?? 0,
      filesCut: disk?.filesCut ?? 0,
      filesLost: disk?.filesLost ?? 0,
      namesLost: disk?.namesLost ?? 0,
      appendsCut: disk?.appendsCut ?? 0,
      syncs: disk?.syncs ?? 0,
      diskErrors: disk?.errors ?? 0,
      bitsRotten: node.disk?.rot.length ?? 0,
      connections: world.network.figures.connections,
      resets: world.network.figures.resets,
      chunks: world.network.figures.chunks,
    },
    marks: world.marks,
    struck: troubles.struck,
    lines: world.lines,
  };
}
