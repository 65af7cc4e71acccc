/** Which texts of clients fit the records of groups: those that do not are refused before anything is decided. Pure. */
import { utf8Size } from '../lib/utf8.ts';
import { ErrorCode } from '../protocol/errors.ts';

/** Texts of records have up to 32767 bytes; a member's id is a text with a uuid behind it. */
const TEXT_BYTES_MAX = 32_700;

/** Whether a text fits a record with all that may be put before it. */
export function isStorable(text: string): boolean {
  return text.length * 3 <= TEXT_BYTES_MAX || utf8Size(text) <= TEXT_BYTES_MAX;
}

/** Whether a group may have this id: one with members must have some, which fits a record. */
export function groupIdError(groupId: string): number {
  return groupId === '' || !isStorable(groupId) ? ErrorCode.INVALID_GROUP_ID : ErrorCode.NONE;
}
