/**
 * Notes what becomes of groups in their coordinators: each rare thing is a mark, so that a sweep says whether it has
 * seen it. Looks at what is live after steps of the nodes, and changes nothing. What begins and ends within one step is
 * not seen, nor what a coordinator finds when it has loaded: each is known from its own beginning.
 */
import type { Node } from '../core/broker/node.ts';
import type { Group } from '../core/group/state.ts';

/** What was seen last of one group. */
interface GroupNote {
  readonly kind: Group['kind'];
  /** Generation, or epoch of the group. */
  readonly number: number;
  readonly membersCount: number;
  /** The ids of its static members, by instance id. */
  readonly instances: ReadonlyMap<string, string>;
  /** What its expressions mean. */
  readonly meanings: string;
}

/** What was seen last. Plain data. */
export interface GroupNotes {
  /** The node that became the coordinator of each partition of the topic of groups last. */
  readonly nodes: Map<number, number>;
  /** By coordinator and id of the group. */
  readonly groups: Map<object, Map<string, GroupNote>>;
}

/** Coordinators that are remembered at most: more than live at one time. */
const REMEMBERED_MAX = 100;

/** Nothing was seen. */
export function createGroupNotes(): GroupNotes {
  return { nodes: new Map(), groups: new Map() };
}

/** Looks at the coordinators of a node after a step of it. */
export function noteGroups(notes: GroupNotes, { groups, nodeId }: Node, reached: (mark: string) => void): void {
  for (const { stage, coordinator, partition } of groups.hosts) {
    const { state } = coordinator;
    if (stage !== 'active' || state === null) continue;
    let known = notes.groups.get(coordinator);
    if (known === undefined) {
      known = new Map();
      notes.groups.set(coordinator, known);
      const [oldest] = notes.groups.keys();
      if (notes.groups.size > REMEMBERED_MAX && oldest !== undefined) notes.groups.delete(oldest);
      noteBeginning(notes, partition.index, nodeId, state.groups.size, state.offsets.size, reached);
    }
    for (const group of state.groups.values()) {
      const before = known.get(group.groupId);
      if (before !== undefined && isSameGroup(before, group)) continue;
      const after = noteOf(group);
      known.set(group.groupId, after);
      if (before !== undefined) compare(before, after, reached);
    }
  }
}

function noteBeginning(
  { nodes }: GroupNotes,
  partition: number,
  nodeId: number,
  groupsCount: number,
  offsetsCount: number,
  reached: (mark: string) => void,
): void {
  const before = nodes.get(partition);
  nodes.set(partition, nodeId);
  if (before !== undefined && before !== nodeId) reached('sim.group.moved');
  if (groupsCount > 0) reached('sim.group.loaded');
  if (offsetsCount > 0) reached('sim.group.offsets_loaded');
}

/** Whether a look at few fields shows that nothing that is noted has changed. */
function isSameGroup({ kind, number, membersCount }: GroupNote, group: Group): boolean {
  // A static member that returns without a rebalance changes its id alone.
  if (kind !== group.kind || membersCount !== group.members.size || group.staticMembers.size > 0) return false;
  return number === numberOf(group);
}

function numberOf(group: Group): number {
  return group.kind === 'classic' ? group.generation : group.epoch;
}

function noteOf(group: Group): GroupNote {
  const meanings = group.kind === 'classic' ? [] : [...group.regexes].map(([regex, { topics }]) => [regex, ...topics]);
  return {
    kind: group.kind,
    number: numberOf(group),
    membersCount: group.members.size,
    instances: new Map(group.staticMembers),
    meanings: meanings.map((meaning) => meaning.join()).join(';'),
  };
}

function compare(before: GroupNote, after: GroupNote, reached: (mark: string) => void): void {
  if (before.kind !== after.kind) {
    if (before.membersCount > 0) reached(after.kind === 'consumer' ? 'sim.group.upgraded' : 'sim.group.downgraded');
    return;
  }
  if (before.number !== after.number) reached(`sim.group.rebalanced_${after.kind}`);
  if (before.meanings !== after.meanings && before.meanings !== '') reached('sim.group.meaning_changed');
  if (after.meanings !== '' && before.meanings === '') reached('sim.group.expression');
  for (const [instance, memberId] of before.instances) {
    const now = after.instances.get(instance);
    if (now !== undefined && now !== memberId) reached(`sim.group.static_returned_${after.kind}`);
  }
}
