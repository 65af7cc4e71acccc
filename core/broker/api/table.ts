/**
 * The APIs that this node serves: what is not in this table is neither advertised nor answered. Adding one is a
 * handler beside this file and a line below. No state.
 */
import type { Env, Outbox } from '../../lib/world.ts';
import type { AnyApi } from '../../protocol/api.ts';
import { Produce } from '../../protocol/messages/00-produce.ts';
import { Fetch } from '../../protocol/messages/01-fetch.ts';
import { ListOffsets } from '../../protocol/messages/02-list-offsets.ts';
import { Metadata } from '../../protocol/messages/03-metadata.ts';
import { FindCoordinator } from '../../protocol/messages/10-find-coordinator.ts';
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
import { IncrementalAlterConfigs } from '../../protocol/messages/44-incremental-alter-configs.ts';
import { ListPartitionReassignments } from '../../protocol/messages/46-list-partition-reassignments.ts';
import { DescribeClientQuotas } from '../../protocol/messages/48-describe-client-quotas.ts';
import { DescribeUserScramCredentials } from '../../protocol/messages/50-describe-user-scram-credentials.ts';
import { DescribeQuorum } from '../../protocol/messages/55-describe-quorum.ts';
import { UpdateFeatures } from '../../protocol/messages/57-update-features.ts';
import { DescribeCluster } from '../../protocol/messages/60-describe-cluster.ts';
import { DescribeProducers } from '../../protocol/messages/61-describe-producers.ts';
import { ListConfigResources } from '../../protocol/messages/74-list-config-resources.ts';
import { DescribeTopicPartitions } from '../../protocol/messages/75-describe-topic-partitions.ts';
import type { ApiKey, RequestOf } from '../../protocol/messages/index.ts';
import type { Node, Request } from '../state.ts';
import { handleProduce } from './00-produce.ts';
import { handleFetch } from './01-fetch.ts';
import { handleListOffsets } from './02-list-offsets.ts';
import { handleMetadata } from './03-metadata.ts';
import { handleFindCoordinator } from './10-find-coordinator.ts';
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
import { handleIncrementalAlterConfigs } from './44-incremental-alter-configs.ts';
import { handleListPartitionReassignments } from './46-list-partition-reassignments.ts';
import { handleDescribeClientQuotas } from './48-describe-client-quotas.ts';
import { handleDescribeUserScramCredentials } from './50-describe-user-scram-credentials.ts';
import { handleDescribeQuorum } from './55-describe-quorum.ts';
import { handleUpdateFeatures } from './57-update-features.ts';
import { handleDescribeCluster } from './60-describe-cluster.ts';
import { handleDescribeProducers } from './61-describe-producers.ts';
import { handleListConfigResources } from './74-list-config-resources.ts';
import { handleDescribeTopicPartitions } from './75-describe-topic-partitions.ts';

/**
 * Works on a request whose body has been decoded. It ends with one `answer`, `finish` or `endConnection`, in this
 * step or a later one.
 */
export type Handler = (node: Node, env: Env, request: Request, body: unknown, out: Outbox) => void;

/** One API that this node serves. */
export interface Served {
  readonly api: AnyApi;
  /** Takes the body of this very API. */
  readonly handle: (node: Node, env: Env, request: Request, body: never, out: Outbox) => void;
}

type HandlerOf<K extends ApiKey> = (node: Node, env: Env, request: Request, body: RequestOf<K>, out: Outbox) => void;

function serve<K extends ApiKey>(api: AnyApi & { readonly key: K }, handle: HandlerOf<K>): Served {
  return { api, handle };
}

/** In the order of their keys. */
export const SERVED: readonly Served[] = [
  serve(Produce, handleProduce),
  serve(Fetch, handleFetch),
  serve(ListOffsets, handleListOffsets),
  serve(Metadata, handleMetadata),
  serve(FindCoordinator, handleFindCoordinator),
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
  serve(IncrementalAlterConfigs, handleIncrementalAlterConfigs),
  serve(ListPartitionReassignments, handleListPartitionReassignments),
  serve(DescribeClientQuotas, handleDescribeClientQuotas),
  serve(DescribeUserScramCredentials, handleDescribeUserScramCredentials),
  serve(DescribeQuorum, handleDescribeQuorum),
  serve(UpdateFeatures, handleUpdateFeatures),
  serve(DescribeCluster, handleDescribeCluster),
  serve(DescribeProducers, handleDescribeProducers),
  serve(ListConfigResources, handleListConfigResources),
  serve(DescribeTopicPartitions, handleDescribeTopicPartitions),
];

const BY_KEY: readonly (Served | undefined)[] = SERVED.reduce<(Served | undefined)[]>((byKey, served) => {
  byKey[served.api.key] = served;
  return byKey;
}, []);

/** What serves an API key; undefined when nothing does. */
export function servedApi(apiKey: number): Served | undefined {
  return BY_KEY[apiKey];
}
