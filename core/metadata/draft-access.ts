/**
 * Quotas, access rules, credentials and tokens of an image in the making. They are kept so that a data directory of
 * Apache Kafka comes back as it was, and have no effect yet. Each map is copied whole at its first write.
 */
import type { AclImage, MetadataImage, QuotaImage, ScramImage, TokenImage } from './image.ts';
import type { RecordValue } from './records.ts';

/** These maps in the making; null until the first write. */
export interface AccessDraft {
  readonly base: MetadataImage;
  quotas: Map<string, QuotaImage> | null;
  acls: Map<string, AclImage> | null;
  scram: Map<string, ScramImage> | null;
  tokens: Map<string, TokenImage> | null;
}

/** Begins; costs nothing. */
export function draftAccess(base: MetadataImage): AccessDraft {
  return { base, quotas: null, acls: null, scram: null, tokens: null };
}

/** An entity as the key of a map: its parts sorted by type, the default of a type told from any name. */
function quotaKey(entity: QuotaImage['entity']): string {
  const parts = entity.map(({ entityType, entityName }) => JSON.stringify([entityType, entityName]));
  return parts.sort().join();
}

/** Replays a ClientQuotaRecord. */
export function applyQuota(draft: AccessDraft, record: RecordValue<'ClientQuotaRecord'>): string | null {
  draft.quotas ??= new Map(draft.base.quotas);
  const key = quotaKey(record.entity);
  const before = draft.quotas.get(key);
  const values = new Map(before?.values);
  if (record.remove) values.delete(record.key);
  else values.set(record.key, record.value);
  if (values.size === 0) draft.quotas.delete(key);
  else draft.quotas.set(key, { entity: before?.entity ?? record.entity, values });
  return null;
}

/** Replays an AccessControlEntryRecord, or with null its removal. */
export function applyAcl(draft: AccessDraft, id: string, acl: AclImage | null): string | null {
  draft.acls ??= new Map(draft.base.acls);
  if (acl !== null) draft.acls.set(id, acl);
  else if (!draft.acls.delete(id)) return `An access rule is removed that does not exist, ${id}.`;
  return null;
}

/** Replays a UserScramCredentialRecord, or with null its removal. The bytes are copied: they are views of a batch. */
export function applyScram(
  draft: AccessDraft,
  name: string,
  mechanism: number,
  credential: ScramImage | null,
): string | null {
  draft.scram ??= new Map(draft.base.scram);
  const key = `${mechanism}:${name}`;
  if (credential === null) {
    draft.scram.delete(key);
    return null;
  }
  const { salt, storedKey, serverKey } = credential;
  draft.scram.set(key, {
    ...credential,
    salt: salt.slice(),
    storedKey: storedKey.slice(),
    serverKey: serverKey.slice(),
  });
  return null;
}

/** Replays a DelegationTokenRecord, or with null its removal. */
export function applyToken(draft: AccessDraft, tokenId: string, token: TokenImage | null): string | null {
  draft.tokens ??= new Map(draft.base.tokens);
  if (token === null) draft.tokens.delete(tokenId);
  else draft.tokens.set(tokenId, token);
  return null;
}
