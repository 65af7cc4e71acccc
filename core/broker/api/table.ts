/**
 * The APIs that a broker serves through its listeners: what is not in this table is neither advertised nor answered.
 * Adding one is a handler beside this file and a line below. What controllers serve through theirs is in
 * `controller-table.ts`. No state.
 */
import { Produce } from '../../protocol/messages/00-produce.ts';
import { Fetch } from '../../protocol/messages/01-fetch.ts';
import { ListOffsets } from '../../protocol/messages/02-list-offsets.ts';
import { Metadata } from '../../protocol/messages/03-metadata.ts';
import { OffsetCommit } from '../../protocol/messages/08-offset-commit.ts';
import { OffsetFetch } from '../../protocol/messages/09-offset-fetch.ts';
import { FindCoordinator } from '../../protocol/messages/10-find-coordinator.ts';
import { JoinGroup } from '../../protocol/messages/11-join-group.ts';
import { Heartbeat } from '../../protocol/messages/12-heartbeat.ts';
import { LeaveGroup } from '../../protocol/messages/13-leave-group.ts';
import { SyncGroup } from '../../protocol/messages/14-sync-group.ts';
import { DescribeGroups } from '../../protocol/messages/15-describe-groups.ts';
import { ListGroups } from '../../protocol/messages/16-list-groups.ts';
import { ApiVersions } from '../../protocol/messages/18-api-versions.ts';
import { CreateTopics } from '../../protocol/messages/19-create-topics.ts';
import { DeleteTopics } from '../../protocol/messages/20-delete-topics.ts';
import { DeleteRecords } from '../../protocol/messages/21-delete-records.ts';
import { InitProducerId } from '../../protocol/messages/22-init-producer-id.ts';
import { OffsetForLeaderEpoch } from '../../protocol/messages/23-offset-for-leader-epoch.ts';
import { DescribeAcls } from '../../protocol/messages/29-describe-acls.ts';
import { DescribeConfigs } from '../../protocol/messages/32-describe-configs.ts';
import { AlterConfigs } from '../../protocol/messages/33-alter-configs.ts';
import { DescribeLogDirs } from '../../protocol/messages/35-describe-log-dirs.ts';
import { CreatePartitions } from '../../protocol/messages/37-create-partitions.ts';
import { DeleteGroups } from '../../protocol/messages/42-delete-groups.ts';
import { ElectLeaders } from '../../protocol/messages/43-elect-leaders.ts';
import { IncrementalAlterConfigs } from '../../protocol/messages/44-incremental-alter-configs.ts';
import { AlterPartitionReassignments } from '../../protocol/messages/45-alter-partition-reassignments.ts';
import { ListPartitionReassignments } from '../../protocol/messages/46-list-partition-reassignments.ts';
import { OffsetDelete } from '../../protocol/messages/47-offset-delete.ts';
import { DescribeClientQuotas } from '../../protocol/messages/48-describe-client-quotas.ts';
import { DescribeUserScramCredentials } from '../../protocol/messages/50-describe-user-scram-credentials.ts';
import { DescribeQuorum } from '../../protocol/messages/55-describe-quorum.ts';
import { UpdateFeatures } from '../../protocol/messages/57-update-features.ts';
import { DescribeCluster } from '../../protocol/messages/60-describe-cluster.ts';
import { DescribeProducers } from '../../protocol/messages/61-describe-producers.ts';
import { UnregisterBroker } from '../../protocol/messages/64-unregister-broker.ts';
import { ConsumerGroupHeartbeat } from '../../protocol/messages/68-consumer-group-heartbeat.ts';
import { ConsumerGroupDescribe } from '../../protocol/messages/69-consumer-group-describe.ts';
import { ListConfigResources } from '../../protocol/messages/74-list-config-resources.ts';
import { DescribeTopicPartitions } from '../../protocol/messages/75-describe-topic-partitions.ts';
import { AddRaftVoter } from '../../protocol/messages/80-add-raft-voter.ts';
import { RemoveRaftVoter } from '../../protocol/messages/81-remove-raft-voter.ts';
import { UnregisterController } from '../../protocol/messages/94-unregister-controller.ts';
import { handleProduce } from './00-produce.ts';
import { handleFetch } from './01-fetch.ts';
import { handleListOffsets } from './02-list-offsets.ts';
import { handleMetadata } from './03-metadata.ts';
import { handleOffsetCommit } from './08-offset-commit.ts';
import { handleOffsetFetch } from './09-offset-fetch.ts';
import { handleFindCoordinator } from './10-find-coordinator.ts';
import { handleJoinGroup } from './11-join-group.ts';
import { handleHeartbeat } from './12-heartbeat.ts';
import { handleLeaveGroup } from './13-leave-group.ts';
import { handleSyncGroup } from './14-sync-group.ts';
import { handleDescribeGroups } from './15-describe-groups.ts';
import { handleListGroups } from './16-list-groups.ts';
import { handleApiVersions } from './18-api-versions.ts';
import { handleCreateTopics } from './19-create-topics.ts';
import { handleDeleteTopics } from './20-delete-topics.ts';
import { handleDeleteRecords } from './21-delete-records.ts';
import { handleInitProducerId } from './22-init-producer-id.ts';
import { handleOffsetForLeaderEpoch } from './23-offset-for-leader-epoch.ts';
import { handleDescribeAcls } from './29-describe-acls.ts';
import { handleDescribeConfigs } from './32-describe-configs.ts';
import { handleAlterConfigs } from './33-alter-configs.ts';
import { handleDescribeLogDirs } from './35-describe-log-dirs.ts';
import { handleCreatePartitions } from './37-create-partitions.ts';
import { handleDeleteGroups } from './42-delete-groups.ts';
import { handleElectLeaders } from './43-elect-leaders.ts';
import { handleIncrementalAlterConfigs } from './44-incremental-alter-configs.ts';
import { handleAlterPartitionReassignments } from './45-alter-partition-reassignments.ts';
import { handleListPartitionReassignments } from './46-list-partition-reassignments.ts';
import { handleOffsetDelete } from './47-offset-delete.ts';
import { handleDescribeClientQuotas } from './48-describe-client-quotas.ts';
import { handleDescribeUserScramCredentials } from './50-describe-user-scram-credentials.ts';
import { handleDescribeQuorum } from './55-describe-quorum.ts';
import { handleUpdateFeatures } from './57-update-features.ts';
import { handleDescribeCluster } from './60-describe-cluster.ts';
import { handleDescribeProducers } from './61-describe-producers.ts';
import { handleUnregisterBroker } from './64-unregister-broker.ts';
import { handleConsumerGroupHeartbeat } from './68-consumer-group-heartbeat.ts';
import { handleConsumerGroupDescribe } from './69-consumer-group-describe.ts';
import { handleListConfigResources } from './74-list-config-resources.ts';
import { handleDescribeTopicPartitions } from './75-describe-topic-partitions.ts';
import { handleAddRaftVoter } from './80-add-raft-voter.ts';
import { handleRemoveRaftVoter } from './81-remove-raft-voter.ts';
import { handleUnregisterController } from './94-unregister-controller.ts';
import { SERVED_BY_CONTROLLERS } from './controller-table.ts';
import { type Served, serve } from './served.ts';

