/** The small text files of a log directory. */
import { describe, expect, it } from 'vitest';
import {
  formatCheckpoint,
  formatCleanShutdown,
  formatMetaProperties,
  formatPartitionMetadata,
  parseCheckpoint,
  parseCleanShutdown,
  parseFolderName,
  parseMetaProperties,
  parsePartitionMetadata,
  randomUuid,
} from '../../core/broker/checkpoints/files.ts';
import { isUuid } from '../../core/lib/uuid.ts';

const ID = 'Rb7sP1xVQ2uQWm0jvW5b4A';

describe('meta.properties', () => {
  it('reads what it writes', () => {
    const meta = { version: 1, clusterId: ID, nodeId: 3, directoryId: ID };
    expect(parseMetaProperties(formatMetaProperties(meta))).toEqual(meta);
  });

  it('reads a file that Kafka wrote, with comments and dates', () => {
    const text = `#\n#Sun Nov 29 10:00:00 UTC 2026\ncluster.id=${ID}\nversion=1\nnode.id=1\n`;
    expect(parseMetaProperties(text)).toEqual({ version: 1, clusterId: ID, nodeId: 1, directoryId: null });
  });

  it.each([
    ['', 'has no version'],
    ['version=2\nnode.id=1\ncluster.id=a\n', 'has version 2'],
    ['version=1\ncluster.id=a\n', 'has no node.id'],
    ['version=1\nnode.id=x\ncluster.id=a\n', 'has no node.id'],
    ['version=1\nnode.id=1\n', 'has no cluster.id'],
    ['?', 'is not name=value'],
  ])('refuses %j', (text, problem) => {
    expect(parseMetaProperties(text)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

describe('checkpoints', () => {
  it('reads what it writes', () => {
    const lines = [
      { topic: 'a-1', partition: 0, offset: 17 },
      { topic: 'b', partition: 12, offset: 9007199254740 },
    ];
    expect(parseCheckpoint(formatCheckpoint(lines))).toEqual(
      new Map([
        ['a-1-0', 17],
        ['b-12', 9007199254740],
      ]),
    );
    expect(formatCheckpoint(lines)).toBe('0\n2\na-1 0 17\nb 12 9007199254740\n');
  });

  it.each([
    '',
    '1\n0\n',
    '0\n2\na 0 1\n',
    '0\n1\na 0\n',
    '0\n1\na 0 1 2\n',
    '0\n1\na x 1\n',
    '0\n1\na 0 -1\n',
    '0\nx\n',
    '?',
  ])('calls %j malformed', (text) => {
    expect(parseCheckpoint(text)).toBe('malformed');
  });
});

describe('the other files', () => {
  it('partition.metadata reads what it writes and nothing else', () => {
    expect(parsePartitionMetadata(formatPartitionMetadata(ID))).toBe(ID);
    for (const text of ['', 'version: 1\ntopic_id: x', `version: 0\ntopic_id: ${ID}x`, `version: 0\n${ID}`]) {
      expect(parsePartitionMetadata(text)).toBe('malformed');
    }
  });

  it('the marker of a clean stop reads what it writes, and what makes no sense as no epoch', () => {
    expect(parseCleanShutdown(formatCleanShutdown(3000))).toBe(3000);
    for (const text of ['', '{}', '{"version":0,"brokerEpoch":-1}', '{"brokerEpoch":x}'])
      expect(parseCleanShutdown(text)).toBe(-1);
  });

  it('a folder is a partition only if its name is a topic and a number', () => {
    expect(parseFolderName('a-b-12')).toEqual({ topic: 'a-b', partition: 12 });
    expect(parseFolderName('__consumer_offsets-0')).toEqual({ topic: '__consumer_offsets', partition: 0 });
    for (const name of ['a', '-1', 'a-', 'a-01', 'a-x', 'a b-1', 'a-1.x-delete'])
      expect(parseFolderName(name)).toBe(null);
  });

  it('a random uuid is a uuid of version 4 and never begins with a dash', () => {
    const id = randomUuid(new Uint8Array(16).fill(255), 0);
    expect(isUuid(id)).toBe(true);
    expect(id.startsWith('-')).toBe(false);
  });
});
