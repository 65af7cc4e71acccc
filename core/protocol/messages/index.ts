/**
 * All APIs that the schemas describe, by key: every one that Apache Kafka 4.4 advertises.
 *
 * Being in this table says that requests can be read and written, not that a node serves them. Adding an API is
 * one file beside this one, one line here and one handler. The only barrel of the project.
 */
import type { AnyApi } from '../api.ts';
import type { BodyInputOf, BodyOf } from '../schema.ts';
import { Produce } from './00-produce.ts';
import { Fetch } from './01-fetch.ts';
import { ListOffsets } from './02-list-offsets.ts';
import { Metadata } from './03-metadata.ts';
import { OffsetCommit } from './08-offset-commit.ts';
import { OffsetFetch } from './09-offset-fetch.ts';
import { FindCoordinator } from './10-find-coordinator.ts';
import { JoinGroup } from './11-join-group.ts';
import { Heartbeat } from './12-heartbeat.ts';
import { LeaveGroup } from './13-leave-group.ts';
import { SyncGroup } from './14-sync-group.ts';
import { DescribeGroups } from './15-describe-groups.ts';
import { ListGroups } from './16-list-groups.ts';
import { SaslHandshake } from './17-sasl-handshake.ts';
import { ApiVersions } from './18-api-versions.ts';
import { CreateTopics } from './19-create-topics.ts';
import { DeleteTopics } from './20-delete-topics.ts';
import { DeleteRecords } from './21-delete-records.ts';
import { InitProducerId } from './22-init-producer-id.ts';
import { OffsetForLeaderEpoch } from './23-offset-for-leader-epoch.ts';
import { AddPartitionsToTxn } from './24-add-partitions-to-txn.ts';
import { AddOffsetsToTxn } from './25-add-offsets-to-txn.ts';
import { EndTxn } from './26-end-txn.ts';
import { WriteTxnMarkers } from './27-write-txn-markers.ts';
import { TxnOffsetCommit } from './28-txn-offset-commit.ts';
import { DescribeAcls } from './29-describe-acls.ts';
import { CreateAcls } from './30-create-acls.ts';
import { DeleteAcls } from './31-delete-acls.ts';
import { DescribeConfigs } from './32-describe-configs.ts';
import { AlterConfigs } from './33-alter-configs.ts';
import { AlterReplicaLogDirs } from './34-alter-replica-log-dirs.ts';
import { DescribeLogDirs } from './35-describe-log-dirs.ts';
import { SaslAuthenticate } from './36-sasl-authenticate.ts';
import { CreatePartitions } from './37-create-partitions.ts';
import { CreateDelegationToken } from './38-create-delegation-token.ts';
import { RenewDelegationToken } from './39-renew-delegation-token.ts';
import { ExpireDelegationToken } from './40-expire-delegation-token.ts';
import { DescribeDelegationToken } from './41-describe-delegation-token.ts';
import { DeleteGroups } from './42-delete-groups.ts';
import { ElectLeaders } from './43-elect-leaders.ts';
import { IncrementalAlterConfigs } from './44-incremental-alter-configs.ts';
import { AlterPartitionReassignments } from './45-alter-partition-reassignments.ts';
import { ListPartitionReassignments } from './46-list-partition-reassignments.ts';
import { OffsetDelete } from './47-offset-delete.ts';
import { DescribeClientQuotas } from './48-describe-client-quotas.ts';
import { AlterClientQuotas } from './49-alter-client-quotas.ts';
import { DescribeUserScramCredentials } from './50-describe-user-scram-credentials.ts';
import { AlterUserScramCredentials } from './51-alter-user-scram-credentials.ts';
import { Vote } from './52-vote.ts';
import { BeginQuorumEpoch } from './53-begin-quorum-epoch.ts';
import { EndQuorumEpoch } from './54-end-quorum-epoch.ts';
import { DescribeQuorum } from './55-describe-quorum.ts';
import { AlterPartition } from './56-alter-partition.ts';
import { UpdateFeatures } from './57-update-features.ts';
import { Envelope } from './58-envelope.ts';
import { FetchSnapshot } from './59-fetch-snapshot.ts';
import { DescribeCluster } from './60-describe-cluster.ts';
import { DescribeProducers } from './61-describe-producers.ts';
import { BrokerRegistration } from './62-broker-registration.ts';
import { BrokerHeartbeat } from './63-broker-heartbeat.ts';
import { UnregisterBroker } from './64-unregister-broker.ts';
import { DescribeTransactions } from './65-describe-transactions.ts';
import { ListTransactions } from './66-list-transactions.ts';
import { AllocateProducerIds } from './67-allocate-producer-ids.ts';
import { ConsumerGroupHeartbeat } from './68-consumer-group-heartbeat.ts';
import { ConsumerGroupDescribe } from './69-consumer-group-describe.ts';
import { ControllerRegistration } from './70-controller-registration.ts';
import { AssignReplicasToDirs } from './73-assign-replicas-to-dirs.ts';
import { ListConfigResources } from './74-list-config-resources.ts';
import { DescribeTopicPartitions } from './75-describe-topic-partitions.ts';
import { ShareGroupHeartbeat } from './76-share-group-heartbeat.ts';
import { ShareGroupDescribe } from './77-share-group-describe.ts';
import { ShareFetch } from './78-share-fetch.ts';
import { ShareAcknowledge } from './79-share-acknowledge.ts';
import { AddRaftVoter } from './80-add-raft-voter.ts';
import { RemoveRaftVoter } from './81-remove-raft-voter.ts';
import { UpdateRaftVoter } from './82-update-raft-voter.ts';
import { InitializeShareGroupState } from './83-initialize-share-group-state.ts';
import { ReadShareGroupState } from './84-read-share-group-state.ts';
import { WriteShareGroupState } from './85-write-share-group-state.ts';
import { DeleteShareGroupState } from './86-delete-share-group-state.ts';
import { ReadShareGroupStateSummary } from './87-read-share-group-state-summary.ts';
import { StreamsGroupHeartbeat } from './88-streams-group-heartbeat.ts';
import { StreamsGroupDescribe } from './89-streams-group-describe.ts';
import { DescribeShareGroupOffsets } from './90-describe-share-group-offsets.ts';
import { AlterShareGroupOffsets } from './91-alter-share-group-offsets.ts';
import { DeleteShareGroupOffsets } from './92-delete-share-group-offsets.ts';
import { StreamsGroupTopologyDescriptionUpdate } from './93-streams-group-topology-description-update.ts';
import { UnregisterController } from './94-unregister-controller.ts';

