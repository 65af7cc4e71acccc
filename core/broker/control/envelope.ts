/**
 * Envelopes (KIP-590): how a client's request goes from the broker that it was sent to, to the active controller, in
 * the client's own version and in its name, and how the answer comes back. No state.
 *
 * Nobody is authenticated yet, so that everyone is Kafka's ANONYMOUS.
 */
import type { ControllerKey } from '../../controller/handle.ts';
import { joinParts } from '../../lib/bytes.ts';
import { ProtocolError } from '../../lib/protocol-error.ts';
import type { Env, Outbox } from '../../lib/world.ts';
import { isServed } from '../../protocol/api.ts';
import { decodeRequest, decodeResponse, encodeRequest, peekRequest } from '../../protocol/codec.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import { FRAME_LENGTH_BYTES } from '../../protocol/frame.ts';
import type { EnvelopeRequest, EnvelopeResponse } from '../../protocol/messages/58-envelope.ts';
import { apiOf, type RequestInputOf, type RequestOf, type ResponseInputOf } from '../../protocol/messages/index.ts';
import { answer, encodeAnswer } from '../answers.ts';
import type { Node, Request } from '../state.ts';
import type { Caller, CallOutcome, ControllerCall } from './controller-calls.ts';
import { isActiveHere, submitHere } from './controller-host.ts';
import { errorOf, isForwardedKey } from './forward.ts';
import { refusalOf } from './refusals.ts';

/** API key of Envelope. */
export const ENVELOPE_KEY = 58;

/** Kafka's DefaultPrincipalData, version 0: the type User, the name ANONYMOUS, no token, no tags. */
const ANONYMOUS = Uint8Array.of(
  ...[0, 0],
  ...[5, 0x55, 0x73, 0x65, 0x72],
  ...[10, 0x41, 0x4e, 0x4f, 0x4e, 0x59, 0x4d, 0x4f, 0x55, 0x53],
  ...[0, 0],
);
const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** A client's request as it is sent to the controller. */
export function sealEnvelope({ apiKey, version, body }: ControllerCall, request: Request): EnvelopeRequest {
  const { correlationId, clientId, connection } = request;
  const parts = encodeRequest(apiKey, version, correlationId, clientId, body as RequestInputOf<ControllerKey>);
  return {
    requestData: bodyOf(parts),
    requestPrincipal: ANONYMOUS,
    clientHostAddress: addressBytes(connection?.peerHost ?? ''),
  };
}

/** The bytes of a frame without its length, which an envelope leaves out. */
function bodyOf(parts: readonly Uint8Array[]): Uint8Array {
  return joinParts(parts).subarray(FRAME_LENGTH_BYTES);
}

/** The bytes of an IPv4 address; of any other, 0.0.0.0, for nothing is decided by it. */
function addressBytes(host: string): Uint8Array {
  const match = IPV4.exec(host);
  return match === null ? new Uint8Array(4) : Uint8Array.from(match.slice(1).map(Number));
}

/** What the controller has answered to a request in an envelope. */
export function openEnvelope({ apiKey, version }: ControllerCall, response: EnvelopeResponse): CallOutcome {
  const { errorCode, responseData } = response;
  if (errorCode === ErrorCode.NOT_CONTROLLER) return { failure: 'inactive' };
  if (errorCode !== ErrorCode.NONE || responseData === null) return { failure: 'lost' };
  try {
    return { response: decodeResponse(apiKey, version, responseData).body as ResponseInputOf<ControllerKey> };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { failure: 'lost' };
  }
}

/** Takes an envelope of another node: the request in it goes to the controller of this process, or is refused. */
export function takeEnvelope(node: Node, env: Env, request: Request, body: EnvelopeRequest, out: Outbox): void {
  const { controller } = node;
  if (controller === null || !isActiveHere(controller)) {
    refuse(node, request, ErrorCode.NOT_CONTROLLER);
    return;
  }
  const inner = innerOf(body.requestData);
  if (inner === null) refuse(node, request, ErrorCode.INVALID_REQUEST);
  else submitHere(node, env, controller, { ...inner, caller: { kind: 'envelope', request, ...inner } }, out);
}

interface Inner {
  readonly apiKey: ControllerKey;
  readonly version: number;
  readonly correlationId: number;
  readonly body: RequestOf<ControllerKey>;
}

/** The request in an envelope; null if it makes no sense, or may not come in one. */
function innerOf(frame: Uint8Array): Inner | null {
  const head = peekRequest(frame);
  if (head === null || !isForwardedKey(head.apiKey)) return null;
  const { apiKey, apiVersion: version, correlationId } = head;
  const api = apiOf(apiKey);
  if (api === undefined || !isServed(api, version)) return null;
  try {
    return { apiKey, version, correlationId, body: decodeRequest(apiKey, version, frame).body };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return null;
  }
}

function refuse(node: Node, request: Request, errorCode: ErrorCode): void {
  answer(node, request, ENVELOPE_KEY, { responseData: null, errorCode });
}

/** The controller of this process has answered what came in an envelope, or not. */
export function answerEnvelope(node: Node, caller: Extract<Caller, { kind: 'envelope' }>, outcome: CallOutcome): void {
  const { request, apiKey, version, correlationId, body } = caller;
  if ('failure' in outcome && outcome.failure === 'inactive') {
    refuse(node, request, ErrorCode.NOT_CONTROLLER);
    return;
  }
  const response = 'failure' in outcome ? refusalOf(apiKey, version, body, errorOf(outcome.failure)) : outcome.response;
  const parts = encodeAnswer(apiKey, version, correlationId, response);
  if (typeof parts === 'string') refuse(node, request, ErrorCode.UNKNOWN_SERVER_ERROR);
  else answer(node, request, ENVELOPE_KEY, { responseData: bodyOf(parts), errorCode: ErrorCode.NONE });
}
