/**
 * What this node is in its cluster, as its configuration says: a broker keeps partitions, a controller votes for who
 * keeps the metadata. No state.
 */
import { clientListeners } from '../../config/parse.ts';
import { controllerNames } from '../../config/quorum-rules.ts';
import type { NodeConfig } from '../../config/settings.ts';
import type { Listener } from '../../config/values.ts';
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

/** Whether an empty directory of this node becomes that of a new cluster's only voter. */
export function foundsAlone(config: NodeConfig): boolean {
  const others = config['controller.quorum.voters'].filter(({ id }) => id !== config['node.id']);
  return isController(config) && others.length === 0 && config['controller.quorum.bootstrap.servers'].length <= 1;
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
