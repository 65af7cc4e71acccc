/**
 * ListTransactions, API key 66.
 *
 * Lists transactions. Names, types and versions of the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, int16, int32, int64, message, string } from '../schema.ts';

/** Filters by state, producer and age. */
export const ListTransactionsRequest = message(
  { name: 'ListTransactionsRequest', versions: '0-2', flexible: '0+' },
  {
    stateFilters: arrayOf(string()),
    producerIdFilters: arrayOf(int64()),
    durationFilter: int64('1+', { default: -1 }),
    transactionalIdPattern: string('2+', { nullable: '2+', default: null }),
  },
);
/** The request as it is read. */
export type ListTransactionsRequest = BodyOf<typeof ListTransactionsRequest>;

/** The transactions. */
export const ListTransactionsResponse = message(
  { name: 'ListTransactionsResponse', versions: '0-2', flexible: '0+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16(),
    unknownStateFilters: arrayOf(string()),
    transactionStates: array({ transactionalId: string(), producerId: int64(), transactionState: string() }),
  },
);
/** The response as it is read. */
export type ListTransactionsResponse = BodyOf<typeof ListTransactionsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const ListTransactions = api(
  { key: 66, name: 'ListTransactions', advertised: '0-2', listeners: ['broker'] },
  ListTransactionsRequest,
  ListTransactionsResponse,
);