export type { Handler } from './served.ts';

/** In the order of their keys. */
export const SERVED: readonly Served[] = [
  serve(Produce, handleProduce),
  serve(Fetch, handleFetch),
  serve(ListOffsets, handleListOffsets),
  serve(Metadata, handleMetadata),
  serve(OffsetCommit, handleOffsetCommit),
  serve(OffsetFetch, handleOffsetFetch),
  serve(FindCoordinator, handleFindCoordinator),
  serve(JoinGroup, handleJoinGroup),
  serve(Heartbeat, handleHeartbeat),
  serve(LeaveGroup, handleLeaveGroup),
  serve(SyncGroup, handleSyncGroup),
  serve(DescribeGroups, handleDescribeGroups),
  serve(ListGroups, handleListGroups),
  serve(ApiVersions, handleApiVersions),
  serve(CreateTopics, handleCreateTopics),
  serve(DeleteTopics, handleDeleteTopics),
  serve(DeleteRecords, handleDeleteRecords),
  serve(InitProducerId, handleInitProducerId),
  serve(OffsetForLeaderEpoch, handleOffsetForLeaderEpoch),
  serve(DescribeAcls, handleDescribeAcls),
  serve(DescribeConfigs, handleDescribeConfigs),
  serve(AlterConfigs, handleAlterConfigs),
  serve(DescribeLogDirs, handleDescribeLogDirs),
  serve(CreatePartitions, handleCreatePartitions),
  serve(DeleteGroups, handleDeleteGroups),
  serve(ElectLeaders, handleElectLeaders),
  serve(IncrementalAlterConfigs, handleIncrementalAlterConfigs),
  serve(AlterPartitionReassignments, handleAlterPartitionReassignments),
  serve(ListPartitionReassignments, handleListPartitionReassignments),
  serve(OffsetDelete, handleOffsetDelete),
  serve(DescribeClientQuotas, handleDescribeClientQuotas),
  serve(DescribeUserScramCredentials, handleDescribeUserScramCredentials),
  serve(DescribeQuorum, handleDescribeQuorum),
  serve(UpdateFeatures, handleUpdateFeatures),
  serve(DescribeCluster, handleDescribeCluster),
  serve(DescribeProducers, handleDescribeProducers),
  serve(UnregisterBroker, handleUnregisterBroker),
  serve(ConsumerGroupHeartbeat, handleConsumerGroupHeartbeat),
  serve(ConsumerGroupDescribe, handleConsumerGroupDescribe),
  serve(ListConfigResources, handleListConfigResources),
  serve(DescribeTopicPartitions, handleDescribeTopicPartitions),
  serve(AddRaftVoter, handleAddRaftVoter),
  serve(RemoveRaftVoter, handleRemoveRaftVoter),
  serve(UnregisterController, handleUnregisterController),
];

type ByKey = readonly (Served | undefined)[];

const BY_KEY = byKey(SERVED);
const CONTROLLERS_BY_KEY = byKey(SERVED_BY_CONTROLLERS);

function byKey(table: readonly Served[]): ByKey {
  const found: (Served | undefined)[] = [];
  for (const served of table) found[served.api.key] = served;
  return found;
}

/** All that is served through a listener for controllers, or for clients. */
export function servedApis(isOfController: boolean): readonly Served[] {
  return isOfController ? SERVED_BY_CONTROLLERS : SERVED;
}

/** What serves an API key through such a listener; undefined when nothing does. */
export function servedApi(apiKey: number, isOfController: boolean): Served | undefined {
  return (isOfController ? CONTROLLERS_BY_KEY : BY_KEY)[apiKey];
}
