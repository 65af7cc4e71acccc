/** Metadata records: framed and read back, held to values that controllers of Apache Kafka 4.4 wrote to their logs. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../../core/lib/protocol-error.ts';
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  METADATA_RECORDS,
  MetadataType,
} from '../../core/protocol/metadata-records.ts';

/** Values of log records, base64, one a line. */
const recorded = readFileSync(fileURLToPath(new URL('golden/metadata-records.txt', import.meta.url)), 'utf8')
  .split('\n')
  .filter((line) => line !== '');

describe('metadata records', () => {
  it('that Apache Kafka wrote are read, and written again to the same bytes', () => {
    const types = new Set<number>();
    for (const line of recorded) {
      const record = decodeMetadataRecord(Uint8Array.from(Buffer.from(line, 'base64')));
      types.add(record.type);
      expect(Buffer.from(encodeMetadataRecord(record)).toString('base64')).toBe(line);
    }
    expect(types.size).toBeGreaterThan(15);
  });

  it('tell by their type what their body is', () => {
    const bytes = encodeMetadataRecord({
      type: MetadataType.CONFIG,
      version: 0,
      body: { resourceType: 2, resourceName: 'tide', name: 'retention.ms', value: null },
    });
    const record = decodeMetadataRecord(bytes);
    expect(record.type === MetadataType.CONFIG && record.body.name).toBe('retention.ms');
  });

  it('have one schema for each number', () => {
    expect(METADATA_RECORDS.map(([type]) => type)).toEqual(Object.values(MetadataType));
    expect(new Set(METADATA_RECORDS.map(([, schema]) => schema.name)).size).toBe(METADATA_RECORDS.length);
  });

  it.each([
    ['of a type to come', Uint8Array.of(1, 99, 0)],
    ['of a version to come', Uint8Array.of(1, MetadataType.NO_OP, 7, 0)],
    ['in a framing to come', Uint8Array.of(2, MetadataType.NO_OP, 0, 0)],
    ['cut short', Uint8Array.of(1, MetadataType.TOPIC, 0, 5)],
    ['with bytes to spare', Uint8Array.of(1, MetadataType.NO_OP, 0, 0, 0)],
  ])('%s are refused', (_title, bytes) => {
    expect(() => decodeMetadataRecord(bytes)).toThrow(ProtocolError);
  });
});
