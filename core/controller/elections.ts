/**
 * The records for all partitions that a broker's coming or going touches. Goes over every partition of the cluster:
 * some milliseconds for a hundred thousand, and rare.
 */
import { isDirectoryOnline } from '../metadata/describe-topics.ts';
import { topicSettingValue } from '../metadata/effective.ts';
import { isElrEnabled, metadataLevel } from '../metadata/features.ts';
import { configOf, type MetadataImage, type PartitionImage, ResourceType, type TopicImage } from '../metadata/image.ts';
import type { MetadataRecord } from '../metadata/records.ts';
import { mapValues } from '../metadata/sharded-map.ts';
import { type ChangeRules, changeOf } from './partition-change.ts';
import type { Controller } from './state.ts';

/** What happens. Each -1 if it does not. */
export interface Upheaval {
  /** A broker that may neither lead nor stay in sync. */
  readonly leaving: number;
  /** A broker that may lead although the image still has it fenced. */
  readonly joining: number;
  /** A broker that comes back from an unclean shutdown: it may not lead, and what it held may be gone. */
  readonly unclean: number;
}

/** No broker comes or goes. */
export const NOTHING_HAPPENS: Upheaval = { leaving: -1, joining: -1, unclean: -1 };

const UNCLEAN = 'unclean.leader.election.enable';
const MIN_INSYNC = 'min.insync.replicas';
/** Lists of which is remembered what is left of them. */
const KNOWN_MAX = 256;
/** No topic has this name: what it would inherit is what topics have that set nothing. */
const NO_TOPIC = '';

/** How the partitions of topics may change that set nothing of their own. */
export function commonRules(controller: Controller, upheaval: Upheaval): ChangeRules {
  const { image, config } = controller;
  const { leaving, joining, unclean } = upheaval;
  return {
    level: metadataLevel(image),
    isElrEnabled: isElrEnabled(image),
    minInsync: Number(topicSettingValue(image, config, NO_TOPIC, MIN_INSYNC)),
    election: electionOf(topicSettingValue(image, config, NO_TOPIC, UNCLEAN)),
    isAcceptable: (id, partition) => {
      if (id === leaving || id === unclean) return false;
      const broker = image.cluster.brokers.get(id);
      if (broker === undefined) return false;
      const isThere = id === joining || (!broker.fenced && !broker.inControlledShutdown);
      return isThere && isDirectoryOnline(broker, partition.directories[partition.replicas.indexOf(id)]);
    },
  };
}

function electionOf(allowsUnclean: string): ChangeRules['election'] {
  return allowsUnclean.trim().toLowerCase() === 'true' ? 'unclean' : 'online';
}

/** The same, with what a topic sets for itself. */
export function rulesFor(image: MetadataImage, topic: TopicImage, common: ChangeRules): ChangeRules {
  const own = configOf(image, ResourceType.TOPIC, topic.name);
  const minInsync = own.get(MIN_INSYNC);
  const unclean = own.get(UNCLEAN);
  if (minInsync === undefined && unclean === undefined) return common;
  return {
    ...common,
    minInsync: minInsync === undefined ? common.minInsync : Number(minInsync),
    election: unclean === undefined ? common.election : electionOf(unclean),
  };
}

function isTouched(partition: PartitionImage, upheaval: Upheaval): boolean {
  const { leaving, joining, unclean } = upheaval;
  if (joining >= 0 && partition.leader < 0) return true;
  if (leaving >= 0 && holds(partition.isr, leaving)) return true;
  return unclean >= 0 && (holds(partition.isr, unclean) || holds(partition.elr, unclean));
}

/** As `includes`, which costs more than all the rest of looking at a partition. */
function holds(ids: readonly number[], id: number): boolean {
  for (let i = 0; i < ids.length; i++) if (ids[i] === id) return true;
  return false;
}

/**
 * The ids without two of them. Sized exactly: the array lives on in the image. Equal lists are mostly one array there,
 * and what is left of them is one array too, which `known` remembers.
 */
function without(
  known: Map<readonly number[], readonly number[]>,
  ids: readonly number[],
  one: number,
  other: number,
): readonly number[] {
  const before = known.get(ids);
  if (before !== undefined) return before;
  const left = leftOf(ids, one, other);
  if (known.size < KNOWN_MAX) known.set(ids, left);
  return left;
}

function leftOf(ids: readonly number[], one: number, other: number): readonly number[] {
  let kept = 0;
  for (const id of ids) if (id !== one && id !== other) kept += 1;
  if (kept === ids.length) return ids;
  const left = ids.slice(0, kept);
  let at = 0;
  for (const id of ids) if (id !== one && id !== other) left[at++] = id;
  return left;
}

/** What is the same for all topics while a broker's coming or going is looked at. */
interface Look {
  readonly image: MetadataImage;
  readonly upheaval: Upheaval;
  readonly common: ChangeRules;
  readonly known: Map<readonly number[], readonly number[]>;
  readonly records: MetadataRecord[];
}

/** Adds to `records` what becomes of the partitions. */
export function addPartitionChanges(controller: Controller, upheaval: Upheaval, records: MetadataRecord[]): void {
  const { image } = controller;
  const look: Look = { image, upheaval, common: commonRules(controller, upheaval), known: new Map(), records };
  // A function of its own, called once a topic: it is compiled before the first broker's failure is over.
  for (const topic of mapValues(image.topics.byId)) addTopicChanges(look, topic);
}

function addTopicChanges({ image, upheaval, common, known, records }: Look, topic: TopicImage): void {
  const { leaving, unclean } = upheaval;
  const { partitions } = topic;
  let rules: ChangeRules | null = null;
  for (let index = 0; index < partitions.length; index++) {
    const partition = partitions[index];
    if (partition === undefined || !isTouched(partition, upheaval)) continue;
    rules ??= rulesFor(image, topic, common);
    const isr = without(known, partition.isr, leaving, unclean);
    const change = changeOf(topic.id, index, partition, rules, { isr, uncleanBroker: unclean });
    if (change !== null) records.push(change);
  }
}

/** Whether a broker leads a partition. */
export function leadsAny(image: MetadataImage, id: number): boolean {
  for (const topic of mapValues(image.topics.byId)) {
    if (topic.partitions.some((partition) => partition.leader === id)) return true;
  }
  return false;
}
