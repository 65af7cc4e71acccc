/**
 * What holds for every message in every version: it comes back as it was written, compiled code does what the
 * interpreter does, and bytes that make no sense raise ProtocolError and nothing else.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reader } from '../../core/lib/cursor.ts';
import { ProtocolError } from '../../core/lib/protocol-error.ts';
import { Writer } from '../../core/lib/writer.ts';
import { compileDecoder, compileEncoder, type Encoder } from '../../core/protocol/compile.ts';
import { interpretDecode, interpretEncode } from '../../core/protocol/interpret.ts';
import { type AnyMessage, inRange, UNKNOWN_TAGS } from '../../core/protocol/schema.ts';
import { type Body, bodiesOf, joined, versionsOf } from '../protocol/arbitrary.ts';
import { MESSAGES } from '../protocol/messages.ts';

const RUNS = 12;

function encoded(encoder: Encoder, body: unknown): Uint8Array {
  const writer = new Writer(encoder.size(body));
  encoder.write(writer, body);
  return joined(writer.finish());
}

/** What reading gives: a value, or the fault. Anything but a ProtocolError goes through. */
function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProtocolError) return 'refused';
    throw error;
  }
}

const CASES = MESSAGES.map((message): [string, AnyMessage] => [message.name, message]);

describe.each(CASES)('%s', (_name, message) => {
  it('comes back as it was written, and compiled equals interpreted, in every version', () => {
    for (const version of versionsOf(message.versions)) {
      const decode = compileDecoder(message, version, false);
      const encoder = compileEncoder(message, version, false);
      fc.assert(
        fc.property(bodiesOf(message, version), (body) => {
          const bytes = encoded(encoder, body);
          const reader = new Reader(bytes);
          const back = decode(reader);
          reader.finish();
          expect(back).toStrictEqual(body);
          expect(Object.keys(back as Body)).toEqual(Object.keys(message.fields));
          expect(joined(interpretEncode(message, version, body))).toStrictEqual(bytes);
          expect(interpretDecode(message, version, new Reader(bytes))).toStrictEqual(body);
        }),
        { numRuns: RUNS },
      );
    }
  });

  it('raises ProtocolError, or reads the same as the interpreter, where a frame is cut or flipped', () => {
    const version = message.versions.until;
    const decode = compileDecoder(message, version, true);
    const encoder = compileEncoder(message, version, true);
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 3 });
    fc.assert(
      fc.property(bodiesOf(message, version), fc.nat(), flips, (body, cut, changes) => {
        const whole = encoded(encoder, body);
        const bytes = whole.slice(0, changes.length === 0 ? cut % (whole.length + 1) : whole.length);
        for (const [at, bits] of changes) if (bytes.length > 0) bytes[at % bytes.length]! ^= bits;
        const compiled = outcome(() => decode(new Reader(bytes)));
        const interpreted = outcome(() => interpretDecode(message, version, new Reader(bytes), true));
        expect(compiled).toStrictEqual(interpreted);
        if (bytes.length < whole.length) expect(compiled).toBe('refused');
      }),
      { numRuns: RUNS * 5 },
    );
  });
});

describe('unknown tags', () => {
  const flexible = MESSAGES.filter((message) => inRange(message.versions.until, message.flexible));

  it.each(flexible.map((message): [string, AnyMessage] => [message.name, message]))(
    'of %s are written again where they are kept, and skipped otherwise',
    (_name, message) => {
      const version = message.versions.until;
      const tags = fc.uniqueArray(fc.record({ tag: fc.integer({ min: 50, max: 2 ** 31 }), bytes: fc.uint8Array() }), {
        selector: (tag) => tag.tag,
        minLength: 1,
        maxLength: 4,
      });
      const keeping = compileEncoder(message, version, true);
      fc.assert(
        fc.property(bodiesOf(message, version), tags, (plain, unknown) => {
          const sorted = unknown.map(({ tag, bytes }) => ({ tag, bytes })).sort((a, b) => a.tag - b.tag);
          const body: Body = { ...plain, [UNKNOWN_TAGS]: sorted };
          const bytes = encoded(keeping, body);
          expect(compileDecoder(message, version, true)(new Reader(bytes))).toStrictEqual(body);
          expect(joined(interpretEncode(message, version, body, true))).toStrictEqual(bytes);
          const reader = new Reader(bytes);
          expect(compileDecoder(message, version, false)(reader)).toStrictEqual(plain);
          expect(reader.left()).toBe(0);
        }),
        { numRuns: RUNS },
      );
    },
  );
});
