// What the Node programs share: the records that the test wrote into a file, and the digest of what was read.
// A record is key, value, number of headers, then name and value of each: 4 bytes of length (-1 is null), then bytes.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The records of the file. Header values are buffers, names are strings. */
export function loadRecords(file) {
  const bytes = readFileSync(file);
  let at = 0;
  const int = () => {
    at += 4;
    return bytes.readInt32BE(at - 4);
  };
  const blob = () => {
    const size = int();
    if (size < 0) return null;
    at += size;
    return bytes.subarray(at - size, at);
  };
  const records = [];
  while (at < bytes.length) {
    const record = { key: blob(), value: blob(), headers: [] };
    for (let left = int(); left > 0; left--) record.headers.push([blob().toString(), blob()]);
    records.push(record);
  }
  return records;
}

/** Cuts the records into lists that stay under what a broker takes as one batch. */
export function* batchesOf(records, countMax = 500, bytesMax = 950_000) {
  let batch = [];
  let size = 0;
  for (const record of records) {
    const bytes = (record.value?.length ?? 0) + 200;
    if (batch.length === countMax || (batch.length > 0 && size + bytes > bytesMax)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(record);
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** Sums records as they are read: offset, then the record as the file has it. */
export function createDigest() {
  const hash = createHash('sha256');
  let count = 0;
  const int = (number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(number);
    hash.update(bytes);
  };
  const blob = (bytes) => {
    int(bytes === null || bytes === undefined ? -1 : bytes.length);
    if (bytes) hash.update(bytes);
  };
  return {
    add(offset, key, value, headers) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(BigInt(offset));
      hash.update(bytes);
      blob(key);
      blob(value);
      int(headers.length);
      for (const [name, content] of headers) {
        blob(Buffer.from(name));
        blob(content);
      }
      count++;
    },
    print: () => console.log(JSON.stringify({ count, digest: hash.digest('hex') })),
  };
}
