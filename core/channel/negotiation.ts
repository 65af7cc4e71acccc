/**
 * ApiVersions, the first call on every connection: what both sides speak.
 *
 * We ask in the highest version that we know. A peer that does not know it answers error 35 in the encoding of
 * version 0, with or without the range that it does know (KIP-511), and is asked again in that. No state.
 */
import { ProtocolError } from '../lib/protocol-error.ts';
import { decodeResponse } from '../protocol/codec.ts';
import { ErrorCode } from '../protocol/errors.ts';
import { type ApiKey, apiOf, type ResponseOf } from '../protocol/messages/index.ts';
import type { Range } from '../protocol/schema.ts';

/** The key of ApiVersions. */
export const API_VERSIONS = 18;
/** How we introduce ourselves; both match what KIP-511 allows. */
const SOFTWARE = { clientSoftwareName: 'tidemark', clientSoftwareVersion: '0.1.0' };

/** The stable versions of an API that we can write and read; null for none. */
export function ownRange(apiKey: number): Range | null {
  const item = apiOf(apiKey);
  if (item === undefined) return null;
  const since = Math.max(item.request.versions.since, item.advertised.since);
  const until = Math.min(item.request.versions.until, item.advertised.until);
  return since <= until ? { since, until } : null;
}

/** The highest version that two ranges share and that is not above `versionMax`; -1 if there is none. */
export function highestCommon(ours: Range, theirs: Range, versionMax: number): number {
  const highest = Math.min(ours.until, theirs.until, versionMax);
  return highest >= Math.max(ours.since, theirs.since) ? highest : -1;
}

/** The version to ask in first. */
export function firstVersion(): number {
  return ownRange(API_VERSIONS)?.until ?? 0;
}

/** The body of our question in any version. */
export function versionsRequest(): typeof SOFTWARE {
  return SOFTWARE;
}

/** What an answer to ApiVersions says. */
export type Negotiated =
  | { readonly kind: 'found'; readonly ranges: ReadonlyMap<number, Range> }
  /** Ask again, in this lower version. */
  | { readonly kind: 'again'; readonly version: number }
  | { readonly kind: 'failed'; readonly reason: 'malformed' | 'unsupported' };

/** Reads the answer to a question in `version`. */
export function readVersions(version: number, frame: Uint8Array): Negotiated {
  const body = decode(version, frame);
  if (body === null || body.errorCode === ErrorCode.UNSUPPORTED_VERSION) return readRefusal(version, frame);
  if (body.errorCode !== ErrorCode.NONE) return { kind: 'failed', reason: 'unsupported' };
  const ranges = new Map<number, Range>();
  for (const { apiKey, minVersion, maxVersion } of body.apiKeys) {
    ranges.set(apiKey, { since: minVersion, until: maxVersion });
  }
  return { kind: 'found', ranges };
}

function readRefusal(version: number, frame: Uint8Array): Negotiated {
  const body = decode(0, frame);
  if (body === null || body.errorCode !== ErrorCode.UNSUPPORTED_VERSION) return { kind: 'failed', reason: 'malformed' };
  if (version === 0) return { kind: 'failed', reason: 'unsupported' };
  for (const { apiKey, minVersion, maxVersion } of body.apiKeys) {
    if (apiKey !== API_VERSIONS) continue;
    const next = highestCommon({ since: 0, until: version - 1 }, { since: minVersion, until: maxVersion }, version);
    return { kind: 'again', version: Math.max(next, 0) };
  }
  return { kind: 'again', version: 0 };
}

function decode(version: number, frame: Uint8Array): ResponseOf<typeof API_VERSIONS> | null {
  return tryDecode(API_VERSIONS, version, frame) as ResponseOf<typeof API_VERSIONS> | null;
}

/** The body of an answer; null if it is malformed. */
export function tryDecode(apiKey: ApiKey, version: number, frame: Uint8Array): ResponseOf<ApiKey> | null {
  try {
    return decodeResponse(apiKey, version, frame).body;
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
}
