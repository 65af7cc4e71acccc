/**
 * The records of `__cluster_metadata` as schemas, the rest: producer ids, quotas, access, tokens, and what frames
 * several records into one change. Names, types, versions and tags are those of Apache Kafka 4.4. Data, no state.
 */
import {
  array,
  arrayOf,
  boolean,
  bytes,
  float64,
  int8,
  int32,
  int64,
  message,
  string,
  timestamp,
  uuid,
} from '../protocol/schema.ts';

/** A block of producer ids was handed to a broker; the next block begins at `nextProducerId`. */
export const ProducerIdsRecord = message(
  { name: 'ProducerIdsRecord', versions: '0', flexible: '0+' },
  { brokerId: int32(), brokerEpoch: int64('0+', { default: -1 }), nextProducerId: int64() },
);

/** A quota of an entity has a value, or is removed. */
export const ClientQuotaRecord = message(
  { name: 'ClientQuotaRecord', versions: '0', flexible: '0+' },
  {
    entity: array({ entityType: string(), entityName: string('0+', { nullable: '0+' }) }),
    key: string(),
    value: float64(),
    remove: boolean(),
  },
);

/** An access rule exists. */
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

/** An access rule is gone. */
export const RemoveAccessControlEntryRecord = message(
  { name: 'RemoveAccessControlEntryRecord', versions: '0', flexible: '0+' },
  { id: uuid() },
);

/** A user has a SCRAM credential. */
export const UserScramCredentialRecord = message(
  { name: 'UserScramCredentialRecord', versions: '0', flexible: '0+' },
  {
    name: string(),
    mechanism: int8(),
    salt: bytes(),
    storedKey: bytes(),
    serverKey: bytes(),
    iterations: int32(),
  },
);

/** A user has one no longer. */
export const RemoveUserScramCredentialRecord = message(
  { name: 'RemoveUserScramCredentialRecord', versions: '0', flexible: '0+' },
  { name: string(), mechanism: int8() },
);

/** A delegation token exists. */
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

/** A delegation token is gone. */
export const RemoveDelegationTokenRecord = message(
  { name: 'RemoveDelegationTokenRecord', versions: '0', flexible: '0+' },
  { tokenId: string() },
);

/** Nothing; shows that the controller is alive. */
export const NoOpRecord = message({ name: 'NoOpRecord', versions: '0', flexible: '0+' }, {});

/** How far the move away from ZooKeeper had come; of no meaning today. */
export const ZkMigrationStateRecord = message(
  { name: 'ZkMigrationStateRecord', versions: '0', flexible: '0+' },
  { zkMigrationState: int8() },
);

/** What follows, up to the end, shows as one change (KIP-868). */
export const BeginTransactionRecord = message(
  { name: 'BeginTransactionRecord', versions: '0', flexible: '0+' },
  { name: string('0+', { tag: 0, nullable: '0+', default: null }) },
);

/** The change is whole. */
export const EndTransactionRecord = message({ name: 'EndTransactionRecord', versions: '0', flexible: '0+' }, {});

/** The change is taken back. */
export const AbortTransactionRecord = message(
  { name: 'AbortTransactionRecord', versions: '0', flexible: '0+' },
  { reason: string('0+', { tag: 0, nullable: '0+', default: null }) },
);
