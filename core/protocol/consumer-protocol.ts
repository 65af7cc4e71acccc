/**
 * What members of a classic group of consumers write into JoinGroup and SyncGroup: the protocol type 'consumer'.
 *
 * The broker carries these bytes and need not read them; a 16-bit version comes first. A version that is not known yet
 * is read as the highest one that is, because later ones only add fields at the end. Names, types and versions are
 * those of Apache Kafka 4.4; so is the user data of the two sticky assignors, which has no version before it. No state.
 */
import { Reader } from '../lib/cursor.ts';
import { ProtocolError } from '../lib/protocol-error.ts';
import { Writer } from '../lib/writer.ts';
import { decoderOf, encoderOf } from './compile.ts';
import {
  type AnyMessage,
  array,
  arrayOf,
  type BodyInputOf,
  type BodyOf,
  bytes,
  int32,
  message,
  string,
} from './schema.ts';

/** The protocol type of groups of consumers. */
export const CONSUMER_PROTOCOL_TYPE = 'consumer';
/** The version that our members write: the highest. */
export const CONSUMER_PROTOCOL_VERSION = 3;

/** Topics a member wants, and what it owns. */
export const ConsumerProtocolSubscription = message(
  { name: 'ConsumerProtocolSubscription', versions: '0-3', flexible: 'none' },
  {
    topics: arrayOf(string()),
    userData: bytes('0+', { nullable: '0+', default: null }),
    ownedPartitions: array({ topic: string('1+'), partitions: arrayOf(int32(), '1+') }, '1+', { ignorable: true }),
    generationId: int32('2+', { default: -1, ignorable: true }),
    rackId: string('3+', { nullable: '3+', default: null, ignorable: true }),
  },
);
/** The same as it is read. */
export type ConsumerProtocolSubscription = BodyOf<typeof ConsumerProtocolSubscription>;

/** Partitions that a member is given. */
export const ConsumerProtocolAssignment = message(
  { name: 'ConsumerProtocolAssignment', versions: '0-3', flexible: 'none' },
  {
    assignedPartitions: array({ topic: string(), partitions: arrayOf(int32()) }),
    userData: bytes('0+', { nullable: '0+', default: null }),
  },
);
/** The same as it is read. */
export type ConsumerProtocolAssignment = BodyOf<typeof ConsumerProtocolAssignment>;

/** What the assignor 'sticky' remembers: the last assignment and, from version 1, of which generation. */
export const StickyAssignorUserData = message(
  { name: 'StickyAssignorUserData', versions: '0-1', flexible: 'none' },
  {
    previousAssignment: array({ topic: string(), partitions: arrayOf(int32()) }),
    generation: int32('1+', { default: -1, ignorable: true }),
  },
);
/** The same as it is read. */
export type StickyAssignorUserData = BodyOf<typeof StickyAssignorUserData>;

/** The bytes of a subscription. ProtocolError for a body with no bytes. */
export function encodeSubscription(
  body: BodyInputOf<typeof ConsumerProtocolSubscription>,
  version: number = CONSUMER_PROTOCOL_VERSION,
): Uint8Array {
  return encodeVersioned(ConsumerProtocolSubscription, version, body);
}

/** The bytes of an assignment. ProtocolError for a body with no bytes. */
export function encodeAssignment(
  body: BodyInputOf<typeof ConsumerProtocolAssignment>,
  version: number = CONSUMER_PROTOCOL_VERSION,
): Uint8Array {
  return encodeVersioned(ConsumerProtocolAssignment, version, body);
}

/** A subscription of any version. ProtocolError for bytes that are none. */
export function decodeSubscription(value: Uint8Array): ConsumerProtocolSubscription {
  return decodeVersioned(ConsumerProtocolSubscription, value) as ConsumerProtocolSubscription;
}

/** An assignment of any version; none at all for no bytes. ProtocolError for bytes that are none. */
export function decodeAssignment(value: Uint8Array): ConsumerProtocolAssignment {
  if (value.length === 0) return { assignedPartitions: [], userData: null };
  return decodeVersioned(ConsumerProtocolAssignment, value) as ConsumerProtocolAssignment;
}

/** The user data of the assignor 'sticky', in its version 1. */
export function encodeStickyUserData(body: BodyInputOf<typeof StickyAssignorUserData>): Uint8Array {
  const encoder = encoderOf(StickyAssignorUserData, 1);
  const writer = new Writer(encoder.size(body));
  encoder.write(writer, body);
  writer.finish();
  return writer.bytes;
}

/** The user data of the assignor 'sticky'; its version shows only in its length. Null for bytes that are none. */
export function decodeStickyUserData(value: Uint8Array): StickyAssignorUserData | null {
  for (const version of [1, 0]) {
    try {
      const reader = new Reader(value);
      const body = decoderOf(StickyAssignorUserData, version)(reader);
      reader.finish();
      return body as StickyAssignorUserData;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
    }
  }
  return null;
}

function encodeVersioned(schema: AnyMessage, version: number, body: unknown): Uint8Array {
  const encoder = encoderOf(schema, version);
  const writer = new Writer(2 + encoder.size(body));
  writer.int16(version);
  encoder.write(writer, body);
  writer.finish();
  return writer.bytes;
}

function decodeVersioned(schema: AnyMessage, value: Uint8Array): unknown {
  const reader = new Reader(value);
  const version = reader.int16();
  if (version < 0) throw new ProtocolError('badValue', 'a negative version of the consumer protocol');
  // What a later version has added stands behind the fields that we know, and is left.
  return decoderOf(schema, Math.min(version, schema.versions.until))(reader);
}
