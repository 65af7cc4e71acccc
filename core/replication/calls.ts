/**
 * Calls to other nodes, as data: a machine pushes a call, whoever hosts it carries it over a connection and hands the
 * answer back once, by its ticket. Calls to one node are answered in their order or fail. No state.
 */
import type { FetchRequest, FetchResponse } from '../protocol/messages/01-fetch.ts';
import type { ListOffsetsRequest, ListOffsetsResponse } from '../protocol/messages/02-list-offsets.ts';
import type { AlterPartitionRequest, AlterPartitionResponse } from '../protocol/messages/56-alter-partition.ts';

/** API key of Fetch. */
export const FETCH_KEY = 1;
/** API key of ListOffsets. */
export const LIST_OFFSETS_KEY = 2;
/** API key of AlterPartition. */
export const ALTER_PARTITION_KEY = 56;

/** What is asked. */
export type ReplicationRequest =
  | { readonly apiKey: typeof FETCH_KEY; readonly body: FetchRequest }
  | { readonly apiKey: typeof LIST_OFFSETS_KEY; readonly body: ListOffsetsRequest }
  | { readonly apiKey: typeof ALTER_PARTITION_KEY; readonly body: AlterPartitionRequest };

/** A call; exactly one answer with its ticket follows. */
export type Call = {
  readonly kind: 'call';
  readonly ticket: number;
  readonly nodeId: number;
  readonly timeoutMs: number;
} & ReplicationRequest;

/** refused: the port refuses connections. closed: the connection ended before the answer. */
export type Failure = 'refused' | 'timedOut' | 'closed';

/** How a call ended. The response is that of the call's API. */
export type CallOutcome =
  | { readonly response: FetchResponse | ListOffsetsResponse | AlterPartitionResponse }
  | { readonly failure: Failure };
