/**
 * DescribeLogDirs, API key 35.
 *
 * Describes the log directories of a broker. Names, types and versions of the fields are those of Apache Kafka
 * 4.4.
 */
import { api } from '../api.ts';
import { array, arrayOf, type BodyOf, boolean, int16, int32, int64, message, string } from '../schema.ts';

/** The partitions to look at; null for all. */
export const DescribeLogDirsRequest = message(
  { name: 'DescribeLogDirsRequest', versions: '1-5', flexible: '2+' },
  { topics: array({ topic: string(), partitions: arrayOf(int32()) }, '0+', { nullable: '0+' }) },
);
/** The request as it is read. */
export type DescribeLogDirsRequest = BodyOf<typeof DescribeLogDirsRequest>;

/** Sizes by directory and partition. */
export const DescribeLogDirsResponse = message(
  { name: 'DescribeLogDirsResponse', versions: '1-5', flexible: '2+' },
  {
    throttleTimeMs: int32(),
    errorCode: int16('3+', { ignorable: true }),
    results: array({
      errorCode: int16(),
      logDir: string(),
      topics: array({
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          partitionSize: int64(),
          offsetLag: int64(),
          isFutureKey: boolean(),
        }),
      }),
      totalBytes: int64('4+', { default: -1, ignorable: true }),
      usableBytes: int64('4+', { default: -1, ignorable: true }),
      isCordoned: boolean('5+', { default: false, ignorable: true }),
    }),
  },
);
/** The response as it is read. */
export type DescribeLogDirsResponse = BodyOf<typeof DescribeLogDirsResponse>;

/** The API: key, name, both messages, and where it is offered. */
export const DescribeLogDirs = api(
  { key: 35, name: 'DescribeLogDirs', advertised: '1-5', listeners: ['broker'] },
  DescribeLogDirsRequest,
  DescribeLogDirsResponse,
);
