/**
 * The voters of a quorum, and what a majority of them is.
 *
 * A voter is a node id and, from kraft.version 1 on, the id of the directory that holds its vote: a node whose disk
 * was swapped for an empty one is another voter (KIP-853). With kraft.version 0 the voters come from the
 * configuration and directories are unknown. Plain data and pure functions.
 */
import { assert } from '../lib/assert.ts';
import { Reader } from '../lib/cursor.ts';
import { ZERO_UUID } from '../lib/uuid.ts';
import { bodyBytes, readBody } from '../protocol/compile.ts';
import { KRaftVersionRecord, VotersRecord } from '../protocol/control-messages.ts';

/** Where a voter can be reached, for one listener. */
export interface VoterEndpoint {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** One voter. */
export interface Voter {
  readonly id: number;
  /** ZERO_UUID where it is not known. */
  readonly directoryId: string;
  readonly endpoints: readonly VoterEndpoint[];
  /** The levels of kraft.version that it supports. */
  readonly versionMin: number;
  readonly versionMax: number;
}

/** The voters, and how they are known. */
export interface VoterSet {
  /** The level of the feature kraft.version: 1 where the voters are in the log. */
  readonly kraftVersion: number;
  readonly voters: readonly Voter[];
}

/** The levels of kraft.version that we serve. */
export const KRAFT_VERSION_MAX = 1;

const RECORD_VERSION = 0;

/** A voter that supports what we support. */
export function voterOf(id: number, directoryId: string, endpoints: readonly VoterEndpoint[]): Voter {
  return { id, directoryId, endpoints, versionMin: 0, versionMax: KRAFT_VERSION_MAX };
}

/** Whether a node with a directory is this voter; an unknown directory is anyone's of that node. */
export function isVoter(voter: Voter, id: number, directoryId: string): boolean {
  return voter.id === id && (voter.directoryId === ZERO_UUID || voter.directoryId === directoryId);
}

/** Voters of one quorum, at most: five that stay, and room to put others in their places one by one. */
export const QUORUM_VOTERS_MAX = 9;

/** A voter as messages to operators name it; Kafka's words. */
export function voterText({ id, directoryId }: Pick<Voter, 'id' | 'directoryId'>): string {
  return `ReplicaKey(id=${id}, directoryId=${directoryId === ZERO_UUID ? '<undefined>' : directoryId})`;
}

/** Voters as messages to operators name them. */
export function votersText(voters: readonly Voter[]): string {
  return `[${voters.map(voterText).join(', ')}]`;
}

/** Whether two descriptions of one voter say the same of where it listens and what it supports. */
export function isSameVoter(a: Voter, b: Voter): boolean {
  if (a.versionMin !== b.versionMin || a.versionMax !== b.versionMax) return false;
  if (a.endpoints.length !== b.endpoints.length) return false;
  return a.endpoints.every((one, i) => {
    const other = b.endpoints[i];
    return one.name === other?.name && one.host === other.host && one.port === other.port;
  });
}

/** The voters with another description of one of them, found by its node. */
export function withVoter(voters: readonly Voter[], changed: Voter): readonly Voter[] {
  return voters.map((voter) => (voter.id === changed.id ? changed : voter));
}

/** Where a member listens, as far as is known: voters of the log, of the configuration, or what others have said. */
export function endpointOf(
  known: {
    readonly quorum: VoterSet;
    readonly staticVoters: readonly Voter[];
    readonly endpoints: ReadonlyMap<number, VoterEndpoint>;
  },
  nodeId: number,
): VoterEndpoint | null {
  for (const voters of [known.quorum.voters, known.staticVoters]) {
    const [endpoint] = voters.find(({ id }) => id === nodeId)?.endpoints ?? [];
    if (endpoint !== undefined) return endpoint;
  }
  return known.endpoints.get(nodeId) ?? null;
}

/** The value of the control record that names the voters. */
export function encodeVoters(voters: readonly Voter[]): Uint8Array {
  return bodyBytes(VotersRecord, RECORD_VERSION, {
    version: RECORD_VERSION,
    voters: voters.map((voter) => ({
      voterId: voter.id,
      voterDirectoryId: voter.directoryId,
      endpoints: [...voter.endpoints],
      kRaftVersionFeature: { minSupportedVersion: voter.versionMin, maxSupportedVersion: voter.versionMax },
    })),
  });
}

/** The voters in the value of a control record. */
export function decodeVoters(value: Uint8Array): readonly Voter[] {
  return readBody(VotersRecord, RECORD_VERSION, new Reader(value)).voters.map((voter) => ({
    id: voter.voterId,
    directoryId: voter.voterDirectoryId,
    endpoints: voter.endpoints,
    versionMin: voter.kRaftVersionFeature.minSupportedVersion,
    versionMax: voter.kRaftVersionFeature.maxSupportedVersion,
  }));
}

/** The value of the control record that says the level of kraft.version. */
export function encodeKraftVersion(kRaftVersion: number): Uint8Array {
  return bodyBytes(KRaftVersionRecord, RECORD_VERSION, { version: RECORD_VERSION, kRaftVersion });
}

/** The level of kraft.version in the value of a control record. */
export function decodeKraftVersion(value: Uint8Array): number {
  return readBody(KRaftVersionRecord, RECORD_VERSION, new Reader(value)).kRaftVersion;
}

/**
 * What more than half of the voters have reached, given what each of them has synced: the largest offset that is at or
 * below the ends of a majority.
 */
export function majorityOffset(syncedEnds: readonly number[]): number {
  assert(syncedEnds.length > 0, 'a quorum has a voter');
  const sorted = [...syncedEnds].sort((a, b) => b - a);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
