/**
 * One run: a seed and a scenario in, a verdict and a hash out. A function of its arguments alone.
 *
 * Here a world is made for the plan that the seed draws, and what became of it is concluded; `play.ts` has the parts of
 * a run. Nothing is kept from one run to the next.
 */
import type { Outbox } from '../core/lib/world.ts';
import { judge, type Violation } from '../core/verify/checkers.ts';
import { sortByExcuse } from '../core/verify/excuses.ts';
import { complain, createHistory, type History } from '../core/verify/history.ts';
import type { Actor } from './actor.ts';
import { withoutRealWorld } from './ban.ts';
import { partitionsOf } from './cast/casting.ts';
import { drawPlan, drawScenario } from './cast/plan.ts';
import { SIMULATED_CODECS } from './codecs.ts';
import { createDice } from './dice.ts';
import { crashDisk, type DiskFigures } from './disk/disk.ts';
import { createElectionNotes, noteElections } from './marks/election-marks.ts';
import { createGroupNotes, noteGroups } from './marks/group-marks.ts';
import { addNodes, findTarget, nodeOf } from './nodes.ts';
import { addClients, play } from './play.ts';
import type { RunResult } from './result.ts';
import { noteRot, type Run, seeAllDamages, seeDamages } from './running.ts';
import type { Plan, Scenario } from './scenario.ts';
import { traceHash } from './trace.ts';
import { springElection } from './trouble/elections.ts';
import { fireTrouble, restartUs, springAmbush, troubleStart } from './trouble/fire.ts';
import { springMember } from './trouble/members.ts';
import { springRebalance } from './trouble/rebalances.ts';
import { END, type Troubles } from './trouble/troubles.ts';
import { judgeClaims } from './watch/claims.ts';
import { createKeeper, isSpoilt, noteDeserted, placeIn } from './watch/damage.ts';
import { createContactNotes, watchContact } from './watch/group-contact.ts';
import { createExpiryNotes, watchExpiry } from './watch/group-expiry.ts';
import { watchShares } from './watch/group-shares.ts';
import { nodeIdOf, noteEnd } from './watch/holdings.ts';
import { forgetKnown, noteKnown } from './watch/known-complete.ts';
import { checkLead } from './watch/lead-check.ts';
import { beginNodeChecks, checkAfterStep, createNodeChecks } from './watch/node-checks.ts';
import { createOnlooker, lookAt } from './watch/onlooker.ts';
import { judgeSaid } from './watch/saying.ts';
import { createWitness, note, type Scene, takeAcknowledged, testify } from './watch/witness.ts';
import { ADMINISTERING, forgetAdministrations } from './workload/administering.ts';
import { CONSUMING, forgetMember } from './workload/consuming.ts';
import { forgetMoves, MOVING } from './workload/moving.ts';
import { createObserver } from './workload/observer.ts';
import { forgetSends, PRODUCING } from './workload/producing.ts';
import { forgetStoring, STORING } from './workload/storing.ts';
import { forgetVotes, VOTING } from './workload/voting.ts';
import { createWorld, type Hooks, startAt, tellLine } from './world.ts';

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

/** Steps that a node may take, whatever the run's length, and for each ms of it: ten times what is usual. */
const STEPS_MAX = 200_000;
const STEPS_PER_MS_MAX = 10;

/** Plays one seed. */
export function runSeed(options: RunOptions): RunResult {
  return withoutRealWorld(() => {
    const dice = createDice(options.seed);
    const scenario = drawScenario(dice, options.scenarios);
    const plan = drawPlan(dice, scenario, options.durationMs ?? scenario.durationMs);
    const run = prepare(options, plan);
    const failure = play(run, scenario.script ?? []);
    if (failure !== null) complain(run.history, failure);
    const said = judgeSaid(run.world.firstError, plan, run.world.marks);
    if (said !== null) complain(run.history, said);
    return conclude(options, scenario, run);
  });
}

