/**
 * What Apache Kafka demands of a node's roles, its controllers and their listeners, when they are seen together. Pure,
 * no state.
 *
 * Without `controller.quorum.voters` and `controller.quorum.bootstrap.servers`, where Kafka refuses to start, a node
 * of both roles is a cluster of one.
 */
import type { NodeConfig } from './settings.ts';

/** Notes what is wrong with a setting, as a whole sentence. */
export type Fail = (name: string, sentence: string) => void;

/** The names of the listeners that are for controllers only, as listeners have them. */
export function controllerNames(config: NodeConfig): readonly string[] {
  return config['controller.listener.names'].map((name) => name.toUpperCase());
}

/** Tells `fail` which rules are broken. */
export function checkQuorumRules(config: NodeConfig, fail: Fail): void {
  const roles = config['process.roles'];
  if (new Set(roles).size !== roles.length) fail('process.roles', 'process.roles names a role twice.');
  checkVoters(config, fail);
  checkJoining(config, fail);
  checkControllerListeners(config, fail);
  const between = config['inter.broker.listener.name']?.toUpperCase();
  if (between !== undefined && controllerNames(config).includes(between)) {
    fail('inter.broker.listener.name', `inter.broker.listener.name is ${between}, which is for controllers only.`);
  }
}

function checkVoters(config: NodeConfig, fail: Fail): void {
  const voters = config['controller.quorum.voters'];
  const servers = config['controller.quorum.bootstrap.servers'];
  const id = config['node.id'];
  const isController = config['process.roles'].includes('controller');
  if (!isController && voters.length === 0 && servers.length === 0) {
    const either = 'controller.quorum.bootstrap.servers or controller.quorum.voters';
    fail('process.roles', `A node that is no controller needs ${either} to find one.`);
  }
  const isVoter = voters.some((voter) => voter.id === id);
  if (voters.length > 0 && isController && !isVoter) {
    fail('controller.quorum.voters', `controller.quorum.voters lacks node ${id}, which is a controller.`);
  } else if (!isController && isVoter) {
    fail('controller.quorum.voters', `controller.quorum.voters has node ${id}, which is no controller.`);
  }
}

/** Who joins a quorum must be found by it, under a name that others can use. */
function checkJoining(config: NodeConfig, fail: Fail): void {
  const name = 'controller.quorum.auto.join.enable';
  if (!config[name]) return;
  if (!config['process.roles'].includes('controller')) fail(name, `${name} is for controllers, and this node is none.`);
  if (config['controller.quorum.voters'].length > 0) {
    fail(name, `${name} is of no use with controller.quorum.voters, which says once and for all who votes.`);
  }
}

function checkControllerListeners(config: NodeConfig, fail: Fail): void {
  const roles = config['process.roles'];
  const [isBroker, isController] = [roles.includes('broker'), roles.includes('controller')];
  const names = controllerNames(config);
  const listened = new Set(config.listeners.map(({ name }) => name));
  const name = 'controller.listener.names';
  if (isController) {
    const isAlone = isBroker && config['controller.quorum.voters'].length === 0;
    if (!names.some((one) => listened.has(one)) && !(isAlone && names.length === 0)) {
      fail(name, `${name} must have a listener that listeners has, for this node is a controller.`);
    }
  } else {
    if (names.length === 0) fail(name, `${name} is empty, and this node must find its controllers.`);
    const wrong = names.find((one) => listened.has(one));
    if (wrong !== undefined) {
      fail(name, `listeners has ${wrong}, which is for controllers, and this node is none.`);
    }
  }
  const forClients = config.listeners.filter((listener) => !names.includes(listener.name));
  if (isBroker && forClients.length === 0) fail('listeners', 'listeners has no listener for clients.');
  const [foreign] = forClients;
  if (!isBroker && foreign !== undefined) {
    fail('listeners', `listeners has ${foreign.name}, and a node that is no broker listens for controllers only.`);
  }
}
