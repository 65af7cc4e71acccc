/** `tidemark settings`: the table of settings, for people, for programs, or as the page of the documentation. */
import { LATER_NAMES } from '../../../core/config/kafka-names.ts';
import type { Setting } from '../../../core/config/setting.ts';
import { SETTINGS } from '../../../core/config/settings.ts';
import { TOPIC_ONLY_SETTINGS } from '../../../core/config/topic-only-settings.ts';
import { TOPIC_SETTINGS } from '../../../core/metadata/topic-settings.ts';

/** How settings are printed. */
export type SettingsFormat = 'text' | 'json' | 'markdown';

const IDLE = 'Does not act yet.';

/** Prints the settings whose name or meaning has all the words. */
export function printSettings(words: readonly string[], format: SettingsFormat): void {
  process.stdout.write(settingsText(words, format));
}

/** What `printSettings` prints. */
export function settingsText(words: readonly string[], format: SettingsFormat): string {
  const isMeant = (name: string, sentence: string): boolean =>
    words.every((word) => `${name} ${sentence}`.toLowerCase().includes(word.toLowerCase()));
  const chosen = [...SETTINGS].filter(([name, { sentence }]) => isMeant(name, sentence));
  const ofTopics = [...TOPIC_ONLY_SETTINGS].filter(([name, sentence]) => isMeant(name, sentence));
  switch (format) {
    case 'json': {
      const rows = chosen.map(([name, setting]) => ({ name, ...describe(setting) }));
      const more = ofTopics.map(([name, meaning]) => ({
        name,
        scope: 'topic',
        topicSetting: name,
        acts: isActing(name),
        meaning,
      }));
      return `${JSON.stringify([...rows, ...more], null, 2)}\n`;
    }
    case 'markdown':
      return page(chosen, ofTopics);
    case 'text': {
      const paragraphs = chosen.map(([name, setting]) => `${paragraph(name, setting)}\n`);
      const more = ofTopics.map(([name, sentence]) => {
        const note = isActing(name) ? '' : ` ${IDLE}`;
        return `${name}\n    of topics only\n    ${sentence}${note}\n\n`;
      });
      return [...paragraphs, ...more].join('') || 'No setting has these words.\n';
    }
  }
}

/** Whether a setting that only topics have has an effect. */
function isActing(name: string): boolean {
  return TOPIC_SETTINGS.get(name)?.acts === true;
}

type Named = readonly (readonly [string, Setting<unknown>])[];

/** The page of the documentation. */
function page(settings: Named, ofTopics: readonly (readonly [string, string])[]): string {
  const [acting, idle] = [settings.filter(([, { acts }]) => acts), settings.filter(([, { acts }]) => !acts)];
  const row = ([name, setting]: Named[number]): string => {
    const [facts, notes] = [factsOf(setting), notesOf(setting)];
    return `| \`${name}\` | ${facts.join(', ')} | ${notes.join(' ')} |`;
  };
  const ofTopic = ([name, sentence]: readonly [string, string]): string =>
    `| \`${name}\` | of topics only | ${sentence} |`;
  const head = ['| setting | value | meaning |', '|---|---|---|'];
  const later = [...LATER_NAMES].sort().map((name) => `\`${name}\``);
  return `${[
    '# Settings',
    '',
    'Printed by `tidemark settings --markdown`. Names and meanings are those of Apache Kafka; names that begin with',
    '`tidemark.` are our own. A topic may override what has a name "for a topic".',
    '',
    '## Those that act',
    '',
    ...head,
    ...acting.map(row),
    ...ofTopics.filter(([name]) => isActing(name)).map(ofTopic),
    '',
    '## Those that are accepted and do not act yet',
    '',
    'They are checked, kept and described. The log says so, once a name, when one of them is given another value than',
    'its default.',
    '',
    ...head,
    ...idle.map(row),
    ...ofTopics.filter(([name]) => !isActing(name)).map(ofTopic),
    '',
    '## Names of Apache Kafka that are known and ignored',
    '',
    'They belong to parts that are not there yet. A configuration file may have them; each is warned about.',
    '',
    `${later.join(', ')}.`,
  ].join('\n')}\n`;
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
  const notes = notesOf(setting);
  if (!setting.acts) notes.push(IDLE);
  return `${name}\n    ${factsOf(setting).join(', ')}\n    ${notes.join(' ')}\n`;
}

function factsOf(setting: Setting<unknown>): string[] {
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
  return facts;
}

function notesOf(setting: Setting<unknown>): string[] {
  const notes = [setting.sentence];
  if (setting.differs !== null) notes.push(`Not Kafka's default: ${setting.differs}.`);
  return notes;
}
