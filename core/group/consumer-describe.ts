/** ConsumerGroupDescribe: a group as it is described to people. Pure. */
import type { PartitionsByTopic } from '../assignors/server-shapes.ts';
import { type MetadataImage, topicById } from '../metadata/image.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { type ConsumerGroup, type ConsumerMember, isReconciled } from './consumer-state.ts';
import { electedAssignor } from './consumer-target.ts';
import type { GroupAnswerBodies, GroupConfig } from './shapes.ts';

type Described = GroupAnswerBodies['consumerGroupDescribe'];
type DescribedMember = Described['members'][number];

/** Of whom it was not asked whether he may. */
const OPERATIONS_UNKNOWN = -2147483648;
const TYPE_CLASSIC = 0;
const TYPE_CONSUMER = 1;

/** The state, as it is described: 'Empty', 'Assigning', 'Reconciling' or 'Stable'. */
export function consumerState(group: ConsumerGroup): string {
  if (group.members.size === 0) return 'Empty';
  if (group.epoch > group.targetEpoch) return 'Assigning';
  for (const member of group.members.values()) if (!isReconciled(member, group.targetEpoch)) return 'Reconciling';
  return 'Stable';
}

/** A group that is not there, or is of another kind. */
export function describedMissing(groupId: string): Described {
  return {
    errorCode: ErrorCode.GROUP_ID_NOT_FOUND,
    errorMessage: `Group ${groupId} not found.`,
    groupId,
    groupState: '',
    groupEpoch: 0,
    assignmentEpoch: 0,
    assignorName: '',
    members: [],
    authorizedOperations: OPERATIONS_UNKNOWN,
  };
}

/** A group with its members, what each has and what it is to have. Topics that are gone are left out. */
export function described(config: GroupConfig, image: MetadataImage, group: ConsumerGroup): Described {
  return {
    errorCode: ErrorCode.NONE,
    errorMessage: null,
    groupId: group.groupId,
    groupState: consumerState(group),
    groupEpoch: group.epoch,
    assignmentEpoch: group.targetEpoch,
    assignorName: electedAssignor(config, group.members.values()),
    members: [...group.members.values()].map((member) => describedMember(image, group, member)),
    authorizedOperations: OPERATIONS_UNKNOWN,
  };
}

function describedMember(image: MetadataImage, group: ConsumerGroup, member: ConsumerMember): DescribedMember {
  // What it has yet to give back, it has.
  const owned = new Map<string, number[]>();
  for (const some of [member.assigned, member.revoking]) {
    for (const [topicId, partitions] of some) {
      owned.set(topicId, [...(owned.get(topicId) ?? []), ...partitions.keys()]);
    }
  }
  const target: PartitionsByTopic = group.targets.get(member.memberId) ?? new Map();
  return {
    memberId: member.memberId,
    instanceId: member.instanceId,
    rackId: member.rackId,
    memberEpoch: member.memberEpoch,
    clientId: member.clientId,
    clientHost: member.clientHost,
    subscribedTopicNames: [...member.subscribedTopicNames],
    subscribedTopicRegex: member.subscribedTopicRegex,
    assignment: { topicPartitions: named(image, owned) },
    targetAssignment: { topicPartitions: named(image, target) },
    memberType: member.classic === null ? TYPE_CONSUMER : TYPE_CLASSIC,
  };
}

type NamedPartitions = DescribedMember['assignment']['topicPartitions'];

function named(image: MetadataImage, some: Iterable<readonly [string, readonly number[]]>): NamedPartitions {
  const list: NamedPartitions = [];
  for (const [topicId, partitions] of some) {
    const topic = topicById(image, topicId);
    if (topic === undefined) continue;
    list.push({ topicId, topicName: topic.name, partitions: [...partitions].sort((a, b) => a - b) });
  }
  return list;
}
