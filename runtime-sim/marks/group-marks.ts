/**
 * Notes what becomes of groups in their coordinators: each rare thing is a mark, so that a sweep says whether it has
 * seen it. Looks at what is live after steps of the nodes, and changes nothing. What begins and ends within one step is
 * not seen, nor what a coordinator finds when it has loaded: each is known from its own beginning.
 */
import { OFFSETS_TOPIC } from '../../core/broker/groups/names.ts';
import type { Node } from '../../core/broker/node.ts';
import type { Group } from '../../core/group/state.ts';
import { topicByName } from '../../core/metadata/image.ts';

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

/** Who began to serve the groups of a partition last. */
interface Latest {
  readonly nodeId: number;
  readonly coordinator: object;
  /** The one before has no replica any more. */
  readonly isReassigned: boolean;
}

/** What was seen last. Plain data. */
export interface GroupNotes {
  /** Who became the coordinator of each partition of the topic of groups last. */
  readonly latest: Map<number, Latest>;
  /** By coordinator and id of the group. */
  readonly groups: Map<object, Map<string, GroupNote>>;
}

/** Coordinators that are remembered at most: more than live at one time. */
const REMEMBERED_MAX = 100;

/** Nothing was seen. */
export function createGroupNotes(): GroupNotes {
  return { latest: new Map(), groups: new Map() };
}

/** Looks at the coordinators of a node after a step of it. */
export function noteGroups(notes: GroupNotes, node: Node, reached: (mark: string) => void): void {
  const { groups } = node;
  for (const { stage, coordinator, partition } of groups.hosts) {
    const { state } = coordinator;
    if (stage !== 'active' || state === null) continue;
    let known = notes.groups.get(coordinator);
    if (known === undefined) {
      known = new Map();
      notes.groups.set(coordinator, known);
      const [oldest] = notes.groups.keys();
      if (notes.groups.size > REMEMBERED_MAX && oldest !== undefined) notes.groups.delete(oldest);
      noteBeginning(notes, node, partition.index, coordinator, reached);
      if (state.groups.size > 0) reached('sim.group.loaded');
      if (state.offsets.size > 0) reached('sim.group.offsets_loaded');
    }
    const latest = notes.latest.get(partition.index);
    if (latest?.isReassigned && latest.coordinator !== coordinator) reached('sim.group.reassigned_unheard');
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
  { latest }: GroupNotes,
  { nodeId, image }: Node,
  index: number,
  coordinator: object,
  reached: (mark: string) => void,
): void {
  const before = latest.get(index);
  const replicas = topicByName(image, OFFSETS_TOPIC)?.partitions[index]?.replicas ?? [];
  const hasMoved = before !== undefined && before.nodeId !== nodeId;
  const isReassigned = hasMoved && !replicas.includes(before.nodeId);
  latest.set(index, { nodeId, coordinator, isReassigned });
  if (hasMoved) reached('sim.group.moved');
  if (isReassigned) reached('sim.group.reassigned');
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
