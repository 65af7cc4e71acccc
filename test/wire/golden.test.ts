/**
 * Golden frames: what Apache Kafka 4.4 and its clients really said, decoded and encoded again to the same bytes.
 * `tools/wire/README.md` says how they were recorded.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Reader } from '../../core/lib/cursor.ts';
import { requestHeaderVersion, responseHeaderVersion } from '../../core/protocol/api.ts';
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from '../../core/protocol/codec.ts';
import { interpretDecode, interpretEncode } from '../../core/protocol/interpret.ts';
import { type ApiKey, apiOf } from '../../core/protocol/messages/index.ts';
import { type AnyMessage, inRange } from '../../core/protocol/schema.ts';
import { type Exchange, parseExchanges } from '../../tools/wire/golden.ts';
import { joined } from '../protocol/arbitrary.ts';

const folder = fileURLToPath(new URL('golden/', import.meta.url));
const exchanges = readdirSync(folder).flatMap((name) => parseExchanges(readFileSync(`${folder}${name}`, 'utf8')));
const checked = new Set<string>();
let frames = 0;

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(Buffer.from(base64, 'base64'));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** A frame without its length. */
function frameOf(parts: readonly Uint8Array[]): Uint8Array {
  return joined(parts).slice(4);
}

/** The body by the interpreter, as a second opinion. `headBytes` come before it. */
function interpreted(message: AnyMessage, version: number, frame: Uint8Array, headBytes: number): string {
  const reader = new Reader(frame, headBytes);
  const body = interpretDecode(message, version, reader, true);
  reader.finish();
  return hex(frame.subarray(0, headBytes)) + hex(joined(interpretEncode(message, version, body, true)));
}

function checkRequest(exchange: Exchange): void {
  const key = exchange.key as ApiKey;
  const frame = bytesOf(exchange.request);
  const { header, body } = decodeRequest(key, exchange.version, frame);
  expect([header.apiKey, header.apiVersion]).toEqual([exchange.key, exchange.version]);
  const again = frameOf(encodeRequest(key, exchange.version, header.correlationId, header.clientId, body));
  expect(hex(again)).toBe(hex(frame));
  const api = apiOf(key)!;
  const tagBytes = requestHeaderVersion(api, exchange.version) - 1;
  const headBytes = 10 + Buffer.byteLength(header.clientId ?? '') + tagBytes;
  expect(interpreted(api.request, exchange.version, frame, headBytes)).toBe(hex(frame));
  frames++;
}

function checkResponse(exchange: Exchange): void {
  if (exchange.response === null) return;
  const key = exchange.key as ApiKey;
  const frame = bytesOf(exchange.response);
  const { correlationId, body } = decodeResponse(key, exchange.version, frame);
  expect(hex(frameOf(encodeResponse(key, exchange.version, correlationId, body)))).toBe(hex(frame));
  const api = apiOf(key)!;
  const headBytes = 4 + responseHeaderVersion(api, exchange.version);
  expect(interpreted(api.response, exchange.version, frame, headBytes)).toBe(hex(frame));
  frames++;
}

const cases = exchanges.map((exchange, index) => {
  return [`${exchange.client} ${exchange.api} v${exchange.version}`, index, exchange] as const;
});

describe('golden frames', () => {
  it.each(cases)('%s (%i) comes out as it went in', (_title, _index, exchange) => {
    checkRequest(exchange);
    checkResponse(exchange);
    checked.add(`${exchange.key}/${exchange.version}`);
  });

  it('are of every client, of every API that a client of one node needs, and all were checked', () => {
    expect(new Set(exchanges.map((exchange) => exchange.client))).toEqual(
      new Set(['broker', 'franz-go', 'java', 'kcat', 'python']),
    );
    const declared = exchanges.filter((exchange) => {
      const api = apiOf(exchange.key);
      return api !== undefined && inRange(exchange.version, api.request.versions);
    });
    expect(declared.length).toBeGreaterThan(200);
    expect(checked).toEqual(new Set(declared.map((exchange) => `${exchange.key}/${exchange.version}`)));
    expect(frames).toBe(declared.reduce((sum, exchange) => sum + (exchange.response === null ? 1 : 2), 0));
    for (const key of [0, 1, 2, 3, 18, 22, 23, 60]) {
      expect(exchanges.some((exchange) => exchange.key === key)).toBe(true);
    }
  });
});
