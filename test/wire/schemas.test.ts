/**
 * Every schema against Apache Kafka's own definitions, read from its published jars. Needs Maven and unzip; a lane
 * that cannot fetch them fails, it does not skip.
 */
import { describe, expect, it } from 'vitest';
import { APIS } from '../../core/protocol/messages/index.ts';
import { differences, parseDefinition } from '../../tools/wire/compare.ts';
import { kafkaDefinitions } from '../../tools/wire/jars.ts';
import { MESSAGES } from '../protocol/messages.ts';

const definitions = kafkaDefinitions();

describe('schemas', () => {
  it('are compared at all', () => {
    expect(definitions.size).toBeGreaterThan(190);
    expect(MESSAGES.length).toBeGreaterThan(180);
  });

  it.each(MESSAGES.map((message) => [message.name, message] as const))('%s is what Kafka defines', (name, message) => {
    const definition = definitions.get(name);
    expect(definition).toBeDefined();
    if (definition !== undefined) expect(differences(message, definition)).toEqual([]);
  });

  it('have the keys that Kafka gives them, and advertise no version that is not stable', () => {
    for (const api of APIS) {
      const request = definitions.get(api.request.name);
      expect(request?.apiKey).toBe(api.key);
      expect(definitions.get(api.response.name)?.apiKey).toBe(api.key);
      const unstable = request?.latestVersionUnstable === true ? 1 : 0;
      expect(api.advertised.until).toBeLessThanOrEqual(api.request.versions.until - unstable);
    }
  });
});

describe('the comparison', () => {
  const fetch = APIS[1].request;
  const altered = (from: string, to: string): string[] => {
    const text = JSON.stringify(definitions.get('FetchRequest'));
    expect(text).toContain(from);
    return differences(fetch, parseDefinition(text.replace(from, to)));
  };

  it.each([
    ['a name', '"MaxWaitMs"', '"MaxWaitMillis"'],
    ['a type', '"type":"int32"', '"type":"int16"'],
    ['versions', '"versions":"3+"', '"versions":"4+"'],
    ['a tag', '"tag":1', '"tag":9'],
    ['a default', '"default":"0x7fffffff"', '"default":"0"'],
    ['nullable versions', '"nullableVersions":"12+"', '"nullableVersions":"13+"'],
    ['flexible versions', '"flexibleVersions":"12+"', '"flexibleVersions":"13+"'],
    ['valid versions', '"validVersions":"4-18"', '"validVersions":"4-19"'],
    ['what may be dropped', '"ignorable":true', '"ignorable":false'],
  ])('notices %s that differs', (_what, from, to) => {
    expect(altered(from, to)).not.toEqual([]);
    expect(altered(from, from)).toEqual([]);
  });
});
