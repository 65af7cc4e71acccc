/**
 * Records of the metadata log about access rules, credentials, tokens and quotas.
 *
 * Names, types and versions of the fields are those of Apache Kafka 4.4. `metadata-records.ts` frames them.
 */
import {
  array,
  arrayOf,
  type BodyOf,
  boolean,
  bytes,
  float64,
  int8,
  int32,
  message,
  string,
  timestamp,
  uuid,
} from '../schema.ts';

/** An access rule was created. */
export const AccessControlEntryRecord = message(
  { name: 'AccessControlEntryRecord', versions: '0', flexible: '0+' },
  {
    id: uuid(),
    resourceType: int8(),
    resourceName: string(),
    patternType: int8(),
    principal: string(),
    host: string(),
    operation: int8(),
    permissionType: int8(),
  },
);
/** The record as it is read. */
export type AccessControlEntryRecord = BodyOf<typeof AccessControlEntryRecord>;

/** An access rule was deleted. */
export const RemoveAccessControlEntryRecord = message(
  { name: 'RemoveAccessControlEntryRecord', versions: '0', flexible: '0+' },
  { id: uuid() },
);
/** The record as it is read. */
export type RemoveAccessControlEntryRecord = BodyOf<typeof RemoveAccessControlEntryRecord>;

/** A SCRAM credential was set. */
export const UserScramCredentialRecord = message(
  { name: 'UserScramCredentialRecord', versions: '0', flexible: '0+' },
  { name: string(), mechanism: int8(), salt: bytes(), storedKey: bytes(), serverKey: bytes(), iterations: int32() },
);
/** The record as it is read. */
export type UserScramCredentialRecord = BodyOf<typeof UserScramCredentialRecord>;

/** A SCRAM credential was deleted. */
export const RemoveUserScramCredentialRecord = message(
  { name: 'RemoveUserScramCredentialRecord', versions: '0', flexible: '0+' },
  { name: string(), mechanism: int8() },
);
/** The record as it is read. */
export type RemoveUserScramCredentialRecord = BodyOf<typeof RemoveUserScramCredentialRecord>;

/** A delegation token was created or changed. */
export const DelegationTokenRecord = message(
  { name: 'DelegationTokenRecord', versions: '0', flexible: '0+' },
  {
    owner: string(),
    requester: string(),
    renewers: arrayOf(string()),
    issueTimestamp: timestamp(),
    maxTimestamp: timestamp(),
    expirationTimestamp: timestamp(),
    tokenId: string(),
  },
);
/** The record as it is read. */
export type DelegationTokenRecord = BodyOf<typeof DelegationTokenRecord>;

/** A delegation token was deleted. */
export const RemoveDelegationTokenRecord = message(
  { name: 'RemoveDelegationTokenRecord', versions: '0', flexible: '0+' },
  { tokenId: string() },
);
/** The record as it is read. */
export type RemoveDelegationTokenRecord = BodyOf<typeof RemoveDelegationTokenRecord>;

/** A quota was set or taken away. */
export const ClientQuotaRecord = message(
  { name: 'ClientQuotaRecord', versions: '0', flexible: '0+' },
  {
    entity: array({ entityType: string(), entityName: string('0+', { nullable: '0+' }) }),
    key: string(),
    value: float64(),
    remove: boolean(),
  },
);
/** The record as it is read. */
export type ClientQuotaRecord = BodyOf<typeof ClientQuotaRecord>;
