/**
 * The APIs that a controller serves through its listener, to brokers, to other controllers, and to clients that ask a
 * controller directly. Fetch is of the metadata log here. No state.
 */
import { Fetch } from '../../protocol/messages/01-fetch.ts';
import { ApiVersions } from '../../protocol/messages/18-api-versions.ts';
import { CreateTopics } from '../../protocol/messages/19-create-topics.ts';
import { DeleteTopics } from '../../protocol/messages/20-delete-topics.ts';
import { DescribeAcls } from '../../protocol/messages/29-describe-acls.ts';
import { DescribeConfigs } from '../../protocol/messages/32-describe-configs.ts';
import { AlterConfigs } from '../../protocol/messages/33-alter-configs.ts';
import { CreatePartitions } from '../../protocol/messages/37-create-partitions.ts';
import { ElectLeaders } from '../../protocol/messages/43-elect-leaders.ts';
import { IncrementalAlterConfigs } from '../../protocol/messages/44-incremental-alter-configs.ts';
import { AlterPartitionReassignments } from '../../protocol/messages/45-alter-partition-reassignments.ts';
import { ListPartitionReassignments } from '../../protocol/messages/46-list-partition-reassignments.ts';
import { DescribeUserScramCredentials } from '../../protocol/messages/50-describe-user-scram-credentials.ts';
import { Vote } from '../../protocol/messages/52-vote.ts';
import { BeginQuorumEpoch } from '../../protocol/messages/53-begin-quorum-epoch.ts';
import { EndQuorumEpoch } from '../../protocol/messages/54-end-quorum-epoch.ts';
import { DescribeQuorum } from '../../protocol/messages/55-describe-quorum.ts';
import { AlterPartition } from '../../protocol/messages/56-alter-partition.ts';
import { UpdateFeatures } from '../../protocol/messages/57-update-features.ts';
import { Envelope } from '../../protocol/messages/58-envelope.ts';
import { FetchSnapshot } from '../../protocol/messages/59-fetch-snapshot.ts';
import { DescribeCluster } from '../../protocol/messages/60-describe-cluster.ts';
import { BrokerRegistration } from '../../protocol/messages/62-broker-registration.ts';
import { BrokerHeartbeat } from '../../protocol/messages/63-broker-heartbeat.ts';
import { UnregisterBroker } from '../../protocol/messages/64-unregister-broker.ts';
import { AllocateProducerIds } from '../../protocol/messages/67-allocate-producer-ids.ts';
import { ControllerRegistration } from '../../protocol/messages/70-controller-registration.ts';
import { AssignReplicasToDirs } from '../../protocol/messages/73-assign-replicas-to-dirs.ts';
import { AddRaftVoter } from '../../protocol/messages/80-add-raft-voter.ts';
import { RemoveRaftVoter } from '../../protocol/messages/81-remove-raft-voter.ts';
import { UpdateRaftVoter } from '../../protocol/messages/82-update-raft-voter.ts';
import { UnregisterController } from '../../protocol/messages/94-unregister-controller.ts';
import { byController, byMember } from '../control/controller-requests.ts';
import { takeEnvelope } from '../control/envelope.ts';
import { handleApiVersions } from './18-api-versions.ts';
import { handleDescribeAcls } from './29-describe-acls.ts';
import { handleDescribeConfigs } from './32-describe-configs.ts';
import { handleDescribeUserScramCredentials } from './50-describe-user-scram-credentials.ts';
import { handleDescribeQuorum } from './55-describe-quorum.ts';
import { handleDescribeCluster } from './60-describe-cluster.ts';
import { type Served, serve } from './served.ts';

/** In the order of their keys. */
export const SERVED_BY_CONTROLLERS: readonly Served[] = [
  serve(Fetch, byMember(1)),
  serve(ApiVersions, handleApiVersions),
  serve(CreateTopics, byController(19)),
  serve(DeleteTopics, byController(20)),
  serve(DescribeAcls, handleDescribeAcls),
  serve(DescribeConfigs, handleDescribeConfigs),
  serve(AlterConfigs, byController(33)),
  serve(CreatePartitions, byController(37)),
  serve(ElectLeaders, byController(43)),
  serve(IncrementalAlterConfigs, byController(44)),
  serve(AlterPartitionReassignments, byController(45)),
  serve(ListPartitionReassignments, byController(46)),
  serve(DescribeUserScramCredentials, handleDescribeUserScramCredentials),
  serve(Vote, byMember(52)),
  serve(BeginQuorumEpoch, byMember(53)),
  serve(EndQuorumEpoch, byMember(54)),
  serve(DescribeQuorum, handleDescribeQuorum),
  serve(AlterPartition, byController(56)),
  serve(UpdateFeatures, byController(57)),
  serve(Envelope, takeEnvelope),
  serve(FetchSnapshot, byMember(59)),
  serve(DescribeCluster, handleDescribeCluster),
  serve(BrokerRegistration, byController(62)),
  serve(BrokerHeartbeat, byController(63)),
  serve(UnregisterBroker, byController(64)),
  serve(AllocateProducerIds, byController(67)),
  serve(ControllerRegistration, byController(70)),
  serve(AssignReplicasToDirs, byController(73)),
  serve(AddRaftVoter, byMember(80)),
  serve(RemoveRaftVoter, byMember(81)),
  serve(UpdateRaftVoter, byMember(82)),
  serve(UnregisterController, byController(94)),
];
