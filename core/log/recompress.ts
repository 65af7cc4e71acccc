/**
 * Recompression for a topic whose `compression.type` is not 'producer'.
 *
 * The one place on the produce path that looks at records: they are inflated under a cap, walked to see that they are
 * what the header promises, and compressed with the topic's codec behind a new header. Pure.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import * as batch from '../protocol/batch.ts';
import { CODEC_NAMES, CODEC_NONE, type Codec, type Codecs, DECOMPRESSED_MAX } from '../protocol/compression.ts';
import { ErrorCode } from '../protocol/errors.ts';

const CODEC_MASK = 7;

/** The batch in the topic's codec: the same bytes if it has it already, or an error code. */
export function recompress(
  bytes: Uint8Array,
  compressionType: string,
  codecs: Codecs,
  crc32c: batch.Crc32c,
): Uint8Array | number {
  const wanted = compressionType === 'uncompressed' ? CODEC_NONE : CODEC_NAMES.indexOf(compressionType);
  const view = batch.dataViewOf(bytes);
  const codec = batch.codecOf(view, 0);
  if (codec === wanted || wanted < 0) return bytes;
  const body = bytes.subarray(batch.BATCH_HEADER_BYTES);
  const plain = codec === CODEC_NONE ? body : codecs.decompress(codec, body, DECOMPRESSED_MAX);
  if (plain === 'tooLarge') return ErrorCode.INVALID_RECORD;
  if (plain === 'corrupt') return ErrorCode.CORRUPT_MESSAGE;
  if (!recordsHold(plain, batch.recordsCount(view, 0))) return ErrorCode.INVALID_RECORD;
  const packed = wanted === CODEC_NONE ? plain : codecs.compress(wanted as Codec, plain);
  const result = new Uint8Array(batch.BATCH_HEADER_BYTES + packed.length);
  result.set(bytes.subarray(0, batch.BATCH_HEADER_BYTES));
  result.set(packed, batch.BATCH_HEADER_BYTES);
  const head = batch.dataViewOf(result);
  head.setInt32(batch.BATCH_LENGTH_AT, result.length - batch.BATCH_OVERHEAD_BYTES);
  head.setInt16(batch.ATTRIBUTES_AT, (batch.attributes(view, 0) & ~CODEC_MASK) | wanted);
  head.setUint32(batch.CRC_AT, crc32c(result, batch.ATTRIBUTES_AT, result.length));
  return result;
}

/** Whether the bytes are exactly `count` records with offset deltas 0, 1, 2, … */
function recordsHold(plain: Uint8Array, count: number): boolean {
  const reader = new Reader(plain);
  try {
    for (let i = 0; i < count; i++) {
      const size = reader.varint();
      const end = reader.position + size;
      reader.int8();
      reader.varlong();
      if (size < 0 || reader.varint() !== i || end > reader.end) return false;
      if (end < reader.position) return false;
      reader.position = end;
    }
    return reader.left() === 0;
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}
