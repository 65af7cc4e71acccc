/** `tidemark settings`: the table of settings, for people or for programs. */
import type { Setting } from '../../../core/config/setting.ts';
import { SETTINGS } from '../../../core/config/settings.ts';

/** Prints the settings whose name or meaning has all the words. */
export function printSettings(words: readonly string[], json: boolean): void {
  const chosen = [...SETTINGS].filter(([name, setting]) =>
    words.every((word) => `${name} ${setting.sentence}`.toLowerCase().includes(word.toLowerCase())),
  );
  if (json) {
    const rows = chosen.map(([name, setting]) => ({ name, ...describe(setting) }));
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  for (const [name, setting] of chosen) process.stdout.write(`${paragraph(name, setting)}\n`);
  if (chosen.length === 0) process.stdout.write('No setting has these words.\n');
}

/** A setting as JSON has it: what does not apply is null. */
function describe(setting: Setting<unknown>) {
  const bound = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    kind: setting.kind,
    unit: setting.unit === '' ? null : setting.unit,
    default: setting.default,
    inheritsFrom: setting.inherits?.from ?? null,
    min: bound(setting.min),
    max: bound(setting.max),
    choices: setting.choices.length > 0 ? setting.choices : null,
    scope: setting.scope,
    topicSetting: setting.topicName,
    acts: setting.acts,
    differsFromKafka: setting.differs,
    meaning: setting.sentence,
  };
}

function paragraph(name: string, setting: Setting<unknown>): string {
  const facts: string[] = [setting.kind];
  if (setting.unit !== '') facts.push(setting.unit);
  if (setting.inherits !== null && setting.default === null) facts.push(`default from ${setting.inherits.from}`);
  else
    facts.push(
      setting.default === null ? 'no default' : `default ${setting.default === '' ? '(empty)' : setting.default}`,
    );
  if (setting.kind === 'int' || setting.kind === 'long' || setting.kind === 'double') {
    if (setting.min > -2147483648) facts.push(`at least ${setting.min}`);
    if (setting.max < 2147483647) facts.push(`at most ${setting.max}`);
  }
  if (setting.choices.length > 0) facts.push(`one of ${setting.choices.join(' ')}`);
  if (setting.topicName !== null) facts.push(`for a topic: ${setting.topicName}`);
  const notes = [setting.sentence];
  if (setting.differs !== null) notes.push(`Not Kafka's default: ${setting.differs}.`);
  if (!setting.acts) notes.push('Does not act yet.');
  return `${name}\n    ${facts.join(', ')}\n    ${notes.join(' ')}\n`;
}