function prepare(options: RunOptions, plan: Plan): Run {
  const world = createWorld(options.seed, SIMULATED_CODECS, options.checks ?? true);
  world.stepsMax = (STEPS_MAX + STEPS_PER_MS_MAX * plan.durationMs) * plan.cluster.nodes;
  world.network.mood.chunkPpm = plan.chunkPpm;
  world.network.mood.jitterUs = plan.jitterUs;
  world.network.mood.tailPpm = plan.cluster.tailPpm;
  const history = createHistory(partitionsOf(plan), plan.cluster.nodes > 1);
  const reached = (mark: string): void => world.env.reached(mark);
  const observer = createObserver(history, world, reached, (send) => takeAcknowledged(scene, send));
  const nodes = addNodes(world, plan);
  const elections = createElectionNotes(plan.cluster.allowsUnclean);
  const onlooker = createOnlooker(history, elections);
  const keeper = createKeeper(nodes, onlooker, plan.cluster.inSyncMin, plan.changeVotersEveryMs !== null);
  const troubles = createTroubles({ world, plan, history, nodes, keeper });
  const hooks: Hooks = {
    onTrouble: (_, trouble) => fireTrouble(world, troubles, trouble, hooks),
    onDown: (_, actor, state) => onDown(run, actor, state),
    onStart: (_, actor) => onStart(run, actor),
    onStepped: (_, actor, out) => onStepped(run, actor, out),
  };
  for (const node of nodes) {
    node.clock.driftPpm = plan.driftPpm * (node.actor % 2 === 0 ? 1 : -1);
    startAt(world, node, 0);
  }
  if (nodes.length === 1) addClients(world, observer, plan, 0);
  const witness = createWitness();
  const scene = sceneOf({ witness, history, nodes, elections, world, plan, keeper });
  // One literal: of an object that is spread into another every run has a shape of its own, and all code is slow on it.
  const run: Run = {
    world,
    plan,
    history,
    observer,
    troubles,
    hooks,
    nodes,
    checks: nodes.map(createNodeChecks),
    onlooker,
    keeper,
    told: new Map<string, number>(),
    elections,
    groups: createGroupNotes(),
    contacts: createContactNotes(),
    expiry: createExpiryNotes(plan),
    shares: new Map(),
    witness,
    scene,
    stalls: new Map<object, number>(),
    held: new Set<number>(),
    isOneSilent: false,
    compareAtUs: 0,
  };
  return run;
}

type Struck = Pick<Run, 'world' | 'plan' | 'history' | 'nodes' | 'keeper'>;

function createTroubles({ world, plan, history, nodes, keeper }: Struck): Troubles {
  return {
    plan,
    nodes: nodes.map(({ actor }) => actor),
    struck: new Map(),
    ambushes: 0,
    rareSteps: 0,
    awaited: null,
    awaitedGroups: new Set(),
    awaitedMembers: new Set(),
    isHealed: false,
    endings: new Map(),
    nextEnd: END,
    find: (target) => findTarget(nodes, target),
    keeper,
    copies: new Map(),
    onRot: (path) => noteRot(history, path),
    onHold: (isHeld) => noteSpan(history.holds, world.nowUs, isHeld),
    onFull: (isFull) => noteSpan(history.fulls, world.nowUs, isFull),
  };
}

function onStart({ world, troubles, checks }: Run, actor: Actor): void {
  const ofNode = checks[actor.actor];
  if (ofNode !== undefined) beginNodeChecks(ofNode);
  troubleStart(world, troubles, actor);
}

/** Each node is checked where machines are; who looks at leads, or at several nodes, always judges promises. */
function onStepped(run: Run, actor: Actor, out: Outbox): void {
  const { world, checks, nodes, onlooker, history, elections, scene } = run;
  springMember(world, run.troubles, actor);
  const ofNode = checks[actor.actor];
  const node = nodeOf(actor);
  if (actor.disk === null || ofNode === undefined || node === null) return;
  noteKnown(run.keeper, node.image);
  seeDamages(run, actor);
  if (world.checks) checkAfterStep(ofNode, node, actor.disk, world.env, elections.isUncleanAllowed);
  const ledTwice = checkLead(ofNode.lead, node);
  if (ledTwice !== null) complain(history, ledTwice);
  springAmbush(world, run.troubles, actor);
  springElection(world, run.troubles, actor);
  springRebalance(world, run.troubles, actor);
  watchExpiry(run.expiry, history, actor, node, world.nowUs);
  watchShares(run.shares, history, node, world.nowUs);
  noteGroups(run.groups, node, world.env.reached);
  if (nodes.length === 1 && !run.plan.isUnlimited) return;
  noteElections(elections, node.image, world.env.reached);
  testify(scene, actor, lookAt(onlooker, history, actor, world.nowUs));
  note(scene, judgeClaims(node, out));
  note(scene, watchContact(run.contacts, history, actor, node, world.nowUs));
}

type Shown = Pick<Run, 'witness' | 'history' | 'nodes' | 'elections' | 'world' | 'plan' | 'keeper'>;

