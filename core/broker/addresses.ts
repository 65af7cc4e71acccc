/**
 * Where clients are told to connect: what `advertised.listeners` says for the listener they came through, or else
 * the address at which they reached it. A port of 0 is the port that was bound. And where other nodes are: a broker by
 * its registration, a controller by the voters of the quorum. No state of its own.
 */
import { clientListeners } from '../config/parse.ts';
import { controllerNames } from '../config/quorum-rules.ts';
import type { NodeConfig } from '../config/settings.ts';
import { splitAddress } from '../config/values.ts';
import { endpointOf } from '../raft/raft.ts';
import { controllerListeners, isController } from './control/roles.ts';
import type { Connection, ListenerState, Node } from './state.ts';

/** A host and a port that a client can use. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The listeners of a node that listens on none of them yet: those for clients first. */
export function listenersOf(config: NodeConfig): ListenerState[] {
  const forControllers = isController(config) ? controllerListeners(config) : [];
  return [...clientListeners(config), ...forControllers].map((listener) => {
    const { name, host, port } = listener;
    const advertised = (config['advertised.listeners'] ?? []).find((one) => one.name === name);
    const isForControllers = forControllers.includes(listener);
    return { name, host, port, isForControllers, advertised: advertised ?? null, boundPort: 0 };
  });
}

/** Whether a connection came through a listener for controllers. */
export function isForControllers(node: Node, connection: Connection): boolean {
  return node.listeners[connection.listener]?.isForControllers === true;
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

/** Where other brokers reach a broker, inter.broker.listener.name or its first listener; null where nobody knows. */
export function brokerAddress(node: Node, nodeId: number): Address | null {
  const endPoints = node.image.cluster.brokers.get(nodeId)?.endPoints ?? [];
  const wanted = node.config['inter.broker.listener.name']?.toUpperCase();
  return endPoints.find(({ name }) => name === wanted) ?? endPoints[0] ?? null;
}

/** Where a controller is reached; -1 - i is the i-th of controller.quorum.bootstrap.servers. Null: nobody knows. */
export function controllerAddress(node: Node, nodeId: number): Address | null {
  if (nodeId < 0) {
    const server = node.config['controller.quorum.bootstrap.servers'][-1 - nodeId];
    return server === undefined ? null : splitAddress(server);
  }
  const known = node.controller === null ? null : endpointOf(node.controller.quorum.raft, nodeId);
  if (known !== null) return known;
  const names = controllerNames(node.config);
  const endPoints = node.image.cluster.controllers.get(nodeId)?.endPoints ?? [];
  return endPoints.find(({ name }) => names.includes(name)) ?? endPoints[0] ?? null;
}
