/** The end of a run for groups of consumers: whether every member settles, and when. That goes into the history. */
import { topicByName } from '../core/metadata/image.ts';
import type { GroupHistory } from '../core/verify/group-history.ts';
import { SETTLED_MAX_MS } from '../core/verify/groups.ts';
import type { HistoryPartition } from '../core/verify/history.ts';
import type { Actor, AnyMachine } from './actor.ts';
import { newestImage } from './nodes.ts';
import { type Run, runOn } from './running.ts';
import { ADMINISTERING, isAdministeringDone } from './workload/administering.ts';
import { CLEARING, isClearingDone } from './workload/clearing.ts';
import { CONSUMING } from './workload/consuming.ts';
import {
  groupOfConsuming,
  hasPassed,
  isByPattern,
  isPassing,
  settledAs,
  standingOf,
} from './workload/consuming-views.ts';
import { isStoringDone, STORING } from './workload/storing.ts';
import { inputAt, tellLine } from './world.ts';

/** Members are up again at the latest so long after the last crash. */
const UP_MAX_MS = 10_000;
/** Whoever makes topics, stores offsets or goes has done at the latest so long after he was asked to end. */
const DONE_MAX_MS = 20_000;
/** Who is waited for beside the members, and whether he has done. */
const ENDING: ReadonlyMap<AnyMachine, (state: unknown) => boolean> = new Map([
  [ADMINISTERING, isAdministeringDone],
  [STORING, isStoringDone],
  [CLEARING, isClearingDone],
]);
/** Nothing may change so long after all have settled. */
const REST_MS = 2_000;

/** Members make no trouble any more, and all must settle; when they have goes into the history. */
export function settleGroups(run: Run): void {
  const { world, history } = run;
  const members = world.actors.filter(({ machine }) => machine === CONSUMING);
  if (members.length === 0) return;
  endOthers(run, members);
  const staying = members.filter(({ options }) => !isPassing(options));
  for (const group of history.groups) {
    group.calmUs = world.nowUs;
    group.calmMembers = membersOf(staying, group).length;
  }
  const areSettled = (): boolean => {
    for (const group of history.groups) {
      const isSettled = isGroupSettled(run, membersOf(staying, group), group);
      if (isSettled && group.settledUs < 0) group.settledUs = world.nowUs;
      // To be settled for a moment is not to be settled.
      else if (!isSettled) group.settledUs = -1;
    }
    return history.groups.every(({ settledUs }) => settledUs >= 0 && world.nowUs - settledUs >= REST_MS * 1000);
  };
  if (runOn(run, SETTLED_MAX_MS + REST_MS, areSettled)) return;
  for (const { name, state } of members) tellLine(world, name, state === undefined ? 'is down' : standingOf(state));
}

/** Topics, offsets and the members of each group are what they are to stay. */
function endOthers(run: Run, members: readonly Actor[]): void {
  const { world } = run;
  const others = world.actors.filter(({ machine }) => ENDING.has(machine));
  const areUp = (): boolean => [...members, ...others].every(({ down }) => down === null);
  runOn(run, UP_MAX_MS, areUp);
  for (const actor of [...others, ...members]) inputAt(world, actor, { kind: 'stop' }, world.nowUs);
  const isDone = ({ machine, state }: Actor): boolean => {
    if (state === undefined) return false;
    return ENDING.get(machine)?.(state) ?? true;
  };
  runOn(run, DONE_MAX_MS, () => {
    return others.every(isDone) && members.every(({ options, state }) => !isPassing(options) || hasPassed(state));
  });
}

function membersOf(members: readonly Actor[], group: GroupHistory): Actor[] {
  return members.filter(({ options }) => groupOfConsuming(options) === group);
}

/** All members are settled, and own between them all partitions that there are of what any of them reads. */
function isGroupSettled(run: Run, members: readonly Actor[], { kind }: GroupHistory): boolean {
  // Whoever has chosen his partitions himself has nothing to settle.
  if (kind === 'simple') return true;
  const owned = new Set<number>();
  const generations = new Set<number>();
  let count = 0;
  for (const { state } of members) {
    const settled = state === undefined ? null : settledAs(state);
    if (settled === null) return false;
    generations.add(settled.generation);
    count += settled.partitions.length;
    for (const partition of settled.partitions) owned.add(partition);
  }
  const isOneGeneration = kind !== 'classic' || generations.size === 1;
  const wanted = partitionsThere(run, members);
  return (
    isOneGeneration && count === owned.size && owned.size === wanted.length && wanted.every((one) => owned.has(one))
  );
}

/** The partitions of the constant topic, and where somebody chooses by expression, of those that are there. */
function partitionsThere({ nodes, history }: Run, members: readonly Actor[]): number[] {
  const image = newestImage(nodes);
  const readsAll = members.some(({ options }) => isByPattern(options));
  const isThere = ({ topic, partition, isSlot, slot }: HistoryPartition): boolean => {
    if (slot !== undefined || image === null) return false;
    return (readsAll || isSlot !== true) && topicByName(image, topic)?.partitions[partition] !== undefined;
  };
  return history.partitions.flatMap((one, index) => (isThere(one) ? [index] : []));
}