function sceneOf({ witness, history, nodes, elections, world, plan, keeper }: Shown): Scene {
  const { inSyncMin } = plan.cluster;
  const isDamaged = (node: number, log: string): boolean => {
    return isSpoilt(keeper, node, log) || nodes[node - 1]?.disk?.betrayals.hasLied === true;
  };
  return { witness, history, nodes, time: world, inSyncMin, elections, isDamaged };
}

/** Something lasts, or is over: `spans` has when it did, of which the last may have no end yet. */
function noteSpan(spans: History['holds'], nowUs: number, lasts: boolean): void {
  const last = spans[spans.length - 1];
  const isOpen = last !== undefined && last.toUs < 0;
  if (lasts && !isOpen) spans.push({ fromUs: nowUs, toUs: -1 });
  else if (!lasts && isOpen) last.toUs = nowUs;
}

function onDown(run: Run, actor: Actor, state: unknown): void {
  const { world, observer, held, nodes, keeper } = run;
  noteEnd(keeper.holdings, actor, state);
  if (actor.role === 'node') {
    forgetKnown(keeper, nodeIdOf(actor));
    seeDamages(run, actor);
    noteDeserted(keeper, world.nowUs);
  }
  if (actor.machine === PRODUCING) forgetSends(observer, state);
  if (actor.machine === ADMINISTERING) forgetAdministrations(observer, state);
  if (actor.machine === MOVING) forgetMoves(observer, state);
  if (actor.machine === VOTING) forgetVotes(observer, state);
  if (actor.machine === CONSUMING) forgetMember(state);
  if (actor.machine === STORING) forgetStoring(state);
  // Of several nodes another may still carry out what this one was asked.
  if (actor.role === 'node' && nodes.length === 1) observer.history.downsUs.push(world.nowUs);
  if (actor.disk?.syncFailed) {
    tellLine(world, actor.name, 'is switched off and on: a sync has failed');
    crashDisk(actor.disk, world.dice, true);
  }
  if (!held.has(actor.actor)) startAt(world, actor, world.nowUs + restartUs(world.dice, actor));
}

/** Without limits, what was done to disks and network decides what is excused, and nothing else. */
function excuse(
  run: Run,
  violations: readonly Violation[],
  excused: readonly Violation[],
): Pick<RunResult, 'violations' | 'excused' | 'excuses'> {
  const { plan, keeper, history } = run;
  if (!plan.isUnlimited) return { violations, excused, excuses: [] };
  // Whoever is in the midst of a step that went wrong was given what its disk has spoilt.
  seeAllDamages(run);
  const { bugs, beyond } = sortByExcuse(keeper.excuses, [...violations, ...excused], placeIn(history));
  const excuses = [...new Set(beyond.map(({ why }) => why))];
  return { violations: bugs, excused: beyond.map(({ complaint }) => complaint), excuses };
}

/** What happened on all disks together. */
function diskFigures(nodes: readonly Actor[]): (name: keyof DiskFigures) => number {
  return (name) => nodes.reduce((sum, { disk }) => sum + (disk?.figures[name] ?? 0), 0);
}

function conclude(options: RunOptions, scenario: Scenario, run: Run): RunResult {
  const { world, history, observer, nodes, troubles } = run;
  if (history.losses.some((loss) => loss.fromOffset < loss.toOffset)) world.env.reached('sim.lost_by_election');
  const judgement = judge(history);
  const without = new Set(scenario.without ?? []);
  const found = judgement.violations.filter((violation) => !without.has(violation.checker));
  const { violations, excused, excuses } = excuse(run, found, judgement.excused);
  const count = (outcome: string): number => history.sends.filter((send) => send.outcome === outcome).length;
  const disk = diskFigures(nodes);
  return {
    seed: options.seed,
    scenario: scenario.name,
    verdict: violations.length > 0 ? 'failed' : excused.length > 0 ? 'excused' : 'ok',
    violations,
    excused,
    excuses,
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
      filesTorn: disk('filesTorn'),
      filesCut: disk('filesCut'),
      filesLost: disk('filesLost'),
      namesLost: disk('namesLost'),
      appendsCut: disk('appendsCut'),
      syncs: disk('syncs'),
      diskErrors: disk('errors'),
      bitsRotten: disk('bitsRotten'),
      connections: world.network.figures.connections,
      resets: world.network.figures.resets,
      chunks: world.network.figures.chunks,
    },
    marks: world.marks,
    struck: troubles.struck,
    lines: world.lines,
  };
}
