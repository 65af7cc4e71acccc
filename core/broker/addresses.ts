/**
 * Where clients are told to connect: what `advertised.listeners` says for the listener they came through, or else
 * the address at which they reached it. A port of 0 is the port that was bound. No state of its own.
 */
import { clientListeners } from '../config/parse.ts';
import type { NodeConfig } from '../config/settings.ts';
import type { Connection, ListenerState, Node } from './state.ts';

/** A host and a port that a client can use. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The listeners of a node that listens on none of them yet. */
export function listenersOf(config: NodeConfig): ListenerState[] {
  return clientListeners(config).map(({ name, host, port }) => {
    const advertised = (config['advertised.listeners'] ?? []).find((listener) => listener.name === name);
    return { name, host, port, advertised: advertised ?? null, boundPort: 0 };
  });
}

/** The name of the listener that the client behind `connection` came through. */
export function listenerName(node: Node, connection: Connection | null): string {
  return node.listeners[connection?.listener ?? 0]?.name ?? '';
}

/** The address of this node for the client behind `connection`. */
export function addressFor(node: Node, connection: Connection | null): Address {
  const listener = node.listeners[connection?.listener ?? 0];
  if (listener === undefined) return { host: '', port: -1 };
  const host = listener.advertised?.host || connection?.localHost || listener.host;
  const port = listener.advertised?.port || listener.boundPort;
  return { host, port };
}
