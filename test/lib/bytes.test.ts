/** The primitive types: what is written is read, and what makes no sense is refused before anything is allocated. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameBytes, joinParts } from '../../core/lib/bytes.ts';
import { crc32c, crc32cExtend } from '../../core/lib/crc32c.ts';
import { ARRAY_ELEMENTS_MAX, Reader, TAGS_MAX } from '../../core/lib/cursor.ts';
import { cutUtf8, decodeUtf8, decodeUtf8Loosely, encodeUtf8, utf8Size } from '../../core/lib/utf8.ts';
import { isUuid, uuidFromBytes, uuidToBytes, ZERO_UUID } from '../../core/lib/uuid.ts';
import { unsignedVarintSize, varintSize, varlongSize } from '../../core/lib/varint.ts';
import { slabWriter, Writer } from '../../core/lib/writer.ts';

function written(write: (writer: Writer) => void): Reader {
  const writer = new Writer(64);
  write(writer);
  return new Reader(writer.bytes.slice(0, writer.position));
}

describe('integers', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.integer(), fc.maxSafeInteger(), fc.double({ noNaN: true }), (small, large, real) => {
        const reader = written((writer) => {
          writer.int32(small);
          writer.uint32(small >>> 0);
          writer.int16((small << 16) >> 16);
          writer.int64(large);
          writer.timestamp(large);
          writer.float64(real);
        });
        expect(reader.int32()).toBe(small);
        expect(reader.uint32()).toBe(small >>> 0);
        expect(reader.int16()).toBe((small << 16) >> 16);
        expect(reader.int64()).toBe(large);
        expect(reader.timestamp()).toBe(large);
        expect(reader.float64()).toBe(real);
        expect(reader.left()).toBe(0);
      }),
    );
  });

  it.each([
    ['7fffffffffffffff', Number.MAX_SAFE_INTEGER, 2 ** 63],
    ['8000000000000000', Number.MIN_SAFE_INTEGER, -(2 ** 63)],
    ['0020000000000000', Number.MAX_SAFE_INTEGER, 2 ** 53],
    ['001fffffffffffff', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ['ffffffffffffffff', -1, -1],
  ])('of 64 bits: %s saturates as int64 and rounds as timestamp', (hex, saturated, rounded) => {
    const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
    expect(new Reader(bytes).int64()).toBe(saturated);
    expect(new Reader(bytes).timestamp()).toBe(rounded);
  });

  it('of 64 bits clamp to the ends when they are written', () => {
    const hex = (value: number): string =>
      Buffer.from(written((writer) => writer.timestamp(value)).bytes).toString('hex');
    expect(hex(2 ** 63)).toBe('7fffffffffffffff');
    expect(hex(Number.POSITIVE_INFINITY)).toBe('7fffffffffffffff');
    expect(hex(-(2 ** 63))).toBe('8000000000000000');
    expect(hex(-(2 ** 70))).toBe('8000000000000000');
  });
});

describe('varints', () => {
  it('come back as they were written, in the size that was computed', () => {
    fc.assert(
      fc.property(fc.integer(), fc.maxSafeInteger(), (small, large) => {
        const reader = written((writer) => {
          writer.varint(small);
          writer.unsignedVarint(small >>> 0);
          writer.varlong(large);
        });
        expect(reader.bytes.length).toBe(varintSize(small) + unsignedVarintSize(small) + varlongSize(large));
        expect(reader.varint()).toBe(small);
        expect(reader.unsignedVarint()).toBe(small >>> 0);
        expect(reader.varlong()).toBe(large);
      }),
    );
  });

  it.each(['ffffffffff01', 'ffffffff1f', '808080808080'])('of more than 32 bits are refused: %s', (hex) => {
    const reader = new Reader(Uint8Array.from(Buffer.from(hex, 'hex')));
    expect(() => reader.unsignedVarint()).toThrow(/longer than 32 bits/);
  });

  it('of 64 bits end after ten bytes', () => {
    const longest = Uint8Array.from(Buffer.from('ffffffffffffffffff01', 'hex'));
    expect(new Reader(longest).varlong()).toBe(-(2 ** 63));
    const longer = Uint8Array.from(Buffer.from('ffffffffffffffffff02', 'hex'));
    expect(() => new Reader(longer).varlong()).toThrow(/longer than 64 bits/);
  });

  it('that are cut are refused', () => {
    expect(() => new Reader(Uint8Array.of(0x80)).unsignedVarint()).toThrow(/bytes end/);
    expect(() => new Reader(Uint8Array.of(0x80)).varlong()).toThrow(/bytes end/);
  });
});

describe('strings', () => {
  it('agree with the platform, both ways', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const bytes = Uint8Array.from(Buffer.from(text, 'utf8'));
        expect(encodeUtf8(text)).toStrictEqual(bytes);
        expect(utf8Size(text)).toBe(bytes.length);
        expect(decodeUtf8(bytes, 0, bytes.length)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('are refused exactly where the platform refuses them', () => {
    const loose = new TextDecoder('utf-8', { ignoreBOM: true });
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const lead = fc.constantFrom(0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0x80, 0xbf, 0x41);
    const bytesOf = fc.array(fc.oneof(lead, fc.integer({ min: 0x7f, max: 0xc0 })), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(bytesOf, (list) => {
        const bytes = Uint8Array.from(list);
        let expected: string | null = null;
        try {
          expected = strict.decode(bytes);
        } catch {}
        if (expected === null) expect(() => decodeUtf8(bytes, 0, bytes.length)).toThrow(/UTF-8/);
        else expect(decodeUtf8(bytes, 0, bytes.length)).toBe(expected);
        // To the platform a surrogate is three malformed sequences, to Java it is one.
        const hasSurrogate = list.some((byte, i) => byte === 0xed && (list[i + 1] ?? 0) >= 0xa0);
        if (!hasSurrogate) expect(decodeUtf8Loosely(bytes, 0, bytes.length)).toBe(loose.decode(bytes));
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    [[0xff, 0x28], '\ufffd('],
    [[0xed, 0xa0, 0x80, 0x41], '\ufffdA'],
    [[0xed, 0xa0, 0x41], '\ufffdA'],
    [[0xe2, 0x82], '\ufffd'],
    [[0xf0, 0x9f, 0x8c, 0x41], '\ufffdA'],
    [[0xf5, 0x80, 0x80], '\ufffd\ufffd\ufffd'],
  ])('of the malformed bytes %j are read as Java reads them', (list, text) => {
    expect(decodeUtf8Loosely(Uint8Array.from(list), 0, list.length)).toBe(text);
  });

  it('are cut between characters, to as many bytes as fit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), fc.integer({ min: 0, max: 100 }), (text, sizeMax) => {
        const cut = cutUtf8(text, sizeMax);
        expect(text.startsWith(cut)).toBe(true);
        expect(utf8Size(cut)).toBeLessThanOrEqual(sizeMax);
        const next = text.codePointAt(cut.length);
        if (next !== undefined) expect(utf8Size(cut + String.fromCodePoint(next))).toBeGreaterThan(sizeMax);
      }),
    );
  });

  it('with half a surrogate pair cannot be written', () => {
    expect(() => encodeUtf8('a\ud800b')).toThrow(/surrogate/);
    expect(() => encodeUtf8('\udc00')).toThrow(/surrogate/);
  });

  it("of equal length and hash do not take each other's place", () => {
    for (let i = 0; i < 20_000; i++) {
      const text = `topic-${i}`;
      const bytes = encodeUtf8(text);
      expect(decodeUtf8(bytes, 0, bytes.length)).toBe(text);
    }
  });
});

describe('lengths', () => {
  const lie = (value: number): Reader => written((writer) => writer.int32(value));
  it('of arrays are capped by the bytes left, before anything is allocated', () => {
    expect(() => lie(2_000_000_000).arrayLength(1)).toThrow(/length/);
    expect(() => lie(-2).arrayLength(1)).toThrow(/length/);
    const reader = new Reader(Uint8Array.of(0, 0, 0, 2, 9, 9, 9, 9));
    expect(() => reader.arrayLength(3)).toThrow(/length/);
    expect(lie(-1).arrayLength(1)).toBe(-1);
  });

  it('of arrays beyond a million are refused even if the bytes are there', () => {
    const bytes = new Uint8Array(4 + ARRAY_ELEMENTS_MAX + 1);
    new DataView(bytes.buffer).setInt32(0, ARRAY_ELEMENTS_MAX + 1);
    expect(() => new Reader(bytes).arrayLength(1)).toThrow(/too many elements/);
  });

  it('of bytes and strings are checked', () => {
    expect(() => lie(5).bytesField()).toThrow(/length/);
    expect(() => lie(-1).bytesField()).toThrow(/length/);
    expect(lie(-1).nullableBytes()).toBeNull();
    expect(() => new Reader(Uint8Array.of(0xff, 0xfe)).nullableString()).toThrow(/length/);
    expect(() => new Reader(Uint8Array.of(0)).compactString()).toThrow(/length/);
    expect(new Reader(Uint8Array.of(0)).compactNullableString()).toBeNull();
  });

  it('of a section of tags stop at ten thousand', () => {
    const section = (count: number): Reader => {
      const writer = new Writer(3 + count * 2);
      writer.unsignedVarint(count);
      return new Reader(writer.bytes);
    };
    expect(() => section(TAGS_MAX + 1).skipTags()).toThrow(/too many tagged/);
    section(TAGS_MAX).skipTags();
  });
});

describe('uuids', () => {
  it('print as Kafka prints them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = uuidFromBytes(bytes, 0);
        expect(text).toBe(Buffer.from(bytes).toString('base64url'));
        const back = new Uint8Array(16);
        uuidToBytes(text, back, 0);
        expect(back).toStrictEqual(bytes);
      }),
    );
    expect(uuidFromBytes(new Uint8Array(16), 0)).toBe(ZERO_UUID);
  });

  it('are refused unless they are the one printed form of their bytes', () => {
    expect(isUuid('AAAAAAAAAAAAAAAAAAAAAB')).toBe(false);
    expect(isUuid('AAAAAAAAAAAAAAAAAAAAA')).toBe(false);
    expect(isUuid('AAAAAAAAAA+AAAAAAAAAAA')).toBe(false);
    expect(() => uuidToBytes('nonsense', new Uint8Array(16), 0)).toThrow(/uuid/);
  });
});

describe('crc32c', () => {
  it('has the check value of the standard', () => {
    expect(crc32c(encodeUtf8('123456789'))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(0))).toBe(0);
  });

  it('agrees with one bit at a time, over any range, in one piece or two', () => {
    const slow = (bytes: Uint8Array): number => {
      let crc = 0xffffffff;
      for (const byte of bytes) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
      }
      return ~crc >>> 0;
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(), fc.nat(), (bytes, a, b) => {
        const [start, end] = [a % (bytes.length + 1), b % (bytes.length + 1)].sort((x, y) => x - y) as [number, number];
        const middle = (start + end) >> 1;
        expect(crc32c(bytes, start, end)).toBe(slow(bytes.subarray(start, end)));
        expect(crc32cExtend(crc32c(bytes, start, middle), bytes, middle, end)).toBe(crc32c(bytes, start, end));
      }),
    );
  });
});

describe('a shared slab', () => {
  it('never hands out a byte twice', () => {
    const taken: { part: Uint8Array; mark: number }[] = [];
    for (let i = 0; i < 300; i++) {
      const writer = slabWriter(65 + ((i * 97) % 4000));
      writer.bytes.fill(i & 255, writer.start, writer.end);
      writer.position = writer.end;
      taken.push({ part: writer.finish()[0]!, mark: i & 255 });
    }
    for (const { part, mark } of taken) expect(part.every((byte) => byte === mark)).toBe(true);
  });

  it('refuses a message that is not as long as it was computed', () => {
    const writer = slabWriter(100);
    writer.int32(1);
    expect(() => writer.finish()).toThrow(/computed size/);
  });
});

describe('bytes', () => {
  const bytes = fc.uint8Array({ maxLength: 5 });

  it('are joined in order', () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 4 }), (parts) => {
        expect([...joinParts(parts)]).toEqual(parts.flatMap((part) => [...part]));
      }),
    );
    const only = Uint8Array.of(1, 2);
    expect(joinParts([only])).toBe(only);
  });

  it('are the same where all of them are', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(isSameBytes(a, b)).toBe([...a].join() === [...b].join());
        expect(isSameBytes(a, a.slice())).toBe(true);
      }),
    );
  });
});
