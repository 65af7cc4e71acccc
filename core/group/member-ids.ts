/** The ids that the coordinator gives to members of classic groups, in Kafka's form. Pure. */
import { UUID_BYTES, uuidToBytes } from '../lib/uuid.ts';

/** From this version of JoinGroup on a member that has no id is given one first, and must come again with it. */
export const MEMBER_ID_SINCE = 4;

const DIGITS = '0123456789abcdef';
/** Where a hyphen comes before a byte. */
const HYPHENS: ReadonlySet<number> = new Set([4, 6, 8, 10]);

/** What the client calls itself, and something that nobody else has. */
export function newMemberId(prefix: string, uuid: string): string {
  const bytes = new Uint8Array(UUID_BYTES);
  uuidToBytes(uuid, bytes, 0);
  let text = `${prefix}-`;
  bytes.forEach((byte, at) => {
    if (HYPHENS.has(at)) text += '-';
    text += `${DIGITS[byte >> 4]}${DIGITS[byte & 15]}`;
  });
  return text;
}
