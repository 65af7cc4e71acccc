import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { collectSettings, readProperties, settingOf } from '../../tools/cli/tidemark/sources.ts';

describe('where settings come from', () => {
  test('a .properties file has comments, continued lines, escapes, and three ways to part name and value', () => {
    const text = [
      '# comment',
      '! comment too',
      'a=1',
      'b : 2',
      'c 3',
      'list = x,\\',
      '       y',
      'escaped\\=name=\\u0041\\tB',
      'windows=C:\\\\data',
      '',
      'last=',
    ].join('\n');
    expect(readProperties(text)).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
      ['list', 'x,y'],
      ['escaped=name', 'A\tB'],
      ['windows', 'C:\\data'],
      ['last', ''],
    ]);
  });

  test('a variable names a setting, ours without their prefix too', () => {
    expect(settingOf('TIDEMARK_LOG_RETENTION_MS')).toBe('log.retention.ms');
    expect(settingOf('TIDEMARK_TOPICS')).toBe('tidemark.topics');
    expect(settingOf('TIDEMARK_NONSENSE')).toBe('nonsense');
  });

  test('a flag wins over the environment, the environment over the file', () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-config-')), 'a.properties');
    fs.writeFileSync(file, 'node.id=1\nnum.partitions=1\nlog.dirs=/file\n');
    const environment = { TIDEMARK_NODE_ID: '2', TIDEMARK_NUM_PARTITIONS: '2', HOME: '/' };
    const collected = collectSettings({ file, environment, flags: ['node.id=3'] });
    fs.rmSync(path.dirname(file), { recursive: true });
    expect(collected.kind === 'collected' && [...collected.entries]).toEqual([
      ['node.id', '3'],
      ['num.partitions', '2'],
      ['log.dirs', '/file'],
    ]);
  });

  test('a file that cannot be read is one sentence and exit code 1, a flag without a value exit code 2', () => {
    expect(collectSettings({ file: '/none', environment: {}, flags: [] })).toMatchObject({ kind: 'failed', code: 1 });
    expect(collectSettings({ file: null, environment: {}, flags: ['x'] })).toMatchObject({ kind: 'failed', code: 2 });
  });
});
