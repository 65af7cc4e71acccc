/**
 * Watches coordinators of groups that were replaced. One that cannot know of it yet goes on for a while, as far as a
 * controller still answers it: what it says meanwhile is an older truth, and the history is told when that was. But it
 * keeps silent (`broker/partitions/contact.ts`) once it has been told, or no controller has answered it for a session
 * and whoever coordinates in its place does not fetch from it any more: an older offset, or a heartbeat that all is
 * well, would be the word of somebody who is no coordinator.
 *
 * Looks at nodes after their steps, and changes nothing of theirs.
 */
import { OFFSETS_TOPIC, partitionOfGroup } from '../../core/broker/groups/names.ts';
import type { GroupHost } from '../../core/broker/groups/state.ts';
import type { Node } from '../../core/broker/node.ts';
import { topicByName } from '../../core/metadata/image.ts';
import type { Complaint, History } from '../../core/verify/history.ts';
import type { Actor } from '../actor.ts';
import { monotonicMs } from '../clock.ts';

/** Who coordinates a partition of the topic of groups. */
interface Lead {
  readonly epoch: number;
  readonly nodeId: number;
  readonly sinceUs: number;
}

/** What was seen last. Plain data. */
export interface ContactNotes {
  /** By partition: who came last, by the epoch. */
  readonly leads: Map<number, Lead>;
  /** By the groups of one life of a node: the number of its last call. */
  readonly calls: Map<object, number>;
}

/** Lives that are remembered at most: more than there are nodes. */
const REMEMBERED_MAX = 20;

/** Nothing was seen. */
export function createContactNotes(): ContactNotes {
  return { leads: new Map(), calls: new Map() };
}

/** Looks at a node after a step of it; what is wrong, or null. */
export function watchContact(
  notes: ContactNotes,
  history: History,
  { clock }: Actor,
  node: Node,
  nowUs: number,
): Complaint | null {
  const { groups, nodeId } = node;
  noteLeads(notes, node, nowUs);
  const active = [...groups.hosts].filter(({ stage }) => stage === 'active');
  const nowMs = monotonicMs(clock, nowUs);
  let silentCount = 0;
  for (const host of active) {
    const lead = notes.leads.get(host.partition.index);
    if (lead === undefined || lead.nodeId === nodeId || lead.epoch <= host.partition.leader.epoch) continue;
    if (isTold(node, host) || isOutOfContact(node, lead, nowMs)) silentCount += 1;
    else noteUnaware(history, host, lead.sinceUs, nowUs);
  }
  const before = notes.calls.get(groups) ?? 0;
  if (groups.lastWaiter === before) return null;
  remember(notes, groups, groups.lastWaiter);
  // Of which of its partitions a call was that is answered nobody sees.
  if (silentCount === 0 || silentCount < active.length) return null;
  for (let call = before + 1; call <= groups.lastWaiter; call++) {
    if (active.some(({ waiters }) => waiters.has(call))) continue;
    const who = `node ${nodeId} answered for groups at ${nowUs} us out of what it knew`;
    const sentence = `${who}, though others coordinate them, and it had been told, or no controller had answered it`;
    return { checker: 'answered-alone', promise: 5, partition: -1, sentence };
  }
  return null;
}

function noteLeads({ leads }: ContactNotes, { groups, nodeId }: Node, nowUs: number): void {
  for (const { stage, partition } of groups.hosts) {
    const { epoch } = partition.leader;
    if (stage !== 'active' || epoch <= (leads.get(partition.index)?.epoch ?? -1)) continue;
    leads.set(partition.index, { epoch, nodeId, sinceUs: nowUs });
  }
}

function remember({ calls }: ContactNotes, groups: object, lastCall: number): void {
  calls.set(groups, lastCall);
  const [oldest] = calls.keys();
  if (calls.size > REMEMBERED_MAX && oldest !== undefined) calls.delete(oldest);
}

/** Whether the node has applied that somebody else leads. */
function isTold({ image, nodeId }: Node, { partition }: GroupHost): boolean {
  const told = topicByName(image, OFFSETS_TOPIC)?.partitions[partition.index];
  return told !== undefined && told.leader !== nodeId && told.leaderEpoch > partition.leader.epoch;
}

/** Whether it has had no word for a session, nor for longer than a fetch may wait of who is in its place. */
function isOutOfContact({ contact, config }: Node, { nodeId }: Lead, nowMs: number): boolean {
  if (nowMs - contact.answeredMs < config['broker.session.timeout.ms']) return false;
  const fetchedMs = contact.fetchedMs.get(nodeId) ?? Number.NEGATIVE_INFINITY;
  return nowMs - fetchedMs >= 2 * config['replica.fetch.wait.max.ms'];
}

/** What it says of its groups now is what was so before it was replaced. */
function noteUnaware({ groups }: History, { partition }: GroupHost, sinceUs: number, nowUs: number): void {
  for (const { groupId, unaware } of groups) {
    if (partitionOfGroup(groupId, partition.topic.partitions.length) !== partition.index) continue;
    const last = unaware.at(-1);
    if (last !== undefined && last.fromUs === sinceUs) last.toUs = nowUs;
    else unaware.push({ fromUs: sinceUs, toUs: nowUs });
  }
}
