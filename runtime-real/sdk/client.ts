/**
 * `tidemark/client`: a producer and a reader of one partition with promises, over the same machines that the simulator
 * runs. Small on purpose: enough for tests and first steps; groups and transactions are not there yet.
 */
export { createProducerClient, DeliveryError, type OutgoingRecord, type ProducerClient } from './producer-client.ts';
export { createReaderClient, ReadError, type ReaderClient } from './reader-client.ts';
