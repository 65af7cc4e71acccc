/** The end of a run for groups of consumers: whether every member settles, and when. That goes into the history. */
import type { GroupHistory } from '../core/verify/group-history.ts';
import { SETTLED_MAX_MS } from '../core/verify/groups.ts';
import type { Actor } from './actor.ts';
import { type Run, runOn } from './running.ts';
import { CONSUMING, groupOfConsuming, settledAs, standingOf } from './workload/consuming.ts';
import { inputAt, tellLine } from './world.ts';

/** Members are up again at the latest so long after the last crash. */
const UP_MAX_MS = 10_000;
/** Nothing may change so long after all have settled. */
const REST_MS = 2_000;

/** Members make no trouble any more, and all must settle; when they have goes into the history. */
export function settleGroups(run: Run): void {
  const { world, history, plan } = run;
  const members = world.actors.filter(({ machine }) => machine === CONSUMING);
  if (members.length === 0) return;
  runOn(run, UP_MAX_MS, () => members.every(({ down }) => down === null));
  for (const member of members) inputAt(world, member, { kind: 'stop' }, world.nowUs);
  for (const group of history.groups) {
    group.calmUs = world.nowUs;
    group.calmMembers = membersOf(members, group).length;
  }
  const areSettled = (): boolean => {
    for (const group of history.groups) {
      const isSettled = isGroupSettled(membersOf(members, group), group, plan.partitions);
      if (isSettled && group.settledUs < 0) group.settledUs = world.nowUs;
      // To be settled for a moment is not to be settled.
      else if (!isSettled) group.settledUs = -1;
    }
    return history.groups.every(({ settledUs }) => settledUs >= 0 && world.nowUs - settledUs >= REST_MS * 1000);
  };
  if (runOn(run, SETTLED_MAX_MS + REST_MS, areSettled)) return;
  for (const { name, state } of members) tellLine(world, name, state === undefined ? 'is down' : standingOf(state));
}

function membersOf(members: readonly Actor[], group: GroupHistory): Actor[] {
  return members.filter(({ options }) => groupOfConsuming(options) === group);
}

/** All members are settled, and own all partitions between them. */
function isGroupSettled(members: readonly Actor[], { protocol }: GroupHistory, partitionsCount: number): boolean {
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
  const isOneGeneration = protocol === 'consumer' || generations.size === 1;
  return isOneGeneration && owned.size === partitionsCount && count === partitionsCount;
}
