/**
 * Who is to vote in a new cluster, as the command line of `tidemark format` says it: Kafka's options, and its rules. No
 * state.
 */
import type { Founders } from '../../../core/broker/boot/format.ts';
import { isController } from '../../../core/broker/control/roles.ts';
import { controllerNames } from '../../../core/config/quorum-rules.ts';
import type { NodeConfig } from '../../../core/config/settings.ts';
import { addressProblem, splitAddress } from '../../../core/config/values.ts';
import { isUuid, ZERO_UUID } from '../../../core/lib/uuid.ts';
import { QUORUM_VOTERS_MAX, type Voter, voterOf } from '../../../core/raft/voters.ts';
import type { FormatOptions } from './format.ts';

/** What is to be written. */
export interface Founding {
  readonly founders: Founders;
  /** What the directory must be called; null for any other. */
  readonly directoryId: string | null;
}

/** Reads the options; a sentence if they do not fit each other or the configuration. */
export function readFounders(config: NodeConfig, said: FormatOptions['founders']): Founding | string {
  if (said === 'configured') return { founders: 'configured', directoryId: null };
  if (said === 'others') return { founders: 'others', directoryId: null };
  if (config['controller.quorum.voters'].length > 0) {
    return (
      'controller.quorum.voters says who votes, so that --standalone and --initial-controllers may not: ' +
      'name controller.quorum.bootstrap.servers instead.'
    );
  }
  if (!isController(config)) return 'process.roles lacks controller: a node that cannot vote cannot begin a cluster.';
  if (said === 'alone') return { founders: 'alone', directoryId: null };
  const voters = readVoters(said.list, controllerNames(config)[0] ?? '');
  if (typeof voters === 'string') return voters;
  // A controller that is not among them follows them.
  const own = voters.find(({ id }) => id === config['node.id']);
  return { founders: voters, directoryId: own?.directoryId ?? null };
}

/** Reads `id@host:port:directory` between commas; a sentence if it says something else. */
function readVoters(list: string, listener: string): Voter[] | string {
  const voters: Voter[] = [];
  for (const part of list.split(',').map((one) => one.trim())) {
    const found = /^(\d+)@(.+):([^:]+)$/.exec(part);
    const [id, address, directoryId] = [Number(found?.[1]), found?.[2] ?? '', found?.[3] ?? ''];
    if (found === null || !Number.isSafeInteger(id) || addressProblem(address) !== null) {
      return `--initial-controllers has ${part}, which is not id@host:port:directory.`;
    }
    if (!isUuid(directoryId) || directoryId === ZERO_UUID) {
      return `--initial-controllers has ${directoryId}, which is not 22 characters of base64.`;
    }
    if (voters.some((one) => one.id === id)) return `--initial-controllers names node ${id} twice.`;
    if (voters.some((one) => one.directoryId === directoryId)) {
      return `--initial-controllers names directory ${directoryId} twice.`;
    }
    voters.push(voterOf(id, directoryId, [{ name: listener, ...splitAddress(address) }]));
  }
  if (voters.length > QUORUM_VOTERS_MAX) {
    return `--initial-controllers has ${voters.length} nodes, but may have ${QUORUM_VOTERS_MAX}.`;
  }
  return voters;
}
