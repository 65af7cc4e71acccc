/** Every message that the project declares, for tests that cover them all. */
import * as control from '../../core/protocol/control-messages.ts';
import { GROUP_RECORDS } from '../../core/protocol/group-records.ts';
import { RequestHeader, ResponseHeader } from '../../core/protocol/headers.ts';
import { APIS } from '../../core/protocol/messages/index.ts';
import { METADATA_RECORDS } from '../../core/protocol/metadata-records.ts';
import type { AnyMessage } from '../../core/protocol/schema.ts';
import * as storage from '../../core/protocol/storage-messages.ts';

/** All of them: requests and responses, headers, control records, those of metadata and of groups, files. */
export const MESSAGES: readonly AnyMessage[] = [
  ...APIS.flatMap((api): AnyMessage[] => [api.request, api.response]),
  RequestHeader,
  ResponseHeader,
  ...METADATA_RECORDS.map(([, schema]): AnyMessage => schema),
  ...GROUP_RECORDS.flatMap(([, , key, value]): AnyMessage[] => [key, value]),
  ...(Object.values(control) as AnyMessage[]),
  ...(Object.values(storage) as AnyMessage[]),
];
