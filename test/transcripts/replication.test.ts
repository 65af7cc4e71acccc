/**
 * Transcripts of replication: nodes with partition 0 of one topic on simulated disks, and a toy controller that elects
 * from the in-sync set only. Every line is a time in ms since the beginning, and who does or sends what; `0` is the
 * controller. What must hold is checked after every step. Of the fetches only what is news is shown.
 */
import { deleteBelow } from '../../core/log/log.ts';
import { errorName } from '../../core/protocol/errors.ts';
import type { FetchRequest, FetchResponse } from '../../core/protocol/messages/01-fetch.ts';
import type { AlterPartitionRequest, AlterPartitionResponse } from '../../core/protocol/messages/56-alter-partition.ts';
import type { Call } from '../../core/replication/calls.ts';
import { check } from '../replication/check.ts';
import { crash, createCluster, passTime, produce, recordsOf, start, stepOne } from '../replication/cluster.ts';
import { fenceNode } from '../replication/controller.ts';
import { type Part, type PartState, type TestNode, watermarkOf } from '../replication/node.ts';
import { type CallResponse, type Cluster, nodeOf, truth } from '../replication/state.ts';
import { fetchedText, fetchText } from './fetches.ts';
import { createTale, endSaying, logText, say, type Tale, tell } from './tale.ts';
import { type Command, numberOf, optionOf, playAll, waysOf, withEach } from './transcript.ts';

const CONTROLLER = 0;

interface Story {
  readonly cluster: Cluster;
  readonly tale: Tale;
  /** Acknowledgements and refusals that were told. */
  acked: number;
  refused: number;
}

function begin(command: Command): Story {
  const cluster = createCluster(11, optionOf(command, 'nodes', 3), optionOf(command, 'minInsync', 2));
  const tale = createTale(cluster.nowMs);
  cluster.onCall = (from, call) => say(tale, `${from} > ${call.nodeId}`, call.apiKey, callText(call));
  cluster.onAnswer = (call, to, response) => {
    say(tale, `${call.nodeId} > ${to}`, call.apiKey, answerText(call, response));
  };
  return { cluster, tale, acked: 0, refused: 0 };
}

function callText(call: Call): string {
  if (call.apiKey === 56) {
    const asked = (call.body as AlterPartitionRequest).topics[0]?.partitions.find((one) => one.partitionIndex === 0);
    if (asked === undefined) return '';
    const isr = asked.newIsrWithEpochs.map(({ brokerId }) => brokerId);
    return `AlterPartition in sync ${isr.join(' ')}, on top of partition epoch ${asked.partitionEpoch}`;
  }
  if (call.apiKey === 2) return 'ListOffsets';
  const asked = (call.body as FetchRequest).topics[0]?.partitions.find(({ partition }) => partition === 0);
  return asked === undefined ? '' : fetchText(asked);
}

function answerText(call: Call, response: CallResponse): string {
  if (call.apiKey === 56) {
    const found = (response as AlterPartitionResponse).topics[0]?.partitions.find((one) => one.partitionIndex === 0);
    if (found === undefined) return '';
    return found.errorCode === 0 ? `agreed: partition epoch ${found.partitionEpoch}` : errorName(found.errorCode);
  }
  if (call.apiKey === 2) return '';
  const found = (response as FetchResponse).responses
    .flatMap(({ partitions }) => partitions)
    .find(({ partitionIndex }) => partitionIndex === 0);
  return found === undefined ? '' : fetchedText(found);
}

/** Something has happened: first what the nodes are, then what they said, then what producers heard. */
function endStep(story: Story): void {
  const { cluster, tale } = story;
  check(cluster);
  const { nowMs } = cluster;
  tell(tale, nowMs, metadataText(cluster), 'metadata');
  for (const node of cluster.nodes) {
    if (!node.isAlive || node.parts[0]?.isOpen !== true) continue;
    const [role, log] = nodeTexts(node);
    tell(tale, nowMs, `${node.id}  ${role}`, `role of ${node.id}`);
    tell(tale, nowMs, `${node.id}  ${log}`, `log of ${node.id}`);
  }
  endSaying(tale, nowMs);
  const acked = cluster.acked.slice(story.acked).map(({ value }) => value);
  if (acked.length > 0) tell(tale, nowMs, `a producer hears that ${acked.join(' ')} will not be lost`);
  for (const code of cluster.refused.slice(story.refused)) tell(tale, nowMs, `a producer hears ${errorName(code)}`);
  story.acked = cluster.acked.length;
  story.refused = cluster.refused.length;
}

