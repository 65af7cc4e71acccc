/**
 * ApiVersions: v0–5. Says which APIs and versions this node serves.
 *
 * A version that we do not know is answered by version 0 with UNSUPPORTED_VERSION and our own range, so that the
 * client can ask again (KIP-511). Since version 3 the client names itself, and a name that makes no sense is refused.
 * Version 5 may say which node the client believes to talk to: another one is told to start over (KIP-1242).
 * Features are listed with the levels that this node supports and those that are finalized at its committed offset.
 */
import type { Env } from '../../lib/world.ts';
import { KRAFT_VERSION, SUPPORTED_FEATURES } from '../../metadata/features.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { ApiVersionsRequest, ApiVersionsResponse } from '../../protocol/messages/18-api-versions.ts';
import { isForControllers } from '../addresses.ts';
import { answer, answerAs } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import { servedApis } from './table.ts';

const KEY = 18;
const SOFTWARE = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?$/;

type ApiKeys = ApiVersionsResponse['apiKeys'];

/** All that is served where a request came from. */
function servedKeys(node: Node, { connection }: Request): ApiKeys {
  const isOfController = connection !== null && isForControllers(node, connection);
  return servedApis(isOfController).map(({ api }) => ({
    apiKey: api.key,
    minVersion: api.advertised.since,
    maxVersion: api.advertised.until,
  }));
}

/** Answers an ApiVersions request of a version that we do not know. False for any other API: nothing is done. */
export function answerUnknownVersion(node: Node, request: Request): boolean {
  if (request.apiKey !== KEY) return false;
  const own = servedKeys(node, request).filter((key) => key.apiKey === KEY);
  answerAs(node, request, KEY, 0, { errorCode: ErrorCode.UNSUPPORTED_VERSION, apiKeys: own, throttleTimeMs: 0 });
  return true;
}

/** Answers at once. */
export function handleApiVersions(node: Node, _env: Env, request: Request, body: ApiVersionsRequest): void {
  const error = check(node, request, body);
  answer(node, request, KEY, {
    errorCode: error,
    apiKeys: error === ErrorCode.NONE ? servedKeys(node, request) : [],
    throttleTimeMs: 0,
    supportedFeatures: error === ErrorCode.NONE ? supportedFeatures(request.version) : [],
    finalizedFeaturesEpoch: error === ErrorCode.NONE ? node.image.provenance.offset : -1,
    finalizedFeatures: error === ErrorCode.NONE ? finalizedFeatures(node) : [],
  });
}

/** Clients before version 4 cannot read a feature whose lowest level is 0 (KIP-1022). */
function supportedFeatures(version: number): ApiVersionsResponse['supportedFeatures'] {
  return SUPPORTED_FEATURES.filter(({ minSupportedVersion }) => version >= 4 || minSupportedVersion > 0).map(
    ({ name, minSupportedVersion, maxSupportedVersion }) => ({
      name,
      minVersion: minSupportedVersion,
      maxVersion: maxSupportedVersion,
    }),
  );
}

function finalizedFeatures(node: Node): ApiVersionsResponse['finalizedFeatures'] {
  const levels = new Map(node.image.features);
  const kraftLevel = node.controller?.quorum.raft.quorum.kraftVersion ?? 0;
  if (kraftLevel > 0) levels.set(KRAFT_VERSION, kraftLevel);
  return [...levels].map(([name, level]) => ({ name, maxVersionLevel: level, minVersionLevel: level }));
}

function check(node: Node, request: Request, body: ApiVersionsRequest): ErrorCode {
  if (request.version < 3) return ErrorCode.NONE;
  if (!SOFTWARE.test(body.clientSoftwareName)) return ErrorCode.INVALID_REQUEST;
  if (!SOFTWARE.test(body.clientSoftwareVersion)) return ErrorCode.INVALID_REQUEST;
  // A client says both or neither.
  if ((body.clusterId === null) !== (body.nodeId === -1)) return ErrorCode.INVALID_REQUEST;
  const isElsewhere = body.clusterId !== null && (body.clusterId !== node.clusterId || body.nodeId !== node.nodeId);
  return isElsewhere ? ErrorCode.REBOOTSTRAP_REQUIRED : ErrorCode.NONE;
}
