/**
 * Transcripts of the controller: what it is asked, what it answers, and the records that it appends to the metadata
 * log, which are all that it ever does. The log is replayed by the controller and, apart from it, as a broker does it.
 */
import { nextDuty } from '../../core/controller/duties.ts';
import { CONTROLLER } from '../../core/controller/machine.ts';
import { topicById, topicByName } from '../../core/metadata/image.ts';
import type { MetadataRecord } from '../../core/metadata/records.ts';
import { errorName } from '../../core/protocol/errors.ts';
import {
  alter,
  append,
  ask,
  beat,
  type Cluster,
  createCluster,
  elect,
  epochOf,
  fence,
  register,
  startBrokers,
} from '../controller/cluster.ts';
import { type Command, numberOf, optionOf, playAll, withEach } from './transcript.ts';

const ROUNDS_MAX = 20;
const TOPIC_TYPE = 2;
const SET = 0;

/** Fields that tell nothing to a reader of a transcript. */
const UNTOLD = new Set(['topicId', 'incarnationId', 'endPoints', 'features', 'logDirs', 'directories', 'replicas']);

interface Story {
  readonly cluster: Cluster;
  /** Records of the log that were shown. */
  shown: number;
}

/** What was appended since. */
function appended(story: Story): string[] {
  const { cluster, shown } = story;
  story.shown = cluster.log.length;
  return cluster.log.slice(shown).map((record, i) => `${shown + i}  ${recordText(cluster, record)}`);
}

/** A record in a line: its kind, what it is about, and the fields that say something. */
function recordText(cluster: Cluster, record: MetadataRecord): string {
  const fields = Object.entries(record.value).filter(([name, value]) => isTold(record, name, value));
  const texts = fields.map(([name, value]) => `${name} ${Array.isArray(value) ? `[${value.join(' ')}]` : value}`);
  const { topicId } = record.value as { topicId?: string };
  const topic = topicId === undefined ? '' : ` ${topicById(cluster.controller.image, topicId)?.name ?? 'a topic'}`;
  return `${record.kind}${topic}: ${texts.join(', ')}`;
}

function isTold({ kind }: MetadataRecord, name: string, value: unknown): boolean {
  if (value === null || value === false || UNTOLD.has(name)) return false;
  const isDefault = Array.isArray(value) ? value.length === 0 : value === 0 && name !== 'partitionId';
  // In a change, what is not set is null or below -1; nothing else is left out.
  if (kind === 'PartitionChangeRecord')
    return !(name === 'leader' && value === -2) && !(name.endsWith('State') && value === -1);
  return !isDefault;
}

function create(cluster: Cluster, command: Command): string[] {
  const [name = '', ...lists] = command.words;
  const assignments = lists.map((list, partitionIndex) => ({ partitionIndex, brokerIds: list.split(',').map(Number) }));
  const configs = [...command.options].map(([key, value]) => ({ name: key, value }));
  const topic = { name, numPartitions: -1, replicationFactor: -1, assignments, configs };
  const result = ask(cluster, 19, 7, { topics: [topic] }).topics[0];
  return [answerText(result?.errorCode ?? -1, result?.errorMessage)];
}

function configure(cluster: Cluster, command: Command): string[] {
  const configs = [...command.options].map(([name, value]) => ({ name, value, configOperation: SET }));
  const resources = [{ resourceType: TOPIC_TYPE, resourceName: command.words[0] ?? '', configs }];
  const { responses } = ask(cluster, 44, 1, { resources, validateOnly: false });
  return responses.map(({ errorCode, errorMessage }) => answerText(errorCode, errorMessage));
}

function answerText(errorCode: number, message?: string | null): string {
  return `answer: ${errorName(errorCode)}${message == null ? '' : ` (${message})`}`;
}

