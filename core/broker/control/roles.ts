/**
 * What this node is in its cluster, as its configuration says: a broker keeps partitions, a controller votes for who
 * keeps the metadata. No state.
 */
import { clientListeners } from '../../config/parse.ts';
import { controllerNames } from '../../config/quorum-rules.ts';
import type { NodeConfig } from '../../config/settings.ts';
import { type Listener, splitAddress } from '../../config/values.ts';
import { ZERO_UUID } from '../../lib/uuid.ts';
import { type Voter, type VoterEndpoint, voterOf } from '../../raft/voters.ts';

/** Whether the node keeps partitions and serves clients. */
export function isBroker(config: NodeConfig): boolean {
  return config['process.roles'].includes('broker');
}

/** Whether the node is a controller. */
export function isController(config: NodeConfig): boolean {
  return config['process.roles'].includes('controller');
}

/** The listeners that are for controllers only. */
export function controllerListeners(config: NodeConfig): readonly Listener[] {
  const names = controllerNames(config);
  return config.listeners.filter(({ name }) => names.includes(name));
}

/** Whether no other node can ever reach the quorum of this node: it has no listener for that. */
export function isAlone(config: NodeConfig): boolean {
  return isController(config) && controllerListeners(config).length === 0;
}

/** Whether an empty directory of this node becomes that of a new cluster's only voter: no other controller is named. */
export function foundsAlone(config: NodeConfig): boolean {
  const others = config['controller.quorum.voters'].filter(({ id }) => id !== config['node.id']);
  if (!isController(config) || others.length > 0) return false;
  return config['controller.quorum.bootstrap.servers'].every((server) => isOwnServer(config, server));
}

/** Whether an address of `controller.quorum.bootstrap.servers` is the one that this controller tells others. */
function isOwnServer(config: NodeConfig, server: string): boolean {
  const { host, port } = splitAddress(server);
  const names = controllerListeners(config).map((listener) => listener.host);
  return controllerEndpoints(config).some((one) => one.port === port && [one.host, ...names].includes(host));
}

/** The voters that the configuration names: of any directory, for it does not know theirs. */
export function staticVoters(config: NodeConfig): readonly Voter[] {
  const name = controllerNames(config)[0] ?? '';
  return config['controller.quorum.voters'].map(({ id, host, port }) => voterOf(id, ZERO_UUID, [{ name, host, port }]));
}

/** The voter that a directory of this node is. */
export function ownVoter(config: NodeConfig, directoryId: string): Voter {
  return voterOf(config['node.id'], directoryId, controllerEndpoints(config));
}

/**
 * Where the record of the voters is to say that this controller is found: empty for one that has no listener for
 * others, or whose configuration does not say by which name they reach it.
 */
export function votingEndpoints(config: NodeConfig): readonly VoterEndpoint[] {
  const [listener] = isController(config) ? controllerListeners(config) : [];
  if (listener === undefined) return [];
  const advertised = config['advertised.listeners']?.find(({ name }) => name === listener.name);
  const isNamed = (advertised?.host ?? '') !== '' || !ANY_HOST.includes(listener.host);
  return isNamed ? controllerEndpoints(config).filter(({ port }) => port > 0) : [];
}

/** Every interface: no name that others could use. */
const ANY_HOST: readonly string[] = ['', '0.0.0.0', '::'];

/** Where this controller tells others to find it: as advertised, as the voters have it, or as it listens. */
export function controllerEndpoints(config: NodeConfig): readonly VoterEndpoint[] {
  const [listener] = [...controllerListeners(config), ...clientListeners(config)];
  if (listener === undefined) return [];
  const { name } = listener;
  const advertised = config['advertised.listeners']?.find((one) => one.name === name);
  const voter = config['controller.quorum.voters'].find(({ id }) => id === config['node.id']);
  const host = advertised?.host || voter?.host || listener.host || 'localhost';
  return [{ name, host, port: advertised?.port || voter?.port || listener.port }];
}
