/**
 * OffsetFetch, API key 9.
 *
 * Reads the offsets that a group has stored. From version 8 many groups at once. Names, types and versions of
 * the fields are those of Apache Kafka 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, int64, message, string, uuid } from '../schema.ts';

/** The groups and partitions to look up. */
export const OffsetFetchRequest = message(
  { name: 'OffsetFetchRequest', versions: '1-10', flexible: '6+' },
  {
    groupId: string('0-7'),
    topics: array({ name: string('0-7'), partitionIndexes: arrayOf(int32(), '0-7') }, '0-7', { nullable: '2-7' }),
    groups: array(
      {
        groupId: string('8+'),
        memberId: string('9+', { nullable: '9+', default: null, ignorable: true }),
        memberEpoch: int32('9+', { default: -1, ignorable: true }),
        topics: array(
          {
            name: string('8-9', { ignorable: true }),
            topicId: uuid('10+', { ignorable: true }),
            partitionIndexes: arrayOf(int32(), '8+'),
          },
          '8+',
          { nullable: '8+' },
        ),
      },
      '8+',
    ),
    requireStable: boolean('7+', { default: false }),
  },
);
/** The request as it is read. */
export type OffsetFetchRequest = BodyOf<typeof OffsetFetchRequest>;

/** The stored offsets, -1 where there is none. */
export const OffsetFetchResponse = message(
  { name: 'OffsetFetchResponse', versions: '1-10', flexible: '6+' },
  {
    throttleTimeMs: int32('3+', { ignorable: true }),
    topics: array(
      {
        name: string('0-7'),
        partitions: array(
          {
            partitionIndex: int32('0-7'),
            committedOffset: int64('0-7'),
            committedLeaderEpoch: int32('5-7', { default: -1, ignorable: true }),
            metadata: string('0-7', { nullable: '0-7' }),
            errorCode: int16('0-7'),
          },
          '0-7',
        ),
      },
      '0-7',
    ),
    errorCode: int16('2-7', { default: 0, ignorable: true }),
    groups: array(
      {
        groupId: string('8+'),
        topics: array(
          {
            name: string('8-9', { ignorable: true }),
            topicId: uuid('10+', { ignorable: true }),
            partitions: array(
              {
                partitionIndex: int32('8+'),
                committedOffset: int64('8+'),
                committedLeaderEpoch: int32('8+', { default: -1, ignorable: true }),
                metadata: string('8+', { nullable: '8+' }),
                errorCode: int16('8+'),
              },
              '8+',
            ),
          },
          '8+',
        ),
        errorCode: int16('8+', { default: 0 }),
      },
      '8+',
    ),
  },
);
/** The response as it is read. */
export type OffsetFetchResponse = BodyOf<typeof OffsetFetchResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const OffsetFetch = api(
  { key: 9, name: 'OffsetFetch', advertised: '1-10', listeners: ['broker'] },
  OffsetFetchRequest,
  OffsetFetchResponse,
);
