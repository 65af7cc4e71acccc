/**
 * The file `quorum-state`: what a voter must not forget, lest it vote twice in one epoch or go back to an older one.
 *
 * JSON with Kafka's field names. Data version 1 belongs to kraft.version 1; version 0 has fields that nobody reads any
 * more, which are written as Kafka writes them. The file is replaced whole, and nobody learns of an epoch or a vote
 * before that has been answered. Pure, no state.
 */
import { decodeUtf8, encodeUtf8 } from '../lib/utf8.ts';
import { isUuid, ZERO_UUID } from '../lib/uuid.ts';

/** What the file says. */
export interface QuorumState {
  /** Who leads the epoch, -1 when that is not known. */
  readonly leaderId: number;
  readonly leaderEpoch: number;
  /** Whom this node voted for in the epoch, -1 for nobody. */
  readonly votedId: number;
  /** ZERO_UUID for nobody, or where directories are unknown. */
  readonly votedDirectoryId: string;
}

/** What a node knows that never took part: no epoch at all. */
export const NO_QUORUM_STATE: QuorumState = { leaderId: -1, leaderEpoch: 0, votedId: -1, votedDirectoryId: ZERO_UUID };

const INT32_MAX = 0x7fffffff;

/** The bytes of the file, as the level of kraft.version asks for them. `voterIds` are needed below level 1. */
export function encodeQuorumState(state: QuorumState, kraftVersion: number, voterIds: readonly number[]): Uint8Array {
  const { leaderId, leaderEpoch, votedId, votedDirectoryId } = state;
  const currentVoters = voterIds.map((voterId) => ({ voterId }));
  const body =
    kraftVersion > 0
      ? { leaderId, leaderEpoch, votedId, votedDirectoryId, data_version: 1 }
      : { clusterId: '', leaderId, leaderEpoch, votedId, appliedOffset: 0, currentVoters, data_version: 0 };
  return encodeUtf8(JSON.stringify(body));
}

/** What a file says; a sentence if it is broken or from a newer version. */
export function decodeQuorumState(bytes: Uint8Array): QuorumState | string {
  let body: unknown;
  try {
    body = JSON.parse(decodeUtf8(bytes, 0, bytes.length));
  } catch {
    return 'The file quorum-state is not JSON.';
  }
  if (typeof body !== 'object' || body === null) return 'The file quorum-state holds no object.';
  const fields = new Map<string, unknown>(Object.entries(body));
  const version = fields.get('data_version');
  if (version !== 0 && version !== 1) return 'The file quorum-state has a version that is not known here.';
  const leaderId = integer(fields.get('leaderId'), -1);
  const leaderEpoch = integer(fields.get('leaderEpoch'), 0);
  const votedId = integer(fields.get('votedId'), -1);
  const directory = version === 0 ? ZERO_UUID : fields.get('votedDirectoryId');
  if (leaderId === null || leaderEpoch === null || votedId === null) return BROKEN;
  if (typeof directory !== 'string' || !isUuid(directory)) return BROKEN;
  return { leaderId, leaderEpoch, votedId, votedDirectoryId: directory };
}

const BROKEN = 'A field of the file quorum-state is missing or broken.';

function integer(value: unknown, min: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= INT32_MAX ? value : null;
}