/** Every API, in the order of their keys. */
export const APIS = [
  Produce,
  Fetch,
  ListOffsets,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  FindCoordinator,
  JoinGroup,
  Heartbeat,
  LeaveGroup,
  SyncGroup,
  DescribeGroups,
  ListGroups,
  SaslHandshake,
  ApiVersions,
  CreateTopics,
  DeleteTopics,
  DeleteRecords,
  InitProducerId,
  OffsetForLeaderEpoch,
  AddPartitionsToTxn,
  AddOffsetsToTxn,
  EndTxn,
  WriteTxnMarkers,
  TxnOffsetCommit,
  DescribeAcls,
  CreateAcls,
  DeleteAcls,
  DescribeConfigs,
  AlterConfigs,
  AlterReplicaLogDirs,
  DescribeLogDirs,
  SaslAuthenticate,
  CreatePartitions,
  CreateDelegationToken,
  RenewDelegationToken,
  ExpireDelegationToken,
  DescribeDelegationToken,
  DeleteGroups,
  ElectLeaders,
  IncrementalAlterConfigs,
  AlterPartitionReassignments,
  ListPartitionReassignments,
  OffsetDelete,
  DescribeClientQuotas,
  AlterClientQuotas,
  DescribeUserScramCredentials,
  AlterUserScramCredentials,
  Vote,
  BeginQuorumEpoch,
  EndQuorumEpoch,
  DescribeQuorum,
  AlterPartition,
  UpdateFeatures,
  Envelope,
  FetchSnapshot,
  DescribeCluster,
  DescribeProducers,
  BrokerRegistration,
  BrokerHeartbeat,
  UnregisterBroker,
  DescribeTransactions,
  ListTransactions,
  AllocateProducerIds,
  ConsumerGroupHeartbeat,
  ConsumerGroupDescribe,
  ControllerRegistration,
  AssignReplicasToDirs,
  ListConfigResources,
  DescribeTopicPartitions,
  ShareGroupHeartbeat,
  ShareGroupDescribe,
  ShareFetch,
  ShareAcknowledge,
  AddRaftVoter,
  RemoveRaftVoter,
  UpdateRaftVoter,
  InitializeShareGroupState,
  ReadShareGroupState,
  WriteShareGroupState,
  DeleteShareGroupState,
  ReadShareGroupStateSummary,
  StreamsGroupHeartbeat,
  StreamsGroupDescribe,
  DescribeShareGroupOffsets,
  AlterShareGroupOffsets,
  DeleteShareGroupOffsets,
  StreamsGroupTopologyDescriptionUpdate,
  UnregisterController,
] as const;

type Known = (typeof APIS)[number];
/** The keys of all APIs. */
export type ApiKey = Known['key'];
type ByKey<K extends ApiKey> = Extract<Known, { readonly key: K }>;
/** The body of a request as it is read. */
export type RequestOf<K extends ApiKey> = BodyOf<ByKey<K>['request']>;
/** The body of a request as it is written. */
export type RequestInputOf<K extends ApiKey> = BodyInputOf<ByKey<K>['request']>;
/** The body of a response as it is read. */
export type ResponseOf<K extends ApiKey> = BodyOf<ByKey<K>['response']>;
/** The body of a response as it is written. */
export type ResponseInputOf<K extends ApiKey> = BodyInputOf<ByKey<K>['response']>;

const BY_KEY: readonly (AnyApi | undefined)[] = (() => {
  const table: (AnyApi | undefined)[] = [];
  for (const item of APIS) {
    while (table.length < item.key) table.push(undefined);
    table.push(item);
  }
  return table;
})();

/** The API of a key; undefined if there is none. */
export function apiOf(key: number): AnyApi | undefined {
  return BY_KEY[key];
}
