import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../core/config/parse.ts';

function errors(entries: Readonly<Record<string, string>>): string[] {
  const { problems } = parseSettings(new Map(Object.entries(entries)));
  return problems.flatMap(({ severity, sentence }) => (severity === 'error' ? [sentence] : []));
}

describe('the settings of groups, seen together', () => {
  test.each([
    ['session.timeout.ms', '44999', 'must be at least group.consumer.min.session.timeout.ms (45000)'],
    ['session.timeout.ms', '60001', 'must be at most group.consumer.max.session.timeout.ms (60000)'],
    ['heartbeat.interval.ms', '4999', 'must be at least group.consumer.min.heartbeat.interval.ms (5000)'],
    ['max.heartbeat.interval.ms', '4999', 'must be at least group.consumer.min.heartbeat.interval.ms (5000)'],
    ['assignment.interval.ms', '15001', 'must be at most group.consumer.max.assignment.interval.ms (15000)'],
  ])('group.consumer.%s=%s is refused', (name, text, why) => {
    expect(errors({ [`group.consumer.${name}`]: text })).toEqual([`group.consumer.${name} ${why}.`]);
  });

  test('a heartbeat that is as rare as a session is long is refused', () => {
    const settings = { 'group.consumer.min.session.timeout.ms': '5000', 'group.consumer.session.timeout.ms': '5000' };
    expect(errors(settings)).toEqual([
      'group.consumer.heartbeat.interval.ms must be less than group.consumer.session.timeout.ms.',
    ]);
  });

  test('what fits is taken', () => {
    const settings = {
      'group.consumer.min.heartbeat.interval.ms': '100',
      'group.consumer.heartbeat.interval.ms': '100',
      'group.consumer.migration.policy': 'upgrade',
      'group.consumer.assignors': 'range',
    };
    expect(errors(settings)).toEqual([]);
    expect(errors({ 'group.consumer.assignors': 'org.example.Mine' })).toHaveLength(1);
  });
});
