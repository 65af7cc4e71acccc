/** Answers to DescribeUserScramCredentials from an image: what there is, never the secrets. Pure, no state. */
import { ErrorCode } from '../protocol/errors.ts';
import type { RequestOf, ResponseInputOf } from '../protocol/messages/index.ts';
import type { MetadataImage } from './image.ts';

type Result = ResponseInputOf<50>['results'][number];
type Info = { readonly mechanism: number; readonly iterations: number };

/** The users that are asked for, each once; without any, all that have a credential. */
export function describeScram(image: MetadataImage, request: RequestOf<50>): ResponseInputOf<50> {
  const known = new Map<string, Info[]>();
  for (const { name, mechanism, iterations } of image.scram.values()) {
    const infos = known.get(name);
    if (infos === undefined) known.set(name, [{ mechanism, iterations }]);
    else infos.push({ mechanism, iterations });
  }
  const counts = new Map<string, number>();
  for (const { name } of request.users ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) for (const name of known.keys()) counts.set(name, 1);
  const results = [...counts].map(([user, count]) => resultOf(user, count, known.get(user)));
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, errorMessage: '', results };
}

function resultOf(user: string, count: number, credentialInfos: Info[] | undefined): Result {
  if (count > 1) {
    const errorMessage = `Cannot describe SCRAM credentials for the same user twice in a single request: ${user}`;
    return { user, errorCode: ErrorCode.DUPLICATE_RESOURCE, errorMessage, credentialInfos: [] };
  }
  if (credentialInfos === undefined) {
    const errorMessage = `Attempt to describe a user credential that does not exist: ${user}`;
    return { user, errorCode: ErrorCode.RESOURCE_NOT_FOUND, errorMessage, credentialInfos: [] };
  }
  return { user, errorCode: ErrorCode.NONE, errorMessage: null, credentialInfos };
}
