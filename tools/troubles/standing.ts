/**
 * How the cluster stands, by the word of its nodes: whether all replicas are in sync, who votes, who is a broker. And
 * what is waited for before troubles begin.
 */
import { ErrorCode } from '../../core/protocol/errors.ts';
import { ask, askPartitions } from '../peers/ask.ts';
import { pause } from '../peers/process.ts';
import { CONTROLLER_LISTENER, CONTROLLER_PORT, type Daemon } from './cluster.ts';
import { type Operator, until } from './operator.ts';

/** The topics, and how many partitions each has. */
export const TOPICS: ReadonlyMap<string, number> = new Map([
  ['ebb', 2],
  ['flow', 3],
]);
/** Of each partition. */
export const REPLICAS = 3;

const READY_MS_MAX = 180_000;
const LOOK_EVERY_MS = 100;
const LOOK_MS_MAX = 1_000;
const CREATE_TOPICS = 19;
const DESCRIBE_CLUSTER = 60;
const DESCRIBED = { includeClusterAuthorizedOperations: false, endpointType: 1, includeFencedBrokers: true };

/** Makes the topics. Throws where a node does not start. */
export async function createTopics(daemons: readonly Daemon[]): Promise<void> {
  const untilMs = performance.now() + READY_MS_MAX;
  for (const [name, numPartitions] of TOPICS) {
    const topics = [{ name, numPartitions, replicationFactor: REPLICAS, assignments: [], configs: [] }];
    for (let turn = 0; ; turn++) {
      const daemon = daemons[turn % daemons.length];
      if (daemon === undefined) break;
      const answer = await ask(daemon, CREATE_TOPICS, 5, { topics, timeoutMs: 5_000 }).catch(String);
      const error = typeof answer === 'string' ? -1 : answer.topics[0]?.errorCode;
      if (error === ErrorCode.NONE || error === ErrorCode.TOPIC_ALREADY_EXISTS) break;
      const [ended] = daemons.flatMap((one) => one.takeSuddenEnds());
      if (ended !== undefined) throw new Error(`node ${ended.nodeId} does not start: ${ended.said}`);
      if (performance.now() > untilMs) throw new Error(`${name} was not created: ${JSON.stringify(answer)}`);
      await pause(LOOK_EVERY_MS);
    }
  }
  await until(() => areWhole(daemons), READY_MS_MAX);
}

/** Where voters can change, those that do not vote are given a vote. Throws where that cannot be done. */
export async function makeAllVote(operator: Operator, daemons: readonly Daemon[]): Promise<void> {
  for (const daemon of daemons) {
    if (await giveVote(operator, daemon, daemon.directoryId(), READY_MS_MAX)) continue;
    throw new Error(`node ${daemon.nodeId} was given no vote: ${daemon.said().slice(-2000)}`);
  }
}

/** Asks for a vote of a node until it has it: whether it came to that. */
export function giveVote(
  { ask: tell, quorum }: Operator,
  { nodeId: id, host }: Daemon,
  directoryId: string,
  timeoutMs: number,
): Promise<boolean> {
  const listener = { name: CONTROLLER_LISTENER, host, port: CONTROLLER_PORT };
  return until(async () => {
    const standing = await quorum();
    if (standing === null) return false;
    if (standing.voters.some((one) => one.id === id && one.directoryId === directoryId)) return true;
    await tell({ kind: 'addVoter', voter: { id, directoryId }, listener });
    return false;
  }, timeoutMs);
}

/** Whether these nodes vote, each with the disk that it has, and nobody else. */
export async function doAllVote({ quorum }: Operator, daemons: readonly Daemon[]): Promise<boolean> {
  const standing = await quorum();
  if (standing?.voters.length !== daemons.length) return false;
  return daemons.every((daemon) =>
    standing.voters.some((one) => one.id === daemon.nodeId && one.directoryId === daemon.directoryId()),
  );
}

/** Whether every partition has a leader and all its replicas in sync, on the word of every node. */
export async function areWhole(daemons: readonly Daemon[]): Promise<boolean> {
  const names = [...TOPICS.keys()];
  const standings = await Promise.all(daemons.map((daemon) => askPartitions(daemon, names).catch(() => [])));
  const expected = [...TOPICS.values()].reduce((sum, count) => sum + count, 0);
  return standings.every(
    (all) => all.length === expected && all.every((one) => one.leader >= 0 && one.inSync.length === REPLICAS),
  );
}

/** Whether one of the nodes knows the broker: not at all, as one that does not take part, or as one that does. */
export async function standingOf(
  daemons: readonly Daemon[],
  brokerId: number,
): Promise<'unknown' | 'fenced' | 'there' | null> {
  for (const daemon of daemons) {
    const told = await ask(daemon, DESCRIBE_CLUSTER, 2, DESCRIBED, LOOK_MS_MAX).catch(() => null);
    if (told === null || told.errorCode !== ErrorCode.NONE) continue;
    const broker = told.brokers.find((one) => one.brokerId === brokerId);
    if (broker === undefined) return 'unknown';
    return broker.isFenced ? 'fenced' : 'there';
  }
  return null;
}
