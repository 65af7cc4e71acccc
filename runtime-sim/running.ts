/**
 * A run as its parts see it, and how time goes on in it. Data, but for the hooks that the world calls.
 *
 * Of several nodes, the replicas are compared while time goes on: that changes nothing.
 */
import { QUORUM } from '../core/verify/excuses.ts';
import type { Complaint, History } from '../core/verify/history.ts';
import type { Actor, AnyMachine } from './actor.ts';
import type { ElectionNotes } from './marks/election-marks.ts';
import type { GroupNotes } from './marks/group-marks.ts';
import { nodeOf } from './nodes.ts';
import type { Plan } from './scenario.ts';
import type { Troubles } from './trouble/troubles.ts';
import { isSpoilt, type Keeper, noteComplaints, noteDamages, noteFlips, noteRecoveries } from './watch/damage.ts';
import type { ContactNotes } from './watch/group-contact.ts';
import type { ExpiryNotes } from './watch/group-expiry.ts';
import type { ShareNotes } from './watch/group-shares.ts';
import type { NodeChecks } from './watch/node-checks.ts';
import { compareAll, note, type Onlooker } from './watch/onlooker.ts';
import { compareSnapshots, type Shelf } from './watch/snapshot-check.ts';
import { lookForStalls, type Stalls } from './watch/stalls.ts';
import { lookForStrays } from './watch/strays.ts';
import type { Scene, Witness } from './watch/witness.ts';
import { ADMINISTERING, isAdministeringDone } from './workload/administering.ts';
import { MOVING } from './workload/moving.ts';
import type { Observer } from './workload/observer.ts';
import { PRODUCING } from './workload/producing.ts';
import { REPEATING } from './workload/repeating.ts';
import { type Hooks, inputAt, runUntil, tellLine, type World } from './world.ts';

/** All that belongs to one run. */
export interface Run {
  readonly world: World;
  readonly plan: Plan;
  readonly history: History;
  readonly observer: Observer;
  readonly nodes: readonly Actor[];
  readonly troubles: Troubles;
  readonly hooks: Hooks;
  /** By node. */
  readonly checks: readonly NodeChecks[];
  readonly onlooker: Onlooker;
  readonly elections: ElectionNotes;
  readonly groups: GroupNotes;
  readonly contacts: ContactNotes;
  readonly expiry: ExpiryNotes;
  readonly shares: ShareNotes;
  readonly keeper: Keeper;
  /** By log: until when it was told that its contract is broken. */
  readonly told: Map<string, number>;
  readonly witness: Witness;
  /** What the witness looks at. */
  readonly scene: Scene;
  readonly stalls: Stalls;
  /** Actors that stay down when they go down. */
  readonly held: Set<number>;
  /** A node is gone for good, and whoever asks it hears nothing: it stands still, has no power, or is cut off. */
  isOneSilent: boolean;
  /** When replicas are compared next. */
  compareAtUs: number;
}

/** What is new of a disk's damages; where nothing is spared, readers step over what is kept out of service. */
export function seeDamages({ keeper, world, history, plan }: Run, actor: Actor): void {
  for (const { path, kind } of noteDamages(keeper, world.nowUs, actor)) {
    world.env.reached(`sim.disk.${kind}`);
    if (plan.isUnlimited) noteRot(history, path);
  }
}

/** Of all disks, and of the wire: before anything that was found is held against what was done. */
export function seeAllDamages(run: Run): void {
  noteFlips(run.keeper, run.world);
  for (const actor of run.nodes) seeDamages(run, actor);
}

/** Bits of a partition's file have flipped: losses there are not the node's. */
export function noteRot(history: History, path: string): void {
  const folder = /\/([^/]+)-(\d+)\/[^/]+\.log$/.exec(path);
  if (folder === null) return;
  const index = history.partitions.findIndex(
    ({ topic, partition }) => topic === folder[1] && String(partition) === folder[2],
  );
  if (index >= 0) history.damaged.add(index);
}

/** A condition is looked at so often. */
const LOOK_US = 20_000;
/** And replicas are compared so often. */
const COMPARE_US = 5_000_000;

/** Lets the world go on for `ms`, or until `isSo`, which is looked at now and then; true if it was. */
export function runOn(run: Run, ms: number, isSo: () => boolean = () => false): boolean {
  const { world, hooks, nodes } = run;
  const untilUs = world.nowUs + ms * 1000;
  if (nodes.length === 1 && !run.plan.isUnlimited) return runUntil(world, untilUs, hooks, isSo);
  while (world.nowUs < untilUs) {
    runUntil(world, Math.min(untilUs, world.nowUs + LOOK_US), hooks);
    lookForStalls(run.stalls, run.history, nodes, world.nowUs);
    lookForStrays(run.stalls, run.history, nodes, world.network, world.nowUs);
    if (world.nowUs >= run.compareAtUs) {
      run.compareAtUs = world.nowUs + COMPARE_US;
      compareReplicas(run, false);
    }
    seeAllDamages(run);
    noteComplaints(run.keeper, run.history);
    noteNews(run);
    tellBreaches(run);
    if (isSo()) return true;
  }
  return false;
}

/** Where somebody is whole again, what is found wrong from now on is said anew. */
function noteNews({ world, keeper, onlooker, witness }: Run): void {
  const news = noteRecoveries(keeper);
  for (const line of news) tellLine(world, 'world', line);
  if (news.length === 0) return;
  onlooker.complained.clear();
  witness.complained.clear();
}

function tellBreaches({ world, keeper, told }: Run): void {
  for (const [log, { atUs, why }] of keeper.excuses.breaches) {
    if ((told.get(log) ?? -1) >= atUs) continue;
    told.set(log, atUs);
    tellLine(world, 'world', `promises nothing of ${log} from ${atUs} us on: ${why}`);
  }
}

/** Compares the replicas on all nodes that are up. At the end every log has been cut that had to be. */
export function compareReplicas({ onlooker, history, nodes, keeper, world }: Run, isEnd: boolean): void {
  compareAll(onlooker, history, nodes, isEnd, (node, log) => isSpoilt(keeper, node, log));
  const shelves: Shelf[] = [];
  for (const actor of nodes) {
    const node = nodeOf(actor);
    if (node === null || actor.disk === null || isSpoilt(keeper, node.nodeId, QUORUM)) continue;
    shelves.push({ node: node.nodeId, folder: node.folder, disk: actor.disk });
  }
  note(onlooker.complained, history, compareSnapshots(shelves, world.env.reached), QUORUM);
}

/** The machines of those who are asked to stop before the logs are read. */
const WORKING: readonly AnyMachine[] = [PRODUCING, ADMINISTERING, REPEATING, MOVING];

/** Asks all who work to begin nothing more. */
export function stopWorking({ world }: Run): void {
  for (const actor of world.actors) {
    if (WORKING.includes(actor.machine)) inputAt(world, actor, { kind: 'stop' }, world.nowUs);
  }
}

/** Whether every administrator has described for the last time what there is. */
export function areDescribed({ world }: Run): boolean {
  const isDone = ({ state }: Actor): boolean => state !== undefined && isAdministeringDone(state);
  return world.actors.every((actor) => actor.machine !== ADMINISTERING || isDone(actor));
}

/** Whether every send is answered, and every administrator done. */
export function isQuiet(run: Run): boolean {
  return run.observer.openSends === 0 && areDescribed(run);
}

/** Something did not come about in its time. */
export function late(checker: string, sentence: string): Complaint {
  return { checker, promise: 6, partition: -1, sentence };
}
