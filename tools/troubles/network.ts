/**
 * A network of its own for a cluster: each node in a network namespace, its one device tied to a bridge in the
 * namespace of whoever runs this; nothing leads outside. Cuts are iptables rules where packets arrive: what is dropped
 * is silence, as when a cable is out.
 *
 * It belongs in a namespace that ends with this process (`arena.ts`): the kernel then takes all of it down.
 */
import { run, runOrThrow } from '../peers/process.ts';

/** Whoever has an address: nodes by their ids, and the clients. */
export type Place = number | 'clients';

/** The network. */
export interface Network {
  readonly hostOf: (place: Place) => string;
  /** What stands before a command that is to run at a node. */
  readonly wrapperOf: (nodeId: number) => readonly string[];
  /** What `from` sends does not reach `to` any more. */
  readonly cut: (from: Place, to: Place) => Promise<void>;
  /** The same again; one that was not cut is left alone. */
  readonly join: (from: Place, to: Place) => Promise<void>;
}

/** Addresses that are for documentation: no machine anywhere has them. */
const PREFIX = '192.0.2';
const CLIENTS_HOST = `${PREFIX}.100`;
const BRIDGE = 'shore';

/** Lays the network out for these nodes. */
export async function layNetwork(nodeIds: readonly number[]): Promise<Network> {
  await ip('link', 'set', 'lo', 'up');
  await ip('link', 'add', BRIDGE, 'type', 'bridge');
  await ip('addr', 'add', `${CLIENTS_HOST}/24`, 'dev', BRIDGE);
  await ip('link', 'set', BRIDGE, 'up');
  for (const id of nodeIds) {
    const [name, outer] = [nameOf(id), `to-${nameOf(id)}`];
    await ip('netns', 'add', name);
    await ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', 'sea', 'netns', name);
    await ip('link', 'set', outer, 'master', BRIDGE, 'up');
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    await ip('-n', name, 'addr', 'add', `${hostOf(id)}/24`, 'dev', 'sea');
    await ip('-n', name, 'link', 'set', 'sea', 'up');
  }
  return {
    hostOf,
    wrapperOf: (nodeId) => ['ip', 'netns', 'exec', nameOf(nodeId)],
    cut: async (from, to) => {
      await runOrThrow(...rule(to, '-I', from));
    },
    join: async (from, to) => {
      while ((await run(...rule(to, '-D', from))).code === 0);
    },
  };
}

function nameOf(nodeId: number): string {
  return `node${nodeId}`;
}

function hostOf(place: Place): string {
  return place === 'clients' ? CLIENTS_HOST : `${PREFIX}.${place}`;
}

function rule(at: Place, how: '-I' | '-D', from: Place): [string, string[]] {
  const args = ['-w', how, 'INPUT', '-s', hostOf(from), '-j', 'DROP'];
  return at === 'clients' ? ['iptables', args] : ['ip', ['netns', 'exec', nameOf(at), 'iptables', ...args]];
}

async function ip(...args: string[]): Promise<void> {
  await runOrThrow('ip', args);
}
