/** An API that is served, and what serves it: the shape of a line in the tables of listeners. No state. */
import type { Env, Outbox } from '../../lib/world.ts';
import type { AnyApi } from '../../protocol/api.ts';
import type { ApiKey, RequestOf } from '../../protocol/messages/index.ts';
import type { Node, Request } from '../state.ts';

/**
 * Works on a request whose body has been decoded. It ends with one `answer`, `finish` or `endConnection`, in this
 * step or a later one.
 */
export type Handler = (node: Node, env: Env, request: Request, body: unknown, out: Outbox) => void;

/** One API that this node serves. */
export interface Served {
  readonly api: AnyApi;
  /** Takes the body of this very API. */
  readonly handle: (node: Node, env: Env, request: Request, body: never, out: Outbox) => void;
}

type HandlerOf<K extends ApiKey> = (node: Node, env: Env, request: Request, body: RequestOf<K>, out: Outbox) => void;

/** A line of a table. */
export function serve<K extends ApiKey>(api: AnyApi & { readonly key: K }, handle: HandlerOf<K>): Served {
  return { api, handle };
}
