/**
 * The error that reading or writing of wire bytes raises.
 *
 * Bytes come from strangers, so a malformed frame is the world's fault, not ours: whoever decodes catches
 * `ProtocolError` at the edge (one frame, one file) and turns it into an error response or a closed connection.
 * Nothing is left half done by it: decoders keep their state in a cursor that is thrown away with the error.
 */

/** Why bytes could not be read, or why a value has no bytes in the version asked for. */
export type ProtocolFault =
  | 'truncated' // The bytes end before the value does.
  | 'badLength' // A length is negative, or larger than what is left or allowed.
  | 'badVarint' // A variable-length integer does not end in time.
  | 'badUtf8' // A string is not well-formed UTF-8.
  | 'badValue' // A value that its field cannot hold: null where not nullable, a missing field, a bad checksum.
  | 'tooMany' // More elements or tags than the limits allow.
  | 'leftover' // Bytes remain where the value has ended.
  | 'unsupported'; // An API, a version or a field that the version does not have.

/** Raised for malformed bytes and for values that cannot be written. `fault` is for code, `message` for people. */
export class ProtocolError extends Error {
  readonly fault: ProtocolFault;

  constructor(fault: ProtocolFault, message: string) {
    super(message);
    this.name = 'ProtocolError';
    this.fault = fault;
  }
}