function stateOf(cluster: Cluster): PartState {
  return truth(cluster).parts[0] as PartState;
}

function metadataText(cluster: Cluster): string {
  const { leader, leaderEpoch, isr, partitionEpoch } = stateOf(cluster);
  const who = leader < 0 ? 'nobody leads' : `${leader} leads epoch ${leaderEpoch}`;
  return `${CONTROLLER}  decides: ${who}, in sync ${isr.join(' ')} (partition epoch ${partitionEpoch})`;
}

function nodeTexts(node: TestNode): readonly [role: string, log: string] {
  const part = node.parts[0] as Part;
  const { log, leader, followed, state } = part;
  const isLeading = leader.inSync !== null && leader.epoch >= 0;
  const following =
    followed === null ? 'neither leads nor follows' : `follows ${state?.leader} in epoch ${followed.leaderEpoch}`;
  return [isLeading ? `leads epoch ${leader.epoch}` : following, logText(log, watermarkOf(part))];
}

/** All that is under way goes on, and time too. */
function run(story: Story, ms: number, isDone = (): boolean => false): boolean {
  const { cluster } = story;
  const untilMs = cluster.nowMs + ms;
  while (cluster.nowMs < untilMs) {
    if (isDone()) return true;
    if (!stepOne(cluster)) passTime(cluster, Math.min(100, untilMs - cluster.nowMs));
    endStep(story);
  }
  return isDone();
}

function settle(story: Story): void {
  const { cluster } = story;
  const isSettled = (): boolean => {
    const { leader, isr } = stateOf(cluster);
    if (leader < 0 || isr.length < cluster.nodes.length) return false;
    const end = nodeOf(cluster, leader).parts[0]?.log.end;
    return cluster.nodes.every(({ parts, isAlive }) => isAlive && watermarkOf(parts[0] as Part) === end);
  };
  if (!run(story, 30_000, isSettled)) throw new Error('it does not settle');
}

function recordsText(cluster: Cluster, { id, isAlive }: TestNode): string {
  const values = isAlive
    ? recordsOf(cluster, id, 0).values.map(([offset, value]) => `${offset}:${value}`)
    : ['is down'];
  return `${id}  ${values.length === 0 ? 'nothing' : values.join(' ')}`;
}

function stateText(node: TestNode): string {
  return `${node.id}  ${node.isAlive ? nodeTexts(node).join('; ') : 'is down'}`;
}

/** A command, and then whatever has changed by it. */
function told(act: (cluster: Cluster, command: Command) => void): (story: Story, command: Command) => void {
  return (story, command) => {
    act(story.cluster, command);
    endStep(story);
  };
}

playAll(new URL('./replication/', import.meta.url), {
  opening: 'cluster',
  begin,
  taleOf: ({ tale }) => tale,
  commands: {
    send: told((cluster, command) => {
      const to = optionOf(command, 'to', stateOf(cluster).leader);
      produce(cluster, to, 0, optionOf(command, 'acks', -1), command.words);
    }),
    kill: told((cluster, command) => withEach(command, (id) => crash(cluster, id, 'process'))),
    'power-loss': told((cluster, command) => withEach(command, (id) => crash(cluster, id, 'power'))),
    start: told((cluster, command) => withEach(command, (id) => start(cluster, id, nodeOf(cluster, id)))),
    fence: told((cluster, command) => withEach(command, (id) => fenceNode(cluster, id))),
    cut: ({ cluster }, { words }) => {
      const ways = words.flatMap((word) => waysOf(word, [CONTROLLER, ...cluster.nodes.map(({ id }) => id)]));
      for (const [from, to] of ways) cluster.network.cut.add(`${from}>${to}`);
    },
    mend: ({ cluster }) => cluster.network.cut.clear(),
    'delete-below': told((cluster, command) => {
      const node = nodeOf(cluster, stateOf(cluster).leader);
      deleteBelow((node.parts[0] as Part).log, numberOf(command), node.out, []);
      node.settle();
    }),
    run: (story, command) => void run(story, numberOf(command)),
    settle,
    state: ({ cluster }) => [metadataText(cluster), ...cluster.nodes.map(stateText)],
    logs: ({ cluster }) => cluster.nodes.map((node) => recordsText(cluster, node)),
  },
});
