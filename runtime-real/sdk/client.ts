/**
 * `tidemark/client`: a producer, a consumer and a reader of one partition with promises, over the same machines that
 * the simulator runs. Small on purpose: enough for tests and first steps; transactions are not there yet.
 */
export { ConsumeError, type ConsumerClient, createConsumerClient } from './consumer-client.ts';
export { createProducerClient, DeliveryError, type OutgoingRecord, type ProducerClient } from './producer-client.ts';
export { createReaderClient, ReadError, type ReaderClient } from './reader-client.ts';
