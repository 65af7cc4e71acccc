/** Strings that an old version cannot say are cut, in every response: no answer is lost for them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8Size } from '../../core/lib/utf8.ts';
import { Writer } from '../../core/lib/writer.ts';
import { compileEncoder } from '../../core/protocol/compile.ts';
import { fitStrings, hasOldStrings, OLD_STRING_BYTES_MAX } from '../../core/protocol/fit.ts';
import { type AnyMessage, defaultsOf } from '../../core/protocol/schema.ts';
import { bodiesOf, versionsOf } from './arbitrary.ts';
import { MESSAGES } from './messages.ts';

const LONG = ['x'.repeat(32_768), '\u20ac'.repeat(10_923), `y${'\u{1f30a}'.repeat(9_000)}`];
const texts = fc.oneof(fc.constantFrom(...LONG), fc.constantFrom('', 'short', 'z'.repeat(32_767)));

const OLD = MESSAGES.filter(
  ({ name, versions }) => name.endsWith('Response') && versions.since <= versions.until,
).flatMap((message) =>
  versionsOf(message.versions)
    .filter((version) => hasOldStrings(message, version))
    .map((version): [string, number, AnyMessage] => [message.name, version, message]),
);

function write(message: AnyMessage, version: number, body: unknown): void {
  const encoder = compileEncoder(message, version, false);
  encoder.write(new Writer(encoder.size(body)), body);
}

describe('a response of an old version', () => {
  it('is one of many', () => expect(OLD.length).toBeGreaterThan(100));

  it.each(OLD)('%s %i can be written with strings of any length', (_name, version, message) => {
    fc.assert(
      fc.property(bodiesOf(message, version, texts), (body) => {
        write(message, version, fitStrings(message, version, body));
      }),
      { numRuns: 8 },
    );
  });
});

describe('a string', () => {
  const message = MESSAGES.find(({ name }) => name === 'DescribeConfigsResponse') as AnyMessage;
  const bodyWith = (resourceName: string) => {
    const result = { errorCode: 0, errorMessage: null, resourceType: 2, resourceName, configs: [] };
    return { ...defaultsOf(message.fields), results: [result] };
  };

  it.each(LONG)('too long by a character is cut at one, and said as far as it goes', (text) => {
    const body = bodyWith(text);
    expect(() => write(message, 1, body)).toThrow(/longer than 32767/);
    const { results } = fitStrings(message, 1, body) as ReturnType<typeof bodyWith>;
    const cut = results[0]?.resourceName ?? '';
    expect(text.startsWith(cut)).toBe(true);
    expect(utf8Size(cut)).toBeGreaterThan(OLD_STRING_BYTES_MAX - 4);
    expect(utf8Size(cut)).toBeLessThanOrEqual(OLD_STRING_BYTES_MAX);
  });

  it('that fits, or is of a newer version, is left alone', () => {
    const [short, long] = [bodyWith('short'), bodyWith(LONG[0] ?? '')];
    expect(fitStrings(message, 1, short)).toBe(short);
    expect(fitStrings(message, 4, long)).toBe(long);
  });
});
