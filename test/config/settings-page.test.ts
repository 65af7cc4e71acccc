import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../core/config/settings.ts';
import { TOPIC_ONLY_SETTINGS } from '../../core/config/topic-only-settings.ts';
import { TOPIC_SETTINGS } from '../../core/metadata/topic-settings.ts';
import { settingsText } from '../../tools/cli/tidemark/print-settings.ts';

describe('what is said of settings', () => {
  test('the page of the documentation is what `tidemark settings --markdown` prints', () => {
    const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    expect(page).toBe(settingsText([], 'markdown'));
  });

  test('every setting of a topic that does not act is listed as such', () => {
    const idle = settingsText([], 'markdown').split('## Those that are accepted and do not act yet')[1] ?? '';
    for (const [name, { acts }] of TOPIC_SETTINGS) {
      const own = [...SETTINGS].find(([, { topicName }]) => topicName === name)?.[0] ?? name;
      expect(SETTINGS.has(own) || TOPIC_ONLY_SETTINGS.has(name), name).toBe(true);
      expect(idle.includes(`\n| \`${own}\` |`), name).toBe(!acts);
    }
  });

  test('the command says so too, and finds settings by their words', () => {
    expect(settingsText(['preallocate'], 'text')).toMatch(
      /^log\.preallocate\n.*for a topic: preallocate\n.*yet\.\n\n$/,
    );
    expect(settingsText(['local.retention.ms'], 'text')).toContain('Does not act yet.');
    expect(settingsText(['log.segment.bytes'], 'text')).not.toContain('Does not act yet.');
    const rows = JSON.parse(settingsText(['remote', 'storage'], 'json')) as { name: string; acts: boolean }[];
    expect(rows.map(({ name }) => name)).toContain('remote.storage.enable');
    expect(rows.every(({ acts }) => !acts)).toBe(true);
    expect(settingsText(['no', 'such', 'thing'], 'text')).toBe('No setting has these words.\n');
  });
});
