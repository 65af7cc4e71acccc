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
import { InitProducerId } from '../../protocol/messages/22-init-producer-id.ts';
import { OffsetForLeaderEpoch } from '../../protocol/messages/23-offset-for-leader-epoch.ts';
import { DescribeCluster } from '../../protocol/messages/60-describe-cluster.ts';
import type { ApiKey, RequestOf } from '../../protocol/messages/index.ts';
import type { Node, Request } from '../state.ts';
import { handleProduce } from './00-produce.ts';
import { handleFetch } from './01-fetch.ts';
import { handleListOffsets } from './02-list-offsets.ts';
import { handleMetadata } from './03-metadata.ts';
import { handleFindCoordinator } from './10-find-coordinator.ts';
import { handleApiVersions } from './18-api-versions.ts';
import { handleInitProducerId } from './22-init-producer-id.ts';
import { handleOffsetForLeaderEpoch } from './23-offset-for-leader-epoch.ts';
import { handleDescribeCluster } from './60-describe-cluster.ts';

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
  serve(InitProducerId, handleInitProducerId),
  serve(OffsetForLeaderEpoch, handleOffsetForLeaderEpoch),
  serve(DescribeCluster, handleDescribeCluster),
];

const BY_KEY: readonly (Served | undefined)[] = SERVED.reduce<(Served | undefined)[]>((byKey, served) => {
  byKey[served.api.key] = served;
  return byKey;
}, []);

/** What serves an API key; undefined when nothing does. */
export function servedApi(apiKey: number): Served | undefined {
  return BY_KEY[apiKey];
}
