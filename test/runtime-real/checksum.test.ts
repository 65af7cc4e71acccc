import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/lib/crc32c.ts';
import { realCrc32c } from '../../runtime-real/checksum.ts';

describe('the checksum of the real world', () => {
  it('is the portable one for every length around the native threshold and every alignment', () => {
    const bytes = Uint8Array.from({ length: 4096 }, (_, i) => (i * 31 + (i >> 5)) & 255);
    for (const length of [0, 1, 511, 512, 513, 1000, 4000]) {
      for (let start = 0; start < 17; start++) {
        expect(realCrc32c(bytes, start, start + length)).toBe(crc32c(bytes, start, start + length));
      }
    }
  });
});
