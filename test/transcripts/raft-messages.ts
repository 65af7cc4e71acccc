/** The five messages of a quorum in half a line each. */
import { errorName } from '../../core/protocol/errors.ts';
import type { RequestOf, ResponseOf } from '../../core/protocol/messages/index.ts';
import type { PeerEvent, PeerKey } from '../../core/raft/raft.ts';
import { fetchedText, fetchText } from './fetches.ts';

type CallEvent = Extract<PeerEvent, { readonly kind: 'call' }>;

/** What a member asks of another. */
export function callText(call: CallEvent): string {
  switch (call.apiKey) {
    case 52: {
      const asked = call.body.topics[0]?.partitions[0];
      const what = asked?.preVote === true ? 'PreVote' : 'Vote';
      const end = `${asked?.lastOffset} of epoch ${asked?.lastOffsetEpoch}`;
      return `${what} in epoch ${asked?.replicaEpoch}, my log ends at ${end}`;
    }
    case 53:
      return `BeginQuorumEpoch ${call.body.topics[0]?.partitions[0]?.leaderEpoch}`;
    case 54: {
      const asked = call.body.topics[0]?.partitions[0];
      return `EndQuorumEpoch ${asked?.leaderEpoch}, successors ${asked?.preferredSuccessors?.join(' then ')}`;
    }
    case 59: {
      const asked = call.body.topics[0]?.partitions[0];
      return `FetchSnapshot ${asked?.snapshotId.endOffset}-${asked?.snapshotId.epoch} from byte ${asked?.position}`;
    }
    case 1: {
      const asked = call.body.topics[0]?.partitions[0];
      return asked === undefined ? '' : fetchText(asked);
    }
    default:
      return `request ${call.apiKey}`;
  }
}

/** Who asked, and what is answered; '' where it says nothing. */
export function answerText(
  apiKey: PeerKey,
  request: RequestOf<PeerKey>,
  response: ResponseOf<PeerKey>,
): { readonly to: number; readonly text: string } {
  switch (apiKey) {
    case 52: {
      const asked = (request as RequestOf<52>).topics[0]?.partitions[0];
      return { to: asked?.replicaId ?? -1, text: voteText(response as ResponseOf<52>, asked?.preVote === true) };
    }
    case 53:
    case 54: {
      const { errorCode } = (response as ResponseOf<53>).topics[0]?.partitions[0] ?? { errorCode: -1 };
      const to = (request as RequestOf<53>).topics[0]?.partitions[0]?.leaderId ?? -1;
      return { to, text: errorCode === 0 ? '' : errorName(errorCode) };
    }
    case 59: {
      const to = (request as RequestOf<59>).replicaId;
      const found = (response as ResponseOf<59>).topics[0]?.partitions[0];
      if (found === undefined || found.errorCode !== 0) return { to, text: errorName(found?.errorCode ?? -1) };
      // As it is given to be written, it is in parts.
      const parts = [found.unalignedRecords].flat() as readonly Uint8Array[];
      const end = parts.reduce((sum, { length }) => sum + length, found.position);
      return { to, text: `snapshot bytes ${found.position}-${end} of ${found.size}` };
    }
    case 1: {
      const found = (response as ResponseOf<1>).responses[0]?.partitions[0];
      const text = found === undefined ? errorName((response as ResponseOf<1>).errorCode) : fetchedText(found);
      return { to: (request as RequestOf<1>).replicaState.replicaId, text };
    }
    case 80:
    case 81:
    case 82:
      return { to: -1, text: errorName((response as ResponseOf<80>).errorCode) };
  }
}

function voteText(response: ResponseOf<52>, preVote: boolean): string {
  const found = response.topics[0]?.partitions[0];
  if (found === undefined) return errorName(response.errorCode);
  const { errorCode, voteGranted, leaderId, leaderEpoch } = found;
  const what = preVote ? 'PreVote' : 'Vote';
  if (voteGranted) return `${what} granted`;
  const why = errorCode === 0 ? `${what} refused` : errorName(errorCode);
  return leaderId < 0 ? why : `${why}: ${leaderId} leads epoch ${leaderEpoch}`;
}
