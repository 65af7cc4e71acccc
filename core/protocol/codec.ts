/**
 * Requests and responses as frames: heads and bodies together, by API key and version.
 *
 * A broker peeks at a frame's first eight bytes, decides, and decodes the rest; a client does the reverse. Frames
 * come without their 32-bit length and are returned with it. Malformed frames and unknown keys or versions raise
 * ProtocolError. Bytes after a request's last field are passed over, as Apache Kafka does.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { cutSize, slabWriter, stringSize, type Writer } from '../lib/writer.ts';
import { type AnyApi, requestHeaderVersion, responseHeaderVersion } from './api.ts';
import { decoderOf, encoderOf } from './compile.ts';
import { fitStrings } from './fit.ts';
import { FRAME_LENGTH_BYTES } from './frame.ts';
import {
  type ApiKey,
  apiOf,
  type RequestInputOf,
  type RequestOf,
  type ResponseInputOf,
  type ResponseOf,
} from './messages/index.ts';

/** The head of a request. */
export interface RequestHead {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string | null;
}

const PEEK_BYTES = 8;

/** Key, version and correlation id, which every request has at its start; null if the frame is shorter. */
export function peekRequest(frame: Uint8Array): Omit<RequestHead, 'clientId'> | null {
  if (frame.length < PEEK_BYTES) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, PEEK_BYTES);
  return { apiKey: view.getInt16(0), apiVersion: view.getInt16(2), correlationId: view.getInt32(4) };
}

function known(apiKey: number): AnyApi {
  const item = apiOf(apiKey);
  if (item === undefined) throw new ProtocolError('unsupported', `there is no API with key ${apiKey}`);
  return item;
}

/** Reads the head of a request, as far as its version reaches; the reader is left at the body. */
function readRequestHead(reader: Reader, headerVersion: number): RequestHead {
  const apiKey = reader.int16();
  const apiVersion = reader.int16();
  const correlationId = reader.int32();
  const size = reader.int16();
  const clientId = size === -1 ? null : reader.text(size);
  if (headerVersion >= 2) reader.skipTags();
  return { apiKey, apiVersion, correlationId, clientId };
}

/** Reads a request. `frame` is one frame without its length; the caller has peeked at key and version. */
export function decodeRequest<K extends ApiKey>(
  apiKey: K,
  version: number,
  frame: Uint8Array,
): { header: RequestHead; body: RequestOf<K> } {
  const item = known(apiKey);
  const decoder = decoderOf(item.request, version);
  const reader = new Reader(frame);
  const header = readRequestHead(reader, requestHeaderVersion(item, version));
  return { header, body: decoder(reader) as RequestOf<K> };
}

/** The parts of a request with its length in front; record bytes among them are the caller's views. */
export function encodeRequest<K extends ApiKey>(
  apiKey: K,
  version: number,
  correlationId: number,
  clientId: string | null,
  body: RequestInputOf<K>,
): Uint8Array[] {
  const item = known(apiKey);
  const encoder = encoderOf(item.request, version);
  const isFlexible = requestHeaderVersion(item, version) === 2;
  const headSize = FRAME_LENGTH_BYTES + PEEK_BYTES + stringSize(clientId) + (isFlexible ? 1 : 0);
  const writer = slabWriter(headSize + encoder.size(body));
  writer.int32(0); // The length, below.
  writer.int16(apiKey);
  writer.int16(version);
  writer.int32(correlationId);
  writer.nullableString(clientId);
  if (isFlexible) writer.unsignedVarint(0);
  encoder.write(writer, body);
  return withLength(writer);
}

/**
 * The largest response, records not counted, bytes: no honest question has a longer answer. A short one that names the
 * same large thing many times would else take all memory, or more than a buffer can have.
 */
export const RESPONSE_BYTES_MAX = 256 * 1024 * 1024;

/** The parts of a response with its length in front; record bytes among them are the caller's views. */
export function encodeResponse<K extends ApiKey>(
  apiKey: K,
  version: number,
  correlationId: number,
  body: ResponseInputOf<K>,
): Uint8Array[] {
  const item = known(apiKey);
  const encoder = encoderOf(item.response, version);
  const isFlexible = responseHeaderVersion(item, version) === 1;
  const sizeBytes = encoder.size(body);
  if (sizeBytes > RESPONSE_BYTES_MAX) throw new ProtocolError('tooMany', 'the response is too long');
  const writer = slabWriter(FRAME_LENGTH_BYTES + 4 + (isFlexible ? 1 : 0) + sizeBytes);
  writer.int32(0); // The length, below.
  writer.int32(correlationId);
  if (isFlexible) writer.unsignedVarint(0);
  encoder.write(writer, body);
  return withLength(writer);
}

/** A response's body without strings that its version cannot say; the same object where there are none. */
export function fitResponse<K extends ApiKey>(
  apiKey: K,
  version: number,
  body: ResponseInputOf<K>,
): ResponseInputOf<K> {
  return fitStrings(known(apiKey).response, version, body) as ResponseInputOf<K>;
}

function withLength(writer: Writer): Uint8Array[] {
  const parts = writer.finish();
  writer.patchInt32(writer.start, cutSize(parts) - FRAME_LENGTH_BYTES);
  return parts;
}

/** The correlation id of a response, to find out which API it answers; null if the frame is too short. */
export function peekResponse(frame: Uint8Array): number | null {
  if (frame.length < 4) return null;
  return new DataView(frame.buffer, frame.byteOffset, 4).getInt32(0);
}

/** Reads a response to a request of that key and version. `frame` is one frame without its length. */
export function decodeResponse<K extends ApiKey>(
  apiKey: K,
  version: number,
  frame: Uint8Array,
): { correlationId: number; body: ResponseOf<K> } {
  const item = known(apiKey);
  const decoder = decoderOf(item.response, version);
  const reader = new Reader(frame);
  const correlationId = reader.int32();
  if (responseHeaderVersion(item, version) === 1) reader.skipTags();
  const body = decoder(reader) as ResponseOf<K>;
  reader.finish();
  return { correlationId, body };
}