function heartbeat(cluster: Cluster, command: Command): string[] {
  const { errorCode, isCaughtUp, isFenced, shouldShutDown } = beat(cluster, numberOf(command), {
    shutDown: command.options.has('wantShutDown'),
    offset: optionOf(command, 'offset', cluster.log.length - 1),
    epoch: optionOf(command, 'epoch', epochOf(cluster, numberOf(command))),
  });
  if (errorCode !== 0) return [answerText(errorCode)];
  const facts = [isFenced ? 'fenced' : 'not fenced', ...(isCaughtUp ? ['caught up'] : ['behind'])];
  return [`answer: ${[...facts, ...(shouldShutDown ? ['may shut down'] : [])].join(', ')}`];
}

/** Time passes, and what is due is done. */
function pass(story: Story, ms: number): string[] {
  const { cluster } = story;
  cluster.nowMs += ms;
  const done: string[] = [];
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const duty = nextDuty(cluster.controller, cluster.nowMs);
    if (duty === null) return done;
    const context = { nowMs: cluster.nowMs, nextOffset: cluster.log.length };
    append(cluster, CONTROLLER.handle(cluster.controller, context, duty).records);
    const records = appended(story);
    if (records.length > 0)
      done.push(`duty: ${duty.kind}${duty.kind === 'fence' ? ` ${duty.broker}` : ''}`, ...records);
  }
  throw new Error('the controller always finds something to do');
}

/** The leader of a partition says who is in sync. */
function inSync(cluster: Cluster, command: Command): string[] {
  const [topic = '', ...ids] = command.words;
  return [answerText(alter(cluster, ids.map(Number), { topic, ...numbersIn(command, ['partitionEpoch']) }).errorCode)];
}

/** Those of these options that are set. */
function numbersIn(command: Command, names: readonly string[]): { readonly [name: string]: number } {
  const given = names.filter((name) => command.options.has(name));
  return Object.fromEntries(given.map((name) => [name, optionOf(command, name, 0)]));
}

function partitionTexts(cluster: Cluster, name: string): string[] {
  const topic = topicByName(cluster.controller.image, name);
  return (topic?.partitions ?? []).map((one, index) => {
    const lists = Object.entries({ 'in sync': one.isr, eligible: one.elr, 'last known': one.lastKnownElr });
    const told = lists.filter(([, list]) => list.length > 0).map(([what, list]) => `, ${what} ${list.join(' ')}`);
    const leader = one.leader < 0 ? 'nobody leads' : `${one.leader} leads`;
    const recovering = one.leaderRecoveryState === 0 ? '' : ', recovering';
    const epochs = `leader epoch ${one.leaderEpoch}, partition epoch ${one.partitionEpoch}`;
    return `${name}-${index}: replicas ${one.replicas.join(' ')}, ${leader}${told.join('')}${recovering}, ${epochs}`;
  });
}

function enroll(cluster: Cluster, command: Command): string[] {
  const epoch = register(cluster, numberOf(command), numbersIn(command, ['life', 'previousEpoch']));
  return [epoch > 0 ? `answer: broker epoch ${epoch}` : answerText(-epoch)];
}

/** A command, and the records that it has led to before its answers. */
function recorded(act: (cluster: Cluster, command: Command) => unknown): (story: Story, command: Command) => string[] {
  return (story, command) => {
    const answers = act(story.cluster, command);
    return appended(story).concat(Array.isArray(answers) ? answers : []);
  };
}

playAll(new URL('./controller/', import.meta.url), {
  opening: 'controller',
  begin: () => {
    const cluster = createCluster();
    return { cluster, shown: cluster.log.length };
  },
  commands: {
    brokers: recorded((cluster, command) => startBrokers(cluster, numberOf(command))),
    register: recorded(enroll),
    heartbeat: recorded(heartbeat),
    fence: recorded((cluster, command) => withEach(command, (id) => fence(cluster, id))),
    create: recorded(create),
    configure: recorded(configure),
    'in-sync': recorded(inSync),
    elect: recorded((cluster, { words: [how, topic] }) => {
      return elect(cluster, how === 'unclean' ? 1 : 0, [0], topic).map((code) => answerText(code));
    }),
    pass: (story, command) => pass(story, numberOf(command)),
    show: ({ cluster }, { words }) => words.flatMap((name) => partitionTexts(cluster, name)),
  },
});
