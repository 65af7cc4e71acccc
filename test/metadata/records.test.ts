/** Records by name: every type in every version comes back, and what is not known is refused by name. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataRecord,
  metadataRecord,
  partitionChange,
  recordKinds,
} from '../../core/metadata/records.ts';
import { METADATA_RECORDS } from '../../core/protocol/metadata-records.ts';
import { bodiesOf, versionsOf } from '../protocol/arbitrary.ts';

const CASES = METADATA_RECORDS.map(([, schema]) => [schema.name, schema] as const);

describe('the records of the metadata log', () => {
  it.each(CASES)('%s comes back in every version', (name, schema) => {
    for (const version of versionsOf(schema.versions)) {
      fc.assert(
        fc.property(bodiesOf(schema, version), (value) => {
          const record = { kind: name, version, value } as unknown as MetadataRecord;
          expect(decodeMetadataRecord(encodeMetadataRecord(record))).toStrictEqual({ record });
        }),
        { numRuns: 5 },
      );
    }
  });

  it('have 27 names', () => {
    expect(recordKinds()).toHaveLength(27);
    expect(recordKinds()).toContain('UnregisterControllerRecord');
  });

  it('a change of a partition is the same, made the short way or by its fields', () => {
    const short = partitionChange(2, 'DOI4vBWoTzi8tjZq6mZ8Bg', 3);
    expect(short).toStrictEqual(
      metadataRecord('PartitionChangeRecord', 2, { topicId: 'DOI4vBWoTzi8tjZq6mZ8Bg', partitionId: 3 }),
    );
  });

  it.each([
    ['a type that is not known', [1, 99, 0], 'unsupported', 'there is no metadata record of type 99'],
    ['a version that is not known', [1, 2, 7], 'unsupported', 'TopicRecord has no version 7'],
    ['a frame that is not known', [2, 2, 0], 'unsupported', 'framed by version 2'],
    ['bytes that end too soon', [1, 2, 0, 9, 97], 'malformed', ''],
    ['no bytes', [], 'malformed', ''],
    ['bytes behind the end', [1, 20, 0, 0, 0], 'malformed', ''],
  ])('%s: %j is refused', (_title, bytes, kind, part) => {
    const read = decodeMetadataRecord(Uint8Array.from(bytes));
    expect(read).toMatchObject({ problem: { kind } });
    expect('problem' in read ? read.problem.sentence : '').toContain(part);
  });
});
