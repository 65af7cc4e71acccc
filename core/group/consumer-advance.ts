/**
 * One step of a consumer group for one member, whichever protocol the member speaks: what it says of itself is written,
 * the group gets a new epoch if that or the topics changed, partitions are dealt out anew if they must be, and the
 * member comes closer to what it is to have.
 *
 * While nothing changes a step reads a handful of fields, however large the group and its topics are.
 */

import { topicById } from '../metadata/image.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { isSameProtocols } from './classic-group.ts';
import {
  type Draft,
  draftMember,
  draftMembers,
  draftTarget,
  isFreeFor,
  type Refusal,
  refuse,
  write,
} from './consumer-draft.ts';
import { reconcile, type SaidPartitions } from './consumer-reconcile.ts';
import { assignmentRecord, epochRecord, memberRecord, partitionMetadataTombstone } from './consumer-records.ts';
import { type ClassicPart, type ConsumerMember, isReconciled } from './consumer-state.ts';
import { electedAssignor, updateTarget } from './consumer-target.ts';
import { changeRegex, hashTopics, isSameList, mayHaveNewTopics, namesOf, refreshRegexes } from './consumer-topics.ts';
import { fitBatch } from './records.ts';

/**
 * Takes a member a step further. `before`: the member as it was, with its new id if it took the place of another;
 * `after`: with what it says of itself now. What comes of it, or a refusal, after which the draft is of no use. So is
 * one whose records are more than a batch of the log takes: the log would refuse them when it is too late to go back.
 */
export function advance(
  draft: Draft,
  before: ConsumerMember,
  after: ConsumerMember,
  said: SaidPartitions,
): ConsumerMember | Refusal {
  const { group, config, work } = draft;
  const { seen } = group;
  const isNew = draftMember(draft, before.memberId) === undefined;
  const isOther = isNew || !isSameSubscriber(before, after);
  if (
    !isOther &&
    !mayHaveNewTopics(draft) &&
    draft.epoch <= draft.targetEpoch &&
    isReconciled(before, draft.targetEpoch)
  ) {
    return before;
  }
  if (draft.epoch >= EPOCH_MAX) return refuse(ErrorCode.UNKNOWN_SERVER_ERROR, 'The group has no epochs left.');
  const hasNewNames = !isSameList(before.subscribedTopicNames, after.subscribedTopicNames);
  const hasNewRegex = before.subscribedTopicRegex !== after.subscribedTopicRegex;
  const assignor = isOther ? elected(draft) : '';
  if (isOther) {
    draft.changed.set(after.memberId, after);
    write(draft, memberRecord(group.groupId, after));
  }
  if (hasNewRegex) {
    const refusal = changeRegex(draft, after.memberId, before.subscribedTopicRegex, after.subscribedTopicRegex);
    if (refusal !== null) return refusal;
  }
  const hasNewAssignor = isOther && elected(draft) !== assignor;
  updateEpoch(draft, hasNewNames || hasNewRegex || hasNewAssignor);
  updateTarget(draft);
  const member = approachTarget(draft, after, hasNewNames || hasNewRegex, said);
  if (fitBatch(work.records, config.recordSizeMax)) return member;
  group.seen = seen;
  return refuse(ErrorCode.UNKNOWN_SERVER_ERROR, 'The change of the group is larger than a batch of its log may be.');
}

function elected(draft: Draft): string {
  return electedAssignor(draft.config, draftMembers(draft));
}

const EPOCH_MAX = 0x7fffffff;

/** Whether a member says of itself what it said before. */
function isSameSubscriber(a: ConsumerMember, b: ConsumerMember): boolean {
  return (
    a.instanceId === b.instanceId &&
    a.rackId === b.rackId &&
    a.clientId === b.clientId &&
    a.clientHost === b.clientHost &&
    a.subscribedTopicRegex === b.subscribedTopicRegex &&
    a.rebalanceTimeoutMs === b.rebalanceTimeoutMs &&
    a.serverAssignor === b.serverAssignor &&
    isSameList(a.subscribedTopicNames, b.subscribedTopicNames) &&
    isSameClassicPart(a.classic, b.classic)
  );
}

/** Whether two members speak the classic protocol alike, or neither does. */
export function isSameClassicPart(a: ClassicPart | null, b: ClassicPart | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.sessionTimeoutMs !== b.sessionTimeoutMs) return false;
  return isSameProtocols(a.supportedProtocols, b.supportedProtocols);
}

/** Gives the group a new epoch if it `mustGrow`, or if the topics that members read are other than before. */
function updateEpoch(draft: Draft, mustGrow: boolean): void {
  const { group, work } = draft;
  if (!mustGrow && !mayHaveNewTopics(draft)) return;
  refreshRegexes(draft);
  const hash = hashTopics(draft);
  group.seen = { topics: work.image.topics, brokers: work.image.cluster.brokers };
  if (!mustGrow && hash === group.metadataHash) return;
  draft.epoch += 1;
  write(draft, epochRecord(group.groupId, draft.epoch, hash));
  if (group.hasPartitionMetadata) write(draft, partitionMetadataTombstone(group.groupId));
}

function approachTarget(
  draft: Draft,
  member: ConsumerMember,
  hasNewSubscription: boolean,
  said: SaidPartitions,
): ConsumerMember {
  const { group, work } = draft;
  if (isReconciled(member, draft.targetEpoch) && !hasNewSubscription) return member;
  const { memberId } = member;
  let names: ReadonlySet<string> | null = null;
  const reconciled = reconcile(member, {
    targetEpoch: draft.targetEpoch,
    target: draftTarget(draft, memberId),
    reads: (topicId) => {
      names ??= new Set(namesOf(draft, member));
      const name = topicById(work.image, topicId)?.name;
      return name !== undefined && names.has(name);
    },
    hasNewSubscription,
    isFree: (topicId, partition) => isFreeFor(draft, memberId, topicId, partition),
    said,
  });
  if (reconciled === member) return member;
  draft.changed.set(memberId, reconciled);
  write(draft, assignmentRecord(group.groupId, reconciled));
  return reconciled;
}
